"""Look-up in the real client: by the model through Bash and Skill, and by what the user types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from seen import fetch

if TYPE_CHECKING:
    from collections.abc import Callable

    from client import Client
    from stand_in import StandIn

TOOL_IDS = "SELECT count(*), count(DISTINCT source_id) FROM details WHERE kind='tool'"


def test_the_model_fetches_a_detail_as_the_block_says(make: Callable[..., Client], api: StandIn) -> None:
    """The scripted model knows only the block: with the rules Bash works unasked, and the look-up is not stored."""
    client = make(installed=False)
    client.install("--window", "100000", "--allow-lookup")
    api.push({"tools": [("Bash", {"command": "echo needle-4711", "description": "x"})]}, {"text": "Measured it."})
    session = client.ask("Measure it")["session_id"]
    client.ask("/compact", resume=session)
    api.push(
        {"tools": lambda text: [("Bash", {"command": fetch(text, "detail 1"), "description": "look up"})]},
        {"tools": lambda text: [("Bash", {"command": fetch(text, "search needle"), "description": "look up"})]},
        {"text": "Found."},
    )
    client.ask("What did it say?", resume=session, mode="default")
    assert api.requests[-1].text.count("needle-4711") >= 2
    assert client.rows(TOOL_IDS) == [(1, 1)]
    assert [row[0] for row in client.rows("SELECT layers_sent FROM injection_log WHERE event_type='on_demand'")] == [
        "L1+L2+L3:turn1",
        "L3:search",
    ]


@pytest.mark.parametrize("rules", [True, False])
def test_the_model_fetches_a_detail_through_the_skill(make: Callable[..., Client], api: StandIn, rules: bool) -> None:  # noqa: FBT001
    """With the rules the skill runs and its command works; without them both are refused and nothing breaks."""
    client = make(installed=False)
    client.install("--window", "100000", *(["--allow-lookup"] if rules else ["--no-allow-lookup"]))
    api.push({"tools": [("Bash", {"command": "echo needle-4711", "description": "x"})]}, {"text": "Measured it."})
    session = client.ask("Measure it")["session_id"]
    client.ask("/compact", resume=session)
    api.push(
        {"tools": [("Skill", {"skill": "sc-detail", "args": "1"})]},
        {"tools": lambda text: [("Bash", {"command": fetch(text, "detail 1"), "description": "look up"})]},
        {"text": "Found."},
    )
    done = client.ask("What did it say?", resume=session, mode="default")
    assert done["is_error"] is False
    assert ("needle-4711" in api.requests[-1].text) is rules
    assert client.rows(TOOL_IDS) == [(1, 1)]


def test_typed_commands(make: Callable[..., Client], api: StandIn) -> None:
    """/sc-detail and /sc-search bring the detail; what stands behind a semicolon is never run."""
    client = make(arguments=("--window", "100000"))
    api.push({"tools": [("Bash", {"command": "echo needle-4711", "description": "x"})]}, {"text": "Measured it."})
    session = client.ask("Measure it")["session_id"]
    client.ask("/compact", resume=session)
    client.ask("/sc-detail 1", resume=session)
    assert "needle-4711" in api.requests[-1].text
    client.ask("/sc-search needle", resume=session)
    assert api.requests[-1].text.count("needle-4711") >= 2
    trap = client.work / "trap"
    done = client.ask(f"/sc-detail 5; touch {trap}", resume=session)
    assert not trap.exists()
    assert done["is_error"] is False
    assert "is no turn number" in api.requests[-1].text
    client.ask(f"/sc-detail $(touch {trap})", resume=session)
    client.ask(f"/sc-search `touch {trap}`", resume=session)
    client.ask("/sc-resolve 1; id", resume=session)
    assert not trap.exists()
    assert client.log() == ""
