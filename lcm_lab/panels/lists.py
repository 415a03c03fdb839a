"""A list to pick from, as every screen has one: a filter, a head, rows, and how many of how many are shown.

The rows are options of one box, never widgets of their own, and at most :data:`SHOWN` of them are in the page at a
time. The invariant: setting rows from code picks nothing and calls nobody; a row's text shows literally on one line.
Checked by ``tests/panels/test_browse_lists.py``.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import ipywidgets as w

from lcm_lab import plain
from lcm_lab.analysis.draw import palette
from lcm_lab.panels.base import running_loop
from lcm_lab.views import blocks

SHOWN: Final = 300
"""Rows in the page at a time."""

_SPACE: Final = "\u00a0"
_PATIENCE: Final = 3.0
"""Seconds; anywidget gives up after two."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: ``key`` names it, ``label`` is shown, and the filter looks at it.

    Of many rows few are shown, so what takes time can wait until then: with an ``indent`` the label is stored text as
    it is, and ``cells`` are what :func:`columns` takes; both are made fit to show when they are shown.
    """

    key: str
    label: str = ""
    indent: int | None = None
    cells: tuple[tuple[object, int], ...] = ()

    @property
    def search(self) -> str:
        """What the filter looks at."""
        return self.label or "  ".join(str(value) for value, _ in self.cells)


def columns(cells: Iterable[tuple[object, int]]) -> str:
    """Cells in columns of so many characters; a negative width sets to the right, 0 takes the rest of the line."""
    found = []
    for value, width in cells:
        text = palette.visible(plain.safe(str(value)), size=200)
        if width:
            text = palette.fitted(text, width=abs(width))
            room = " " * (abs(width) - palette.columns(text))
            text = room + text if width < 0 else text + room
        found.append(text)
    return "  ".join(found).rstrip()


class Listing:
    """A list; ``widget`` is displayed. ``on_pick`` is called with the key of a row that somebody selects."""

    def __init__(
        self, label: str, on_pick: Callable[[str], None], *, head: str = "", rows: int = 12, fixed: bool = False
    ) -> None:
        self._rows: Sequence[Row] = ()
        self._kept: Sequence[Row] = ()
        self._start = 0
        self._note = ""
        self._pool: Callable[[], Sequence[Row]] | None = None
        self._quiet = False
        self._most, self._fixed = rows, fixed
        self._on_pick = on_pick
        self.filter = w.Text(
            placeholder="filter: type, then Enter",
            tooltip=f"Show only the rows of {label} that have this text; runs when Enter is pressed",
            continuous_update=False,
            layout=w.Layout(width="260px"),
        )
        self.head = w.HTML(f'<div class="lcm-head">{blocks.inline(head)}</div>' if head else "")
        self.select = w.Select(options=(), rows=rows, tooltip=label, layout=w.Layout(width="auto"))
        self.select.add_class("lcm-list")
        self.status = w.HTML()
        self.earlier = _step("\u25b2 Rows before", lambda: self._move(-SHOWN))
        self.later = _step("\u25bc Rows after", lambda: self._move(SHOWN))
        self.above = w.HBox([self.filter], layout=w.Layout(flex_flow="row wrap"))
        below = w.HBox([self.status, self.earlier, self.later], layout=w.Layout(flex_flow="row wrap"))
        self.widget = w.VBox([self.above, self.head, self.select, below])
        self.filter.observe(self._filtered, "value")
        self.select.observe(self._picked, "value")

    def fill(
        self,
        rows: Iterable[Row],
        *,
        note: str = "",
        keep: bool = True,
        pool: Callable[[], Sequence[Row]] | None = None,
    ) -> None:
        """Show these rows; the selected one stays selected where it is still there and ``keep``.

        ``pool`` gives the rows that the filter looks at where these are only part of them.
        """
        chosen = self.picked if keep else None
        self._rows, self._note, self._pool = list(rows), note, pool
        self._apply()
        self._start = self._page_of(chosen) if chosen is not None else min(self._start, max(0, len(self._kept) - 1))
        self._show(chosen)

    @property
    def picked(self) -> str | None:
        """The key of the selected row."""
        value: str | None = self.select.value
        return value

    def pick(self, key: str | None) -> bool:
        """Select a row without calling anybody; False where the list does not have it."""
        there = key is not None and any(one.key == key for one in self._kept)
        if there and not any(key == value for _, value in self.select.options):
            self._start = self._page_of(key)
        self._show(key if there else None)
        return there

    def step(self, by: int) -> None:
        """Select the row so many further down (up, if negative), as somebody would; it stops at the ends."""
        if not self._kept:
            return
        at = next((i for i, one in enumerate(self._kept) if one.key == self.picked), -1 if by > 0 else 0)
        key = self._kept[min(max(at + by, 0), len(self._kept) - 1)].key
        if key != self.picked:
            self.pick(key)
            self._on_pick(key)

    @property
    def keys(self) -> list[str]:
        """The keys of the rows that pass the filter."""
        return [one.key for one in self._kept]

    def _apply(self) -> None:
        wanted = self.filter.value.strip().casefold()
        if not wanted:
            self._kept = self._rows
            return
        pool = self._pool() if self._pool else self._rows
        self._kept = [one for one in pool if wanted in one.search.casefold()]

    def _page_of(self, key: str | None) -> int:
        place = next((i for i, one in enumerate(self._kept) if one.key == key), 0)
        return place - place % SHOWN

    def _show(self, chosen: str | None) -> None:
        shown = self._kept[self._start : self._start + SHOWN]
        options = [(_label(one), one.key) for one in shown]
        self._quiet = True
        try:
            if list(self.select.options) != options:
                self.select.options = options
            value = chosen if any(chosen == one.key for one in shown) else None
            if self.select.value != value:
                self.select.value = value
        finally:
            self._quiet = False
        self.select.disabled = not options
        if not self._fixed:
            self.select.rows = max(min(len(options), self._most), min(4, self._most))
        self._say(len(shown))

    def _say(self, shown: int) -> None:
        said = f"Showing {shown:,} of {len(self._kept):,}"
        if self.filter.value.strip():
            said += " that match"
        if self._start:
            said += f", from number {self._start + 1:,}"
        self.status.value = blocks.faint(f"{said}. {self._note}".strip())
        self.earlier.layout.display = "" if self._start else "none"
        self.later.layout.display = "" if self._start + shown < len(self._kept) else "none"

    def _move(self, by: int) -> None:
        chosen = self.picked
        self._start = max(0, self._start + by)
        self._show(chosen)

    def _filtered(self, _change: Any) -> None:
        chosen = self.picked
        self._apply()
        self._start = self._page_of(chosen)
        self._show(chosen)

    def _picked(self, change: Any) -> None:
        if not self._quiet and change["new"] is not None:
            self._on_pick(change["new"])


def close(widget: w.Widget) -> None:
    """Close a widget with all that is in it, so that pages nobody sees any more take no memory in page and kernel."""
    for one in getattr(widget, "children", ()):
        close(one)
    loop = running_loop() if getattr(widget, "_model_module", "") == "anywidget" else None
    if loop is None:
        widget.close()
    else:
        # Gone before the page has loaded it, such a widget complains in the browser's console.
        loop.call_later(_PATIENCE, widget.close)


def side_by_side(*children: w.Widget, basis: str = "420px") -> w.Box:
    """Widgets beside each other, or under each other where the page is narrow."""
    for one in children:
        one.layout.flex = f"1 1 {basis}"
        one.layout.min_width = "0"
    return w.Box(
        children, layout=w.Layout(display="flex", flex_flow="row wrap", width="100%", align_items="flex-start")
    )


def row(*children: w.Widget) -> w.HBox:
    """Buttons in a row that wraps."""
    return w.HBox(children, layout=w.Layout(flex_flow="row wrap"))


def _step(label: str, action: Callable[[], None]) -> w.Button:
    made = w.Button(description=label, tooltip=f"{label} these", layout=w.Layout(width="auto", display="none"))
    made.on_click(lambda _button: action())
    return made


def _label(row: Row) -> str:
    text = columns(row.cells) if row.cells else row.label
    if row.indent is not None:
        text = "  " * row.indent + columns([(row.label, 0)])
    # A browser folds plain spaces of an option; the columns need them.
    return text.replace(" ", _SPACE)
