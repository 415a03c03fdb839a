"""Tables for a terminal, or for whatever reads our standard output."""

import shutil
import sys
from collections.abc import Iterable
from io import StringIO
from typing import Final

from lcm_lab.views.table import Table

TONES: Final = {
    "user": "green",
    "assistant": "blue",
    "system": "yellow",
    "tool": "bright_black",
    "warning": "yellow",
    "error": "red",
    "over": "red",
    "good": "green",
    "muted": "bright_black",
}
_PIPED_WIDTH: Final = 400
_NARROWEST: Final = 12
"""What is left of a column that may be cut or wrapped."""

_GAP: Final = 2


def render(tables: Iterable[Table], *, color: bool | None = None, width: int | None = None) -> str:
    """Tables as text, one below the other; colours and the terminal's width only where a person looks."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    looked_at = sys.stdout.isatty()
    out = StringIO()
    shown = list(tables)
    room = width or (shutil.get_terminal_size().columns if looked_at else _PIPED_WIDTH)
    console = Console(
        file=out,
        # Ids and numbers are never cut: where they alone need more, the lines are longer than the terminal.
        width=max(room, *(_needed(one) for one in shown), 1),
        force_terminal=looked_at if color is None else color,
        color_system="standard" if (looked_at if color is None else color) else None,
        force_jupyter=False,  # else rich shows the table itself, beside ours
        highlight=False,
        markup=False,
        emoji=False,
    )
    for i, table in enumerate(shown):
        if i:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        if table.columns and table.rows:
            grid = RichTable(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
            for column, fitted in zip(table.columns, _fitted(table, console.width), strict=True):
                grid.add_column(
                    Text(column.title),
                    justify="right" if column.right else "left",
                    no_wrap=not column.wrap,
                    overflow="fold" if column.wrap else "ellipsis",
                    width=fitted,
                )
            for j, row in enumerate(table.rows):
                tone = table.tones[j] if j < len(table.tones) else ""
                grid.add_row(*(Text(value) for value in row), style=TONES.get(tone, ""))
            console.print(grid)
        for note in table.notes:
            console.print(Text(note), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _widths(table: Table) -> list[int]:
    from rich.cells import cell_len

    rows = [[column.title for column in table.columns], *table.rows]
    return [max(cell_len(line) for row in rows for line in row[k].split("\n")) for k in range(len(table.columns))]


def _needed(table: Table) -> int:
    """The width below which a table would lose what must be shown whole."""
    if not (table.columns and table.rows):
        return 0
    return sum(
        min(width, _NARROWEST) if column.wrap or column.cut else width
        for column, width in zip(table.columns, _widths(table), strict=True)
    ) + _GAP * len(table.columns)


def _fitted(table: Table, room: int) -> list[int]:
    """The width of each column: what may be cut or wrapped shares the room that the others leave, narrow ones first."""
    widths = _widths(table)
    soft = [k for k, column in enumerate(table.columns) if column.wrap or column.cut]
    left = room - _GAP * len(widths) - sum(width for k, width in enumerate(widths) if k not in soft)
    for place, k in enumerate(sorted(soft, key=widths.__getitem__)):
        widths[k] = max(min(widths[k], left // (len(soft) - place)), 1)
        left -= widths[k]
    return widths
