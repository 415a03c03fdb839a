"""Prices from a dated file, and the user's own file before it."""

import tomllib
from pathlib import Path

import pytest

from lcm_lab.errors import UsageError
from lcm_lab.summarizer.prices import SHIPPED, estimate, price_of
from lcm_lab.summarizer.provider import DEFAULT_MODEL, DOCTOR_MODEL

RATES = "input = 1\noutput = 2\ncache_read = 0.1\ncache_write_5m = 1.25\ncache_write_1h = 2\n"


def test_the_cost_of_a_request() -> None:
    cost = estimate("claude-sonnet-5-5", 20_000, 1_200, env={})
    assert cost is not None
    assert (cost.input_usd, cost.output_usd) == (pytest.approx(0.04), pytest.approx(0.012))
    assert cost.usd == pytest.approx(0.052)
    assert cost.price.dated is not None
    assert "platform.claude.com" in cost.price.source


@pytest.mark.parametrize(("tokens", "usd"), [(100_000, 0.01), (100_001, 0.0500005)])
def test_a_long_prompt_may_cost_more(tokens: int, usd: float) -> None:
    cost = estimate("claude-haiku-5-5", tokens, 0, env={})
    assert cost is not None
    assert cost.usd == pytest.approx(usd)


@pytest.mark.parametrize("model", [DEFAULT_MODEL, DOCTOR_MODEL, "anthropic/claude-haiku-4-5-20251001"])
def test_known_models(model: str) -> None:
    assert price_of(model, env={}) is not None


@pytest.mark.parametrize("model", ["MiniMax-M3", "claude-sonnet-5-7", "claude-sonnet", "scripted", ""])
def test_no_price_is_guessed(model: str) -> None:
    assert estimate(model, 10, 10, env={}) is None


def test_the_shipped_file_is_whole() -> None:
    """Every entry has all its rates and a source; cached reading is cheaper than reading, writing dearer."""
    data = tomllib.loads(SHIPPED.read_text())
    for name, entry in data["models"].items():
        price = price_of(name, env={})
        assert price is not None
        assert price.cache_read < price.input < price.cache_write_5m < price.cache_write_1h < price.output
        assert price.assumed is ("assumed" in entry["source"])


def test_a_file_of_ones_own_goes_before_ours(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text(f'dated = 2027-01-01\n[models."acme/m-1"]\n{RATES}[models.claude-sonnet-5-5]\n{RATES}')
    env = {"LCM_LAB_PRICES": str(own)}
    cost = estimate("m-1", 1_000_000, 1_000_000, env=env)
    assert cost is not None
    assert (cost.usd, cost.price.source) == (3.0, "not said")
    assert (price_of("claude-sonnet-5-5", env=env) or cost.price).input == 1.0
    assert (price_of("claude-opus-5-5", env=env) or cost.price).input == 4.0
    own.write_text(own.read_text().replace("input = 1\n", "input = 9\n") + "\n# changed\n")
    assert (price_of("m-1", env=env) or cost.price).input == 9.0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read"),
        ("[models", "is no file of prices"),
        ("models = 3", "is no file of prices"),
        ("[models.x]\ninput = 1", "The price of x has no output that is a number"),
        ("[models]\nx = 3", "is no file of prices"),
        (f"[models.x]\n{RATES}".replace("= 2\n", "= nan\n"), "no output that is a number"),
        (f"[models.x]\n{RATES}long_prompt = {{above = 3}}", "has no input"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, content: str | None, said: str) -> None:
    own = tmp_path / "prices.toml"
    if content is not None:
        own.write_text(content)
    with pytest.raises(UsageError, match=said):
        price_of("x", env={"LCM_LAB_PRICES": str(own)})
