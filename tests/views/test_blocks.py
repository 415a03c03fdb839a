"""Texts as blocks: literal, cut with their size said, tool traffic folded."""

import re
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from lcm_lab import times
from lcm_lab.sessions.jsonl import Entry
from lcm_lab.store.messages import MessageView
from lcm_lab.store.rows import Message, Part
from lcm_lab.views import blocks, notebook
from lcm_lab.views.table import Column, make

UTC = times.zone("UTC")


def view(role: str, content: str, *parts: Part) -> MessageView:
    """A message with these parts."""
    message = Message(1, 1, 7, role, content, 3, None, None, "2026-05-01 10:00:00")
    return MessageView(message, content, 3, "stored", parts)


def part(ordinal: int, kind: str, **more: object) -> Part:
    """A part of a message."""
    values: dict[str, object] = dict.fromkeys(one.name for one in fields(Part))
    values |= {"part_id": f"p{ordinal}", "message_id": 1, "ordinal": ordinal, "part_type": kind, **more}
    return Part(**values)  # type: ignore[arg-type]


def tags(html: str) -> set[str]:
    """The elements that HTML holds."""
    return set(re.findall(r"<([a-z]+)", html))


@given(st.text(max_size=300), st.sampled_from(["user", "tool", "odd<role>"]), st.integers(1, 50))
def test_whatever_is_stored_adds_no_element(text: str, role: str, limit: int) -> None:
    ours = {"div", "b", "bdi", "span", "details", "summary", "table", "tbody", "tr", "th", "td"}
    block = blocks.message(view(role, text, part(0, "tool", tool_name=text, tool_output=text)), UTC, limit=limit)
    entry = blocks.entry(Entry(1, "message", 5, role=role, text=text, problem=text), UTC, limit=limit)
    for html in (block.html, entry.html, blocks.facts([(text, text)]), blocks.boxed(text, label=text).html):
        assert tags(html) <= ours
        assert "$" not in html
    assert block.hidden >= max(0, len(text) - limit if text.strip() else 0)


def test_a_cut_text_says_its_size() -> None:
    html, hidden = blocks.cut("x" * 200_000, 2000)
    assert hidden == 198_000
    assert "2,000 of 200,000 characters shown" in html
    assert len(html) < 2500
    assert blocks.cut("short", 2000)[1] == 0


def test_text_parts_are_said_once_and_tools_are_folded() -> None:
    call = part(1, "tool", tool_name="exec", tool_input='{"cmd":"ls"}', tool_output="a b c")
    shown = blocks.message(view("assistant", "I look.", part(0, "text", text_content="I look."), call), UTC).html
    assert shown.count("I look.") == 1
    assert shown.count("<details>") == 1
    assert "tool exec, " in shown
    assert "Tool output: a b c" in shown


def test_parts_speak_where_the_content_is_blank() -> None:
    told = [part(1, "text", text_content="second"), part(0, "text", text_content="first")]
    shown = blocks.message(view("user", " ", *told, part(2, "text", text_content="hidden", is_ignored=1)), UTC).html
    assert shown.index("first") < shown.index("second")
    assert "left out by the model" in shown


def test_a_table_keeps_mathjax_away() -> None:
    """MathJax reads the page after it is built, so an escaped dollar sign is no help: only the class is."""
    table = make("$t$", [Column("$c$", wrap=True)], [("$\\alpha$",)], notes=["$n$"])
    assert notebook.html(table).startswith('<div class="mathjax_ignore"')
    assert notebook.html(make("$t$", [], [], notes=["$n$"])).startswith('<div class="mathjax_ignore"')
