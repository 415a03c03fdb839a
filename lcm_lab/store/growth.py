"""Counts over time: messages and summaries by quarter of an hour, and the ids coverage is measured against.

SQLite adds up, so a store of hundreds of thousands of messages comes out as a few thousand rows. A quarter of an hour
is fine enough for a calendar day in every zone, because since 1973 the offsets of all zones are multiples of one; an
older time comes out whole.

The invariant: a bucket holds a message on the day that :func:`lcm_lab.times.parse` would put it, and one that has no
readable time in a bucket without one. Checked by ``tests/analysis/test_growth.py``.
"""

from dataclasses import dataclass
from typing import Final

from lcm_lab import times
from lcm_lab.store import measure
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import depth_number

_TIME: Final = "t.created_at"
_USUAL: Final = (
    f"substr({_TIME}, 1, 19) GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9][T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9]' "
    f"AND {_TIME} >= '1973' AND substr({_TIME}, 12, 2) < '24' AND (substr({_TIME}, 20) IN ('', 'Z') "
    f"OR (substr({_TIME}, 20, 2) GLOB '.[0-9]' AND ltrim(substr({_TIME}, 21), '0123456789') IN ('', 'Z')))"
)
# The forms the plugin writes, all UTC, are cut to the hour and the quarter in it; any other text comes out whole.
# SQLite's own reading is of no use: it takes more for a time than we do (now, day numbers), and it rounds, over
# midnight if need be.
_KEY: Final = (
    f"CASE WHEN typeof({_TIME}) <> 'text' THEN NULL WHEN {_USUAL} "
    f"THEN 'q' || substr({_TIME}, 1, 14) || (CAST(substr({_TIME}, 15, 2) AS INTEGER) / 15) ELSE 't' || {_TIME} END"
)


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
    sql = f"""
        SELECT {_KEY}, t.role, count(*), sum({measure.message_tokens(reader.schema, "t")}),
               sum({measure.message_estimated("t")})
        FROM messages t {_where(conversation_id)} GROUP BY 1, 2 ORDER BY 1, 2"""
    rows = reader.rows(sql, _parameters(conversation_id))
    return [MessageBucket(*_moment(row[0]), str(row[1]), row[2], row[3] or 0, row[4] or 0) for row in rows]


def summary_buckets(reader: Reader, conversation_id: int | None = None) -> list[SummaryBucket]:
    """Summaries of a conversation (of the store without one) by time and depth."""
    if not reader.schema.has("summaries"):
        return []
    depth = depth_number(reader, "t")
    sql = f"""
        SELECT {_KEY}, {depth}, count(*), sum({measure.summary_tokens("t")})
        FROM summaries t {_where(conversation_id)} GROUP BY 1, 2 ORDER BY 1, 2"""
    rows = reader.rows(sql, _parameters(conversation_id))
    return [SummaryBucket(*_moment(row[0]), row[1], row[2], row[3] or 0) for row in rows]


def _moment(key: str | None) -> tuple[int | None, str | None]:
    """Start of the quarter and the text, from what :data:`_KEY` gave: one of the two, or neither."""
    if key is None or key[0] == "t":
        return None, key and key[1:]
    text = f"{key[1:15]}{15 * int(key[15]):02}"
    moment = times.parse(text)
    return (None, text) if moment is None else (int(moment.timestamp()), None)


def _where(conversation_id: int | None) -> str:
    return "" if conversation_id is None else "WHERE t.conversation_id = ?"


def _parameters(conversation_id: int | None) -> tuple[int, ...]:
    return () if conversation_id is None else (conversation_id,)
