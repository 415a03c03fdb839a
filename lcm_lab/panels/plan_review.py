"""Reviewing a plan that no model has a part in: choices, what would be done, apply, undo.

A subclass has the choices and makes the plan. Each choice makes it anew; one that is refused is said, and the choices
stay. Invariants: what is applied is the plan that is shown, made with the choices that are shown; that a plan went
stale is said, and it is made again only when asked. Checked by ``tests/panels/test_review_dissolve.py`` and
``tests/panels/test_review_transplant.py``.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from lcm_lab.errors import NothingToDo, StalePlan
from lcm_lab.panels import keys
from lcm_lab.panels.base import Panel
from lcm_lab.panels.rewrite_screen import bar, fill, fill_tables, shown
from lcm_lab.repairs.plan import Plan
from lcm_lab.views import blocks, repairs, strips
from lcm_lab.views.table import Column, Table
from lcm_lab.views.table import make as make_table

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.repairs.journal import Applied
    from lcm_lab.repairs.undo import Undone


class PlanReview(Panel):
    """``plan`` is what would be applied, None where there is none; ``done`` what was applied.

    ``on_change`` is called after apply and undo.
    """

    def __init__(self, lab: "Lab", choices: dict[str, Any], *, on_change: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.lab = lab
        self.plan: Plan | None = None
        self.done: Applied | None = None
        self.undone: Undone | None = None
        self.choices = choices
        self._made_with: tuple[object, ...] = ()
        self._changed = on_change or (lambda: None)
        self.apply_button = self.button("Apply", self._apply, style="success", hint="Make this repair in the store")
        self.again = self.button("Make the plan again", self._plan_again, hint="Read the store as it is now")
        self.undo = self.button("Undo", self._undo, hint="Take the repair back")
        self.strip = shown("")
        self.warned = shown("")
        self.shown = shown("")
        self.body.children = (
            w.HTML(blocks.STYLE),
            w.HBox(list(choices.values()), layout=w.Layout(flex_flow="row wrap", width="auto")),
            bar(self.apply_button, self.again, self.undo),
            self.strip,
            self.warned,
            self.shown,
        )
        for one in choices.values():
            one.observe(lambda _change: self.act(self._plan_again), names="value")
        self.act(self._plan_again)
        keys.attach(
            self, {"y": self.apply_button, "Enter": self.apply_button, "r": self.again}, hint="y apply, r again"
        )

    def make(self) -> Plan | None:
        """The plan for the choices as they are; None where they are not complete."""
        raise NotImplementedError

    def incomplete(self) -> str:
        """What to say while the choices are not complete."""
        return ""

    def tables(self) -> list[Table]:
        """The plan; once it was applied or undone what came of it."""
        if self.undone is not None:
            return repairs.undone(self.undone, self.lab.zone)
        if self.done is not None:
            return repairs.applied(self.done, self.lab.zone)
        return repairs.plan(self.plan, self.lab.zone) if self.plan is not None else []

    def drawing(self) -> str:
        """The context before and after."""
        return strips.context(self.plan.context) if self.plan is not None and self.plan.context is not None else ""

    def refresh(self) -> None:
        """Draw what there is, and enable what makes sense."""
        applied = self.done is not None
        fill(self.strip, self.drawing())
        plan = None if self.done or self.undone else self.plan
        # What to know before stands out here; the picture that stays has it below the plan.
        fill_tables(self.warned, [_warnings(plan)] if plan is not None and plan.warnings else [])
        fill_tables(self.shown, repairs.plan(replace(plan, warnings=()), self.lab.zone) if plan else self.tables())
        self.apply_button.disabled = self.plan is None or applied
        self.again.disabled = applied
        self.undo.disabled = not applied
        for one in self.choices.values():
            one.disabled = applied

    def _values(self) -> tuple[object, ...]:
        return tuple(one.value for one in self.choices.values())

    def _plan_again(self) -> None:
        if self.done is not None:
            return
        self.plan = self.undone = None
        self._made_with = self._values()
        try:
            self.plan = self.make()
        except NothingToDo as error:
            self.say(str(error), "warning")
            return
        if self.plan is None:
            self.say(self.incomplete())

    def _apply(self) -> None:
        if self.plan is None or self.done is not None:
            return
        if self._made_with != self._values():
            self._plan_again()
            self.say("The choices were changed: this is the plan for them. Look at it, then apply it.", "warning")
            return
        try:
            self.done = self.plan.apply()
        except StalePlan as error:
            self.plan = None
            self.say(f"{error} Nothing was changed. 'Make the plan again' shows what it would do now.", "error")
            return
        self.undone = None
        self.say("Applied.", "good")
        self._changed()

    def _undo(self) -> None:
        if self.done is None:
            return
        self.undone = self.lab.undo(self.done.journal_id)
        self.done = self.plan = None
        self.say("Taken back. 'Make the plan again' plans it anew.", "good")
        self._changed()


def _warnings(plan: Plan) -> Table:
    rows = [("Warning", one) for one in plan.warnings]
    return make_table("", ["", Column("", wrap=True)], rows, tones=["warning"] * len(rows))


def check(label: str, *, on: bool) -> w.Checkbox:
    """A choice to tick."""
    return w.Checkbox(value=on, description=label, indent=False, layout=w.Layout(width="auto", margin="2px 12px"))
