"""The faults planted in the finished demo store: what crashes, replays and other tools leave behind.

Everything else in the demo is sound, so a doctor that finds these and no more works. Faults that lie in a text (a
fallback marker, a copied source, a replayed run) stand in the demo text itself. ``data/demo/README.md`` names the row
and the finding of each, and ``tests/test_demo_store.py`` compares that table with the store.
"""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

MISSING_MESSAGE: Final = 900_001
"""The id of the message that the dangling context item points at."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Names of the demo text, resolved: marked messages, and summaries by (conversation, label)."""

    messages: Mapping[str, int]
    summaries: Mapping[tuple[int, str], str]


def plant(connection: sqlite3.Connection, labels: Labels, *, indexed: bool) -> None:
    """Plant the faults; ``indexed`` says that the store has full-text tables."""
    _count_lost(connection, labels.messages["uncounted"])
    _still_in_context(connection, labels.messages["kept"])
    _gap(connection, conversation=2, after_messages=4, width=3)
    _dangling(connection, conversation=2)
    if indexed:
        _stale_index(connection, labels.summaries[1, "L03"])


def _count_lost(connection: sqlite3.Connection, message: int) -> None:
    """A message of some length whose count was never written."""
    connection.execute("UPDATE messages SET token_count = 0 WHERE message_id = ?", (message,))


def _still_in_context(connection: sqlite3.Connection, message: int) -> None:
    """A message that a compaction covered and then left in the context, right after the summaries."""
    (conversation, at) = connection.execute(
        "SELECT conversation_id, created_at FROM messages WHERE message_id = ?", (message,)
    ).fetchone()
    (place,) = connection.execute(
        "SELECT 1 + max(ordinal) FROM context_items WHERE conversation_id = ? AND item_type = 'summary'",
        (conversation,),
    ).fetchone()
    _shift(connection, conversation, place, 1)
    connection.execute(
        "INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) "
        "VALUES (?, ?, 'message', ?, ?)",
        (conversation, place, message, at),
    )


def _gap(connection: sqlite3.Connection, *, conversation: int, after_messages: int, width: int) -> None:
    """Ordinals missing in the middle of the fresh tail, as a removal leaves them."""
    (first,) = connection.execute(
        "SELECT min(ordinal) FROM context_items WHERE conversation_id = ? AND item_type = 'message'", (conversation,)
    ).fetchone()
    _shift(connection, conversation, first + after_messages, width)


def _dangling(connection: sqlite3.Connection, *, conversation: int) -> None:
    """A last context item that points at a message that was deleted."""
    connection.execute(
        "INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, created_at) "
        "SELECT conversation_id, 1 + max(ordinal), 'message', ?, max(created_at) FROM context_items "
        "WHERE conversation_id = ?",
        (MISSING_MESSAGE, conversation),
    )


def _stale_index(connection: sqlite3.Connection, summary: str) -> None:
    """A full-text row that still holds the text from before a rewrite."""
    before = (
        "The catalogue import was planned as a single script that runs at night. Images would stay on the old server."
        "\nExpand for details about: the night run, the old image paths"
    )
    connection.execute("UPDATE summaries_fts SET content = ? WHERE summary_id = ?", (before, summary))


def _shift(connection: sqlite3.Connection, conversation: int, start: int, width: int) -> None:
    """Move the items from ordinal ``start`` on up by ``width``, by way of negatives: the key must hold throughout."""
    connection.execute(
        "UPDATE context_items SET ordinal = -(ordinal + ?) - 1 WHERE conversation_id = ? AND ordinal >= ?",
        (width, conversation, start),
    )
    connection.execute(
        "UPDATE context_items SET ordinal = -ordinal - 1 WHERE conversation_id = ? AND ordinal < 0", (conversation,)
    )
