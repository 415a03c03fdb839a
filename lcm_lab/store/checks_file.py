"""What the health checks read of the file as a whole: SQLite's own check, its size, and rows whose owner is missing.

References are those that the store's tables declare, so a table of a later day is looked at, too, and those that we
know. Checked by ``tests/store/test_checks.py``.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import SERVICE_TABLES, quote

_POINTERS: Final = frozenset(
    {
        ("context_items", "message_id"),
        ("context_items", "summary_id"),
        ("summary_messages", "summary_id"),
        ("summary_messages", "message_id"),
        ("summary_parents", "summary_id"),
        ("summary_parents", "parent_summary_id"),
    }
)
"""References whose dangling ends have rules of their own (C3, C4, L1, L3)."""


@dataclass(frozen=True, slots=True)
class Orphans:
    """Rows of ``table`` whose ``column`` names a row of ``parent`` that does not exist."""

    table: str
    column: str
    parent: str
    ids: tuple[str, ...]


def quick_check(reader: Reader, table: str | None = None) -> Iterator[str]:
    """What SQLite's own quick check says, of the whole file or of one table; nothing when all is well.

    Raises:
        sqlite3.DatabaseError: the check itself met a page it cannot read; what it said before was given already.
    """
    sql = "PRAGMA quick_check(100)" if table is None else f"PRAGMA quick_check({quote(table)})"
    return (str(row[0]) for row in reader.rows(sql) if row[0] != "ok")


def size(reader: Reader) -> int:
    """The store's size in bytes, from its page count."""
    return int(reader.value("PRAGMA page_count")) * int(reader.value("PRAGMA page_size"))


def orphans(reader: Reader) -> Iterator[Orphans]:
    """Rows whose owner is missing, for each declared or known reference that no rule of its own looks at."""
    for table, column, parent, parent_column in _references(reader):
        key = " || ':' || ".join(f"t.{quote(name)}" for name in KEYS.get(table, ("rowid",)))
        sql = (
            f"SELECT {key} FROM {quote(table)} t WHERE t.{quote(column)} IS NOT NULL AND NOT EXISTS "
            f"(SELECT 1 FROM {quote(parent)} p WHERE p.{quote(parent_column)} = t.{quote(column)})"
        )
        ids = tuple(str(row[0]) for row in reader.rows(sql))
        if ids:
            yield Orphans(table, column, parent, ids)


def _references(reader: Reader) -> list[tuple[str, str, str, str]]:
    has = reader.schema.has
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for table in reader.schema.tables:
        for row in reader.all('SELECT id, seq, "table", "from", "to" FROM pragma_foreign_key_list(?)', (table,)):
            found[table, row[3]] = (row[2], row[4] or row[3])
    for table in reader.schema.tables:
        known = table in SERVICE_TABLES or table in KEYS
        if known and table != "conversations" and has(table, "conversation_id"):
            found.setdefault((table, "conversation_id"), ("conversations", "conversation_id"))
    if has("message_parts", "message_id"):
        found.setdefault(("message_parts", "message_id"), ("messages", "message_id"))
    return [
        (table, column, parent, parent_column)
        for (table, column), (parent, parent_column) in found.items()
        if (table, column) not in _POINTERS and has(table, column) and has(parent, parent_column)
    ]
