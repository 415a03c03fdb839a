"""A table of plain text, before it becomes HTML or terminal lines.

Cells are what the store says, made safe to print: control characters are replaced, so that a stored text can neither
move the cursor of a terminal nor hide itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from lcm_lab.plain import safe

DASH: Final = "\u2014"
"""Stands for a value that is not there."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its title with the unit, numbers to the right, and what happens to it where space is short.

    ``wrap``: its text goes on in the next line. ``cut``: it is cut. Neither: it is always shown whole.
    """

    title: str
    right: bool = False
    wrap: bool = False
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns; ``tones`` names a colour for each row: a role, ``warning``, ``error``, ``muted``."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    tones: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def make(
    title: str,
    columns: Iterable[Column | str],
    rows: Iterable[Iterable[object]],
    *,
    tones: Iterable[str] = (),
    notes: Iterable[str] = (),
) -> Table:
    """A table; columns given as text and numbers are set right where the first row holds a number."""
    filled = [tuple(row) for row in rows]
    heads = tuple(
        one if isinstance(one, Column) else Column(one, right=bool(filled) and _is_number(filled[0][i]))
        for i, one in enumerate(columns)
    )
    return Table(
        title=safe(title),
        columns=heads,
        rows=tuple(tuple(cell(value) for value in row) for row in filled),
        tones=tuple(tones),
        notes=tuple(safe(note) for note in notes if note),
    )


def frame(columns: list[str], rows: Sequence[tuple[object, ...]], *, notes: Iterable[str] = ()) -> Table:
    """Rows of a query; NULL, NaN and NaT all show as a dash, long texts are cut, dates show without a time."""
    shown = [[_from_frame(value) for value in column] for column in zip(*rows, strict=True)]
    for column in shown:
        moments = [value for value in column if hasattr(value, "isoformat")]
        if moments and all(str(value).endswith("00:00:00") for value in moments):
            column[:] = [str(value)[:10] if hasattr(value, "isoformat") else value for value in column]
    heads = [
        Column(name, right=any(map(_is_number, column)), cut=True) for name, column in zip(columns, shown, strict=False)
    ]
    return make("", heads or columns, zip(*shown, strict=True), notes=notes)


def from_pandas(value: object) -> object:
    """A value of a frame as Python's own: nothing for NULL in any of pandas' forms, lists for arrays."""
    # pandas' NA refuses to be compared, so it is known by its name.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [from_pandas(one) for one in value]
    return None if isinstance(value, float) and value != value else value  # noqa: PLR0124  (NaN)


def cell(value: object) -> str:
    """A value as text: whole numbers with thousands commas, nothing as a dash."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.2f}"
    return safe(str(value))


def size(count: int | None) -> str:
    """Bytes in B, KB, MB or GB (1024 each), one decimal above bytes."""
    if count is None:
        return DASH
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            break
        amount /= 1024
    return f"{count:,} B" if unit == "B" else f"{amount:,.1f} {unit}"


def share(part: int, whole: int) -> str:
    """A part of a whole in percent; a dash where there is no whole."""
    return f"{100 * part / whole:.1f} %" if whole else DASH


def _from_frame(value: object) -> object:
    value = from_pandas(value)
    if value is None:
        return None
    if isinstance(value, int | float | bool) or hasattr(value, "isoformat"):
        return value
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else text[:199] + "\u2026"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
