"""A Claude Code transcript as a session of numbers.

Idea: lines come from the one reader of transcripts (``hooks/transcript.py``): its classification of lines, its turns;
here only sizes are taken. A request is one message id; what the transcript repeats, its usage above all, counts once.
Invariant: the texts are those the model saw: ``toolUseResult``, snapshots and progress lines are no part of it.
Checked by ``tests/analysis/savings/test_reading.py``.
"""

import json
import os
from bisect import bisect_right
from pathlib import Path
from typing import Any, Final

from lcm_lab.analysis.savings.gathering import Gathering, Usage
from lcm_lab.analysis.savings.seen import as_seen, was_cut
from lcm_lab.hooks import transcript

SIGNATURE: Final = 2.2
"""Characters of a thinking block's signature for each character of its text, where both were there.

Newer clients keep the signature only.
"""

RESUMED: Final = "No response requested."
"""What the client notes for itself when a session is taken up again by a new process."""


class Reading:
    """One transcript being read; afterwards ``gathered`` holds items and requests, ``reader`` the turns' own facts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.gathered = Gathering(path.stem)
        self.reader = transcript.Reader(os.fspath(path))
        self.turns = list(self.reader.turns(final=True))
        self.bad_lines = self.reader.bad_lines
        self._starts = [one.start for one in self.turns]
        self._seen: set[str] = set()
        self._began = False

    def run(self) -> "Reading":
        """Read the whole file."""
        for start, _, line in transcript.raw_lines(os.fspath(self.path), final=True):
            if b'"type":"progress"' in line[:1000] and b'"parentUuid":null' not in line[:1000]:
                continue
            try:
                record = json.loads(line.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                continue
            if not isinstance(record, dict) or record.get("isSidechain"):
                continue
            uuid = record.get("uuid")
            if isinstance(uuid, str):
                if uuid in self._seen:
                    continue
                self._seen.add(uuid)
            try:
                self._take(record, start)
            except (AttributeError, TypeError, ValueError, KeyError):
                continue
        self.gathered.client = self.reader.version
        return self

    def turn_at(self, offset: int) -> int:
        """The number of the turn that a place in the file belongs to."""
        return bisect_right(self._starts, offset)

    def _take(self, record: dict[str, Any], start: int) -> None:
        kind = record.get("type")
        boundary = kind == "system" and record.get("subtype") == "compact_boundary"
        if boundary:
            meta = record.get("compactMetadata")
            meta = meta if isinstance(meta, dict) else {}
            before = meta.get("preTokens")
            manual = meta.get("trigger") == "manual"
            self.gathered.mark("boundary", before if isinstance(before, int) else 0, manual=manual)
        elif self._began and record.get("parentUuid", "") is None and "uuid" in record and kind != "attachment":
            self.gathered.mark("fresh")
        self._began = self._began or kind in ("user", "assistant")
        if kind == "assistant":
            self._assistant(record, start)
        elif kind == "user":
            self._user(record, start)
        elif kind == "attachment":
            self._attachment(record, start)

    def _assistant(self, record: dict[str, Any], start: int) -> None:
        message = record.get("message") or {}
        model = str(message.get("model") or "")
        content = [block for block in message.get("content") or [] if isinstance(block, dict)]
        if model == "<synthetic>":
            if any(block.get("text") == RESUMED for block in content):
                self.gathered.mark("resumed")
            return
        turn = self.turn_at(start)
        message_id = str(message.get("id") or record.get("uuid") or start)
        usage = _usage(message.get("usage"))
        made = self.gathered.request(message_id, model, turn, record.get("timestamp"), start, usage)
        for block in content:
            key = f"{message_id}\0{block.get('type')}\0{block.get('id') or hash(str(block))}"
            if key in self._seen:
                continue
            self._seen.add(key)
            self._made(block, turn, made)

    def _made(self, block: dict[str, Any], turn: int, made: int) -> None:
        kind = block.get("type")
        if kind == "text":
            self.gathered.put("assistant", str(block.get("text") or "").strip("\n"), turn, made=made)
        elif kind == "thinking":
            text = str(block.get("thinking") or "")
            text = text or " " * round(len(str(block.get("signature") or "")) / SIGNATURE)
            self.gathered.put("thinking", text, turn, made=made)
        elif kind == "tool_use":
            call_id, tool = str(block.get("id") or ""), str(block.get("name") or "")
            self.gathered.call(call_id, tool, block.get("input"), turn, made)

    def _user(self, record: dict[str, Any], start: int) -> None:
        if record.get("isVisibleInTranscriptOnly") and not record.get("isCompactSummary"):
            return
        message = record.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        turn, stamp = self.turn_at(start), record.get("timestamp")
        kind = "meta" if record.get("isMeta") else "user"
        if record.get("isCompactSummary") or record.get("rowSource") == "hook":
            kind = "summary"
        for block in [content] if isinstance(content, str) else content or []:
            if isinstance(block, str):
                self.gathered.put(kind, block, turn, stamp=stamp)
            elif block.get("type") == "text":
                self.gathered.put(kind, str(block.get("text") or ""), turn, stamp=stamp)
            elif block.get("type") == "image":
                self.gathered.picture(turn, stamp)
            elif block.get("type") == "tool_result":
                self._result(block, turn, stamp)

    def _result(self, block: dict[str, Any], turn: int, stamp: object) -> None:
        call_id = str(block.get("tool_use_id") or "")
        content = block.get("content")
        pictures = 0
        if isinstance(content, list):
            pictures = sum(1 for one in content if isinstance(one, dict) and one.get("type") == "image")
            content = [one for one in content if not (isinstance(one, dict) and one.get("type") == "image")]
        text = transcript.content_text(content)
        tool = self.gathered.tool_of(call_id)
        shown = as_seen(tool, text, failed=bool(block.get("is_error")))
        self.gathered.cut_by_client += was_cut(text) or shown != text
        self.gathered.result(call_id, shown, turn, stamp)
        for _ in range(pictures):
            self.gathered.picture(turn, stamp)

    def _attachment(self, record: dict[str, Any], start: int) -> None:
        given = record.get("attachment")
        if not isinstance(given, dict):
            return
        kind = "user" if given.get("type") == "queued_command" else "meta"
        text = given.get("rendered") if isinstance(given.get("rendered"), str) else None
        if text is None and (kind == "user" or str(given.get("type")).startswith("hook_")):
            text = transcript.content_text(given.get("prompt") if kind == "user" else given.get("content"))
        self.gathered.put(kind, str(text or ""), self.turn_at(start), stamp=record.get("timestamp"))


def _usage(given: Any) -> Usage:
    found = Usage()
    if not isinstance(given, dict):
        return found

    def number(of: Any, name: str) -> int:
        value = of.get(name) if isinstance(of, dict) else None
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    found.uncached = number(given, "input_tokens")
    found.cache_read = number(given, "cache_read_input_tokens")
    found.output = number(given, "output_tokens")
    written = number(given, "cache_creation_input_tokens")
    found.write_1h = min(written, number(given.get("cache_creation"), "ephemeral_1h_input_tokens"))
    found.write_5m = written - found.write_1h
    return found
