"""Both stored forms name the same moment; zones are named; days are the zone's days."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab import times
from lcm_lab.errors import UnknownZone


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-30 23:11:15",
        "2026-03-30T23:11:15Z",
        "2026-03-30T23:11:15.000Z",
        "2026-03-31T07:11:15+08:00",
        "2026-03-31 07:11:15.000000+08:00",
        "  2026-03-30 23:11:15 ",
    ],
)
def test_every_form_names_the_same_moment(text: str) -> None:
    assert times.parse(text) == datetime(2026, 3, 30, 23, 11, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", [None, "", "  ", "yesterday", "2026-13-40 00:00:00", "12", "2026-03-30", "0000-00-00 00:00:00"]
)
def test_what_cannot_be_read_is_unknown(text: str | None) -> None:
    assert times.parse(text) is None
    assert times.zone("UTC").show(text) == "unknown"


def test_text_order_is_wrong_and_ours_is_right() -> None:
    stored = ["2026-03-30T08:00:00Z", "2026-03-30 09:00:00", "soon", "2026-03-30T10:00:00+09:00", None]
    assert sorted(stored, key=times.sort_key) == [
        "2026-03-30T10:00:00+09:00", "2026-03-30T08:00:00Z", "2026-03-30 09:00:00", None, "soon",
    ]  # fmt: skip


def test_an_evening_belongs_to_its_own_day() -> None:
    late = "2026-01-25T04:08:00Z"
    assert times.zone("America/Los_Angeles").day(late) == date(2026, 1, 24)
    assert times.zone("UTC").day(late) == date(2026, 1, 25)


def test_a_day_with_a_clock_change_is_one_day() -> None:
    pacific = times.zone("America/Los_Angeles")
    assert {pacific.day(f"2026-03-08T{hour:02d}:30:00Z") for hour in range(8, 24)} == {date(2026, 3, 8)}
    assert pacific.show("2026-03-08T09:59:59Z").endswith("PST")
    assert pacific.show("2026-03-08T10:00:00Z").endswith("PDT")


def test_an_unknown_zone_is_named() -> None:
    with pytest.raises(UnknownZone, match="Mars/Olympus"):
        times.zone("Mars/Olympus")
    with pytest.raises(UnknownZone, match=r"\.\./etc"):
        times.zone("../etc/passwd")


def test_the_machine_has_a_zone_with_a_name() -> None:
    assert times.zone().name
    assert times.zone("  ").name == times.zone().name


@given(st.text(max_size=40))
def test_no_text_breaks_the_clock(text: str) -> None:
    moment = times.parse(text)
    assert moment is None or moment.tzinfo is UTC
    times.zone("Asia/Kolkata").show(text)
    times.sort_key(text)


@given(st.datetimes(timezones=st.timezones()))
def test_any_iso_time_is_the_moment_it_names(moment: datetime) -> None:
    if moment.year in (1, 9999):
        return
    assert times.parse(moment.isoformat()) == moment.replace(fold=moment.fold).astimezone(UTC)
