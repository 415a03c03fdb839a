"""PreCompact: the running turn is taken in, the block is made ready, the summariser gets a short note.

Idea: this event may be followed by no compaction at all, so the block only waits here; SessionStart hands it out.
Invariant: prints plain text (JSON would be handed to the summariser as it is) and never stops a compaction; inside a
sub-agent it does nothing. Checked in tests/hooks/test_hooks_stdin.py and tests/e2e.
"""

from __future__ import annotations

import time

try:
    from . import calls, classifier, delivery, hook_io, ingest, memory_db, memory_read, spool
except ImportError:  # run as a script: the folder of the script is on the path
    import calls  # type: ignore[import-not-found,no-redef]
    import classifier  # type: ignore[import-not-found,no-redef]
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import ingest  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import memory_read  # type: ignore[import-not-found,no-redef]
    import spool  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

NOTE_LIMIT = 900  # in manual compactions the model reads it a second time


def work(event: dict[str, Any]) -> str | None:
    """The note for the summariser."""
    if hook_io.text_of(event, "agent_id"):
        return None
    begun = time.monotonic()
    session = hook_io.text_of(event, "session_id")
    path = hook_io.text_of(event, "transcript_path")
    trigger = hook_io.text_of(event, "trigger")
    con = memory_db.connect()
    memory_db.ensure_session(con, session, hook_io.text_of(event, "cwd"), path)
    memory_db.count_run(con, "PreCompact")
    hook_io.attempt(lambda: spool.drain(con, calls.take))
    hook_io.attempt(lambda: ingest.catch_up(con, session, path))
    hook_io.attempt(lambda: _ask_model(con, session, begun))
    if memory_read.session(con, session) is None:  # forgotten while the model was answering
        return None
    con.execute("BEGIN IMMEDIATE")
    try:
        block_id, made = delivery.prepare(con, session, trigger)
        row = memory_read.session(con, session)
        before = row.context_tokens if row else None
        units = sum(hook_io.units(text) for text in made.parts)
        more = {"token_before": before, "block_id": block_id, "parts": len(made.parts), "units": units}
        memory_db.log_injection(con, session, "pre_compact", "L1+L2", trigger=trigger, **more)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    return _note(con, session) if made.parts else None


def _ask_model(con: sqlite3.Connection, session: str, begun: float) -> None:
    try:
        from . import model_help
    except ImportError:
        import model_help  # type: ignore[import-not-found,no-redef]
    model_help.judge(con, session, begun=begun)


def _note(con: sqlite3.Connection, session: str) -> str:
    text = (
        "The session's requests, outcomes, decisions and open issues are recorded outside and are added after the "
        "summary; the summary can concentrate on the state of the work in progress."
    )
    kept = [
        row
        for row in memory_read.judgments(con, session)
        if row.category in {"ISSUE", "CONSTRAINT"}
        and row.source != "rule"
        and not row.resolved
        and classifier.injected(row.category, row.confidence)
    ]
    lines: list[str] = []
    for row in reversed(kept):
        line = f"- {'open issue' if row.category == 'ISSUE' else 'constraint'}: {hook_io.cut(row.content, 200)}"
        if hook_io.units("\n".join((text, *lines, line))) > NOTE_LIMIT:
            break
        lines.append(line)
    return "\n".join([text, *(["Worth keeping word for word:", *lines] if lines else [])])


if __name__ == "__main__":
    hook_io.run(work)
