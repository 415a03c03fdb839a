"""Open a store for reading, leave no trace, and see one consistent state.

The invariant: a look at a store that is whole creates no file, changes no mode, drops no lock of this process, and is
over when the call returns. Checked by ``tests/store/test_connect.py`` against real writers.

- Only the standard library's ``sqlite3`` opens the store. The journal mode is read from bytes 18 and 19 through one
  descriptor per file that is never closed, because closing any descriptor of a file drops all POSIX locks this process
  holds on it, and a write transaction of ours could then be lost in silence.
- A store in DELETE mode, and a WAL store with a ``-wal`` beside it, is opened with ``mode=ro``.
- A WAL store without a ``-wal`` has no writer. Opened with ``mode=ro`` it would get side files, so it is opened
  ``immutable`` for this one call; if the file changed meanwhile, the call is made again, live.
- One exception: a ``-wal`` that was copied without its ``-shm`` (or a crash left it so) is read live, and SQLite makes
  the ``-shm`` beside it; nobody could remove that safely.
- Each call is one read transaction and one connection; nothing stays open between calls, so a writer's checkpoint is
  never held up by an idle notebook.
"""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from lcm_lab import tokens
from lcm_lab.errors import NotAStore, StoreBusy, StoreDamaged, StoreError, StoreMissing, StoreUnfinished
from lcm_lab.store import schema as schemas
from lcm_lab.store.schema import Schema

T = TypeVar("T")

BUSY_SECONDS: Final = 5.0
_HEADER: Final = b"SQLite format 3\x00"
_WAL: Final = b"\x02\x02"
_ATTEMPTS: Final = 3
_descriptors: dict[tuple[int, int], int] = {}


@dataclass(frozen=True, slots=True)
class Note:
    """A value that is not what its column promises: where it lies, and what was done about it."""

    table: str
    row: str
    column: str
    problem: str

    def __str__(self) -> str:
        return f"{self.table} {self.row}, {self.column}: {self.problem}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Identity of a store's content: when it differs, the store may have changed."""

    store: tuple[int, int, int, int]
    wal: tuple[int, int, int, int] | None


