"""When the client compacts, what the sessions carry, and which setting follows from both."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import threshold
from lcm_lab.hooks.settings_file import InstallRefused
from lcm_lab.hooks.threshold import BIG_MODEL, SMALL_MODEL, Current, Measured, choose, current, fires_at, measure

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hooks.installer.conftest import Machine


@pytest.mark.parametrize(
    ("window", "percent", "small", "big"),
    [
        (None, None, None, 967_000),
        (None, 10, None, 98_000),
        (None, 50, None, 490_000),
        (100_000, None, 67_000, 67_000),
        (150_000, None, 117_000, 117_000),
        (200_000, None, 167_000, 167_000),
        (700_000, None, 167_000, 667_000),
        (100_000, 34, 27_200, 27_200),
        (100_000, 10, 8_000, 8_000),
        (200_000, 50, 90_000, 90_000),
        (200_000, 34, 61_200, 61_200),
        (60_000, None, None, 967_000),
        (99_999, None, None, 967_000),
        (100_000, 100, 67_000, 67_000),
        (100_000, 0.1, 80, 80),
    ],
)
def test_measured_firing_points(window: int | None, percent: float | None, small: int | None, big: int) -> None:
    """The points at which the real client was seen to compact."""
    assert fires_at(SMALL_MODEL, window, percent) == small
    assert fires_at(BIG_MODEL, window, percent) == big


BIG = Measured(5, 30_000, True)
SMALL = Measured(5, 30_000, False)


def test_sessions_on_big_models_get_the_percentage() -> None:
    """The value of the concept."""
    choice = choose(BIG, Current())
    assert choice.values == {("env", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"): "10"}
    assert (choice.big, choice.warnings) == (98_000, ())


@pytest.mark.parametrize("measured", [SMALL, Measured(0, None, False)])
def test_others_get_the_window_without_a_percentage(measured: Measured) -> None:
    """Also where no session is known yet."""
    choice = choose(measured, Current())
    assert choice.values == {("autoCompactWindow",): 100_000}
    assert (choice.small, choice.big, choice.warnings) == (67_000, 67_000, ())


@pytest.mark.parametrize(
    ("load", "floor", "window", "percent"),
    [
        (40_000, 60_000, 100_000, 10),
        (50_000, 75_000, 110_000, 10),
        (70_000, 105_000, 140_000, 11),
        (111_000, 166_500, 200_000, 17),
    ],
)
def test_a_heavy_load_raises_the_threshold(load: int, floor: int, window: int, percent: int) -> None:
    """1.5 times the load is the floor from 40,000 on."""
    assert choose(Measured(9, load, False), Current()).window == window
    choice = choose(Measured(9, load, True), Current())
    assert (choice.floor, choice.percent) == (floor, str(percent))


def test_a_load_that_no_window_holds_is_said() -> None:
    """The largest window, with a warning."""
    choice = choose(Measured(9, 150_000, False), Current())
    assert choice.window == 200_000
    assert any("below the floor of 225,000" in text for text in choice.warnings)


USERS = st.builds(
    Current,
    percent=st.none() | st.floats(0.1, 100),
    percent_from=st.just("there"),
    window=st.none() | st.integers(1, 1_000_000),
    window_from=st.just("there"),
    window_is_variable=st.booleans(),
    only_small=st.booleans(),
)


@given(load=st.none() | st.integers(2_000, 110_000), all_big=st.booleans(), users=USERS)
def test_automatic_never_sets_below_the_floor_nor_over_the_users_own(
    load: int | None, users: Current, *, all_big: bool
) -> None:
    """For any load and any setting of the user."""
    measured = Measured(0 if load is None else 3, load, all_big and load is not None)
    choice = choose(measured, users)
    if choice.window is not None:
        assert users.window is None
        assert (choice.small or 0) >= measured.floor
    if choice.percent is not None:
        assert users.percent is None
        assert (choice.big or 0) >= measured.floor
    assert choice.percent is None or choice.window is None


def test_numbers_asked_for_are_obeyed_with_a_warning() -> None:
    """Replacing, doing nothing, too low, a share for a percentage, a variable that wins."""
    choice = choose(SMALL, Current(percent=80, percent_from="settings.json"), percent="20")
    assert choice.values == {("env", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"): "20"}
    assert any("80 (settings.json) is replaced" in text for text in choice.warnings)
    assert any("never compact early" in text for text in choice.warnings)
    choice = choose(SMALL, Current(), percent="34", window=100_000)
    assert (choice.small, choice.percent, choice.window) == (27_200, "34", 100_000)
    assert any("27,200 tokens, below the floor" in text for text in choice.warnings)
    assert any("read as 0.1 percent" in text for text in choose(BIG, Current(), percent="0.1").warnings)
    assert any("60,000 has no effect" in text for text in choose(SMALL, Current(), window=60_000).warnings)
    variable = Current(window=500_000, window_from="the environment", window_is_variable=True)
    choice = choose(SMALL, variable, window=100_000)
    assert any("beats the setting" in text for text in choice.warnings)
    assert choice.big == 467_000


def test_the_users_own_settings_are_found_wherever_they_are() -> None:
    """In order of strength, with the place."""
    documents: list[tuple[str, dict[str, Any]]] = [
        ("local", {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": " 80 "}, "autoCompactEnabled": True}),
        (
            "user",
            {
                "autoCompactWindow": 150_000,
                "autoCompactEnabled": False,
                "env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "9"},
            },
        ),
    ]
    found = current(documents, {})
    assert (found.percent, found.percent_from) == (80, "env in local")
    assert (found.window, found.window_from, found.window_is_variable) == (150_000, "autoCompactWindow in user", False)
    assert found.switched_off == "autoCompactEnabled in user"
    found = current(documents, {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "300000", "CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"})
    assert (found.window, found.window_is_variable, found.only_small) == (300_000, True, True)
    assert (
        current([], {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "500k"}).window == 100_000
    )  # it reads 500 and takes the lowest
    odd = [("x", {"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "many"}, "autoCompactWindow": True})]
    assert current(odd, {"DISABLE_COMPACT": "true"}) == Current(switched_off="DISABLE_COMPACT (the environment)")


def test_the_load_is_the_smallest_fresh_request_and_the_median_over_sessions(machine: Machine) -> None:
    """A resumed file may begin full; after a compaction the load shows; side requests are no sessions."""
    one = machine.session("a", "claude-opus-5-5", [300, 90_000, 95_000, -1, 31_000, 99_000])
    session = threshold.read_session(one)
    assert session is not None
    assert (session.load, session.models, session.big) == (31_000, ("claude-opus-5-5",), True)
    machine.session("b", "claude-sonnet-5", [20_000])
    machine.session("c", "claude-fable-5", [50_000])
    machine.session("agent-x", "claude-haiku-4-5", [3_000])
    machine.session("d", "claude-haiku-4-5", [100])
    assert measure(machine.host.config) == Measured(3, 31_000, True)


@pytest.mark.parametrize(
    ("model", "loads", "big"),
    [
        ("claude-opus-5", [20_000], True),
        ("claude-opus-5-5-20261001", [20_000], True),
        ("us.anthropic.claude-sonnet-5@latest", [20_000], True),
        ("claude-opus-4-6[1m]", [20_000], True),
        ("claude-opus-4-6", [20_000], False),
        ("claude-opus-4-6", [20_000, 240_000], True),
        ("claude-sonnet-4-5-20250929", [20_000], False),
        ("claude-opus-4-5", [20_000], False),
        ("claude-haiku-5-5", [20_000], False),
    ],
)
def test_which_models_count_as_big(machine: Machine, model: str, loads: list[int], *, big: bool) -> None:
    """Those that were measured, and any model with a request that no small window holds."""
    machine.session("a", model, loads)
    assert measure(machine.host.config).all_big is big


def test_broken_transcripts_are_passed_over(machine: Machine) -> None:
    """Cut, binary, nested without end, empty, a folder."""
    path = machine.session("a", "claude-opus-5", [20_000])
    with path.open("ab") as file:
        file.write(
            b'{"type":"assistant","message":{"usage":\n\xff\xfe{"usage": [\n'
            + b"[" * 50_000
            + b'"usage"\n{"type":"assistant"'
        )
    (path.parent / "b.jsonl").write_bytes(b"")
    (path.parent / "c.jsonl").mkdir()
    assert measure(machine.host.config) == Measured(1, 20_000, True)


def test_install_writes_the_choice_and_gives_the_users_own_back(machine: Machine) -> None:
    """The user's 80 stays, is replaced when asked, kept over an upgrade, and comes back."""
    machine.session("a", "claude-opus-5", [30_000])
    original = machine.write({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80"}})
    result = machine.install()
    assert machine.read()["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80"}
    assert "autoCompactWindow" not in machine.read()
    assert any("your own percentage of 80" in text for text in result.plan.warnings)
    machine.install(threshold="25")
    assert machine.read()["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "25"}
    machine.upgrade()
    machine.install()
    assert machine.read()["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "25"}
    machine.settings.write_text(machine.settings.read_text().replace("{", "{ ", 1))  # somebody wrote meanwhile
    machine.uninstall()
    assert machine.read() == json.loads(original)


def test_auto_takes_an_explicit_number_back(machine: Machine) -> None:
    """As if it had never been asked for."""
    machine.session("a", "claude-opus-5", [30_000])
    machine.install(threshold="25", window=200_000)
    assert machine.read()["autoCompactWindow"] == 200_000
    machine.install(threshold="auto")
    assert machine.read()["env"] == {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "10"}
    assert "autoCompactWindow" not in machine.read()


def test_a_value_the_user_changed_since_is_the_users(machine: Machine) -> None:
    """Neither an upgrade nor an uninstall touches it."""
    machine.install()
    data = machine.read()
    assert data["autoCompactWindow"] == 100_000
    machine.write({**data, "autoCompactWindow": 180_000})
    machine.install()
    assert machine.read()["autoCompactWindow"] == 180_000
    machine.uninstall()
    assert machine.read() == {"autoCompactWindow": 180_000}


@pytest.mark.parametrize("options", [{"threshold": "0"}, {"threshold": "101"}, {"threshold": "much"}, {"window": 0}])
def test_numbers_that_mean_nothing_are_refused(machine: Machine, options: dict[str, Any]) -> None:
    """Before anything is written."""
    with pytest.raises(InstallRefused):
        machine.install(**options)
    assert not machine.settings.exists()


def test_project_scope_sees_the_users_settings(machine: Machine) -> None:
    """They hold in the project, too."""
    machine.write({"autoCompactWindow": 150_000})
    result = machine.install(scope="project")
    local: Path = machine.host.settings("project")
    assert "autoCompactWindow" not in json.loads(local.read_text())
    assert any("your own window of 150,000" in text for text in result.plan.warnings)
