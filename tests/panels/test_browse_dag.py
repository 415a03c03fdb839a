"""Tree, picture and detail of a DAG: one selection, bounded rows, everything literal, whatever the store holds."""

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from lcm_lab.data import big_store, demo_store
from lcm_lab.lab import Lab
from lcm_lab.panels import live
from lcm_lab.panels.dag import MARKS, DagPanel
from lcm_lab.panels.desk import Desk
from lcm_lab.panels.lists import SHOWN
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> DagPanel:
    """The panel of a conversation with 10,000 summaries."""
    path = tmp_path_factory.mktemp("large") / "lcm.db"
    sizes = {"messages": 20_000, "text_bytes": 8_000_000, "summaries": 10_000, "context_items": 200}
    big_store.generate(path, conversations=1, largest=20_000, **sizes)
    return DagPanel(browsing.opened(path), 1)


def labels(panel: DagPanel) -> list[str]:
    """The rows of the tree."""
    return [label.replace("\xa0", " ") for label, _ in panel.tree.select.options]


def test_rows_read_as_in_the_manual(make_store: StoreMaker) -> None:
    panel = DagPanel(browsing.opened(make_store()), 44)
    assert labels(panel) == [
        "v sum_c1 [d1, 7t] * Port 443; 8080 is blocked.",
        "  - sum_la [leaf, 7t] The firewall blocks 8080.",
        "  - sum_lb [leaf, 4t] They chose 443.",
    ]
    panel.toggle.click()
    assert labels(panel) == ["> sum_c1 [d1, 7t] * Port 443; 8080 is blocked."]
    assert panel.selected == "sum_c1"
    panel.open_all.click()
    assert len(labels(panel)) == 3
    panel.close_all.click()
    assert len(labels(panel)) == 1


def test_picking_shows_the_summary_with_what_it_was_made_from(make_store: StoreMaker) -> None:
    panel = DagPanel(browsing.opened(make_store()), 44)
    panel.tree.select.value = "sum_la"
    view = panel.detail.view
    assert view is not None
    assert view.node.summary_id == panel.selected == "sum_la"
    assert "The firewall blocks 8080." in panel.detail.text.html.value
    assert panel.detail.sources.keys == ["\x000", "\x001"]
    assert "Which port" in panel.detail.message.html.value
    panel.detail.sources.select.value = "\x001"
    assert "Not that one" in panel.detail.message.html.value
    panel.detail.derived.select.value = "sum_c1"
    assert panel.selected == "sum_c1"
    panel.detail.sources.select.value = "sum_lb"
    assert panel.selected == "sum_lb"
    panel.back.click()
    assert panel.selected == "sum_c1"
    panel.back.click()
    assert panel.selected == "sum_la"


def test_a_leafs_tool_rows_are_not_blank(make_store: StoreMaker) -> None:
    lab = browsing.opened(
        make_store(
            "UPDATE messages SET content = '', role = 'tool' WHERE message_id = 1",
            "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, tool_name, tool_output, "
            "metadata) VALUES ('p', 1, 's', 'tool', 0, 'exec', 'port 8080: refused', '{}')",
        )
    )
    panel = DagPanel(lab, 44)
    panel.tree.select.value = "sum_la"
    assert "port 8080: refused" in panel.detail.sources.select.options[0][0].replace("\xa0", " ")
    assert "port 8080: refused" in panel.detail.message.html.value


def test_a_click_in_the_picture_and_a_pick_in_the_tree_are_one_selection(demo: Lab) -> None:
    panel = DagPanel(demo, 1)
    figure = panel.live.figure
    assert figure is not None, "anywidget is installed for the tests"
    assert panel._layout is not None
    marks = figure.data[1]
    assert len(marks.x) == len(panel._layout.marks)
    panel.close_all.click()
    place = next(i for i, one in enumerate(panel._layout.marks) if one.depth == 0)
    marks._dispatch_on_click(SimpleNamespace(point_inds=[place]), None)
    assert panel.selected == panel._layout.marks[place].ids[0]
    assert panel.tree.picked == panel.selected
    ring = next(one for one in figure.data if one.name == "selected")
    assert (ring.x[0], ring.y[0]) == (panel._layout.marks[place].x, 0)
    panel.tree.select.value = panel.tree.keys[0]
    assert ring.y[0] > 0


