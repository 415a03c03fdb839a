"""SessionStart after a compaction: one part of the waiting block, once.

Idea: the client limits each handler's text, not their sum, so one handler stands for one part (`--part N`); the
parts say their number because the client keeps the order in which handlers finish.
Invariant: silent for every other source, inside sub-agents, and the second time.
Checked in tests/hooks/test_delivery.py and tests/e2e.
"""

from __future__ import annotations

import sys
import time

try:
    from . import delivery, hook_io, memory_db
except ImportError:  # run as a script: the folder of the script is on the path
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STEP = 0.03  # seconds between the parts, so that they finish in their order


def work(event: dict[str, Any]) -> dict[str, Any] | None:
    """The document with this handler's part."""
    if hook_io.text_of(event, "source") != "compact" or hook_io.text_of(event, "agent_id"):
        return None
    given = sys.argv[-1]  # --part N
    part = int(given) if given.isdigit() else 1
    session = hook_io.text_of(event, "session_id")
    path = hook_io.text_of(event, "transcript_path")
    con = memory_db.connect()
    memory_db.ensure_session(con, session, hook_io.text_of(event, "cwd"), path)
    if part == 1:
        memory_db.count_run(con, "SessionStart")
    else:
        time.sleep(STEP * (part - 1))
    if not delivery.is_ready(con, session):  # no PreCompact came: read what the transcript holds first
        try:
            from . import ingest
        except ImportError:
            import ingest  # type: ignore[import-not-found,no-redef]
        hook_io.attempt(lambda: ingest.catch_up(con, session, path))
    text = delivery.hand_out(con, session, part)
    return hook_io.context("SessionStart", text) if text else None


if __name__ == "__main__":
    hook_io.run(work)
