"""A store as tables to query: SQLite once, then DuckDB, and pandas from there.

The idea: the whole store is copied into DuckDB in memory, in one look, so that every table and view shows one moment.
Metadata comes first: all columns except long texts, which stay on disk and are represented by their sizes and token
estimates. With ``bodies=True`` a second copy holds the texts, too. A copy is made again when the store has changed.

The invariants: only the standard library's ``sqlite3`` touches the store; a query cannot write, cannot read a file, and
cannot load or download an extension, because DuckDB is told so before its settings are locked, and because every query
runs in a read-only transaction. Checked by ``tests/analysis/test_frames.py``.

Times: a column such as ``created_at`` keeps the text that is stored; its twin ``created_at_utc`` is a timestamp without
a zone that is UTC (NULL where the text is no time), which pandas takes as ``datetime64``. The same moment on the clock
of the zone the workbench shows is ``local_time(created_at_utc)``.

Types in pandas: a column of whole numbers with NULLs is ``Int64``; a NULL text is NaN, so test it with ``isna()``; a
sum is ``int64``, unless it is beyond 63 bits (then ``float64``, rounded).
"""

import difflib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from lcm_lab.analysis.frames_load import ANOMALIES, Loaded, fill
from lcm_lab.analysis.frames_plan import BODIES, ours
from lcm_lab.analysis.frames_views import View, create_views
from lcm_lab.errors import LcmLabError, NotFound, QueryError
from lcm_lab.store.connect import Note, Reader, Stamp, StoreFile
from lcm_lab.store.schema import quote
from lcm_lab.times import Zone

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection
    from pandas import DataFrame

_TEXT: Final = ("VARCHAR", "STRING")
_ALLOWED: Final = (
    "a query reads the snapshot with one SELECT (also WITH, FROM, VALUES, DESCRIBE, SHOW, SUMMARIZE, EXPLAIN)"
)


