"""A session file read line by line, where nothing that a line may hold stops the reading.

A file grows while it is read, was cut by a full disk, holds lines of other clients, and sometimes no JSON at all. So
each line that is not blank gives exactly one :class:`Entry`: a message, another record, or a bad line with the reason.
Invariant: any bytes whatever give entries with rising line numbers, and no exception; only a file that cannot be opened
or read raises. Checked by the property test of ``tests/sessions/test_jsonl.py``.
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from lcm_lab.errors import UsageError
from lcm_lab.sessions.flatten import clean, flatten, shell_text, size_text
from lcm_lab.sessions.lines import RawLine, open_regular, raw_lines

Kind = Literal["message", "other", "bad"]

PAGE_TEXT_LIMIT: Final = 100_000
"""Characters of one entry's text that a page carries; 200 entries of the full line limit would not fit in memory."""

_RAW_SHOWN: Final = 500
_SPEAKERS: Final = ("user", "assistant", "system", "tool", "toolResult")
_TYPE_IN_HEAD: Final = re.compile(rb'"type"\s*:\s*"([\w.-]{1,80})"')
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Numbers below this are seconds: as milliseconds they would lie before April 1973.
_SMALLEST_MS: Final = 100_000_000_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a session file.

    ``kind`` is ``message`` (someone said something), ``other`` (a header, a setting, a compaction, a snapshot ...) or
    ``bad`` (nothing could be made of it; ``text`` then holds its beginning). ``role`` is "" unless it is a message.
    ``timestamp`` is as stored; numbers are turned into ISO 8601 in UTC. ``type`` is the record's own type, "" without
    one. ``session_id`` is the one the line names, None if it names none. ``problem`` says what is wrong with the line,
    ``note`` what a reader should know although nothing is wrong. ``duplicate``: its id came before. ``target_id`` is
    where a ``leaf`` record moves the end of the conversation. ``size_bytes`` is without the line end.
    """

    line: int
    kind: Kind
    size_bytes: int
    role: str = ""
    text: str = ""
    timestamp: str | None = None
    type: str = ""
    entry_id: str | None = None
    parent_id: str | None = None
    session_id: str | None = None
    target_id: str | None = None
    problem: str | None = None
    note: str | None = None
    duplicate: bool = False

    @property
    def report(self) -> str | None:
        """The problem with its line number, as ``line 7: 200.0 MB, skipped``; None without a problem."""
        return None if self.problem is None else f"line {self.line}: {self.problem}"


@dataclass(frozen=True, slots=True)
class EntryPage:
    """A stretch of a file's entries in the file's order. ``problems`` counts those of the whole file, not the page."""

    entries: tuple[Entry, ...]
    has_older: bool
    has_newer: bool
    total: int
    messages: int
    problems: int


@dataclass(slots=True)
class Seen:
    """Ids met so far; hand one object to several :func:`read` calls to flag what a second file repeats."""

    ids: set[str] = field(default_factory=set)


def read(
    path: Path,
    *,
    start: int = 1,
    limit: int | None = None,
    text_limit: int | None = None,
    seen: Seen | None = None,
) -> Iterator[Entry]:
    """The entries of the file at ``path``, oldest line first, read as they are asked for.

    Args:
        path: the file.
        start: first line number to give; earlier lines are still read for their ids.
        limit: most entries to give.
        text_limit: characters after which a text is cut, with a note.
        seen: ids of files read before, extended on the way.

    Raises:
        NotFound: no such file (at the first entry asked for).
        LcmLabError: it cannot be read.
    """
    entries = (entry for entry in _entries(path, seen or Seen()) if entry.line >= start)
    for entry in islice(entries, limit):
        yield entry if text_limit is None else _cut(entry, text_limit)


def page(
    path: Path,
    *,
    before: int | None = None,
    after: int | None = None,
    size: int = 200,
    text_limit: int = PAGE_TEXT_LIMIT,
) -> EntryPage:
    """``size`` entries before or after a line number (neither included); without one, the newest.

    Raises:
        UsageError: both ``before`` and ``after``, or a ``size`` outside 1 to 10,000.
        NotFound: no such file.
        LcmLabError: it cannot be read.
    """
    if before is not None and after is not None:
        raise UsageError("Give the line to page before or the line to page after, not both.")
    if not 1 <= size <= 10_000:
        raise UsageError(f"A page holds 1 to 10000 entries, not {size}.")
    kept: deque[Entry] = deque(maxlen=None if after is not None else size)
    total = messages = problems = older = newer = 0
    for entry in read(path, text_limit=text_limit):
        total += 1
        messages += entry.kind == "message"
        problems += entry.problem is not None
        if after is not None and entry.line <= after:
            older += 1
        elif (before is not None and entry.line >= before) or (after is not None and len(kept) == size):
            newer += 1
        else:
            older += after is None and len(kept) == size
            kept.append(entry)
    return EntryPage(tuple(kept), older > 0, newer > 0, total, messages, problems)


def header_session_id(first_line: bytes) -> str | None:
    """The session id of a file whose first non-blank line is ``first_line``; None when it is no session header."""
    record, _ = _parse(first_line)
    if not isinstance(record, dict) or record.get("type") != "session":
        return None
    return _name(record, "id")


def _entries(path: Path, seen: Seen) -> Iterator[Entry]:
    session: str | None = None
    with open_regular(path) as stream:
        for raw in raw_lines(stream):
            entry = _entry(raw)
            if entry is None:
                continue
            notes = []
            if entry.session_id is not None:
                if session is not None and entry.session_id != session:
                    notes.append(f"session id changes from {session} to {entry.session_id}")
                session = entry.session_id
            duplicate = entry.entry_id is not None and entry.entry_id in seen.ids
            if duplicate:
                notes.append("repeats an id seen before")
            elif entry.entry_id is not None:
                seen.ids.add(entry.entry_id)
            yield replace(entry, note="; ".join(notes), duplicate=duplicate) if notes else entry


def _entry(raw: RawLine) -> Entry | None:
    if raw.data is None:
        found = _TYPE_IN_HEAD.search(raw.head)
        kind = found[1].decode("ascii", "replace") if found else ""
        return Entry(raw.number, "bad", raw.size_bytes, type=kind, problem=f"{size_text(raw.size_bytes)}, skipped")
    try:
        record, problems = _parse(raw.data)
        if record is _NOT_JSON:
            if not problems:
                return None
            if not raw.ended:
                problems = ["cut off: the file ends inside this line"]
            return _bad(raw, problems)
        if not isinstance(record, dict):
            return _bad(raw, [*problems, f"valid JSON, but no record: {_SHAPES.get(type(record), 'a value')}"])
        return _from_record(raw, record, problems)
    except RecursionError:
        return _bad(raw, ["nested too deeply"])


_NOT_JSON: Final = object()
_SHAPES: Final[dict[type, str]] = {
    str: "a text",
    int: "a number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    type(None): "null",
}


def _parse(data: bytes) -> tuple[object, list[str]]:
    """The JSON value of a line and what had to be mended; ``_NOT_JSON`` without problems is a blank line."""
    problems = []
    data = data.removeprefix(b"\xef\xbb\xbf")
    if nuls := data.count(0):
        problems.append(f"{nuls} NUL bytes dropped")
        data = data.replace(b"\0", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        problems.append("invalid UTF-8 replaced")
        text = data.decode(errors="replace")
    if not text.strip():
        return _NOT_JSON, problems
    try:
        return json.loads(text, strict=False), problems
    except (ValueError, RecursionError) as error:
        nested = isinstance(error, RecursionError)
        return _NOT_JSON, [*problems, "nested too deeply" if nested else "not JSON"]


def _bad(raw: RawLine, problems: list[str]) -> Entry:
    shown = (raw.data or raw.head)[: _RAW_SHOWN * 4].decode(errors="replace").strip()[:_RAW_SHOWN]
    return Entry(raw.number, "bad", raw.size_bytes, text=clean(shown), problem="; ".join(problems))


@dataclass(frozen=True, slots=True)
class _Said:
    role: str
    text: str


def _from_record(raw: RawLine, record: dict[str, object], problems: list[str]) -> Entry:
    kind = _name(record, "type") or ""
    message = record.get("message")
    if kind == "session":
        return _make(raw, record, "other", _Said("", ""), problems)
    if isinstance(message, dict) and (kind in ("message", *_SPEAKERS) or "role" in message or "content" in message):
        return _make(raw, record, "message", _said(message, kind, problems), problems)
    if isinstance(message, str) and kind in ("", "message", *_SPEAKERS):
        problems.append("message is plain text, not a record")
        role = _name(record, "role") or (kind if kind in _SPEAKERS else "unknown")
        return _make(raw, record, "message", _Said(role, message.strip()), problems)
    if "role" in record and "content" in record:
        return _make(raw, record, "message", _said(record, kind, problems), problems)
    if kind == "message" or not kind:
        shell = shell_text(record)
        if shell is not None:
            return _make(raw, record, "message", _Said("shell", shell), problems)
        keys = ", ".join(sorted(record)[:8]) or "none"
        missing = "type message, but no message" if kind else "a record without type and message"
        return replace(_bad(raw, [*problems, f"{missing} (keys: {clean(keys)})"]), type=kind)
    text = flatten(record.get("summary")) or flatten(record.get("content")) or flatten(record.get("text"))
    return _make(raw, record, "other", _Said("", text), problems)


def _said(message: dict[str, object], kind: str, problems: list[str]) -> _Said:
    """Role and text of a message; what is missing is added to ``problems``."""
    role = _name(message, "role") or (kind if kind in _SPEAKERS else "")
    if not role:
        problems.append("no role")
    if "content" in message:
        return _Said(role or "unknown", flatten(message["content"]))
    shell = shell_text(message)
    if shell is None:
        problems.append("content is missing")
    return _Said(role or "unknown", shell or "")


def _make(raw: RawLine, record: dict[str, object], kind: Kind, said: _Said, problems: list[str]) -> Entry:
    type_name = _name(record, "type") or ""
    header = type_name == "session"
    message = record.get("message")
    inner = message if isinstance(message, dict) else {}
    return Entry(
        raw.number,
        kind,
        raw.size_bytes,
        role=clean(said.role),
        text=clean(said.text),
        timestamp=_time(record.get("timestamp")) or _time(inner.get("timestamp")),
        type=clean(type_name),
        # The id of a header names the session; as an entry it would be a root that nothing hangs from.
        entry_id=None if header else _name(record, "id", "uuid"),
        parent_id=None if header else _name(record, "parentId", "parentUuid"),
        session_id=_name(record, "id") if header else _name(record, "sessionId"),
        target_id=_name(record, "targetId") if type_name == "leaf" else None,
        problem="; ".join(problems) or None,
    )


def _cut(entry: Entry, limit: int) -> Entry:
    if len(entry.text) <= limit:
        return entry
    cut = f"text cut after {limit} of {len(entry.text)} characters"
    note = cut if entry.note is None else f"{entry.note}; {cut}"
    return replace(entry, text=entry.text[:limit], note=note)


def _name(record: dict[str, object], *keys: str) -> str | None:
    """The first of ``keys`` that holds a name (text that is not blank, or a whole number), stripped."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value.strip():
            return clean(value.strip())
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value) if abs(value) < 10**30 else None
    return None


def _time(value: object) -> str | None:
    """A stored time as text: ISO as it is, epoch seconds or milliseconds as ISO in UTC; None without one."""
    if isinstance(value, str):
        return clean(value.strip()) or None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        milliseconds = value if abs(value) >= _SMALLEST_MS else value * 1000
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except (OverflowError, ValueError):
        return str(value)[:40]
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
