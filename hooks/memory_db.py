"""The session memory on disk: connections, migrations, and the few statements that write.

Idea: one SQLite file in WAL mode that many short processes write to. Every row has a key that comes from the session
itself (tool-use id, turn number, content hash), so any event may be handled twice, by two copies, in any order.
Invariant: one row per (session, source) in details, one per (session, turn, role) in skeletons, one per (session,
content) in judgments; the files are readable by their owner only; a migration is one transaction or nothing.
Checked in tests/hooks/test_memory_db.py.
"""

from __future__ import annotations

import os
import sqlite3
import time
import zlib

try:
    from . import hook_io
    from .memory_schema import MIGRATIONS, VERSION
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]
    from memory_schema import MIGRATIONS, VERSION  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FILE = "throughline.db"
PATIENCE = 4.0  # seconds to wait for another writer
INDEXED = 1 << 16  # bytes of a text that stay readable and searchable in place; longer ones are kept compressed as well
# How good the source of a detail is: a single event shows a raw result, a batch and the transcript what the model saw.
RANK_PENDING, RANK_EVENT, RANK_SEEN = 0, 1, 2


class NewerSchema(RuntimeError):
    """The file was written by a later version."""


def path() -> str:
    """Where the database lies."""
    return os.path.join(hook_io.home(), FILE)


def connect(*, patience: float = PATIENCE, file: str | None = None) -> sqlite3.Connection:
    """A connection to the database, made and migrated where needed. Autocommit: use `BEGIN IMMEDIATE` to write."""
    where = file or path()
    if not os.path.exists(where):
        os.makedirs(os.path.dirname(where), mode=0o700, exist_ok=True)
        os.close(os.open(where, os.O_CREAT | os.O_RDWR, 0o600))  # side files inherit the mode
    con = sqlite3.connect(where, timeout=patience, isolation_level=None)
    try:
        version = con.execute("PRAGMA user_version").fetchone()[0]
        if version != VERSION:
            _migrate(con, version, patience)
        con.execute("PRAGMA synchronous=NORMAL")
    except BaseException:
        con.close()
        raise
    return con


def _migrate(con: sqlite3.Connection, version: int, patience: float) -> None:
    if version > VERSION:
        raise NewerSchema(f"{FILE} has schema {version}, this copy of the hooks knows {VERSION}: update the hooks")
    deadline = time.monotonic() + patience
    while True:  # switching to WAL does not wait for others by itself
        try:
            con.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
    con.execute("BEGIN IMMEDIATE")
    try:
        version = con.execute("PRAGMA user_version").fetchone()[0]  # another process may have been faster
        for step in range(version + 1, VERSION + 1):
            for script in MIGRATIONS[step]:
                _run_script(con, script, optional="fts5" in script)
        con.execute(f"PRAGMA user_version={VERSION}")
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _run_script(con: sqlite3.Connection, script: str, *, optional: bool) -> None:
    """Each statement inside the open transaction; a library without full-text search does without the index."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            try:
                con.execute(statement)
            except sqlite3.OperationalError as error:
                if optional and "no such module" in str(error):
                    return
                raise
            statement = ""


def clean(text: str) -> str:
    """The text as SQLite can hold it: halves of surrogate pairs become U+FFFD, as in the client's own UTF-8."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def pack(text: str) -> tuple[str, bytes | None, int]:
    """(what stays readable, the whole compressed or None, size in bytes)."""
    if len(text) <= INDEXED // 4:
        return text, None, len(text) if text.isascii() else len(text.encode())
    data = text.encode()
    if len(data) <= INDEXED:
        return text, None, len(data)
    return data[:INDEXED].decode("utf-8", "ignore"), zlib.compress(data, 1), len(data)


def unpack(text: str | None, packed: bytes | None) -> str:
    """The whole text again."""
    return zlib.decompress(packed).decode() if packed else text or ""


def project_key(folder: str) -> str:
    """One spelling per project folder; Windows paths in any case and with either slash are the same."""
    if len(folder) > 2 and folder[1] == ":" and folder[2] in "\\/":
        return folder.replace("\\", "/").rstrip("/").lower()
    return folder.rstrip("/") or folder


