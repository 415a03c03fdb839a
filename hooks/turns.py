"""What a transcript is made of: tool calls, turns, compactions.

Idea: plain classes with slots, because a hook starts for every tool call and the standard dataclasses cost as much to
import as the rest of the hook together.
Invariant: a call has one result, the first that carries text; a turn owns its calls.
Checked in tests/hooks/test_transcript.py.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,3})\b")
# How the result of a call begins that somebody or some rule did not allow (client 2.0 to 2.1.332).
REJECTED = (
    *("The user doesn't want to ", "Permission for this tool use was denied", "Permission to use "),
    *("Claude requested permissions", "[Request interrupted"),
)
# A rejection in the user's own words: how it begins, where the words begin, what the client adds behind them, and what
# it says by itself in their place (somebody wants to talk about a question first).
REFUSED = re.compile(
    r"(?:The user doesn't want to proceed with this tool use\.|Permission for this tool use was denied\.)"
    r" The tool use was rejected [^\n]*(?:the user said|The user said):\n"
)
ADDED = re.compile(r"\n\s*(?:Note: The user's next message may contain|<system-reminder>)")
BY_CLIENT = ("The user wants to clarify", "The user has indicated", "[Request interrupted")


class ToolCall:
    """One call of a tool; `output` is the text as the model saw it, None while no result is known."""

    __slots__ = ("agent_id", "exit_code", "id", "input", "is_error", "name", "output", "sidechain", "started_at")

    def __init__(self, call_id: str, name: str, tool_input: dict[str, Any]) -> None:
        self.id = call_id
        self.name = name
        self.input = tool_input
        self.output: str | None = None
        self.is_error = False
        self.exit_code: int | None = None
        self.sidechain = False
        self.agent_id: str | None = None
        self.started_at = ""

    def finish(self, output: str, *, is_error: bool) -> None:
        """Take the result; the first one that carries text stays."""
        if self.output:
            return
        self.output, self.is_error = output, is_error
        self.exit_code = exit_code(output) if is_error else None

    def masked(self, mask: Callable[[str], str]) -> ToolCall:
        """The call with its command as it may be stored."""
        command = self.input.get("command")
        shown = mask(command) if isinstance(command, str) else command
        if shown == command:
            return self
        made = ToolCall(self.id, self.name, {**self.input, "command": shown})
        for name in ("output", "is_error", "exit_code", "sidechain", "agent_id", "started_at"):
            setattr(made, name, getattr(self, name))
        return made


class Turn:
    """One request of the user and all that followed it, up to the next request."""

    __slots__ = (
        "assistant_texts",
        "command",
        "end",
        "ended_at",
        "final_text",
        "followups",
        "number",
        "prompt_id",
        "refusals",
        "start",
        "started_at",
        "state",
        "tools",
        "user_text",
        "uuid",
    )

    def __init__(self, number: int, user_text: str, *, start: int = 0) -> None:
        self.number = number  # counted from 1 in the order of this read; the store keeps its own lasting number
        self.user_text = user_text
        self.prompt_id: str | None = None
        self.uuid = ""
        self.command: str | None = None  # "/name" when a skill or prompt command asked
        self.followups: list[str] = []  # what the user added while the turn was running
        self.refusals: list[str] = []  # what the user said instead of allowing a call
        self.assistant_texts: list[str] = []
        self.final_text = ""
        self.tools: list[ToolCall] = []
        self.state = "open"  # complete | interrupted | open
        self.started_at = ""
        self.ended_at = ""
        self.start = start  # byte offsets of its first line and behind its last line
        self.end = start

    def masked(self, mask: Callable[[str], str]) -> Turn:
        """The turn with its texts and commands as they may be stored; what the calls gave stays as it is."""
        made = Turn(self.number, mask(self.user_text), start=self.start)
        for name in ("prompt_id", "uuid", "command", "state", "started_at", "ended_at", "end"):
            setattr(made, name, getattr(self, name))
        made.tools = [call.masked(mask) for call in self.tools]
        for name in ("followups", "refusals", "assistant_texts"):
            setattr(made, name, [mask(text) for text in getattr(self, name)])
        made.final_text = mask(self.final_text)
        return made


class Boundary:
    """A compaction as the transcript shows it."""

    __slots__ = ("offset", "post_tokens", "pre_tokens", "timestamp", "trigger", "turn", "uuid")

    def __init__(self, offset: int, record: dict[str, Any], turn: int) -> None:
        meta = record.get("compactMetadata")
        meta = meta if isinstance(meta, dict) else {}
        self.offset = offset
        self.uuid = str(record.get("uuid") or "")
        self.timestamp = str(record.get("timestamp") or "")
        self.trigger = str(meta.get("trigger") or "")
        self.pre_tokens = int_or_none(meta.get("preTokens"))
        self.post_tokens = int_or_none(meta.get("postTokens"))
        self.turn = turn  # number of the turn it fell into, 0 before the first


def exit_code(output: str) -> int | None:
    """The exit code where the first line of a failed call names one."""
    found = EXIT_CODE.match(output)
    return int(found.group(1)) if found else None


def said_instead(content: Any, *, is_error: bool) -> str:
    """What the user said instead of allowing a call; "" where it ran, nothing was said, or the client speaks itself.

    A result that only looks like one (a file, a page) is no error. Source: the texts of clients 2.0 to 2.1.332.
    """
    blocks = content if isinstance(content, list) else [content]
    first = next((block for block in blocks if isinstance(block, (str, dict))), "")
    text = first if isinstance(first, str) else str(first.get("text") or "")
    begun = REFUSED.match(text) if is_error else None
    said = ADDED.split(text[begun.end() :], maxsplit=1)[0].strip() if begun else ""
    return "" if said.startswith(BY_CLIENT) else said


def content_text(content: Any) -> str:
    """The text of a message or result content as the model saw it; pictures become a short mark."""
    if isinstance(content, str):
        return content
    parts = []
    for block in content if isinstance(content, list) else []:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict):
            kind = block.get("type")
            if kind == "text":
                parts.append(str(block.get("text") or ""))
            elif kind == "image":
                source = block.get("source")
                data = source.get("data") if isinstance(source, dict) else None
                parts.append(f"[image, {len(data) if isinstance(data, str) else 0} base64 characters]")
            elif kind:
                parts.append(f"[{kind} {block.get('tool_name') or block.get('name') or ''}".rstrip() + "]")
    return "\n".join(parts)


def int_or_none(value: Any) -> int | None:
    """The value where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
