"""What a request shows of our block."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stand_in import Request, StandIn

MARK = re.compile(r"\[session memory ([0-9a-f]{8}), part (\d) of (\d)\]")
BASH = [("Bash", {"command": "echo step", "description": "a step"})]
COMMAND = re.compile(r"Run with Bash: `([^`]*lookup\.py) detail TURN (--session [^`]*)`")


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


def fetch(text: str, what: str) -> str:
    """The command that the block names, filled in as a model would."""
    found = COMMAND.search(text)
    assert found, "the block names no command"
    return f"{found.group(1)} {what} {found.group(2)}"
