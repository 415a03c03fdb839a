"""What the session memory answers: every SELECT that others need, as plain named rows.

Idea: the block, the look-up commands, the status report and people's own tools ask the same questions, so they are
asked in one place. Nothing here writes.
Invariant: texts come back whole, however they are stored; numbers of turns are the lasting ones.
Checked in tests/hooks/test_memory_db.py and tests/hooks/test_lookup.py.
"""

from __future__ import annotations

import os
import sqlite3

try:
    from . import memory_db
except ImportError:  # run as a script: the folder of the script is on the path
    import memory_db  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self


class Row:
    """A named row; the slots are the columns in their order."""

    __slots__: tuple[str, ...] = ()

    def __init__(self, values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            setattr(self, name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self.__slots__)})"

    @classmethod
    def many(cls, con: sqlite3.Connection, rest: str, given: tuple[Any, ...] = ()) -> list[Self]:
        """The rows of `SELECT columns` followed by `rest`."""
        return [cls(row) for row in con.execute(f"SELECT {', '.join(cls.__slots__)} {rest}", given)]


class SessionRow(Row):
    """One session."""

    __slots__ = (
        *("session_id", "project_path", "started_at", "last_active", "total_turns", "status", "compactions"),
        *("transcript_path", "context_tokens", "real_tokens", "estimated_tokens", "model", "client_version"),
    )
    session_id: str
    project_path: str
    started_at: str
    last_active: str
    total_turns: int
    status: str
    compactions: int
    transcript_path: str | None
    context_tokens: int | None
    real_tokens: int
    estimated_tokens: int
    model: str | None
    client_version: str | None


class TurnRow(Row):
    """One turn with its L1 line (empty while it runs)."""

    __slots__ = ("ended_at", "number", "raw_tokens", "started_at", "state", "summary")
    number: int
    state: str
    summary: str
    started_at: str | None
    ended_at: str | None
    raw_tokens: int | None


class JudgmentRow(Row):
    """One judgment."""

    __slots__ = (
        *("category", "command", "confidence", "content", "id", "resolved", "resolved_by", "source", "turn_number"),
    )
    id: int
    turn_number: int
    category: str
    content: str
    resolved: int
    resolved_by: str | None
    confidence: float | None
    command: str | None
    source: str  # rule (by its wording) | tool | model


class DetailRow(Row):
    """One detail, its texts whole."""

    __slots__ = (
        *("id", "session_id", "turn_number", "kind", "source_id", "tool_name", "input", "output", "exit_code"),
        *("token_count", "status", "agent_id", "created_at"),
    )
    id: int
    session_id: str
    turn_number: int
    kind: str
    source_id: str
    tool_name: str | None
    input: str
    output: str | None
    exit_code: int | None
    token_count: int | None
    status: str
    agent_id: str | None
    created_at: str


class Hit(Row):
    """One row that a search found, with a piece of the text around it."""

    __slots__ = ("id", "kind", "session_id", "snippet", "status", "tool_name", "turn_number")
    id: int
    session_id: str
    turn_number: int
    kind: str
    tool_name: str | None
    status: str
    snippet: str


class Injection(Row):
    """One row of injection_log."""

    __slots__ = (
        *("id", "session_id", "event_type", "layers_sent", "token_before", "token_after", "injected_at", "block_id"),
        *("part", "parts", "units", "trigger", "delivered", "note"),
    )
    id: int
    session_id: str
    event_type: str
    layers_sent: str
    token_before: int | None
    token_after: int | None
    injected_at: str
    block_id: str | None
    part: int | None
    parts: int | None
    units: int | None
    trigger: str | None
    delivered: int | None
    note: str | None


def open_existing() -> sqlite3.Connection | None:
    """A connection for reading, or None where nothing was ever stored."""
    return memory_db.connect() if os.path.exists(memory_db.path()) else None


def sessions(con: sqlite3.Connection) -> list[SessionRow]:
    """All sessions, the newest first."""
    return SessionRow.many(con, "FROM sessions ORDER BY last_active DESC, session_id")


