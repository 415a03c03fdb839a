"""Counts over time: messages and summaries by quarter of an hour, and the ids coverage is measured against.

SQLite adds up, so a store of hundreds of thousands of messages comes out as a few thousand rows. A quarter of an hour
is fine enough for a calendar day in every zone, because the offsets of all zones in use are multiples of one.

The invariant: SQLite reads a time itself only where it and :func:`lcm_lab.times.parse` agree on it; any other value
comes out as it is, for Python to judge. Checked by ``tests/analysis/test_growth.py``.
"""

from dataclasses import dataclass
from typing import Final

from lcm_lab.store import measure
from lcm_lab.store.connect import Reader

QUARTER: Final = 900
"""Seconds in a bucket."""


@dataclass(frozen=True, slots=True)
class MessageBucket:
    """Messages of one role in one quarter of an hour: ``start`` in seconds since 1970, or ``text`` where unclear."""

    start: int | None
    text: str | None
    role: str
    messages: int
    tokens: int
    re_estimated: int


@dataclass(frozen=True, slots=True)
class SummaryBucket:
    """Summaries of one depth made in one quarter of an hour; ``start`` and ``text`` as in :class:`MessageBucket`."""

    start: int | None
    text: str | None
    depth: int
    summaries: int
    tokens: int


def message_buckets(reader: Reader, conversation_id: int | None = None) -> list[MessageBucket]:
    """Messages of a conversation (of the store without one) by time and role."""
    start, text = _moment("t.created_at")
    sql = f"""
        SELECT {start} AS start, {text} AS text, t.role, count(*), sum({measure.message_tokens(reader.schema, "t")}),
               sum({measure.message_rule("t")} = 'estimated')
        FROM messages t {_where(conversation_id)} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
    rows = reader.rows(sql, _parameters(conversation_id))
    return [MessageBucket(row[0], _text(row[1]), str(row[2]), row[3], row[4] or 0, row[5] or 0) for row in rows]


def summary_buckets(reader: Reader, conversation_id: int | None = None) -> list[SummaryBucket]:
    """Summaries of a conversation (of the store without one) by time and depth."""
    if not reader.schema.has("summaries"):
        return []
    start, text = _moment("t.created_at")
    depth = "CASE WHEN typeof(t.depth) = 'integer' THEN t.depth ELSE 0 END"
    sql = f"""
        SELECT {start} AS start, {text} AS text, {depth}, count(*), sum({measure.summary_tokens("t")})
        FROM summaries t {_where(conversation_id)} GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""
    rows = reader.rows(sql, _parameters(conversation_id))
    return [SummaryBucket(row[0], _text(row[1]), row[2], row[3], row[4] or 0) for row in rows]


def message_ids(reader: Reader, conversation_id: int) -> frozenset[int]:
    """The ids of all messages of a conversation."""
    sql = "SELECT message_id FROM messages WHERE conversation_id = ?"
    return frozenset(row[0] for row in reader.rows(sql, (conversation_id,)))


def _moment(column: str) -> tuple[str, str]:
    """SQL: the start of a time's quarter of an hour, and the value itself where SQLite should not read it.

    SQLite reads more than we call a time (``now``, day numbers, 30 February, 24:00) and rounds to thousandths, over
    midnight if need be, so the shape is checked first.
    """
    plain = (
        f"typeof({column}) = 'text' AND substr({column}, 1, 16) GLOB "
        "'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ][0-2][0-9]:[0-9][0-9]' "
        f"AND substr({column}, 17) NOT GLOB '*[^0-9:.Z+-]*' AND {column} NOT GLOB '*.[0-9][0-9][0-9][0-9]*' "
        f"AND substr({column}, 1, 4) BETWEEN '0002' AND '9998' "
        f"AND substr({column}, 12, 2) < '24' AND date(substr({column}, 1, 10), '+0 days') = substr({column}, 1, 10) "
        f"AND strftime('%s', {column}) IS NOT NULL"
    )
    seconds = f"CAST(strftime('%s', {column}) AS INTEGER)"
    # The remainder takes the sign of the number, so times before 1970 need the second step.
    start = f"{seconds} - (({seconds} % {QUARTER}) + {QUARTER}) % {QUARTER}"
    return f"CASE WHEN {plain} THEN {start} END", f"CASE WHEN NOT ({plain}) THEN {column} END"


def _where(conversation_id: int | None) -> str:
    return "" if conversation_id is None else "WHERE t.conversation_id = ?"


def _parameters(conversation_id: int | None) -> tuple[int, ...]:
    return () if conversation_id is None else (conversation_id,)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
