"""How a tool call becomes a row: masked, counted, in its turn, whatever event reported it.

Idea: the hook that runs after every tool batch and the reader of transcripts store the same row, so that either may
come first; this is all that the quick one of them needs.
Invariant: calls that look into this memory never become rows of it; a row's text is masked before anything keeps it.
Checked in tests/hooks/test_memory_db.py and tests/hooks/test_replay.py.
"""

from __future__ import annotations

import json

try:
    from . import memory_db, redact, token_estimator
    from .turns import REJECTED, ToolCall, content_text, exit_code
except ImportError:  # run as a script: the folder of the script is on the path
    import memory_db  # type: ignore[import-not-found,no-redef]
    import redact  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]
    from turns import REJECTED, ToolCall, content_text, exit_code  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    import sqlite3
    from typing import Any

FAILED = ("Exit code ", "<tool_use_error>", "Error: ", "Error executing tool")
_lookup_call: re.Pattern[str] | None = None


def mask(text: str, *, on: bool) -> str:
    """The text as it may be stored."""
    text = memory_db.clean(text)
    return redact.redact(text) if on else text


def is_lookup(tool: str, given: Any) -> bool:
    """Whether a call is a look-up into this memory, which must not be remembered itself."""
    global _lookup_call  # noqa: PLW0603 - compiled only where a call looks like one
    if not isinstance(given, dict):
        return False
    if tool == "Skill":
        return str(given.get("skill") or given.get("command") or "").split(":")[-1].lstrip("/").startswith("sc-")
    command = given.get("command")
    if tool != "Bash" or not isinstance(command, str) or "lookup.py" not in command:
        return False
    if _lookup_call is None:
        import re

        program = r"(?:'[^'\n]*'|\S+) -S -E (?:'[^'\n]*lookup\.py'|\S*lookup\.py)"
        _lookup_call = re.compile(rf"\s*{program} (?:detail|search|resolve|memory|turns)\b[^;&|<>`$\n]*$")
    return bool(_lookup_call.match(command))


def status_of(output: str | None, *, is_error: bool | None = None) -> str:
    """Ok | failed | rejected | pending, from the text where the event does not say it."""
    if output is None:
        return "pending"
    if is_error is False:
        return "ok"
    if output.startswith(REJECTED):
        return "rejected"
    return "failed" if is_error or output.startswith(FAILED) else "ok"


def tool_row(session: str, turn: int, call: ToolCall, factor: float, *, masked: bool) -> dict[str, Any]:
    """The detail row of a call that the transcript shows."""
    given = mask(json.dumps(call.input, ensure_ascii=False), on=masked)
    output = None if call.output is None else mask(call.output, on=masked)
    return {
        "session_id": session,
        "turn": turn,
        "source_id": call.id,
        "tool": call.name,
        "input": given,
        "output": output,
        "exit_code": call.exit_code,
        "status": status_of(output, is_error=call.is_error),
        "agent_id": call.agent_id or ("unknown" if call.sidechain else None),
        "tokens": token_estimator.estimate(given, factor) + token_estimator.estimate(output or "", factor),
        "rank": memory_db.RANK_PENDING if output is None else memory_db.RANK_SEEN,
        "at": stamp(call.started_at),
    }


def of_event(event: dict[str, Any], *, masked: bool) -> list[dict[str, Any]]:
    """The calls that a PostToolBatch, PostToolUse or PostToolUseFailure event reports, ready to be kept."""
    name = event.get("hook_event_name")
    given = event.get("tool_calls")
    listed = given if isinstance(given, list) else [event]
    rows = []
    for call in listed:
        if not isinstance(call, dict) or not call.get("tool_name"):
            continue
        tool, arguments = str(call["tool_name"]), call.get("tool_input")
        if is_lookup(tool, arguments):
            continue
        batch = name == "PostToolBatch"
        raw = call.get("error") if name == "PostToolUseFailure" else call.get("tool_response")
        output = mask(content_text(raw) if batch else _shown(raw), on=masked)
        failed = True if name == "PostToolUseFailure" else None
        call_id = call.get("tool_use_id")
        rows.append(
            {
                "source_id": mask(call_id, on=False) if isinstance(call_id, str) and call_id else _made_up(event, call),
                "tool": tool,
                "input": mask(json.dumps(arguments, ensure_ascii=False), on=masked),
                "output": output,
                "exit_code": exit_code(output),
                "status": status_of(output, is_error=failed),
                "rank": memory_db.RANK_SEEN if batch else memory_db.RANK_EVENT,
            }
        )
    return rows


def _shown(response: Any) -> str:
    """About what the model saw of a single event's raw result; the transcript replaces it later."""
    if isinstance(response, dict) and isinstance(response.get("stdout"), str):
        return "\n".join(text for text in (response["stdout"], str(response.get("stderr") or "")) if text)
    if isinstance(response, (str, list)):
        return content_text(response)
    return json.dumps(response, ensure_ascii=False)


def _made_up(event: dict[str, Any], call: dict[str, Any]) -> str:
    """A key for a call without an id: the same event gives the same one."""
    import zlib

    data = json.dumps([event.get("prompt_id"), call], sort_keys=True).encode("utf-8", "replace")
    return f"noid:{zlib.crc32(data):08x}{zlib.adler32(data):08x}"


def take(con: sqlite3.Connection, kind: str, payload: dict[str, Any]) -> None:
    """Store what an event reported; to be called inside a transaction. `kind` is the kind of a spooled event."""
    if kind != "calls":
        return
    session = str(payload["session"])
    own = "" if payload.get("agent_id") else str(payload.get("transcript") or "")
    memory_db.ensure_session(con, session, str(payload.get("cwd") or ""), own)
    turn = turn_at(con, session, payload.get("prompt_id"))
    real, estimated = con.execute(
        "SELECT real_tokens, estimated_tokens FROM sessions WHERE session_id=?", (session,)
    ).fetchone()
    factor = token_estimator.factor(real, estimated)
    for row in payload["calls"]:
        tokens = token_estimator.estimate(row["input"], factor) + token_estimator.estimate(row["output"] or "", factor)
        memory_db.put_detail(
            con, {**row, "session_id": session, "turn": turn, "agent_id": payload.get("agent_id"), "tokens": tokens}
        )
    memory_db.count_run(con, str(payload.get("event") or ""))


def turn_at(con: sqlite3.Connection, session: str, prompt_id: str | None, at: str = "") -> int:
    """The turn of a prompt id, else the one running at that time, else the newest; 0 before the first."""
    row = con.execute(
        "SELECT turn_number FROM turns WHERE session_id=? AND prompt_id=?", (session, prompt_id or "")
    ).fetchone()
    if row is None and at:
        row = con.execute(
            "SELECT max(turn_number) FROM turns WHERE session_id=? AND started_at <= ?", (session, stamp(at))
        ).fetchone()
    if row is None or row[0] is None:
        row = con.execute("SELECT max(turn_number) FROM turns WHERE session_id=?", (session,)).fetchone()
    return int(row[0] or 0)


def stamp(at: str) -> str | None:
    """2026-01-02T03:04:05.678Z as SQLite's own datetime() writes it."""
    return at[:19].replace("T", " ") if len(at) >= 19 else None
