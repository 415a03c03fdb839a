"""A working day in the real client: all kinds of calls and compactions, look-up, resume, /clear, uninstall."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest
from seen import BASH, MARK, after_compactions, complete, parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from client import Client
    from stand_in import StandIn

OLD = os.environ.get("CC_VER", "2.1.332") in {"2.1.240", "2.1.286"}
MODELS = ["claude-sonnet-4-5", "opus"]
TOOL_IDS = "SELECT count(*), count(DISTINCT source_id) FROM details WHERE kind='tool'"


def every_kind_of_call(client: Client, api: StandIn) -> int:
    """Script one turn with all kinds of calls; how many there are, those of the sub-agent included."""
    file = client.work / "a.txt"
    file.write_text("same line\nsame line\n")
    sub = "x" * 200
    api.push(
        {
            "tools": [
                ("Bash", {"command": "echo one; echo two >&2", "description": "x"}),
                ("Read", {"file_path": str(file)}),
            ]
        },
        {"tools": [("Write", {"file_path": str(client.work / "b.txt"), "content": "new"})]},
        {"tools": [("Bash", {"command": "echo broken; exit 3", "description": "x"})]},
        {"tools": [("Edit", {"file_path": str(file), "old_string": "same", "new_string": "other"})]},
        {"tools": [("NoSuchTool", {"a": 1})]},
        {"tools": [("Read", {"file_path": "/nowhere/at/all"})]},
        {"tools": [("Agent", {"description": "look", "prompt": "look around", "subagent_type": "general-purpose"})]},
        {"text": "Everything was tried."},
        {"when": "subagent", "tools": [("Bash", {"command": f"echo {sub}", "description": "x"})]},
        {"when": "subagent", "text": "The sub-agent is done."},
    )
    return 9


@pytest.mark.parametrize("model", MODELS)
def test_every_kind_of_call_is_stored_once(make: Callable[..., Client], api: StandIn, model: str) -> None:
    """Parallel, failing, rejected and a sub-agent's calls, stored as the model saw them; nothing in the sub-agent."""
    client = make(arguments=("--window", "100000"))
    count = every_kind_of_call(client, api)
    talk = client.talk(["Try everything", "Go on", "/compact", "And then?"], model=model)
    assert client.rows(TOOL_IDS) == [(count, count)]
    sql = "SELECT tool_name, status, exit_code, agent_id IS NOT NULL FROM details WHERE kind='tool'"
    rows = set(client.rows(sql))
    assert ("Bash", "failed", 3, 0) in rows
    assert ("NoSuchTool", "failed", None, 0) in rows
    assert ("Bash", "ok", None, 1) in rows
    sent = {}
    for request in api.requests:
        for message in request.body["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else []:
                if block.get("type") == "tool_result" and isinstance(block["content"], str):
                    sent.setdefault(block["tool_use_id"], block["content"])
    stored = dict(client.rows("SELECT source_id, output_text FROM details WHERE kind='tool'"))
    differing = {call for call, text in stored.items() if call in sent and sent[call] != text}
    # The client adds reminders to a result on some models when it sends it: what the tool gave stands in front.
    assert all(sent[call].startswith(stored[call]) for call in differing), differing
    (first,) = after_compactions(api)
    assert complete(first)
    assert "Try everything" in first.text
    assert "Go on" in first.text
    assert not any(MARK.search(request.text) for request in api.requests if request.kind == "subagent")
    assert [row[0] for row in client.rows("SELECT turn_number FROM turns ORDER BY 1")] == [1, 2, 3]
    assert client.rows("SELECT role, count(*) FROM skeletons GROUP BY role") == [("assistant", 3)]
    assert client.log() == ""
    assert talk.results[-1]["is_error"] is False


@pytest.mark.skipif(OLD, reason="these clients do not say that a compaction is a sub-agent's")
def test_a_sub_agents_own_compaction_gets_nothing(make: Callable[..., Client], api: StandIn) -> None:
    """The sub-agent passes the threshold: no block in its requests, and the main conversation's waits for its own."""
    client = make(arguments=("--window", "100000"))
    agent = {"description": "long", "prompt": "long work", "subagent_type": "general-purpose"}
    api.push({"text": "hello"}, {"tools": [("Agent", agent)]}, {"text": "started"})
    api.push(*({"when": "subagent", "tools": BASH, "usage": tokens} for tokens in (30_000, 60_000, 68_000)))
    api.push({"when": "subagent", "text": "sub done"})
    talk = client.talk(["First", "Start the agent", "Another", "/compact", "Afterwards"])
    own = [request for request in api.requests if request.kind == "compact" and request.agent]
    assert own, "the sub-agent did not compact"
    assert not any(MARK.search(request.text) for request in api.requests if request.kind == "subagent" or request.agent)
    (first,) = after_compactions(api)
    assert complete(first)
    assert talk.results[-1]["is_error"] is False
    assert client.log() == ""


@pytest.mark.parametrize("model", MODELS)
def test_three_compactions_in_a_row(make: Callable[..., Client], api: StandIn, model: str) -> None:
    """Each time a fresh block with every earlier turn, and never two of them."""
    client = make(arguments=("--window", "100000"))
    prompts = []
    for number in range(3):
        prompts += [f"Question {number} a", f"Question {number} b", "/compact"]
    client.talk([*prompts, "The end"], model=model)
    firsts = after_compactions(api)
    assert len(firsts) == 3
    assert all(complete(request) for request in firsts)
    assert len({parts(request)[0][0] for request in firsts}) == 3
    for number, request in enumerate(firsts):
        for earlier in range(number + 1):
            assert f"Question {earlier} a" in request.text
            assert f"Question {earlier} b" in request.text
    delivered = client.rows("SELECT count(*) FROM injection_log WHERE event_type='context_compaction' AND delivered=1")
    assert delivered[0][0] == 3
    assert client.rows("SELECT compactions, status FROM sessions") == [(3, "closed")]


def test_automatic_compaction_before_a_prompt(make: Callable[..., Client], api: StandIn) -> None:
    """The threshold is passed by an answer: the next prompt meets the block, and is named as the running request."""
    client = make(arguments=("--window", "100000"))
    api.push(*({"text": f"answer {tokens}", "usage": tokens} for tokens in (9_000, 9_000, 9_000, 70_000)))
    client.talk(["one", "two", "three", "four", "the fifth request"])
    (first,) = after_compactions(api)
    assert complete(first)
    assert "answer 70000" in first.text
    assert client.rows("SELECT trigger FROM injection_log WHERE event_type='pre_compact'") == [("auto",)]


def test_prompt_too_long(make: Callable[..., Client], api: StandIn) -> None:
    """A 200K model that only compacts because the API refuses gets the block all the same."""
    client = make(installed=False, settings={})
    client.install()
    api.push({"text": "a"}, {"text": "b"}, {"text": "c"})
    api.push(
        {
            "status": 400,
            "error_type": "invalid_request_error",
            "message": "prompt is too long: 205000 tokens > 200000 maximum",
        }
    )
    client.talk(["one", "two", "three", "four"])
    (first,) = after_compactions(api)
    assert complete(first)


def test_clear_starts_an_empty_session(make: Callable[..., Client], api: StandIn) -> None:
    """After /clear nothing of the old session comes back; the old one is closed."""
    client = make(arguments=("--window", "100000"))
    talk = client.talk(["The secret plan is blue", "/clear", "New topic", "Second", "/compact", "Third"])
    old = next(line["session_id"] for line in talk.results)
    assert talk.session != old
    (first,) = after_compactions(api)
    assert complete(first)
    assert "secret plan" not in first.text
    assert client.rows("SELECT status FROM sessions WHERE session_id=?", old) == [("closed",)]
    assert client.rows("SELECT count(*) FROM turns WHERE session_id=?", talk.session) == [(3,)]


def test_sixty_turns(make: Callable[..., Client], api: StandIn) -> None:
    """L1 of every earlier turn is in the block, up to sixty turns."""
    client = make(arguments=("--window", "100000"))
    api.push(*({"text": f"The result of step {number} is value{number}."} for number in range(60)))
    client.talk([*(f"Please do step number {number} of the plan" for number in range(60)), "/compact", "Go on"])
    (first,) = after_compactions(api)
    assert complete(first)
    for number in range(1, 61):
        assert f"\n{number}. " in first.text, number
    assert "folded" not in first.text


def test_without_session_start_the_block_comes_once_by_another_way(make: Callable[..., Client], api: StandIn) -> None:
    """The handler is missing: the first tool result after the boundary brings part 1, and only that one."""
    client = make(arguments=("--window", "100000"))
    settings = json.loads(client.settings.read_text())
    del settings["hooks"]["SessionStart"]
    client.settings.write_text(json.dumps(settings))
    session = client.ask("A first question")["session_id"]
    api.push(*({"tools": BASH, "usage": tokens} for tokens in (30_000, 60_000, 68_000)))
    # The client writes the boundary a tenth of a second late; no real reply comes as fast as the stand-in's.
    slow = [("Bash", {"command": "sleep 0.4", "description": "a step that takes its time"})]
    api.push({"tools": slow}, {"tools": slow}, {"text": "DONE"})
    client.ask("The long task", resume=session)
    assert [k for _, k, _ in parts(api.requests[-1])] == ["1"]
    client.ask("Next", resume=session)
    assert [k for _, k, _ in parts(api.requests[-1])] == ["1"]
    client.ask("/compact", resume=session)
    client.ask("After the second", resume=session)
    assert [k for _, k, _ in parts(api.requests[-1])] == ["1"]
    assert client.rows("SELECT count(*) FROM injection_log WHERE event_type='fallback'") == [(2,)]


FOREIGN: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "true"}]}],
        "SessionStart": [{"matcher": "compact", "hooks": [{"type": "command", "command": "echo foreign text"}]}],
    },
}


