"""What the health checks read about structure: conversations, places, edges, links and their owners.

Everything here is a SELECT that returns typed rows; what a row means is decided in ``analysis.health``. The invariant:
no function reads a body, and those that take a conversation touch only its rows where the store's indexes allow it.
Checked by ``tests/store/test_checks.py``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from lcm_lab.store.connect import Reader
from lcm_lab.store.messages import batches, marks

WHITE: Final = "char(9,10,11,12,13,32,133,160,8232,8233,8239,12288,65279)"
"""SQL: the characters that leave a text blank."""


@dataclass(frozen=True, slots=True)
class Item:
    """A context item as stored, and who owns what it points to (None: it is not there)."""

    conversation_id: int
    ordinal: Any
    item_type: Any
    message_id: Any
    summary_id: Any
    message_owner: int | None
    seq: Any
    summary_owner: int | None
    depth: Any

    @property
    def key(self) -> str:
        """``conversation:ordinal``."""
        return f"{self.conversation_id}:{self.ordinal}"

    @property
    def resolves(self) -> bool:
        """Whether the row it points to is there and is the only one it names."""
        if self.item_type == "message":
            return self.message_owner is not None and self.summary_id is None
        return self.item_type == "summary" and self.summary_owner is not None and self.message_id is None


@dataclass(frozen=True, slots=True)
class EdgeFact:
    """An edge and the conversations of its two ends (None: that end is not there)."""

    derived: str
    source: str
    ordinal: Any
    derived_owner: int | None
    source_owner: int | None

    @property
    def key(self) -> str:
        """``derived->source``."""
        return f"{self.derived}->{self.source}"


@dataclass(frozen=True, slots=True)
class LinkFact:
    """A link of a summary to a message, and the conversations of both (None: not there)."""

    summary_id: str
    message_id: Any
    ordinal: Any
    summary_owner: int | None
    message_owner: int | None

    @property
    def key(self) -> str:
        """``summary->message``."""
        return f"{self.summary_id}->{self.message_id}"


@dataclass(frozen=True, slots=True)
class Lane:
    """A conversation's identity and state; None where the store has no such column or no value."""

    conversation_id: int
    session_key: str | None
    active: Any
    archived_at: str | None
    soft_reset_at: str | None


@dataclass(frozen=True, slots=True)
class Maintenance:
    """The plugin's own note that it wants to compact a conversation, or is at it."""

    conversation_id: int
    pending: bool
    running: bool
    started_at: str | None
    failure: str | None


def conversation_ids(reader: Reader) -> list[int]:
    """Every conversation that has a row, or that some message, summary, item or file says it belongs to."""
    found: set[int] = set()
    for table in ("conversations", "messages", "summaries", "context_items", "large_files"):
        if reader.schema.has(table, "conversation_id"):
            sql = f'SELECT DISTINCT conversation_id FROM "{table}"'
            found.update(row[0] for row in reader.rows(sql) if isinstance(row[0], int))
    return sorted(found)


def belongs(reader: Reader, conversation_id: int) -> bool:
    """Whether any row says it is of this conversation."""
    return any(
        reader.value(f'SELECT 1 FROM "{table}" WHERE conversation_id = ? LIMIT 1', (conversation_id,)) is not None
        for table in ("conversations", "messages", "summaries", "context_items")
        if reader.schema.has(table, "conversation_id")
    )


def lanes(reader: Reader, conversation_id: int | None = None) -> list[Lane]:
    """The conversation rows; of one conversation where its id is given."""
    column = reader.schema.column
    pruned = "NULL"
    if reader.schema.has("conversation_bootstrap_state", "soft_reset_pruned_at"):
        pruned = (
            "(SELECT max(b.soft_reset_pruned_at) FROM conversation_bootstrap_state b "
            "WHERE b.conversation_id = t.conversation_id)"
        )
    names = ", ".join(column("conversations", name, alias="t") for name in ("session_key", "active", "archived_at"))
    sql = f"SELECT t.conversation_id, {names}, {pruned} FROM conversations t"
    if conversation_id is None:
        return [Lane(*row) for row in reader.rows(f"{sql} ORDER BY 1")]
    return [Lane(*row) for row in reader.rows(f"{sql} WHERE t.conversation_id = ?", (conversation_id,))]


def items(reader: Reader, conversation_id: int) -> list[Item]:
    """The context of a conversation in stored order, each item with the owner of its target."""
    sql = """
        SELECT c.conversation_id, c.ordinal, c.item_type, c.message_id, c.summary_id,
               m.conversation_id, m.seq, s.conversation_id, s.depth
        FROM context_items c LEFT JOIN messages m ON m.message_id = c.message_id
        LEFT JOIN summaries s ON s.summary_id = c.summary_id
        WHERE c.conversation_id = ? ORDER BY c.ordinal"""
    return [Item(*row) for row in reader.rows(sql, (conversation_id,))]


def edges(reader: Reader, conversation_id: int) -> list[EdgeFact]:
    """Edges with an end in the conversation; an edge that leads in from another one comes with that owner."""
    head = "SELECT e.summary_id, e.parent_summary_id, e.ordinal, s.conversation_id, p.conversation_id"
    sql = f"""
        {head} FROM summaries s JOIN summary_parents e ON e.summary_id = s.summary_id
        LEFT JOIN summaries p ON p.summary_id = e.parent_summary_id WHERE s.conversation_id = ?1
        UNION ALL
        {head} FROM summaries p JOIN summary_parents e ON e.parent_summary_id = p.summary_id
        LEFT JOIN summaries s ON s.summary_id = e.summary_id
        WHERE p.conversation_id = ?1 AND s.conversation_id IS NOT ?1
        ORDER BY 1, 3, 2"""
    return [EdgeFact(*row) for row in reader.rows(sql, (conversation_id,))]


