"""L1 and L2 of one turn into their tables.

Idea: what the rules say about a turn may change while it runs, so a turn's rows are made to agree with its newest
reading: new judgments come, judgments that are no longer made go, what the user resolved stays resolved.
Invariant: one L1 row per turn; a judgment is stored once per session however often it is said; it is open again only
when a later turn says it again after it was resolved. Checked in tests/hooks/test_layers.py.
"""

from __future__ import annotations

import zlib

try:
    from . import classifier, hook_io, skeleton
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import skeleton  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

    from .classifier import Judgment
    from .turns import Turn

LONGEST = 600  # characters of one judgment


class OpenIssue:
    """An unresolved issue as the rules see it."""

    __slots__ = ("command", "content", "id", "turn_number")

    def __init__(self, issue: int, turn_number: int, content: str, command: str | None) -> None:
        self.id = issue
        self.turn_number = turn_number
        self.content = content
        self.command = command


def content_key(category: str, content: str) -> str:
    """Equal for judgments that say the same, whatever the case and the spacing."""
    data = f"{category}\0{' '.join(content.casefold().split()).rstrip('.!。！')}".encode("utf-8", "replace")
    return f"{zlib.crc32(data):08x}{zlib.adler32(data):08x}{len(data):x}"


def store(con: sqlite3.Connection, session: str, turn: Turn, *, mask: Callable[[str], str]) -> None:
    """Bring L1 and L2 of the turn up to its present state; to be called inside a transaction."""
    turn = turn.masked(mask)  # before anything is cut: half a secret is no pattern any more
    if turn.state != "open":
        try:
            summary = skeleton.line(turn)
        except Exception as error:  # noqa: BLE001 - a fault in a rule must not cost the turn
            hook_io.log(f"no skeleton for turn {turn.number}: {error!r}")
            summary = f"{turn.user_text[:60]} → {turn.state}"
        con.execute(
            "INSERT INTO skeletons(session_id, turn_number, role, summary) VALUES (?, ?, 'assistant', ?) "
            "ON CONFLICT(session_id, turn_number, role) DO UPDATE SET summary = excluded.summary",
            (session, turn.number, mask(" ".join(summary.split()))),
        )
    try:
        found = classifier.classify(turn)
    except Exception as error:  # noqa: BLE001 - as above
        hook_io.log(f"no judgments for turn {turn.number}: {error!r}")
        return
    _judgments(con, session, turn, found, mask)
    _resolve(con, session, turn)


def _judgments(
    con: sqlite3.Connection, session: str, turn: Turn, found: list[Judgment], mask: Callable[[str], str]
) -> None:
    kept = set()
    for made in found:
        content = mask(" ".join(made.content.split()))[:LONGEST]
        key = content_key(made.category, content)
        if key not in kept:
            kept.add(key)
            _put(con, session, turn.number, made, content, key)
    for row, key in con.execute(
        "SELECT id, content_hash FROM judgments WHERE session_id=? AND turn_number=? AND "
        "coalesce(resolved_by, '') <> 'user' AND source <> 'model'",
        (session, turn.number),
    ).fetchall():
        if key not in kept:
            con.execute("DELETE FROM judgments WHERE id=?", (row,))


def _put(con: sqlite3.Connection, session: str, turn: int, made: Judgment, content: str, key: str) -> None:
    """A judgment that is new, or said again: it stays as it is, but for what its being said again tells."""
    old = con.execute(
        "SELECT id, turn_number, resolved, resolved_turn, resolved_by FROM judgments "
        "WHERE session_id=? AND content_hash=?",
        (session, key),
    ).fetchone()
    if old is None:
        con.execute(
            "INSERT INTO judgments(session_id, turn_number, category, content, resolved, resolved_turn, "
            "resolved_by, resolved_at, confidence, command, content_hash, source) "
            "VALUES (?,?,?,?,?,?,?, CASE WHEN ? THEN datetime('now') END, ?,?,?,?)",
            (
                *(session, turn, made.category, content, int(made.resolved)),
                *((turn, _how(made)) if made.resolved else (None, None)),
                *(int(made.resolved), made.confidence, made.command, key, made.source),
            ),
        )
        _count(con, session, made.category, "stored")
    elif old[1] == turn:
        if made.resolved and not old[2]:
            _mark(con, session, old[0], turn, _how(made))
    elif made.category == "ISSUE" and old[2] and not made.resolved and (old[3] or 0) < turn:
        con.execute(
            "UPDATE judgments SET resolved=0, resolved_at=NULL, resolved_turn=NULL, resolved_by=NULL WHERE id=?",
            (old[0],),
        )
        _count(con, session, "ISSUE", "repeated")


def _how(made: Judgment) -> str:
    """By what a judgment was found settled."""
    return "model" if made.source == "model" else "text"


def put_by_model(con: sqlite3.Connection, session: str, turn: int, made: Judgment) -> None:
    """A judgment of a model: it stands whatever the rules say of the turn later."""
    key = content_key(made.category, made.content)
    _put(con, session, turn, made, made.content, key)
    con.execute(
        "UPDATE judgments SET source='model', confidence=? WHERE session_id=? AND content_hash=?",
        (made.confidence, session, key),
    )


def settle(con: sqlite3.Connection, session: str, issue: int, turn: int) -> None:
    """An issue that a model found settled in that turn, unless somebody was faster."""
    if con.execute("SELECT 1 FROM judgments WHERE id=? AND resolved=0", (issue,)).fetchone():
        _mark(con, session, issue, turn, "model")


def _resolve(con: sqlite3.Connection, session: str, turn: Turn) -> None:
    issues = [
        OpenIssue(*row)
        for row in con.execute(
            "SELECT id, turn_number, content, command FROM judgments WHERE session_id=? AND category='ISSUE' "
            "AND resolved=0 AND turn_number <= ? ORDER BY id",
            (session, turn.number),
        )
    ]
    if issues:
        known = {issue.id: issue for issue in issues}
        for issue in classifier.resolutions(issues, turn):
            if issue in known:
                _mark(con, session, issue, turn.number, "command" if known[issue].command else "text")


def _mark(con: sqlite3.Connection, session: str, issue: int, turn: int, how: str) -> None:
    con.execute(
        "UPDATE judgments SET resolved=1, resolved_at=datetime('now'), resolved_turn=?, resolved_by=? WHERE id=?",
        (turn, how, issue),
    )
    _count(con, session, "ISSUE", "resolved_by_user" if how == "user" else "resolved_by_text")


def resolve(con: sqlite3.Connection, session: str, issue: int) -> bool:
    """The user says that an issue is settled; False where there is no such open issue."""
    row = con.execute(
        "SELECT 1 FROM judgments WHERE session_id=? AND id=? AND category='ISSUE' AND resolved=0", (session, issue)
    ).fetchone()
    if row is None:
        return False
    _mark(con, session, issue, 0, "user")
    return True


def _count(con: sqlite3.Connection, session: str, category: str, column: str) -> None:
    con.execute(
        f"INSERT INTO classifier_stats(session_id, category, {column}) VALUES (?, ?, 1) "
        f"ON CONFLICT(session_id, category) DO UPDATE SET {column} = {column} + 1",
        (session, category),
    )
