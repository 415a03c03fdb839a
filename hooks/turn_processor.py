"""Stop, SubagentStop, StopFailure, SessionEnd: the turn as transcript and last message show it becomes L1, L2 and L3.

Idea: take in what is there; what is not on disk yet is found by the next event, from the offset that is kept.
Invariant: it never blocks or prolongs a turn; it prints at most one `systemMessage` per session. A SubagentStop with an
empty agent_type is a compaction, not a sub-agent.
Checked in tests/hooks/test_hooks_stdin.py and tests/hooks/test_replay.py.
"""

from __future__ import annotations

try:
    from . import calls, delivery, hook_io, ingest, memory_db, spool
except ImportError:  # run as a script: the folder of the script is on the path
    import calls  # type: ignore[import-not-found,no-redef]
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import ingest  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import spool  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

LARGE = 45_000  # tokens; below no compaction is near


def work(event: dict[str, Any]) -> dict[str, Any] | None:
    """Bring the memory up to what the session shows now."""
    name = hook_io.text_of(event, "hook_event_name")
    session = hook_io.text_of(event, "session_id")
    path = hook_io.text_of(event, "transcript_path")
    agent = hook_io.text_of(event, "agent_id")
    if name == "SubagentStop" and not hook_io.text_of(event, "agent_type"):
        return None
    con = memory_db.connect(patience=1.0 if name == "SessionEnd" else memory_db.PATIENCE)
    memory_db.ensure_session(con, session, hook_io.text_of(event, "cwd"), "" if agent else path)
    memory_db.count_run(con, name)
    if name == "SubagentStop":
        _agent(con, event, session, agent)
        return None
    if agent:
        return None
    hook_io.attempt(lambda: _drain(con))
    message = hook_io.text_of(event, "last_assistant_message") if name == "Stop" else ""
    found = ingest.catch_up(
        con,
        session,
        path,
        last_message=message,
        stopped=name in {"Stop", "StopFailure"},
        final=name == "SessionEnd",
        prompt_id=hook_io.text_of(event, "prompt_id") or None,
    )
    delivery.settle(con, session, path)
    if name == "SessionEnd":
        con.execute("UPDATE sessions SET status='closed' WHERE session_id=?", (session,))
    if name == "Stop" and not event.get("stop_hook_active") and (found.context_tokens or 0) >= LARGE:
        try:
            from . import notice
        except ImportError:
            import notice  # type: ignore[import-not-found,no-redef]
        return notice.message(con, session, hook_io.text_of(event, "cwd"))
    return None


def _drain(con: sqlite3.Connection) -> None:
    """Take in everything that waits."""
    while spool.drain(con, calls.take):
        continue


def _agent(con: sqlite3.Connection, event: dict[str, Any], session: str, agent: str) -> None:
    """A sub-agent's calls from its own transcript, and what it answered."""
    prompt = hook_io.text_of(event, "prompt_id") or None
    own = hook_io.text_of(event, "agent_transcript_path")
    if hook_io.file_size(own):
        ingest.store_agent(con, session, own, prompt)
    answer = hook_io.text_of(event, "last_assistant_message")
    if answer and agent:
        masked = hook_io.config().get("redact", True) is not False
        con.execute("BEGIN IMMEDIATE")
        row = {"session_id": session, "turn": calls.turn_at(con, session, prompt), "kind": "agent", "agent_id": agent}
        given = hook_io.text_of(event, "agent_type")
        memory_db.put_detail(
            con, {**row, "source_id": f"agent:{agent}", "input": given, "output": calls.mask(answer, on=masked)}
        )
        con.execute("COMMIT")


if __name__ == "__main__":
    hook_io.run(work)