def test_uninstalling_leaves_the_settings_as_they_were(make: Callable[..., Client], api: StandIn) -> None:
    """Byte for byte, after a session in between; the foreign hook works all the time."""
    client = make(installed=False, settings=FOREIGN)
    before = client.settings.read_bytes()
    client.install("--window", "100000")
    client.install("--window", "100000")
    client.talk(["one", "two", "/compact", "three"])
    (first,) = after_compactions(api)
    assert complete(first)
    assert "foreign text" in first.text
    client.install(action="uninstall")
    assert client.settings.read_bytes() == before
    seen = client.rows("SELECT count(*) FROM turns")
    client.ask("Afterwards")
    assert client.rows("SELECT count(*) FROM turns") == seen


def test_an_empty_home_is_empty_again(make: Callable[..., Client], api: StandIn) -> None:
    """Installed into nothing, uninstalled: no settings file is left behind."""
    client = make(installed=False)
    client.install()
    assert client.settings.exists()
    client.install(action="uninstall")
    assert not client.settings.exists()


def test_a_long_memory_comes_in_more_parts(make: Callable[..., Client], api: StandIn) -> None:
    """More open issues than two parts hold: every part arrives, each once, and what is left out is counted."""
    client = make(arguments=("--window", "100000"))
    session = client.ask("A first question")["session_id"]
    client.ask("A second one", resume=session)
    con = sqlite3.connect(client.memory / "throughline.db")
    sql = "INSERT INTO judgments(session_id, turn_number, category, content, confidence, content_hash) "
    sql += "VALUES (?, 0, 'ISSUE', ?, 0.9, ?)"
    con.executemany(sql, [(session, f"open issue number {n} " + "x" * 90, str(n)) for n in range(400)])
    con.commit()
    con.close()
    client.ask("/compact", resume=session)
    client.ask("And now?", resume=session)
    (first,) = after_compactions(api)
    assert complete(first)
    assert len(parts(first)) >= 3
    assert "open issue number 399 " in first.text
    assert re.search(r"\d+ issues, constraints and decisions of turn", first.text)


