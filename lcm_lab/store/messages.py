"""Messages and their parts: windows of a conversation, keyset-paged by ``seq``, and rows by id."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeVar

from lcm_lab.store import measure
from lcm_lab.store.connect import Note, Reader
from lcm_lab.store.rows import Message, Part, load, select_list, typed
from lcm_lab.store.text import message_text

T = TypeVar("T")
_BATCH: Final = 900


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message with its text, its token number and the rule that gave it (``stored`` or ``estimated``)."""

    message: Message
    text: str
    tokens: int
    rule: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """Part of a conversation in ``seq`` order, and whether there is more on either side."""

    messages: tuple[MessageView, ...]
    has_older: bool
    has_newer: bool
    notes: tuple[Note, ...] = ()


def window(
    reader: Reader, conversation_id: int, *, size: int, before: int | None = None, after: int | None = None
) -> Window:
    """``size`` messages of a conversation: the newest, or those with ``seq`` below ``before`` or above ``after``."""
    where, parameters = "t.conversation_id = ?", [conversation_id]
    if after is not None:
        tail, parameters = f"WHERE {where} AND t.seq > ? ORDER BY t.seq LIMIT ?", [*parameters, after, size]
    elif before is not None:
        tail, parameters = f"WHERE {where} AND t.seq < ? ORDER BY t.seq DESC LIMIT ?", [*parameters, before, size]
    else:
        tail, parameters = f"WHERE {where} ORDER BY t.seq DESC LIMIT ?", [*parameters, size]
    found = sorted(load(reader, Message, tail, tuple(parameters)), key=lambda one: one.seq)
    if not found:
        beyond = before if before is not None else after
        return Window((), before is None and beyond is not None, before is not None and _any(reader, conversation_id))
    older = _any(reader, conversation_id, "seq < ?", found[0].seq)
    newer = _any(reader, conversation_id, "seq > ?", found[-1].seq)
    return Window(tuple(views(reader, found)), older, newer)


def by_ids(reader: Reader, ids: Iterable[int]) -> dict[int, MessageView]:
    """Messages by id; ids that do not exist are left out."""
    found: dict[int, MessageView] = {}
    for batch in batches(ids):
        rows = load(reader, Message, f"WHERE t.message_id IN ({marks(batch)})", tuple(batch))
        found.update((view.message.message_id, view) for view in views(reader, rows))
    return found


def views(reader: Reader, messages: Sequence[Message]) -> list[MessageView]:
    """Messages with text, tokens and parts."""
    parts = parts_of(reader, [one.message_id for one in messages])
    numbers = _tokens_of(reader, [one.message_id for one in messages])
    result = []
    for one in messages:
        own = tuple(parts.get(one.message_id, ()))
        tokens, rule = numbers.get(one.message_id, (0, "estimated"))
        result.append(MessageView(one, message_text(one, own), tokens, rule, own))
    return result


def parts_of(reader: Reader, ids: Iterable[int]) -> dict[int, list[Part]]:
    """Parts by message id, each list by ordinal."""
    found: dict[int, list[Part]] = {}
    for batch in batches(ids):
        tail = f"WHERE t.message_id IN ({marks(batch)}) ORDER BY t.message_id, t.ordinal"
        for part in load(reader, Part, tail, tuple(batch)):
            found.setdefault(part.message_id, []).append(part)
    return found


def after(reader: Reader, conversation_id: int, seq: int | None) -> tuple[int, int]:
    """How many messages of a conversation have a ``seq`` above this one (None: how many it has), and their tokens."""
    tokens = measure.message_tokens(reader.schema, "t")
    where, more = ("", ()) if seq is None else ("AND t.seq > ?", (seq,))
    sql = f"SELECT count(*), COALESCE(sum({tokens}), 0) FROM messages t WHERE t.conversation_id = ? {where}"
    count, total = reader.all(sql, (conversation_id, *more))[0]
    return count, total


def ids(reader: Reader, conversation_id: int) -> frozenset[int]:
    """The ids of all messages of a conversation."""
    sql = "SELECT message_id FROM messages WHERE conversation_id = ?"
    return frozenset(row[0] for row in reader.rows(sql, (conversation_id,)))


def linked(reader: Reader, summary_id: str) -> list[Message]:
    """The messages a leaf was made from, in their order; missing ones are left out."""
    sql = (
        f"SELECT {select_list(reader, Message)} FROM summary_messages l JOIN messages t ON t.message_id = l.message_id "
        "WHERE l.summary_id = ? ORDER BY l.ordinal, t.seq"
    )
    return list(typed(reader, Message, reader.rows(sql, (summary_id,))))


def batches(items: Iterable[T]) -> Iterable[list[T]]:
    """``items`` in lists short enough for one ``IN (...)``."""
    rest = iter(items)
    while batch := list(islice(rest, _BATCH)):
        yield batch


def marks(batch: Sequence[object]) -> str:
    """The placeholders for ``batch``."""
    return ",".join("?" * len(batch))


def _any(reader: Reader, conversation_id: int, condition: str = "1", *values: int) -> bool:
    sql = f"SELECT EXISTS (SELECT 1 FROM messages WHERE conversation_id = ? AND {condition})"
    return bool(reader.value(sql, (conversation_id, *values)))


def _tokens_of(reader: Reader, ids: Sequence[int]) -> dict[int, tuple[int, str]]:
    found: dict[int, tuple[int, str]] = {}
    columns = f"t.message_id, {measure.message_tokens(reader.schema, 't')}, {measure.message_rule('t')}"
    for batch in batches(ids):
        sql = f"SELECT {columns} FROM messages t WHERE t.message_id IN ({marks(batch)})"
        found.update((row[0], (row[1], row[2])) for row in reader.rows(sql, tuple(batch)))
    return found
