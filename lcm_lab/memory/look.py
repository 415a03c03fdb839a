"""Every question to the session memory, answered by the hooks' own SELECTs as typed rows.

Idea: ``hooks/memory_read.py`` asks the database; here its rows get their token numbers and become frozen results, so
the block, the look-up and the workbench cannot disagree. Our own SELECTs are two: the facts of details without their
texts, which can be megabytes, and the events seen.
Invariant: a look writes nothing; the estimate of L1 and L2 never makes the memory look cheaper than it is.
Checked by ``tests/memory/test_look.py``.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from lcm_lab.errors import NotFound
from lcm_lab.hooks import block, lookup, memory_read, token_estimator
from lcm_lab.memory.results import (
    CATEGORIES,
    BlockView,
    Detail,
    Hit,
    Hits,
    Injection,
    Judgment,
    Session,
    Sessions,
    Stats,
    Turn,
    TurnView,
)
from lcm_lab.store.page import slice_page

ALL_TURNS: Final = (-(2**31), 2**31)


class DetailFacts(memory_read.Row):
    """One detail without its texts."""

    __slots__ = (
        *("id", "session_id", "turn_number", "kind", "source_id", "tool_name", "status", "exit_code"),
        *("token_count", "agent_id", "output_size", "created_at"),
    )
    id: int
    session_id: str
    turn_number: int
    kind: str
    source_id: str
    tool_name: str | None
    status: str
    exit_code: int | None
    token_count: int | None
    agent_id: str | None
    output_size: int | None
    created_at: str

    @classmethod
    def of(cls, con: sqlite3.Connection, session_id: str) -> "list[DetailFacts]":
        """Those of one session, in the order they were stored."""
        return cls.many(con, "FROM details WHERE session_id=? ORDER BY id", (session_id,))


class HookRun(memory_read.Row):
    """When an event last reached a hook, and how often it has."""

    __slots__ = ("event", "last_at", "runs")
    event: str
    last_at: str
    runs: int


def resolve(con: sqlite3.Connection, given: str | None) -> memory_read.SessionRow:
    """The session by its id, by the start of its id, or the newest one (None).

    Raises:
        NotFound: there is none, or more than one.
    """
    rows = memory_read.sessions(con)
    if given is None:
        if not rows:
            raise NotFound("This memory holds no session yet.")
        return next((row for row in rows if row.total_turns), rows[0])
    found = [row for row in rows if row.session_id == given] or [
        row for row in rows if given and row.session_id.startswith(given)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} sessions begin with {given}; give more of the id.")
    raise NotFound(f"There is no session {given} in this memory; 'lcm-lab memory sessions' lists those there are.")


def scale(row: memory_read.SessionRow) -> float:
    """By what estimates of L1 and L2 are multiplied: the session's measured factor, never below 1.

    The size of a turn was estimated with the factor known when it was stored, which for an import is 1.
    """
    return max(1.0, token_estimator.factor(row.real_tokens, row.estimated_tokens))


def turns(con: sqlite3.Connection, row: memory_read.SessionRow) -> tuple[Turn, ...]:
    """The turns of a session with their tokens."""
    factor = scale(row)
    below = Counter[int]()
    counts = Counter[int]()
    for one in memory_read.judgments(con, row.session_id):
        below[one.turn_number] += _l2_tokens(one, factor)
        counts[one.turn_number] += 1
    facts = DetailFacts.of(con, row.session_id)
    details = Counter(one.turn_number for one in facts)
    calls = Counter(one.turn_number for one in facts if one.kind == "tool")
    return tuple(
        Turn(
            session_id=row.session_id,
            turn_number=one.number,
            state=one.state,
            started_at=one.started_at,
            ended_at=one.ended_at,
            summary=one.summary,
            raw_tokens=one.raw_tokens,
            l1_tokens=token_estimator.estimate(f"{one.number}. {one.summary}", factor) if one.summary else 0,
            l2_tokens=below[one.number],
            judgments=counts[one.number],
            details=details[one.number],
            tool_calls=calls[one.number],
        )
        for one in memory_read.turns(con, row.session_id)
    )


def sessions(con: sqlite3.Connection, *, limit: int, cursor: str | None) -> Sessions:
    """A page of sessions with their totals."""
    page = slice_page(memory_read.sessions(con), limit=limit, cursor=cursor)
    return Sessions(tuple(session(con, row) for row in page.rows), page.next, page.total or 0)


def session(con: sqlite3.Connection, row: memory_read.SessionRow) -> Session:
    """One session with its totals."""
    found = turns(con, row)
    return Session(
        session_id=row.session_id,
        project_path=row.project_path,
        started_at=row.started_at,
        last_active=row.last_active,
        status=row.status,
        turns=len(found),
        compactions=row.compactions,
        details=len(DetailFacts.of(con, row.session_id)),
        open_issues=len(memory_read.open_issues(con, row.session_id)),
        raw_tokens=sum(one.raw_tokens or 0 for one in found),
        layer_tokens=sum(one.layer_tokens for one in found),
        context_tokens=row.context_tokens,
        model=row.model,
        client_version=row.client_version,
        transcript_path=row.transcript_path,
    )


def judgments(con: sqlite3.Connection, rows: Iterable[memory_read.SessionRow], category: str) -> tuple[Judgment, ...]:
    """L2 of these sessions, of one category where it is named."""
    return tuple(
        _judgment(one, row.session_id, scale(row))
        for row in rows
        for one in memory_read.judgments(con, row.session_id, category)
    )


def _judgment(one: memory_read.JudgmentRow, session_id: str, factor: float) -> Judgment:
    return Judgment(
        id=one.id,
        session_id=session_id,
        turn_number=one.turn_number,
        category=one.category,
        content=one.content,
        resolved=bool(one.resolved) if one.category == "ISSUE" else None,
        resolved_by=one.resolved_by,
        confidence=one.confidence,
        command=one.command,
        source=one.source,
        tokens=_l2_tokens(one, factor),
    )


def _l2_tokens(one: memory_read.JudgmentRow, factor: float) -> int:
    return token_estimator.estimate(f"{one.category.lower()}: {one.content}", factor)


def turn(con: sqlite3.Connection, row: memory_read.SessionRow, number: int) -> TurnView:
    """One turn whole.

    Raises:
        NotFound: the session has no such turn.
    """
    found = [one for one in turns(con, row) if one.turn_number == number]
    if not found:
        raise NotFound(f"Session {row.session_id} has no turn {number}; 'lcm-lab memory turns' lists those there are.")
    lines = tuple(one for one in judgments(con, [row], "") if one.turn_number == number)
    return TurnView(found[0], lines, details(con, row.session_id, number, number))


def details(con: sqlite3.Connection, session_id: str, first: int, last: int) -> tuple[Detail, ...]:
    """L3 of the turns first to last with all texts."""
    names = Detail.__dataclass_fields__
    return tuple(
        Detail(**{name: getattr(one, name) for name in names})
        for one in memory_read.details(con, session_id, first, last)
    )


def search(con: sqlite3.Connection, text: str, session_id: str | None, limit: int) -> Hits:
    """Details that hold all the words; words in double quotes stay together."""
    words = tuple(word for quoted, plain in lookup.WORD.findall(text) if (word := (quoted or plain).strip()))
    names = Hit.__dataclass_fields__
    rows = memory_read.search(con, list(words), session_id, limit)
    return Hits(words, session_id, tuple(Hit(**{name: getattr(one, name) for name in names}) for one in rows), limit)


def injections(con: sqlite3.Connection, session_id: str) -> tuple[Injection, ...]:
    """What was given to the model or asked for, in its order."""
    return tuple(_injection(one) for one in memory_read.injections(con, session_id))


def _injection(one: memory_read.Injection) -> Injection:
    values: dict[str, Any] = {name: getattr(one, name) for name in Injection.__dataclass_fields__}
    values["delivered"] = None if one.delivered is None else bool(one.delivered)
    return Injection(**values)


def preview(con: sqlite3.Connection, session_id: str) -> BlockView:
    """What a compaction at this moment would be followed by."""
    made = block.lay_out(block.gather(con, session_id), session_id, "preview")
    return BlockView(session_id, tuple(made.parts), sum(token_estimator.estimate(text) for text in made.parts))


def stats(con: sqlite3.Connection, row: memory_read.SessionRow | None, path: Path, chosen_by: str) -> Stats:
    """The whole memory, or one session (``row``), in one look."""
    rows = memory_read.sessions(con) if row is None else [row]
    found = [one for each in rows for one in turns(con, each)]
    lines = judgments(con, rows, "")
    given = [one for each in rows for one in injections(con, each.session_id)]
    facts = [one for each in rows for one in DetailFacts.of(con, each.session_id)]
    handed = [one for one in given if one.event_type == "context_compaction"]
    return Stats(
        path=path,
        chosen_by=chosen_by,
        session_id=None if row is None else row.session_id,
        size_bytes=memory_read.stats(con)["bytes"],
        rows={
            "sessions": len(rows),
            "turns": len(found),
            "skeletons": sum(bool(one.summary) for one in found),
            "judgments": len(lines),
            "details": len(facts),
            "tool calls": sum(one.kind == "tool" for one in facts),
        },
        raw_tokens=sum(one.raw_tokens or 0 for one in found),
        l1_tokens=sum(one.l1_tokens for one in found),
        l2_tokens=sum(one.l2_tokens for one in found),
        detail_tokens=sum(one.token_count or 0 for one in facts),
        categories={
            name: (
                sum(one.category == name for one in lines),
                sum(one.category == name and one.resolved is False for one in lines),
            )
            for name in CATEGORIES
        },
        injections=dict(Counter(one.event_type for one in given)),
        arrived=sum(one.delivered is True for one in handed),
        not_arrived=sum(one.delivered is False for one in handed),
        runs=tuple((one.event, one.last_at, one.runs) for one in HookRun.many(con, "FROM hook_runs ORDER BY event")),
        model_help=memory_read.model_use(con, None if row is None else row.session_id),
    )