def links(reader: Reader, conversation_id: int) -> Iterator[LinkFact]:
    """Links of the conversation's summaries, by summary and ordinal; ids only, one by one."""
    sql = """
        SELECT l.summary_id, l.message_id, l.ordinal, s.conversation_id, m.conversation_id
        FROM summaries s JOIN summary_messages l ON l.summary_id = s.summary_id
        LEFT JOIN messages m ON m.message_id = l.message_id
        WHERE s.conversation_id = ? ORDER BY l.summary_id, l.ordinal, l.message_id"""
    return (LinkFact(*row) for row in reader.rows(sql, (conversation_id,)))


def links_from_elsewhere(reader: Reader, conversation_id: int) -> list[LinkFact]:
    """Links to the conversation's messages whose summary is missing or belongs to another conversation."""
    sql = """
        SELECT l.summary_id, l.message_id, l.ordinal, s.conversation_id, m.conversation_id
        FROM messages m JOIN summary_messages l ON l.message_id = m.message_id
        LEFT JOIN summaries s ON s.summary_id = l.summary_id
        WHERE m.conversation_id = ?1 AND s.conversation_id IS NOT ?1"""
    return [LinkFact(*row) for row in reader.rows(sql, (conversation_id,))]


def lost_edges(reader: Reader) -> list[EdgeFact]:
    """Edges of which neither end is there."""
    sql = """
        SELECT e.summary_id, e.parent_summary_id, e.ordinal, NULL, NULL FROM summary_parents e
        WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.summary_id = e.summary_id)
          AND NOT EXISTS (SELECT 1 FROM summaries s WHERE s.summary_id = e.parent_summary_id)"""
    return [EdgeFact(*row) for row in reader.rows(sql)]


def all_edges(reader: Reader) -> list[EdgeFact]:
    """Every edge of the store of which an end is there."""
    sql = """
        SELECT e.summary_id, e.parent_summary_id, e.ordinal, s.conversation_id, p.conversation_id
        FROM summary_parents e LEFT JOIN summaries s ON s.summary_id = e.summary_id
        LEFT JOIN summaries p ON p.summary_id = e.parent_summary_id
        WHERE s.summary_id IS NOT NULL OR p.summary_id IS NOT NULL"""
    return [EdgeFact(*row) for row in reader.rows(sql)]


def lost_links(reader: Reader) -> list[LinkFact]:
    """Links of which neither the summary nor the message is there."""
    sql = """
        SELECT l.summary_id, l.message_id, l.ordinal, NULL, NULL FROM summary_messages l
        WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.summary_id = l.summary_id)
          AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.message_id = l.message_id)"""
    return [LinkFact(*row) for row in reader.rows(sql)]


def blank_messages(reader: Reader, ids: Iterable[int]) -> set[int]:
    """Those of ``ids`` that say nothing: blank content and no parts."""
    parts = ""
    if reader.schema.has("message_parts"):
        parts = "AND NOT EXISTS (SELECT 1 FROM message_parts p WHERE p.message_id = m.message_id)"
    found: set[int] = set()
    for batch in batches(ids):
        where = f"m.message_id IN ({marks(batch)}) AND trim(m.content, {WHITE}) = '' {parts}"
        found.update(row[0] for row in reader.rows(f"SELECT m.message_id FROM messages m WHERE {where}", tuple(batch)))
    return found


def file_owners(reader: Reader, ids: Iterable[str]) -> dict[str, int]:
    """The conversation of each large file in ``ids`` that exists."""
    return {
        row[0]: row[1]
        for batch in batches(ids)
        for row in reader.rows(
            f"SELECT file_id, conversation_id FROM large_files WHERE file_id IN ({marks(batch)})", tuple(batch)
        )
    }


def existing_summaries(reader: Reader, ids: Iterable[str]) -> set[str]:
    """Those of ``ids`` that are summaries of the store."""
    return {
        row[0]
        for batch in batches(ids)
        for row in reader.rows(f"SELECT summary_id FROM summaries WHERE summary_id IN ({marks(batch)})", tuple(batch))
    }


def maintenance(reader: Reader, conversation_id: int) -> list[Maintenance]:
    """The conversation's maintenance row, if the plugin left one open."""
    table = "conversation_compaction_maintenance"
    if not reader.schema.has(table, "pending"):
        return []
    column = reader.schema.column
    sql = (
        f"SELECT conversation_id, pending = 1, {column(table, 'running')} = 1, {column(table, 'last_started_at')}, "
        f"{column(table, 'last_failure_summary')} FROM {table} "
        f"WHERE conversation_id = ? AND (pending = 1 OR {column(table, 'running')} = 1)"
    )
    return [
        Maintenance(row[0], bool(row[1]), bool(row[2]), row[3], row[4]) for row in reader.rows(sql, (conversation_id,))
    ]


def broken_numbers(reader: Reader, conversation_id: int) -> dict[str, str]:
    """Summaries of a conversation that hold something else than a whole number in a count, with which column."""
    names = ("depth", "descendant_count", "descendant_token_count", "source_message_token_count")
    tests = [
        f"CASE WHEN typeof(t.{name}) <> 'integer' THEN '{name} ' ELSE '' END"
        for name in names
        if reader.schema.has("summaries", name)
    ]
    sql = f"SELECT t.summary_id, trim({' || '.join(tests)}) FROM summaries t WHERE t.conversation_id = ?"
    return {row[0]: row[1] for row in reader.rows(sql, (conversation_id,)) if row[1]}