def test_without_anywidget_there_is_a_still_picture(demo: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """B100."""
    monkeypatch.setattr(live, "_figure_widget", lambda _figure: None)
    panel = DagPanel(demo, 1)
    assert panel.live.figure is None
    assert "data:image/png;base64," in panel.live.widget.children[0].value
    panel.tree.select.index = 3
    assert panel.said == ""


def test_the_hooks_get_the_selected_summary(make_store: StoreMaker) -> None:
    called: list[tuple[str, str]] = []

    def hook(name: str) -> "live.Callable[[str], None]":
        return lambda one: called.append((name, one))

    panel = DagPanel(
        browsing.opened(make_store()), 44, on_rewrite=hook("w"), on_subtree=hook("W"), on_dissolve=hook("d")
    )
    for button in (panel.rewrite, panel.subtree, panel.dissolve):
        button.click()
    assert called == [("w", "sum_c1"), ("W", "sum_c1"), ("d", "sum_c1")]
    panel.tree.select.value = "sum_la"
    assert not panel.rewrite.disabled
    assert panel.subtree.disabled
    assert panel.dissolve.disabled
    assert DagPanel(panel.lab, 44).rewrite.disabled


def test_findings_stand_with_the_summary_they_are_about(demo: Lab) -> None:
    broken = next(one for one in demo.check(2).findings if one.code.startswith("K1"))
    panel = DagPanel(demo, 2)
    panel.show(broken.ids[0])
    assert broken.code in panel.detail.findings.value
    sound = next(one for one in panel.tree.keys if one not in {key for f in demo.check(2).findings for key in f.ids})
    panel.show(sound)
    assert "Findings: none" in panel.detail.findings.value


def test_everything_is_literal_and_small(make_store: StoreMaker) -> None:
    """B97."""
    panel = DagPanel(browsing.opened(make_store(browsing.NASTY_ROWS)), 50)
    browsing.shows_literally(panel.detail.text.html.value)
    browsing.shows_literally(panel.static())
    assert "sum_&lt;i&gt;x&lt;/i&gt;&#36;y&#36;" in panel.detail.head.value
    assert "<img src=x" not in str(panel.live.figure.to_json())
    assert len(panel.detail.text.html.value) < 20_000
    assert len(panel.static()) < 20_000
    assert "\x1b" not in labels(panel)[0]


def test_an_id_cannot_act_in_any_list_or_crumb(tmp_path: Path) -> None:
    store = demo_store.build(tmp_path / "openclaw")
    bad = "sum_\u202e\x1b[31m\nx"
    top = browsing.opened(store).dag(1).roots[0]
    with closing(sqlite3.connect(store)) as other, other:
        for table, column in (
            ("summaries", "summary_id"),
            ("summary_parents", "summary_id"),
            ("summary_parents", "parent_summary_id"),
            ("context_items", "summary_id"),
        ):
            other.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (bad, top))
    panel = DagPanel(browsing.opened(store), 1)
    assert panel.dag is not None
    assert bad in panel.dag.nodes
    panel.show(next(source for source in panel.dag.sources(bad)))
    shown = [
        label
        for listing in (panel.tree, panel.detail.sources, panel.detail.derived)
        for label, _ in listing.select.options
    ]
    assert panel.detail.derived.keys == [bad]
    assert not [label for label in shown if set(label) & set("\u202e\x1b\n")]


