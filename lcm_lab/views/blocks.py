"""Texts of a store as blocks of HTML for panels: messages, lines of a session file, facts, a text of any size.

A panel shows many texts at once and some are megabytes on one line, so each is cut with its size said, and what was cut
is told to the caller, who offers it. Tool traffic is folded away. The invariant: whatever a store holds is shown
literally and takes no more room in the page than the limit given. Checked by ``tests/views/test_blocks.py``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lcm_lab.analysis.rendered import Rendered
from lcm_lab.sessions.jsonl import Entry
from lcm_lab.store.messages import MessageView
from lcm_lab.store.rows import Part
from lcm_lab.store.text import part_text, parts_text, preview
from lcm_lab.times import Zone
from lcm_lab.views.escaping import escaped, literal
from lcm_lab.views.notebook import TONES

CUT: Final = 2_000
"""Characters of a text that are shown before "show all"."""

ALL: Final = 200_000
"""Characters that "show all" shows at once; a browser lays out so much in a moment."""

STYLE: Final = """<style>
.lcm-list select, .lcm-head, .lcm-text {font-family: var(--jp-code-font-family, monospace); font-size: 12px}
.lcm-list select {width: 100%; overflow-x: auto}
.lcm-list select option {white-space: pre}
.lcm-head {white-space: pre; overflow: hidden; color: var(--jp-ui-font-color2, #57606a); padding: 0 3px;
  line-height: 20px}
.lcm-block {border-left: 4px solid; padding: 1px 8px; margin: 6px 0; line-height: 1.4}
.lcm-block bdi, .lcm-box bdi {color: var(--jp-ui-font-color1, #222)}
.lcm-block > div > bdi {display: block}
.lcm-block .lcm-tone bdi {color: inherit}
.lcm-tabs > .lm-TabBar > .lm-TabBar-content {flex-wrap: wrap}
.lcm-tabs > .lm-TabBar .lm-TabBar-tab {flex: 0 0 auto !important; min-width: 0 !important; padding: 0 12px}
.lcm-live > * {width: 100%; min-width: 0}
.lcm-box {max-height: 420px; overflow: auto; border: 1px solid var(--jp-border-color2, #ccc); padding: 4px 8px}
.lcm-faint {color: var(--jp-ui-font-color2, #57606a)}
.lcm-facts td, .lcm-facts th {padding: 1px 12px 1px 0; vertical-align: top; text-align: left; line-height: 1.4;
  overflow-wrap: anywhere; white-space: normal; color: var(--jp-ui-font-color1, #222)}
.lcm-facts th {font-weight: normal; color: var(--jp-ui-font-color2, #57606a); white-space: nowrap}
.lcm-panel details > summary {cursor: pointer; color: var(--jp-ui-font-color2, #57606a)}
.lcm-panel .widget-html-content {line-height: 1.4; min-width: 0}
.lcm-panel .widget-html {height: auto; min-width: 0}
[data-jp-theme-light="false"] .lcm-tone {filter: brightness(1.75) saturate(.8)}
</style>"""
"""Colours of the notebook's own theme, light or dark."""


@dataclass(frozen=True, slots=True)
class Block:
    """HTML of one text with its head; ``hidden`` characters were cut off, of ``size`` in all."""

    html: str
    hidden: int = 0
    size: int = 0


def inline(text: str) -> str:
    """Text within a line, shown literally."""
    return f'<bdi class="mathjax_ignore">{escaped(text)}</bdi>'


def cut(text: str, limit: int) -> tuple[str, int]:
    """``text`` as HTML of at most ``limit`` characters with its whole size said, and how many were cut off."""
    hidden = max(0, len(text) - limit)
    if not hidden:
        return literal(text), 0
    note = f"cut here: {limit:,} of {len(text):,} characters shown"
    return f'{literal(text[:limit])}<span class="lcm-faint">\u2026 ({note})</span>', hidden


def short(text: str, limit: int) -> str:
    """``text`` cut to ``limit`` characters with its whole size said; plain text."""
    return text if len(text) <= limit else f"{text[:limit]}\u2026 (cut; {len(text):,} characters in all)"


def message(view: MessageView, zone: Zone, *, limit: int = CUT) -> Block:
    """A message: head with role, place, time and tokens, its text, tool traffic folded."""
    one = view.message
    number = f"{view.tokens:,} tokens" if view.rule == "stored" else f"~{view.tokens:,} tokens (estimated)"
    head = f"seq {one.seq} \u00b7 #{one.message_id} \u00b7 {zone.show(one.created_at)} \u00b7 {number}"
    said = one.content if one.content.strip() else parts_text(_texts(view.parts), between="\n\n")
    body, hidden = ("", 0) if not said.strip() else cut(said, limit)
    size = len(said)
    if body and one.role == "tool":
        body = _folded(f"tool result, {len(said):,} characters: {preview(said, size=70)}", body)
    folds = []
    for part in view.parts:
        if part in _texts(view.parts):
            continue
        text = part_text(part)
        inner, more = cut(text, limit)
        marks = " (left out by the model's view)" if part.is_ignored == 1 else ""
        name = " ".join(filter(None, (part.part_type, part.tool_name or part.file_name)))
        folds.append(_folded(f"{name}{marks}, {len(text):,} characters: {preview(text, size=70)}", inner))
        hidden, size = hidden + more, size + len(text)
    if not body and not folds:
        body = '<span class="lcm-faint">(empty: neither text nor parts)</span>'
    return Block(_framed(one.role, head, body + "".join(folds)), hidden, size)


def entry(one: Entry, zone: Zone, *, limit: int = CUT) -> Block:
    """A line of a session file."""
    moment = zone.show(one.timestamp) if one.timestamp else "no time"
    marks = [mark for mark in (one.problem, one.note, "repeated" if one.duplicate else None) if mark]
    head = f"line {one.line} \u00b7 {moment} \u00b7 {one.size_bytes:,} bytes" + "".join(
        f" \u00b7 {mark}" for mark in marks
    )
    body, hidden = cut(one.text, limit) if one.text else ("", 0)
    tool = one.role in ("tool", "toolResult", "shell")
    if one.kind == "message" and not tool:
        return Block(_framed(one.role, head, body), hidden, len(one.text))
    name = one.role if one.kind == "message" else one.type or one.kind
    if body:
        body = _folded(f"{name}, {len(one.text):,} characters: {preview(one.text, size=70)}", body)
    return Block(_framed("error" if one.kind == "bad" else "tool", head, body, name=name), hidden, len(one.text))


def sent(one: Rendered, *, limit: int = CUT) -> Block:
    """An item of a context in the words the model reads."""
    body, hidden = cut(one.text, limit) if one.text else ('<span class="lcm-faint">(nothing)</span>', 0)
    head = f"{one.item.ordinal} \u00b7 {one.item.kind} {one.item.item_id} \u00b7 {one.item.tokens:,} tokens"
    if one.item.wrapper_tokens:
        head += f" + {one.item.wrapper_tokens:,} of XML"
    return Block(_framed(one.role or "tool", head, body, name=one.role or "missing"), hidden, len(one.text))


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values, one under the other; rows without a value are left out."""
    cells = "".join(
        f'<tr><th scope="row">{inline(name)}</th><td>{inline(str(value))}</td></tr>'
        for name, value in rows
        if value is not None and value != ""
    )
    return f'<table class="lcm-facts"><tbody>{cells}</tbody></table>' if cells else ""


def boxed(text: str, *, limit: int = ALL, label: str = "text") -> Block:
    """A text in a box of its own that scrolls."""
    body, hidden = cut(text, limit)
    inside = body if text else '<span class="lcm-faint">(empty)</span>'
    name = escaped(label)
    return Block(
        f'<div class="lcm-box lcm-text" tabindex="0" role="region" aria-label="{name}">{inside}</div>',
        hidden,
        len(text),
    )


def headline(text: str) -> str:
    """A small heading."""
    return f"<b>{inline(text)}</b>"


def faint(text: str) -> str:
    """A remark."""
    return f'<div class="lcm-faint">{inline(text)}</div>'


def toned(text: str, tone: str) -> str:
    """A word in the colour of a role or a severity; the word says it, the colour only helps."""
    return f'<b class="lcm-tone" style="color:{_tone(tone)}">{inline(text)}</b>'


def _texts(parts: Sequence[Part]) -> list[Part]:
    """Parts that are said, in their order: not tool traffic, not thoughts, not files."""
    said = [one for one in parts if one.part_type == "text" and one.is_ignored != 1]
    return sorted(said, key=lambda part: part.ordinal)


def _framed(role: str, head: str, body: str, *, name: str = "") -> str:
    bar = f'<span class="lcm-faint">{inline(head)}</span>'
    label = toned((name or role or "no role").upper(), role)
    return f'<div class="lcm-block" style="border-color:{_tone(role)}">{label} {bar}{_block(body)}</div>'


def _block(body: str) -> str:
    return f"<div>{body}</div>" if body else ""


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{inline(summary)}</summary>{body}</details>"


def _tone(name: str) -> str:
    return TONES.get("tool" if name == "toolResult" else name, TONES["tool"])
