"""The block reaches the model: once after every compaction, on both kinds of model, still there after resume."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from seen import BASH, after_compactions, complete

if TYPE_CHECKING:
    from collections.abc import Callable

    from client import Client
    from stand_in import StandIn


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
