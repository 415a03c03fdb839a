"""From one look at a store to an in-memory DuckDB: every table, typed, with what did not fit listed beside it.

The idea: SQLite hands out a batch of rows, the batch is turned into columns, and DuckDB takes the columns. Types are
checked where the columns are made, which costs nothing while all is well; only a column with a misfit is gone through
value by value. A batch holds about 16 MB, so memory does not grow with the store beyond what DuckDB keeps.

The invariant: no value changes in silence. A frame holds what SQLite holds, or NULL (U+FFFD for bytes that are not
UTF-8) with a row in ``lcm_anomalies`` that says which row, which column and what was found. The encoding of a body is
looked at when bodies are loaded. Checked by ``tests/analysis/test_frames_load.py`` against SQLite, row by row.
"""

import gc
import sqlite3
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lcm_lab import tokens
from lcm_lab.analysis.frames_arrow import Batch, Buffers, numbers, texts, whole
from lcm_lab.analysis.frames_plan import BASE, BODIES, Field, TablePlan, ours, plan_tables
from lcm_lab.store import measure
from lcm_lab.store.connect import Note, Reader
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.schema import quote
from lcm_lab.store.text import estimate, valid_count

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

ANOMALIES: Final = "lcm_anomalies"
_BATCH_BYTES: Final = 16_000_000
_LEAST_ROWS, _MOST_ROWS = 128, 8_192
_ASCII: Final = bytes(range(128))
_REPLACED: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load brought: row counts by table, how each table was read, and every value that did not fit."""

    rows: dict[str, int]
    plans: dict[str, TablePlan]
    notes: list[Note]


@dataclass(frozen=True, slots=True)
class Measures:
    """Sizes in bytes and token estimates of a column of texts, and the rows that hold an embedded picture."""

    size: Any
    plugin: Any
    legacy: Any
    pictures: list[int]


def fill(connection: "DuckDBPyConnection", reader: Reader, *, bodies: bool) -> Loaded:
    """Copy every table of the store into ``connection``; one consistent state, since ``reader`` is one transaction."""
    loaded = Loaded({}, {}, [])
    plans = plan_tables(reader, bodies=bodies)
    # A batch is small: sharing it out among threads costs more than it saves.
    connection.execute("SET threads = 1").fetchall()
    connection.execute(f"CREATE SCHEMA {BASE}").fetchall()
    # SQLite and DuckDB both work without holding Python's lock: DuckDB takes in a batch while SQLite hands out another.
    meter = Meter()
    with ThreadPoolExecutor(1, "lcm-frames") as worker, _raw_text(reader, meter) as sqlite:
        for plan in plans:
            for statement in plan.create:
                connection.execute(statement).fetchall()
            loaded.plans[plan.table] = plan
            copy = _Copy(plan, reader, meter, loaded.notes)
            # One transaction spares copying the texts twice; without texts it would only take memory.
            connection.execute("BEGIN" if bodies else "SELECT 1").fetchall()
            loaded.rows[plan.table] = copy.run(sqlite, connection, worker) if plan.present else 0
            connection.execute("COMMIT" if bodies else "SELECT 1").fetchall()
    connection.execute("RESET threads").fetchall()
    _list_anomalies(connection, ours(ANOMALIES, loaded.plans), loaded.notes)
    return loaded


class Meter:
    """The SQL function ``lcm_measure``: the size of a text in bytes, and its tokens where the size does not give them.

    A function of SQLite returns one value. For plain ASCII that is the size, from which all rules follow; for any other
    text it is a negative number, the place of its measures in ``others``.
    """

    def __init__(self) -> None:
        self.others: dict[int, tuple[int, int, int, bool]] = {}
        self._place = 0

    def measure(self, raw: bytes | bytearray | None) -> int | None:
        """The size, or the place of the measures."""
        if raw is None:
            return None
        size = len(raw)
        picture = size >= tokens.PICTURE_FROM and b";base64," in raw
        if not picture and raw.isascii():
            return size
        self._place -= 1
        self.others[self._place] = (size, *_estimates(raw, picture=picture), picture)
        return self._place

    def read(self, found: Sequence[int | None]) -> Measures:
        """The measures behind a column of results."""
        import numpy as np

        size = np.fromiter((0 if one is None else one for one in found), np.int64, len(found))
        special = np.flatnonzero(size < 0)
        # Taken out one by one: SQLite may have measured the first row of the next batch already.
        others = [self.others.pop(one) for one in size[special].tolist()]
        size[special] = [one[0] for one in others]
        plugin = (size + 3) // 4
        legacy = plugin.copy()
        plugin[special], legacy[special] = [one[1] for one in others], [one[2] for one in others]
        pictures = [row for row, one in zip(special.tolist(), others, strict=True) if one[3]]
        return Measures(size, plugin, legacy, pictures)


def _estimates(raw: bytes | bytearray, *, picture: bool) -> tuple[int, int]:
    """Tokens by rule ``plugin``, embedded pictures at their flat cost, and by rule ``plugin<0.8``."""
    text = raw.decode("utf-8", "replace")
    if picture or _REPLACED in text:
        return tokens.message_tokens(text), tokens.legacy_plugin_tokens(text)
    # Both rules are sums over characters, a quarter for each ASCII one: only the others have to be looked at.
    rest = raw.translate(None, _ASCII)
    quarters, left = divmod(len(raw) - len(rest), 4)
    text = rest.decode() + "x" * left
    return quarters + tokens.plugin_tokens(text), quarters + tokens.legacy_plugin_tokens(text)


@contextmanager
def _raw_text(reader: Reader, meter: Meter) -> Iterator[sqlite3.Connection]:
    """The reader's connection, handing out texts as ``bytearray`` (BLOBs stay ``bytes``), with ``lcm_measure``."""
    connection = reader.connection
    connection.create_function("lcm_measure", 1, meter.measure)
    before = connection.text_factory
    connection.text_factory = bytearray
    # Rows are many small objects in no cycle; looking for cycles among them takes a quarter of the whole load.
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield connection
    finally:
        connection.text_factory = before
        if collecting:
            gc.enable()


