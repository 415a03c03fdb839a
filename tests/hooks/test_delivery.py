"""The block's way to the model: handed out once, judged by the transcript, replaced once where it did not arrive."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import (
    delivery,
    detail_capture,
    ingest,
    memory_db,
    numbering,
    pre_compact,
    prompt_submit,
    session_start,
    turn_processor,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path

BOUNDARY: dict[str, Any] = {
    "type": "system",
    "subtype": "compact_boundary",
    "compactMetadata": {"trigger": "auto", "preTokens": 9, "postTokens": 3},
}
ANSWER: dict[str, Any] = {"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "x"}]}}


class Stage:
    """A session with one finished turn and a transcript to write to."""

    def __init__(self, con: sqlite3.Connection, file: Path) -> None:
        self.con = con
        self.file = file
        self.common = {"session_id": "s", "cwd": "/p", "transcript_path": str(file), "prompt_id": "p1"}
        self.write(
            {"type": "user", "promptId": "p1", "uuid": "u1", "message": {"role": "user", "content": "first request"}}
        )
        self.prompt("first request")
        self.stop()

    def write(self, *records: dict[str, Any]) -> None:
        """Append lines."""
        with self.file.open("ab") as out:
            for record in records:
                out.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def prompt(self, text: str) -> Any:
        """A prompt; what the hook says."""
        return said(prompt_submit.work({**self.common, "hook_event_name": "UserPromptSubmit", "prompt": text}))

    def tool(self, **more: Any) -> Any:
        """A batch of one call; what the hook says."""
        call = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": f"c{time.time_ns()}", "tool_response": "x"}
        return said(
            detail_capture.work({**self.common, "hook_event_name": "PostToolBatch", "tool_calls": [call], **more})
        )

    def stop(self) -> None:
        """The end of a turn."""
        turn_processor.work({**self.common, "hook_event_name": "Stop", "last_assistant_message": "first answer"})

    def compact(self) -> None:
        """The event before a compaction."""
        pre_compact.work({**self.common, "hook_event_name": "PreCompact", "trigger": "auto"})

    def start(self, part: int = 1, **more: Any) -> Any:
        """One handler of the event after it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["session_start.py", "--part", str(part)])
            event = {**self.common, "hook_event_name": "SessionStart", "source": "compact", **more}
            return said(session_start.work(event))

    def delivered(self) -> list[tuple[Any, ...]]:
        """(event, delivered) of the log."""
        return self.con.execute("SELECT event_type, delivered FROM injection_log ORDER BY id").fetchall()


def said(document: Any) -> str:
    """The context that a hook gives, empty for nothing."""
    return document["hookSpecificOutput"]["additionalContext"] if document else ""


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    """The stage in an empty memory."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path / "memory"))
    con = memory_db.connect()
    yield Stage(con, tmp_path / "t.jsonl")
    con.close()


def test_handed_out_once(stage: Stage) -> None:
    """The second copy of the handler, a part that does not exist and other sources get nothing."""
    stage.compact()
    assert stage.start(3) == ""
    text = stage.start(1)
    assert "first request" in text
    assert stage.start(1) == ""
    for source in ("startup", "resume", "clear", "fork", ""):
        assert stage.start(1, source=source) == ""


def test_in_a_sub_agent_nothing_is_touched(stage: Stage) -> None:
    """Its compaction takes no part and makes none; the main conversation's is still there."""
    stage.compact()
    agent = {"agent_id": "a", "agent_type": "Explore"}
    assert pre_compact.work({**stage.common, **agent, "hook_event_name": "PreCompact"}) is None
    assert stage.start(1, **agent) == ""
    assert stage.con.execute("SELECT count(*) FROM pending").fetchone() == (1,)
    assert stage.start(1)


def test_without_pre_compact_it_is_built_on_the_spot(stage: Stage) -> None:
    """Also when the waiting block is older than the newest turn."""
    assert "first request" in stage.start(1)
    stage.compact()
    with stage.con:
        numbering.announce(stage.con, "s", "p2")
        ingest.put_text(stage.con, "s", 2, "user", 0, "second request", 1.0)
    assert "second request" in stage.start(1)


def test_seen_in_the_transcript(stage: Stage) -> None:
    """A boundary with our text behind it: nothing more is said, the log knows."""
    stage.compact()
    text = stage.start(1)
    stage.write(
        BOUNDARY, {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [text]}}, ANSWER
    )
    assert stage.tool() == ""
    assert ("context_compaction", 1) in stage.delivered()
    assert stage.con.execute("SELECT status, compactions FROM sessions").fetchone() == ("compacted", 1)
    assert stage.prompt("more") == ""


