r"""The one reader of Claude Code transcripts: lines in, turns out, as a stream.

Idea: a transcript is an append-only log whose format may change with any release, so lines are classified by a few
bytes first (most bytes belong to lines nobody needs) and read tolerantly after that. A turn is one request of the user
with all that followed it.

Invariant: every tool call of the file belongs to exactly one turn, every turn starts at a user line that a person
caused, and what is reported up to an offset does not depend on where earlier reads stopped.
Checked in tests/hooks/test_transcript.py and, over whole sessions, in tests/hooks/test_replay.py.

Only `\n` ends a line (U+2028 and its kin occur inside texts); a last line without it is still being written.
"""

from __future__ import annotations

import json
import os
import re

try:
    from .token_estimator import estimate
    from .turns import Boundary, ToolCall, Turn, content_text, exit_code, int_or_none, said_instead
except ImportError:  # run as a script: the folder of the script is on the path
    from token_estimator import estimate  # type: ignore[import-not-found,no-redef]
    from turns import Boundary, ToolCall, Turn, content_text, exit_code, int_or_none, said_instead  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

__all__ = [
    "Boundary",
    "Reader",
    "ToolCall",
    "Turn",
    "agent_calls",
    "agent_files",
    "content_text",
    "exit_code",
    "raw_lines",
]

PEEK = 1 << 16
WANTED = re.compile(rb'"type":\s?"(?:user|assistant|system|attachment|progress)"')
SKIPPED_HEADS = (b'{"type":"api-request', b'{"type":"file-history', b'{"type":"queue-operation', b'{"type":"summary')
ATTACHMENTS = (b"queued_command", b"SessionStart")
NOT_SHOWN = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
INTERRUPT = "[Request interrupted by user"
# What the client writes into the user role by itself. A skill or prompt command starts with <command-message> and does
# ask the model something; a local command starts with <command-name> and does not.
NOT_A_REQUEST = (
    *("<local-command-", "<command-name>", "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>"),
    *("<system-reminder>", "Caveat: The messages below"),
)
COMMAND = re.compile(r"<command-name>/?([^<\n]{1,100})</command-name>")
COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)


def raw_lines(path: str, offset: int = 0, *, final: bool = False) -> Iterator[tuple[int, int, bytes]]:
    """(start, end, line) of each complete line that may matter; long useless lines are passed over in small pieces."""
    with open(path, "rb") as file:
        file.seek(offset)
        start = offset
        while head := file.readline(PEEK):
            if head[-1:] != b"\n" and len(head) == PEEK and head.startswith(SKIPPED_HEADS):
                length = len(head)
                while piece := file.readline(1 << 20):
                    length += len(piece)
                    if piece[-1:] == b"\n":
                        break
                start += length
                continue
            line = head if head[-1:] == b"\n" else head + file.readline()
            end = start + len(line)
            if line[-1:] != b"\n" and not final:
                return
            if not line.startswith(SKIPPED_HEADS) and WANTED.search(line):
                yield start, end, line
            start = end


