"""Which number a turn has.

Idea: a number is given as early as possible, by the event of the prompt, and found again by the transcript's line: by
its uuid, by the prompt's id, by its text. Prompt ids are not enough: a fork gives its new prompt's id to copied lines.
Invariant: once a turn's line was read its number stays; only a turn that was announced and never read makes room for
older ones that turn up, as after a fork. Checked in tests/hooks/test_numbering.py and tests/hooks/test_replay.py.
"""

from __future__ import annotations

try:
    from . import memory_db
except ImportError:  # run as a script: the folder of the script is on the path
    import memory_db  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from .turns import Turn

ASIDE = 10_000_000  # where announced turns wait while an older one gets its number
TEXT = (
    "SELECT t.turn_number FROM turns t LEFT JOIN details d ON d.session_id = t.session_id "
    "AND d.source_id = 'user:' || t.turn_number WHERE t.session_id = ?1 AND "
)


def shared_prompts(turns: list[Turn]) -> set[str]:
    """The prompt ids that more than one of the turns carries."""
    given = [turn.prompt_id for turn in turns if turn.prompt_id]
    return {prompt_id for prompt_id in given if given.count(prompt_id) > 1}


def number_of(con: sqlite3.Connection, session: str, turn: Turn, shown: str, *, alone: bool) -> int:
    """The lasting number of a turn of the transcript, a new one where it is not known.

    `shown` is its request as it is stored; `alone` says that no other turn read with it has its prompt id.
    """
    found = _one(con, "SELECT turn_number FROM turns WHERE session_id = ?1 AND uuid = ?2", (session, turn.uuid))
    if found is None and turn.prompt_id:
        given = (session, turn.prompt_id, shown, alone)
        # Written again by a compaction: the text is the same. Announced and not read yet: a command or a picture looks
        # different there, so the id alone decides where it can.
        found = _one(con, TEXT + "t.prompt_id = ?2 AND (d.input_text = ?3 OR (t.uuid IS NULL AND ?4))", given)
    if found is None:
        # Clients before 2.1.196 give no prompt id: the oldest announced turn with this text is the one, or the oldest
        # at all, because what a picture or a rewritten prompt looks like is not known beforehand.
        rest = "t.uuid IS NULL AND t.prompt_id IS NULL AND (d.input_text = ?2 OR ?3) "
        rest += "ORDER BY d.input_text <> ?2, t.turn_number"
        found = _one(con, TEXT + rest, (session, shown, turn.command is None))
    if turn.prompt_id:
        other = _one(
            con, "SELECT turn_number FROM turns WHERE session_id = ?1 AND prompt_id = ?2", (session, turn.prompt_id)
        )
        if other not in {None, found}:
            turn.prompt_id = None  # it belongs to that one
    if found is None:
        _make_room(con, session)
        found = announce(con, session, turn.prompt_id)
        _put_back(con, session, found)
    return found


def announce(con: sqlite3.Connection, session: str, prompt_id: str | None) -> int:
    """The number of a new turn; the same one again for a prompt id that is known."""
    if prompt_id:
        known = _one(
            con, "SELECT turn_number FROM turns WHERE session_id = ?1 AND prompt_id = ?2", (session, prompt_id)
        )
        if known is not None:
            return known
    newest = "SELECT coalesce(max(turn_number), 0) FROM turns WHERE session_id = ?1 AND turn_number < ?2"
    number = (_one(con, newest, (session, ASIDE)) or 0) + 1
    con.execute(
        "INSERT INTO turns(session_id, turn_number, prompt_id, started_at) VALUES (?, ?, ?, datetime('now'))",
        (session, number, prompt_id),
    )
    con.execute("UPDATE sessions SET total_turns = ? WHERE session_id = ?", (number, session))
    return number


def _make_room(con: sqlite3.Connection, session: str) -> None:
    """Set aside the announced turns that no line was read of: what is read now came before them."""
    rows = con.execute(
        "SELECT turn_number FROM turns WHERE session_id=? AND uuid IS NULL AND state='open' AND items=0 "
        "AND turn_number > (SELECT coalesce(max(turn_number), 0) FROM turns WHERE session_id=? "
        "AND NOT (uuid IS NULL AND state='open' AND items=0)) ORDER BY turn_number",
        (session, session),
    ).fetchall()
    for (number,) in rows:
        _move(con, session, number, ASIDE + number)


def _put_back(con: sqlite3.Connection, session: str, last: int) -> None:
    """The turns that were set aside follow the one that was read."""
    rows = con.execute(
        "SELECT turn_number FROM turns WHERE session_id=? AND turn_number > ? ORDER BY turn_number", (session, ASIDE)
    ).fetchall()
    for place, (number,) in enumerate(rows, last + 1):
        _move(con, session, number, place)


def _move(con: sqlite3.Connection, session: str, number: int, to: int) -> None:
    con.execute("UPDATE turns SET turn_number=? WHERE session_id=? AND turn_number=?", (to, session, number))
    con.execute("UPDATE details SET turn_number=? WHERE session_id=? AND turn_number=?", (to, session, number))
    con.execute(
        "UPDATE details SET source_id=? WHERE session_id=? AND source_id=?", (f"user:{to}", session, f"user:{number}")
    )


def drop_announced(con: sqlite3.Connection, session: str, number: int, text: str) -> None:
    """What was typed into a running turn was announced like a prompt but is no turn of its own."""
    for (other,) in con.execute(
        "SELECT t.turn_number FROM turns t JOIN details d ON d.session_id = t.session_id "
        "AND d.source_id = 'user:' || t.turn_number WHERE t.session_id=? AND t.turn_number > ? AND t.uuid IS NULL "
        "AND t.items = 0 AND d.input_text=?",
        (session, number, memory_db.pack(text)[0]),
    ).fetchall():
        con.execute("DELETE FROM turns WHERE session_id=? AND turn_number=?", (session, other))
        con.execute("DELETE FROM details WHERE session_id=? AND source_id=?", (session, f"user:{other}"))


def _one(con: sqlite3.Connection, sql: str, given: tuple[object, ...]) -> int | None:
    row = con.execute(sql, given).fetchone()
    return None if row is None else int(row[0])
