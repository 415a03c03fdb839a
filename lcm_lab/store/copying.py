"""What a deep copy of summaries reads: whole rows by the hundred, and what already lies where they go.

The invariant: rows come exactly as they lie in the store (see :mod:`lcm_lab.store.images`), columns we do not know
included, and no question is asked once per row. Checked by ``tests/repairs/test_transplant.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from lcm_lab.store.connect import Reader
from lcm_lab.store.images import Image, RawText, Value, decode
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.rows import Summary, load
from lcm_lab.store.schema import quote


@dataclass(frozen=True, slots=True)
class Held:
    """A summary that a conversation holds, by the hash of its text."""

    summary_id: str
    kind: Value
    depth: Value
    digest: str
    blank: bool


@dataclass(frozen=True, slots=True)
class Place:
    """An item of a context with what orders it; ``resolves`` is false where it does not lead to exactly one row."""

    ordinal: int
    item_type: str
    ref: int | str
    created_at: Value
    resolves: bool
    depth: int
    written_at: str

    @property
    def key(self) -> tuple[str, int | str]:
        """What stands there."""
        return (self.item_type, self.ref)


def rows_of(reader: Reader, table: str, column: str, values: Iterable[Value]) -> list[Image]:
    """The rows of a table whose ``column`` holds one of ``values``, in no order; none where there is no such table."""
    if not reader.schema.has(table, column):
        return []
    found: list[Image] = []
    for batch in batches(values):
        names, rows = _raw(
            reader, f"SELECT * FROM {quote(table)} WHERE {quote(column)} IN ({marks(batch)})", tuple(batch)
        )
        found += [dict(zip(names, row, strict=True)) for row in rows]
    return found


def held(reader: Reader, conversation_id: int) -> list[Held]:
    """The summaries of a conversation by the hash of their texts, oldest first."""
    if not reader.schema.has("summaries", "content"):
        return []
    depth = reader.schema.column("summaries", "depth")
    ids = [
        row[0]
        for row in reader.all(
            "SELECT summary_id FROM summaries WHERE conversation_id = ? ORDER BY created_at, summary_id",
            (conversation_id,),
        )
    ]
    found = {}
    for batch in batches(ids):
        sql = f"SELECT summary_id, kind, {depth}, content FROM summaries WHERE summary_id IN ({marks(batch)})"
        for summary_id, kind, deep, content in _raw(reader, sql, tuple(batch))[1]:
            found[summary_id] = Held(summary_id, kind, deep, digest(content), not text_bytes(content).strip())
    return [found[one] for one in ids if one in found]


def text_bytes(value: Value) -> bytes:
    """A stored text as its bytes; empty for NULL."""
    if isinstance(value, bytes):
        return bytes(value)
    return b"" if value is None else str(value).encode("utf-8", "surrogatepass")


def digest(content: Value) -> str:
    """The hash by which two texts are the same."""
    return sha256(text_bytes(content)).hexdigest()


def identity_hash(role: Value, content: Value) -> str | None:
    """The hash a message is known by: role, NUL, text; None where the text is none."""
    if not isinstance(content, str | RawText):
        return None
    return sha256(text_bytes(role) + b"\0" + text_bytes(content)).hexdigest()


def places(reader: Reader, conversation_id: int) -> list[Place]:
    """The context of a conversation in stored order."""
    depth = reader.schema.column("summaries", "depth", alias="s")
    sql = f"""
        SELECT c.ordinal, c.item_type, c.message_id, c.summary_id, c.created_at,
               m.message_id IS NOT NULL, s.summary_id IS NOT NULL, {depth}, s.created_at
        FROM context_items c LEFT JOIN messages m ON m.message_id = c.message_id
        LEFT JOIN summaries s ON s.summary_id = c.summary_id
        WHERE c.conversation_id = ? ORDER BY c.ordinal"""
    found = []
    for row in _raw(reader, sql, (conversation_id,))[1]:
        ordinal, kind, message_id, summary_id, created_at, message_there, summary_there, deep, written_at = row
        is_message = kind == "message"
        ref = message_id if is_message else summary_id
        whole = (message_there and summary_id is None) if is_message else (summary_there and message_id is None)
        found.append(
            Place(
                ordinal=ordinal,
                item_type=str(kind),
                ref=ref if isinstance(ref, int | str) else "" if ref is None else str(ref),
                created_at=created_at,
                resolves=bool(whole) and kind in ("message", "summary"),
                depth=deep if isinstance(deep, int) else 0,
                written_at=written_at if isinstance(written_at, str) else "",
            )
        )
    return found


def with_texts(reader: Reader, ids: Iterable[str]) -> dict[str, Summary]:
    """Summaries as every view reads them, by id."""
    return {
        one.summary_id: one
        for batch in batches(ids)
        for one in load(reader, Summary, f"WHERE t.summary_id IN ({marks(batch)})", tuple(batch))
    }


def taken(reader: Reader, conversation_id: int, column: str) -> set[Value]:
    """The values that messages of a conversation have in a column that must be unique."""
    if not reader.schema.has("messages", column):
        return set()
    sql = f"SELECT {quote(column)} FROM messages WHERE conversation_id = ? AND {quote(column)} IS NOT NULL"
    return {row[0] for row in _raw(reader, sql, (conversation_id,))[1]}


def sizes(reader: Reader, conversation_id: int) -> tuple[int, int]:
    """How many summaries and how many messages a conversation has."""
    sql = (
        "SELECT (SELECT count(*) FROM summaries WHERE conversation_id = ?1), "
        "(SELECT count(*) FROM messages WHERE conversation_id = ?1)"
    )
    row = reader.all(sql, (conversation_id,))[0]
    return int(row[0]), int(row[1])


def _raw(reader: Reader, sql: str, parameters: tuple[Any, ...]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Column names and all rows, texts that are not valid UTF-8 as their bytes."""
    connection = reader.connection
    kept, connection.text_factory = connection.text_factory, decode
    try:
        cursor = connection.execute(sql, parameters)
        return [one[0] for one in cursor.description], cursor.fetchall()
    finally:
        connection.text_factory = kept
