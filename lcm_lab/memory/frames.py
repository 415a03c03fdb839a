"""The session memory as tables to query: DuckDB in memory, filled from the typed rows, pandas from there.

Idea: the same frames as for an LCM store (:mod:`lcm_lab.analysis.frames`: a snapshot of one moment, queries that can
only read, ``*_at_utc`` twins of stored times, ``local_time``), over other tables. ``turns`` has L1 and the numbers of
tokens beside each turn; texts of ``details`` come with ``bodies=True``.
Invariant: a number here is the number that the lists show, because both come from :mod:`lcm_lab.memory.look`.
Checked by ``tests/memory/test_frames.py``.
"""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lcm_lab.analysis.frames import Frames, Snapshot, add_local_time, empty_duckdb
from lcm_lab.analysis.frames_arrow import Batch, Buffers, numbers, texts
from lcm_lab.analysis.frames_load import Loaded
from lcm_lab.analysis.frames_plan import Field, TablePlan, utc
from lcm_lab.hooks import memory_read
from lcm_lab.memory import look
from lcm_lab.store.connect import Reader
from lcm_lab.store.schema import quote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_AT_ONCE: Final = 2_000
_COLUMNS: Final = {
    "sessions": "session_id:t project_path:t started_at:t last_active:t status:t turns:n compactions:n details:n "
    "open_issues:n raw_tokens:n layer_tokens:n context_tokens:n model:t client_version:t transcript_path:t",
    "turns": "session_id:t turn_number:n state:t started_at:t ended_at:t summary:t raw_tokens:n l1_tokens:n "
    "l2_tokens:n layer_tokens:n judgments:n details:n tool_calls:n",
    "judgments": "id:n session_id:t turn_number:n category:t content:t resolved:n resolved_by:t confidence:r "
    "command:t source:t tokens:n",
    "details": "id:n session_id:t turn_number:n kind:t source_id:t tool_name:t status:t exit_code:n token_count:n "
    "agent_id:t created_at:t output_size:n",
    "injections": "id:n session_id:t injected_at:t event_type:t layers_sent:t trigger:t block_id:t part:n parts:n "
    "units:n token_before:n token_after:n delivered:n note:t",
}
"""Columns of each table: the attribute of the row, and whether it is text, a whole number or a real one."""

_BODIES: Final = " input:t output:t"
_TYPES: Final = {"t": "VARCHAR", "n": "BIGINT", "r": "DOUBLE"}
_KEYS: Final = {"sessions": ("session_id",), "turns": ("session_id", "turn_number")}
_MOMENTS: Final = ("_at", "_active")


@dataclass(frozen=True, slots=True)
class MemorySnapshot(Snapshot):
    """One copy of the memory in DuckDB."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every table a query can name."""
        return tuple(self.loaded.plans)


class MemoryFrames(Frames):
    """The frames of one memory."""

    def take(self, *, bodies: bool, folder: Path | None = None) -> Snapshot:
        """A new copy of the present state, which belongs to the caller."""
        stamp, at = self.store.stamp(), datetime.now(UTC)
        rows = self.store.read(lambda reader: _rows(reader, bodies=bodies))
        connection = empty_duckdb(folder)
        plans = {name: _plan(name, bodies=bodies) for name in _COLUMNS}
        for name, plan in plans.items():
            _fill(connection, plan, rows[name])
        knows_zone = add_local_time(connection, self.zone)
        connection.execute("SET lock_configuration = true").fetchall()
        loaded = Loaded({name: len(found) for name, found in rows.items()}, plans, [])
        return MemorySnapshot(connection, loaded, {}, "", stamp, at, bodies, knows_zone)


def _rows(reader: Reader, *, bodies: bool) -> dict[str, list[Any]]:
    con: sqlite3.Connection = reader.connection
    sessions = memory_read.sessions(con)

    def each(found: Callable[[memory_read.SessionRow], Iterable[Any]]) -> list[Any]:
        return [one for row in sessions for one in found(row)]

    return {
        "sessions": [look.session(con, row) for row in sessions],
        "turns": each(lambda row: look.turns(con, row)),
        "judgments": list(look.judgments(con, sessions, "")),
        "details": each(lambda row: _details(con, row.session_id, bodies=bodies)),
        "injections": each(lambda row: look.injections(con, row.session_id)),
    }


def _details(con: sqlite3.Connection, session_id: str, *, bodies: bool) -> Iterable[Any]:
    facts = look.DetailFacts.of(con, session_id)
    if not bodies:
        return facts
    whole = {one.id: one for one in look.details(con, session_id, *look.ALL_TURNS)}
    return [_WithTexts(one, whole[one.id].input, whole[one.id].output) for one in facts]


class _WithTexts:
    """The facts of a detail and its texts, as one row."""

    def __init__(self, facts: look.DetailFacts, given: str, output: str | None) -> None:
        self._facts = facts
        self.input = given
        self.output = output

    def __getattr__(self, name: str) -> Any:
        return getattr(self._facts, name)


def _plan(name: str, *, bodies: bool) -> TablePlan:
    fields: list[Field] = []
    for one in (_COLUMNS[name] + (_BODIES if bodies and name == "details" else "")).split():
        column, _, kind = one.partition(":")
        fields.append(Field(column, _TYPES[kind], column))
        if column.endswith(_MOMENTS):
            twin = f"{column}_utc"
            fields.append(Field(twin, "TIMESTAMP", generated=utc(quote(column)), twin=twin))
    return TablePlan(name, tuple(fields), _KEYS.get(name, ("id",)), (), present=True)


def _fill(connection: "DuckDBPyConnection", plan: TablePlan, rows: Sequence[Any]) -> None:
    connection.execute("CREATE SCHEMA IF NOT EXISTS lcm_base").fetchall()
    for statement in plan.create:
        connection.execute(statement).fetchall()
    stored = [field for field in plan.fields if field.sql]
    names = ", ".join(quote(field.name) for field in stored)
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        columns = {field.name: _buffers(field.type, [getattr(one, field.name) for one in some]) for field in stored}
        connection.register("lcm_batch", Batch(columns, len(some)))
        connection.execute(f"INSERT INTO {plan.base} SELECT {names} FROM lcm_batch").fetchall()
        connection.unregister("lcm_batch")


def _buffers(kind: str, values: list[Any]) -> Buffers:
    if kind == "VARCHAR":
        return texts([None if one is None else bytearray(str(one), "utf-8", "replace") for one in values])
    if kind == "DOUBLE":
        return numbers([None if one is None else float(one) for one in values], real=True)
    return numbers([None if one is None else int(one) for one in values])
