"""The block reaches the model: once after every compaction, on both kinds of model, and it is still there after resume."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from client import Client
from stand_in import Request, StandIn

MARK = re.compile(r"\[session memory ([0-9a-f]{8}), part (\d) of (\d)\]")
BASH = [("Bash", {"command": "echo step", "description": "a step"})]


def parts(request: Request) -> list[tuple[str, str, str]]:
    """The parts of our block in what the model read, in their order."""
    return MARK.findall(request.text)


def after_compactions(api: StandIn) -> list[Request]:
    """The first request of the main conversation behind each compaction."""
    found = []
    for place, request in enumerate(api.requests):
        if request.kind == "compact" and request.agent is None:
            found += [later for later in api.requests[place + 1 :] if later.kind == "main"][:1]
    return found


def complete(request: Request) -> bool:
    """Whether every part of one block is there, each once."""
    found = parts(request)
    return (
        bool(found)
        and len({block for block, _, _ in found}) == 1
        and [int(k) for _, k, _ in found] == list(range(1, int(found[0][2]) + 1))
    )


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "opus"])
def test_manual_compaction_brings_the_block_once(make: Callable[..., Client], api: StandIn, model: str) -> None:
    """Three turns, /compact, a prompt, a resume: L1 of each turn is there, the mark once."""
    client = make()
    api.push({"text": "We will use WebSocket on port 443."}, {"text": "Port 8080 is closed by the firewall."})
    session = client.ask("Which protocol shall we take?", model=model)["session_id"]
    client.ask("What about port 8080?", resume=session, model=model)
    client.ask("/compact keep the names", resume=session, model=model)
    client.ask("And now?", resume=session, model=model)
    (first,) = after_compactions(api)
    assert complete(first), client.log()
    assert "Which protocol shall we take?" in first.text
    client.ask("Once more", resume=session, model=model)
    assert complete(api.requests[-1])
    assert client.log() == ""


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "opus"])
def test_automatic_compaction_in_the_middle_of_a_turn(make: Callable[..., Client], api: StandIn, model: str) -> None:
    """The threshold is passed between two tool calls: block and running request are in the next request."""
    client = make()
    session = client.ask("A first question", model=model)["session_id"]
    api.push(*({"tools": BASH, "usage": tokens} for tokens in (30_000, 60_000, 68_000)), {"text": "DONE"})
    client.ask("Do the long task with the blue widget", resume=session, model=model)
    (first,) = after_compactions(api)
    assert complete(first), client.log()
    assert "Do the long task with the blue widget" in first.text
    assert "A first question" in first.text
    client.ask("Afterwards", resume=session, model=model)
    assert complete(api.requests[-1])
    assert client.log() == ""
    assert client.rows("SELECT count(*), count(DISTINCT source_id) FROM details WHERE kind='tool'") == [(3, 3)]
