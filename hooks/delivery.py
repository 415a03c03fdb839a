"""The way of a block to the model: prepared, handed out part by part once, and checked in the transcript afterwards.

Idea: PreCompact may be followed by no compaction at all and SessionStart runs before the compaction is on disk, so what
was handed out proves nothing. The transcript does: a boundary with our mark behind it was delivered; a boundary without
it gets part 1 through the next prompt or tool result, once.
Invariant: each part of a block is handed out at most once, each boundary leads to at most one fallback, and a boundary
is judged only when the lines that would hold our text must be there.
Checked in tests/hooks/test_delivery.py and, with the real client, in tests/e2e.
"""

from __future__ import annotations

import os
import time

try:
    from . import hook_io, memory_db
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from .block import Block

MARK = "[session memory "
BOUNDARY = b'"subtype":"compact_boundary"'
SETTLED = 3.0  # seconds after which what was handed out must be on disk
MOST_BYTES = 64 << 20
MOST_PARTS = 4


class Due:
    """A compaction whose block did not arrive: what to say instead, and the block it stands for."""

    __slots__ = ("block_id", "text")

    def __init__(self, block_id: str, text: str) -> None:
        self.block_id = block_id
        self.text = text


def prepare(con: sqlite3.Connection, session_id: str, trigger: str) -> tuple[str, Block]:
    """Build the block and keep it as pending; an older one is superseded. Must run inside a transaction."""
    try:  # only where a block is made: the hook after every tool call comes by here, too
        from . import block
    except ImportError:
        import block  # type: ignore[import-not-found,no-redef]
    block_id = os.urandom(4).hex()
    made = block.lay_out(block.gather(con, session_id), session_id, block_id, parts=_parts())
    con.execute("UPDATE pending SET status='superseded' WHERE session_id=? AND status='pending'", (session_id,))
    con.execute(
        "INSERT INTO pending(block_id, session_id, created_at, trigger, turns) "
        "SELECT ?, ?, ?, ?, coalesce(max(turn_number), 0) FROM turns WHERE session_id=?",
        (block_id, session_id, time.time(), trigger, session_id),
    )
    con.executemany(
        "INSERT INTO pending_parts(block_id, part, text) VALUES (?, ?, ?)",
        [(block_id, number, text) for number, text in enumerate(made.parts, 1)],
    )
    return block_id, made


def _parts() -> int:
    given = hook_io.config().get("parts", 2)
    return given if isinstance(given, int) and 1 <= given <= MOST_PARTS else 2


def hand_out(con: sqlite3.Connection, session_id: str, part: int, trigger: str = "") -> str:
    """The text of one part of the pending block, once; empty where it was handed out or there is none."""
    con.execute("BEGIN IMMEDIATE")
    try:
        row = con.execute(
            "SELECT p.block_id, p.turns = (SELECT coalesce(max(turn_number), 0) FROM turns WHERE session_id = ?1), "
            "p.status FROM pending p WHERE p.session_id = ?1 AND p.status IN ('pending', 'sent') "
            "ORDER BY p.created_at DESC LIMIT 1",
            (session_id,),
        ).fetchone()
        fresh = row is not None and row[1] and (row[2] == "pending" or _still_going(con, row[0], part))
        block_id = row[0] if fresh else prepare(con, session_id, trigger or "unannounced")[0]
        taken = con.execute(
            "UPDATE pending_parts SET sent=1 WHERE block_id=? AND part=? AND sent=0 RETURNING text", (block_id, part)
        ).fetchone()
        if taken is not None:
            con.execute("UPDATE pending SET status='sent', sent_at=? WHERE block_id=?", (time.time(), block_id))
            total = con.execute("SELECT count(*) FROM pending_parts WHERE block_id=?", (block_id,)).fetchone()[0]
            more = {"block_id": block_id, "part": part, "parts": total, "units": hook_io.units(taken[0])}
            memory_db.log_injection(con, session_id, "context_compaction", "L1+L2", **more)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    return "" if taken is None else str(taken[0])