def ensure_session(con: sqlite3.Connection, session_id: str, folder: str = "", transcript: str = "") -> None:
    """The session's row exists, knows where its transcript is, and is active.

    A transcript that moved (a worktree) is read again from its start: every row has a key, so nothing doubles.
    """
    path = clean(transcript)
    if "/subagents/" in path.replace("\\", "/"):  # some clients name a sub-agent's own file
        path = ""
    con.execute(
        "INSERT INTO sessions(session_id, project_path, transcript_path) VALUES (?, ?, ?) "
        "ON CONFLICT(session_id) DO UPDATE SET last_active = datetime('now'), "
        "read_offset = CASE WHEN excluded.transcript_path <> transcript_path THEN 0 ELSE read_offset END, "
        "read_size = CASE WHEN excluded.transcript_path <> transcript_path THEN 0 ELSE read_size END, "
        "watch_offset = CASE WHEN excluded.transcript_path <> transcript_path THEN NULL ELSE watch_offset END, "
        "boundary_offset = CASE WHEN excluded.transcript_path <> transcript_path THEN NULL ELSE boundary_offset END, "
        "transcript_path = coalesce(excluded.transcript_path, transcript_path), "
        "project_path = CASE WHEN project_path = '' THEN excluded.project_path ELSE project_path END, "
        "status = CASE WHEN status <> 'closed' THEN status WHEN compactions > 0 THEN 'compacted' ELSE 'active' END",
        (session_id, project_key(clean(folder)), path or None),
    )


def put_detail(con: sqlite3.Connection, row: dict[str, Any]) -> None:
    """Store one detail; an existing one is only replaced by a better source. `row` holds masked, clean texts."""
    given = row.get("input") or ""
    output = row.get("output")
    input_head, input_packed, _size = pack(given)
    head, packed, size = pack(output) if output is not None else (None, None, None)
    con.execute(
        "INSERT INTO details(session_id, turn_number, kind, source_id, tool_name, input_text, output_text, exit_code, "
        "token_count, status, agent_id, input_packed, output_packed, output_size, rank, created_at) "
        "VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,coalesce(?, datetime('now'))) "
        "ON CONFLICT(session_id, source_id) DO UPDATE SET turn_number=excluded.turn_number, "
        "tool_name=coalesce(nullif(excluded.tool_name, ''), tool_name), "
        "input_text=CASE WHEN excluded.input_text = '' THEN input_text ELSE excluded.input_text END, "
        "output_text=excluded.output_text, exit_code=excluded.exit_code, token_count=excluded.token_count, "
        "status=excluded.status, agent_id=coalesce(agent_id, excluded.agent_id), "
        "input_packed=coalesce(excluded.input_packed, input_packed), output_packed=excluded.output_packed, "
        "output_size=excluded.output_size, rank=excluded.rank "
        "WHERE excluded.rank > details.rank OR details.kind <> 'tool'",
        (
            *(row["session_id"], row["turn"], row.get("kind", "tool"), row["source_id"], row.get("tool")),
            *(input_head, head, row.get("exit_code"), row.get("tokens"), row.get("status", "ok"), row.get("agent_id")),
            *(input_packed, packed, size, row.get("rank", RANK_SEEN), row.get("at")),
        ),
    )


def log_injection(con: sqlite3.Connection, session_id: str, event: str, layers: str, **more: Any) -> None:
    """One row of injection_log; `more` names further columns."""
    columns = ["session_id", "event_type", "layers_sent", *more]
    marks = ", ".join("?" * len(columns))
    con.execute(
        f"INSERT INTO injection_log({', '.join(columns)}) VALUES ({marks})", (session_id, event, layers, *more.values())
    )


def count_run(con: sqlite3.Connection, event: str) -> None:
    """Remember when an event last came, for the user who asks whether hooks run at all."""
    con.execute(
        "INSERT INTO hook_runs(event, last_at) VALUES (?, datetime('now')) "
        "ON CONFLICT(event) DO UPDATE SET last_at = datetime('now'), runs = runs + 1",
        (event[:40],),
    )
