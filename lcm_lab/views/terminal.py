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


def render(tables: Iterable[Table], *, color: bool | None = None, width: int | None = None) -> str:
    """Tables as text, one below the other; colours and the terminal's width only where a person looks."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    looked_at = sys.stdout.isatty()
    out = StringIO()
    console = Console(
        file=out,
        width=width or (shutil.get_terminal_size().columns if looked_at else _PIPED_WIDTH),
        force_terminal=looked_at if color is None else color,
        color_system="standard" if (looked_at if color is None else color) else None,
        force_jupyter=False,  # else rich shows the table itself, beside ours
        highlight=False,
        markup=False,
        emoji=False,
    )
    for i, table in enumerate(tables):
        if i:
            console.print()
        if table.title:
            console.print(Text(table.title, style="bold"))
        if table.columns and table.rows:
            grid = RichTable(box=None, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 2, 0, 0))
            for column in table.columns:
                grid.add_column(
                    Text(column.title),
                    justify="right" if column.right else "left",
                    no_wrap=not column.wrap,
                    overflow="fold" if column.wrap else "ellipsis",
                )
            for j, row in enumerate(table.rows):
                tone = table.tones[j] if j < len(table.tones) else ""
                grid.add_row(*(Text(value) for value in row), style=TONES.get(tone, ""))
            console.print(grid)
        for note in table.notes:
            console.print(Text(note), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
