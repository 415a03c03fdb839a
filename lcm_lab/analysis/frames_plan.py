"""What the frames of a store look like: for each of its tables the columns, their types, and the SQL that reads them.

The idea: the store's tables keep their names and columns. A column of long texts (a *body*) is measured inside SQLite
and itself only read on request. A stored time keeps its text and has a twin that DuckDB can count with. Known tables
and columns that this store lacks are there and empty, so that one query fits every version of the plugin.

The invariant: a column of the store never loses its name to one of ours: ours gets ``lcm_`` in front, or stays away.
Checked by ``tests/analysis/test_frames_load.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import KNOWN_COLUMNS, Column, quote
from lcm_lab.store.text import octets

_BODY_NAMES: Final = (
    "content exploration_summary file_url metadata patch_files prompt raw_result_json subtask_prompt text_content "
    "tool_error tool_input tool_output"
)
BODIES: Final = frozenset(_BODY_NAMES.split())
"""Names of columns that hold texts of any length, in whichever table."""

MEASURED: Final = ("messages", "summaries")
"""The tables whose rows have a token number."""

BASE: Final = "lcm_base"
"""The DuckDB schema that holds the rows; the views on them lie in the main one."""

_WHOLE_NAMES: Final = (
    "active byte_size compaction_auto conversation_id covered_message_seq depth descendant_count "
    "descendant_token_count is_ignored is_synthetic line_count message_id ordinal seq source_message_token_count "
    "step_tokens_in step_tokens_out target_tokens token_count"
)
_WHOLE: Final = frozenset(_WHOLE_NAMES.split())
_REAL: Final = frozenset({"step_cost"})
_MEASURES: Final = (
    ("tokens", "BIGINT"),
    ("token_rule", "VARCHAR"),
    ("est_plugin", "BIGINT"),
    ("est_plugin_old", "BIGINT"),
)
_TEXTUAL: Final = ("CHAR", "CLOB", "TEXT")
_TIME: Final = (
    r"^(000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})-\d\d-\d\d[T ]([01]\d|2[0-3]):\d\d(:\d\d([.,]\d+)?)?"
    r"(Z|[+-]([01]\d|2[0-3])(:?[0-5]\d(:?[0-5]\d)?)?)?$"
)


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a frame: name and DuckDB type, and where its values come from.

    ``sql`` reads it from SQLite; ``generated`` is DuckDB SQL over other columns, worked out when a query asks; with
    neither, the loader computes it or this store has no such column. What this package adds has ``twin``, its name
    unless the store uses that itself, and ``of``, the column whose size it is (empty for others).
    """

    name: str
    type: str
    sql: str | None = None
    generated: str | None = None
    not_null: bool = False
    twin: str = ""
    of: str = ""


@dataclass(frozen=True, slots=True)
class TablePlan:
    """How one table is read: its columns, and the columns that name a row (``rowid`` where there are none).

    ``measures`` are the names of the token number, its rule, and the estimates of rules ``plugin`` and ``plugin<0.8``;
    empty where rows have no token number.
    """

    table: str
    fields: tuple[Field, ...]
    key: tuple[str, ...]
    measures: tuple[str, ...]
    present: bool

    @property
    def base(self) -> str:
        """The DuckDB table the rows are copied to; what a query sees is a view on it, under the store's own name."""
        return f"{BASE}.{quote(self.table)}"

    @property
    def create(self) -> list[str]:
        """The DuckDB statements that make the table and the view on it.

        A view, because DuckDB works out a generated column at each insert; in a view it costs only the query that asks.
        """
        columns = ", ".join(f"{quote(one.name)} {one.type}" for one in self.fields if not one.generated)
        shown = ", ".join(
            f"{one.generated} AS {quote(one.name)}" if one.generated else quote(one.name) for one in self.fields
        )
        return [
            f"CREATE TABLE {self.base} ({columns})",
            f"CREATE VIEW main.{quote(self.table)} AS SELECT {shown} FROM {self.base}",
        ]


def ours(name: str, taken: Iterable[str]) -> str:
    """``name`` for something this package adds; with ``lcm_`` in front where the store already uses the name."""
    used = {one.lower() for one in taken}
    while name in used:
        name = f"lcm_{name}"
    return name


