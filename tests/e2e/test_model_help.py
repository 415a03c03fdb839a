"""Model help with the real client in both places: the session that is compacted, and the one that answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from seen import after_compactions, complete

if TYPE_CHECKING:
    from collections.abc import Callable

    from client import Client
    from stand_in import StandIn

NOTES = "You keep the notes of a coding session"


def test_a_model_judges_before_the_compaction(make: Callable[..., Client], api: StandIn) -> None:
    """What it answers is in the block; its own request has no tools, leaves no session and wakes no hook of ours."""
    client = make()
    client.path = f"{client.program.parent}:{client.path}"
    (client.memory / "config.json").write_text(json.dumps({"model_help": True, "model_help_model": "haiku"}))
    api.push({"text": "The lift is slow on Mondays. Stairs it is, then."})
    session = client.ask("How do we get to the roof?")["session_id"]
    api.push({"text": "3 DECISION\nT1 the stairs were chosen", "when": "side", "contains": NOTES})
    client.ask("/compact", resume=session)
    client.ask("And now?", resume=session)
    (first,) = after_compactions(api)
    assert complete(first), client.log()
    assert "Stairs it is, then." in first.text
    assert "How do we get to the roof? → the stairs were chosen" in first.text
    (asked,) = [request for request in api.requests if NOTES in request.text]
    assert (asked.kind, "haiku" in asked.body["model"], asked.body.get("tools") or []) == ("side", True, [])
    assert client.rows("SELECT count(*) FROM sessions") == [(1,)]
    assert len(list(client.config.glob("projects/*/*.jsonl"))) == 1
    ((outcome, spent),) = client.rows("SELECT outcome, input_tokens + output_tokens FROM model_requests")
    assert (outcome, spent > 0) == ("judged", True)
    assert client.log() == ""


def test_a_model_that_cannot_be_asked_changes_nothing(make: Callable[..., Client], api: StandIn) -> None:
    """The API refuses: the block comes all the same, the log says why, the user's session does not notice."""
    client = make()
    client.path = f"{client.program.parent}:{client.path}"
    (client.memory / "config.json").write_text(json.dumps({"model_help": True}))
    session = client.ask("A first question")["session_id"]
    refused = {"status": 400, "error_type": "invalid_request_error", "when": "side", "contains": NOTES}
    api.push(*[refused] * 5)
    client.ask("/compact", resume=session)
    client.ask("And now?", resume=session)
    (first,) = after_compactions(api)
    assert complete(first)
    assert "model help brought nothing" in client.log()
    assert "the client reports: API Error: 400" in client.log()
