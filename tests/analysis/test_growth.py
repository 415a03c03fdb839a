"""Days are days of the zone, nothing is lost between days and unknown, and SQLite reads times as Python does."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lcm_lab import times
from lcm_lab.analysis import growth as growths
from lcm_lab.analysis.growth import Growth, RoleShare, SummaryShare, growth
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.growth import MessageBucket, SummaryBucket, message_buckets

LOS_ANGELES, UTC = times.zone("America/Los_Angeles"), times.zone("UTC")


def store_with(make_store: Callable[..., Path], *moments: object) -> StoreFile:
    """A store whose conversation 45 has a message of 10 tokens at each of ``moments``."""
    path = make_store()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for i, moment in enumerate(moments):
            connection.execute(
                "INSERT INTO messages(conversation_id, seq, role, content, token_count, created_at) "
                "VALUES (45, ?, 'user', 'x', 10, ?)",
                (i, moment),
            )
    return StoreFile(path)


def days(found: Growth) -> dict[str, int]:
    """Messages per day."""
    return {str(day.day): day.messages for day in found.days}


@pytest.mark.parametrize(
    ("zone", "expected"),
    [(LOS_ANGELES, "2026-01-24"), (UTC, "2026-01-25"), (times.zone("Asia/Kathmandu"), "2026-01-25")],
)
def test_a_message_is_on_the_day_of_the_zone(make_store: Callable[..., Path], zone: times.Zone, expected: str) -> None:
    found = store_with(make_store, "2026-01-25T04:08:00Z").read(lambda reader: growths.load(reader, 45, zone=zone))
    assert days(found) == {expected: 1}
    assert found.zone == zone.name


def test_a_day_of_23_hours_is_one_day(make_store: Callable[..., Path]) -> None:
    # 2026-03-08 in Los Angeles lasts from 08:00 UTC to 07:00 UTC of the next day.
    moments = [
        "2026-03-08 07:59:59",
        "2026-03-08 08:00:00",
        "2026-03-08 18:00:00",
        "2026-03-09 06:59:59",
        "2026-03-09 07:00:00",
    ]
    found = store_with(make_store, *moments).read(lambda reader: growths.load(reader, 45, zone=LOS_ANGELES))
    assert days(found) == {"2026-03-07": 1, "2026-03-08": 3, "2026-03-09": 1}


def test_what_has_no_readable_time_is_unknown_and_in_no_total(make_store: Callable[..., Path]) -> None:
    moments = ["2026-01-01 10:00:00", "yesterday", "", "now", "2026-02-30 10:00:00", 1700000000, "2461042.5", b"\xff"]
    found = store_with(make_store, *moments).read(lambda reader: growths.load(reader, 45, zone=UTC))
    assert days(found) == {"2026-01-01": 1}
    assert found.unknown == (RoleShare("user", 7, 70),)
    assert found.days[-1].cumulative == 10
    assert (found.messages, found.tokens, found.unknown_messages) == (8, 80, 7)


def test_a_conversation_and_the_store(make_store: Callable[..., Path]) -> None:
    store = StoreFile(make_store("UPDATE summaries SET created_at = '2026-04-01 00:00:00'"))
    one = store.read(lambda reader: growths.load(reader, 44, zone=UTC))
    assert [(str(day.day), day.tokens, day.cumulative, day.summaries) for day in one.days] == [
        ("2026-03-30", 24, 24, ()),
        ("2026-03-31", 6, 30, ()),
        ("2026-04-01", 0, 30, (SummaryShare(0, 2, 11), SummaryShare(1, 1, 7))),
    ]
    assert one.days[0].roles == (RoleShare("assistant", 2, 15), RoleShare("user", 2, 9))
    assert one.roles == ("user", "assistant")
    whole = store.read(lambda reader: growths.load(reader, zone=UTC))
    assert (whole.days, whole.conversation_id) == (one.days, None)


def test_many_messages_come_out_as_few_rows(make_store: Callable[..., Path]) -> None:
    moments = [f"2026-01-01 10:{i % 60:02}:{i // 60:02}" for i in range(600)]
    found = store_with(make_store, *moments).read(lambda reader: message_buckets(reader, 45))
    assert [(one.messages, one.tokens) for one in found] == [(150, 1500)] * 4


def test_times_before_1970_fall_into_their_own_quarter(make_store: Callable[..., Path]) -> None:
    found = store_with(make_store, "1969-12-31 23:59:59", "1970-01-01 00:00:00").read(
        lambda reader: growths.load(reader, 45, zone=UTC)
    )
    assert days(found) == {"1969-12-31": 1, "1970-01-01": 1}


def test_buckets_of_both_forms_meet_on_one_day() -> None:
    buckets = [
        MessageBucket(1767225600, None, "user", 2, 20, 1),
        MessageBucket(None, "2026-01-01T05:00+0000", "user", 1, 5, 0),
    ]
    found = growth(buckets, [SummaryBucket(None, None, 0, 1, 9)], 1, zone=UTC)
    assert [(day.day, day.roles) for day in found.days] == [(date(2026, 1, 1), (RoleShare("user", 3, 25),))]
    assert found.unknown_summaries == (SummaryShare(0, 1, 9),)
    assert found.re_estimated == 1


def test_an_empty_store_has_no_days() -> None:
    found = growth([], [], None, zone=UTC)
    assert (found.days, found.messages, found.tokens, found.roles) == ((), 0, 0, ())


MOMENTS = st.one_of(
    st.text(max_size=24),
    st.datetimes().map(lambda moment: moment.isoformat(" ")),
    st.from_regex(r"\A\d{4}-[01]\d-[0-3]\d[T ][0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,7})?)?( |Z|z|[+-][01]\d:?[0-6]\d)?\Z"),
    st.from_regex(r"\A20\d\d-0[1-9]-[0-3]\d[T ][0-2]\d:[0-5]\d(:[0-5]\d(\.\d{1,7})?)?(Z|[+-]0\d:[0-5]\d)?\Z"),
    st.integers(-(2**40), 2**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.binary(max_size=8),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@example(moments=["0001-01-01 23:07:00", "1893-03-31 23:07:00", "1973-01-01 23:52:00"])
@given(moments=st.lists(MOMENTS, max_size=30))
def test_sqlite_and_python_agree_on_every_time(make_store: Callable[..., Path], moments: list[object]) -> None:
    moments = [one.encode("utf-8", "replace").decode() if isinstance(one, str) else one for one in moments]
    zone = times.zone("Europe/Berlin")
    found = store_with(make_store, *moments).read(lambda reader: growths.load(reader, 45, zone=zone))
    # What SQLite makes of a value on its way into a TEXT column: numbers become texts.
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE t(x TEXT)")
        connection.executemany("INSERT INTO t VALUES (?)", [(one,) for one in moments])
        stored = [row[0] for row in connection.execute("SELECT x FROM t")]
    expected = Counter(zone.day(one) if isinstance(one, str) else None for one in stored)
    assert found.unknown_messages == expected.pop(None, 0)
    assert {day.day: day.messages for day in found.days} == expected
