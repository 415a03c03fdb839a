"""A review of a dissolve through its widgets: choices, refusals, a plan gone stale, undo."""

from pathlib import Path

from lcm_lab import lab as labs
from lcm_lab.panels.dissolve_review import DissolveReview
from tests.command import beside, change, dump, rows
from tests.conftest import StoreMaker

DERIVED = """
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
 VALUES ('sum_d2', 44, 'condensed', 2, 'All about ports.', 5);
INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_d2', 'sum_c1', 0);
"""
NASTY = "</script><img src=x onerror=alert(1)> $\\alpha$ \u05e9\u05dc\u05d5\u05dd \u7aef\u53e3"


def panel(path: Path, summary_id: str = "sum_c1") -> DissolveReview:
    """A review of a dissolve in conversation 44."""
    return DissolveReview(labs.open(path, tz="UTC"), 44, summary_id)


def context(path: Path) -> list[str]:
    """What stands in the context."""
    return [str(one[0]) for one in rows(path, "SELECT coalesce(summary_id, message_id) FROM context_items ORDER BY 1")]


def test_the_plan_is_shown_before_anything_is_done(base_store: Path) -> None:
    before = dump(base_store)
    one = panel(base_store)
    for said in (
        "sum_c1 [d1, 7 tokens]",
        "7 -&gt; 11 (+4)",
        "2 items behind it move by +1",
        "The firewall blocks 8080.",
    ):
        assert said in one.shown.value
    assert "The context grows from" in one.warned.value
    assert "data:image/svg+xml" in one.strip.value
    assert (one.apply_button.disabled, one.undo.disabled) == (False, True)
    assert (dump(base_store), beside(base_store)) == (before, [])


def test_apply_and_undo(base_store: Path) -> None:
    before = dump(base_store)
    told: list[int] = []
    one = DissolveReview(labs.open(base_store), 44, "sum_c1", on_change=lambda: told.append(1))
    one.apply_button.click()
    assert context(base_store) == ["5", "6", "sum_la", "sum_lb"]
    assert rows(base_store, "SELECT 1 FROM summaries WHERE summary_id = 'sum_c1'") == []
    assert "Done: Dissolve sum_c1" in one.shown.value
    assert "Done: Dissolve sum_c1" in one.static()
    assert one.purge.disabled
    one.apply_button.click()
    one.again.click()
    assert len(told) == 1
    one.undo.click()
    assert dump(base_store) == before
    assert len(told) == 2
    one.undo.click()
    one.again.click()
    assert not one.apply_button.disabled
    assert one.said == ""


def test_without_purge_the_summary_stays(base_store: Path) -> None:
    one = panel(base_store)
    one.purge.value = False
    assert "stays in the store" in one.shown.value
    one.apply_button.click()
    assert context(base_store) == ["5", "6", "sum_la", "sum_lb"]
    assert rows(base_store, "SELECT 1 FROM summaries WHERE summary_id = 'sum_c1'") == [(1,)]


def test_a_refusal_is_said_and_the_choices_stay(make_store: StoreMaker) -> None:
    path = make_store(DERIVED)
    one = panel(path)
    assert "sum_d2 was made from sum_c1" in one.said
    assert one.apply_button.disabled
    assert not one.purge.disabled
    one.apply_button.click()
    one.splice.value = True
    assert "would have to be d1" in one.said, "a summary at the wrong depth is refused as well"
    one.splice.value = False
    one.purge.value = False
    assert one.said == ""
    assert "sum_d2 was made from it and keeps it" in one.warned.value
    one.apply_button.click()
    assert context(path) == ["5", "6", "sum_la", "sum_lb"]


def test_splice_hands_the_sources_on(make_store: StoreMaker) -> None:
    sibling = """
    INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
     VALUES ('sum_c2', 44, 'condensed', 1, 'More.', 2);
    INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_d2', 'sum_c2', 1);
    """
    path = make_store(DERIVED, sibling)
    before = dump(path)
    one = panel(path)
    one.splice.value = True
    one.apply_button.click()
    found = rows(path, "SELECT parent_summary_id FROM summary_parents WHERE summary_id = 'sum_d2' ORDER BY ordinal")
    assert [key for (key,) in found] == ["sum_la", "sum_lb", "sum_c2"]
    one.undo.click()
    assert dump(path) == before


def test_a_window_is_warned_of(base_store: Path) -> None:
    one = panel(base_store)
    one.window.value = 15
    assert "larger than the window" in one.warned.value
    one.window.value = 1_000_000
    assert "larger than the window" not in one.warned.value


def test_a_plan_gone_stale_is_said_and_made_again(base_store: Path) -> None:
    one = panel(base_store)
    change(base_store, "DELETE FROM context_items WHERE summary_id = 'sum_c1'")
    change(
        base_store,
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 9, 'summary', 'sum_c1')",
    )
    before = dump(base_store)
    one.apply_button.click()
    assert "Nothing was changed" in one.said
    assert dump(base_store) == before
    assert one.apply_button.disabled
    assert not one.again.disabled
    one.again.click()
    assert one.said == ""
    one.apply_button.click()
    assert "Applied" in one.said


def test_a_choice_the_panel_was_not_told_of_is_not_applied(base_store: Path) -> None:
    one = panel(base_store)
    one.busy = True
    one.purge.value = False
    one.busy = False
    one.apply_button.click()
    assert "The choices were changed" in one.said
    assert context(base_store) == ["5", "6", "sum_c1"]
    one.apply_button.click()
    assert rows(base_store, "SELECT 1 FROM summaries WHERE summary_id = 'sum_c1'") == [(1,)]


def test_leaves_and_unknown_ids_are_refused(base_store: Path) -> None:
    assert "is not condensed" in panel(base_store, "sum_la").said
    assert "There is no summary" in panel(base_store, "sum_<b>").said
    assert "sum_&lt;b&gt;" in panel(base_store, "sum_<b>").said


def test_texts_are_shown_literally(make_store: StoreMaker) -> None:
    path = make_store(f"UPDATE summaries SET content = '{NASTY}' WHERE summary_id = 'sum_la';")
    one = panel(path)
    for html in (one.shown.value, one.static()):
        assert "<img src=x" not in html
        assert "&lt;img src=x" in html
        assert "\u7aef\u53e3" in html
