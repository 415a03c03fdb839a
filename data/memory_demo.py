"""The demo memory: what the hooks make of two short made-up sessions, told in the text under ``data/memory``.

Idea: a story is played as the client would play it: its lines go into a transcript, and for each event the hook runs as
a process of its own. So the demo shows what the hooks really store, a compaction whose block got lost included. A
session headed ``imported`` only becomes a transcript and is brought in as ``lcm-lab memory import`` does.

Invariants, checked by ``tests/memory/test_demo_memory.py``: the same story gives the same turns, judgments and details;
a folder either holds a whole demo or none. The hooks stamp rows with the clock, so those stamps are set to the story's.
"""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from lcm_lab.errors import LcmLabError

FILE: Final = "throughline.db"
_HERE: Final = Path(__file__).parent
_TEXT: Final = _HERE / "memory"
_HOOKS: Final = _HERE.parent / "hooks"
_STAMP: Final = ".lcm-lab-demo"
_STAMPED: Final = (
    ("injection_log", "injected_at"),
    ("sessions", "started_at"),
    ("sessions", "last_active"),
    ("turns", "ended_at"),
    ("skeletons", "created_at"),
    ("judgments", "created_at"),
    ("judgments", "resolved_at"),
    ("details", "created_at"),
    ("hook_runs", "last_at"),
)
_TOOLS: Final = {"$": "Bash", "@": ""}


