"""The one message to the user that a compaction is near.

Idea: where the client compacts depends on its settings and on the model, so this asks the module that the installer
uses; that costs time, and is only done once a session is large and only until the message was shown.
Invariant: at most one message per session, none where the client never compacts by itself.
Checked in tests/hooks/test_upkeep.py.
"""

from __future__ import annotations

import os
from pathlib import Path

try:
    from . import settings_file, threshold
except ImportError:  # run as a script: the folder of the script is on the path
    import settings_file  # type: ignore[import-not-found,no-redef]
    import threshold  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

NEAR = 0.85  # of the threshold


def fires_at(model: str, tokens: int, folder: str) -> int | None:
    """Where a session of this model in this folder is compacted, None for never before the limit."""
    config = os.environ.get("CLAUDE_CONFIG_DIR", "").strip() or os.path.expanduser("~/.claude")
    places = (
        [os.path.join(folder, ".claude", name) for name in ("settings.local.json", "settings.json")] if folder else []
    )
    documents = settings_file.documents_of([Path(place) for place in (*places, os.path.join(config, "settings.json"))])
    now = threshold.current(documents, os.environ)
    if now.switched_off:
        return None
    named_big = threshold._BIG.search(model) is not None and not now.only_small  # noqa: SLF001 - one rule for both
    big = named_big or tokens > threshold.SMALL_MODEL
    return threshold.fires_at(threshold.BIG_MODEL if big else threshold.SMALL_MODEL, now.window, now.percent)


def message(con: sqlite3.Connection, session: str, folder: str) -> dict[str, Any] | None:
    """The message, where it is due now and was never shown."""
    row = con.execute(
        "SELECT context_tokens, model, notice_sent FROM sessions WHERE session_id=?", (session,)
    ).fetchone()
    if row is None or row[2] or not row[0]:
        return None
    limit = fires_at(row[1] or "", row[0], folder)
    if limit is None or row[0] < NEAR * limit:
        return None
    if not con.execute("UPDATE sessions SET notice_sent=1 WHERE session_id=? AND notice_sent=0", (session,)).rowcount:
        return None
    turns, issues = con.execute(
        "SELECT (SELECT count(*) FROM turns WHERE session_id=?1), "
        "(SELECT count(*) FROM judgments WHERE session_id=?1 AND category='ISSUE' AND resolved=0)",
        (session,),
    ).fetchone()
    text = f"Session memory: the context holds about {row[0]:,} tokens and is compacted at about {limit:,}. "
    text += f"{turns} turns and {issues} unresolved issues are kept and come back afterwards; /compact does it now."
    return {"systemMessage": text}
