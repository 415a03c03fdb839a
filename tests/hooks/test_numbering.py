"""Numbers of turns: from the event, found again by the line, also in forks and with prompts that never came to be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import memory_db, prompt_submit, turn_processor

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path


class Talk:
    """Prompts, answers and the lines that the client writes, in whatever order a test wants."""

    def __init__(self, con: sqlite3.Connection, file: Path) -> None:
        self.con = con
        self.file = file
        self.count = 0

    def event(self, name: str, prompt_id: str | None, **more: Any) -> None:
        """A prompt or a stop."""
        module = prompt_submit if name == "UserPromptSubmit" else turn_processor
        given = {"session_id": "s", "transcript_path": str(self.file), "hook_event_name": name, **more}
        module.work({**given, "prompt_id": prompt_id} if prompt_id else given)

    def user(self, text: str, prompt_id: str | None, uuid: str = "") -> None:
        """The line of a prompt."""
        self.line({"type": "user", "promptId": prompt_id, "uuid": uuid or f"u-{text}", "message": {"content": text}})

    def answer(self, text: str) -> None:
        """The line of an answer."""
        content = [{"type": "text", "text": text}]
        self.line({"type": "assistant", "message": {"id": f"m-{text}", "content": content, "stop_reason": "end_turn"}})

    def line(self, record: dict[str, Any]) -> None:
        """Any line."""
        with self.file.open("a") as out:
            out.write(json.dumps(record, separators=(",", ":")) + "\n")

    def turn(self, text: str, prompt_id: str | None) -> None:
        """A whole turn in the usual order."""
        self.event("UserPromptSubmit", prompt_id, prompt=text)
        self.user(text, prompt_id)
        self.answer(f"answer to {text}")
        self.event("Stop", prompt_id, last_assistant_message=f"answer to {text}")

    def stored(self) -> list[tuple[int, str, str]]:
        """(number, request, last answer) of each turn."""
        return self.con.execute(
            "SELECT t.turn_number, (SELECT input_text FROM details d WHERE d.source_id = 'user:' || t.turn_number), "
            "(SELECT input_text FROM details d WHERE d.kind='assistant' AND d.turn_number = t.turn_number "
            "ORDER BY id DESC LIMIT 1) FROM turns t ORDER BY 1"
        ).fetchall()


@pytest.fixture
def talk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    """An empty session."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path / "memory"))
    con = memory_db.connect()
    yield Talk(con, tmp_path / "t.jsonl")
    con.close()


def expected(*texts: str) -> list[tuple[int, str, str]]:
    """Turns in this order, each with its own answer."""
    return [(number, text, f"answer to {text}") for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize("ids", [("p1", "p2", "p3"), (None, None, None)])
def test_in_the_usual_order(talk: Talk, ids: tuple[str | None, ...]) -> None:
    """With prompt ids and without."""
    for text, prompt_id in zip(("one", "two", "three"), ids, strict=True):
        talk.turn(text, prompt_id)
    assert talk.stored() == expected("one", "two", "three")


@pytest.mark.parametrize("prompt_id", ["p2", None])
def test_a_stop_before_its_lines(talk: Talk, prompt_id: str | None) -> None:
    """Neither prompt nor answer on disk: the answer goes to the turn that runs, and the lines complete it."""
    talk.turn("one", "p1" if prompt_id else None)
    talk.event("UserPromptSubmit", prompt_id, prompt="two")
    talk.event("Stop", prompt_id, last_assistant_message="answer to two")
    assert talk.stored() == expected("one", "two")
    talk.user("two", prompt_id)
    talk.event("Stop", prompt_id)
    assert talk.stored() == expected("one", "two")
    talk.answer("answer to two")
    talk.event("Stop", prompt_id)
    assert talk.stored() == expected("one", "two")
    summaries = talk.con.execute("SELECT count(*) FROM skeletons").fetchone()
    assert summaries == (2,)


def test_a_stop_without_any_transcript(tmp_path: Path, talk: Talk) -> None:
    """What the event says is kept; the file that comes later adds nothing twice."""
    talk.event("Stop", None, last_assistant_message="answer to one")
    assert talk.stored() == [(1, None, "answer to one")]
    talk.user("one", None)
    talk.answer("answer to one")
    talk.event("Stop", None)
    assert talk.stored() == expected("one")


def test_a_fork_whose_history_comes_later(talk: Talk) -> None:
    """The first prompt is announced before the file exists; copied lines carry its id and still come first."""
    talk.event("UserPromptSubmit", "new", prompt="after")
    talk.user("before", "new", "copied-1")
    talk.answer("answer to before")
    talk.user("after", "new", "fresh")
    talk.answer("answer to after")
    talk.event("Stop", "new", last_assistant_message="answer to after")
    assert talk.stored() == expected("before", "after")
    talk.turn("last", "p3")
    assert talk.stored() == expected("before", "after", "last")


def test_a_prompt_that_was_taken_back(talk: Talk) -> None:
    """Blocked by another hook, it never gets a line: the next turn removes it."""
    talk.turn("one", "p1")
    talk.event("UserPromptSubmit", "p2", prompt="blocked")
    talk.turn("three", "p3")
    assert [(request, answer) for _, request, answer in talk.stored()] == [
        ("one", "answer to one"),
        ("three", "answer to three"),
    ]


def test_lines_that_a_compaction_writes_again(talk: Talk) -> None:
    """The same prompt under a new uuid is the same turn."""
    talk.turn("one", "p1")
    talk.turn("two", "p2")
    talk.user("two", "p2", "written-again")
    talk.turn("three", "p3")
    talk.user("one", "p1", "and again")
    talk.event("Stop", "p3")
    assert talk.stored() == expected("one", "two", "three")


def test_commands_and_notifications_announce_nothing(talk: Talk) -> None:
    """A slash command gets its number from its line; a task notification gets none."""
    talk.event("UserPromptSubmit", "p1", prompt="/review a")
    talk.event("UserPromptSubmit", "p0", prompt="<task-notification>\n<task-id>x</task-id>")
    assert talk.stored() == []
    text = "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    talk.user(text + "<command-args>a</command-args>", "p1")
    talk.answer("answer to /review a")
    talk.event("Stop", "p1", last_assistant_message="answer to /review a")
    talk.turn("two", "p2")
    assert talk.stored() == expected("/review a", "two")


def test_text_typed_into_a_running_turn(talk: Talk) -> None:
    """Announced like a prompt, with the turn's id or one of its own: it stays with the turn."""
    for prompt_id in ("p1", "other"):
        talk.event("UserPromptSubmit", "p1", prompt="one")
        talk.user("one", "p1")
        talk.event("UserPromptSubmit", prompt_id, prompt="typed")
        talk.line({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "typed"}})
        talk.answer("answer to one")
        talk.event("Stop", "p1", last_assistant_message="answer to one")
        assert talk.stored() == expected("one")
