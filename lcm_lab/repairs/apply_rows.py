"""Rows as they lie in the store: read whole, compared, put in and taken out, by their keys.

Columns we do not know are read and written like the others. A text that is not valid UTF-8 keeps its bytes.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from lcm_lab.errors import Refused, StalePlan
from lcm_lab.repairs.edits import DeleteRows, InsertRows
from lcm_lab.store.images import Image, RawText, Value
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import Schema, quote

_USES: Final = {
    "summaries": (
        ("summary_messages", "summary_id"),
        ("summary_parents", "summary_id"),
        ("summary_parents", "parent_summary_id"),
        ("context_items", "summary_id"),
    ),
    "messages": (
        ("message_parts", "message_id"),
        ("summary_messages", "message_id"),
        ("context_items", "message_id"),
    ),
}
"""Rows that need another one, declared as a reference or not."""


def bound(value: Value) -> tuple[str, Value]:
    """A value's placeholder and what is bound to it."""
    return ("CAST(? AS TEXT)", bytes(value)) if isinstance(value, RawText) else ("?", value)


class Rows:
    """The rows of one store inside one write transaction.

    ``messages`` maps the provisional numbers of a plan to those that messages were given; ``behind`` says which items
    of a context (conversation, first ordinal, by how much they move, state of the store) were read before the
    transaction began.
    """

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.connection = connection
        self.schema = schema
        self.messages: dict[int, int] = {}
        self.behind: tuple[int, int, int, int] | None = None
        self._users: dict[str, list[tuple[str, str, str]]] = {}
        self._references: dict[str, list[tuple[str, str, str]]] = {}

    def image(self, table: str, key: Iterable[Value]) -> Image | None:
        """The row with this key; None where there is none."""
        names = KEYS[table]
        where = " AND ".join(f"{quote(name)} IS ?" for name in names)
        cursor = self.connection.execute(f"SELECT * FROM {quote(table)} WHERE {where}", tuple(key))
        row = cursor.fetchone()
        return None if row is None else dict(zip([one[0] for one in cursor.description], row, strict=True))

    def insert(self, edit: InsertRows) -> DeleteRows:
        """Put the rows in; the inverse takes away what is there then.

        Raises:
            StalePlan: one of them is there already.
        """
        rows = [self.fitted(edit.table, image) for image in edit.rows]
        if edit.table == "messages":
            self._number(rows)
        rows = [{**row, "message_id": self.number(row["message_id"])} if "message_id" in row else row for row in rows]
        try:
            for alike in _alike(rows):
                places = [bound(value)[0] for value in alike[0].values()]
                self.connection.executemany(
                    f"INSERT INTO {quote(edit.table)} ({', '.join(map(quote, alike[0]))}) VALUES ({', '.join(places)})",
                    [[bound(value)[1] for value in row.values()] for row in alike],
                )
        except sqlite3.IntegrityError as error:
            raise StalePlan(
                f"{edit.table}: a row of the plan does not fit the store any more ({error}); make the plan again."
            ) from error
        # A column that the plan does not name got its default: only then the row must be read to know it.
        names = self.schema.names[edit.table]
        whole = [
            row if row.keys() >= names else self.image(edit.table, [row[name] for name in KEYS[edit.table]]) or row
            for row in rows
        ]
        return DeleteRows(edit.table, tuple(reversed(whole)))

    def delete(self, edit: DeleteRows) -> InsertRows:
        """Take the rows away; the inverse puts them back, columns we do not know included.

        Raises:
            StalePlan: one of them is gone, reads otherwise, or something else uses it by now.
        """
        gone = [self.expect(edit.table, row) for row in edit.rows]
        self._unused(edit.table, gone)
        where = " AND ".join(f"{quote(name)} IS ?" for name in KEYS[edit.table])
        try:
            self.connection.executemany(
                f"DELETE FROM {quote(edit.table)} WHERE {where}",
                [[row[name] for name in KEYS[edit.table]] for row in gone],
            )
        except sqlite3.IntegrityError as error:
            raise StalePlan(
                f"A row of {edit.table} is in use: something else refers to it by now; make the plan again."
            ) from error
        return InsertRows(edit.table, tuple(reversed(gone)))

    def restorable(self, edit: DeleteRows) -> None:
        """Look whether an undo could put the rows back.

        Raises:
            Refused: one of them refers to a row that is missing, so that foreign keys would not let it in again.
        """
        for row in (self.expect(edit.table, one) for one in edit.rows):
            for column, parent, parent_column in self._references_of(edit.table):
                value = row.get(column)
                if value is not None and not self._any(parent, parent_column, value):
                    raise Refused(
                        f"{edit.table} {':'.join(str(row[name]) for name in KEYS[edit.table])} refers to {value!r}, "
                        f"which is not in {parent}: once deleted, no undo could put it back. Nothing was changed."
                    )

    def expect(self, table: str, row: Image) -> Image:
        """The row as it is, which must read as the plan saw it."""
        key = [row[name] for name in KEYS[table]]
        named = f"{table} {':'.join(map(str, key))}"
        found = self.image(table, key)
        if found is None:
            raise StalePlan(f"{named} is not there any more; make the plan again.")
        for name, value in row.items():
            if name in found and not same(found[name], value):
                raise StalePlan(f"{named} has changed since the plan was made (column {name}); make the plan again.")
        return found

    def fitted(self, table: str, image: Image) -> Image:
        """The columns of a row that this store has."""
        return {name: value for name, value in image.items() if self.schema.has(table, name)}

    def number(self, value: Value) -> Value:
        """The number a message was given, for a provisional one; other values as they are."""
        return self.messages.get(value, value) if isinstance(value, int) and value < 0 else value

    def _number(self, rows: list[Image]) -> None:
        """Give new messages the numbers and places that come next; nobody else can write meanwhile."""
        after = self._most("SELECT max(message_id) FROM messages")
        if self.schema.has("sqlite_sequence"):
            after = max(after, self._most("SELECT max(seq) FROM sqlite_sequence WHERE name = 'messages'"))
        places: dict[Value, int] = {}
        for row in rows:
            given = row.get("message_id")
            if given is None or (isinstance(given, int) and given < 0):
                after += 1
                row["message_id"] = after
                if isinstance(given, int):
                    self.messages[given] = after
            if row.get("seq") is None:
                lane = row["conversation_id"]
                if lane not in places:
                    sql = "SELECT COALESCE(max(seq) + 1, 0) FROM messages WHERE conversation_id = ?"
                    places[lane] = int(self.connection.execute(sql, (lane,)).fetchone()[0])
                row["seq"], places[lane] = places[lane], places[lane] + 1

    def _most(self, sql: str) -> int:
        found = self.connection.execute(sql).fetchone()[0]
        return found if isinstance(found, int) else 0

    def _unused(self, table: str, rows: Sequence[Image]) -> None:
        """Look whether anything needs these rows; SQLite would take it along, change it or leave it an orphan."""
        for user, column, own in self._users_of(table):
            values = [row[own] for row in rows if row.get(own) is not None]
            for batch in batches(values):
                sql = f"SELECT {quote(column)} FROM {quote(user)} WHERE {quote(column)} IN ({marks(batch)}) LIMIT 1"
                found = self.connection.execute(sql, batch).fetchone()
                if found is not None:
                    raise StalePlan(
                        f"{table} {found[0]} is in use: {user}.{column} refers to it, which the plan does not know; "
                        "make the plan again. If that says the same, the row has to stay."
                    )

    def _users_of(self, table: str) -> list[tuple[str, str, str]]:
        """Table, column, and the column here that it refers to, for all that refers to rows of a table."""
        if table not in self._users:
            sql = (
                'SELECT m.name, f."from", f."to" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f '
                "WHERE m.type = 'table' AND f.\"table\" = ? COLLATE NOCASE"
            )
            found = {
                (user, column, own or KEYS[table][0]) for user, column, own in self.connection.execute(sql, (table,))
            }
            found |= {(*one, KEYS[table][0]) for one in _USES.get(table, ()) if self.schema.has(*one)}
            self._users[table] = sorted(found)
        return self._users[table]

    def _references_of(self, table: str) -> list[tuple[str, str, str]]:
        """Column, table and column there, for each declared reference of a table."""
        if table not in self._references:
            sql = 'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)'
            self._references[table] = [
                (column, parent, own or KEYS[parent][0])
                for column, parent, own in self.connection.execute(sql, (table,))
                if own or parent in KEYS
            ]
        return self._references[table]

    def _any(self, table: str, column: str, value: Value) -> bool:
        sql = f"SELECT 1 FROM {quote(table)} WHERE {quote(column)} IS ? LIMIT 1"
        return self.connection.execute(sql, (value,)).fetchone() is not None


def _alike(rows: list[Image]) -> Iterator[list[Image]]:
    """Rows that one statement can put in: the same columns, in the same order, bound in the same way."""

    def shape(row: Image) -> tuple[tuple[str, str], ...]:
        return tuple((name, bound(value)[0]) for name, value in row.items())

    for _, alike in groupby(rows, shape):
        yield list(alike)


def same(one: Value, other: Value) -> bool:
    """Whether two stored values are the same, type included (1 is not 1.0, a text is not a blob)."""
    return type(one) is type(other) and one == other
