"""Plays a finished transcript back as the events that the client would have sent, the file growing as it did.

Idea: nothing here uses the reader under test: lines are taken apart in the plainest way, so that what the hooks stored
can be compared with an independent count. The hooks run in this process, each through its `work`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import (
    detail_capture,
    memory_db,
    post_compact,
    pre_compact,
    prompt_submit,
    session_start,
    turn_processor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

OWN_TEXTS = ("<local-command", "<command-name>", "<task-notification>", "<bash-", "Caveat:", "<system-reminder>")
REFUSED = "The user doesn't want to "


def plain(content: Any) -> str:
    """A result as the model saw it."""
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content or [] if block.get("type") == "text")


def typed(content: Any) -> str:
    """What stood in the prompt: a command as the user wrote it."""
    text = plain(content)
    if not text.startswith("<command-message>"):
        return text
    name = text.split("<command-name>")[1].split("</command-name>")[0]
    arguments = text.split("<command-args>")[1].split("</command-args>")[0] if "<command-args>" in text else ""
    return f"{name} {arguments}".strip()


class Replay:
    """What was played and what should be found afterwards."""

    def __init__(self, source: Path, folder: Path, session: str = "replayed") -> None:
        self.source = source
        self.copy = folder / f"{session}.jsonl"
        self.session = session
        self.turns = 0
        self.open = True
        self.results: dict[str, str] = {}  # every call with a result
        self.calls: set[str] = set()
        self.turn_of: dict[str, int] = {}  # the turn that each call of the main file was made in
        self.refused = 0
        self.events = 0
        self.said: list[dict[str, Any]] = []  # documents that hooks printed apart from the block
        self.blocks: list[list[str]] = []
        self.open_at_boundary: list[list[tuple[int, str]]] = []
        self._batches: dict[str, list[str]] = {}  # message id -> calls
        self._batch_of: dict[str, str] = {}
        self._given: dict[str, tuple[str, Any]] = {}
        self._agent: dict[str, str] = {}
        self._answer = ""
        self._running = False
        self._uuids: set[str] = set()

    def run(self) -> None:
        """Play the whole session, sub-agents included."""
        self.copy.parent.mkdir(parents=True, exist_ok=True)
        self.copy.write_bytes(b"")
        for raw in self.source.read_bytes().split(b"\n"):
            if not raw.strip():
                continue
            try:
                record = json.loads(raw)
            except ValueError:
                self._write(raw)
                continue
            self._line(record, raw)
        self._stop()
        self.open = False
        for file in sorted((self.source.parent / "subagents").glob("agent-*.jsonl")):
            self._subagent(file)
        self.event(turn_processor, "SessionEnd", reason="other")

    def event(self, module: Any, name: str, **more: Any) -> Any:
        """Send one event."""
        self.events += 1
        given = {
            "session_id": self.session,
            "transcript_path": str(self.copy),
            "cwd": "/project",
            "hook_event_name": name,
        }
        said = module.work(json.loads(json.dumps({**given, **more})))
        if isinstance(said, dict) and module is not session_start:
            self.said.append(said)
        return said

    def _write(self, raw: bytes) -> None:
        with self.copy.open("ab") as file:
            file.write(raw + b"\n")

    def _line(self, record: dict[str, Any], raw: bytes) -> None:
        kind = record.get("type")
        if kind == "user" and self._starts(record):
            self._stop()
            self.turns += 1
            self._running = True
            self._answer = ""
            self.event(prompt_submit, "UserPromptSubmit", prompt=typed(record["message"]["content"]))
        if kind == "system" and record.get("subtype") == "compact_boundary":
            self._compaction()
        self._write(raw)
        if kind == "assistant":
            self._assistant(record["message"])
        elif kind == "user":
            self._user(record)
        elif kind == "progress":
            self._progress(record.get("data") or {})
        if kind == "user" and record.get("isCompactSummary"):
            for text in self.blocks[-1]:
                note = {"type": "hook_additional_context", "content": [text], "hookEvent": "SessionStart"}
                self._write(json.dumps({"type": "attachment", "attachment": note}, separators=(",", ":")).encode())

    def _starts(self, record: dict[str, Any]) -> bool:
        if any(record.get(flag) for flag in ("isMeta", "isCompactSummary", "isSidechain")):
            return False
        content = record["message"]["content"]
        if isinstance(content, list) and any(block.get("type") == "tool_result" for block in content):
            return False
        if isinstance(content, list) and any(block.get("type") == "image" for block in content):
            return True
        text = plain(content).lstrip()
        return bool(text) and not text.startswith((*OWN_TEXTS, "[Request interrupted"))

    def _assistant(self, message: dict[str, Any]) -> None:
        for block in message["content"]:
            if block["type"] == "text" and block["text"].strip():
                self._answer = block["text"]
            elif block["type"] == "tool_use":
                self._call(block, message["id"])

    def _call(self, block: dict[str, Any], batch: str) -> None:
        self.calls.add(block["id"])
        if self.open:
            self.turn_of[block["id"]] = self.turns
        self._given[block["id"]] = (block["name"], block["input"])
        self._batches.setdefault(batch, []).append(block["id"])
        self._batch_of[block["id"]] = batch

    def _user(self, record: dict[str, Any]) -> None:
        content = record["message"]["content"]
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                self._result(block)
            elif "[Request interrupted" in str(block.get("text")):
                self._running = False

    def _result(self, block: dict[str, Any]) -> None:
        call = block["tool_use_id"]
        if call not in self._given:
            return
        self.results[call] = plain(block.get("content"))
        batch = self._batches[self._batch_of[call]]
        if all(one in self.results for one in batch):
            shown = [one for one in batch if not self.results[one].startswith(REFUSED)]
            self.refused += len(batch) - len(shown)
            self._send_batch(shown)

    def _send_batch(self, batch: list[str]) -> None:
        listed = [
            {
                "tool_name": self._given[one][0],
                "tool_input": self._given[one][1],
                "tool_use_id": one,
                "tool_response": self.results[one],
            }
            for one in batch
        ]
        agent = (
            {"agent_id": self._agent[batch[0]], "agent_type": "Explore"} if batch and batch[0] in self._agent else {}
        )
        if listed:
            self.event(detail_capture, "PostToolBatch", tool_calls=listed, **agent)
            self.event(detail_capture, "PostToolBatch", tool_calls=listed[::-1], **agent)  # a second copy is registered

    def _progress(self, data: dict[str, Any]) -> None:
        inner = data.get("message")
        message = inner.get("message") if isinstance(inner, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use":
                self._agent[block["id"]] = data.get("agentId") or "agent"
                self._call(block, "agent " + block["id"])
            elif block.get("type") == "tool_result":
                self._result(block)

    def _stop(self) -> None:
        if self._running:
            self.event(turn_processor, "Stop", last_assistant_message=self._answer, stop_hook_active=False)
        self._running = False

    def _compaction(self) -> None:
        self.event(pre_compact, "PreCompact", trigger="auto", custom_instructions=None)
        con = memory_db.connect()
        self.open_at_boundary.append(
            con.execute(
                "SELECT id, content FROM judgments WHERE session_id=? AND category='ISSUE' AND resolved=0",
                (self.session,),
            ).fetchall()
        )
        con.close()
        parts = []
        for number in (1, 2, 3, 4):
            for _copy in (1, 2):
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(sys, "argv", ["session_start.py", "--part", str(number)])
                    said = self.event(session_start, "SessionStart", source="compact", model="m")
                if said:
                    parts.append(said["hookSpecificOutput"]["additionalContext"])
        self.blocks.append(parts)
        self.event(post_compact, "PostCompact", trigger="auto", compact_summary="<summary>short</summary>")

    def _subagent(self, file: Path) -> None:
        agent = file.stem.removeprefix("agent-")
        answer = ""
        for raw in file.read_bytes().split(b"\n"):
            record = json.loads(raw) if raw.strip() else {}
            content = (record.get("message") or {}).get("content")
            for block in content if isinstance(content, list) else []:
                if block.get("type") == "tool_use":
                    self._agent[block["id"]] = agent
                    self._call(block, "agent " + block["id"])
                elif block.get("type") == "tool_result":
                    self._result(block)
                elif block.get("type") == "text" and record["type"] == "assistant":
                    answer = block["text"]
        self.event(
            turn_processor,
            "SubagentStop",
            agent_id=agent,
            agent_type="general-purpose",
            agent_transcript_path=str(file),
            last_assistant_message=answer,
        )


def sources(shared: Path) -> Iterator[Path]:
    """The handed transcripts."""
    yield from sorted((shared / "transcripts" / "claude-code").glob("*.jsonl"))
    yield shared / "transcripts" / "claude-code" / "with-agents" / "main.jsonl"
