"""What a benchmark says: rows of ours against a baseline, a table to read, and a file to keep.

``Row.passed`` is decided once, here, from ``ratio`` and ``limit``; benchmarks only measure.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

REPORT = "bench-report.md"


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison: our number, the baseline's, their ratio, and the ratio that is still allowed (None: no limit).

    ``ours`` and ``baseline`` are in ``unit``; where a limit is absolute, ``baseline`` is the limit and ``limit`` is 1.
    """

    name: str
    ours: float
    baseline: float
    limit: float | None
    unit: str = "s"

    @property
    def ratio(self) -> float:
        """Ours over the baseline."""
        return self.ours / self.baseline if self.baseline else float("inf")

    @property
    def passed(self) -> bool:
        """Whether the ratio keeps its limit."""
        return self.limit is None or self.ratio <= self.limit

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as texts, for a table."""
        number = "{:,.0f} {}" if self.unit == "MB" else "{:,.3f} {}"
        return (
            self.name,
            number.format(self.ours, self.unit),
            number.format(self.baseline, self.unit),
            f"{self.ratio:.2f}",
            "-" if self.limit is None else f"{self.limit:.2f}",
            "yes" if self.passed else "NO",
        )


HEADS = ("what", "ours", "baseline", "ratio", "limit", "kept")


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def show(title: str, rows: Sequence[Row], *, note: str = "") -> None:
    """Print the rows as a table."""
    table = Table(title=title, caption=note or None)
    for head in HEADS:
        table.add_column(head, justify="left" if head == "what" else "right")
    for row in rows:
        table.add_row(*row.cells, style=None if row.passed else "bold red")
    Console().print(table)


def write(title: str, rows: Sequence[Row], *, note: str = "", path: Path | str = REPORT) -> None:
    """Put the rows into the report; a section of the same title is replaced, others stay."""
    place = Path(path)
    before = place.read_text("utf-8") if place.exists() else "# Benchmarks\n"
    sections = before.split("\n## ")
    kept = [one for one in sections if not one.startswith(f"{title}\n")]
    lines = [title, "", *([note, ""] if note else []), f"| {' | '.join(HEADS)} |", "|---|" + "---:|" * (len(HEADS) - 1)]
    lines += [f"| {' | '.join(row.cells)} |" for row in rows]
    place.write_text("\n## ".join([*(one.rstrip("\n") + "\n" for one in kept), "\n".join(lines) + "\n"]), "utf-8")
