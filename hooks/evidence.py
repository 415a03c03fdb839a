"""What transcripts prove about compactions: whether one happened, and whether our text was in what followed.

Idea: nothing that we wrote down ourselves counts as delivery. The client notes in the transcript which text of a hook
it put before the model, so each boundary is judged by the lines behind it, up to the next boundary.

Invariant: every boundary of the main conversation gets exactly one verdict; a sub-agent's gets none.
Checked by ``tests/hooks/installer/test_status.py``.
"""

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

try:
    from . import memory_read, transcript
except ImportError:  # run as a script
    import memory_read  # type: ignore[import-not-found,no-redef]
    import transcript  # type: ignore[import-not-found,no-redef]

Verdict = Literal["delivered", "in part", "late", "not delivered", "no compaction"]

HEAD: Final = re.compile(r"^\[session memory [0-9a-f]+, part (\d+) of (\d+)\]", re.MULTILINE)
"""How each part of the block is headed."""

CUT: Final = "<persisted-output>"
"""Stands before the short preview that the client sends in place of a text that is too long."""


@dataclass(frozen=True)
class Compaction:
    """One compaction, or one that was announced and never came."""

    session: str
    at: str
    trigger: str
    before: int | None
    after: int | None
    parts: tuple[int, ...]
    expected: int
    verdict: Verdict


def compactions(path: Path) -> list[Compaction]:
    """Every boundary of the main conversation in one transcript, with its verdict."""
    found: list[Compaction] = []
    boundary: dict[str, Any] | None = None
    given: list[tuple[str, int, int]] = []
    for record in _records(path):
        if record.get("type") == "system":
            if boundary is not None:
                found.append(_judge(path, boundary, given))
            boundary, given = record, []
        elif boundary is not None:
            given += _parts(record.get("attachment"))
    if boundary is not None:
        found.append(_judge(path, boundary, given))
    return found


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Boundaries and what hooks put before the model; the other lines are passed over unread."""
    for _, _, line in transcript.raw_lines(os.fspath(path), final=True):
        if b"compact_boundary" not in line and not (b'"hook_' in line and b"part " in line):
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict) or record.get("isSidechain"):
            continue
        if record.get("type") == "attachment" or record.get("subtype") == "compact_boundary":
            yield record


def _parts(attachment: Any) -> list[tuple[str, int, int]]:
    """(event, part, of how many) for each part that an attachment put before the model."""
    if not isinstance(attachment, dict) or not str(attachment.get("type")).startswith("hook_"):
        return []
    event = str(attachment.get("hookEvent") or str(attachment.get("hookName")).partition(":")[0])
    # Only what was put before the model counts: "stdout" also holds documents that the client refused.
    content = attachment.get("content")
    texts = [transcript.content_text([piece]) for piece in (content if isinstance(content, list) else [content])]
    heads = [(head, text) for text in texts for head in HEAD.finditer(text)]
    return [(event, int(head[1]), int(head[2])) for head, text in heads if CUT not in text[: head.start()]]


def _judge(path: Path, boundary: dict[str, Any], given: list[tuple[str, int, int]]) -> Compaction:
    meta = boundary.get("compactMetadata")
    meta = meta if isinstance(meta, dict) else {}
    at_once = {part for event, part, _ in given if event == "SessionStart"}
    parts = tuple(sorted({part for _, part, _ in given}))
    expected = max((total for _, _, total in given), default=0)
    verdict: Verdict = "not delivered"
    if at_once:
        verdict = "delivered" if len(at_once) >= expected else "in part"
    elif parts:
        verdict = "late"
    return Compaction(
        path.stem,
        str(boundary.get("timestamp") or ""),
        str(meta.get("trigger") or ""),
        _whole(meta.get("preTokens")),
        _whole(meta.get("postTokens")),
        parts,
        expected,
        verdict,
    )


def announced(database: Path) -> list[tuple[str, str, str]]:
    """(session, time, trigger) of each PreCompact event that the memory saw; none where there is no database."""
    query = (
        "SELECT session_id, injected_at, coalesce(trigger, '') FROM injection_log "
        "WHERE event_type = 'pre_compact' ORDER BY id"
    )
    return [(str(s), _iso(str(at)), str(trigger)) for s, at, trigger in _rows(database, query)]


def never_came(seen: list[Compaction], announcements: list[tuple[str, str, str]]) -> list[Compaction]:
    """The announcements that no boundary followed before the session's next one."""
    found = []
    for number, (session, at, trigger) in enumerate(announcements):
        later = [a for s, a, _ in announcements[number + 1 :] if s == session]
        end = later[0] if later else "9999"
        if not any(c.session == session and at[:19] <= c.at[:19] < max(end[:19], at[:19] + "~") for c in seen):
            found.append(Compaction(session, at, trigger, None, None, (), 0, "no compaction"))
    return found


@dataclass(frozen=True)
class HookRun:
    """When an event last reached a hook, how many seconds ago, and how often it has."""

    event: str
    at: str
    age: float
    runs: int


def runs(database: Path, now: datetime | None = None) -> list[HookRun]:
    """The last run of each event, the newest first."""
    now = now or datetime.now(UTC)
    found = []
    for event, at, count in _rows(database, "SELECT event, last_at, runs FROM hook_runs ORDER BY last_at DESC"):
        try:
            when = datetime.fromisoformat(_iso(str(at)))
        except ValueError:
            continue
        found.append(HookRun(str(event), _iso(str(at)), (now - when).total_seconds(), int(count)))
    return found


def model_use(database: Path) -> memory_read.ModelUse:
    """What model help has cost so far."""
    rows = _rows(database, memory_read.MODEL_USE)
    return memory_read.ModelUse(*rows[0]) if rows else memory_read.ModelUse()


def _rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    """The rows of a query on the memory, which is only read; an absent, locked or other database has none."""
    if not database.is_file():
        return []
    try:
        connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True, timeout=2)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()
    except sqlite3.Error:
        return []


def _iso(at: str) -> str:
    """A time of the database in the form that transcripts use."""
    return at.replace(" ", "T") + ("Z" if at[-1:].isdigit() else "")


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
