"""Session files of the demo, as OpenClaw writes them: one JSON object a line, each naming the line before it.

A session file holds what was said and done in full, large files included, and never a copy that a replay put into the
store. Invariant: the same conversation gives the same bytes, and a file's time is that of its last message.
"""

import os
from datetime import datetime
from pathlib import Path
from typing import Any

from lcm_lab.data.demo_format import Conversation, Message
from lcm_lab.data.demo_rows import MODEL, Stored, call_id, code, dense, entry_id, iso, response_id


def session_lines(conversation: Conversation, stored: list[Stored], *, limit: int | None = None) -> list[str]:
    """The lines of a session file; with ``limit`` only the first messages."""
    session, start = conversation.head["session_id"], iso(conversation.start)
    model = {"provider": MODEL["modelProvider"], "modelId": MODEL["modelId"]}
    before = code(8, "model", session)
    lines = [
        dense({"type": "session", "version": 3, "id": session, "timestamp": start, "cwd": "/srv/agent"}),
        dense({"type": "model_change", "id": before, "parentId": None, "timestamp": start, **model}),
    ]
    for one in [one for one in stored if one.message.copy_of is None][:limit]:
        message = one.message
        identity = entry_id(conversation.number, message.seq)
        head = {"type": "message", "id": identity, "parentId": before, "timestamp": iso(message.at)}
        lines.append(dense({**head, "message": _message(conversation, one)}))
        before = identity
    return lines


def write_session(folder: Path, name: str, lines: list[str], at: datetime) -> Path:
    """Write one session file with the time of its last message."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    os.utime(file, (at.timestamp(), at.timestamp()))
    return file


def _message(conversation: Conversation, stored: Stored) -> dict[str, Any]:
    message = stored.message
    at = int(message.at.timestamp() * 1000)
    if message.role == "tool":
        return _result(conversation, message, stored, at)
    if message.role != "assistant":
        return {"role": message.role, "content": stored.blocks, "timestamp": at}
    return {
        "role": "assistant",
        "content": stored.blocks,
        "api": MODEL["modelApi"],
        "provider": MODEL["modelProvider"],
        "model": MODEL["modelId"],
        "stopReason": "toolUse" if message.calls else "stop",
        "timestamp": at,
        "responseId": response_id(conversation.number, message.seq),
    }


def _result(conversation: Conversation, message: Message, stored: Stored, at: int) -> dict[str, Any]:
    seq, position = message.answers or (0, 0)
    return {
        "role": "toolResult",
        "toolCallId": call_id(conversation.head["session_id"], seq, position),
        "toolName": conversation.messages[seq - 1].calls[position].call_name,
        "content": stored.blocks,
        "isError": message.is_error,
        "timestamp": at,
    }
