"""What a request costs: a dated file of prices, and the sum.

Prices change, so they stand in ``data/prices.toml`` with their date and source, and a file named by ``LCM_LAB_PRICES``
goes before it, model by model. Invariant: a model that is in neither has no price; none is guessed from its name. The
sums are those of the list, for a plain request: no batch, no discount, nothing of a subscription. Checked by
``tests/summarizer/test_prices.py``.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from lcm_lab.errors import UsageError
from lcm_lab.summarizer.provider import bare_model

VARIABLE: Final = "LCM_LAB_PRICES"
SHIPPED: Final = Path(__file__).resolve().parent.parent / "data" / "prices.toml"
CACHE_MINIMUM: Final = 1_024
_MILLION: Final = 1_000_000
_RATES: Final = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens of one model; ``source`` and ``dated`` say whence and when.

    ``long_prompt`` holds the rates of a request whose prompt is longer than ``long_above`` tokens. A prompt of fewer
    than ``cache_minimum`` tokens is not cached.
    """

    model: str
    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    source: str
    dated: date | None = None
    assumed: bool = False
    long_above: int | None = None
    long_prompt: "Price | None" = None
    cache_minimum: int = CACHE_MINIMUM

    def for_prompt(self, tokens: int) -> "Price":
        """The rates that count for a prompt of so many tokens, cached ones included."""
        above = self.long_above is not None and tokens > self.long_above
        return self.long_prompt if above and self.long_prompt else self


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one request in US dollars, and the price it was reckoned with."""

    input_usd: float
    output_usd: float
    price: Price

    @property
    def usd(self) -> float:
        """All of it."""
        return self.input_usd + self.output_usd


def estimate(model: str, input_tokens: int, output_tokens: int, *, env: Mapping[str, str] | None = None) -> Cost | None:
    """What a request of so many tokens costs, nothing of it cached; None for a model without a price.

    >>> estimate("claude-sonnet-5-5", 1_000_000, 100_000, env={}).usd
    3.0
    """
    price = price_of(model, env=env)
    if price is None:
        return None
    rates = price.for_prompt(input_tokens)
    return Cost(input_tokens * rates.input / _MILLION, output_tokens * rates.output / _MILLION, price)


def price_of(model: str, *, env: Mapping[str, str] | None = None) -> Price | None:
    """The price of a model, from the user's own file or ours.

    Raises:
        UsageError: the file that ``LCM_LAB_PRICES`` names cannot be read or used; the message says why.
    """
    own = (os.environ if env is None else env).get(VARIABLE, "").strip()
    name = bare_model(model)
    if own:
        path = Path(own).expanduser()
        try:
            found = _load(path, path.stat().st_mtime_ns).get(name)
        except OSError as error:
            raise UsageError(f"{path} (said by {VARIABLE}) cannot be read: {error.strerror or error}.") from error
        if found is not None:
            return found
    return _load(SHIPPED, 0).get(name)


@lru_cache(maxsize=8)
def _load(path: Path, _changed: int) -> Mapping[str, Price]:
    try:
        data = tomllib.loads(path.read_text("utf-8-sig"))
        dated = data.get("dated")
        when = dated if isinstance(dated, date) else None
        return {bare_model(name): _price(name, entry, when) for name, entry in data.get("models", {}).items()}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, AttributeError) as error:
        raise UsageError(f"{path} is no file of prices: {error}.") from error


def _price(name: str, entry: Mapping[str, Any], dated: date | None) -> Price:
    source, assumed = str(entry.get("source") or "not said"), bool(entry.get("assumed"))
    minimum = int(_rate(name, entry, "cache_minimum")) if "cache_minimum" in entry else CACHE_MINIMUM
    price = Price(name, *_rates(name, entry), source=source, dated=dated, assumed=assumed, cache_minimum=minimum)
    longer = entry.get("long_prompt")
    if longer is None:
        return price
    over = Price(name, *_rates(name, longer), source=source, dated=dated, assumed=assumed, cache_minimum=minimum)
    return replace(price, long_above=int(_rate(name, longer, "above")), long_prompt=over)


def _rates(name: str, entry: Mapping[str, Any]) -> tuple[float, float, float, float, float]:
    put_in, out, read, write, hour = (_rate(name, entry, rate) for rate in _RATES)
    return put_in, out, read, write, hour


def _rate(name: str, entry: Mapping[str, Any], rate: str) -> float:
    value = entry.get(rate)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise UsageError(f"The price of {name} has no {rate} that is a number: put one in, or take the entry out.")
    return float(value)
