"""Tables for texts: messages of a conversation, lines of a session file, hits of a search."""

from lcm_lab.analysis.wording import counted
from lcm_lab.sessions.jsonl import EntryPage
from lcm_lab.store.messages import Window
from lcm_lab.store.search import Hits
from lcm_lab.store.text import preview
from lcm_lab.times import Zone
from lcm_lab.views.browse import RULE, more
from lcm_lab.views.table import Column, Table, make


def window(result: Window, zone: Zone) -> list[Table]:
    """Messages in order, texts cut to what fits a screen."""
    rows, tones = [], []
    for one in result.messages:
        message = one.message
        limit = 8_000 if message.role == "tool" else 32_000
        text = (
            one.text
            if len(one.text) <= limit
            else f"{one.text[:limit]}\u2026 (cut; {len(one.text):,} characters in all)"
        )
        number = f"{one.tokens:,}" if one.rule == "stored" else f"~{one.tokens:,}"
        rows.append(
            (
                str(message.seq),
                f"#{message.message_id}",
                zone.show(message.created_at, zone=False),
                message.role,
                number,
                text,
            )
        )
        tones.append(message.role)
    heads: list[Column | str] = [
        Column("seq", right=True),
        "id",
        f"time ({zone.name})",
        "role",
        Column("tokens", right=True),
        Column("text", wrap=True),
    ]
    said = [f"{RULE} ~ marks an estimate."]
    if result.has_older and result.messages:
        said.append(f"Older messages: --before {result.messages[0].message.seq}")
    if result.has_newer and result.messages:
        said.append(f"Newer messages: --after {result.messages[-1].message.seq}")
    return [make(counted(len(result.messages), "message"), heads, rows, tones=tones, notes=said)]


def entries(result: EntryPage, zone: Zone) -> list[Table]:
    """Lines of a session file, in the file's order."""
    rows, tones = [], []
    for one in result.entries:
        marks = [one.problem, one.note, "repeated" if one.duplicate else None]
        text = one.text if one.kind == "message" else f"({one.type or 'no type'}) {preview(one.text)}"
        moment = zone.show(one.timestamp, zone=False) if one.timestamp else ""
        rows.append((str(one.line), moment, one.role, text, "; ".join(mark for mark in marks if mark)))
        tones.append("error" if one.kind == "bad" else one.role or "muted")
    heads: list[Column | str] = [
        Column("line", right=True),
        f"time ({zone.name})",
        "role",
        Column("text", wrap=True),
        Column("remarks", wrap=True),
    ]
    said = [f"The file as it lies on disk: {counted(result.total, 'line')}, {counted(result.messages, 'message')}."]
    if result.problems:
        said.append(f"{counted(result.problems, 'line')} could not be read as they should be.")
    if result.has_older and result.entries:
        said.append(f"Older lines: --before {result.entries[0].line}")
    if result.has_newer and result.entries:
        said.append(f"Newer lines: --after {result.entries[-1].line}")
    return [make(f"{counted(len(rows), 'line')} of a session file", heads, rows, tones=tones, notes=said)]


def hits(result: Hits, zone: Zone) -> list[Table]:
    """Where a text occurs."""
    rows = [
        (
            one.row_id if one.table == "summaries" else f"#{one.row_id}",
            one.kind,
            str(one.conversation_id),
            zone.show(one.created_at, zone=False),
            one.snippet,
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "id",
        "kind",
        Column("conv_id", right=True),
        f"time ({zone.name})",
        Column("text", wrap=True),
    ]
    modes = [f"{table}: {mode}" for table, mode in result.modes.items()]
    return [
        make(
            counted(len(rows), "hit"),
            heads,
            rows,
            tones=[one.kind for one in result.rows],
            notes=[*modes, more(result.next)],
        )
    ]
