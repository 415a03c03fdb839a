"""How to ask a model for a plain reply, since the newer ones think first and thinking counts as output.

A summary needs no thinking, and it would use up the limit that was meant for the text. Where a model has a switch for
it, it is switched off; where it always thinks, the limit is raised. Figures are those of Anthropic's model pages
(November 2026). Nothing of it is tried against the real API here, so the sender drops the switch when a server objects.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from lcm_lab.summarizer.provider import bare_model

THINKING_HEADROOM: Final = 16_384
"""Tokens added to the limit of a model that thinks whatever it is told."""

_SWITCHES: Final[Mapping[str, str]] = {
    "claude-sonnet-5-5": "between_tools",
    "claude-haiku-5-5": "disabled",
    "claude-sonnet-5": "disabled",
    "claude-opus-5": "disabled",
}
_ALWAYS: Final = re.compile(r"claude-(?:opus-5-5|fable-5|mythos)")


@dataclass(frozen=True, slots=True)
class Asking:
    """What is added to a request: tokens above its limit, and the switch (empty: none is sent)."""

    headroom: int = 0
    switch: str = ""

    @property
    def extra(self) -> dict[str, Any]:
        """The switch as the API takes it."""
        return {"thinking": {"type": self.switch}} if self.switch else {}


def asking(model: str, *, switch: bool = True) -> Asking:
    """How to ask a model. ``switch`` is false once a server has objected to it.

    >>> asking("claude-sonnet-5-5"), asking("claude-opus-5-5"), asking("qwen3")
    (Asking(headroom=0, switch='between_tools'), Asking(headroom=16384, switch=''), Asking(headroom=0, switch=''))
    """
    name = bare_model(model)
    word = _SWITCHES.get(name, "")
    if word and switch:
        return Asking(switch=word)
    return Asking(headroom=THINKING_HEADROOM) if word or _ALWAYS.match(name) else Asking()
