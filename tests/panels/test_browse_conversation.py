"""The window of messages: paged by place, cut texts, folded tools, and the raw file in any case."""

import json
from pathlib import Path

import pytest

from lcm_lab.lab import Lab
from lcm_lab.panels import conversation
from lcm_lab.panels.conversation import ConversationPanel
from lcm_lab.panels.reading import Expandable
from lcm_lab.views import blocks
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]


def html(panel: ConversationPanel) -> str:
    """All the page shows."""

    def texts(widget: object) -> str:
        inside = "".join(texts(one) for one in getattr(widget, "children", ()))
        return inside or str(getattr(widget, "value", ""))

    return texts(panel.page)


def seqs(panel: ConversationPanel) -> tuple[int, int]:
    """First and last place of the window."""
    assert panel.window is not None
    return panel.window.messages[0].message.seq, panel.window.messages[-1].message.seq


def test_the_newest_page_first_and_all_the_way_back_without_a_gap(demo: Lab) -> None:
    panel = ConversationPanel(demo, 1)
    first, last = seqs(panel)
    assert last == 214
    assert panel.newer.disabled
    seen = set(range(first, last + 1))
    while not panel.older.disabled:
        panel.older.click()
        ends = seqs(panel)
        assert ends[1] == first - 1
        first = ends[0]
        seen |= set(range(ends[0], ends[1] + 1))
    assert len(seen) == demo.messages(1, size=1).messages[0].message.seq
    panel.newer.click()
    assert seqs(panel)[0] > first
    panel.newest.click()
    assert seqs(panel)[1] == 214


def test_roles_are_said_and_coloured_and_tools_are_folded(demo: Lab) -> None:
    shown = html(ConversationPanel(demo, 1))
    assert ">ASSISTANT<" in shown
    assert "#0969da" in shown
    assert "<details><summary>" in shown
    assert "tool exec" in shown or "tool result" in shown


def test_stored_text_is_shown_literally_and_cut_with_its_size(make_store: StoreMaker) -> None:
    """B97."""
    lab = browsing.opened(make_store(browsing.NASTY_ROWS))
    panel = ConversationPanel(lab, 50)
    browsing.shows_literally(html(panel))
    browsing.shows_literally(panel.static())
    assert len(html(panel)) < 20_000
    assert len(panel.static()) < 20_000
    assert "2,000 of 200,000 characters shown" in html(panel)
    cut = [one for one in panel.page.children[0].children if hasattr(one, "children")]
    assert len(cut) == 2
    _, more = cut[1].children
    assert more.description == "Show all (200,000 characters)"
    more.click()
    assert "cut here" not in cut[1].children[0].value
    assert browsing.LONG_LINE in cut[1].children[0].value
    more.click()
    assert "cut here" in cut[1].children[0].value


def test_a_text_of_megabytes_comes_in_steps() -> None:
    text = "y" * 1_500_000
    found = Expandable(lambda limit: blocks.boxed(text, limit=limit))
    found.more.click()
    assert len(found.html.value) < blocks.ALL + 1000
    assert found.more.description == "Show more"
    found.more.click()
    assert len(found.html.value) < 5 * blocks.ALL + 1000
    found.more.click()
    assert text in found.html.value
    assert found.more.description == "Show less"


def test_the_raw_file_shows_in_any_case(demo: Lab) -> None:
    row = next(one for one in demo.sessions("main").rows if one.match.conversation_id == 1)
    panel = ConversationPanel(demo, 1, row.file.path)
    assert not panel.source.disabled
    panel.source.value = "raw session file"
    assert panel.lines is not None
    assert panel.window is None
    assert row.file.path.name in panel.where.value
    assert panel.tables()[0].title.endswith("lines of a session file")
    panel.source.value = "messages in the store"
    assert panel.window is not None


def test_a_session_without_a_conversation_shows_its_file(demo: Lab) -> None:
    row = next(one for one in demo.sessions("main").rows if one.match.conversation_id is None)
    panel = ConversationPanel(demo, None, row.file.path)
    assert panel.source.disabled
    assert panel.lines is not None
    assert panel.lines.messages


def test_a_damaged_file_is_shown_line_by_line(tmp_path: Path, base_store: Path) -> None:
    path = tmp_path / "s.jsonl"
    said = {"type": "message", "message": {"role": "user", "content": browsing.NASTY}}
    path.write_bytes(b'{"type":"session","id":"s"}\n' + json.dumps(said).encode() + b'\n{"cut\xff\n')
    panel = ConversationPanel(browsing.opened(base_store), None, path)
    browsing.shows_literally(html(panel))
    assert "1 could not be read" in panel.where.value
    assert ">BAD<" in html(panel)


def test_a_file_that_is_none_is_said(tmp_path: Path, base_store: Path) -> None:
    panel = ConversationPanel(browsing.opened(base_store), None, tmp_path / "gone.jsonl")
    assert "There is no session file" in panel.said


@pytest.mark.parametrize("role", ["", "Moderator"])
def test_rows_without_text_or_known_role_are_not_blank(make_store: StoreMaker, role: str) -> None:
    """B28."""
    lab = browsing.opened(make_store(f"UPDATE messages SET content = '', role = '{role}' WHERE message_id = 6"))
    shown = html(ConversationPanel(lab, 44))
    assert "empty: neither text nor parts" in shown
    assert (role.upper() or "NO ROLE") in shown


def test_a_page_costs_the_same_in_a_large_conversation(demo: Lab) -> None:
    panel = ConversationPanel(demo, 1)
    assert panel.window is not None
    assert len(panel.window.messages) == conversation.SIZE
