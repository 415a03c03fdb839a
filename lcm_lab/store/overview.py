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
from lcm_lab.store.rows import Conversation, depth_number, load
from lcm_lab.store.schema import quote
from lcm_lab.store.text import octets

OUTLIER: Final = 10
"""A conversation with this many times the median's tokens stands out."""

_FEW: Final = 200
_ENOUGH: Final = 8
"""Below this many conversations a median says little."""


@dataclass(frozen=True, slots=True)
class ConversationTotals:
    """A conversation with what belongs to it. Tokens: the stored count where valid, else the plugin's rule.

    ``last_message_at`` is the time of the last message by ``seq``.
    """

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
    """All conversations, the one with the newest message first, then those without any; or the one with this id.

    The newest message is the one stored last: its id comes from an index, while ``updated_at`` does not move with
    messages.
    """
    if conversation_id is not None:
        return load(reader, Conversation, "WHERE t.conversation_id = ?", (conversation_id,))
    newest = dict(reader.rows("SELECT conversation_id, max(message_id) FROM messages GROUP BY conversation_id"))

    def order(one: Conversation) -> tuple[int, float, int]:
        return newest.get(one.conversation_id) or 0, _moment(one.updated_at), one.conversation_id

    return sorted(load(reader, Conversation, ""), key=order, reverse=True)