class _Copy:
    """One table on its way from SQLite to DuckDB."""

    def __init__(self, plan: TablePlan, reader: Reader, meter: Meter, notes: list[Note]) -> None:
        self._plan, self._schema, self._meter, self._notes = plan, reader.schema, meter, notes
        self._fields = [one for one in plan.fields if one.sql]
        self._measured = bool(plan.measures) and all(
            reader.schema.has(plan.table, n) for n in ("content", "token_count")
        )
        # With the text at hand, or its meter, its size needs no second reading.
        texts_read = {one.name for one in self._fields if not one.twin and one.name in BODIES}
        self._bodies = bool(texts_read)
        self._sizes = {one.name: one.of for one in self._fields if one.of in texts_read}
        self._metered = next((one.name for one in self._fields if one.of == "content"), "") if self._measured else ""
        self._read = [one for one in self._fields if one.name not in self._sizes and one.name != self._metered]
        self._pictures: list[int] = []

    def run(self, sqlite: sqlite3.Connection, duck: "DuckDBPyConnection", worker: Executor) -> int:
        """Copy all rows; their number."""
        selected = [str(one.sql) for one in self._read]
        selected += self._measuring() if self._measured else []
        selected += ["rowid"] if self._plan.key == ("rowid",) else []
        if not self._fields:
            return 0
        insert = self._insert()
        cursor = sqlite.execute(f"SELECT {', '.join(selected)} FROM {quote(self._plan.table)} AS t")
        total, count = 0, _LEAST_ROWS
        pending: Future[None] | None = None
        while rows := cursor.fetchmany(count):
            columns = list(zip(*rows, strict=True))
            del rows
            batch = Batch(self._buffers(columns), len(columns[0]))
            del columns
            if pending is not None:
                pending.result()
            pending = worker.submit(_insert, duck, insert, batch)
            total += batch.length
            count = max(_LEAST_ROWS, min(_MOST_ROWS, 4 * count, count * _BATCH_BYTES // (batch.text_bytes + 1)))
        if pending is not None:
            pending.result()
        self._mend_pictures(sqlite, duck)
        return total

    def _measuring(self) -> list[str]:
        """SQL for what the token number is where it is not plainly the stored one, and for what the size does not say.

        The first is twice the number, plus 1 where the number is a stored one; embedded pictures are left aside.
        """
        stored = valid_count("t.token_count")
        messages = self._plan.table == "messages"
        other = measure.message_estimate(self._schema, "t") if messages else estimate("t.content")
        plain = f"typeof(t.token_count) = 'integer' AND t.token_count > 0 AND t.token_count < {tokens.ABSURD_COUNT}"
        number = f"CASE WHEN {plain} THEN NULL WHEN {stored} > 0 THEN 2 * {stored} + 1 ELSE 2 * {other} END"
        return [number] if self._bodies else [number, "lcm_measure(CAST(t.content AS BLOB))"]

    def _insert(self) -> str:
        # Columns in a batch are called by their position: a store's own names may be anything.
        target = [one.name for one in self._fields]
        source = [f"c{i}" for i in range(len(target))]
        if self._measured:
            stored = source[target.index("token_count")]
            target += self._plan.measures
            source += [
                f"COALESCE(m0 >> 1, {stored})",
                "CASE m0 & 1 WHEN 0 THEN 'estimated' ELSE 'stored' END",
                "m1",
                "m2",
            ]
        into = f"{self._plan.base} ({', '.join(map(quote, target))})"
        return f"INSERT INTO {into} SELECT {', '.join(source)} FROM lcm_batch"

    def _buffers(self, columns: list[tuple[Any, ...]]) -> dict[str, Buffers]:
        read = {one.name: column for one, column in zip(self._read, columns, strict=False)}
        made: dict[str, Buffers] = {}
        if self._measured:
            own = len(self._read)
            metered = list(map(self._meter.measure, read["content"])) if self._bodies else columns[own + 1]
            measures = self._meter.read(metered)
            made = {self._metered: whole(measures.size, metered), "m0": numbers(columns[own])}
            made |= {"m1": whole(measures.plugin), "m2": whole(measures.legacy)}
            if self._plan.table == "messages":
                self._pictures += [read["message_id"][row] for row in measures.pictures]
        for size, name in self._sizes.items():
            if size not in made:
                made[size] = numbers([None if one is None else len(one) for one in read[name]])
        buffers = {
            f"c{i}": made.get(one.name) or self._column(one, read, columns) for i, one in enumerate(self._fields)
        }
        return buffers | {name: made[name] for name in ("m0", "m1", "m2") if name in made}

    def _column(self, one: Field, read: dict[str, tuple[Any, ...]], columns: list[tuple[Any, ...]]) -> Buffers:
        """A column as buffers; what does not fit is left out and noted."""
        values: Sequence[Any] = read[one.name]
        bad: list[tuple[int, str]] = []
        try:
            found = texts(values) if one.type == "VARCHAR" else numbers(values, real=one.type == "DOUBLE")
        except (TypeError, ValueError, OverflowError, AttributeError):
            mended = [_mend(value, one.type) for value in values]
            bad = [(row, problem) for row, (_, problem) in enumerate(mended) if problem]
            kept = [value for value, _ in mended]
            found = texts(kept) if one.type == "VARCHAR" else numbers(kept, real=one.type == "DOUBLE")
        if one.not_null and found.nulls:
            bad += [(row, "NULL where a value must be") for row, value in enumerate(values) if value is None]
        for row, problem in bad:
            self._notes.append(Note(self._plan.table, self._key(row, read, columns), one.name, problem))
        return found

    def _key(self, row: int, read: dict[str, tuple[Any, ...]], columns: list[tuple[Any, ...]]) -> str:
        if self._plan.key == ("rowid",):
            return str(columns[-1][row])
        values = (read[name][row] for name in self._plan.key)
        return ":".join(
            one.decode("utf-8", "replace") if isinstance(one, (bytes, bytearray)) else str(one) for one in values
        )

    def _mend_pictures(self, sqlite: sqlite3.Connection, duck: "DuckDBPyConnection") -> None:
        """Token numbers of messages with an embedded picture, by the rule of the store layer."""
        columns = f"{measure.message_tokens(self._schema, 't')}, {measure.message_rule('t')}, t.message_id"
        sql = f"SELECT {columns} FROM messages t WHERE t.message_id IN "
        for batch in batches(self._pictures):
            number, rule = map(quote, self._plan.measures[:2])
            update = f"UPDATE {self._plan.base} SET {number} = ?, {rule} = ? WHERE message_id = ?"
            for found in sqlite.execute(f"{sql} ({marks(batch)})", batch).fetchall():
                duck.execute(update, list(found)).fetchall()


def _insert(duck: "DuckDBPyConnection", statement: str, batch: Batch) -> None:
    duck.register("lcm_batch", batch)
    try:
        duck.execute(statement).fetchall()
    finally:
        duck.unregister("lcm_batch")


def _mend(value: Any, kind: str) -> tuple[Any, str]:
    """A value as its column can hold it, and what was wrong with it (empty: nothing)."""
    if value is None:
        return None, ""
    if kind == "VARCHAR":
        return _mend_text(value)
    if type(value) is int or (kind == "DOUBLE" and type(value) is float):
        return value, ""
    shown = value.decode("utf-8", "replace") if isinstance(value, bytearray) else value
    shown = repr(shown)
    wanted = "whole numbers" if kind == "BIGINT" else "numbers"
    return None, f"{shown if len(shown) <= 40 else shown[:37] + '...'} in a column of {wanted}, left out"


def _mend_text(value: Any) -> tuple[bytearray, str]:
    if not isinstance(value, (bytes, bytearray)):
        return bytearray(str(value).encode()), f"number {value!r} in a text column"
    problem = "" if isinstance(value, bytearray) else "binary value in a text column"
    try:
        value.decode()
    except UnicodeDecodeError:
        problem = problem or "invalid UTF-8, bad bytes shown as \ufffd"
    return bytearray(value.decode("utf-8", "replace").encode()), problem


def _list_anomalies(connection: "DuckDBPyConnection", name: str, notes: Sequence[Note]) -> None:
    """The table of values that did not fit."""
    columns = "table_name VARCHAR, row_key VARCHAR, column_name VARCHAR, problem VARCHAR"
    connection.execute(f"CREATE TABLE {quote(name)} ({columns})").fetchall()
    if not notes:
        return
    rows = zip(*((one.table, one.row, one.column, one.problem) for one in notes), strict=True)
    buffers = {f"c{i}": texts([bytearray(text.encode()) for text in column]) for i, column in enumerate(rows)}
    connection.register("lcm_batch", Batch(buffers, len(notes)))
    connection.execute(f"INSERT INTO {quote(name)} SELECT * FROM lcm_batch").fetchall()
    connection.unregister("lcm_batch")