class Reader:
    """Reads one transcript; afterwards holds what concerns the file as a whole."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.boundaries: list[Boundary] = []
        self.usage: dict[str, tuple[int, int]] = {}  # message id -> (prompt tokens, output tokens), last one counts
        self.context_tokens: int | None = None  # of the newest main reply after the last boundary
        self.context_offset = 0
        self.injected: list[tuple[int, str]] = []  # (offset, text) of what hooks of SessionStart gave
        self.late: list[ToolCall] = []  # results whose call lies before the offset
        self.bad_lines = 0
        self.end = 0
        self.model = ""
        self.version = ""
        self.growth = (0, 0)  # of the context: as the API reported it, as the estimator sees it
        self._since = 0  # estimated tokens added since the last report
        self._prompt = 0
        self._calls: dict[str, ToolCall] = {}
        self._seen: set[str] = set()
        self._turn: Turn | None = None
        self._count = 0

    def turns(self, offset: int = 0, *, final: bool = False) -> Iterator[Turn]:
        """Each turn at or behind `offset`; `final` says that nothing more will be written. Never raises on content."""
        self.end = offset
        for start, end, line in raw_lines(self.path, offset, final=final):
            self.end = end
            if not _of_use(line):
                continue
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                self.bad_lines += 1
                continue
            if isinstance(record, dict):
                before = self._turn
                try:
                    self._take(record, start)
                except (AttributeError, TypeError, ValueError, KeyError):
                    self.bad_lines += 1
                if self._turn is not None:
                    self._turn.end = max(self._turn.end, end)
                if before is not None and before is not self._turn:
                    _close(before)
                    yield before
        if self._turn is not None:
            if final:
                _close(self._turn)
            yield self._turn

    def _take(self, record: dict[str, Any], start: int) -> None:
        kind = record.get("type")
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:  # resumed and forked sessions copy lines
                return
            self._seen.add(uuid)
        self.version = str(record.get("version") or self.version)
        if kind == "assistant":
            self._assistant(record, start)
        elif kind == "user":
            self._user(record, start)
        elif kind == "system":
            self._system(record, start)
        elif kind == "attachment":
            self._attachment(record, start)
        elif kind == "progress":
            self._agent_progress(record)

    def _assistant(self, record: dict[str, Any], start: int) -> None:
        message = record.get("message") or {}
        side = bool(record.get("isSidechain"))
        message_id = str(message.get("id") or record.get("uuid") or "")
        if not side:
            self._usage(message, message_id, start)
        turn = self._turn
        for block in _blocks(message.get("content")):
            kind = block.get("type")
            if kind == "tool_use":
                self._call(block, record, side=side)
            elif kind == "text" and turn is not None and not side:
                text = str(block.get("text") or "")
                self._since += estimate(text)
                key = f"{message_id}\0{text}"
                if text.strip() and key not in self._seen:
                    self._seen.add(key)
                    turn.assistant_texts.append(text)
                    turn.final_text = text
        if turn is not None and not side:
            turn.ended_at = str(record.get("timestamp") or turn.ended_at)
            turn.state = "complete" if message.get("stop_reason") in {"end_turn", "stop_sequence"} else "open"

    def _usage(self, message: dict[str, Any], message_id: str, start: int) -> None:
        usage = message.get("usage")
        model = str(message.get("model") or "")
        if not isinstance(usage, dict) or model == "<synthetic>":
            return
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        prompt = sum(int_or_none(usage.get(name)) or 0 for name in names)
        if prompt:  # lines that a compaction wrote again carry zero
            if message_id not in self.usage:
                if 0 < self._prompt < prompt:
                    self.growth = (self.growth[0] + prompt - self._prompt, self.growth[1] + self._since)
                self._prompt, self._since = prompt, 0
            output = int_or_none(usage.get("output_tokens")) or 0
            self.usage[message_id] = (prompt, max(output, self.usage.get(message_id, (0, 0))[1]))
            self.context_tokens, self.context_offset, self.model = prompt + output, start, model

    def _call(self, block: dict[str, Any], record: dict[str, Any], *, side: bool) -> None:
        call_id = str(block.get("id") or "")
        if not call_id or call_id in self._calls:
            return
        given = block.get("input")
        call = ToolCall(call_id, str(block.get("name") or ""), given if isinstance(given, dict) else {"value": given})
        call.sidechain = side
        agent = record.get("agentId")
        call.agent_id = agent if isinstance(agent, str) else None
        call.started_at = str(record.get("timestamp") or "")
        self._calls[call_id] = call
        self._since += 0 if side else estimate(str(given))
        if self._turn is None:
            self._start("", record, 0)
        if self._turn is not None:
            self._turn.tools.append(call)

    def _user(self, record: dict[str, Any], start: int) -> None:
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        texts, results = _split(content)
        for block in results:
            self._result(block, side=bool(record.get("isSidechain")))
        if any(record.get(flag) for flag in NOT_SHOWN) or record.get("rowSource") == "hook":
            return
        asked = self._requests(texts)
        if not asked:
            return
        if results:  # typed while the turn was running: it rides on a tool result
            if self._turn is not None:
                self._turn.followups.extend(asked)
            return
        prompt_id = record.get("promptId")
        turn = self._turn
        if turn is not None and isinstance(prompt_id, str) and turn.prompt_id == prompt_id:
            if "\n".join(asked) == turn.user_text:  # written again
                return
            if not turn.assistant_texts and not turn.tools:  # a picture, or the second half of one request
                turn.followups.extend(asked)
                return
        self._start("\n".join(asked), record, start)

    def _requests(self, texts: list[str]) -> list[str]:
        """The texts a person wrote; the mark of an interrupt ends the turn instead."""
        asked: list[str] = []
        for text in texts:
            if text.lstrip().startswith(INTERRUPT):
                if self._turn is not None:
                    self._turn.state = "interrupted"
            elif text.strip() and not text.lstrip().startswith(NOT_A_REQUEST):
                asked.append(text)
        return asked

    def _start(self, text: str, record: dict[str, Any], start: int) -> None:
        self._count += 1
        turn = Turn(self._count, text, start=start)
        if text.lstrip().startswith("<command-message>"):
            name, args = COMMAND.search(text), COMMAND_ARGS.search(text)
            turn.command = "/" + name.group(1).strip() if name else "/?"
            turn.user_text = f"{turn.command} {args.group(1).strip() if args else ''}".strip()
        prompt_id = record.get("promptId")
        turn.prompt_id = prompt_id if isinstance(prompt_id, str) else None
        turn.uuid = str(record.get("uuid") or f"offset:{start}")
        turn.started_at = turn.ended_at = str(record.get("timestamp") or "")
        self._turn = turn

    def _result(self, block: dict[str, Any], *, side: bool) -> None:
        call_id = str(block.get("tool_use_id") or "")
        call = self._calls.get(call_id)
        if call is None:
            call = self._calls[call_id] = ToolCall(call_id, "", {})
            self.late.append(call)
        refused = bool(block.get("is_error"))
        said = "" if side or call.sidechain else said_instead(block.get("content"), is_error=refused)
        if said and call.output is None and self._turn is not None and said not in self._turn.refusals:
            self._turn.refusals.append(said)  # once: parallel calls are rejected as one
        call.finish(content_text(block.get("content")), is_error=refused)
        self._since += 0 if call.sidechain else estimate(call.output or "")

    def _system(self, record: dict[str, Any], start: int) -> None:
        subtype = record.get("subtype")
        if subtype == "compact_boundary" and not record.get("isSidechain"):
            self.boundaries.append(Boundary(start, record, self._turn.number if self._turn else 0))
            self.context_tokens = self.boundaries[-1].post_tokens
            self._prompt = 0
        elif subtype in {"turn_duration", "stop_hook_summary"} and self._turn and self._turn.state == "open":
            self._turn.state = "complete"

    def _attachment(self, record: dict[str, Any], start: int) -> None:
        given = record.get("attachment")
        if not isinstance(given, dict):
            return
        if given.get("type") == "queued_command" and self._turn is not None:
            text = content_text(given.get("prompt"))
            if text.strip() and not text.lstrip().startswith(NOT_A_REQUEST):
                self._turn.followups.append(text)
        elif str(given.get("type")).startswith("hook_") and given.get("hookEvent") == "SessionStart":
            self.injected.append((start, content_text(given.get("content")) or str(given.get("stdout") or "")))

    def _agent_progress(self, record: dict[str, Any]) -> None:
        """Calls of a sub-agent as clients before 2.1.40 report them in the main file."""
        data = record.get("data")
        inner = data.get("message") if isinstance(data, dict) else None
        message = inner.get("message") if isinstance(inner, dict) else None
        if not isinstance(data, dict) or not isinstance(inner, dict) or not isinstance(message, dict):
            return
        envelope = {"agentId": data.get("agentId"), "timestamp": inner.get("timestamp")}
        for block in _blocks(message.get("content")):
            if block.get("type") == "tool_use":
                self._call(block, envelope, side=True)
            elif block.get("type") == "tool_result":
                self._result(block, side=True)


def agent_files(path: str) -> list[str]:
    """The transcripts of this session's sub-agents, oldest name first; workflows lie one folder deeper."""
    root = os.path.splitext(path)[0]
    found = []
    beside = os.path.join(os.path.dirname(path), "subagents")  # a session that was copied out of its project folder
    for folder in (os.path.join(root, "subagents"), beside):
        for where, _dirs, names in os.walk(folder):
            found += [os.path.join(where, n) for n in names if n.startswith("agent-") and n.endswith(".jsonl")]
    return sorted(found)