def with_totals(reader: Reader, page: list[Conversation]) -> list[ConversationTotals]:
    """Totals for the conversations of one page, in the given order."""
    if not page:
        return []
    ids = [one.conversation_id for one in page]
    messages, in_context = _all_messages(reader) if len(ids) > _FEW else (None, None)
    if messages is None:
        messages = _by_conversation(reader, "messages", _message_columns(reader), ids)
    summaries = _by_conversation(
        reader, "summaries", f"count(*), sum({measure.summary_tokens('t')}), max({depth_number(reader, 't')})", ids
    )
    items = _by_conversation(reader, "context_items", "count(*)", ids)
    context = _context_tokens(reader, ids, in_context)
    last = _end_times(reader, "DESC", ids)
    files = _by_conversation(reader, "large_files", "count(*)", ids)
    briefs = _by_conversation(reader, "focus_briefs", "count(*)", ids)
    totals = []
    for one in page:
        key = one.conversation_id
        count, tokens, estimated = messages.get(key, (0, 0, 0))
        nodes, node_tokens, depth = summaries.get(key, (0, 0, None))
        totals.append(
            ConversationTotals(
                conversation=one,
                messages=count,
                message_tokens=tokens or 0,
                re_estimated=estimated or 0,
                summaries=nodes,
                summary_tokens=node_tokens or 0,
                max_depth=depth,
                context_items=items.get(key, (0,))[0],
                context_tokens=context.get(key, 0),
                files=files.get(key, (0,))[0],
                briefs=briefs.get(key, (0,))[0],
                last_message_at=last.get(key),
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


def by_number(reader: Reader) -> list[tuple[Conversation, int]]:
    """Every conversation by its number, with how many summaries it has; no text is read."""
    found = load(reader, Conversation, "ORDER BY t.conversation_id")
    summaries = counts(reader, [one.conversation_id for one in found])
    return [(one, summaries[one.conversation_id][0]) for one in found]


def store_totals(reader: Reader) -> StoreTotals:
    """The whole store in numbers, from one pass over its messages."""
    counts = {
        table: reader.value(f"SELECT count(*) FROM {quote(table)}") for table in reader.schema.tables if _counted(table)
    }
    columns = f"{_message_columns(reader)}, sum({octets('t.content')})"
    _, tokens, estimated, size = reader.all(f"SELECT {columns} FROM messages t")[0]
    written = [text for order in ("ASC", "DESC") for text in _end_times(reader, order).values() if times.parse(text)]
    depths: dict[int, int] = {}
    summary_tokens = 0
    columns = f"{depth_number(reader, 't')}, count(*), sum({measure.summary_tokens('t')})"
    for depth, nodes, node_tokens in reader.rows(f"SELECT {columns} FROM summaries t GROUP BY 1"):
        depths[depth] = depths.get(depth, 0) + nodes
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
        first_message_at=min(written, key=times.sort_key, default=None),
        last_message_at=max(written, key=times.sort_key, default=None),
        pages=reader.value("PRAGMA page_count"),
        page_size=reader.value("PRAGMA page_size"),
        free_pages=reader.value("PRAGMA freelist_count"),
    )


def _moment(text: str | None) -> float:
    moment = times.parse(text)
    return moment.timestamp() if moment else 0.0


def _counted(table: str) -> bool:
    return not table.startswith("sqlite_")


def _message_columns(reader: Reader) -> str:
    tokens = measure.message_tokens(reader.schema, "t")
    return f"count(*), sum({tokens}), sum({measure.message_estimated('t')})"


def _end_times(reader: Reader, order: str, ids: list[int] | None = None) -> dict[int, str | None]:
    """When the first (``ASC``) or last (``DESC``) message by ``seq`` of each conversation was written, as stored."""
    few = ids if ids is not None and len(ids) <= _FEW else []
    where = f"WHERE c.conversation_id IN ({','.join('?' * len(few))})" if few else ""
    sql = f"""
        SELECT c.conversation_id, (SELECT t.created_at FROM messages t WHERE t.conversation_id = c.conversation_id
                                   ORDER BY t.seq {order} LIMIT 1) FROM conversations c {where}"""
    return {row[0]: row[1] if isinstance(row[1], str) else None for row in reader.rows(sql, tuple(few))}


def _by_conversation(reader: Reader, table: str, columns: str, ids: list[int]) -> dict[int, tuple[Any, ...]]:
    sql = f'SELECT t.conversation_id, {columns} FROM "{table}" t {_grouped("t", ids)}'
    return {row[0]: row[1:] for row in reader.rows(sql, tuple(ids) if len(ids) <= _FEW else ())}


def _grouped(alias: str, ids: list[int]) -> str:
    """SQL: the rows of these conversations, by conversation; of many, one pass beats many look-ups."""
    key = f"{alias}.conversation_id"
    if len(ids) > _FEW:
        return f"GROUP BY {key}"
    return f"WHERE {key} IN ({','.join('?' * len(ids))}) GROUP BY {key}"


def _all_messages(reader: Reader) -> tuple[dict[int, tuple[Any, ...]] | None, dict[int, int] | None]:
    """Messages of every conversation, and the tokens of those in its context, from one pass over the texts.

    (None, None) where one pass would not count right: a message in a context twice, or in that of another conversation.
    """
    tokens = measure.message_tokens(reader.schema, "t")
    sql = f"""
        SELECT t.conversation_id, {_message_columns(reader)},
               sum(CASE WHEN c.conversation_id = t.conversation_id THEN {tokens} END),
               sum(c.conversation_id <> t.conversation_id)
        FROM messages t LEFT JOIN context_items c ON c.message_id = t.message_id AND c.item_type = 'message'
        GROUP BY t.conversation_id"""
    rows = reader.all(sql)
    joined = sum(row[1] for row in rows)
    if joined != reader.value("SELECT count(*) FROM messages") or any(row[-1] for row in rows):
        return None, None
    return {row[0]: row[1:4] for row in rows}, {row[0]: row[4] or 0 for row in rows}


def _context_tokens(reader: Reader, ids: list[int], of_messages: dict[int, int] | None) -> dict[int, int]:
    """Tokens in each context, each item counted once; an item that points to nothing counts 0.

    ``of_messages`` are the tokens of messages in context where they are known already.
    """
    found = dict(of_messages or {})
    kinds = [("summaries", "summary_id", "summary", measure.summary_tokens("t"))]
    if of_messages is None:
        kinds.append(("messages", "message_id", "message", measure.message_tokens(reader.schema, "t")))
    for table, key, kind, tokens in kinds:
        sql = f"""
            SELECT c.conversation_id, sum({tokens}) FROM context_items c
            JOIN {table} t ON c.item_type = '{kind}' AND t.{key} = c.{key} {_grouped("c", ids)}"""
        for conversation_id, total in reader.rows(sql, tuple(ids) if len(ids) <= _FEW else ()):
            found[conversation_id] = found.get(conversation_id, 0) + (total or 0)
    return found
