"""Find a text in messages and summaries.

Any text is taken literally. Messages go through the full-text index where it works; the index knows words (stemmed, any
order of marks between them), so a text in CJK script, without a word, or not found there is looked for by a plain scan.
Summaries are few and are always scanned: their index is the one that other tools leave out of step. A hit always names
the way it was found.
"""

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from lcm_lab.errors import UsageError
from lcm_lab.store.connect import Note, Reader
from lcm_lab.store.messages import parts_of
from lcm_lab.store.rows import kind_label, read_depth
from lcm_lab.store.schema import FULL_TEXT_TABLES
from lcm_lab.store.text import PAYLOADS, parts_text, preview

INDEX: Final = "full-text index (words in any inflection; --scan also finds parts of words and tool payloads)"
SCAN: Final = "literal scan (any part of a word, ASCII case ignored)"
_SCRIPT_WITHOUT_SPACES: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORD: Final = re.compile(r"\w")
_CONTEXT: Final = 60
_LONGEST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Hit:
    """A message or summary that holds the text: ``kind`` is a role, ``leaf`` or ``dN``; ``snippet`` shows the place."""

    table: str
    row_id: str
    conversation_id: int
    kind: str
    created_at: str | None
    snippet: str


@dataclass(frozen=True, slots=True)
class Hits:
    """A page of hits, summaries before messages and newest first; ``modes`` says how each table was searched."""

    rows: tuple[Hit, ...]
    next: str | None
    modes: dict[str, str]
    notes: tuple[str | Note, ...] = ()


def search(
    reader: Reader,
    text: str,
    *,
    conversation_id: int | None = None,
    limit: int = 50,
    cursor: str | None = None,
    scan: bool = False,
) -> Hits:
    """Where ``text`` occurs. ``cursor`` is the ``next`` of the page before; ``scan`` leaves the index aside.

    An empty or blank text gives no hits.

    Raises:
        UsageError: the text is longer than 10,000 characters (SQLite matches no longer pattern), or no such cursor.
    """
    if not text.strip():
        return Hits((), None, {})
    if len(text) > _LONGEST:
        raise UsageError(f"A text of {len(text):,} characters cannot be searched for; give at most {_LONGEST:,}.")
    # A lone surrogate (a byte of the command line that is no UTF-8) cannot be handed to SQLite.
    text = text.encode("utf-8", "replace").decode()
    place, bound = _parse_cursor(cursor)
    found: list[tuple[int, Hit]] = []
    modes: dict[str, str] = {}
    notes: list[str] = []
    if place == "summaries":
        modes["summaries"] = SCAN
        found = _summaries(reader, text, conversation_id, limit + 1, bound)
        if len(found) > limit:
            return Hits(tuple(hit for _, hit in found[:limit]), f"summaries:{found[limit - 1][0]}", modes)
        place, bound = ("scan" if scan else "messages"), None
    room = limit - len(found)
    messages, modes["messages"] = _messages(reader, text, conversation_id, room + 1, (place, bound), notes)
    rows = tuple(hit for _, hit in [*found, *messages[:room]])
    if len(messages) <= room:
        return Hits(rows, None, modes, tuple(notes))
    # The way stands in the cursor: the next page must go on in the same one.
    way = "index" if modes["messages"] == INDEX else "scan"
    return Hits(rows, f"{way}:{messages[room - 1][0] if room else 2**62}", modes, tuple(notes))


def index_state(reader: Reader) -> dict[str, str]:
    """For each full-text table: ``works``, ``missing``, or why it cannot be used."""
    return {name: _index_problem(reader, name) or "works" for name in FULL_TEXT_TABLES}


def _index_problem(reader: Reader, table: str) -> str | None:
    if table not in reader.schema.full_text:
        return "missing"
    try:
        reader.all(f"SELECT rowid FROM {table} WHERE {table} MATCH ? LIMIT 1", ('"lcm"',))
    except sqlite3.DatabaseError as error:
        return f"cannot be used: {error}"
    return None


def _parse_cursor(cursor: str | None) -> tuple[str, int | None]:
    if not cursor:
        return "summaries", None
    place, _, bound = cursor.partition(":")
    if place not in ("summaries", "index", "scan") or not re.fullmatch("-?[0-9]{1,19}", bound):
        raise UsageError(f"{cursor!r} is not a cursor of a search; take the 'next' of the page before.")
    return place, int(bound)


def _messages(
    reader: Reader,
    text: str,
    conversation_id: int | None,
    limit: int,
    place: tuple[str, int | None],
    notes: list[str],
) -> tuple[list[tuple[int, Hit]], str]:
    way, bound = place
    fits_index = _WORD.search(text) and not _SCRIPT_WITHOUT_SPACES.search(text)
    problem = "missing" if way == "scan" or not fits_index else _index_problem(reader, "messages_fts")
    if problem is None:
        try:
            found = _indexed_messages(reader, text, conversation_id, limit, bound)
        except sqlite3.DatabaseError as error:
            problem = f"cannot be used: {error}"
        else:
            # Nothing on the first page may mean that the index lacks rows; then the scan decides.
            if found or way == "index":
                return found, INDEX
            problem = "missing"
    if problem != "missing":
        notes.append(f"messages_fts {problem}; searched by a scan instead")
    return _scan_messages(reader, text, conversation_id, limit, bound), SCAN


