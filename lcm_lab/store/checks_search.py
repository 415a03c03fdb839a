"""What the health checks read of the full-text tables, without asking the full-text engine.

A full-text table keeps its rows in plain inner tables: ``_content`` (the texts), ``_docsize`` (which rows are indexed),
``_data`` and ``_idx`` (the index). Those are read here, so the check works where this SQLite has no FTS5 or not the
tokenizer, and a damaged index does not stop it. Only :func:`finds` asks the engine, to see that a word is found.
Layout as documented by SQLite for FTS5; checked against real tables in ``tests/store/test_checks_search.py``.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lcm_lab.store.checks import WHITE
from lcm_lab.store.connect import Reader

_SECOND_FORMAT: Final = b"\xff\x00\x00\x01"
_WORD: Final = re.compile(r"(?<![^\s(])[a-z0-9]{4,20}(?=[\s.,;:!?)])", re.ASCII | re.IGNORECASE)
"""Words every tokenizer of the store keeps whole: plain letters and digits between white space."""


@dataclass(frozen=True, slots=True)
class IndexState:
    """A summary in a full-text table: how many rows it has there, and how many of them hold its present text."""

    summary_id: str
    conversation_id: int
    rows: int
    equal: int


@dataclass(frozen=True, slots=True)
class Unindexed:
    """A message with text that no full-text row stands for."""

    message_id: int
    conversation_id: int


def inner_tables(reader: Reader, table: str) -> set[str]:
    """Which of the inner tables of a full-text table are there, by suffix."""
    sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE ? ESCAPE '\\'"
    pattern = table.replace("_", r"\_") + r"\_%"
    return {str(row[0]).removeprefix(f"{table}_") for row in reader.rows(sql, (pattern,))}


def summary_states(reader: Reader, table: str, conversation_id: int | None) -> Iterator[IndexState]:
    """The summaries for which ``table`` does not hold exactly one row with their present text."""
    where = "" if conversation_id is None else "WHERE s.conversation_id = ?"
    # Only ids go into the temporary list; a text is looked at by row id, one at a time.
    sql = f"""
        WITH f(summary_id, id) AS MATERIALIZED (SELECT c0, id FROM "{table}_content")
        SELECT s.summary_id, s.conversation_id, count(f.id), COALESCE(sum(c.c1 IS s.content), 0)
        FROM summaries s LEFT JOIN f ON f.summary_id = s.summary_id LEFT JOIN "{table}_content" c ON c.id = f.id
        {where} GROUP BY s.summary_id HAVING count(f.id) <> 1 OR COALESCE(sum(c.c1 IS s.content), 0) <> 1"""
    for row in reader.rows(sql, () if conversation_id is None else (conversation_id,)):
        yield IndexState(*row)


def rows_of_no_summary(reader: Reader, table: str) -> list[str]:
    """Summary ids in ``table`` that no summary has (any more)."""
    sql = (
        f'SELECT f.c0 FROM "{table}_content" f '
        "WHERE NOT EXISTS (SELECT 1 FROM summaries s WHERE s.summary_id = f.c0) ORDER BY 1"
    )
    return [str(row[0]) for row in reader.rows(sql)]


def unindexed_messages(reader: Reader, conversation_id: int | None) -> Iterator[Unindexed]:
    """Messages with text that have no row in ``messages_fts``."""
    where = "" if conversation_id is None else "m.conversation_id = ? AND"
    sql = f"""
        SELECT m.message_id, m.conversation_id FROM messages m
        WHERE {where} NOT EXISTS (SELECT 1 FROM messages_fts_docsize d WHERE d.id = m.message_id)
          AND trim(m.content, {WHITE}) <> '' ORDER BY m.conversation_id, m.message_id"""
    for row in reader.rows(sql, () if conversation_id is None else (conversation_id,)):
        yield Unindexed(*row)


def rows_of_no_message(reader: Reader) -> list[int]:
    """Row ids of ``messages_fts`` that no message has (any more)."""
    sql = (
        "SELECT d.id FROM messages_fts_docsize d "
        "WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.message_id = d.id) ORDER BY 1"
    )
    return [row[0] for row in reader.rows(sql)]


def missing_pages(reader: Reader, table: str, *, every: bool = True) -> int:
    """How many pages of a full-text index are not there: of its two head records and the leaves of its segments.

    Counting ``every`` leaf reads the whole index; otherwise the first and the last leaf of each segment stand for all.
    """
    heads = 2 - int(reader.value(f'SELECT count(*) FROM "{table}_data" WHERE id IN (1, 10)'))
    structure = reader.value(f'SELECT block FROM "{table}_data" WHERE id = 10')
    missing = heads
    for segment, first, last in _segments(structure) if isinstance(structure, bytes) else ():
        # A leaf page's row id is its segment number, shifted, and its page number.
        low = segment << 37
        if every:
            sql = f'SELECT count(*) FROM "{table}_data" WHERE id BETWEEN ? AND ?'
            missing += max(last - first + 1 - int(reader.value(sql, (low + first, low + last))), 0)
        else:
            sql = f'SELECT count(*) FROM "{table}_data" WHERE id IN (?, ?)'
            missing += len({first, last}) - int(reader.value(sql, (low + first, low + last)))
    return missing


def finds(reader: Reader, table: str) -> bool | None:
    """Whether a search for a word of the newest row finds that row; None where no row has a plain word.

    Raises:
        sqlite3.DatabaseError: the engine, the tokenizer or the index is missing or damaged.
    """
    column = "c0" if table == "messages_fts" else "c1"
    sql = f'SELECT c.id, substr(c.{column}, 1, 400) FROM "{table}_content" c JOIN "{table}_docsize" d ON d.id = c.id '
    for key, text in reader.all(f"{sql} ORDER BY c.id DESC LIMIT 5"):
        words = _WORD.findall(str(text or ""))
        if words:
            match = f'SELECT 1 FROM "{table}" WHERE "{table}" MATCH ? AND rowid = ?'
            # A long word is a rare one, so the engine has little to read.
            return reader.value(match, (f'"{max(words, key=len)}"', key)) is not None
    reader.value(f'SELECT 1 FROM "{table}" WHERE "{table}" MATCH ? LIMIT 1', ('"probe"',))
    return None


def declaration(reader: Reader, table: str) -> str:
    """The SQL that made a full-text table."""
    return str(reader.value("SELECT sql FROM sqlite_master WHERE name = ?", (table,)) or "")


def _segments(structure: bytes) -> list[tuple[int, int, int]]:
    """(segment, first leaf, last leaf) from the structure record of an index; none where it cannot be read."""
    newer = structure[4:8] == _SECOND_FORMAT
    numbers = _varints(structure[8:] if newer else structure[4:])
    found = []
    try:
        levels, _, _ = next(numbers), next(numbers), next(numbers)
        for _ in range(levels):
            _, segments = next(numbers), next(numbers)
            for _ in range(segments):
                found.append((next(numbers), next(numbers), next(numbers)))
                for _ in range(5 if newer else 0):
                    next(numbers)
    except StopIteration:
        return []
    return [one for one in found if 0 < one[1] <= one[2]]


def _varints(raw: bytes) -> Iterator[int]:
    """SQLite's variable-length numbers: seven bits a byte, the high bit says that more follow; the ninth has eight."""
    number = used = 0
    for byte in raw:
        used += 1
        if used == 9:
            yield number << 8 | byte
        elif byte & 0x80:
            number = number << 7 | byte & 0x7F
            continue
        else:
            yield number << 7 | byte
        number = used = 0