def session(con: sqlite3.Connection, session_id: str) -> SessionRow | None:
    """One session."""
    found = SessionRow.many(con, "FROM sessions WHERE session_id=?", (session_id,))
    return found[0] if found else None


def turns(con: sqlite3.Connection, session_id: str) -> list[TurnRow]:
    """The turns of a session in their order."""
    rows = con.execute(
        "SELECT t.ended_at, t.turn_number, t.raw_tokens, t.started_at, t.state, coalesce(s.summary, '') FROM turns t "
        "LEFT JOIN skeletons s ON s.session_id = t.session_id AND s.turn_number = t.turn_number AND s.role='assistant' "
        "WHERE t.session_id=? ORDER BY t.turn_number",
        (session_id,),
    )
    return [TurnRow(row) for row in rows]


def judgments(con: sqlite3.Connection, session_id: str, category: str = "") -> list[JudgmentRow]:
    """The judgments of a session, of one category where it is named."""
    table = "judgments"
    if con.execute("PRAGMA user_version").fetchone()[0] < 2:  # not opened by a hook of this version yet
        table = "(SELECT *, CASE WHEN command IS NULL THEN 'rule' ELSE 'tool' END AS source FROM judgments)"
    rest = f"FROM {table} WHERE session_id=?1 AND (?2 = '' OR category = ?2) ORDER BY turn_number, id"
    return JudgmentRow.many(con, rest, (session_id, category))


def open_issues(con: sqlite3.Connection, session_id: str) -> list[JudgmentRow]:
    """What is unresolved."""
    return [row for row in judgments(con, session_id, "ISSUE") if not row.resolved]


DETAIL_COLUMNS = (
    "id, session_id, turn_number, kind, source_id, tool_name, input_text, input_packed, output_text, output_packed, "
    "exit_code, token_count, status, agent_id, created_at"
)


def _detail(row: Any) -> DetailRow:
    output = None if row[8] is None else memory_db.unpack(row[8], row[9])
    return DetailRow((*row[:6], memory_db.unpack(row[6], row[7]), output, *row[10:]))


def details(
    con: sqlite3.Connection, session_id: str, first: int, last: int | None = None, *, kinds: tuple[str, ...] = ()
) -> list[DetailRow]:
    """Everything stored of the turns first to last, in the order it was taken in."""
    wanted = f"AND kind IN ({','.join('?' * len(kinds))})" if kinds else ""
    rows = con.execute(
        f"SELECT {DETAIL_COLUMNS} FROM details WHERE session_id=? AND turn_number BETWEEN ? AND ? {wanted} "
        "ORDER BY turn_number, kind <> 'user', id",
        (session_id, first, first if last is None else last, *kinds),
    )
    return [_detail(row) for row in rows]


def detail(con: sqlite3.Connection, session_id: str, row_id: int) -> DetailRow | None:
    """One detail by its row id."""
    row = con.execute(
        f"SELECT {DETAIL_COLUMNS} FROM details WHERE session_id=? AND id=?", (session_id, row_id)
    ).fetchone()
    return None if row is None else _detail(row)


def tool_output(con: sqlite3.Connection, session_id: str, tool_use_id: str) -> str | None:
    """What the model saw of one call."""
    row = con.execute(
        f"SELECT {DETAIL_COLUMNS} FROM details WHERE session_id=? AND source_id=?", (session_id, tool_use_id)
    ).fetchone()
    return None if row is None else _detail(row).output


def injections(con: sqlite3.Connection, session_id: str) -> list[Injection]:
    """What was given to the model, when, and whether it arrived."""
    return Injection.many(con, "FROM injection_log WHERE session_id=? ORDER BY id", (session_id,))


def _wide(text: str) -> bool:
    return any("\u2e80" <= c <= "\u9fff" or "\uac00" <= c <= "\ud7ff" or "\uf900" <= c <= "\uffef" for c in text)