@pytest.mark.parametrize("way", ["tool", "prompt"])
def test_not_seen_in_the_transcript(stage: Stage, way: str) -> None:
    """A boundary without it: part 1 with the next event, once, whoever comes."""
    stage.compact()
    stage.write(BOUNDARY, ANSWER)
    first = stage.tool() if way == "tool" else stage.prompt("next")
    assert first.startswith("[session memory ")
    assert "first request" in first
    assert stage.tool() == ""
    assert stage.prompt("and next") == ""
    assert ("fallback", None) in stage.delivered() or ("fallback", 0) in stage.delivered()


def test_a_boundary_that_is_written_again_is_the_same(stage: Stage) -> None:
    """Some clients copy the line further down: it is counted once and leads to nothing."""
    stage.compact()
    text = stage.start(1)
    boundary = {**BOUNDARY, "uuid": "b1"}
    stage.write(boundary, {"type": "attachment", "attachment": {"type": "hook_success", "stdout": text}}, ANSWER)
    assert stage.tool() == ""
    stage.write(boundary, ANSWER)
    assert stage.tool() == ""
    assert stage.con.execute("SELECT compactions, boundary_offset FROM sessions").fetchone() == (1, None)


def test_a_summary_that_quotes_an_older_block_proves_nothing(stage: Stage) -> None:
    """Only the block's own number counts."""
    stage.compact()
    quoted = {
        "type": "user",
        "isCompactSummary": True,
        "message": {"content": "[session memory 0123abcd, part 1 of 1] old"},
    }
    stage.write(BOUNDARY, quoted, ANSWER)
    assert stage.tool().startswith("[session memory ")


def test_too_early_to_tell(stage: Stage) -> None:
    """Handed out a moment ago, the lines not all written: wait; later it is judged."""
    stage.compact()
    text = stage.start(1)
    stage.write(BOUNDARY)
    assert stage.prompt("at once") == ""
    assert stage.tool() == ""
    stage.write({"type": "attachment", "attachment": {"type": "hook_success", "stdout": text}})
    assert stage.tool() == ""
    assert ("context_compaction", 1) in stage.delivered()


def test_a_pre_compact_without_a_compaction(stage: Stage) -> None:
    """No boundary, so nothing is said, and the next one makes a new block."""
    stage.compact()
    stage.write(ANSWER)
    assert stage.tool() == ""
    stage.compact()
    states = [row[0] for row in stage.con.execute("SELECT status FROM pending ORDER BY created_at")]
    assert states == ["superseded", "pending"]


def test_a_sub_agents_tool_result_is_no_place_for_it(stage: Stage) -> None:
    """The fallback waits for the main conversation."""
    stage.compact()
    stage.write(BOUNDARY, ANSWER)
    assert stage.tool(agent_id="a") == ""
    assert stage.tool() != ""


def test_stop_settles_but_never_speaks(stage: Stage) -> None:
    """What arrived is recorded; what did not is left for an event that can say it."""
    stage.compact()
    stage.write(BOUNDARY, ANSWER)
    stage.stop()
    assert stage.tool() != ""


def test_the_rest_is_fetched_by_look_up(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block of two parts: part 1 comes and names the command for the other."""
    for number in range(400):
        content = f"decision number {number} " + "x" * 20
        stage.con.execute(
            "INSERT INTO judgments(session_id, turn_number, category, content, confidence, content_hash) "
            "VALUES ('s',0,'DECISION',?,0.9,?)",
            (content, str(number)),
        )
    stage.compact()
    stage.write(BOUNDARY, ANSWER)
    text = stage.tool()
    assert "lookup.py memory 2 --session s" in text
    assert len(text) < 10_000


def test_history_before_the_installation_is_not_ours_to_settle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first event in a session with an old boundary says nothing."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path / "memory"))
    file = tmp_path / "old.jsonl"
    file.write_text("\n".join(json.dumps(one, separators=(",", ":")) for one in (BOUNDARY, ANSWER)) + "\n")
    call = {"tool_name": "Bash", "tool_input": {}, "tool_use_id": "c", "tool_response": "x"}
    event = {"session_id": "s", "transcript_path": str(file), "hook_event_name": "PostToolBatch", "tool_calls": [call]}
    assert detail_capture.work(event) is None


def test_marks() -> None:
    """The mark that is looked for is the one that the block begins with."""
    from lcm_lab.hooks import block

    made = block.Material()
    made.running = block.Item(1, "request", "x")
    assert block.lay_out(made, "s", "0" * 8).parts[0].startswith(delivery.MARK)