def agent_calls(path: str) -> list[ToolCall]:
    """Every tool call of one sub-agent's file, marked as such."""
    reader = Reader(path)
    calls = [call for turn in reader.turns(final=True) for call in turn.tools]
    name = os.path.basename(path)[len("agent-") : -len(".jsonl")]
    for call in calls:
        call.sidechain, call.agent_id = True, call.agent_id or name
    return calls


def _close(turn: Turn) -> None:
    if turn.state == "open":
        unfinished = any(call.output is None for call in turn.tools)
        turn.state = "interrupted" if unfinished or not turn.final_text else "complete"


def _split(content: Any) -> tuple[list[str], list[dict[str, Any]]]:
    if isinstance(content, str):
        return [content], []
    blocks = _blocks(content)
    results = [block for block in blocks if block.get("type") == "tool_result"]
    return [content_text([block]) for block in blocks if block.get("type") != "tool_result"], results


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _of_use(line: bytes) -> bool:
    """False for attachments and progress lines that say nothing about turns, before the costly parsing."""
    if b'"type":"attachment"' in line and not any(mark in line for mark in ATTACHMENTS):
        return b'"type":"user"' in line or b'"type":"assistant"' in line
    return b'"type":"progress"' not in line[:1000] or b'"agent_progress"' in line