def search(con: sqlite3.Connection, words: list[str], session_id: str | None = None, most: int = 50) -> list[Hit]:
    """Rows that hold all the words, the newest first: by the index, or by a scan where the index cannot know.

    The index cuts text at spaces, which Chinese, Japanese and Korean do not put; a scan finds such words anywhere.
    """
    words = [word for word in words if word.strip("\0 ")]
    if not words:
        return []
    if not any(_wide(word) for word in words):
        query = " ".join('"' + word.replace('"', '""').replace("\0", "") + '"' for word in words)
        try:
            rows = con.execute(
                "SELECT d.id, d.kind, d.session_id, snippet(details_fts, -1, '', '', ' … ', 24), d.status, "
                "d.tool_name, d.turn_number FROM details_fts JOIN details d ON d.id = details_fts.rowid "
                "WHERE details_fts MATCH ? "
                "AND (? IS NULL OR d.session_id = ?) ORDER BY d.id DESC LIMIT ?",
                (query, session_id, session_id, most),
            ).fetchall()
        except sqlite3.OperationalError:  # no full-text search in this library, or a query it does not take
            rows = []
        if rows:
            return [Hit(row) for row in rows]
    return _scan(con, words, session_id, most)


def _scan(con: sqlite3.Connection, words: list[str], session_id: str | None, most: int) -> list[Hit]:
    found: list[Hit] = []
    rows = con.execute(
        "SELECT id, kind, session_id, status, tool_name, turn_number, coalesce(input_text, ''), "
        "coalesce(output_text, ''), output_packed FROM details WHERE (? IS NULL OR session_id = ?) ORDER BY id DESC",
        (session_id, session_id),
    )
    low = [word.casefold() for word in words]
    for row in rows:
        text = row[6] + "\n" + memory_db.unpack(row[7], row[8])
        folded = text.casefold()
        if all(word in folded for word in low):
            at = folded.find(low[0])
            piece = " ".join(text[max(0, at - 60) : at + 100].split())
            found.append(Hit((row[0], row[1], row[2], piece, row[3], row[4], row[5])))
            if len(found) == most:
                break
    return found


MODEL_USE = (
    "SELECT count(*), coalesce(sum(outcome = 'judged'), 0), coalesce(sum(input_tokens + output_tokens), 0), "
    "sum(cost_usd) FROM model_requests"
)


class ModelUse:
    """What model help has cost: requests, those that brought something, tokens in and out, dollars where known."""

    __slots__ = ("cost_usd", "judged", "requests", "tokens")

    def __init__(self, requests: int = 0, judged: int = 0, tokens: int = 0, cost_usd: float | None = None) -> None:
        self.requests = requests
        self.judged = judged
        self.tokens = tokens
        self.cost_usd = cost_usd

    def __str__(self) -> str:
        if not self.requests:
            return "never asked"
        many = "" if self.requests == 1 else "s"
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:.2f} as the client reports it"
        return f"{self.requests:,} request{many}, {self.judged:,} of use, {self.tokens:,} tokens{cost}"


def model_use(con: sqlite3.Connection, session_id: str | None = None) -> ModelUse:
    """The requests of one session, or of all."""
    if not con.execute("SELECT 1 FROM sqlite_master WHERE name='model_requests'").fetchone():
        return ModelUse()  # a memory that no hook of this version has opened yet
    where, given = (" WHERE session_id=?", (session_id,)) if session_id else ("", ())
    return ModelUse(*con.execute(MODEL_USE + where, given).fetchone())


def stats(con: sqlite3.Connection) -> dict[str, int]:
    """Counts and sizes of the whole memory."""
    names = ("sessions", "turns", "skeletons", "judgments", "details", "injection_log")
    found = {name: int(con.execute(f"SELECT count(*) FROM {name}").fetchone()[0]) for name in names}
    found["detail_tokens"] = int(con.execute("SELECT coalesce(sum(token_count), 0) FROM details").fetchone()[0])
    found["bytes"] = int(
        con.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size").fetchone()[0]
    )
    return found
