"""Every shape of stdin against every hook, in processes of their own: exit code 0, nothing or one document, in time."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
PYTHON = getattr(sys, "_base_executable", sys.executable)
NAMES = ["detail_capture", "turn_processor", "pre_compact", "session_start", "prompt_submit", "post_compact"]
CALL = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "toolu_1", "tool_response": "out"}
FULL: dict[str, Any] = {
    "session_id": "abc",
    "transcript_path": "/nowhere/abc.jsonl",
    "cwd": "/project",
    "prompt_id": "p1",
    "permission_mode": "default",
    "prompt": "do it",
    "source": "compact",
    "trigger": "auto",
    "custom_instructions": None,
    "compact_summary": "short",
    "stop_hook_active": False,
    "last_assistant_message": "done",
    "tool_calls": [CALL],
    **CALL,
}
EVENT = {
    "detail_capture": "PostToolBatch",
    "turn_processor": "Stop",
    "pre_compact": "PreCompact",
    "session_start": "SessionStart",
    "prompt_submit": "UserPromptSubmit",
    "post_compact": "PostCompact",
}


def run(
    name: str, given: bytes, home: Path, *arguments: str, environ: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """One hook as the client starts it."""
    command = [PYTHON, "-S", "-E", str(HOOKS / f"{name}.py"), *arguments]
    everything = {"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(home), **(environ or {})}
    return subprocess.run(command, check=False, input=given, env=everything, capture_output=True, timeout=60)


def fine(name: str, done: subprocess.CompletedProcess[bytes]) -> Any:
    """The document that a hook printed, None for nothing; the rules for all of them."""
    assert done.returncode == 0, done.stderr
    assert done.stderr == b"", done.stderr
    if not done.stdout:
        return None
    if name == "pre_compact":
        assert not done.stdout.lstrip().startswith(b"{")
        return done.stdout.decode()
    document = json.loads(done.stdout)
    assert set(document) <= {"hookSpecificOutput", "systemMessage"}
    if "hookSpecificOutput" in document:
        assert set(document["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    return document


def shaped(name: str, **more: Any) -> bytes:
    """A full event for this hook with some fields replaced."""
    return json.dumps({**FULL, "hook_event_name": EVENT[name], **more}).encode() + b"\n"


RAW = {
    "nothing": b"",
    "spaces": b" \n\n ",
    "broken": b'{"session_id":"a"',
    "list": b"[]",
    "null": b"null",
    "number": b"17",
    "text": b'"hello"',
    "two documents": b'{"session_id":"a"}\n{"session_id":"b"}',
    "empty object": b"{}",
    "only a session": b'{"session_id":"abc"}',
    "byte order mark": b"\xef\xbb\xbf" + json.dumps(FULL).encode(),
    "no line end": json.dumps(FULL).encode(),
    "many lines": json.dumps(FULL, indent=1).encode(),
    "not utf-8": b'{"session_id":"abc","prompt":"\x82\xa0\x82\xa2 \xff","cwd":"/\xe9"}',
    "deep": b'{"session_id":"abc","tool_input":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "nul bytes": b"\0\0\0{}",
    "binary": bytes(range(256)) * 40,
}
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {},
    "unknown fields": {"effort": {"level": "high"}, "brand_new": [1, {"a": None}]},
    "lone surrogates": {
        "prompt": "a\ud800b",
        "last_assistant_message": "\udfff",
        "cwd": "/\ud83d",
        "compact_summary": "\ud800",
        "tool_calls": [{**CALL, "tool_response": "x\ud800y", "tool_input": {"command": "\udc00"}}],
    },
    "nul": {"prompt": "a\0b", "last_assistant_message": "a\0", "tool_calls": [{**CALL, "tool_response": "x\0y"}]},
    "line separators": {"prompt": "a\u2028b\u0085c\u2029", "last_assistant_message": "\u2028"},
    "wrong types": {
        "transcript_path": 5,
        "cwd": None,
        "prompt_id": [],
        "prompt": {"a": 1},
        "source": 3,
        "trigger": [],
        "last_assistant_message": 7,
        "tool_calls": "x",
        "stop_hook_active": "yes",
        "compact_summary": None,
    },
    "session is a number": {"session_id": 12},
    "session is empty": {"session_id": ""},
    "session with odd letters": {"session_id": "../../x'; DROP TABLE sessions; --"},
    "calls of all kinds": {
        "tool_calls": [
            None,
            3,
            {},
            {"tool_name": "X"},
            {**CALL, "tool_input": None},
            {**CALL, "tool_use_id": None},
            {**CALL, "tool_use_id": 5, "tool_response": [{"type": "image"}]},
        ]
    },
    "no calls": {"tool_calls": []},
    "transcript is a folder": {"transcript_path": "/"},
    "transcript cannot be named": {"transcript_path": "/a\0b"},
    "inside a sub-agent": {"agent_id": "a1", "agent_type": "Explore", "transcript_path": "/x/subagents/agent-a1.jsonl"},
    "stop again": {"stop_hook_active": True},
    **{f"start {source}": {"source": source} for source in ("startup", "resume", "clear", "fork", "new one")},
    **{
        f"event {name}": {"hook_event_name": name}
        for name in (
            "PostToolUse",
            "PostToolUseFailure",
            "SubagentStop",
            "StopFailure",
            "SessionEnd",
            "UserPromptExpansion",
            "Nonsense",
        )
    },
    "failure": {"hook_event_name": "PostToolUseFailure", "error": "Exit code 3\nno such file", "is_interrupt": False},
    "failure without text": {"hook_event_name": "PostToolUseFailure", "error": None},
    "raw bash result": {
        "hook_event_name": "PostToolUse",
        "tool_response": {"stdout": "a", "stderr": "b", "interrupted": False},
    },
    "compaction seen as sub-agent": {"hook_event_name": "SubagentStop", "agent_id": "a1", "agent_type": ""},
    "sub-agent ends": {
        "hook_event_name": "SubagentStop",
        "agent_id": "a1",
        "agent_type": "Explore",
        "agent_transcript_path": "/nowhere/agent-a1.jsonl",
    },
    "task notification": {"prompt": "<task-notification>\n<task-id>1</task-id>"},
    "slash command": {"prompt": "/sc-detail 5; echo X"},
    "typed look-up": {
        "hook_event_name": "UserPromptExpansion",
        "command_name": "sc-detail",
        "command_args": "5; touch /tmp/no",
    },
    "typed search": {
        "hook_event_name": "UserPromptExpansion",
        "command_name": "p:sc-search",
        "command_args": "'\" OR 1=1 \\ $(id) *",
    },
    "typed resolve": {"hook_event_name": "UserPromptExpansion", "command_name": "/sc-resolve", "command_args": "#1 x"},
    "foreign command": {"hook_event_name": "UserPromptExpansion", "command_name": "review", "command_args": None},
}


@pytest.mark.parametrize("name", NAMES)
def test_every_raw_shape(name: str, tmp_path: Path) -> None:
    """Anything that is no event leaves no trace but a line in the log."""
    for what, given in RAW.items():
        assert fine(name, run(name, given, tmp_path)) is None or what in {
            "byte order mark",
            "no line end",
            "many lines",
        }, what


@pytest.mark.parametrize("name", NAMES)
def test_every_event_shape(name: str, tmp_path: Path) -> None:
    """Events with odd, missing and hostile fields, one after the other into the same memory."""
    for what, more in SHAPES.items():
        done = run(name, shaped(name, **more), tmp_path, *(["--part", "1"] if name == "session_start" else []))
        try:
            fine(name, done)
        except AssertionError as error:
            raise AssertionError(f"{name}: {what}: {error}") from error
    log = tmp_path / "hooks.log"
    assert not log.exists() or "Traceback" not in log.read_text(), log.read_text()


@pytest.mark.parametrize("name", NAMES)
def test_a_payload_of_20_megabytes(name: str, tmp_path: Path) -> None:
    """Handled, and the tool output kept whole."""
    big = "word " * (4 << 20)
    calls = [{**CALL, "tool_response": big}]
    start = time.monotonic()
    fine(
        name,
        run(
            name, shaped(name, tool_calls=calls, prompt=big, last_assistant_message=big, compact_summary=big), tmp_path
        ),
    )
    assert time.monotonic() - start < 20
    if name == "detail_capture":
        con = sqlite3.connect(tmp_path / "throughline.db")
        assert con.execute("SELECT output_size FROM details").fetchall() == [(len(big),)]
        con.close()


def test_a_stdin_that_nobody_closes(tmp_path: Path) -> None:
    """What came is handled after a few seconds."""
    environ = {"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(tmp_path)}
    started = [
        subprocess.Popen(
            [PYTHON, "-S", "-E", str(HOOKS / f"{name}.py")],
            env=environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for name in NAMES
    ]
    for name, process in zip(NAMES, started, strict=True):
        assert process.stdin
        process.stdin.write(shaped(name))
        process.stdin.flush()
    for name, process in zip(NAMES, started, strict=True):
        assert process.wait(timeout=30) == 0
        assert process.stdin
        assert process.stdout
        assert process.stderr
        done = subprocess.CompletedProcess([], 0, process.stdout.read(), process.stderr.read())
        fine(name, done)
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


@pytest.mark.parametrize("switch", ["THROUGHLINE_OFF", "CLAUDE_CODE_SAFE_MODE"])
def test_our_own_model_calls_leave_nothing(switch: str, tmp_path: Path) -> None:
    """With the switch set no hook does anything."""
    for name in NAMES:
        assert fine(name, run(name, shaped(name), tmp_path, environ={switch: "1"})) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", ["garbage", "newer", "folder", "config", "readonly"])
def test_a_memory_that_cannot_be_used(damage: str, tmp_path: Path) -> None:
    """The host notices nothing, the log says what is wrong, captured calls are kept aside."""
    file = tmp_path / "throughline.db"
    if damage == "garbage":
        file.write_bytes(b"this is no database " * 500)
    elif damage == "newer":
        con = sqlite3.connect(file)
        con.execute("PRAGMA user_version=99")
        con.close()
    elif damage == "folder":
        file.mkdir()
    elif damage == "config":
        (tmp_path / "config.json").write_text("{broken")
    for name in NAMES:
        home = tmp_path if damage != "readonly" else Path("/proc/nowhere")
        fine(name, run(name, shaped(name), home))
    if damage in {"garbage", "newer", "folder"}:
        assert len(list((tmp_path / "spool").glob("*.json"))) == 1
        assert (tmp_path / "hooks.log").read_text().strip()


def test_files_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    """Folder, database, side files, log and spool."""
    home = tmp_path / "memory"
    run("prompt_submit", shaped("prompt_submit"), home)
    run("detail_capture", b"{}", home)
    con = sqlite3.connect(home / "throughline.db")
    con.execute("BEGIN IMMEDIATE")
    run("detail_capture", shaped("detail_capture"), home)
    con.execute("ROLLBACK")
    con.close()
    assert home.stat().st_mode & 0o777 == 0o700
    files = [path for path in home.rglob("*") if path.is_file()]
    assert len(files) >= 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_the_environment_is_never_stored(tmp_path: Path) -> None:
    """Secrets in the environment of the hook are in no file of ours."""
    for name in NAMES:
        run(name, shaped(name), tmp_path, environ={"ANTHROPIC_API_KEY": "sk-ant-very-secret-value"})
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or b"very-secret-value" not in path.read_bytes()
