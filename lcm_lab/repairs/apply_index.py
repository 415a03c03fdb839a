"""Full-text copies: every one that exists follows every change of a text, in the same transaction.

There are no triggers in a store; each writer keeps the copies in step himself. A copy that this SQLite cannot write
(damaged, or a tokenizer it does not have) is left as it is and named, and the repair goes on: an index is derived data.
Rows of a summary are found in the inner ``_content`` table, since the engine itself has no index on the id.
"""

import sqlite3
from typing import Final

from lcm_lab.repairs.apply_rows import Rows, bound
from lcm_lab.repairs.edits import SetIndex
from lcm_lab.store.images import Value
from lcm_lab.store.schema import quote

OF_SUMMARIES: Final = ("summaries_fts", "summaries_fts_cjk")
OF_MESSAGES: Final = "messages_fts"


class Index:
    """The full-text tables of a store inside a write transaction; ``notes`` names those that could not be written."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._known: dict[tuple[str, Value], list[int]] = {}
        self._last: dict[str, int] = {}
        self.notes: list[str] = []

    def tables(self, kind: str) -> tuple[str, ...]:
        """The copies of ``summaries`` or ``messages`` that this store has."""
        wanted = OF_SUMMARIES if kind == "summaries" else (OF_MESSAGES,)
        return tuple(one for one in wanted if one in self._rows.schema.full_text)

    def locate(self, summary_ids: set[str]) -> None:
        """Find the rows of these summaries now, before the write lock is taken: it reads the whole table."""
        for table in self.tables("summaries"):
            content = quote(f"{table}_content")
            try:
                self._last[table] = self._one(f"SELECT COALESCE(max(id), 0) FROM {content}")
                for row_id, summary_id in self._rows.connection.execute(f"SELECT id, c0 FROM {content}"):
                    if summary_id in summary_ids:
                        self._known.setdefault((table, summary_id), []).append(row_id)
            except sqlite3.DatabaseError:
                # Its inner table is damaged or missing; the write will say so.
                self._last.pop(table, None)

    def texts(self, table: str, key: int | str) -> tuple[Value, ...] | None:
        """What a full-text table holds for a summary or message; None where it cannot be read."""
        content = quote(f"{table}_content")
        column = "c0" if table == OF_MESSAGES else "c1"
        try:
            ids = self._ids(table, key)
            return tuple(
                row[0]
                for one in ids
                for row in self._rows.connection.execute(f"SELECT {column} FROM {content} WHERE id = ?", (one,))
            )
        except sqlite3.DatabaseError:
            return None

    def put(self, table: str, key: int | str, texts: tuple[Value, ...]) -> SetIndex | None:
        """Make the rows of a summary or message hold ``texts``; the inverse, or None where nothing could be written."""
        before = self.texts(table, key)
        connection = self._rows.connection
        connection.execute("SAVEPOINT full_text")
        try:
            for one in self._ids(table, key):
                connection.execute(f"DELETE FROM {quote(table)} WHERE rowid = ?", (one,))
            made = [self._insert(table, key, text) for text in texts]
        except sqlite3.DatabaseError as error:
            connection.execute("ROLLBACK TO full_text")
            self._note(
                f"{table} could not be brought up to date ({error}); the plugin rebuilds it, or searches without."
            )
            return None
        finally:
            connection.execute("RELEASE full_text")
        self._known[table, key] = made
        return None if before is None else SetIndex(table, key, tuple(texts), before)

    def _insert(self, table: str, key: int | str, text: Value) -> int:
        place, value = bound(text)
        if table == OF_MESSAGES:
            sql = f"INSERT INTO {quote(table)} (rowid, content) VALUES (?, {place})"
        else:
            sql = f"INSERT INTO {quote(table)} (summary_id, content) VALUES (?, {place})"
        return self._rows.connection.execute(sql, (key, value)).lastrowid or 0

    def _ids(self, table: str, key: int | str) -> list[int]:
        connection = self._rows.connection
        content = quote(f"{table}_content")
        if table == OF_MESSAGES:
            return [row[0] for row in connection.execute(f"SELECT id FROM {content} WHERE id = ?", (key,))]
        if table not in self._last:
            return [row[0] for row in connection.execute(f"SELECT id FROM {content} WHERE c0 = ? ORDER BY id", (key,))]
        # Those found before the lock, if they are still its own, and any that came since.
        known = self._known.get((table, key), [])
        own = [one for one in known if self._one(f"SELECT count(*) FROM {content} WHERE id = ? AND c0 = ?", one, key)]
        sql = f"SELECT id FROM {content} WHERE id > ? AND c0 = ? ORDER BY id"
        return sorted({*own, *(row[0] for row in connection.execute(sql, (self._last[table], key)))})

    def _one(self, sql: str, *values: Value) -> int:
        return int(self._rows.connection.execute(sql, values).fetchone()[0])

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)
