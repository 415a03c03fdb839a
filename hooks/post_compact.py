"""PostCompact: how large the native summary is and what the compaction did to the context. Prints nothing.

Idea: whatever this event prints costs context, so it only writes a row; the sizes that the client itself reports are
filled in when its boundary line is read. Invariant: stdout stays empty. Checked in tests/hooks/test_hooks_stdin.py.
"""

from __future__ import annotations

try:
    from . import hook_io, memory_db, memory_read, token_estimator
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import memory_read  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def work(event: dict[str, Any]) -> None:
    """One row in injection_log."""
    if hook_io.text_of(event, "agent_id"):
        return
    session = hook_io.text_of(event, "session_id")
    summary = hook_io.text_of(event, "compact_summary")
    con = memory_db.connect()
    memory_db.ensure_session(con, session, hook_io.text_of(event, "cwd"), hook_io.text_of(event, "transcript_path"))
    memory_db.count_run(con, "PostCompact")
    row = memory_read.session(con, session)
    factor = token_estimator.factor(row.real_tokens, row.estimated_tokens) if row else 1.0
    given = sum(
        token_estimator.estimate(text[0], factor)
        for text in con.execute(
            "SELECT text FROM pending_parts WHERE sent=1 AND block_id = "
            "(SELECT block_id FROM pending WHERE session_id=? AND status='sent' ORDER BY created_at DESC LIMIT 1)",
            (session,),
        )
    )
    size = token_estimator.estimate(summary, factor)
    more = {"token_before": row.context_tokens if row else None, "token_after": size + given}
    note = f"native summary about {size} tokens, our block about {given}"
    trigger = hook_io.text_of(event, "trigger")
    memory_db.log_injection(
        con, session, "post_compact", "native", units=hook_io.units(summary), trigger=trigger, note=note, **more
    )


if __name__ == "__main__":
    hook_io.run(work)
