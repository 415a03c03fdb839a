"""Reviewing a repair: what is broken, which of it to write anew, and then one by one or alone with progress.

The stepping is :class:`lcm_lab.panels.rewrite_review.RewriteReview`, on a batch of the chosen summaries; one request at
a time. Checked by ``tests/panels/test_review_repair.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.panels.base import Panel
from lcm_lab.panels.rewrite_review import RewriteReview
from lcm_lab.panels.rewrite_screen import bar, fill, fill_tables, shown
from lcm_lab.repairs.batch import Batch
from lcm_lab.repairs.review import chosen
from lcm_lab.repairs.steps import Step
from lcm_lab.summarizer.seam import Summarizer
from lcm_lab.views import blocks, repairs
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.lab import Lab

EVERY: Final = "the whole store"
_ALL: Final = -1
"""Its value in the list of places: None would show an empty field."""


class RepairReview(Panel):
    """The repair of a conversation, or of the store without one; ``review`` is the stepping, once it has begun."""

    title = "Repair"

    def __init__(
        self,
        lab: "Lab",
        conversation_id: int | None = None,
        summarizer: Summarizer | None = None,
        *,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.lab = lab
        self.batch: Batch | None = None
        self.review: RewriteReview | None = None
        self._summarizer = summarizer
        self._on_change = on_change
        self.where = w.Dropdown(
            options=[(EVERY, _ALL), *_one(conversation_id)],
            value=_ALL if conversation_id is None else conversation_id,
            description="Where",
            layout=w.Layout(width="22em", max_width="100%"),
        )
        self.plan = shown("")
        self.items = w.SelectMultiple(options=[], layout=w.Layout(width="auto"), tooltip="broken summaries")
        self.items.add_class("lcm-list")
        self.head = shown("")
        self.every = self.button("Choose all", self._choose_all, hint="Choose every broken summary")
        self.start = self.button("Review each", self._start, style="primary", hint="See each text before it is written")
        self.alone = self.button(
            "Repair without asking", self._start_alone, style="warning", hint="Write each good text; pause at any other"
        )
        self.again = self.button("Look again", self._look, hint="Find out anew what is broken")
        self.place = w.VBox(layout=w.Layout(width="auto"))
        self.body.children = (
            w.HTML(blocks.STYLE),
            self.where,
            self.plan,
            self.items,
            bar(self.every, self.start, self.alone, self.again),
            self.head,
            self.place,
        )
        self.where.observe(self._on_where, names="value")
        self.items.observe(lambda _change: self.guard(self._count), names="value")
        self._filling = False
        self.act(self._look)

    def settle(self, timeout: float = 30.0) -> None:
        """As for every panel, for the stepping inside as well."""
        super().settle(timeout)
        if self.review is not None:
            self.review.settle(timeout)

    @property
    def working(self) -> bool:
        """Whether the stepping waits for a reply."""
        return self.busy or (self.review is not None and self.review.working)

    def close(self) -> None:
        """Give up the stepping, as its own close does."""
        if self.review is not None:
            self.review.close()

    @property
    def lane(self) -> int | None:
        """The conversation that is looked at; None for the whole store."""
        return None if self.where.value == _ALL else int(self.where.value)

    @property
    def selected(self) -> Batch | None:
        """The batch of the summaries that are chosen."""
        return None if self.batch is None else chosen(self.batch, self.items.value)

    def tables(self) -> list[Table]:
        """What is broken and what it takes; then the stepping."""
        if self.review is not None:
            return self.review.tables()
        batch = self.batch
        if batch is None:
            return []
        return [*(repairs.totals(batch) if batch.steps else []), *repairs.batch(batch, self.lab.zone)]

    def drawing(self) -> str:
        """How far the stepping has come."""
        return self.review.drawing() if self.review is not None else ""

    def refresh(self) -> None:
        """Enable what makes sense."""
        going = self.review is not None and self.review.state != "over"
        some = bool(self.items.value) and not going
        self.start.disabled = self.alone.disabled = not some
        self.every.disabled = going or not self.items.options
        self.again.disabled = going
        self.where.disabled = self.items.disabled = going

    def _on_where(self, _change: object) -> None:
        if not self._filling:
            self.act(self._look)

    def _look(self) -> None:
        if self.review is not None and self.review.state != "over":
            return
        self.review, self.place.children = None, ()
        self.batch = None
        self.batch = self.lab.repair(self.lane)
        self._offer_lanes(self.batch)
        found = repairs.totals(self.batch) if self.batch.steps else repairs.batch(self.batch, self.lab.zone)
        fill_tables(self.plan, found)
        self._filling = True
        try:
            self.items.options = [(_label(one), one.summary_id) for one in self.batch.steps]
            self.items.rows = min(max(len(self.batch.steps), 4), 10)
            self.items.layout.display = "" if self.batch.steps else "none"
        finally:
            self._filling = False
        self._choose_all()

    def _offer_lanes(self, batch: Batch) -> None:
        """The conversations that have something broken, known after a look at the whole store."""
        if self.lane is not None:
            return
        lanes = dict.fromkeys(one.conversation_id for one in batch.steps)
        self._filling = True
        try:
            self.where.options = [(EVERY, _ALL), *(pair for lane in lanes for pair in _one(lane))]
        finally:
            self._filling = False

    def _choose_all(self) -> None:
        self.items.value = tuple(one for _, one in self.items.options)
        self._count()

    def _count(self) -> None:
        """Say what the choice takes."""
        batch = self.selected
        some = batch is not None and batch.steps and self.review is None
        # The list above has the rows.
        found = repairs.batch(batch, self.lab.zone) if batch is not None and some else []
        fill_tables(self.head, [replace(one, columns=(), rows=()) for one in found])
        self.refresh()

    def _start(self) -> None:
        batch = self.selected
        if batch is None or not batch.steps or (self.review is not None and self.review.state != "over"):
            return
        self.review = RewriteReview(self.lab, batch, self._summarizer, on_change=self._stepped)
        self.place.children = (self.review.widget,)
        fill(self.head, "")

    def _start_alone(self) -> None:
        self._start()
        if self.review is not None and self.review.state == "preview":
            self.review.accept_remaining()

    def _stepped(self) -> None:
        if self._on_change is not None:
            self._on_change()
        self.refresh()


def _one(conversation_id: int | None) -> list[tuple[str, int]]:
    return [] if conversation_id is None else [(f"conversation {conversation_id}", conversation_id)]


def _label(one: Step) -> str:
    mark = one.chosen.marker.label if one.chosen.marker else ""
    problem = "  cannot be done" if one.problem else ""
    return (
        f"{one.conversation_id}  {one.summary_id} [{one.chosen.label}, {one.chosen.tokens:,} tokens]  {mark}{problem}"
    )
