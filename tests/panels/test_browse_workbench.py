"""The workbench: down to a summary and back, every kind of store, errors said, one place however often it is shown."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

import lcm_lab.panels
from lcm_lab.data import demo_store
from lcm_lab.lab import Lab
from lcm_lab.panels import Workbench, place
from lcm_lab.panels.base import Panel
from lcm_lab.panels.context import ContextPanel
from lcm_lab.panels.conversation import ConversationPanel
from lcm_lab.panels.dag import DagPanel
from lcm_lab.panels.files import FilesPanel
from lcm_lab.panels.health import HealthPanel
from lcm_lab.panels.journal_panel import JournalPanel
from lcm_lab.panels.place import TABS, Place
from lcm_lab.panels.rewrite_review import RewriteReview
from lcm_lab.panels.screens import AgentsScreen, ConversationsScreen, SessionsScreen
from lcm_lab.store.text import preview
from lcm_lab.summarizer.seam import Request, Scripted
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]


def crumbs(bench: Workbench) -> list[str]:
    """The crumbs that show."""
    return [one.description for one in bench.crumbs if one.layout.display != "none"]


def at_session(bench: Workbench, agent: str, conversation: int | None) -> Place:
    """Drill down as a person does."""
    bench.agents.click()
    agents = bench.place
    assert isinstance(agents, AgentsScreen)
    agents.listing.select.value = agent
    agents.open.click()
    sessions = bench.place
    assert isinstance(sessions, SessionsScreen)
    number = next(i for i, one in enumerate(sessions.rows) if one.match.conversation_id == conversation)
    sessions.listing.pick(None)
    sessions.listing.select.value = str(number)
    sessions.open.click()
    assert isinstance(bench.place, Place)
    return bench.place


def test_down_to_a_summary_and_back(demo: Lab) -> None:
    bench = Workbench(demo)
    assert crumbs(bench) == ["Agents"]
    assert bench.back.disabled
    opened = at_session(bench, "main", 1)
    assert crumbs(bench) == ["Agents", "\u203a main", "\u203a conversation 1"]
    assert isinstance(opened.panel, ConversationPanel)
    assert not opened.panel.source.disabled, "the session file can be shown, too"
    dag = opened.open("Summary DAG")
    assert isinstance(dag, DagPanel)
    dag.tree.select.index = 4
    assert dag.detail.view is not None
    bench.back.click()
    assert crumbs(bench) == ["Agents", "\u203a main"]
    assert isinstance(bench.place, SessionsScreen)
    assert bench.place.listing.picked is not None, "the list stands as it was left"
    bench.crumbs[0].click()
    assert crumbs(bench) == ["Agents"]
    assert bench.said == ""


def test_every_tab_opens_and_leaves_a_picture(demo: Lab) -> None:
    bench = Workbench(demo)
    opened = bench.open_conversation(2)
    for tab in TABS[:-1]:
        panel = opened.open(tab)
        assert panel is not None
        assert (opened.said, panel.said) == ("", "")
        assert "<table" in bench.static()
        assert "data:image/svg+xml" in bench.static()
        assert len(bench.static()) < 80_000


def test_a_session_the_store_does_not_track_shows_its_file(demo: Lab) -> None:
    bench = Workbench(demo)
    opened = at_session(bench, "main", None)
    assert opened.names == ("Conversation",)
    assert isinstance(opened.panel, ConversationPanel)
    assert opened.panel.lines is not None
    assert "not tracked" in crumbs(bench)[-1]
    assert "not tracked" in bench.path[1][1].static()


def test_all_conversations_are_there_archived_and_without_a_file(demo: Lab) -> None:
    bench = Workbench(demo)
    bench.conversations.click()
    screen = bench.place
    assert isinstance(screen, ConversationsScreen)
    assert sorted(screen.listing.keys) == ["1", "2", "3", "4", "5", "6"]
    screen.listing.select.value = "3"
    assert "archived (manual-reset)" in screen.facts.value
    screen.open.click()
    assert crumbs(bench) == ["Conversations", "\u203a conversation 3"]
    bench.back.click()
    screen.number.value = "6"
    assert crumbs(bench)[-1] == "\u203a conversation 6"


def test_a_number_that_is_none_is_said(demo: Lab) -> None:
    screen = ConversationsScreen(demo, lambda _number: None)
    screen.number.value = "999"
    assert "There is no conversation 999" in screen.said


def test_many_conversations_come_in_pages(make_store: StoreMaker) -> None:
    rows = ", ".join(f"({i}, 's{i}', '2026-01-01 00:00:00', '2026-01-01 00:00:00')" for i in range(100, 230))
    sql = f"INSERT INTO conversations(conversation_id, session_id, created_at, updated_at) VALUES {rows}"
    screen = ConversationsScreen(browsing.opened(make_store(sql)), lambda _number: None)
    assert len(screen.listing.keys) == 50
    assert "Read: 50 of 132" in screen.listing.status.value
    screen.more.click()
    screen.more.click()
    assert len(set(screen.listing.keys)) == 132
    assert screen.more.disabled
    screen.listing.select.value = "45"
    assert "\u2014" in screen.facts.value, "a title that is NULL (B102)"


def test_a_store_without_agents_starts_at_its_conversations(make_store: StoreMaker) -> None:
    bench = Workbench(browsing.opened(make_store()))
    assert crumbs(bench) == ["Conversations"]
    assert bench.agents.layout.display == "none"


@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_stores_of_every_age_open_in_every_tab(make_store: StoreMaker, version: str) -> None:
    bench = Workbench(browsing.opened(make_store(version=version)))
    opened = bench.open_conversation(44)
    for tab in TABS[:-1]:
        panel = opened.open(tab)
        assert panel is not None
        assert (opened.said, panel.said) == ("", "")


@pytest.mark.parametrize("name", ["corrupt.db", "mixed.db", "old-0.1.0.db"])
def test_real_and_corrupted_stores_open_in_every_tab(shared_store: "object", name: str) -> None:
    lab = browsing.opened(shared_store(name))  # type: ignore[operator]
    bench = Workbench(lab)
    for one in lab.conversations(limit=6).rows:
        opened = bench.open_conversation(one.conversation.conversation_id)
        for tab in TABS[:-1]:
            panel = opened.open(tab)
            assert panel is not None
            assert (opened.said, panel.said) == ("", "")
            assert bench.static()


def test_a_finding_leads_to_the_dag_and_to_the_context(demo: Lab) -> None:
    bench = Workbench(demo)
    opened = bench.open_conversation(2, "Health")
    health = opened.panel
    assert isinstance(health, HealthPanel)
    assert health.report is not None
    number = next(i for i, one in enumerate(health.report.findings) if one.code.startswith("K1"))
    health.listing.select.value = str(number)
    health.places.select.index = 0
    assert opened.tab == "Summary DAG"
    assert isinstance(opened.panel, DagPanel)
    assert opened.panel.selected == health.report.findings[number].ids[0]
    opened.open_item(55)
    assert isinstance(opened.panel, ContextPanel)
    assert opened.panel.item is not None
    assert opened.panel.item.ordinal == 55


def test_a_review_is_shown_in_its_tab(demo: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    class Review(Panel):
        title = "Review of something"

    monkeypatch.setattr(
        place, "reviews", lambda: type("R", (), {"RewriteReview": staticmethod(lambda *_of, **_more: Review())})
    )
    opened = Workbench(demo).open_conversation(2, "Summary DAG")
    dag = opened.panel
    assert isinstance(dag, DagPanel)
    dag.rewrite.click()
    assert dag.said == ""
    assert opened.tab == "Review"
    assert isinstance(opened.panel, Review)


def test_a_tab_is_read_again_when_the_store_has_changed(tmp_path: Path) -> None:
    store = demo_store.build(tmp_path / "openclaw")
    opened = Workbench(browsing.opened(store)).open_conversation(2, "Summary DAG")
    dag = opened.panel
    assert isinstance(dag, DagPanel)
    chosen = dag.dag.levels[0][0] if dag.dag else ""
    dag.show(chosen)
    opened.open("Context")
    with closing(sqlite3.connect(store)) as other, other:
        other.execute("UPDATE summaries SET content = 'Words of another hand.' WHERE summary_id = ?", (chosen,))
    opened.open("Summary DAG")
    assert dag.selected == chosen
    assert preview("Words of another hand.") in dag.detail.text.html.value


def test_a_store_that_goes_away_is_said_and_the_way_back_works(tmp_path: Path) -> None:
    """B98."""
    store = demo_store.build(tmp_path / "openclaw")
    bench = Workbench(browsing.opened(store))
    opened = bench.open_conversation(2)
    store.rename(store.with_name("gone.db"))
    opened.open("Budget")
    assert "no file" in opened.said.lower() or "there is no" in opened.said.lower() or "gone" in opened.said
    bench.reload.click()
    assert bench.said or opened.said
    bench.back.click()
    assert crumbs(bench) == ["Conversations"]
    store.with_name("gone.db").rename(store)
    bench.reload.click()
    assert bench.said == ""


def at_work(bench: Workbench, gate: threading.Event) -> tuple[Place, Panel]:
    """A conversation with a batch that goes on alone as soon as the gate is open."""

    def slow(request: Request) -> str:
        gate.wait(10)
        return f"new {request.summary_id}\nExpand for details about: it"

    bench.summarizer = Scripted(slow)
    opened = bench.open_conversation(1, "Summary DAG")
    dag = opened.panel
    assert isinstance(dag, DagPanel)
    dag.subtree.click()
    review = opened.panel
    assert isinstance(review, RewriteReview)
    review.accept_remaining()
    assert review.working
    return opened, review


def test_a_review_at_work_is_not_replaced(demo: Lab) -> None:
    gate = threading.Event()
    opened, review = at_work(Workbench(demo), gate)
    dag = opened.open("Summary DAG")
    assert isinstance(dag, DagPanel)
    dag.rewrite.click()
    assert "still at work" in dag.said
    assert opened.panels["Review"] is review
    review.close()
    gate.set()
    review.settle()
    dag.rewrite.click()
    assert opened.panel is not review


@pytest.mark.parametrize("way", ["back", "crumb", "another"])
def test_a_review_that_nobody_sees_any_more_writes_nothing(demo: Lab, way: str) -> None:
    gate = threading.Event()
    bench = Workbench(demo)
    before = len(demo.history().entries)
    _, review = at_work(bench, gate)
    if way == "back":
        bench.back.click()
    elif way == "crumb":
        bench.crumbs[0].click()
    else:
        bench.open_conversation(2)
    assert "given up" in bench.said
    gate.set()
    review.settle()
    assert len(demo.history().entries) == before


def test_a_tab_that_could_not_be_filled_is_filled_by_reload(tmp_path: Path) -> None:
    store = demo_store.build(tmp_path / "openclaw")
    bench = Workbench(browsing.opened(store))
    opened = bench.open_conversation(2)
    store.rename(store.with_name("gone.db"))
    opened.open("Budget")
    assert opened.panel is None
    store.with_name("gone.db").rename(store)
    bench.reload.click()
    assert opened.panel is not None
    assert opened.tabs.children[opened.names.index("Budget")].children == (opened.panel.widget,)


def test_back_from_the_journal_shows_what_was_taken_back(tmp_path: Path) -> None:
    lab = browsing.opened(demo_store.build(tmp_path / "openclaw"))
    bench = Workbench(lab)
    top = lab.dag(1).roots[0]
    lab.dissolve(1, top).apply()
    opened = bench.open_conversation(1, "Summary DAG")
    assert isinstance(opened.panel, DagPanel)
    bench.journal.click()
    journal = bench.place
    assert isinstance(journal, JournalPanel)
    journal.undo_one.click()
    bench.back.click()
    assert opened.panel.dag is not None
    assert top in opened.panel.dag.nodes


def test_a_conversation_of_the_list_has_its_session_file(demo: Lab) -> None:
    """The switch shows the file in any case, as lcm-tui does."""
    bench = Workbench(demo)
    found = {}
    for number in (1, 3, 4, 5):
        panel = bench.open_conversation(number).panel
        assert isinstance(panel, ConversationPanel)
        found[number] = panel.path.name[:8] if panel.path else None
    assert found == {1: "3d1f6a52", 3: None, 4: "e94b7d03", 5: None}


def test_shown_twice_it_is_one_place(demo: Lab) -> None:
    """What is displayed is the object's own widget: a second display is a second view of it."""
    bench = Workbench(demo)
    bench.open_conversation(1, "Large files")
    shown = bench.widget
    assert isinstance(bench.place, Place)
    assert isinstance(bench.place.panel, FilesPanel)
    assert bench.widget is shown
    assert "Large files" in bench.static()


def test_no_page_left_behind_stays_open(demo: Lab) -> None:
    bench = Workbench(demo)
    first = bench.open_conversation(1)
    bench.open_conversation(2)
    assert first.widget.comm is None
    assert bench.path[0][1].widget.comm is not None


def test_every_control_says_what_it_is(demo: Lab) -> None:
    bench = Workbench(demo)
    opened = bench.open_conversation(2)
    for tab in TABS[:-1]:
        opened.open(tab)
    silent = []

    def look(widget: object) -> None:
        kind = type(widget).__name__
        if kind in ("Button", "Text", "Select", "BoundedIntText", "Checkbox") and not widget.tooltip:  # type: ignore[attr-defined]
            silent.append((kind, widget.description))  # type: ignore[attr-defined]
        for one in getattr(widget, "children", ()):
            look(one)

    look(bench.widget)
    assert silent == []


def test_exported_names_are_sorted_and_there() -> None:
    names = lcm_lab.panels.__all__
    assert sorted(names) == names
    assert all(getattr(lcm_lab.panels, name) for name in names)
    with pytest.raises(AttributeError):
        _ = lcm_lab.panels.Nothing
