"""The seam between an operation and a language model: a :class:`Request` goes out, a :class:`Draft` comes back.

Both are plain data. Everything that can answer is a :class:`Summarizer`; :class:`Scripted` answers from a script and is
what the tests, the notebooks and the demo use. A draft is what the model said, not yet judged:
``lcm_lab.repairs.verdict`` decides whether it may be written.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

OUTPUT_HEADROOM: Final = 2048
"""Tokens above the target that a reply may take before it is cut off: the target is only asked for in the prompt."""


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt. ``target_tokens`` is the length asked for, ``max_tokens`` where the reply is cut off."""

    prompt: str
    target_tokens: int
    summary_id: str = ""

    @property
    def max_tokens(self) -> int:
        """The limit that is sent: above the target, so that a reply a little too long is not cut."""
        return self.target_tokens + OUTPUT_HEADROOM


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply: its text without the model's reasoning, who gave it, and what it cost in tokens (None: not said).

    ``stop_reason`` is the provider's own word; :attr:`cut_off` says whether it means an unfinished reply.
    """

    text: str
    model: str
    provider: str
    stop_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    seconds: float = 0.0

    @property
    def cut_off(self) -> bool:
        """Whether the reply ended at its limit instead of its end."""
        return self.stop_reason in ("max_tokens", "length", "model_context_window_exceeded")


class Summarizer(Protocol):
    """Whatever answers a request. ``complete`` may be called from several threads at once.

    Raises (``complete``): ModelError and its kin.
    """

    @property
    def described(self) -> str:
        """Provider, model and address in a line, without any key; printed before the first request."""
        ...

    @property
    def model(self) -> str:
        """The model's name as it is written beside a summary."""
        ...

    def complete(self, request: Request) -> Draft:
        """The reply to a request."""
        ...


Reply = str | Draft | Exception
"""What a script may hold: a text, a whole draft, or an error to raise."""


class Scripted:
    """A summarizer that answers from a script, and remembers what it was asked in ``requests``.

    ``script`` is a list of replies, used in turn (when it is used up, that is an error), or a function of the request.

    >>> Scripted(["Short."]).complete(Request("Sum this up.", 100)).text
    'Short.'
    """

    def __init__(self, script: Iterable[Reply] | Callable[[Request], Reply], *, model: str = "scripted") -> None:
        self._next: Callable[[Request], Reply] = script if callable(script) else _in_turn(script)
        self._lock = threading.Lock()
        self._model = model
        self.requests: list[Request] = []

    @property
    def described(self) -> str:
        """Says that no model is asked."""
        return f"scripted replies, model {self._model}"

    @property
    def model(self) -> str:
        """The name that is written beside a summary."""
        return self._model

    def complete(self, request: Request) -> Draft:
        """The next reply of the script."""
        with self._lock:
            self.requests.append(request)
        reply = self._next(request)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Draft):
            return reply
        return Draft(reply, self._model, "scripted", stop_reason="end_turn")


def _in_turn(script: Iterable[Reply]) -> Callable[[Request], Reply]:
    replies = iter(list(script))

    def following(_request: Request) -> Reply:
        for reply in replies:
            return reply
        raise IndexError("the script has no reply left")

    return following
