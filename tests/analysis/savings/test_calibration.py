"""Growth from text alone: what is taught by other sessions only, and how far it is off."""

from dataclasses import replace
from pathlib import Path

import pytest

from lcm_lab.analysis.savings import calibration
from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.session import Session
from tests.analysis.savings.made_up import Made, coding


def read(made: Made, path: Path) -> Session:
    """The session as numbers."""
    return Reading(made.write(path)).run().gathered.session()


@pytest.fixture
def three(tmp_path: Path) -> list[Session]:
    """Three sessions in which a token is four characters divided by 1.5."""
    return [read(coding(i), tmp_path / f"s{i}.jsonl") for i in range(3)]


def test_the_factor_is_found_and_the_growth_predicted(three: list[Session]) -> None:
    taught = calibration.common([step for one in three for step in calibration.steps(one)])
    assert taught.by_class["tool output"] == pytest.approx(1.5, rel=0.02)
    for rule in (calibration.CHOSEN, "characters / 4, one factor"):
        found = calibration.accuracy(three, rule)
        assert len(found.faults) == 3
        assert found.median is not None
        assert found.median < 0.02
    plain = calibration.accuracy(three, "characters / 4, as it is")
    assert plain.median == pytest.approx(1 / 3, abs=0.02)


def test_a_sessions_own_usage_never_teaches_its_own_prediction(three: list[Session]) -> None:
    before = calibration.accuracy(three).faults[0]
    lying = replace(three[0], requests=tuple(replace(one, prompt=one.prompt * 3) for one in three[0].requests))
    after = calibration.accuracy([lying, *three[1:]]).faults[0]
    assert after.predicted == pytest.approx(before.predicted)
    assert after.growth == 3 * before.growth


def test_a_stretch_ends_at_a_boundary_and_what_the_client_keeps_is_not_predicted(tmp_path: Path) -> None:
    made = coding(1, turns=2).compaction("We changed the parser.", after=25_000).user("Go on.").answer("Done.")
    made.user("And the rest?").answer("Done, too.")
    one = read(made, tmp_path / "one.jsonl")
    found = calibration.steps(one)
    assert [step.stretch for step in found][-1] == 1
    assert sum(step.stretch for step in found) == 1
    assert one.requests[one.boundaries[0]].before > 0


def test_without_another_session_there_is_no_error_to_report(three: list[Session]) -> None:
    assert calibration.accuracy(three[:1]).median is None


def test_sessions_of_a_newer_family_are_taught_by_their_own(three: list[Session], tmp_path: Path) -> None:
    made = [coding(i) for i in (7, 8)]
    newer = []
    for i, one in enumerate(made):
        one.model = "claude-opus-5-5"
        for line in one.lines:
            if line["type"] == "assistant":
                line["message"]["model"] = "claude-opus-5-5"
        session = read(one, tmp_path / f"n{i}.jsonl")
        grown = [replace(r, prompt=20_000 + round((r.prompt - 20_000) * 1.3)) for r in session.requests]
        newer.append(replace(session, requests=tuple(grown)))
    faults = calibration.accuracy([*three, *newer]).faults
    assert all(one.end < 0.05 for one in faults)


def test_real_sessions_stay_within_the_target(shared: Path) -> None:
    folder = shared / "transcripts" / "claude-code"
    paths = [*sorted(folder.glob("*.jsonl")), folder / "with-agents" / "main.jsonl"]
    found = calibration.accuracy([Reading(path).run().gathered.session() for path in paths])
    assert len(found.faults) == 9
    assert found.median is not None
    assert found.median <= calibration.TARGET
    assert sum(one.end <= calibration.TARGET for one in found.faults) >= 7