def plan_tables(reader: Reader, *, bodies: bool) -> list[TablePlan]:
    """A plan for every table of the store, and for every known one it lacks."""
    names = [*reader.schema.tables, *(table for table in KNOWN_COLUMNS if table not in reader.schema.tables)]
    return [_plan(reader, table, bodies=bodies) for table in names if not table.startswith("sqlite_")]


def utc(column: str) -> str:
    """DuckDB SQL: the moment a stored time names, as a UTC timestamp without a zone; NULL where it cannot be read.

    The rule is that of :func:`lcm_lab.times.parse`; the session's zone must be UTC.
    """
    text = f"trim({column})"
    moment = f"timezone('UTC', TRY_CAST(replace({text}, ',', '.') AS TIMESTAMPTZ))"
    return f"CASE WHEN regexp_matches({text}, '{_TIME}') AND year({moment}) BETWEEN 1 AND 9999 THEN {moment} END"


def _plan(reader: Reader, table: str, *, bodies: bool) -> TablePlan:
    columns = reader.schema.tables.get(table, ())
    known = KNOWN_COLUMNS.get(table, frozenset())
    own = {column.name for column in columns}
    key = KEYS.get(table, ())
    if columns and not (key and own.issuperset(key)):
        sql = "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk"
        key = tuple(str(row[0]) for row in reader.rows(sql, (table,))) or ("rowid",)
    found: list[Field] = []
    for column in columns:
        required = column.not_null or (bool(known) and column.name in key)
        found += _fields(replace(column, not_null=required), known=column.name in known, bodies=bodies)
    for name in sorted(known - own):
        found += [
            replace(one, sql=None) for one in _fields(Column(name, "", not_null=False), known=True, bodies=bodies)
        ]
    taken = {one.name.lower() for one in found if not one.twin}
    if table in MEASURED:
        size = next(ours(one.name, taken) for one in found if one.of == "content")
        found += [_twin(name, kind) for name, kind in _MEASURES]
        found.append(_twin("est_lcm_tui", "BIGINT", generated=f"COALESCE({quote(size)}, 0) // 4"))
    fields = [replace(one, name=ours(one.name, taken)) if one.twin else one for one in found]
    names = [name for name, _ in _MEASURES]
    measures = tuple(one.name for one in fields if one.twin in names)
    return TablePlan(table, tuple(fields), key, measures, present=bool(columns))


def _fields(column: Column, *, known: bool, bodies: bool) -> list[Field]:
    """The frame's columns for one column of the store."""
    name, read = column.name, quote(column.name)
    kind = _type(name, column.declared, known=known)
    size = _twin(f"{name}_bytes", "BIGINT", sql=octets(read), of=name)
    if kind == "BLOB":
        return [size]
    if kind != "VARCHAR":
        return [Field(name, kind, read, not_null=column.not_null)]
    if not any(part in column.declared for part in _TEXTUAL):
        # Without text affinity SQLite may hold numbers here; their text is what it shows.
        read = f"CASE WHEN typeof({read}) IN ('integer', 'real') THEN CAST({read} AS TEXT) ELSE {read} END"
    whole = Field(name, "VARCHAR", read, not_null=column.not_null)
    if name in BODIES:
        return [whole, size] if bodies else [size]
    if name.endswith("_at"):
        return [whole, _twin(f"{name}_utc", "TIMESTAMP", generated=utc(quote(name)))]
    return [whole]


def _type(name: str, declared: str, *, known: bool) -> str:
    if known:
        return "BIGINT" if name in _WHOLE else "DOUBLE" if name in _REAL else "VARCHAR"
    if "INT" in declared or "BOOL" in declared:
        return "BIGINT"
    if any(part in declared for part in _TEXTUAL):
        return "VARCHAR"
    if "BLOB" in declared:
        return "BLOB"
    return "DOUBLE" if any(part in declared for part in ("REAL", "FLOA", "DOUB")) else "VARCHAR"


def _twin(name: str, kind: str, *, sql: str | None = None, generated: str | None = None, of: str = "") -> Field:
    return Field(name, kind, sql, generated, twin=name, of=of)
