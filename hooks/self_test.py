"""Run each registered hook once with a harmless event, in a memory folder that is thrown away afterwards.

Idea: what breaks hooks on somebody's machine (an interpreter that went, a file that is missing, a first line that a
shell profile prints) shows only when the registered command itself runs. So the commands come from the settings file,
or from the folder of this module when nothing is installed, and they play one small session in its real order: a
prompt, a tool call, the end of the turn, a compaction. The real memory, settings and transcripts are not touched.

Invariant: each hook leaves with code 0 and prints nothing or exactly one document, and the block comes in all parts.
Checked by ``tests/hooks/installer/test_self_test.py``.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

try:
    from . import evidence, install, steps
    from .entries import Handler, own_handlers
    from .host import Host, sends_batches
    from .settings_file import InstallRefused, read
except ImportError:  # run as a script
    import evidence  # type: ignore[import-not-found,no-redef]
    import install  # type: ignore[import-not-found,no-redef]
    import steps  # type: ignore[import-not-found,no-redef]
    from entries import Handler, own_handlers  # type: ignore[import-not-found,no-redef]
    from host import Host, sends_batches  # type: ignore[import-not-found,no-redef]
    from settings_file import InstallRefused, read  # type: ignore[import-not-found,no-redef]

SESSION: Final = "5e1f7e57-0000-4000-8000-000000000000"
LIMIT: Final = 60

# The order in which a client would call: StopFailure and SessionEnd last, since they close things.
ORDER: Final = (
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "SubagentStop",
    "Stop",
    "PreCompact",
    "SessionStart",
    "PostCompact",
    "StopFailure",
    "SessionEnd",
)


@dataclass(frozen=True)
class Check:
    """One command that was run: how long it took and what was wrong, if anything."""

    event: str
    script: str
    seconds: float
    problem: str


@dataclass(frozen=True)
class SelfTest:
    """All commands, which settings they came from, and what the hooks wrote to their log."""

    source: str
    checks: tuple[Check, ...]
    log: str
    parts: tuple[int, ...]

    @property
    def passed(self) -> bool:
        """Whether every hook did what it should, and the block came."""
        return not self.log and bool(self.parts) and not any(check.problem for check in self.checks)


def self_test(host: Host) -> SelfTest:
    """Play the small session with what is registered."""
    source, commands = registered(host)
    with tempfile.TemporaryDirectory(prefix="throughline-self-test-") as folder:
        place = Path(folder)
        transcript = place / f"{SESSION}.jsonl"
        transcript.write_text("".join(json.dumps(line) + "\n" for line in _transcript(place)), encoding="utf-8")
        env = _environment(host.env, place)
        checks: list[Check] = []
        parts: list[int] = []
        for event in ORDER:
            for command in (one for one in commands if one.event == event):
                payload = {**_common(place, transcript, event), **_own_fields(event)}
                check, text = _run(command, payload, env, place)
                checks.append(check)
                parts += [int(part) for part, _ in evidence.HEAD.findall(_given(text))]
        logs = [path.read_text("utf-8", "replace") for path in sorted((place / "memory").glob("*.log"))]
    return SelfTest(source, tuple(checks), "".join(logs), tuple(sorted(parts)))


def registered(host: Host) -> tuple[str, tuple[Handler, ...]]:
    """Where the commands come from (the strongest settings file that has any, or this folder), and the commands."""
    for path in host.all_settings():
        try:
            found = own_handlers(read(path).root(), host.hooks)
        except InstallRefused:
            continue
        if found:
            return str(path), tuple(
                Handler(one.event, one.matcher, str(one.entry["command"]), tuple(one.entry["args"]), LIMIT)
                for one in found
            )
    batch = sends_batches(host.client())
    return str(host.source), install.handlers(host.python, host.source, batch=batch, parts=steps.MOST_PARTS)


def _environment(env: Mapping[str, str], place: Path) -> dict[str, str]:
    """The hooks' environment: folders of their own, and nothing of the user's but what a program needs to start."""
    kept = {name: env[name] for name in ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "TEMP") if name in env}
    for name in ("home", "memory"):
        (place / name).mkdir()
    home = str(place / "home")
    return {**kept, "HOME": home, "USERPROFILE": home, "THROUGHLINE_HOME": str(place / "memory"), "CLAUDECODE": "1"}


def _run(command: Handler, payload: Mapping[str, Any], env: Mapping[str, str], place: Path) -> tuple[Check, str]:
    script = os.path.basename(next((arg for arg in command.args if arg.endswith(".py")), command.command))
    started = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - the commands that the installer registered
            [command.command, *command.args],
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=LIMIT,
            check=False,
            env=dict(env),
            cwd=place,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(command.event, script, time.monotonic() - started, f"did not run: {error}"), ""
    text = done.stdout.decode("utf-8", "replace")
    problem = _problem(done.returncode, text, done.stderr.decode("utf-8", "replace"))
    return Check(command.event, script, time.monotonic() - started, problem), text


def _problem(code: int, text: str, errors: str) -> str:
    if code != 0:
        last = errors.strip().splitlines()[-1:] or [""]
        return f"exit code {code}: {last[0]}"
    if text.lstrip().startswith("{"):
        try:
            json.loads(text)
        except ValueError:
            return f"prints something that is not one document: {text[:80]!r}"
    return ""


def _given(text: str) -> str:
    """What a hook's output would put before the model."""
    try:
        return str(json.loads(text)["hookSpecificOutput"]["additionalContext"])
    except (ValueError, KeyError, TypeError):
        return text


