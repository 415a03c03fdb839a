"""Messages that a scheduler wrote, not a person: heartbeats. They are shown and counted, never removed.

A heartbeat is a user message that asks to read ``HEARTBEAT.md``, or an answer that is just ``HEARTBEAT_OK``, and the
user message right before such an answer.
"""

import re
from collections.abc import Sequence
from typing import Final

HEARTBEAT: Final = "heartbeat"
_ASKS: Final = re.compile(r"\bread\b[^\n]{0,80}\bHEARTBEAT\.md\b", re.IGNORECASE)


def is_answer(text: str) -> bool:
    """Whether a text is the heartbeat answer and nothing else."""
    return text.strip().strip("`*. ") == "HEARTBEAT_OK"


def is_request(role: str, text: str) -> bool:
    """Whether a message asks to read the heartbeat file."""
    return role == "user" and _ASKS.search(text) is not None


def heartbeats(messages: Sequence[tuple[str, str]]) -> list[bool]:
    """Which of the messages, given as (role, how the text begins) in order, are heartbeats or their pairs.

    >>> heartbeats([("user", "hi"), ("user", "Read HEARTBEAT.md if it exists"), ("assistant", "HEARTBEAT_OK")])
    [False, True, True]
    """
    found = [is_answer(text) or is_request(role, text) for role, text in messages]
    for i in range(1, len(messages)):
        if is_answer(messages[i][1]) and messages[i - 1][0] == "user":
            found[i - 1] = True
    return found
