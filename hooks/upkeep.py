"""What people do with the memory as a whole: bring finished sessions in, take a session out.

Idea: a session that was never captured is only one whose transcript was not read yet, so an import runs the same code
as the hooks.
Invariant: importing a second time adds nothing, a dry run writes nothing, what was passed over is counted; a session
that was taken out leaves no text behind in the file. Checked in tests/hooks/test_upkeep.py.
"""

from __future__ import annotations

import json
import os

try:
    from . import delivery, hook_io, ingest, memory_db, transcript
except ImportError:  # run as a script: the folder of the script is on the path
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import ingest  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import transcript  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3


class Imported:
    """What one file gave."""

    __slots__ = ("agents", "bad_lines", "calls", "compactions", "new_details", "path", "session_id", "turns")

    def __init__(self, path: str, session_id: str) -> None:
        self.path = path
        self.session_id = session_id
        self.turns = self.calls = self.agents = self.compactions = self.bad_lines = self.new_details = 0


def import_file(con: sqlite3.Connection | None, path: str) -> Imported:
    """Import one transcript with its sub-agents; without a connection only count what is in it."""
    found = Imported(path, os.path.splitext(os.path.basename(path))[0])
    reader = transcript.Reader(path)
    for turn in reader.turns(final=True):
        found.turns += 1
        found.calls += len(turn.tools)
    files = transcript.agent_files(path)
    found.agents, found.compactions, found.bad_lines = len(files), len(reader.boundaries), reader.bad_lines
    found.calls += sum(len(transcript.agent_calls(file)) for file in files)
    if con is None or not found.turns:
        return found
    session = found.session_id
    live = con.execute("SELECT status FROM sessions WHERE session_id=?", (session,)).fetchone()
    before = _details(con, session)
    memory_db.ensure_session(con, session, _folder(path), path)
    ingest.catch_up(con, session, path, final=True)
    for file in files:
        ingest.store_agent(con, session, file)
    con.execute(
        "UPDATE sessions SET compactions=max(compactions, ?), status=?, "
        "watch_offset=coalesce(watch_offset, ?), "
        "started_at=coalesce((SELECT min(started_at) FROM turns t WHERE t.session_id=sessions.session_id), "
        "started_at), "
        "last_active=coalesce((SELECT max(ended_at) FROM turns t WHERE t.session_id=sessions.session_id), last_active) "
        "WHERE session_id=?",
        (found.compactions, live[0] if live else "closed", hook_io.file_size(path), session),
    )
    delivery.settle(con, session, path)
    found.new_details = _details(con, session) - before
    return found


def forget(con: sqlite3.Connection, session_id: str) -> int:
    """Delete all of one session, its texts overwritten in the file; the number of details that went."""
    con.execute("PRAGMA secure_delete=ON")
    con.execute("BEGIN IMMEDIATE")
    try:
        count = con.execute("DELETE FROM details WHERE session_id=?", (session_id,)).rowcount
        con.execute(
            "DELETE FROM pending_parts WHERE block_id IN (SELECT block_id FROM pending WHERE session_id=?)",
            (session_id,),
        )
        for table in (
            *("pending", "injection_log", "judgments", "skeletons", "classifier_stats", "model_requests"),
            *("turns", "sessions"),
        ):
            con.execute(f"DELETE FROM {table} WHERE session_id=?", (session_id,))
        if con.execute("SELECT 1 FROM sqlite_master WHERE name='details_fts'").fetchone():
            con.execute("INSERT INTO details_fts(details_fts) VALUES ('rebuild')")  # the index keeps words of what went
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return int(count)


def _details(con: sqlite3.Connection, session: str) -> int:
    return int(con.execute("SELECT count(*) FROM details WHERE session_id=?", (session,)).fetchone()[0])


def _folder(path: str) -> str:
    """The folder that the session ran in, as its first lines say."""
    for _start, _end, line in transcript.raw_lines(path):
        try:
            given = json.loads(line.decode("utf-8", "replace")).get("cwd")
        except (ValueError, AttributeError, RecursionError):
            continue
        if isinstance(given, str):
            return given
    return ""
