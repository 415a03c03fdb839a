"""The DDL of every store version met, and empty stores made from it.

The files under ``schema/`` are what ``sqlite_master`` says in a store that version's own code made, one statement after
the other; nothing here migrates a store. Invariant: a store made here is closed cleanly, so it is one file, with no
``-wal`` or ``-shm`` beside it.
"""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

_OCTET_LENGTH: Final = re.compile(r"octet_length\((\w+)\)")
_FOLDER: Final = Path(__file__).parent / "schema"
VERSIONS: Final = tuple(sorted(file.stem for file in _FOLDER.glob("*.sql")))
"""Names :func:`ddl` knows, such as ``lcm-0.15.3``."""


def ddl(version: str) -> str:
    """The SQL text that makes an empty database of ``version``; the prefix ``lcm-`` may be left out.

    Raises:
        ValueError: no such version; the message lists those there are.
    """
    for name in (version, f"lcm-{version}"):
        if name in VERSIONS:
            return (_FOLDER / f"{name}.sql").read_text(encoding="utf-8")
    raise ValueError(f"No schema {version!r}. Known: {', '.join(VERSIONS)}.")


def statements(sql: str) -> Iterator[str]:
    """The statements of ``sql`` one by one, each without the comments above it."""
    pending = ""
    for line in sql.splitlines(keepends=True):
        if not pending.strip() and line.startswith("--"):
            continue
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending.strip()
            pending = ""
    if pending.strip():
        yield pending.strip()


def apply_ddl(connection: sqlite3.Connection, version: str, *, full_text: bool = True) -> None:
    """Make the tables of ``version`` in an empty database; full-text tables if wanted and if SQLite has FTS5."""
    for statement in statements(ddl(version)):
        if not full_text and statement.startswith("CREATE VIRTUAL TABLE"):
            continue
        try:
            connection.execute(_for_this_sqlite(statement))
        except sqlite3.OperationalError as error:
            lacking = "no such module" in str(error) or "no such tokenizer" in str(error)
            if not (lacking and statement.startswith("CREATE VIRTUAL TABLE")):
                raise


def _for_this_sqlite(statement: str) -> str:
    """``statement``, with a function that came in SQLite 3.43 written in the older way that means the same."""
    if sqlite3.sqlite_version_info >= (3, 43):
        return statement
    return _OCTET_LENGTH.sub(r"length(CAST(\1 AS BLOB))", statement)


def create_store(path: Path | str, version: str, *, journal_mode: str = "wal") -> None:
    """Make an empty database of ``version`` at ``path``, where no file may be; closed cleanly, without side files.

    Raises:
        FileExistsError: there is something at ``path`` already.
    """
    place = Path(path)
    if place.exists():
        raise FileExistsError(f"{place} is there already.")
    with closing(sqlite3.connect(place, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode = {journal_mode}")
        connection.execute("BEGIN")
        apply_ddl(connection, version)
        connection.execute("COMMIT")


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether the database has a table or virtual table ``name``."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,)).fetchone() is not None