@pytest.mark.parametrize(
    "damage",
    [
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_la', 'sum_c1', 0)",
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_la', 'sum_la', 0)",
        "UPDATE summary_parents SET parent_summary_id = 'sum_gone' WHERE parent_summary_id = 'sum_la'",
        "UPDATE summaries SET depth = 'deep', token_count = -5, created_at = 'yesterday'",
        "UPDATE summaries SET depth = 5 WHERE summary_id = 'sum_la'",
        "DELETE FROM messages",
        "DELETE FROM summaries",
        "UPDATE summaries SET content = x'fffe41' WHERE summary_id = 'sum_c1'",
    ],
)
def test_damage_is_shown_and_breaks_nothing(make_store: StoreMaker, damage: str) -> None:
    """B104: layers come from the depth, contradictions are named."""
    panel = DagPanel(browsing.opened(make_store(damage)), 44)
    assert panel.said == ""
    panel.open_all.click()
    for key in panel.tree.keys:
        panel.tree.select.value = key
        assert panel.said == ""
    assert panel.static()


def test_a_summary_under_two_others_can_be_picked_in_both_places(make_store: StoreMaker) -> None:
    lab = browsing.opened(
        make_store(
            "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) "
            "VALUES ('sum_c2', 44, 'condensed', 1, 'Again.', 2)",
            "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_c2', 'sum_la', 0)",
        )
    )
    panel = DagPanel(lab, 44)
    again = [key for key in panel.tree.keys if key.startswith("sum_la")]
    assert len(again) == 2
    for key in again:
        panel.tree.select.value = key
        assert panel.selected == "sum_la"
        assert panel.tree.picked == key


def test_ten_thousand_summaries_are_a_bounded_page(large: DagPanel) -> None:
    """B101: rows and marks are capped, and how many are left out is said."""
    assert large.dag is not None
    assert len(large.dag.nodes) == 10_000
    large.open_all.click()
    assert len(large.tree.select.options) == SHOWN
    assert f"Showing {SHOWN:,} of 10,000" in large.tree.status.value
    assert large._layout is not None
    assert len(large._layout.marks) <= MARKS * 1.3
    assert "10,000 summaries" in large.live.widget.children[0].value
    assert len(str(large.live.figure.to_json())) < 1_000_000
    assert len(large.static()) < 60_000
    assert "60 of 10,000" in large.static()


def test_a_bundle_in_the_picture_says_what_it_stands_for(large: DagPanel) -> None:
    assert large._layout is not None
    place = next(i for i, one in enumerate(large._layout.marks) if len(one.ids) > 1)
    large._clicked(place)
    assert large.selected == large._layout.marks[place].ids[0]
    assert "stands for" in large.said
    assert large.tree.picked == large.selected


def test_the_filter_finds_what_is_not_open(large: DagPanel) -> None:
    large.close_all.click()
    leaf = large.dag.levels[0][4321] if large.dag else ""
    large.tree.filter.value = leaf
    assert [key for key in large.tree.keys if key == leaf]
    large.tree.select.value = leaf
    assert large.selected == leaf
    large.tree.filter.value = ""


def test_a_large_conversation_is_not_checked_unasked(large: DagPanel) -> None:
    large.show(large.tree.keys[0])
    assert "not looked for yet" in large.detail.findings.value


def test_a_changed_store_is_read_again_and_the_selection_stays(make_store: StoreMaker) -> None:
    path = make_store()
    panel = DagPanel(browsing.opened(path), 44, desk=Desk(browsing.opened(path)))
    panel.tree.select.value = "sum_lb"
    change(path, "DELETE FROM summaries WHERE summary_id = 'sum_la'")
    panel.reload()
    assert panel.selected == panel.tree.picked == "sum_lb"
    assert "sum_la" not in panel.tree.keys
    change(path, "DELETE FROM summaries WHERE summary_id = 'sum_lb'")
    panel.tree.select.value = "sum_c1"
    panel.tree.select.value = "sum_lb"
    assert "no summary sum_lb" in panel.said
    panel.reload()
    assert panel.selected == "sum_c1"


def change(path: Path, statement: str) -> None:
    """Somebody else writes."""
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("PRAGMA foreign_keys=OFF")
        other.execute(statement)


def test_moving_goes_along_the_rows(make_store: StoreMaker) -> None:
    panel = DagPanel(browsing.opened(make_store()), 44)
    panel.tree.step(2)
    assert panel.selected == "sum_lb"
    panel.tree.step(5)
    assert panel.selected == "sum_lb"
    panel.tree.step(-9)
    assert panel.selected == "sum_c1"
