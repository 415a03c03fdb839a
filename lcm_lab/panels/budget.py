"""Where the tokens of a conversation's next turn go, by class, against a window.

Checked by ``tests/panels/test_browse_context.py``.
"""

from typing import TYPE_CHECKING

import ipywidgets as w

from lcm_lab.panels import lists
from lcm_lab.panels.base import Panel
from lcm_lab.panels.context import window_input
from lcm_lab.panels.live import Live
from lcm_lab.panels.rewrite_screen import fill_tables, shown
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.analysis.budget import Budget
    from lcm_lab.lab import Lab

_BARS, _AREAS = "bars", "areas"


class BudgetPanel(Panel):
    """The budget of a conversation as a table and as a figure."""

    title = "Budget"

    def __init__(self, lab: "Lab", conversation_id: int) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.budget: Budget | None = None
        self.window = window_input()
        self.noise = w.Checkbox(
            value=True,
            description="heartbeats counted",
            indent=False,
            tooltip="Count heartbeats and scheduler noise",
            layout=w.Layout(width="auto", margin="2px 12px"),
        )
        self.shape = w.ToggleButtons(options=[_BARS, _AREAS], style={"button_width": "auto"})
        for one in (self.window, self.noise):
            one.observe(lambda _change: self.guard(self.reload), "value")
        self.shape.observe(lambda _change: self.guard(self._draw), "value")
        self.table = shown("")
        self.live = Live(description="the budget")
        bar = lists.row(self.window, self.noise, self.shape)
        both = lists.side_by_side(self.table, self.live.widget)
        self.body.children = (w.HTML(blocks.STYLE), bar, both)
        self.guard(self.reload)

    def reload(self) -> None:
        """Count again."""
        self.budget = self.lab.budget(
            self.conversation_id, window=self.window.value or None, with_noise=self.noise.value
        )
        fill_tables(self.table, self.tables())
        self._draw()

    def tables(self) -> list[Table]:
        """The classes."""
        return tables.of(self.budget, self.lab.zone) if self.budget else []

    def drawing(self) -> str:
        """The classes as bars."""
        rows = [(one.group, one.tokens) for one in self.budget.lines] if self.budget else []
        return svg.bars(rows, title=f"Next turn of conversation {self.conversation_id} by tokens")

    def _draw(self) -> None:
        if self.budget is not None:
            self.live.show(self.budget.treemap() if self.shape.value == _AREAS else self.budget.figure())
