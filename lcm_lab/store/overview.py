"""The store as a whole, and its conversations with totals.

Reads what the question needs: counts come from indexes, token totals from one pass over the messages asked about.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from lcm_lab import times
from lcm_lab.store import measure
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import Conversation, load

OUTLIER: Final = 10
"""A conversation with this many times the median's tokens stands out."""

_ENOUGH: Final = 8
"""Below this many conversations a median says little."""


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """A conversation with what belongs to it. Tokens: the stored count where valid, else the plugin's rule."""

    conversation: Conversation
    messages: int
    message_tokens: int
    re_estimated: int
    summaries: int
    summary_tokens: int
    max_depth: int | None
    context_items: int
    context_tokens: int
    files: int
    briefs: int
    last_message_at: str | None


@dataclass(frozen=True, slots=True)
class StoreTotals:
    """A whole store in numbers. ``rows`` counts every table; tokens as in :class:`ConversationTotals`."""

    rows: dict[str, int]
    message_tokens: int
    re_estimated: int
    message_bytes: int
    summaries_by_depth: dict[int, int]
    summary_tokens: int
    active_conversations: int
    first_message_at: str | None
    last_message_at: str | None
    pages: int
    page_size: int
    free_pages: int


def conversations(reader: Reader, conversation_id: int | None = None) -> list[Conversation]:
    """All conversations, the one that changed last first (by parsed time, not by text); or the one with this id."""
    if conversation_id is not None:
        return load(reader, Conversation, "WHERE t.conversation_id = ?", (conversation_id,))
    return sorted(
        load(reader, Conversation, ""),
        key=lambda one: (_moment(one.updated_at) or _moment(one.created_at), one.conversation_id),
        reverse=True,
    )


def with_totals(reader: Reader, page: list[Conversation]) -> list[ConversationTotals]:
    """Totals for the conversations of one page, in the given order."""
    if not page:
        return []
    ids = [one.conversation_id for one in page]
    messages = _by_conversation(reader, "messages", _message_columns(reader), ids)
    summaries = _by_conversation(
        reader, "summaries", f"count(*), sum({measure.summary_tokens('t')}), max(t.depth)", ids
    )
    items = _context_tokens(reader, ids)
    files = _by_conversation(reader, "large_files", "count(*)", ids)
    briefs = _by_conversation(reader, "focus_briefs", "count(*)", ids)
    totals = []
    for one in page:
        key = one.conversation_id
        count, tokens, estimated, last = messages.get(key, (0, 0, 0, None))
        nodes, node_tokens, depth = summaries.get(key, (0, 0, None))
        context_count, context_tokens = items.get(key, (0, 0))
        totals.append(
            ConversationTotals(
                conversation=one,
                messages=count,
                message_tokens=tokens or 0,
                re_estimated=estimated or 0,
                summaries=nodes,
                summary_tokens=node_tokens or 0,
                max_depth=depth if isinstance(depth, int) else None,
                context_items=context_count,
                context_tokens=context_tokens or 0,
                files=files.get(key, (0,))[0],
                briefs=briefs.get(key, (0,))[0],
                last_message_at=last,
            )
        )
    return totals


def usual(totals: Sequence[ConversationTotals]) -> float:
    """The median of the tokens of all conversations that have any; 0 without one."""
    return float(median([one.message_tokens for one in totals if one.message_tokens > 0] or [0]))


def outliers(totals: Sequence[ConversationTotals]) -> frozenset[int]:
    """Conversations that hold over ten times the usual tokens; none where there are too few to say what is usual."""
    if sum(one.message_tokens > 0 for one in totals) < _ENOUGH:
        return frozenset()
    limit = OUTLIER * usual(totals)
    return frozenset(one.conversation.conversation_id for one in totals if one.message_tokens > limit)


def counts(reader: Reader, ids: list[int]) -> dict[int, tuple[int, int]]:
    """(summaries, large files) of each of these conversations."""
    summaries = _by_conversation(reader, "summaries", "count(*)", ids)
    files = _by_conversation(reader, "large_files", "count(*)", ids)
    return {one: (summaries.get(one, (0,))[0], files.get(one, (0,))[0]) for one in ids}


def store_totals(reader: Reader) -> StoreTotals:
    """The whole store in numbers, from one pass over its messages."""
    counts = {
        table: reader.value(f'SELECT count(*) FROM "{table}"') for table in reader.schema.tables if _counted(table)
    }
    message_row = reader.all(
        f"SELECT {_message_columns(reader)}, sum(length(CAST(t.content AS BLOB))), {_instant('min')} FROM messages t"
    )[0]
    _, tokens, estimated, last, size, first = message_row
    depths: dict[int, int] = {}
    summary_tokens = 0
    columns = f"t.depth, count(*), sum({measure.summary_tokens('t')})"
    for depth, nodes, node_tokens in reader.rows(f"SELECT {columns} FROM summaries t GROUP BY t.depth"):
        depths[depth if isinstance(depth, int) else -1] = nodes
        summary_tokens += node_tokens or 0
    active = sum(one.state == "active" for one in load(reader, Conversation, ""))
    return StoreTotals(
        rows=counts,
        message_tokens=tokens or 0,
        re_estimated=estimated or 0,
        message_bytes=size or 0,
        summaries_by_depth=dict(sorted(depths.items())),
        summary_tokens=summary_tokens,
        active_conversations=active,
        first_message_at=_text(first),
        last_message_at=_text(last),
        pages=reader.value("PRAGMA page_count"),
        page_size=reader.value("PRAGMA page_size"),
        free_pages=reader.value("PRAGMA freelist_count"),
    )


def _moment(text: str | None) -> float:
    moment = times.parse(text)
    return moment.timestamp() if moment else 0.0


def _counted(table: str) -> bool:
    return not table.startswith("sqlite_")


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _instant(pick: str) -> str:
    """SQL: the first or last message time, compared as moments because two text forms share the column."""
    return f"strftime('%Y-%m-%d %H:%M:%f', {pick}(julianday(t.created_at)))"


def _message_columns(reader: Reader) -> str:
    tokens = measure.message_tokens(reader.schema, "t")
    return f"count(*), sum({tokens}), sum({measure.message_rule('t')} = 'estimated'), {_instant('max')}"


def _by_conversation(reader: Reader, table: str, columns: str, ids: list[int]) -> dict[int, tuple[Any, ...]]:
    marks = ",".join("?" * len(ids))
    sql = (
        f'SELECT t.conversation_id, {columns} FROM "{table}" t WHERE t.conversation_id IN ({marks}) '
        "GROUP BY t.conversation_id"
    )
    return {row[0]: row[1:] for row in reader.rows(sql, tuple(ids))}


def _context_tokens(reader: Reader, ids: list[int]) -> dict[int, tuple[int, int]]:
    """Items and tokens in context, dangling items counted as items of 0 tokens."""
    marks = ",".join("?" * len(ids))
    sql = f"""
        SELECT c.conversation_id, count(*),
               sum(CASE WHEN s.summary_id IS NOT NULL THEN {measure.summary_tokens("s")}
                        WHEN m.message_id IS NOT NULL THEN {measure.message_tokens(reader.schema, "m")} ELSE 0 END)
        FROM context_items c
        LEFT JOIN messages m ON c.item_type = 'message' AND m.message_id = c.message_id
        LEFT JOIN summaries s ON c.item_type = 'summary' AND s.summary_id = c.summary_id
        WHERE c.conversation_id IN ({marks}) GROUP BY c.conversation_id"""
    return {row[0]: (row[1], row[2] or 0) for row in reader.rows(sql, tuple(ids))}
