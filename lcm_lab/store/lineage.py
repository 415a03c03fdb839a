"""What a summary can be made from again: its messages, its sources, the times below it, and what came before it.

The invariant: every walk ends on every graph (cycles, edges to nothing, a node that is its own source), and nothing
here reads more texts than it hands out. Orders are those of lcm-tui: ``created_at`` compared as the raw text it is, so
that a rewrite goes through the same summaries in the same order. Checked by ``tests/repairs/test_gather.py`` and
``tests/repairs/test_selecting.py``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from lcm_lab import times
from lcm_lab.store.connect import Reader
from lcm_lab.store.messages import batches, marks, parts_of
from lcm_lab.store.rows import Message, Part, Summary, depth_number, load, select_list, stream, typed

MARK_BEGINNINGS: Final = ("[LCM fallback", "[Truncated f")
"""Every text that may be broken holds one of these; whether it is, ``analysis.health.markers`` decides."""

EMERGENCY_MODEL: Final = "emergency-fallback"
_PAGE: Final = 64


@dataclass(frozen=True, slots=True)
class LinkedMessage:
    """A message a leaf was made from; ``message`` is None where the row is gone.

    ``parts`` are read only where the message's own content is blank, since only then do they speak for it.
    """

    message_id: object
    message: Message | None
    parts: tuple[Part, ...] = ()


def is_leaf(kind: str, depth: int) -> bool:
    """Whether a summary counts as a leaf: depth 0, or kind ``leaf`` in any spelling."""
    return depth == 0 or kind.strip().lower() == "leaf"


def reads_messages(kind: str, depth: int, *, links: int, sources: int) -> bool:
    """Whether a summary is made from messages.

    A leaf is; but a condensed row whose depth is 0 only because the store never had one, and which stands on summaries
    and on no message, is made from those.
    """
    return is_leaf(kind, depth) and (kind.strip().lower() == "leaf" or links > 0 or sources == 0)


def linked(reader: Reader, summary_id: str) -> list[LinkedMessage]:
    """The messages a leaf was made from, in their order, the lost ones included."""
    sql = (
        "SELECT l.message_id, m.message_id IS NOT NULL FROM summary_messages l "
        "LEFT JOIN messages m ON m.message_id = l.message_id WHERE l.summary_id = ? ORDER BY l.ordinal, m.seq"
    )
    links = reader.all(sql, (summary_id,))
    found: dict[object, Message] = {}
    for batch in batches([message_id for message_id, there in links if there]):
        sql = f"SELECT {select_list(reader, Message)} FROM messages t WHERE t.message_id IN ({marks(batch)})"
        rows = typed(reader, Message, reader.rows(sql, tuple(batch)))
        found.update((message.message_id, message) for message in rows)
    parts = parts_of(reader, [one.message_id for one in found.values() if not one.content.strip()])
    return [
        LinkedMessage(message_id, found.get(message_id), tuple(parts.get(message_id, ()))) for message_id, _ in links
    ]


def by_id(reader: Reader, ids: Iterable[str]) -> dict[str, Summary]:
    """Summaries with their texts by id; ids that do not exist are left out."""
    return {
        one.summary_id: one
        for batch in batches(ids)
        for one in load(reader, Summary, f"WHERE t.summary_id IN ({marks(batch)})", tuple(batch))
    }


def sources_of(reader: Reader, ids: Iterable[str]) -> dict[str, list[str]]:
    """For each of ``ids`` that has any: the summaries it was made from, in their order, lost ones included."""
    found: dict[str, list[str]] = {}
    for batch in batches(ids):
        sql = (
            "SELECT e.summary_id, e.parent_summary_id FROM summary_parents e "
            f"WHERE e.summary_id IN ({marks(batch)}) ORDER BY e.summary_id, e.ordinal"
        )
        for derived, source in reader.rows(sql, tuple(batch)):
            found.setdefault(derived, []).append(str(source))
    return found


def below(reader: Reader, summary_id: str) -> frozenset[str]:
    """The ids of a node and of everything it was made from, at any depth; ids without a row included."""
    sql = (
        "WITH RECURSIVE below(id) AS (VALUES (?) UNION SELECT e.parent_summary_id "
        "FROM below b JOIN summary_parents e ON e.summary_id = b.id) SELECT id FROM below"
    )
    return frozenset(str(row[0]) for row in reader.rows(sql, (summary_id,)))


def spans(reader: Reader, ids: Iterable[str]) -> dict[str, tuple[datetime, datetime]]:
    """For each of ``ids``: the first and last moment of the messages in the leaves below it.

    Without an entry: a node below which no message has a time that can be read.
    """
    found: dict[str, tuple[datetime, datetime]] = {}
    for batch in batches(dict.fromkeys(ids)):
        # UNION, not UNION ALL: a pair that was reached is not walked again, so cycles end.
        sql = (
            "WITH RECURSIVE below(root, id) AS ("
            f"SELECT summary_id, summary_id FROM summaries WHERE summary_id IN ({marks(batch)}) "
            "UNION SELECT b.root, e.parent_summary_id FROM below b JOIN summary_parents e ON e.summary_id = b.id) "
            "SELECT DISTINCT b.root, m.created_at FROM below b JOIN summaries s ON s.summary_id = b.id "
            "JOIN summary_messages l ON l.summary_id = b.id JOIN messages m ON m.message_id = l.message_id "
            f"WHERE {depth_number(reader, 's')} = 0 OR lower(trim(s.kind)) = 'leaf'"
        )
        for root, text in reader.rows(sql, tuple(batch)):
            moment = times.parse(text) if isinstance(text, str) else None
            if moment is not None:
                first, last = found.get(root, (moment, moment))
                found[root] = (min(first, moment), max(last, moment))
    return found


def before_in_context(reader: Reader, conversation_id: int, summary_id: str, depth: int) -> Iterator[str]:
    """Summaries of ``depth`` that stand before this one in its conversation's context, the nearest first."""
    sql = (
        "SELECT c.summary_id FROM context_items c JOIN summaries t ON t.summary_id = c.summary_id "
        "WHERE c.conversation_id = ?1 AND c.item_type = 'summary' AND c.summary_id <> ?2 AND c.ordinal < "
        "(SELECT min(o.ordinal) FROM context_items o WHERE o.conversation_id = ?1 AND o.summary_id = ?2) "
        f"AND {depth_number(reader, 't')} = ?3 ORDER BY c.ordinal DESC"
    )
    return _paged(reader, sql, (conversation_id, summary_id, depth))


