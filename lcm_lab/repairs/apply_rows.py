"""Rows as they lie in the store: read whole, compared, put in and taken out, by their keys.

Columns we do not know are read and written like the others. A text that is not valid UTF-8 keeps its bytes.
"""

import sqlite3
from collections.abc import Iterable
from typing import Final

from lcm_lab.errors import StalePlan
from lcm_lab.repairs.edits import DeleteRows, InsertRows
from lcm_lab.store.images import Image, RawText, Value
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import Schema, quote

_OWN: Final = {
    "summaries": (("summary_messages", "summary_id"), ("summary_parents", "summary_id")),
    "messages": (("message_parts", "message_id"),),
}
"""Rows that SQLite would take away with another one; a plan names them, so none may be left."""


def bound(value: Value) -> tuple[str, Value]:
    """A value's placeholder and what is bound to it."""
    return ("CAST(? AS TEXT)", bytes(value)) if isinstance(value, RawText) else ("?", value)


class Rows:
    """The rows of one store inside one write transaction.

    ``messages`` maps the provisional numbers of a plan to those that messages were given.
    """

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.connection = connection
        self.schema = schema
        self.messages: dict[int, int] = {}

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
        added = []
        for image in edit.rows:
            row = self._numbered(edit.table, self.fitted(edit.table, image))
            names = [
                name for name in row if not (edit.table == "messages" and name == "message_id" and row[name] is None)
            ]
            places = [bound(row[name]) for name in names]
            sql = (
                f"INSERT INTO {quote(edit.table)} ({', '.join(map(quote, names))}) "
                f"VALUES ({', '.join(place for place, _ in places)})"
            )
            try:
                cursor = self.connection.execute(sql, tuple(value for _, value in places))
            except sqlite3.IntegrityError as error:
                raise StalePlan(
                    f"{edit.table}: a row of the plan does not fit the store any more ({error}); make the plan again."
                ) from error
            if edit.table == "messages":
                given = image.get("message_id")
                row["message_id"] = cursor.lastrowid
                if isinstance(given, int) and cursor.lastrowid is not None:
                    self.messages[given] = cursor.lastrowid
            added.append(self.image(edit.table, [row[name] for name in KEYS[edit.table]]) or row)
        return DeleteRows(edit.table, tuple(reversed(added)))

    def delete(self, edit: DeleteRows) -> InsertRows:
        """Take the rows away; the inverse puts them back, columns we do not know included.

        Raises:
            StalePlan: one of them is gone, reads otherwise, or something else uses it by now.
        """
        gone = []
        for row in edit.rows:
            key = [row[name] for name in KEYS[edit.table]]
            found = self.expect(edit.table, row)
            for table, column in _OWN.get(edit.table, ()):
                if table in self.schema.tables and self._any(table, column, key[0]):
                    raise StalePlan(f"{edit.table} {key[0]!r}: {table} got new rows for it; make the plan again.")
            where = " AND ".join(f"{quote(name)} IS ?" for name in KEYS[edit.table])
            try:
                self.connection.execute(f"DELETE FROM {quote(edit.table)} WHERE {where}", tuple(key))
            except sqlite3.IntegrityError as error:
                raise StalePlan(
                    f"{edit.table} {key[0]!r} is in use: something else in the store refers to it by now; "
                    "make the plan again."
                ) from error
            gone.append(found)
        return InsertRows(edit.table, tuple(reversed(gone)))

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

    def _numbered(self, table: str, image: Image) -> Image:
        row = dict(image)
        if table == "messages":
            if isinstance(row.get("message_id"), int) and int(str(row["message_id"])) < 0:
                row["message_id"] = None
            if row.get("seq") is None:
                sql = "SELECT COALESCE(max(seq) + 1, 0) FROM messages WHERE conversation_id = ?"
                row["seq"] = self.connection.execute(sql, (row["conversation_id"],)).fetchone()[0]
        elif "message_id" in row:
            row["message_id"] = self.number(row["message_id"])
        return row

    def _any(self, table: str, column: str, value: Value) -> bool:
        sql = f"SELECT 1 FROM {quote(table)} WHERE {quote(column)} IS ? LIMIT 1"
        return self.connection.execute(sql, (value,)).fetchone() is not None


def same(one: Value, other: Value) -> bool:
    """Whether two stored values are the same, type included (1 is not 1.0, a text is not a blob)."""
    return type(one) is type(other) and one == other