def _indexed_messages(
    reader: Reader, text: str, conversation_id: int | None, limit: int, bound: int | None
) -> list[tuple[int, Hit]]:
    phrase = '"' + text.replace('"', '""').replace("\x00", " ") + '"'
    conditions, parameters = ["f.messages_fts MATCH ?"], [phrase]
    _bounds("m", "message_id", conversation_id, bound, conditions, parameters)
    sql = f"""
        SELECT m.message_id, m.conversation_id, m.role, m.created_at, m.content
        FROM messages_fts f JOIN messages m ON m.message_id = f.rowid
        WHERE {" AND ".join(conditions)} ORDER BY m.message_id DESC LIMIT ?"""
    return [_message_hit(row, text) for row in reader.rows(sql, (*parameters, limit))]


def _scan_messages(
    reader: Reader, text: str, conversation_id: int | None, limit: int, bound: int | None
) -> list[tuple[int, Hit]]:
    holds, wanted = _holding(text)
    column = reader.schema.column
    payloads = " OR ".join(holds(column("message_parts", name, alias="p")) for name in PAYLOADS)
    counts = f"{column('message_parts', 'is_ignored', alias='p')} IS NOT 1"
    in_parts = f"EXISTS (SELECT 1 FROM message_parts p WHERE p.message_id = m.message_id AND {counts} AND ({payloads}))"
    conditions = [f"({holds('m.content')} OR {in_parts})"]
    parameters: list[Any] = [wanted] * (1 + len(PAYLOADS))
    _bounds("m", "message_id", conversation_id, bound, conditions, parameters)
    sql = f"""
        SELECT m.message_id, m.conversation_id, m.role, m.created_at, m.content FROM messages m
        WHERE {" AND ".join(conditions)} ORDER BY m.message_id DESC LIMIT ?"""
    rows = reader.all(sql, (*parameters, limit))
    elsewhere = [row[0] for row in rows if text.casefold() not in str(row[4] or "").casefold()]
    parts = parts_of(reader, elsewhere)
    return [
        _message_hit((*row[:4], parts_text(parts[row[0]], between="\n") if row[0] in parts else row[4]), text)
        for row in rows
    ]


def _summaries(
    reader: Reader, text: str, conversation_id: int | None, limit: int, bound: int | None
) -> list[tuple[int, Hit]]:
    holds, wanted = _holding(text)
    conditions, parameters = [holds("s.content")], [wanted]
    _bounds("s", "rowid", conversation_id, bound, conditions, parameters)
    depth = reader.schema.column("summaries", "depth", alias="s")
    sql = f"""
        SELECT s.rowid, s.summary_id, s.conversation_id, s.kind, {depth}, s.created_at, s.content FROM summaries s
        WHERE {" AND ".join(conditions)} ORDER BY s.rowid DESC LIMIT ?"""
    found = []
    for row in reader.rows(sql, (*parameters, limit)):
        label = kind_label(str(row[3]), read_depth(reader, row[1], row[4]))
        found.append((row[0], Hit("summaries", str(row[1]), row[2], label, row[5], _snippet(row[6], text))))
    return found


def _holding(text: str) -> tuple[Callable[[str], str], Any]:
    """SQL that says whether a column holds ``text``, and the value it is given."""
    if "\x00" in text:
        # SQLite ends a text at its first NUL, so such a text is compared as bytes.
        return lambda column: f"instr(CAST({column} AS BLOB), ?) > 0", text.encode("utf-8", "replace")
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return lambda column: f"CAST({column} AS TEXT) LIKE ? ESCAPE '\\'", f"%{escaped}%"


def _bounds(
    alias: str, key: str, conversation_id: int | None, bound: int | None, conditions: list[str], parameters: list[Any]
) -> None:
    if conversation_id is not None:
        conditions.append(f"{alias}.conversation_id = ?")
        parameters.append(conversation_id)
    if bound is not None:
        conditions.append(f"{alias}.{key} < ?")
        parameters.append(bound)


def _message_hit(row: tuple[Any, ...], text: str) -> tuple[int, Hit]:
    return row[0], Hit("messages", str(row[0]), row[1], str(row[2]), row[3], _snippet(row[4], text))


def _snippet(content: object, text: str) -> str:
    """The surroundings of the first place that holds the text, or its first word (an index hit may be inflected)."""
    whole = content if isinstance(content, str) else str(content or "")
    lower = whole.casefold()
    at = lower.find(text.casefold())
    if at < 0:
        words = re.findall(r"\w+", text.casefold())
        at = max(0, lower.find(words[0][:4]) if words else 0)
    start = max(0, at - _CONTEXT)
    cut = preview(whole[start : at + len(text) + _CONTEXT], size=2 * _CONTEXT + len(text))
    return ("\u2026" if start else "") + cut + ("\u2026" if at + len(text) + _CONTEXT < len(whole) else "")
