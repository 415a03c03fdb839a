"""Long texts in a panel: cut at first, whole when asked for.

The invariant: what a page holds at first does not depend on how long the stored texts are. Checked by
``tests/panels/test_browse_conversation.py``.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import ipywidgets as w

from lcm_lab.views import blocks

Maker: TypeAlias = Callable[..., blocks.Block]
"""Makes a block; called with ``limit``, the characters to show."""


class Expandable:
    """A text with a button that shows what was cut off, as much at a time as a browser lays out at once."""

    def __init__(self, make: Maker | None = None, *, limit: int = blocks.CUT) -> None:
        self.html = w.HTML()
        self.more = w.Button(tooltip="More of this text", layout=w.Layout(width="auto", align_self="flex-start"))
        self.more.on_click(self._toggle)
        self.widget = w.VBox([self.html, self.more])
        self.show(make, limit=limit)

    def show(self, make: Maker | None, *, limit: int = blocks.CUT) -> None:
        """Show another text, or none."""
        self._make, self._first, self._limit, self._hidden = make, limit, limit, 0
        self._draw()

    def _toggle(self, _button: Any) -> None:
        if not self._hidden:
            self._limit = self._first
        else:
            self._limit = blocks.ALL if self._limit < blocks.ALL else self._limit * 5
        self._draw()

    def _draw(self) -> None:
        if self._make is None:
            self.html.value, self.more.layout.display = "", "none"
            return
        block = self._make(limit=self._limit)
        self._hidden = block.hidden
        self.html.value = block.html
        at_first = self._limit == self._first
        self.more.description = (
            f"Show all ({block.size:,} characters)" if at_first else "Show more" if block.hidden else "Show less"
        )
        self.more.tooltip = f"{self.more.description} of this text"
        self.more.layout.display = "none" if at_first and not block.hidden else ""


def flow(makers: Iterable[Maker]) -> tuple[w.Widget, ...]:
    """Texts under each other: those shown whole together in one widget, a cut one with a button of its own."""
    found: list[w.Widget] = []
    run: list[str] = []
    for make in makers:
        block = make(limit=blocks.CUT)
        if not block.hidden:
            run.append(block.html)
            continue
        if run:
            found.append(w.HTML("".join(run)))
            run = []
        found.append(Expandable(make).widget)
    return (*found, w.HTML("".join(run))) if run else tuple(found)
