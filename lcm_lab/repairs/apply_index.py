"""Full-text copies: every one that exists follows every change of a text, in the same transaction.

There are no triggers in a store; each writer keeps the copies in step himself. A copy that this SQLite cannot write
(damaged, or a tokenizer it does not have) is left as it is and named, and the repair goes on: an index is derived data.
Rows of a summary are found in the inner ``_content`` table, since the engine itself has no index on the id.
"""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lcm_lab.repairs.apply_rows import Rows, bound
from lcm_lab.repairs.edits import SetIndex
from lcm_lab.store.images import Value
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.schema import quote

OF_SUMMARIES: Final = ("summaries_fts", "summaries_fts_cjk")
OF_MESSAGES: Final = "messages_fts"


@dataclass(frozen=True, slots=True)
class Change:
    """What the rows of one summary or message shall hold; ``expected`` is what an undo thinks they hold."""

    table: str
    key: int | str
    texts: tuple[Value, ...]
    expected: tuple[Value, ...] | None = None


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
                for batch in batches(summary_ids):
                    sql = f"SELECT id, c0 FROM {content} WHERE c0 IN ({marks(batch)})"
                    for row_id, summary_id in self._rows.connection.execute(sql, batch):
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

    def put(self, changes: Iterable[Change]) -> list[SetIndex]:
        """Make full-text rows hold what the changes say; the inverses of those that could be made.

        Each table is written in one go, and by ascending number: the engine gathers what it will write until a
        savepoint ends or a number is lower than the one before.
        """
        by_table: dict[str, list[Change]] = {}
        for one in changes:
            by_table.setdefault(one.table, []).append(one)
        made: list[SetIndex] = []
        for table, mine in by_table.items():
            connection = self._rows.connection
            connection.execute("SAVEPOINT full_text")
            try:
                found = self._put(table, mine)
                # Here the engine writes what it gathered; at the end of the other savepoint it would be too late.
                connection.execute("SAVEPOINT full_text_written")
                connection.execute("RELEASE full_text_written")
            except sqlite3.DatabaseError as error:
                if not connection.in_transaction:
                    # On a full disk SQLite takes back the whole transaction: there is nothing to go on with.
                    raise
                connection.execute("ROLLBACK TO full_text")
                self._note(
                    f"{table} could not be brought up to date ({error}); the plugin rebuilds it, or searches without."
                )
            else:
                made += found
            connection.execute("RELEASE full_text")
        return made

    def _put(self, table: str, changes: list[Change]) -> list[SetIndex]:
        ids = {one.key: self._ids(table, one.key) for one in changes}
        before = {one.key: self.texts(table, one.key) for one in changes}
        for row_id in sorted(row_id for mine in ids.values() for row_id in mine):
            self._rows.connection.execute(f"DELETE FROM {quote(table)} WHERE rowid = ?", (row_id,))
        made = []
        for one in sorted(changes, key=lambda one: (str(type(one.key)), one.key)):
            was = before[one.key]
            texts = one.texts
            if one.expected is not None and was is not None and was != one.expected:
                # Somebody brought it up to date meanwhile: it gets the present text, not the old one.
                row = self._rows.image("messages" if table == OF_MESSAGES else "summaries", [one.key])
                texts = () if row is None else (row.get("content"),)
            self._known[table, one.key] = [self._insert(table, one.key, text) for text in texts]
            if was is not None:
                made.append(SetIndex(table, one.key, tuple(texts), was))
        return made

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
