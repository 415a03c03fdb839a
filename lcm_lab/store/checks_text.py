"""What the health checks read of texts: messages and summaries of one conversation, streamed one by one.

The invariant: at most one body is in memory at a time, however long the conversation; what is kept of a row is up to
the caller. Values come as they lie in the store, whatever their type. Checked by ``tests/store/test_checks.py``.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from lcm_lab.store import measure
from lcm_lab.store.checks import WHITE
from lcm_lab.store.connect import Reader
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.text import PAYLOADS


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message with its text; ``whole`` is false where the text was not valid UTF-8.

    ``stored`` is the count as it lies in the store, ``tokens`` the number that every view shows.
    """

    message_id: int
    seq: Any
    role: str
    content: str
    stored: Any
    identity_hash: str | None
    created_at: Any
    tokens: int
    whole: bool


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """A summary with its text. ``stored`` and the other numbers are as they lie in the store, ``tokens`` is not."""

    summary_id: str
    conversation_id: int
    kind: str
    depth: Any
    content: str
    stored: Any
    earliest_at: Any
    latest_at: Any
    descendant_count: Any
    descendant_tokens: Any
    source_tokens: Any
    created_at: Any
    file_ids: Any
    model: str | None
    tokens: int


@dataclass(frozen=True, slots=True)
class ToolPart:
    """A tool part in message order: whose it is, the role of that message, and the call it belongs to."""

    message_id: int
    role: str
    call_id: str | None


def messages(reader: Reader, conversation_id: int) -> Iterator[MessageRow]:
    """The messages of a conversation in ``seq`` order, one by one."""
    hashes = reader.schema.column("messages", "identity_hash", alias="m")
    sql = (
        f"SELECT m.message_id, m.seq, m.role, m.content, m.token_count, {hashes}, m.created_at, "
        f"{measure.message_tokens(reader.schema, 'm')} FROM messages m WHERE m.conversation_id = ? ORDER BY m.seq"
    )
    reader.take_broken_text()
    for row in reader.rows(sql, (conversation_id,)):
        whole = not reader.take_broken_text()
        yield MessageRow(row[0], row[1], str(row[2]), _text(row[3]), row[4], row[5], row[6], row[7], whole)


def summaries(reader: Reader, conversation_id: int) -> Iterator[SummaryRow]:
    """The summaries of a conversation with their texts, one by one, oldest first."""

    def column(name: str) -> str:
        return reader.schema.column("summaries", name, alias="t")

    names = (
        "earliest_at",
        "latest_at",
        "descendant_count",
        "descendant_token_count",
        "source_message_token_count",
        "created_at",
        "file_ids",
        "model",
    )
    sql = (
        f"SELECT t.summary_id, t.conversation_id, t.kind, {column('depth')}, t.content, t.token_count, "
        f"{', '.join(column(name) for name in names)}, {measure.summary_tokens('t')} FROM summaries t "
        "WHERE t.conversation_id = ? ORDER BY t.created_at, t.summary_id"
    )
    for row in reader.rows(sql, (conversation_id,)):
        yield SummaryRow(str(row[0]), row[1], str(row[2]), row[3], _text(row[4]), *row[5:])


def part_sizes(reader: Reader, ids: Iterable[int]) -> dict[int, int]:
    """Characters of text, tool input, output and error in the parts of each of ``ids``; ignored parts left out."""
    if not reader.schema.has("message_parts"):
        return {}
    column = reader.schema.column
    sizes = " + ".join(f"length(COALESCE({column('message_parts', name, alias='p')}, ''))" for name in PAYLOADS)
    ignored = f"COALESCE({column('message_parts', 'is_ignored', alias='p')}, 0)"
    found: dict[int, int] = {}
    for batch in batches(ids):
        sql = (
            f"SELECT p.message_id, sum({sizes}) FROM message_parts p "
            f"WHERE p.message_id IN ({marks(batch)}) AND {ignored} <> 1 GROUP BY p.message_id"
        )
        found.update((row[0], int(row[1] or 0)) for row in reader.rows(sql, tuple(batch)))
    return found


def part_texts(reader: Reader, message_id: int) -> list[str]:
    """The non-blank texts in the parts of a message, in order, without labels."""
    if not reader.schema.has("message_parts"):
        return []
    column = reader.schema.column
    columns = ", ".join(column("message_parts", name, alias="p") for name in PAYLOADS)
    ignored = f"COALESCE({column('message_parts', 'is_ignored', alias='p')}, 0)"
    sql = f"SELECT {columns} FROM message_parts p WHERE p.message_id = ? AND {ignored} <> 1 ORDER BY p.ordinal"
    return [text for row in reader.rows(sql, (message_id,)) for text in row if isinstance(text, str) and text.strip()]


def messages_with_parts(reader: Reader, ids: Iterable[int]) -> set[int]:
    """Those of ``ids`` that have at least one part."""
    if not reader.schema.has("message_parts"):
        return set()
    return {
        row[0]
        for batch in batches(ids)
        for row in reader.rows(
            f"SELECT DISTINCT message_id FROM message_parts WHERE message_id IN ({marks(batch)})", tuple(batch)
        )
    }


def tool_parts(reader: Reader, conversation_id: int) -> Iterator[ToolPart]:
    """The parts that call a tool or carry its result, in message and part order; a result may lie in a text part."""
    if not reader.schema.has("message_parts"):
        return iter(())
    call = reader.schema.column("message_parts", "tool_call_id", alias="p")
    sql = (
        f"SELECT m.message_id, m.role, {call} FROM messages m JOIN message_parts p ON p.message_id = m.message_id "
        "WHERE m.conversation_id = ? AND (p.part_type = 'tool' OR m.role = 'tool') ORDER BY m.seq, p.ordinal"
    )
    return (ToolPart(row[0], str(row[1]), row[2]) for row in reader.rows(sql, (conversation_id,)))


def untidy_parts(reader: Reader, conversation_id: int) -> list[int]:
    """Messages whose parts are not numbered 0, 1, 2 and so on."""
    if not reader.schema.has("message_parts"):
        return []
    sql = """
        SELECT p.message_id FROM messages m JOIN message_parts p ON p.message_id = m.message_id
        WHERE m.conversation_id = ? GROUP BY p.message_id
        HAVING min(p.ordinal) <> 0 OR max(p.ordinal) <> count(*) - 1 OR count(DISTINCT p.ordinal) <> count(*)
        ORDER BY 1"""
    return [row[0] for row in reader.rows(sql, (conversation_id,))]


def content(reader: Reader, message_id: int) -> str:
    """The content of one message."""
    return _text(reader.value("SELECT content FROM messages WHERE message_id = ?", (message_id,)))


def beginning(reader: Reader, message_id: int, characters: int) -> str:
    """The first characters of a message's content, leading white space left out."""
    sql = f"SELECT substr(ltrim(content, {WHITE}), 1, ?) FROM messages WHERE message_id = ?"
    return _text(reader.value(sql, (characters, message_id)))


def summary_beginning(reader: Reader, summary_id: str, characters: int) -> str:
    """The first characters of a summary."""
    sql = f"SELECT substr(ltrim(content, {WHITE}), 1, ?) FROM summaries WHERE summary_id = ?"
    return _text(reader.value(sql, (characters, summary_id)))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else "" if value is None else str(value)