def before_among_sources(reader: Reader, summary_id: str) -> Iterator[str]:
    """The sources that stand before this one in the first node that was made from it, the nearest first."""
    sql = (
        "SELECT e.parent_summary_id FROM (SELECT summary_id, ordinal FROM summary_parents "
        "WHERE parent_summary_id = ?1 ORDER BY rowid LIMIT 1) mine "
        "JOIN summary_parents e ON e.summary_id = mine.summary_id AND e.ordinal < mine.ordinal "
        "JOIN summaries t ON t.summary_id = e.parent_summary_id "
        "WHERE e.parent_summary_id <> ?1 ORDER BY e.ordinal DESC"
    )
    return _paged(reader, sql, (summary_id,))


def older(reader: Reader, conversation_id: int, summary_id: str, depth: int) -> Iterator[str]:
    """Summaries of the same conversation and ``depth`` that were written before this one, the newest first."""
    sql = (
        "SELECT t.summary_id FROM summaries me JOIN summaries t ON t.conversation_id = ?1 "
        "AND (t.created_at, t.summary_id) < (me.created_at, me.summary_id) "
        f"WHERE me.summary_id = ?2 AND {depth_number(reader, 't')} = ?3 "
        "ORDER BY t.created_at DESC, t.summary_id DESC"
    )
    return _paged(reader, sql, (conversation_id, summary_id, depth))


def by_age(reader: Reader, conversation_id: int | None = None) -> list[str]:
    """The summaries of a conversation (of the store without one) by conversation, ``created_at`` as text, and id."""
    where, values = ("", ()) if conversation_id is None else ("WHERE conversation_id = ?", (conversation_id,))
    sql = f"SELECT summary_id FROM summaries {where} ORDER BY conversation_id, created_at, summary_id"
    return [str(row[0]) for row in reader.rows(sql, values)]


def suspects(reader: Reader, conversation_id: int | None = None) -> Iterator[Summary]:
    """The summaries that may be broken, one by one: each has the beginning of a mark, or the emergency model."""
    # instr and not LIKE: it is faster, minds the case, and does not stop at a NUL.
    hits = [f"instr(t.content, '{beginning}') > 0" for beginning in MARK_BEGINNINGS]
    hits.append(f"instr({reader.schema.column('summaries', 'model', alias='t')}, '{EMERGENCY_MODEL}') > 0")
    where, values = ("", ()) if conversation_id is None else ("t.conversation_id = ? AND ", (conversation_id,))
    return stream(reader, Summary, f"WHERE {where}({' OR '.join(hits)})", values)


def knows(reader: Reader, conversation_id: int) -> bool:
    """Whether a conversation exists, or at least a summary that says it belongs to it."""
    sql = (
        "SELECT EXISTS (SELECT 1 FROM conversations WHERE conversation_id = ?1) "
        "OR EXISTS (SELECT 1 FROM summaries WHERE conversation_id = ?1)"
    )
    return bool(reader.value(sql, (conversation_id,)))


def _paged(reader: Reader, sql: str, values: tuple[object, ...]) -> Iterator[str]:
    """First column of a query, a page at a time: the first row or two are usually enough."""
    offset = 0
    while page := reader.all(f"{sql} LIMIT {_PAGE} OFFSET {offset}", values):
        yield from (str(row[0]) for row in page)
        offset += _PAGE
