"""The frames of a store as files: one CSV and one Parquet file for each table and view.

The idea: an export takes a snapshot of its own in a DuckDB whose only reach is the target folder, so all files show one
moment and nothing else on the disk can be touched. Rows stand in the order of their keys; a NULL is empty in CSV and an
empty text is ``""``. Each ``*_utc`` column gets a neighbour ``*_local``, the same moment in the zone asked for.

The invariant: the folder never holds half a file (each is written beside its place and then put there in one step), nor
files of two exports, nor is a file that is not from an export ever replaced. Files are for their owner only.
``export.json`` says what they show. Checked by ``tests/analysis/test_export.py``.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lcm_lab import tokens
from lcm_lab.analysis.frames import Frames, Snapshot, take_snapshot
from lcm_lab.errors import LcmLabError, NotFound, Refused, UsageError
from lcm_lab.store.page import Progress
from lcm_lab.store.schema import quote
from lcm_lab.times import Zone

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

FORMATS: Final = ("csv", "parquet")
_OPTIONS: Final = {"csv": "FORMAT csv, HEADER true", "parquet": "FORMAT parquet, COMPRESSION zstd"}
_MANIFEST: Final = "export.json"
_README: Final = "README.txt"

# How a table without a conversation_id of its own belongs to a conversation ($1).
_MESSAGES: Final = "message_id IN (SELECT message_id FROM messages WHERE conversation_id = $1)"
_SUMMARIES: Final = "IN (SELECT summary_id FROM summaries WHERE conversation_id = $1)"
_BELONGS: Final = {
    "message_parts": _MESSAGES,
    "summary_messages": f"summary_id {_SUMMARIES} OR {_MESSAGES}",
    "summary_parents": f"summary_id {_SUMMARIES} OR parent_summary_id {_SUMMARIES}",
    "focus_brief_sources": "brief_id IN (SELECT brief_id FROM focus_briefs WHERE conversation_id = $1)",
}


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an export: which table or view it holds, its rows, its size in bytes."""

    name: str
    table: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote, in which zone its local times are, and the tables that no conversation owns (left out)."""

    folder: Path
    files: tuple[ExportedFile, ...]
    zone: str
    conversation_id: int | None
    bodies: bool
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """One table or view to write: the rows that are wanted, and the columns that order them."""

    table: str
    select: str
    parameters: tuple[int, ...]


def export(
    frames: Frames,
    folder: str | os.PathLike[str],
    *,
    conversation_id: int | None = None,
    formats: Sequence[str] = FORMATS,
    bodies: bool = False,
    zone: Zone | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> ExportReport:
    """Write the frames, or those of one conversation, into a new or empty folder.

    ``overwrite`` allows a folder that holds an earlier export and nothing else. ``progress`` is called with the file
    just written, how many are written, and how many there will be.

    Raises:
        UsageError: an unknown format. Refused: a folder that holds other files.
        NotFound: there is no such conversation.
        StoreError: the store cannot be read.
    """
    wrong = [one for one in formats if one not in FORMATS]
    if wrong or not formats:
        raise UsageError(f"Formats are {' and '.join(FORMATS)}, not {', '.join(wrong) or 'none'}.")
    target = Path(folder).expanduser().resolve()
    earlier = prepare_folder(target, overwrite=overwrite)
    shown = zone or frames.zone
    snapshot = take_snapshot(frames.store, shown, bodies=bodies, folder=target)
    try:
        _require(snapshot, conversation_id)
        parts, left_out = _parts(snapshot, conversation_id)
        files: list[ExportedFile] = []
        for part in parts:
            for form in dict.fromkeys(formats):
                files.append(_write(snapshot.connection, part, form, target))
                if progress is not None:
                    progress(files[-1].name, len(files), len(parts) * len(set(formats)))
    finally:
        snapshot.connection.close()
    report = ExportReport(target, tuple(files), shown.name, conversation_id, bodies, left_out)
    for name in earlier - {one.name for one in files}:
        (target / name).unlink(missing_ok=True)
    _describe(report, snapshot, frames.store.path.name)
    return report


def prepare_folder(folder: Path, *, overwrite: bool) -> set[str]:
    """Make the folder, or check it; the names of an earlier export in it."""
    if folder.exists() and not folder.is_dir():
        raise Refused(f"{folder} is a file; name a new or empty folder.")
    if not folder.exists():
        try:
            folder.mkdir(mode=0o700, parents=True)
        except OSError as error:
            raise LcmLabError(f"{folder} cannot be made: {error.strerror}.") from error
        return set()
    present = {one.name for one in folder.iterdir()}
    if not present:
        return set()
    ours = _earlier(folder)
    other = sorted(present - ours - {_MANIFEST, _README})
    if other or not ours:
        raise Refused(
            f"{folder} holds other files ({', '.join((other or sorted(present))[:3])}); name a new or empty folder."
        )
    if not overwrite:
        raise Refused(f"{folder} holds an earlier export; name a new folder, or ask to overwrite it.")
    return ours


def _earlier(folder: Path) -> set[str]:
    try:
        files = json.loads((folder / _MANIFEST).read_text("utf-8"))["files"]
        names = {str(one["name"]) for one in files}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    # A name with a slash was not written by an export.
    return {name for name in names if Path(name).name == name}


def _require(snapshot: Snapshot, conversation_id: int | None) -> None:
    sql = "SELECT count(*) FROM conversations WHERE conversation_id = ?"
    if conversation_id is not None and not snapshot.connection.execute(sql, [conversation_id]).fetchall()[0][0]:
        raise NotFound(f"There is no conversation {conversation_id}.")


def _parts(snapshot: Snapshot, conversation_id: int | None) -> tuple[list[_Part], tuple[str, ...]]:
    """What is written, and the tables left out because nothing ties them to one conversation."""
    parts, left_out = [], []
    for table in snapshot.names:
        columns = [
            (str(row[0]), str(row[1]))
            for row in snapshot.connection.execute(
                f"SELECT column_name, column_type FROM (DESCRIBE main.{quote(table)})"
            ).fetchall()
        ]
        names = [name for name, _ in columns]
        where: str | None = "true"
        if conversation_id is not None:
            where = _belongs(snapshot, table, names)
        if where is None:
            left_out.append(table)
            continue
        shown = ", ".join(_with_local(columns, names) if snapshot.knows_zone else map(quote, names))
        order = ", ".join(quote(name) for name in _order(snapshot, table, names))
        # Where nothing orders a table its rows stay as they came, which is the order of the store.
        tail = f" ORDER BY {order}" if order else ""
        used = () if conversation_id is None else (conversation_id,)
        parts.append(_Part(table, f"SELECT {shown} FROM main.{quote(table)} WHERE {where}{tail}", used))
    return parts, tuple(left_out)


def _belongs(snapshot: Snapshot, table: str, names: list[str]) -> str | None:
    """The condition that a row belongs to the conversation ``$1``; None where nothing says so."""
    if table == snapshot.anomalies_name:
        cases = []
        for one, plan in snapshot.loaded.plans.items():
            condition = _belongs(snapshot, one, [field.name for field in plan.fields])
            if condition is not None and plan.key != ("rowid",) and plan.present:
                key = ", ".join(quote(name) for name in plan.key)
                name = one.replace("'", "''")
                rows = f"SELECT concat_ws(':', {key}) FROM main.{quote(one)} WHERE {condition}"
                cases.append(f"(table_name = '{name}' AND row_key IN ({rows}))")
        return " OR ".join(cases)
    if table in _BELONGS:
        return _BELONGS[table]
    return "conversation_id = $1" if "conversation_id" in names else None


def _order(snapshot: Snapshot, table: str, names: list[str]) -> tuple[str, ...]:
    if table == snapshot.anomalies_name:
        return tuple(names)
    key = snapshot.views[table].order if table in snapshot.views else snapshot.loaded.plans[table].key
    return key if set(key) <= set(names) else ()


def _with_local(columns: list[tuple[str, str]], names: list[str]) -> list[str]:
    """The columns, each ``*_utc`` followed by its twin in the zone."""
    shown = []
    for name, kind in columns:
        shown.append(quote(name))
        local = f"{name.removesuffix('_utc')}_local"
        if name.endswith("_utc") and kind == "TIMESTAMP" and local not in names:
            shown.append(f"local_time({quote(name)}) AS {quote(local)}")
    return shown


def _write(connection: "DuckDBPyConnection", part: _Part, form: str, folder: Path) -> ExportedFile:
    """Write one file beside its place, then put it there."""
    name = f"{part.table.replace(os.sep, '_').lstrip('.')}.{form}"
    final, beside = folder / name, folder / f".{name}.part"
    try:
        # Made with its mode first, and filled in place: at no time can somebody else read it.
        os.close(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        path = str(beside).replace("'", "''")
        sql = f"COPY ({part.select}) TO '{path}' ({_OPTIONS[form]}, USE_TMP_FILE false)"
        rows = connection.execute(sql, list(part.parameters)).fetchall()[0][0]
        beside.replace(final)
    except OSError as error:
        raise LcmLabError(f"{final} cannot be written: {error.strerror}.") from error
    finally:
        beside.unlink(missing_ok=True)
    return ExportedFile(name, part.table, int(rows), final.stat().st_size)


def _describe(report: ExportReport, snapshot: Snapshot, store: str) -> None:
    """The manifest for programs and the note for people; the store's file name is named, its folder is not."""
    manifest = {
        "store": store,
        "snapshot_at": snapshot.at.isoformat(timespec="seconds"),
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "zone": report.zone,
        "conversation_id": report.conversation_id,
        "bodies": report.bodies,
        "tokens": tokens.STORED_OR_PLUGIN,
        "estimators": {one.name: one.rule for one in tokens.ESTIMATORS.values()},
        "anomalies": len(snapshot.loaded.notes),
        "left_out": list(report.left_out),
        "files": [{"name": one.name, "table": one.table, "rows": one.rows, "bytes": one.bytes} for one in report.files],
    }
    whose = f"conversation {report.conversation_id}" if report.conversation_id is not None else "all conversations"
    lines = [
        f"Frames of {store}, {whose}, as of {manifest['snapshot_at']}.",
        f"Texts of messages and summaries: {'included' if report.bodies else 'left out, their sizes are in *_bytes'}.",
        "Times: *_at as stored, *_utc in UTC"
        + (
            f", *_local in {report.zone}." if snapshot.knows_zone else f"; DuckDB does not know the zone {report.zone}."
        ),
        f"Tokens: {tokens.STORED_OR_PLUGIN}; est_plugin, est_plugin_old and est_lcm_tui are the three known rules.",
        f"Values that did not fit their column: {manifest['anomalies']} in the store, listed in lcm_anomalies.",
    ]
    put_file(report.folder / _README, "\n".join(lines) + "\n")
    put_file(report.folder / _MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


def put_file(path: Path, text: str) -> None:
    """Write a text in one step, for its owner only."""
    beside = path.with_name(f".{path.name}.part")
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    beside.replace(path)
