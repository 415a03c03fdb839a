"""PostToolBatch (and, on older clients, PostToolUse and PostToolUseFailure): every tool call becomes L3 at once.

Idea: one process per batch does one short transaction. When the database is locked for long the event goes to the spool
folder, and while others spool nobody waits for long.
Invariant: one row per tool-use id however often an event comes; the hook prints only after a compaction whose block did
not arrive. Checked in tests/hooks/test_hooks_stdin.py and tests/hooks/test_replay.py; timed in
tests/benchmarks/bench_hooks.py.
"""

from __future__ import annotations

import sqlite3

try:
    from . import calls, delivery, hook_io, memory_db, spool
except ImportError:  # run as a script: the folder of the script is on the path
    import calls  # type: ignore[import-not-found,no-redef]
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import spool  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def work(event: dict[str, Any]) -> dict[str, Any] | None:
    """Keep the calls of the event; something to say only where a compaction brought nothing."""
    masked = hook_io.config().get("redact", True) is not False
    payload: dict[str, Any] = {
        "session": hook_io.text_of(event, "session_id"),
        "cwd": hook_io.text_of(event, "cwd"),
        "transcript": hook_io.text_of(event, "transcript_path"),
        "prompt_id": hook_io.text_of(event, "prompt_id") or None,
        "agent_id": hook_io.text_of(event, "agent_id") or None,
        "event": hook_io.text_of(event, "hook_event_name"),
        "calls": calls.of_event(event, masked=masked),
    }
    waiting = bool(spool.waiting())
    due = None
    try:
        con = memory_db.connect(patience=spool.BRIEF if waiting else memory_db.PATIENCE)
        con.execute("BEGIN IMMEDIATE")
        try:
            calls.take(con, "calls", payload)
            if not payload["agent_id"]:
                due = delivery.watch(con, payload["session"], payload["transcript"], prompt=False)
            con.execute("COMMIT")
        except BaseException:
            con.execute("ROLLBACK")
            raise
    except (sqlite3.Error, memory_db.NewerSchema) as error:
        spool.put("calls", payload)
        if not isinstance(error, sqlite3.Error) or not spool.locked(error):
            hook_io.log(f"kept the event in the spool folder: {error}")
        return None
    if waiting:
        _drain(con)
    return hook_io.context(payload["event"], due.text) if due else None


def _drain(con: sqlite3.Connection) -> None:
    try:
        spool.drain(con, calls.take)
    except sqlite3.Error as error:
        if not spool.locked(error):
            hook_io.log(f"spooled events wait: {error}")


if __name__ == "__main__":
    hook_io.run(work)
