"""What a request costs with a prompt cache: how much is read from it, how much is written, in tokens and dollars.

Idea: as public documentation has it and sessions confirm: a request reads the unchanged beginning that an earlier one
wrote, if that is not longer ago than the cache lives (each read renews it), and writes all the rest; the answer is
written with the next request. A prompt below the provider's minimum is not cached, another model has another cache.
Invariant: read, written and uncached add up to the prompt. Checked by ``tests/analysis/savings/test_by_hand.py``.
"""

from dataclasses import dataclass
from typing import Final

from lcm_lab.summarizer.prices import CACHE_MINIMUM, Price

FIVE_MINUTES: Final = 300.0
ONE_HOUR: Final = 3_600.0
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a cache lives, and with which price it is written; ``seconds`` 0: there is none."""

    name: str
    seconds: float
    hour: bool


LIFETIMES: Final = {
    "5m": Lifetime("5m", FIVE_MINUTES, hour=False),
    "1h": Lifetime("1h", ONE_HOUR, hour=True),
    "none": Lifetime("none", 0.0, hour=False),
}
"""The two that the provider sells, and none at all."""


@dataclass(frozen=True, slots=True)
class Bill:
    """One request: its tokens by what they cost, and the dollars (None: the model has no price)."""

    read: int = 0
    written_5m: int = 0
    written_1h: int = 0
    uncached: int = 0
    output: int = 0
    usd: float | None = None

    @property
    def prompt(self) -> int:
        """The size of the prompt."""
        return self.read + self.written_5m + self.written_1h + self.uncached


class Cache:
    """The prompt cache over a session."""

    def __init__(self, lifetime: Lifetime) -> None:
        self.lifetime = lifetime
        self._model = ""
        self._length = 0
        self._until = 0.0

    def warm(self, model: str, tokens: int, at: float) -> None:
        """So many tokens are there already: the beginning that other sessions share."""
        if self.lifetime.seconds and tokens:
            self._model, self._length, self._until = model, tokens, at + self.lifetime.seconds

    def request(
        self, *, model: str, at: float, prompt: int, kept: int, output: int, price: Price | None, keep: bool = True
    ) -> Bill:
        """Send a prompt whose first ``kept`` tokens are unchanged.

        ``keep`` False writes nothing (a call on the side).
        """
        least = price.cache_minimum if price else CACHE_MINIMUM
        alive = model == self._model and at <= self._until
        read = min(prompt, kept, self._length) if alive else 0
        read = read if read >= least else 0
        rest = prompt - read
        cached = keep and self.lifetime.seconds > 0 and prompt >= least
        if cached:
            self._model, self._length = model, prompt
        if cached or read:
            self._until = at + self.lifetime.seconds
        hour = cached and self.lifetime.hour
        return priced(
            Bill(read, rest if cached and not hour else 0, rest if hour else 0, 0 if cached else rest, output), price
        )


def priced(bill: Bill, price: Price | None) -> Bill:
    """The bill with its dollars."""
    if price is None:
        return bill
    rates = price.for_prompt(bill.prompt)
    usd = bill.read * rates.cache_read + bill.uncached * rates.input + bill.output * rates.output
    usd += bill.written_5m * rates.cache_write_5m + bill.written_1h * rates.cache_write_1h
    return Bill(bill.read, bill.written_5m, bill.written_1h, bill.uncached, bill.output, usd / _MILLION)