def build(folder: Path) -> Path:
    """Make the demo in ``folder`` unless a finished one of the same story lies there; the path of its database.

    Raises:
        LcmLabError: a hook failed.
    """
    final, version = folder.resolve(), content_version()
    stamp = final / _STAMP
    if stamp.is_file() and stamp.read_text("utf-8").strip() == version and (final / FILE).is_file():
        return final / FILE
    final.parent.mkdir(parents=True, exist_ok=True)
    making = final.with_name(f".{final.name}.making-{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(mode=0o700)
        for text in sorted(_TEXT.glob("*.txt")):
            _Player(making, final, *_read(text)).play()
        with closing(sqlite3.connect(making / FILE)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (making / _STAMP).write_text(version + "\n", encoding="utf-8")
        shutil.rmtree(final, ignore_errors=True)
        making.rename(final)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return final / FILE


@lru_cache(maxsize=1)
def content_version() -> str:
    """A hash of the stories, of this module and of the hooks."""
    digest = sha256()
    for file in sorted([*_TEXT.glob("*.txt"), Path(__file__), *_HOOKS.glob("*.py")]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The head of a story, and its steps as (mark, text)."""
    head_text, _, body = path.read_text("utf-8").partition("\n\n")
    head: dict[str, str] = {}
    for line in head_text.splitlines():
        name, _, value = line.partition(" ")
        head[name] = value
    steps: list[tuple[str, str]] = []
    for line in body.splitlines():
        mark, _, text = line.partition(" ")
        if mark == "|*":  # a long output: how many lines, and what each is, {n} being its number
            times, _, each = text.partition(" ")
            mark, text = "|", "\n".join(each.replace("{n}", f"{n:04d}") for n in range(1, int(times) + 1))
        if mark == "|" and steps and steps[-1][0] == "|":
            steps[-1] = ("|", f"{steps[-1][1]}\n{text}")
        elif mark:
            steps.append((mark, text))
    return head, steps


@dataclass(slots=True)
class _Player:
    """One session on its way into the memory in ``home``; what is stored names ``final``, where it will lie."""

    home: Path
    final: Path
    head: dict[str, str]
    steps: list[tuple[str, str]]
    at: datetime = field(default_factory=lambda: datetime(2026, 1, 1))  # noqa: DTZ001
    count: int = 0
    tokens: int = 21_000
    prompt: str = ""
    call: str = ""
    transcript: Path = Path()
    began: str = ""
    clock: sqlite3.Connection | None = None

    def play(self) -> None:
        """Play all steps."""
        self.at = datetime.fromisoformat(self.head["start"])
        self.transcript = self.home / "transcripts" / f"{self.head['session']}.jsonl"
        self.transcript.parent.mkdir(exist_ok=True)
        self.began = datetime.now(UTC).strftime("%Y-%m-%d")
        for number, (mark, text) in enumerate(self.steps):
            following = self.steps[number + 1][0] if number + 1 < len(self.steps) else ""
            self._step(mark, text, following)
        if "imported" in self.head:
            from lcm_lab.memory import keeping

            keeping.import_files(self.home / FILE, [self.transcript])
        self._set_clock()
        self._move()
        if self.clock is not None:
            self.clock.close()

    def _step(self, mark: str, text: str, following: str) -> None:
        self.at += timedelta(seconds=20 if mark in "$@|:" else 140)
        if mark == ">":
            self._ask(text)
        elif mark in _TOOLS:
            self._call(_TOOLS[mark], text)
            if following != "|":
                self._result("")
        elif mark == "|":
            self._result(text)
        elif mark in ":<":
            self._say({"type": "text", "text": text}, stop="end_turn" if mark == "<" else None)
            if mark == "<":
                self._hook("turn_processor", "Stop", last_assistant_message=text, stop_hook_active=False)
        elif mark == "?":
            self._look_up(text)
        elif text.startswith("compact"):
            self._compact(*text.split()[1:])
        else:
            self._hook("turn_processor", "SessionEnd", reason="other")

    def _ask(self, text: str) -> None:
        self.prompt = f"prompt-{self.count + 1}"
        said = self._hook("prompt_submit", "UserPromptSubmit", prompt=text, prompt_id=self.prompt)
        self._line("user", promptId=self.prompt, message={"role": "user", "content": text})
        self._given("UserPromptSubmit", said)

    def _call(self, tool: str, text: str) -> None:
        name, given = (tool, {"command": text}) if tool else (text.split(" ", 1)[0], json.loads(text.split(" ", 1)[1]))
        self.call = f"toolu_demo_{self.count + 1:04d}"
        self._say({"type": "tool_use", "id": self.call, "name": name, "input": given}, stop="tool_use")

    def _result(self, text: str) -> None:
        block = {"type": "tool_result", "tool_use_id": self.call, "content": text, "is_error": text.startswith("Exit")}
        call = json.loads(self.transcript.read_bytes().splitlines()[-1])["message"]["content"][0]
        self._line("user", promptId=self.prompt, message={"role": "user", "content": [block]})
        shown = {
            "tool_name": call["name"],
            "tool_input": call["input"],
            "tool_use_id": self.call,
            "tool_response": text,
        }
        self._given("PostToolBatch", self._hook("detail_capture", "PostToolBatch", tool_calls=[shown]))

    def _compact(self, trigger: str, fate: str = "") -> None:
        self._hook("pre_compact", "PreCompact", trigger=trigger, custom_instructions=None)
        parts = [self._hook("session_start", "SessionStart", "--part", part, source="compact") for part in "1234"]
        before, self.tokens = self.tokens, 9_000
        sizes = {"trigger": trigger, "preTokens": before, "postTokens": self.tokens}
        self._line("system", subtype="compact_boundary", compactMetadata=sizes)
        self._line("user", isCompactSummary=True, message={"role": "user", "content": "The session goes on."})
        for said in parts if not fate else []:
            self._given("SessionStart", said)
        self._hook("post_compact", "PostCompact", trigger=trigger, compact_summary="The session goes on. " * 60)

    def _given(self, event: str, said: str) -> None:
        """A hook's text in the transcript, as the client notes what it put before the model."""
        if said.startswith("{"):
            text = json.loads(said)["hookSpecificOutput"]["additionalContext"]
            note = {"type": "hook_additional_context", "content": [text], "hookEvent": event}
            self._line("attachment", attachment=note)

    def _say(self, block: dict[str, Any], *, stop: str | None) -> None:
        usage = {"input_tokens": 12, "cache_read_input_tokens": self.tokens, "output_tokens": 90}
        body = {"id": f"msg_{self.count}", "role": "assistant", "model": self.head["model"], "content": [block]}
        self._line("assistant", message={**body, "stop_reason": stop, "usage": usage})

    def _line(self, kind: str, **more: Any) -> None:
        self.count += 1
        stamp = self.at.strftime("%Y-%m-%dT%H:%M:%S.000Z")
        common: dict[str, Any] = {
            "type": kind,
            "uuid": f"{self.head['session'][:8]}-{self.count:04d}",
            "timestamp": stamp,
        }
        common |= {"sessionId": self.head["session"], "cwd": self.head["project"], "isSidechain": False}
        line = json.dumps({**common, **more}, separators=(",", ":"), ensure_ascii=False)
        # What the API would report grows with what is said.
        self.tokens += len(json.dumps(more.get("message", {}).get("content", ""), ensure_ascii=False)) * 2 // 7
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def _look_up(self, text: str) -> None:
        self._run("lookup", *text.split(), "--session", self.head["session"])
        self._set_clock()

    def _hook(self, module: str, event: str, *arguments: str, **more: Any) -> str:
        if "imported" in self.head:
            return ""
        common = {"session_id": self.head["session"], "transcript_path": str(self.transcript)}
        payload = {**common, "cwd": self.head["project"], "hook_event_name": event, **more}
        said = self._run(module, *arguments, given=json.dumps(payload))
        self._set_clock()
        return said

    def _run(self, module: str, *arguments: str, given: str = "") -> str:
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "TEMP", "TMPDIR") if name in os.environ}
        done = subprocess.run(  # noqa: S603  (our own hooks)
            [sys.executable, "-S", "-E", str(_HOOKS / f"{module}.py"), *arguments],
            input=given.encode(),
            capture_output=True,
            check=False,
            env={**kept, "HOME": str(self.home), "THROUGHLINE_HOME": str(self.home)},
        )
        if (self.home / "hooks.log").exists():
            raise LcmLabError(
                f"The demo memory could not be made: {(self.home / 'hooks.log').read_text('utf-8')[:300]}"
            )
        return done.stdout.decode("utf-8")

    def _set_clock(self) -> None:
        """What the hooks stamped today becomes the time of the story."""
        at = self.at.strftime("%Y-%m-%d %H:%M:%S")
        if self.clock is None:  # open to the end, so that no hook is the last to close and has to merge the log
            self.clock = sqlite3.connect(self.home / FILE)
            self.clock.execute("PRAGMA synchronous=OFF")
        with self.clock:
            for table, column in _STAMPED:
                self.clock.execute(f"UPDATE {table} SET {column} = ? WHERE {column} >= ?", (at, self.began))

    def _move(self) -> None:
        """The rows name the transcript where it will lie."""
        path = self.final / self.transcript.relative_to(self.home)
        with closing(sqlite3.connect(self.home / FILE)) as connection, connection:
            sql = "UPDATE sessions SET transcript_path = ? WHERE session_id = ?"
            connection.execute(sql, (str(path), self.head["session"]))


def stories() -> Iterator[str]:
    """The sessions of the demo, in the order they are played."""
    for text in sorted(_TEXT.glob("*.txt")):
        yield _read(text)[0]["session"]