def _common(place: Path, transcript: Path, event: str) -> dict[str, Any]:
    return {
        "session_id": SESSION,
        "transcript_path": str(transcript),
        "cwd": str(place),
        "hook_event_name": event,
        "prompt_id": "5e1f7e57-0000-4000-8000-000000000001",
        "permission_mode": "default",
    }


def _own_fields(event: str) -> dict[str, Any]:
    """What an event of this kind carries beside the common fields."""
    tool = {"tool_name": "Bash", "tool_input": {"command": "echo self-test"}, "tool_use_id": "toolu_selftest"}
    said = "The self-test works. Decision: keep it small."
    fields: dict[str, dict[str, Any]] = {
        "UserPromptSubmit": {"prompt": "Run the self-test"},
        "UserPromptExpansion": {
            "expansion_type": "slash_command",
            "command_name": "sc-detail",
            "command_args": "1",
            "prompt": "/sc-detail 1",
        },
        "PostToolUse": {**tool, "tool_response": {"stdout": "self-test", "stderr": "", "interrupted": False}},
        "PostToolUseFailure": {**tool, "tool_use_id": "toolu_selftest2", "error": "Exit code 3\nself-test"},
        "PostToolBatch": {"tool_calls": [{**tool, "tool_response": "self-test"}]},
        "Stop": {"stop_hook_active": False, "last_assistant_message": said},
        "SubagentStop": {"stop_hook_active": False, "agent_id": "", "agent_type": "", "last_assistant_message": said},
        "StopFailure": {"error": "unknown", "last_assistant_message": "API Error"},
        "PreCompact": {"trigger": "manual", "custom_instructions": None},
        "SessionStart": {"source": "compact", "model": "claude-sonnet-4-5"},
        "PostCompact": {"trigger": "manual", "compact_summary": "A summary of the self-test."},
        "SessionEnd": {"reason": "other"},
    }
    return fields[event]


def _transcript(place: Path) -> list[dict[str, Any]]:
    """One finished turn with one tool call, and a second request that is still running."""
    common = {"isSidechain": False, "userType": "external", "cwd": str(place), "sessionId": SESSION, "version": "2.1.0"}
    call = {"type": "tool_use", "id": "toolu_selftest", "name": "Bash", "input": {"command": "echo self-test"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_selftest", "content": "self-test", "is_error": False}
    said = {"type": "text", "text": "The self-test works. Decision: keep it small."}
    usage = {"input_tokens": 20_000, "cache_read_input_tokens": 0, "output_tokens": 20}

    def reply(number: int, block: dict[str, Any], stop: str) -> dict[str, Any]:
        message = {"id": f"msg_{number}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [block]}
        return {"type": "assistant", "message": {**message, "stop_reason": stop, "usage": usage}}

    lines: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "content": "Run the self-test"}},
        reply(1, call, "tool_use"),
        {"type": "user", "message": {"role": "user", "content": [result]}},
        reply(2, said, "end_turn"),
        {"type": "user", "message": {"role": "user", "content": "Run it once more"}},
    ]
    for number, line in enumerate(lines):
        parent = f"uuid-{number - 1}" if number else None
        prompt = f"5e1f7e57-0000-4000-8000-00000000000{1 if number < len(lines) - 1 else 2}"
        stamp = f"2026-01-01T00:00:0{number}.000Z"
        line.update({**common, "uuid": f"uuid-{number}", "parentUuid": parent, "timestamp": stamp, "promptId": prompt})
    return lines
