"""Sessions of numbers as CSV files: what is committed, so that anybody can recompute every figure without the texts.

Idea: one file for sessions, one for requests (with the tokens that enter by class), one for items, one for what the
hooks had to say, one with a row for each reference: class, request of origin, request of reuse, where it stood, its
state under each policy.
Invariant: what is written reads back as the same sessions; no text of a session, no path and no time of day is
in it. Checked by ``tests/analysis/savings/test_traces.py``.
"""

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lcm_lab.analysis.savings.session import CLASSES, Item, Layers, MemoryPoint, Reference, Request, Session
from lcm_lab.errors import NotFound

SHIPPED: Final = Path(__file__).resolve().parents[2] / "data" / "traces"
FILES: Final = ("sessions.csv", "requests.csv", "items.csv", "memory.csv", "references.csv")
LETTERS: Final = {"context": "c", "look-up": "l", "lost": "x"}

_SESSION: Final = ("session", "client", "cut_by_client", "bad_lines", "turns", "l1", "l2", "l2_lines", "raw")
_REQUEST: Final = (
    *("session", "request", "at", "turn", "model", "prompt", "cache_read", "write_5m", "write_1h", "uncached"),
    *("output", "boundary", "fresh", "resumed", "before", "manual"),
)
_ITEM: Final = (
    *("session", "kind", "estimate", "pieces", "entry", "made", "turn", "call", "reads", "edits", "stretch"),
)
_MEMORY: Final = ("session", "request", "block", "lines")
_REFERENCE: Final = (*("session", "kind", "cut", "origin", "reuse", "where", "blocks", "lines", "stored", "survivor"),)


def write(
    sessions: Sequence[Session], folder: Path, states: Mapping[str, Mapping[str, Sequence[str]]] | None = None
) -> list[Path]:
    """Write the sessions; ``states`` are the states of the references by policy and session."""
    folder.mkdir(parents=True, exist_ok=True)
    policies = list(states or {})
    columns = [re.sub(r"[^a-z0-9]+", "_", f"under {name}".lower()).strip("_") for name in policies]
    rows: dict[str, tuple[list[str], Iterable[Sequence[Any]]]] = {
        "sessions.csv": (list(_SESSION), [_session_row(one) for one in sessions]),
        "requests.csv": ([*_REQUEST, *(f"new {name}" for name in CLASSES)], _request_rows(sessions)),
        "items.csv": (list(_ITEM), _item_rows(sessions)),
        "memory.csv": (list(_MEMORY), _memory_rows(sessions)),
        "references.csv": ([*_REFERENCE, *columns], _reference_rows(sessions, [(states or {})[p] for p in policies])),
    }
    written = []
    for name, (head, body) in rows.items():
        with (folder / name).open("w", encoding="utf-8", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(head)
            out.writerows(body)
        written.append(folder / name)
    return written


def read(folder: Path = SHIPPED) -> list[Session]:
    """The sessions that were written to a folder.

    Raises:
        NotFound: a file of theirs is missing.
    """
    tables = {name: _table(folder / name) for name in FILES}
    by_session = {name: _grouped(rows) for name, rows in tables.items()}
    found = []
    for row in tables["sessions.csv"]:
        name = row["session"]
        found.append(
            Session(
                name,
                tuple(_item(one) for one in by_session["items.csv"].get(name, ())),
                tuple(_request(one) for one in by_session["requests.csv"].get(name, ())),
                memory=tuple(_memory(one) for one in by_session["memory.csv"].get(name, ())),
                references=tuple(_reference(one) for one in by_session["references.csv"].get(name, ())),
                layers=Layers(*(int(row[key]) for key in _SESSION[4:])),
                client=row["client"],
                cut_by_client=int(row["cut_by_client"]),
                bad_lines=int(row["bad_lines"]),
            )
        )
    return found


def _session_row(one: Session) -> list[Any]:
    layers = one.layers
    sizes = (layers.turns, layers.l1, layers.l2, layers.l2_lines, layers.raw)
    return [one.name, one.client, one.cut_by_client, one.bad_lines, *sizes]


def _request_rows(sessions: Sequence[Session]) -> Iterable[list[Any]]:
    for one in sessions:
        for i, (request, entering) in enumerate(zip(one.requests, one.entering(), strict=True)):
            new = dict.fromkeys(CLASSES, 0)
            for k in entering:
                new[one.items[k].kind] += one.items[k].estimate
            values = [_plain(getattr(request, name)) for name in _REQUEST[2:]]
            yield [one.name, i, *values, *new.values()]


def _item_rows(sessions: Sequence[Session]) -> Iterable[list[Any]]:
    for one in sessions:
        for item in one.items:
            yield [one.name, *(getattr(item, name) for name in _ITEM[1:])]


def _memory_rows(sessions: Sequence[Session]) -> Iterable[list[Any]]:
    for one in sessions:
        for point in one.memory:
            lines = " ".join(f"{turn}:{l1}:{l2}" for turn, l1, l2 in point.lines)
            yield [one.name, point.request, point.block, lines]


def _reference_rows(sessions: Sequence[Session], states: Sequence[Mapping[str, Sequence[str]]]) -> Iterable[list[Any]]:
    for one in sessions:
        for i, ref in enumerate(one.references):
            under = [LETTERS[found[one.name][i]] for found in states]
            yield [one.name, *(_plain(getattr(ref, name)) for name in _REFERENCE[1:]), *under]


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:.1f}" if isinstance(value, float) else value


def _table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    except OSError as error:
        raise NotFound(f"The trace {path} cannot be read: {error.strerror or error}.") from error


def _grouped(rows: Sequence[dict[str, str]]) -> dict[str, list[dict[str, str]]]:
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        found.setdefault(row["session"], []).append(row)
    return found


def _item(row: Mapping[str, str]) -> Item:
    return Item(row["kind"], *(int(row[name]) for name in _ITEM[2:]))


def _request(row: Mapping[str, str]) -> Request:
    sizes = {name: int(row[name]) for name in _REQUEST[5:11]}
    flags = {name: row[name] == "1" for name in ("boundary", "fresh", "resumed", "manual")}
    known: dict[str, Any] = {**sizes, **flags, "before": int(row["before"])}
    return Request(float(row["at"]), int(row["turn"]), row["model"], **known)


def _memory(row: Mapping[str, str]) -> MemoryPoint:
    lines = [tuple(map(int, one.split(":"))) for one in row["lines"].split()]
    return MemoryPoint(int(row["request"]), int(row["block"]), tuple((a, b, c) for a, b, c in lines))


def _reference(row: Mapping[str, str]) -> Reference:
    return Reference(
        row["kind"],
        int(row["cut"]),
        int(row["origin"]),
        int(row["reuse"]),
        _numbers(row["where"]),
        _numbers(row["blocks"]),
        _numbers(row["lines"]),
        stored=row["stored"] == "1",
        survivor=row["survivor"] == "1",
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(one) for one in text.split())
