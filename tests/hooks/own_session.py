"""A session of our own making, in the client's spelling, with everything that a replay should meet."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class Writer:
    """Writes lines with ids and times of their own."""

    def __init__(self, *, prompt_ids: bool) -> None:
        self.lines: list[bytes] = []
        self.prompt_ids = prompt_ids
        self.prompt = ""
        self.count = 0

    def line(self, kind: str, **more: Any) -> None:
        """One line."""
        self.count += 1
        stamp = f"2026-03-01T10:{self.count // 60:02d}:{self.count % 60:02d}.000Z"
        given = {"parentUuid": None, "isSidechain": False, "type": kind, "uuid": f"u{self.count}", "timestamp": stamp}
        self.lines.append(json.dumps({**given, **more}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")

    def ask(self, content: Any, **more: Any) -> None:
        """A line of the user role; a plain text begins a turn."""
        if isinstance(content, str) and not more:
            self.prompt = f"prompt-{self.count}"
        own = {"promptId": self.prompt} if self.prompt_ids else {}
        self.line("user", message={"role": "user", "content": content}, **own, **more)

    def say(self, *blocks: Any, stop: str | None = None) -> None:
        """The lines of one message, one per block."""
        message = f"m{self.count}"
        for block in blocks:
            content = [{"type": "text", "text": block} if isinstance(block, str) else block]
            body = {"id": message, "role": "assistant", "model": "m", "content": content, "stop_reason": stop}
            usage = {"input_tokens": 10, "cache_read_input_tokens": 400 * self.count, "output_tokens": 20}
            self.line("assistant", message={**body, "usage": usage})

    def calls(self, *made: tuple[str, str, dict[str, Any]]) -> None:
        """Parallel calls: (id, tool, input)."""
        self.say(*({"type": "tool_use", "id": i, "name": n, "input": g} for i, n, g in made), stop="tool_use")

    def results(self, *given: tuple[str, Any, bool]) -> None:
        """Results, a line each: (id, content, error)."""
        for call, content, error in given:
            block = {"type": "tool_result", "tool_use_id": call, "content": content, "is_error": error}
            self.ask([block], toolUseResult={"type": "text"})


def write(file: Path, *, prompt_ids: bool) -> Path:
    """The session in a file, its sub-agent beside it."""
    w = Writer(prompt_ids=prompt_ids)
    w.line("file-history-snapshot", snapshot={})
    w.ask("Please fix the failing tests. We must not change the public API.")
    w.say("Let me look.")
    w.calls(
        ("c1", "Bash", {"command": "pytest -q"}),
        ("c2", "Read", {"file_path": "a.py"}),
        ("c3", "Grep", {"pattern": "x"}),
    )
    w.results(
        ("c3", [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], False),
        ("c1", "Exit code 1\n2 failed", True),
    )
    w.results(("c2", "1\tdef f():\n2\t    pass\u2028 odd \u0085 ends", False))
    w.calls(("c4", "Edit", {"file_path": "a.py", "old_string": "pass", "new_string": "return 1"}))
    w.results(("c4", "The file a.py has been updated.", False))
    w.calls(("c5", "Bash", {"command": "pytest -q"}))
    w.results(("c5", "12 passed", False))
    w.say("All tests pass now. I decided to keep the signature of `f`.", stop="end_turn")
    w.line("system", subtype="stop_hook_summary")
    w.ask("サーバーを再起動して。ポート8080は使用不可。")
    w.calls(("c6", "Bash", {"command": "npm start"}))
    w.results(("c6", "Exit code 143\ntimed out\0 \U0001f600", True))
    w.say("再起動は失敗しました。起動に4秒必要です。", stop="end_turn")
    w.ask("Try the other way")
    w.calls(("c7", "Write", {"file_path": "b", "content": "x" * 70_000}), ("c8", "Bash", {"command": "rm -rf /"}))
    w.results(("c7", "y" * 70_000 + "é", False), ("c8", "The user doesn't want to proceed with this tool use.", True))
    w.ask([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    w.ask("Then only look at it")
    w.calls(("c11", "Edit", {"file_path": "b"}), ("c12", "Edit", {"file_path": "c"}))
    refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was an edit). "
    refused += "To tell you how to proceed, the user said:\nnot these files, never touch them"
    w.results(("c11", refused, True))
    w.results(("c12", refused, True))
    w.calls(("c13", "AskUserQuestion", {"questions": [{"question": "Which one?", "options": []}]}))
    w.results(("c13", 'Your questions have been answered: "Which one?"="The first". You can now continue', False))
    w.calls(("c9", "Agent", {"prompt": "look"}))
    w.results(("c9", "Async agent launched", False))
    meta = {"trigger": "auto", "preTokens": 9_000, "postTokens": 900}
    w.line("system", subtype="compact_boundary", compactMetadata=meta)
    w.ask("This session is being continued.", isCompactSummary=True)
    w.calls(("c10", "Bash", {"command": "never finished"}))
    w.say("The agent looks at it. There is still an open problem with the cache.", stop="end_turn")
    w.ask("<task-notification>\n<task-id>1</task-id>", isMeta=False)
    w.say("The agent is back.", stop="end_turn")
    w.lines.insert(9, b'{"type":"user","message":{"role":"user","content":[{"type":"tool_res\n')
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(w.lines))
    inner = Writer(prompt_ids=False)
    inner.ask("look", isSidechain=True)
    inner.calls(("s1", "Glob", {"pattern": "*"}))
    inner.results(("s1", "a.py", False))
    inner.say("It is in a.py.", stop="end_turn")
    folder = file.parent / "subagents"
    folder.mkdir(exist_ok=True)
    (folder / "agent-own1.jsonl").write_bytes(b"".join(inner.lines))
    return file