@dataclass(frozen=True, slots=True)
class Frame:
    """A table or view to query: its columns as (name, DuckDB type), and for a table its number of rows."""

    name: str
    kind: str
    rows: int | None
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One copy of a store in DuckDB: what was loaded, when, and which content of the store it shows."""

    connection: "DuckDBPyConnection"
    loaded: Loaded
    views: dict[str, View]
    anomalies_name: str
    stamp: Stamp
    at: datetime
    bodies: bool
    knows_zone: bool

    @property
    def names(self) -> tuple[str, ...]:
        """Every table and view a query can name, tables first."""
        return (*self.loaded.plans, self.anomalies_name, *self.views)


def take_snapshot(store: StoreFile, zone: Zone, *, bodies: bool, folder: Path | None = None) -> Snapshot:
    """A copy of the store's present state in a DuckDB of its own.

    With ``folder``, statements given to its connection can write files there and nowhere else; without, no files.

    Raises:
        StoreError: the store cannot be read.
        LcmLabError: there is not enough memory for the copy.
    """
    import duckdb

    made: list[DuckDBPyConnection] = []

    def look(reader: Reader) -> tuple["DuckDBPyConnection", Loaded]:
        connection = empty_duckdb(folder)
        made.append(connection)
        return connection, fill(connection, reader, bodies=bodies)

    kept: DuckDBPyConnection | None = None
    try:
        # The stamp is taken first: a change during the load then makes the next query load again.
        stamp, at = store.stamp(), datetime.now(UTC)
        connection, loaded = store.read(look)
        views = create_views(connection, loaded.plans)
        knows_zone = add_local_time(connection, zone)
        connection.execute("SET lock_configuration = true").fetchall()
        kept = connection
    except duckdb.Error as error:
        raise LcmLabError(f"{store.given} could not be copied into memory: {_first_line(error)}.") from error
    finally:
        for one in made:
            if one is not kept:
                one.close()
    return Snapshot(connection, loaded, views, ours(ANOMALIES, loaded.plans), stamp, at, bodies, knows_zone)


class Frames:
    """The frames of one store. Making one reads nothing; the first query loads, later ones reload what has changed."""

    def __init__(self, store: StoreFile, zone: Zone) -> None:
        self.store, self.zone = store, zone
        self._held: dict[bool, Snapshot] = {}
        self._lock = threading.RLock()

    def sql(self, query: str, *, bodies: bool = False) -> "DataFrame":
        """The result of one query as a DataFrame; with ``bodies`` the tables have their texts, too.

        Timestamps in ``*_utc`` columns are UTC; see the module's text for types.

        Raises:
            QueryError: the query does not run, or asks for more than reading the snapshot.
            StoreError: the store cannot be read.
        """
        with self._lock:
            return run(self.snapshot(bodies=bodies), query)

    def frame(self, name: str, *, bodies: bool = False) -> "DataFrame":
        """A whole table or view as a DataFrame.

        Raises:
            NotFound: there is none of that name.
        """
        with self._lock:
            found = self.snapshot(bodies=bodies)
            if name not in found.names:
                raise NotFound(f"There is no table or view {name!r}; there are {', '.join(sorted(found.names))}.")
            return run(found, f"SELECT * FROM main.{quote(name)}")

    def tables(self, *, bodies: bool = False) -> tuple[Frame, ...]:
        """Every table and view with its columns, tables first."""
        with self._lock:
            found = self.snapshot(bodies=bodies)
            columns: dict[str, list[tuple[str, str]]] = {}
            sql = """SELECT table_name, column_name, data_type FROM duckdb_columns()
                WHERE schema_name = 'main' ORDER BY table_name, column_index"""
            for table, name, kind in found.connection.execute(sql).fetchall():
                columns.setdefault(table, []).append((name, kind))
            rows = {**found.loaded.rows, found.anomalies_name: len(found.loaded.notes)}
            return tuple(
                Frame(name, "view" if name in found.views else "table", rows.get(name), tuple(columns.get(name, ())))
                for name in found.names
            )

    def anomalies(self, *, bodies: bool = False) -> tuple[Note, ...]:
        """Every value that is not what its column promises; with ``bodies`` the texts are looked at, too."""
        with self._lock:
            return tuple(self.snapshot(bodies=bodies).loaded.notes)

    def snapshot(self, *, bodies: bool = False) -> Snapshot:
        """The present copy, loaded when there is none yet or the store has changed since."""
        with self._lock:
            held = self._held.get(bodies)
            if held is not None:
                if held.stamp == self.store.stamp():
                    return held
                # Let go of the old copy first, so that two never lie in memory.
                del self._held[bodies]
                held.connection.close()
            self._held[bodies] = self.take(bodies=bodies)
            return self._held[bodies]

    def take(self, *, bodies: bool, folder: Path | None = None) -> Snapshot:
        """A new copy of the present state, which belongs to the caller; see :func:`take_snapshot`."""
        return take_snapshot(self.store, self.zone, bodies=bodies, folder=folder)

    def close(self) -> None:
        """Let go of all copies; a later query loads again."""
        with self._lock:
            while self._held:
                self._held.popitem()[1].connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def run(snapshot: Snapshot, query: str) -> "DataFrame":
    """The result of one reading query on a snapshot.

    Raises:
        QueryError: it does not run, or asks for more than reading.
    """
    import duckdb

    connection = snapshot.connection
    statement = _check(connection, query)
    try:
        with _reading(connection):
            found = connection.execute(query)
            kinds = [str(column[1]) for column in connection.description or ()]
            frame = found.df()
        if "HUGEINT" in kinds:
            frame = _narrow(connection, statement, kinds, frame)
    except duckdb.Error as error:
        raise QueryError(_explain(snapshot, query, error)) from error
    # pandas guesses "object" for a text column without any text in it.
    empty = {
        name: "str"
        for name, kind in zip(frame.columns, kinds, strict=True)
        if kind in _TEXT and frame[name].dtype == object
    }
    return frame.astype(empty)


@contextmanager
def _reading(connection: "DuckDBPyConnection") -> Iterator[None]:
    """A read-only transaction, because what counts as SELECT may still write (EXPLAIN ANALYZE INSERT, for one)."""
    connection.execute("BEGIN TRANSACTION READ ONLY").fetchall()
    try:
        yield
    finally:
        connection.execute("ROLLBACK").fetchall()


def empty_duckdb(folder: Path | None) -> "DuckDBPyConnection":
    """A DuckDB in memory that reaches no file (with ``folder``: only that one), no network and no extension."""
    import duckdb

    config: dict[str, str | bool | int | float | list[str]] = {
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "python_enable_replacements": "false",  # a query sees tables, never variables of the program
        "temp_directory": "",  # nothing is spilled to disk
    }
    connection = duckdb.connect(":memory:", config=config)
    if folder is not None:
        path = str(folder).replace("'", "''")
        connection.execute(f"SET allowed_directories = ['{path}']").fetchall()
    connection.execute("SET enable_external_access = false").fetchall()
    connection.execute("SET TimeZone = 'UTC'").fetchall()
    return connection


def add_local_time(connection: "DuckDBPyConnection", zone: Zone) -> bool:
    """Make the function ``local_time``; whether DuckDB knows the zone (if not, calling it says so)."""
    name = zone.name.replace("'", "''")
    sql = "SELECT count(*) FROM pg_timezone_names() WHERE name = ?"
    known = bool(connection.execute(sql, [zone.name]).fetchall()[0][0])
    body = f"timezone('{name}', timezone('UTC', moment))" if known else f"error('DuckDB knows no time zone {name}')"
    connection.execute(f"CREATE MACRO local_time(moment) AS {body}").fetchall()
    return known


def _check(connection: "DuckDBPyConnection", query: str) -> str:
    """The one reading statement there is; all else is refused."""
    import duckdb

    try:
        found = connection.extract_statements(query)
    except duckdb.Error as error:
        raise QueryError(f"{_first_line(error)}.") from error
    if not found:
        raise QueryError(f"The query is empty; {_ALLOWED}.")
    if len(found) > 1:
        raise QueryError(f"There are {len(found)} statements; {_ALLOWED}.")
    kind = found[0].type.name
    if kind == "MULTI":
        raise QueryError("PIVOT works here when the values are named: PIVOT ... ON column IN (...) USING ...")
    if kind not in ("SELECT", "EXPLAIN"):
        raise QueryError(f"{kind} is not allowed; {_ALLOWED}.")
    return str(found[0].query)


def _narrow(connection: "DuckDBPyConnection", statement: str, kinds: list[str], frame: "DataFrame") -> "DataFrame":
    """The same result with 128-bit sums as 64-bit numbers, which pandas holds exactly, where all of them fit."""
    import duckdb

    columns = ", ".join(f"CAST(#{i} AS BIGINT)" if kind == "HUGEINT" else f"#{i}" for i, kind in enumerate(kinds, 1))
    # A semicolon that ends the statement may have a comment behind it; one in a text or a comment ends nothing.
    for inner in (statement, statement.rpartition(";")[0]):
        try:
            with _reading(connection):
                exact = connection.execute(f"SELECT {columns} FROM (\n{inner}\n)").df()
        except duckdb.ParserException:
            continue
        except duckdb.ConversionException:
            return frame
        exact.columns = frame.columns
        return exact
    return frame


def _explain(snapshot: Snapshot, query: str, error: Exception) -> str:
    """DuckDB's error in one or two sentences, with what exists where something was not found."""
    text = _first_line(error)
    if "file system operations are disabled" in text or "configuration" in text:
        return f"{text}. Files, the network and extensions are out of reach: {_ALLOWED}."
    if "read-only" in text:
        return f"{text}. Nothing can be changed: {_ALLOWED}."
    if text.startswith("Catalog Error: Table with name"):
        wanted = text.split("Table with name ")[1].split(" ")[0].strip('"')
        near = difflib.get_close_matches(wanted, snapshot.names, 1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"There is no table or view {wanted}.{hint} There are {', '.join(sorted(snapshot.names))}."
    if "not found in FROM clause" in text or "does not have a column" in text:
        missing = re.search(r'column (?:named )?"([^"]+)"', text)
        if missing and missing[1] in BODIES and not snapshot.bodies:
            return f"{text}. Texts are loaded on request: bodies=True, or --bodies."
        return f"{text}. {_columns_of(snapshot, query)}".strip()
    return f"{text}."


def _columns_of(snapshot: Snapshot, query: str) -> str:
    import duckdb

    try:
        tables = sorted(snapshot.connection.get_table_names(query))
    except duckdb.Error:
        return ""
    found = []
    for table in tables:
        if table in snapshot.names:
            rows = snapshot.connection.execute(f"SELECT column_name FROM (DESCRIBE main.{quote(table)})").fetchall()
            found.append(f"{table} has {', '.join(row[0] for row in rows)}.")
    return " ".join(found)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip().rstrip(".!")