class Reader:
    """One consistent look at a store, valid for the length of one call.

    ``notes`` collects values that could not be read as declared; ``broken_text`` is true after a row in which a text
    was not valid UTF-8 (its bad bytes are shown as U+FFFD) until :meth:`take_broken_text` is called.
    """

    def __init__(self, connection: sqlite3.Connection, schema: Schema, *, live: bool) -> None:
        self._connection = connection
        self._broken = False
        self.schema = schema
        self.live = live
        self.notes: list[Note] = []
        self._noted: set[Note] = set()
        connection.text_factory = self._decode

    def rows(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, one by one."""
        return iter(self._connection.execute(sql, parameters))

    def all(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of a query, as a list."""
        return self._connection.execute(sql, parameters).fetchall()

    def value(self, sql: str, parameters: tuple[Any, ...] | dict[str, Any] = ()) -> Any:
        """The first value of the first row; None where there is no row."""
        row = self._connection.execute(sql, parameters).fetchone()
        return None if row is None else row[0]

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection itself, for a bulk loader that sets its own text factory; not to be kept."""
        return self._connection

    def take_broken_text(self) -> bool:
        """Whether a text read since the last call was not valid UTF-8."""
        broken, self._broken = self._broken, False
        return broken

    def note(self, table: str, row: object, column: str, problem: str) -> None:
        """Remember a value that is not what its column promises; the same one is remembered once."""
        found = Note(table, str(row), column, problem)
        if found not in self._noted:
            self._noted.add(found)
            self.notes.append(found)

    def _decode(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self._broken = True
            return raw.decode("utf-8", "replace")


class StoreFile:
    """An LCM store at a path. Making one opens nothing; each :meth:`read` is a look of its own."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        try:
            self.given = Path(path).expanduser()
            self.path = self.given.resolve()
        except (RuntimeError, ValueError, OSError) as error:
            # No such user behind a ~, a circle of links, a NUL in the name.
            raise StoreMissing(f"{str(path)!r} leads nowhere: {error}.") from error
        self.wal = self.path.with_name(self.path.name + "-wal")
        self.journal = self.path.with_name(self.path.name + "-journal")
        self._schema: tuple[object, Schema] | None = None

    def read(self, look: Callable[[Reader], T]) -> T:
        """What ``look`` returns for one consistent state of the store.

        ``look`` may run more than once (when the store changes under a closed-store look), so it must not have effects
        of its own, and what it returns must not refer to the reader.

        Raises:
            StoreMissing, NotAStore, StoreBusy, StoreUnfinished, StoreDamaged: see :mod:`lcm_lab.errors`.
        """
        for attempt in range(_ATTEMPTS):
            before = self.stamp()
            frozen = self._is_wal() and before.wal is None and attempt < _ATTEMPTS - 1
            try:
                result = self._look(look, immutable=frozen)
            except (StoreError, NotAStore):
                if frozen and self.stamp() != before:
                    continue
                raise
            if not frozen or self.stamp() == before:
                return result
        raise StoreBusy(f"{self.given} keeps changing between WAL states; try again in a moment.")

    def stamp(self) -> Stamp:
        """The identity of the present content, from the file system alone.

        Raises:
            StoreMissing, NotAStore: there is no regular file at the path.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise StoreMissing(self._missing_text()) from None
        except OSError as error:
            raise StoreError(f"{self.given} cannot be looked at: {error.strerror}.") from error
        if stat.S_ISDIR(found.st_mode):
            raise NotAStore(f"{self.given} is a folder, not a store; name the file in it, usually lcm.db.")
        if not stat.S_ISREG(found.st_mode):
            raise NotAStore(f"{self.given} is not a regular file.")
        return Stamp(_identity(found), _identity_of(self.wal))

    @property
    def journal_mode(self) -> str:
        """``wal`` or ``delete``, as the file's own header says."""
        return "wal" if self._is_wal() else "delete"

    def _missing_text(self) -> str:
        if self.given.is_symlink():
            return f"{self.given} is a link to {self.path}, which does not exist."
        if not self.given.parent.exists():
            return f"There is no folder {self.given.parent}, so no store {self.given.name} in it; check the path."
        return f"There is no store at {self.given}; check the path, or try the demo store: lcm-lab --demo info."

    def _is_wal(self) -> bool:
        header = self._header()
        if len(header) == 0:
            raise NotAStore(f"{self.given} is empty (0 bytes): no store was ever written there.")
        if header[:16] != _HEADER:
            raise NotAStore(f"{self.given} is not an SQLite database.")
        if len(header) < 100:
            raise StoreDamaged(f"{self.given} is cut off after {len(header)} bytes; restore it from a backup.")
        return header[18:20] == _WAL

    def _header(self) -> bytes:
        try:
            return header(self.path)
        except PermissionError:
            raise StoreError(f"{self.given} cannot be read: permission denied.") from None
        except FileNotFoundError:
            raise StoreMissing(self._missing_text()) from None
        except OSError as error:
            raise StoreError(f"{self.given} cannot be read: {error.strerror or error}.") from error

    def _look(self, look: Callable[[Reader], T], *, immutable: bool) -> T:
        uri = self.path.as_uri() + ("?mode=ro&immutable=1" if immutable else "?mode=ro")
        connection: sqlite3.Connection | None = None
        try:
            connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.create_function("lcm_tokens", 1, _tokens, deterministic=True)
            connection.execute("BEGIN")
            found = self.schema_of(connection)
            for statement in found.stand_ins():
                connection.execute(statement)
            connection.execute("PRAGMA query_only=ON")
            return look(Reader(connection, found, live=not immutable))
        except sqlite3.Error as error:
            raise self.explain(error) from error
        except UnicodeDecodeError as error:
            # A message of SQLite itself that quotes damaged bytes of the file.
            raise StoreDamaged(f"{self.given} is damaged: its own table of contents cannot be read.") from error
        finally:
            if connection is not None:
                # A cursor that somebody still holds would keep a closed connection, and its read lock, alive.
                connection.rollback()
                connection.close()

    def schema_of(self, connection: sqlite3.Connection) -> Schema:
        """What the store consists of, found once for each state of its schema."""
        cookie = connection.execute("PRAGMA schema_version").fetchone()[0]
        key = (cookie, self.path.stat().st_ino)
        if self._schema is None or self._schema[0] != key:
            master = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
            columns = connection.execute(
                'SELECT m.name, c.name, c.type, c."notnull" FROM sqlite_master m JOIN pragma_table_info(m.name) c '
                "WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY m.rowid, c.cid"
            ).fetchall()
            self._schema = (key, schemas.build(master, columns))
        found = self._schema[1]
        if any(table not in found.tables for table in schemas.REQUIRED_TABLES):
            raise NotAStore(
                f"{self.given} is an SQLite database but not an LCM store: it has no table "
                + " and no table ".join(table for table in schemas.REQUIRED_TABLES if table not in found.tables)
                + "."
            )
        return found

    def explain(self, error: sqlite3.Error) -> StoreError:
        """Our error for one of SQLite, with what to do next."""
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return StoreBusy(f"{self.given} was locked by another program for {BUSY_SECONDS:.0f} s; try again.")
        if name.startswith("SQLITE_NOTADB"):
            return NotAStore(f"{self.given} is not an SQLite database (or it is encrypted).")
        if name == "SQLITE_READONLY_ROLLBACK":
            return StoreUnfinished(
                f"A writer of {self.given} crashed and left {self.journal.name}; start OpenClaw once (it rolls the "
                "journal back), then look again."
            )
        if name.startswith("SQLITE_CORRUPT"):
            return StoreDamaged(
                f"{self.given} is damaged: {error}. Run 'lcm-lab check' to see what can be read; nothing was changed."
            )
        if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")) and self.wal.exists():
            return StoreError(
                f"{self.given} has an unmerged {self.wal.name}, and this folder is read-only; copy both files to a "
                "folder you can write to and open that copy."
            )
        return StoreError(f"{self.given} could not be read: {error}.")


def header(path: Path) -> bytes:
    """The first 100 bytes of a file, read through the one descriptor of it that stays open for good."""
    found = path.stat()
    key = (found.st_dev, found.st_ino)
    if key not in _descriptors:
        _descriptors[key] = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    return os.pread(_descriptors[key], 100, 0)


def is_sqlite(path: Path) -> bool:
    """Whether a regular file is an SQLite database, found out without dropping anybody's locks."""
    return header(path).startswith(_HEADER)


def _tokens(raw: bytes | None) -> int:
    return 0 if raw is None else tokens.message_tokens(bytes(raw).decode("utf-8", "replace"))


def _identity(found: os.stat_result) -> tuple[int, int, int, int]:
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _identity_of(path: Path) -> tuple[int, int, int, int] | None:
    try:
        return _identity(path.stat())
    except OSError:
        return None
