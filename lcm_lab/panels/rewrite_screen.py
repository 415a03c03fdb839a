"""What a review of rewrites shows: the widgets, and how each state of the review looks in them.

Buttons keep their places, so that the second half of a double click never lands on another one. The text of the
editor is what counts; all else is drawn from the review.
"""

from collections.abc import Callable, Iterable
from typing import Final, Literal

import ipywidgets as w

from lcm_lab.repairs.batch import Proposal
from lcm_lab.repairs.review import Review
from lcm_lab.times import Zone
from lcm_lab.views import notebook, word_diff
from lcm_lab.views import review as views
from lcm_lab.views.escaping import literal
from lcm_lab.views.table import Table

State = Literal["preview", "sending", "review", "over"]

SIDE_BY_SIDE: Final = "Side by side"
UNIFIED: Final = "Unified"
_HEAD: Final = '<div style="font-weight:600;margin-top:6px">{}</div>'


def shown(html: str) -> w.HTML:
    """An HTML widget as wide as its panel, with the line height of text."""
    made = w.HTML(layout=w.Layout(width="auto", min_width="0", height="auto"))
    fill(made, html)
    return made


def fill(widget: w.HTML, html: str) -> None:
    """Show HTML in the widget, or nothing at all."""
    widget.value = f'<div style="line-height:1.45">{html}</div>' if html else ""
    widget.layout.display = "" if html else "none"


def fill_tables(widget: w.HTML, tables: Iterable[Table]) -> None:
    """Show tables in the widget, in colours that are seen on a dark page, too."""
    html = "".join(map(notebook.html, tables))
    fill(widget, f'<div class="lcm-tone">{html}</div>' if html else "")


def bar(*buttons: w.Widget) -> w.HBox:
    """Buttons in a row that goes on below where there is no room."""
    for one in buttons:
        if isinstance(one, w.Button):
            one.layout.width = "auto"
    return w.HBox(list(buttons), layout=w.Layout(flex_flow="row wrap", width="auto"))


class Screen:
    """The widgets between the buttons and the panel's end."""

    def __init__(self, *, edited: Callable[[], None], toggled: Callable[[], None]) -> None:
        self.progress = w.IntProgress(min=0, layout=w.Layout(width="14em", max_width="60%"))
        self.status = w.HTML()
        self.facts = shown("")
        self.said = shown("")
        self.view = w.ToggleButtons(options=[SIDE_BY_SIDE, UNIFIED], style={"button_width": "8em"})
        self.difference = shown("")
        self.editor = w.Textarea(
            rows=10, continuous_update=False, layout=w.Layout(width="auto", height="auto"), tooltip="The new text"
        )
        self.edit_box = w.VBox(
            [shown(_HEAD.format("The new text, to be edited before it is applied")), self.editor],
            layout=w.Layout(width="auto"),
        )
        self.prompt = shown("")
        self.result = shown("")
        self.head = w.HBox([self.progress, self.status], layout=w.Layout(flex_flow="row wrap"))
        self.children = (
            self.facts,
            self.result,
            self.said,
            self.view,
            self.difference,
            self.edit_box,
            self.prompt,
        )
        self._filling = False

        def on_edit(_change: object) -> None:
            if not self._filling:
                edited()

        self.editor.observe(on_edit, names="value")
        self.view.observe(lambda _change: toggled(), names="value")

    def put_text(self, text: str) -> None:
        """Put a text into the editor; nobody is told."""
        self._filling = True
        try:
            self.editor.value = text
        finally:
            self._filling = False

    def show(self, review: Review, state: State, tables: list[Table], zone: Zone) -> None:
        """Draw a state anew."""
        single = review.total <= 1
        self.progress.max = max(review.total, 1)
        self.progress.value = review.decided
        self.head.layout.display = "none" if single and state != "sending" else ""
        self.progress.layout.display = "none" if single else ""
        if state != "sending":
            self.say("" if state == "over" else f"[{review.number}/{review.total}]")
        over = state == "over"
        proposal = review.proposal if state == "review" else None
        fill_tables(self.facts, [] if over or proposal else tables)
        fill_tables(self.result, views.result(review, zone) if over else [])
        self.compare(proposal)
        asked = views.folded_facts(tables) if proposal else ""
        fill(self.prompt, "" if over else asked + views.prompt(review, opened=state == "preview"))

    def compare(self, proposal: Proposal | None) -> None:
        """Show a text beside the old one, and what is said of it."""
        for one in (self.view, self.edit_box):
            one.layout.display = "none" if proposal is None else ""
        if proposal is None:
            fill(self.difference, "")
            fill(self.said, "")
            return
        fill_tables(self.said, [views.judged(proposal)])
        show = word_diff.unified if self.view.value == UNIFIED else word_diff.side_by_side
        fill(self.difference, show(proposal.material.old_content, proposal.draft.text.strip()))

    def say(self, text: str) -> None:
        """The line beside the progress."""
        self.status.value = literal(text) if text else ""
