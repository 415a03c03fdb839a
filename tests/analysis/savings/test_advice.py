"""What to set, or that there is nothing to gain."""

from pathlib import Path

import pytest

from lcm_lab import bench, times
from lcm_lab.analysis.savings import traces
from lcm_lab.analysis.savings.advice import MOST_LOST, WORTH_SHARE, advise
from lcm_lab.errors import NotFound
from lcm_lab.views import tables
from tests.analysis.savings.made_up import coding


def test_short_sessions_have_nothing_to_gain(tmp_path: Path) -> None:
    for i in range(3):
        coding(i, turns=2, calls=2, size=800).write(tmp_path / f"s{i}.jsonl")
    found = bench.advise(tmp_path)
    assert found.chosen is None
    assert "nothing to gain" in found.sentence
    assert "nothing" in str(tables.of(found, times.zone("UTC"))[0].rows)


def test_long_sessions_get_a_setting_with_its_saving_and_spread(tmp_path: Path) -> None:
    for i in range(3):
        coding(i, turns=30, calls=6, size=6_000).write(tmp_path / f"s{i}.jsonl")
    found = bench.advise(tmp_path)
    assert found.chosen is not None
    assert found.chosen.settable
    assert found.chosen.on_frontier
    assert found.chosen.command
    assert found.chosen.saved is not None
    assert found.chosen.saved_usd >= WORTH_SHARE
    assert "median" in found.sentence


def test_what_is_recommended_is_on_the_frontier_and_loses_little() -> None:
    found = advise(traces.read())
    assert found.chosen is not None
    assert found.chosen.saved is not None
    assert found.chosen.saved.median > 0
    known = found.chosen.line.known
    assert known.lost / known.n <= MOST_LOST
    better = [
        one for one in found.candidates if one.settable and one.saved_usd > found.chosen.saved_usd and one.on_frontier
    ]
    assert all((one.line.expected_share or 0) < 1 - MOST_LOST for one in better)
    assert all(one.threshold > found.system for one in found.candidates if one.settable)


def test_sessions_of_a_model_without_a_price_ask_for_one(tmp_path: Path) -> None:
    made = coding(1, turns=3)
    for line in made.lines:
        if line["type"] == "assistant":
            line["message"]["model"] = "somebodys-own"
    path = made.write(tmp_path / "s.jsonl")
    assert "--model" in bench.advise(path).sentence
    assert bench.advise(path, model="claude-sonnet-5-5").recorded_usd > 0


def test_the_users_own_newest_sessions_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    with pytest.raises(NotFound):
        bench.advise()
    coding(1, turns=3).write(tmp_path / "projects" / "-p" / "one.jsonl")
    assert bench.advise().names == ("one",)
