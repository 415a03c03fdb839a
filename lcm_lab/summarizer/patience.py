"""How long a request is tried: so many attempts, growing waits, and one deadline over all of it.

Invariant: no wait is silent or endless. A server that asks for more time than there is left gets no further attempt,
and the error says how long it asked for. Checked by ``tests/summarizer/test_anthropic_api.py``.
"""

import random
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from lcm_lab.errors import ModelBusy, ModelError


@dataclass(frozen=True, slots=True)
class Patience:
    """Limits of one request, in seconds.

    ``timeout`` is the longest silence of the server, ``deadline`` covers all attempts and the waits between them, and
    ``longest_wait`` is the most that is waited before one more attempt.
    """

    timeout: float = 180.0
    deadline: float = 600.0
    attempts: int = 5
    first_wait: float = 1.0
    longest_wait: float = 120.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong in one attempt: the error to raise if it is the last, and whether another may do better.

    ``retry_after`` is how long the server asked to be left alone; None if it did not say.
    """

    error: ModelError
    again: bool = False
    retry_after: float | None = None


class Tries:
    """The attempts of one request, counted from now on."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._begun = time.monotonic()
        self._made = 0

    @property
    def seconds(self) -> float:
        """Time since the first attempt began."""
        return time.monotonic() - self._begun

    @property
    def left(self) -> float:
        """Time until the deadline."""
        return self._patience.deadline - self.seconds

    def silence(self) -> float:
        """How long the server may say nothing: the timeout, or what is left of the deadline."""
        return max(0.001, min(self._patience.timeout, self.left))

    def check(self) -> None:
        """Pass while there is time left.

        Raises:
            ModelBusy: the deadline has passed.
        """
        if self.left <= 0:
            raise ModelBusy(f"No complete reply within {self._patience.deadline:g} seconds.")

    def wait_after(self, trouble: Trouble) -> float:
        """How long to wait before the next attempt.

        Raises:
            ModelError: there is no next attempt; the trouble's own error, and how often it was tried.
        """
        if not trouble.again:
            raise trouble.error
        self._made += 1
        wait = trouble.retry_after
        if wait is None:
            # Jitter keeps several jobs that were turned away together from coming back together.
            grown = self._patience.first_wait * 2 ** (self._made - 1)
            wait = min(grown, self._patience.longest_wait) * random.uniform(0.75, 1.25)  # noqa: S311  (no secret)
        tried = f"{self._made} attempt{'s' if self._made != 1 else ''} in {self.seconds:.0f} s"
        if self._made >= self._patience.attempts:
            raise type(trouble.error)(f"{trouble.error} Given up after {tried}.")
        if wait > min(self._patience.longest_wait, self.left):
            longest = self._patience.longest_wait
            limit = f"we wait {longest:g} s at most" if wait > longest else "the deadline is before that"
            raise type(trouble.error)(
                f"{trouble.error} The next attempt would be in {wait:.0f} s and {limit}: given up after {tried}."
            )
        return wait


def retry_after(value: str | None) -> float | None:
    """The seconds that a Retry-After header asks for: a number, or a date from now; None if it says neither.

    >>> retry_after("1.5"), retry_after("-3"), retry_after("soon"), retry_after("Thu, 01 Jan 1970 00:00:00 GMT")
    (1.5, 0.0, None, 0.0)
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        date = date.replace(tzinfo=UTC) if date.tzinfo is None else date
        seconds = (date - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if seconds == seconds else None  # noqa: PLR0124  (not a number)
