"""Reviewing a transplant: which conversation's summaries go where, and the context that comes of it.

Checked by ``tests/panels/test_review_transplant.py``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.analysis.wording import counted
from lcm_lab.panels.context import window_input
from lcm_lab.panels.plan_review import PlanReview, check
from lcm_lab.plain import safe
from lcm_lab.repairs.plan import Plan
from lcm_lab.store import overview
from lcm_lab.store.rows import Conversation

if TYPE_CHECKING:
    from lcm_lab.lab import Lab

_SHOWN: Final = 60
_NONE: Final = ""
"""Stands for no conversation; a dropdown shows nothing for None."""


class TransplantReview(PlanReview):
    """The transplant between two conversations, which may be chosen beforehand."""

    def __init__(
        self,
        lab: "Lab",
        source_id: int | None = None,
        target_id: int | None = None,
        *,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        self.title = "Transplant"
        found = lab.store.read(overview.by_number)
        # What has no summaries has nothing to give.
        self.source = _list("From", [one for one in found if one[1]], source_id)
        self.target = _list("Into", found, target_id)
        self.order = w.Dropdown(
            options=[("by depth, as lcm-tui does", "depth"), ("in front, as they stand", "source")],
            description="Order",
            layout=w.Layout(width="22em", max_width="100%"),
        )
        self.skip_duplicates = check("Link what the target has already (skip duplicates)", on=False)
        self.window = window_input()
        choices = {
            "source": self.source,
            "target": self.target,
            "order": self.order,
            "skip_duplicates": self.skip_duplicates,
            "window": self.window,
        }
        super().__init__(lab, choices, on_change=on_change)

    def make(self) -> Plan | None:
        """The plan for the choices as they are; None until both conversations are chosen."""
        if _NONE in (self.source.value, self.target.value):
            return None
        return self.lab.transplant(
            self.source.value,
            self.target.value,
            order=self.order.value,
            skip_duplicates=self.skip_duplicates.value,
            window=self.window.value or None,
        )

    def incomplete(self) -> str:
        """What is missing."""
        return "Choose the conversation to copy from and the one to copy into."


def _list(description: str, found: list[tuple[Conversation, int]], chosen: int | None) -> w.Dropdown:
    known = {one.conversation_id for one, _ in found}
    return w.Dropdown(
        options=[("choose a conversation", _NONE), *((_label(one, n), one.conversation_id) for one, n in found)],
        value=chosen if chosen in known else _NONE,
        description=description,
        layout=w.Layout(width="36em", max_width="100%"),
    )


def _label(one: Conversation, summaries: int) -> str:
    name = " ".join(safe(one.title or one.session_id or "").split())
    name = name if len(name) <= _SHOWN else f"{name[: _SHOWN - 1]}\u2026"
    return f"{one.conversation_id}  {name}  ({counted(summaries, 'summary', 'summaries')})"
