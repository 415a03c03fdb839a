"""Reviewing a dissolve: the summary, what would come back into the context in its place, and what that costs.

Checked by ``tests/panels/test_review_dissolve.py``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from lcm_lab.panels.context import window_input
from lcm_lab.panels.plan_review import PlanReview, check
from lcm_lab.repairs.plan import Plan

if TYPE_CHECKING:
    from lcm_lab.lab import Lab


class DissolveReview(PlanReview):
    """The dissolve of a condensed summary of a conversation; ``on_change`` is called after apply and undo."""

    def __init__(
        self, lab: "Lab", conversation_id: int, summary_id: str, *, on_change: Callable[[], None] | None = None
    ) -> None:
        self.conversation_id = conversation_id
        self.summary_id = summary_id
        self.title = f"Dissolve {summary_id}"
        self.purge = check("Delete the summary itself (purge)", on=True)
        self.splice = check("Hand its sources to what was made from it (splice)", on=False)
        self.window = window_input()
        choices = {"purge": self.purge, "splice": self.splice, "window": self.window}
        super().__init__(lab, choices, on_change=on_change)

    def make(self) -> Plan:
        """The plan for the choices as they are."""
        return self.lab.dissolve(
            self.conversation_id,
            self.summary_id,
            purge=self.purge.value,
            splice=self.splice.value,
            window=self.window.value or None,
        )
