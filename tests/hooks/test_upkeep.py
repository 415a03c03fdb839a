"""Import and removal, and the message that a compaction is near."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import memory_db, memory_read, notice, turn_processor, upkeep

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """An empty memory; the client's folders are empty, too."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path / "memory"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for name in ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "DISABLE_AUTO_COMPACT"):
        monkeypatch.delenv(name, raising=False)
    made = memory_db.connect()
    yield made
    made.close()


def session(file: Path, *, usage: int = 100, model: str = "claude-sonnet-4-5") -> str:
    """A finished session of two turns with a sub-agent; its path."""
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "make secret-word"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "Exit code 2\nno rule", "is_error": True}
    lines: list[dict[str, Any]] = [
        {
            "type": "user",
            "uuid": "u1",
            "cwd": "/project",
            "timestamp": "2026-01-01T10:00:00.000Z",
            "message": {"content": "One"},
        },
        {"type": "assistant", "uuid": "u2", "message": {"id": "m1", "content": [call], "stop_reason": "tool_use"}},
        {"type": "user", "uuid": "u3", "message": {"content": [result]}},
        {"type": "system", "subtype": "compact_boundary", "uuid": "u4", "compactMetadata": {"trigger": "auto"}},
        {"type": "user", "uuid": "u5", "timestamp": "2026-01-01T11:00:00.000Z", "message": {"content": "Two"}},
        {
            "type": "assistant",
            "uuid": "u6",
            "timestamp": "2026-01-01T11:00:05.000Z",
            "message": {
                "id": "m2",
                "model": model,
                "content": [{"type": "text", "text": "Done."}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": usage, "output_tokens": 0},
            },
        },
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    spelt = [json.dumps(line, separators=(",", ":")) for line in lines]
    file.write_text("\n".join([*spelt[:2], '{broken line with "type":"user"', *spelt[2:]]) + "\n")
    own = file.with_suffix("") / "subagents"
    own.mkdir(parents=True)
    inner = {"type": "tool_use", "id": "c2", "name": "Read", "input": {}}
    line = {
        "type": "assistant",
        "isSidechain": True,
        "timestamp": "2026-01-01T10:00:01.000Z",
        "message": {"id": "a", "content": [inner]},
    }
    (own / "agent-x1.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n")
    return str(file)


def test_import_counts_and_adds_once(con: sqlite3.Connection, tmp_path: Path) -> None:
    """A dry run writes nothing; a second run adds nothing; times and folder come from the file."""
    path = session(tmp_path / "sid.jsonl")
    dry = upkeep.import_file(None, path)
    assert (dry.session_id, dry.turns, dry.calls, dry.agents, dry.compactions, dry.bad_lines) == ("sid", 2, 2, 1, 1, 1)
    assert memory_read.sessions(con) == []
    assert upkeep.import_file(con, path).new_details == 5
    assert upkeep.import_file(con, path).new_details == 0
    (row,) = memory_read.sessions(con)
    assert (row.project_path, row.total_turns, row.status, row.compactions) == ("/project", 2, "closed", 1)
    assert (row.started_at, row.last_active) == ("2026-01-01 10:00:00", "2026-01-01 11:00:05")
    assert [(turn.number, turn.state) for turn in memory_read.turns(con, "sid")] == [
        (1, "interrupted"),
        (2, "complete"),
    ]
    assert con.execute("SELECT turn_number, agent_id FROM details WHERE source_id='c2'").fetchone() == (1, "x1")
    assert con.execute("SELECT count(*) FROM injection_log").fetchone() == (0,)


def test_an_empty_file_is_no_session(con: sqlite3.Connection, tmp_path: Path) -> None:
    """Nothing is stored for it."""
    (tmp_path / "empty.jsonl").write_bytes(b"")
    assert upkeep.import_file(con, str(tmp_path / "empty.jsonl")).turns == 0
    assert memory_read.sessions(con) == []


def test_forgetting_leaves_no_text(con: sqlite3.Connection, tmp_path: Path) -> None:
    """Neither in the tables nor in the bytes of the files; other sessions stay."""
    upkeep.import_file(con, session(tmp_path / "sid.jsonl"))
    memory_db.ensure_session(con, "other", "/p")
    memory_db.put_detail(
        con, {"session_id": "other", "turn": 1, "source_id": "c", "input": "kept words", "output": "x"}
    )
    assert upkeep.forget(con, "sid") == 5
    assert upkeep.forget(con, "sid") == 0
    assert [row.session_id for row in memory_read.sessions(con)] == ["other"]
    assert len(memory_read.search(con, ["kept"], "other")) == 1
    assert memory_read.search(con, ["secret-word"]) == []
    for file in (tmp_path / "memory").iterdir():
        assert b"secret" not in file.read_bytes(), file.name


@pytest.mark.parametrize(
    ("settings", "tokens", "model", "expected"),
    [
        ({}, 190_000, "claude-sonnet-4-5", None),
        ({"autoCompactWindow": 100_000}, 56_000, "claude-sonnet-4-5", None),
        ({"autoCompactWindow": 100_000}, 60_000, "claude-sonnet-4-5", 67_000),
        ({}, 830_000, "claude-opus-5", 967_000),
        ({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "10"}}, 90_000, "claude-opus-5", 98_000),
        ({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "10"}}, 90_000, "claude-sonnet-4-5", None),
        ({"autoCompactWindow": 100_000, "autoCompactEnabled": False}, 66_000, "claude-sonnet-4-5", None),
    ],
)
def test_the_message_comes_once_near_the_threshold(
    con: sqlite3.Connection, tmp_path: Path, settings: dict[str, Any], tokens: int, model: str, expected: int | None
) -> None:
    """With the threshold in it, at the first Stop that is near it, and never again."""
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text(json.dumps(settings))
    path = session(tmp_path / "sid.jsonl", usage=tokens, model=model)
    event = {"session_id": "sid", "transcript_path": path, "cwd": str(tmp_path), "hook_event_name": "Stop"}
    said = turn_processor.work({**event, "last_assistant_message": "Done."})
    assert (said is not None) is (expected is not None)
    if said and expected:
        assert f"{expected:,}" in said["systemMessage"]
        assert f"{tokens:,}" in said["systemMessage"]
        assert "2 turns" in said["systemMessage"]
    assert turn_processor.work(event) is None
    assert notice.message(con, "nobody", "") is None


def test_no_message_when_another_hook_keeps_the_turn_going(con: sqlite3.Connection, tmp_path: Path) -> None:
    """It waits for the real end of a turn."""
    (tmp_path / "claude").mkdir()
    (tmp_path / "claude" / "settings.json").write_text('{"autoCompactWindow": 100000}')
    path = session(tmp_path / "sid.jsonl", usage=66_000)
    event = {"session_id": "sid", "transcript_path": path, "hook_event_name": "Stop"}
    assert turn_processor.work({**event, "stop_hook_active": True}) is None
    assert turn_processor.work(event) is not None