def is_ready(con: sqlite3.Connection, session_id: str) -> bool:
    """Whether a block waits, or was just handed out in part."""
    row = con.execute(
        "SELECT status, coalesce(sent_at, 0) FROM pending WHERE session_id=? ORDER BY created_at DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    return row is not None and (row[0] == "pending" or (row[0] == "sent" and time.time() - row[1] < SETTLED))


def settle(con: sqlite3.Connection, session_id: str, path: str) -> None:
    """At the end of a turn: record what arrived; what did not is left for an event that can say something."""
    con.execute("BEGIN IMMEDIATE")
    try:
        watch(con, session_id, path, prompt=False, may_speak=False)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _still_going(con: sqlite3.Connection, block_id: str, part: int) -> bool:
    """Whether a block that is being handed out may still give this part: a compaction's handlers run together."""
    row = con.execute("SELECT sent_at FROM pending WHERE block_id=?", (block_id,)).fetchone()
    known = con.execute("SELECT sent FROM pending_parts WHERE block_id=? AND part=?", (block_id, part)).fetchone()
    young = row is not None and time.time() - row[0] < SETTLED
    return young or (known is not None and not known[0])


def watch(con: sqlite3.Connection, session_id: str, path: str, *, prompt: bool, may_speak: bool = True) -> Due | None:
    """Look at what is new in the transcript; something to say only where a compaction brought nothing.

    `prompt` is True at a prompt, where no answer of the model can follow the boundary yet.
    """
    row = con.execute("SELECT watch_offset, boundary_offset FROM sessions WHERE session_id=?", (session_id,)).fetchone()
    if row is None:
        return None
    offset, boundary = row
    size = hook_io.file_size(path)
    if offset is None or size < offset:  # first sight, or another file: what lies behind is not ours to settle
        con.execute("UPDATE sessions SET watch_offset=? WHERE session_id=?", (size, session_id))
        return None
    if size == offset and boundary is None:
        return None
    data = _read(path, offset)
    end = offset + data.rfind(b"\n") + 1
    for place, line in _boundaries(data[: end - offset]):
        if _is_new(con, session_id, line):
            boundary = offset + place
    if end != offset:
        con.execute(
            "UPDATE sessions SET watch_offset=?, boundary_offset=? WHERE session_id=?", (end, boundary, session_id)
        )
    return None if boundary is None else _judge(con, session_id, path, boundary, prompt=prompt, may_speak=may_speak)


def _boundaries(data: bytes) -> list[tuple[int, bytes]]:
    """(place, line) of every boundary line."""
    found = []
    at = data.find(BOUNDARY)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        found.append((start, data[start:end]))
        at = data.find(BOUNDARY, end)
    return found


def _is_new(con: sqlite3.Connection, session_id: str, line: bytes) -> bool:
    """Whether the boundary was not seen before (some clients write one again); counts it and takes its sizes."""
    import json

    try:
        record = json.loads(line.decode("utf-8", "replace"))
        uuid, meta = str(record.get("uuid") or ""), record.get("compactMetadata") or {}
        before, after = meta.get("preTokens"), meta.get("postTokens")
    except (ValueError, AttributeError):
        return False
    row = con.execute("SELECT boundaries FROM sessions WHERE session_id=?", (session_id,)).fetchone()
    seen = (row[0] or "").split()
    if uuid and uuid in seen:
        return False
    con.execute(
        "UPDATE sessions SET compactions = compactions + 1, status='compacted', boundaries=? WHERE session_id=?",
        (" ".join([*seen, memory_db.clean(uuid)]), session_id),
    )
    con.execute(
        "UPDATE injection_log SET token_before=coalesce(?, token_before), token_after=coalesce(?, token_after) "
        "WHERE id = (SELECT max(id) FROM injection_log WHERE session_id=? AND event_type='post_compact')",
        (before if isinstance(before, int) else None, after if isinstance(after, int) else None, session_id),
    )
    return True


def _judge(
    con: sqlite3.Connection, session_id: str, path: str, boundary: int, *, prompt: bool, may_speak: bool
) -> Due | None:
    behind = _read(path, boundary)
    pending = con.execute(
        "SELECT block_id, status, coalesce(sent_at, created_at) FROM pending WHERE session_id=? "
        "AND status IN ('pending', 'sent') ORDER BY created_at DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    # By its own number: the native summary may quote an older block.
    arrived = (MARK + (pending[0] if pending else "")).encode() in behind
    if not arrived:
        answered = b'"type":"assistant"' in behind
        handed = pending is not None and pending[1] == "sent" and time.time() - pending[2] < SETTLED
        if not answered and (not prompt or handed):
            return None  # too early to tell
        if not may_speak:
            return None
    claimed = con.execute(
        "UPDATE sessions SET boundary_offset=NULL WHERE session_id=? AND boundary_offset=?", (session_id, boundary)
    ).rowcount
    if not claimed:
        return None
    block_id = pending[0] if pending else ""
    if block_id:
        con.execute("UPDATE pending SET status=? WHERE block_id=?", ("delivered" if arrived else "missed", block_id))
        con.execute("UPDATE injection_log SET delivered=? WHERE block_id=?", (int(arrived), block_id))
    if arrived:
        return None
    if not block_id or (pending and pending[1] == "sent" and not _first_part(con, block_id)):
        block_id, _made = prepare(con, session_id, "fallback")
        con.execute("UPDATE pending SET status='missed' WHERE block_id=?", (block_id,))
    return Due(block_id, _instead(con, session_id, block_id))


def _first_part(con: sqlite3.Connection, block_id: str) -> str:
    row = con.execute("SELECT text FROM pending_parts WHERE block_id=? AND part=1", (block_id,)).fetchone()
    return str(row[0]) if row else ""


def _instead(con: sqlite3.Connection, session_id: str, block_id: str) -> str:
    text = _first_part(con, block_id)
    total = con.execute("SELECT count(*) FROM pending_parts WHERE block_id=?", (block_id,)).fetchone()[0]
    memory_db.log_injection(
        con, session_id, "fallback", "L1+L2", block_id=block_id, part=1, parts=total, units=hook_io.units(text)
    )
    if total > 1:
        try:
            from . import block
        except ImportError:
            import block  # type: ignore[no-redef]
        text += f"\n(Only part 1 is shown here; the rest: {block.command(session_id, 'memory 2')})"
    return text


def _read(path: str, offset: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(offset)
            return file.read(MOST_BYTES)
    except (OSError, ValueError):
        return b""
