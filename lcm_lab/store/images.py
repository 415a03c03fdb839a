"""Rows exactly as they lie in the store: every column by name, known or not, bytes that are no text kept as bytes.

What a plan compares and what an undo puts back is made of these, so nothing may be mended on the way.
"""

from collections.abc import Iterable

from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import quote

Value = int | float | str | bytes | None
"""What a column can hold; a text that is not valid UTF-8 is a :class:`RawText`."""

Image = dict[str, Value]
"""A row by column name."""


class RawText(bytes):
    """The bytes of a stored text that is not valid UTF-8; written back as they were."""

    __slots__ = ()


def decode(raw: bytes) -> str | RawText:
    """A stored text, or its bytes where it is not valid UTF-8; a text factory."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return RawText(raw)


def image(reader: Reader, table: str, *key: Value) -> Image | None:
    """The row of a table with this key; None where there is none."""
    found = images(reader, table, dict(zip(KEYS[table], key, strict=True)))
    return found[0] if found else None


def images(reader: Reader, table: str, where: dict[str, Value], *, order: Iterable[str] = ()) -> list[Image]:
    """The rows of a table with these values, ordered by these columns."""
    if table not in reader.schema.tables:
        return []
    conditions = " AND ".join(f"{quote(name)} IS ?" for name in where)
    by = ", ".join(map(quote, order))
    sql = f"SELECT * FROM {quote(table)} WHERE {conditions}" + (f" ORDER BY {by}" if by else "")
    connection = reader.connection
    kept, connection.text_factory = connection.text_factory, decode
    try:
        cursor = connection.execute(sql, tuple(where.values()))
        names = [one[0] for one in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    finally:
        connection.text_factory = kept
