"""Made-up transcripts whose sizes are known: the shape of the client's, words of our own, usage as the API has it."""

import json
import random
from pathlib import Path
from typing import Any

BASE = 20_000
"""Tokens of system prompt and tools in the first request: they are in no transcript."""


class Made:
    """A transcript in the making. Each answer is one request; its usage is reckoned from what stands in it."""

    def __init__(self, *, model: str = "claude-sonnet-4-5", factor: float = 1.5, seconds: int = 30) -> None:
        self.lines: list[dict[str, Any]] = []
        self.model = model
        self.factor = factor
        self.seconds = seconds
        self.time = 0
        self.prompt = BASE
        self.cached = 0
        self.waiting = 0.0
        self._number = 0

    def user(self, text: str, **flags: Any) -> "Made":
        """A request of the user."""
        self._line("user", {"role": "user", "content": text}, **flags)
        self.waiting += len(text) / 4 * self.factor
        return self

    def answer(self, text: str = "", *calls: tuple[str, dict[str, Any], str], thinking: str = "") -> "Made":
        """One answer of the model with its calls (tool, input, result), a line for each block."""
        self._number += 1
        number = self._number
        before = self.prompt if number > 1 else 0
        self.prompt += round(self.waiting)
        usage = {
            "input_tokens": 0,
            "cache_read_input_tokens": before,
            "cache_creation_input_tokens": self.prompt - before,
            "cache_creation": {"ephemeral_5m_input_tokens": self.prompt - before, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 1,
        }
        self.waiting = 0.0
        blocks: list[dict[str, Any]] = []
        if thinking:
            blocks.append({"type": "thinking", "thinking": thinking, "signature": "s" * len(thinking) * 2})
        if text:
            blocks.append({"type": "text", "text": text})
        for i, (tool, given, _) in enumerate(calls):
            blocks.append({"type": "tool_use", "id": f"call_{number}_{i}", "name": tool, "input": given})
        for block in blocks:
            message = {"id": f"msg_{number}", "role": "assistant", "model": self.model, "content": [block]}
            self._line("assistant", {**message, "usage": usage, "stop_reason": None})
            words = block.get("text") or block.get("thinking") or json.dumps(block.get("input"), ensure_ascii=False)
            self.waiting += len(words) / 4 * self.factor
        for i, (_, _, result) in enumerate(calls):
            content = [{"type": "tool_result", "tool_use_id": f"call_{number}_{i}", "content": result}]
            self._line("user", {"role": "user", "content": content}, toolUseResult={"stdout": result * 2})
            self.waiting += len(result) / 4 * self.factor
        return self

    def compaction(self, summary: str, *, after: int) -> "Made":
        """The client compacts; ``after`` is the size of what it keeps beside the summary, system prompt included."""
        meta = {"trigger": "auto", "preTokens": self.prompt + round(self.waiting)}
        self.lines.append(
            {
                "type": "system",
                "subtype": "compact_boundary",
                "uuid": f"b{len(self.lines)}",
                "parentUuid": None,
                "timestamp": self._stamp(),
                "compactMetadata": meta,
            }
        )
        self.prompt, self.waiting = after, len(summary) / 4 * self.factor
        self._line("user", {"role": "user", "content": summary}, isCompactSummary=True)
        return self

    def wait(self, seconds: int) -> "Made":
        """The user is away."""
        self.time += seconds
        return self

    def write(self, path: Path) -> Path:
        """Write it down."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in self.lines), "utf-8")
        return path

    def _line(self, kind: str, message: dict[str, Any], **more: Any) -> None:
        last = self.lines[-1]["uuid"] if self.lines else None
        self.time += self.seconds
        made = {"type": kind, "uuid": f"u{len(self.lines)}", "parentUuid": last, "timestamp": self._stamp()}
        self.lines.append({**made, "version": "2.1.30", "sessionId": "made", "message": message, **more})

    def _stamp(self) -> str:
        hours, rest = divmod(self.time, 3600)
        return f"2026-03-0{1 + hours // 24}T{hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d}.000Z"


WORDS = (
    *("server", "port", "cache", "token", "parser", "handler", "request", "value"),
    *("error", "test", "config", "client", "branch", "commit", "build", "index"),
)


def coding(seed: int, *, turns: int = 8, calls: int = 6, size: int = 3_000) -> Made:
    """A session of a programmer: each turn reads files, runs commands, edits, and comes back to earlier names."""
    dice = random.Random(seed)  # noqa: S311  (no secret)
    made = Made(seconds=20)
    names = [f"{dice.choice(WORDS)}_{dice.choice(WORDS)}_{i}" for i in range(40)]
    for turn in range(turns):
        name = dice.choice(names)
        made.user(f"Please change {name} in src/{name}.py so that the {dice.choice(WORDS)} is right.")
        for _ in range(calls):
            used = dice.choice(names)
            body = "\n".join(
                f"{i}: {dice.choice(names)} = {dice.choice(WORDS)}({dice.randrange(10_000)})" for i in range(size // 40)
            )
            tool, given = ("Read", {"file_path": f"/p/src/{used}.py"})
            if dice.random() < 0.4:
                tool, given = ("Bash", {"command": f"pytest tests/test_{used}.py -k {dice.choice(WORDS)}"})
            elif dice.random() < 0.2:
                tool, given = ("Edit", {"file_path": f"/p/src/{used}.py", "old_string": used, "new_string": name})
                body = "The file has been updated."
            made.answer(f"I look at {used} next.", (tool, given, body), thinking=f"The {used} may matter. " * 6)
        made.answer(f"Done: {name} in turn {turn} now follows the {dice.choice(WORDS)}; all tests pass.")
    return made
