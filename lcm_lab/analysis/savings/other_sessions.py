"""Session files of OpenClaw and of pi as sessions of numbers: the same measures for agents that are not Claude Code.

Idea: lines come from the product's reader of such files (``sessions/jsonl.py`` reads them for people; here the sizes of
their parts are needed, so the raw lines are taken). Their results stand there whole, so the truncation of Claude Code
is applied, as if the session had been held there. There are no hooks for these agents, so the three layers have no
lines for them.
Invariant: as for Claude Code: an item enters with exactly one request. Checked by
``tests/analysis/savings/test_reading.py``.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from lcm_lab.analysis.savings import references
from lcm_lab.analysis.savings.gathering import Gathering, Usage
from lcm_lab.analysis.savings.seen import as_seen
from lcm_lab.analysis.savings.session import Session
from lcm_lab.sessions.flatten import flatten
from lcm_lab.sessions.lines import raw_lines

_HEAD = 1 << 16


def is_other(path: Path) -> bool:
    """Whether the file is one of these: its lines are of the type ``message``, with the role inside."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    return b'"type":"message"' in head.replace(b" ", b"") and b'"parentUuid"' not in head


def read(path: Path) -> Session:
    """The file as a session."""
    gathered = Gathering(path.stem)
    turn = 0
    with path.open("rb") as file:
        for line in raw_lines(file):
            try:
                record = json.loads((line.data or b"").decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            message = record.get("message") if isinstance(record, dict) else None
            if not isinstance(message, dict):
                continue
            turn += message.get("role") == "user"
            _take(gathered, message, turn, record.get("timestamp"))
    session = gathered.session(notes=("no hooks there: the three layers hold no lines",))
    found = references.find(session, gathered.texts)
    return replace(session, references=found)


def _take(gathered: Gathering, message: dict[str, Any], turn: int, stamp: object) -> None:
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        gathered.put("user", flatten(content), turn, stamp=stamp)
    elif role == "toolResult":
        tool = str(message.get("toolName") or "")
        text = flatten(content)
        shown = as_seen(tool, text, failed=bool(message.get("isError")))
        gathered.cut_by_client += shown != text
        gathered.result(str(message.get("toolCallId") or ""), shown, turn, stamp)
    elif role == "assistant":
        blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
        usage = _usage(message.get("usage"))
        if not blocks and not usage.prompt:
            return
        made = gathered.request(
            f"{len(gathered.requests)}", str(message.get("model") or ""), turn, stamp, len(gathered.requests), usage
        )
        for block in blocks:
            kind = block.get("type")
            if kind == "text":
                gathered.put("assistant", str(block.get("text") or ""), turn, made=made)
            elif kind == "thinking":
                gathered.put("thinking", str(block.get("thinking") or ""), turn, made=made)
            elif kind == "toolCall":
                call_id, tool = str(block.get("id") or ""), str(block.get("name") or "")
                gathered.call(call_id, tool, block.get("arguments"), turn, made)


def _usage(given: Any) -> Usage:
    if not isinstance(given, dict):
        return Usage()

    def number(name: str) -> int:
        value = given.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    return Usage(number("input"), number("cacheRead"), number("cacheWrite"), 0, number("output"))
