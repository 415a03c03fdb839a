"""OpenClaw's own session store, counted but not read.

Since the summer of 2026 OpenClaw keeps sessions in ``agents/<id>/agent/openclaw-agent.sqlite``. This version reads
JSONL only, so the least it owes its reader is to say what it leaves out: how many sessions lie there. The file holds
credentials as well: only the session tables named here are touched, the file is never copied, and opening leaves
nothing beside it. Invariant: whatever is at the path, the answer is a :class:`HostSessions` or None, never an
exception. Checked by ``tests/sessions/test_host_db.py``.
"""

import sqlite3
import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

DATABASE: Final = Path("agent", "openclaw-agent.sqlite")
"""Where the store lies below an agent's folder."""

# One row per session: the name since schema 14, then the two names of schema 8 to 13.
_LISTS: Final = ("session_nodes", "session_entries", "sessions")
_COLD: Final = "session_transcript_cold_archives"
_WAIT_SECONDS: Final = 1.0
_LOG_NOT_COUNTED: Final = "its write-ahead log has no index beside it, so what is only in the log is not counted"


@dataclass(frozen=True, slots=True)
class HostSessions:
    """What OpenClaw's own store of one agent holds.

    ``sessions`` is None when the file has no session tables or could not be read; ``archived`` of them are archived;
    ``cold`` transcripts were moved out of it (None where the schema has no such table). ``schema`` is OpenClaw's
    number, None if unknown. ``problem`` says why a number is missing or too low.
    """

    path: Path
    schema: int | None = None
    sessions: int | None = None
    archived: int | None = None
    cold: int | None = None
    problem: str | None = None

    def sentence(self) -> str:
        """One line for the reader, as ``2 sessions in a SQLite store, schema 23: not read yet``."""
        if self.sessions is None:
            return f"A SQLite store that cannot be read: {self.problem}" if self.problem else "no sessions in it"
        schema = "unknown" if self.schema is None else self.schema
        plural = "" if self.sessions == 1 else "s"
        return f"{self.sessions} session{plural} in a SQLite store, schema {schema}: not read yet"


def host_sessions(agent_dir: Path) -> HostSessions | None:
    """What OpenClaw's store of the agent at ``agent_dir`` holds; None when there is no such file."""
    path = agent_dir / DATABASE
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return HostSessions(path, problem="it is not a file")
        mode, log_missed = _way_to_open(path)
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=_WAIT_SECONDS)) as store:
            store.execute("PRAGMA query_only = ON")
            store.execute("PRAGMA trusted_schema = OFF")
            return _count(store, path, problem=_LOG_NOT_COUNTED if log_missed else None)
    except FileNotFoundError:
        return None
    except (sqlite3.Error, OSError, ValueError) as error:
        return HostSessions(path, problem=getattr(error, "strerror", None) or str(error))


def _way_to_open(path: Path) -> tuple[str, bool]:
    """How to open the store without leaving a trace, and whether that misses a log full of changes.

    A plain read-only connection is the right one wherever it may join locks that exist already. On a file in WAL mode
    without its ``-shm`` it would create one and leave it there, so that file is opened as unchanging.
    """
    with path.open("rb") as stream:
        wal_mode = stream.read(20)[18:20] == b"\x02\x02"
    log, index = (path.with_name(path.name + ending) for ending in ("-wal", "-shm"))
    if not wal_mode or (log.exists() and index.exists()):
        return "mode=ro", False
    return "immutable=1", log.exists() and log.stat().st_size > 0


def _count(store: sqlite3.Connection, path: Path, *, problem: str | None) -> HostSessions:
    tables = {str(name) for (name,) in store.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    schema = _schema_version(store, tables)
    listed = next((name for name in _LISTS if name in tables), None)
    if listed is None:
        return HostSessions(path, schema, problem=problem)
    columns = {str(row[1]) for row in store.execute(f'PRAGMA table_info("{listed}")')}
    archived = _number(store, f'SELECT count(archived_at) FROM "{listed}"') if "archived_at" in columns else None
    return HostSessions(
        path,
        schema,
        sessions=_number(store, f'SELECT count(*) FROM "{listed}"'),
        archived=archived,
        cold=_number(store, f'SELECT count(*) FROM "{_COLD}"') if _COLD in tables else None,
        problem=problem,
    )


def _schema_version(store: sqlite3.Connection, tables: set[str]) -> int | None:
    version = _number(store, "PRAGMA user_version")
    if version or "schema_meta" not in tables:
        return version or None
    try:
        return _number(store, "SELECT max(schema_version) FROM schema_meta") or None
    except sqlite3.OperationalError:  # a schema_meta of another shape
        return None


def _number(store: sqlite3.Connection, sql: str) -> int | None:
    row = store.execute(sql).fetchone()
    return row[0] if row and isinstance(row[0], int) else None
