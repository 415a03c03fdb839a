"""The memory's database, opened as any store is: for reading, for the length of one call, without a trace.

Idea: the hooks write this file from many short processes, so a reader that keeps a lock or a connection would be in
their way; :class:`~lcm_lab.store.connect.StoreFile` already looks at a WAL file without either. Only what makes a file
one of ours, and the words for what is wrong, differ.
Invariant: a look creates no file and changes none; a file of a newer version is refused, not guessed at.
Checked by ``tests/memory/test_file.py``.
"""

import sqlite3
from typing import Final

from lcm_lab.errors import NotAStore, StoreDamaged, StoreError
from lcm_lab.hooks import memory_db, memory_schema
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.schema import Schema

NAME: Final = memory_db.FILE
_TABLES: Final = frozenset({"sessions", "turns", "skeletons", "judgments", "details", "injection_log"})


class _OwnSchema(Schema):
    """The memory has all its tables, and none of an LCM store stands in for another."""

    __slots__ = ()

    def stand_ins(self) -> list[str]:
        """Nothing to make."""
        return []


class MemoryFile(StoreFile):
    """A session memory at a path."""

    def schema_of(self, connection: sqlite3.Connection) -> Schema:
        """A memory has one schema; that it is ours, and not newer than we know."""
        version = int(connection.execute("PRAGMA user_version").fetchone()[0])
        names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not names >= _TABLES:
            raise NotAStore(f"{self.given} is an SQLite database but no session memory of the hooks.")
        if version > memory_schema.VERSION:
            raise StoreError(
                f"{self.given} was written by newer hooks (schema {version}, this lcm-lab reads "
                f"{memory_schema.VERSION}); update lcm-lab."
            )
        return _OwnSchema(tables={}, full_text=frozenset())

    def _missing_text(self) -> str:
        return (
            f"There is no session memory at {self.given}. 'lcm-lab hooks install' starts one, 'lcm-lab memory import' "
            "makes one of the sessions you have, and 'lcm-lab memory --demo stats' shows a made-up one."
        )

    def explain(self, error: sqlite3.Error) -> StoreError:
        """As of any store; a damaged memory may be put aside, a store may not."""
        found = super().explain(error)
        if isinstance(found, StoreDamaged):
            return StoreDamaged(f"{self.given} is damaged: {error}. Put it aside; the next event makes an empty one.")
        return found