def test_a_fork_has_the_memory_of_its_own_transcript(make: Callable[..., Client], api: StandIn) -> None:
    """Resumed under a new id: after a compaction the earlier turns are there, and both sessions keep their own rows."""
    client = make(arguments=("--window", "100000"))
    session = client.ask("The question before the fork")["session_id"]
    forked = client.ask("The question after it", resume=session, more=("--fork-session",))["session_id"]
    assert forked != session
    client.ask("/compact", resume=forked)
    client.ask("Go on", resume=forked)
    (first,) = after_compactions(api)
    assert complete(first)
    assert "The question before the fork" in first.text
    assert client.rows("SELECT count(*) FROM turns WHERE session_id=?", session) == [(1,)]
    assert client.rows("SELECT count(*) FROM turns WHERE session_id=?", forked) == [(3,)]
    assert client.log() == ""


def test_text_typed_into_a_running_turn_is_no_turn(make: Callable[..., Client], api: StandIn) -> None:
    """The client hands it to the running turn; it is stored there, and the request stays what it was."""
    client = make(arguments=("--window", "100000"))
    slow = [("Bash", {"command": "sleep 0.6; echo x", "description": "x"})]
    api.push({"tools": slow}, {"tools": slow}, {"text": "done"})
    talk = client.talk(["The real request"], meanwhile=("typed meanwhile", 0.9))
    assert client.rows("SELECT turn_number, state FROM turns") == [(1, "complete")]
    texts = client.rows("SELECT input_text FROM details WHERE kind='user' ORDER BY id")
    assert texts == [("The real request",), ("typed meanwhile",)]
    assert talk.results[-1]["result"] == "done"


def test_two_copies_registered(make: Callable[..., Client], api: StandIn) -> None:
    """For the user and for the project, the second from another folder: everything is stored and given once."""
    client = make(arguments=("--window", "100000"))
    settings = json.loads(client.settings.read_text())
    folder = next((client.memory / "hooks").iterdir())
    shutil.copytree(folder, client.home / "second")
    again = json.loads(json.dumps({"hooks": settings["hooks"]}).replace(str(folder), str(client.home / "second")))
    (client.work / ".claude").mkdir()
    (client.work / ".claude" / "settings.local.json").write_text(json.dumps(again))
    api.push({"tools": [*BASH, *BASH]}, {"text": "done"})
    client.talk(["First", "Second", "/compact", "Third"])
    (first,) = after_compactions(api)
    assert complete(first)
    assert client.rows("SELECT runs > 4 FROM hook_runs WHERE event='UserPromptSubmit'") == [(1,)]
    assert client.rows("SELECT turn_number, state FROM turns") == [(n, "complete") for n in (1, 2, 3)]
    assert client.rows(TOOL_IDS) == [(2, 2)]
    assert client.rows("SELECT count(*) FROM skeletons") == [(3,)]
    assert client.log() == ""
