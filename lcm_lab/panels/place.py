"""One conversation, opened: its messages and everything the plugin made of them, each in a tab of its own.

A tab is filled when it is first looked at, and stays as it was left. The invariant: only the tab that shows reads the
store. Checked by ``tests/panels/test_browse_workbench.py``.
"""

from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as w

from lcm_lab.errors import Refused
from lcm_lab.panels import keys, lists
from lcm_lab.panels.base import Panel
from lcm_lab.panels.briefs import BriefsPanel
from lcm_lab.panels.budget import BudgetPanel
from lcm_lab.panels.context import ContextPanel
from lcm_lab.panels.conversation import ConversationPanel
from lcm_lab.panels.dag import DagPanel
from lcm_lab.panels.desk import QUICK, Desk
from lcm_lab.panels.files import FilesPanel
from lcm_lab.panels.health import HealthPanel
from lcm_lab.views import blocks
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from lcm_lab.lab import Lab
    from lcm_lab.repairs.batch import Batch
    from lcm_lab.summarizer.seam import Summarizer

TABS: Final = ("Conversation", "Summary DAG", "Context", "Large files", "Focus briefs", "Health", "Budget", "Review")
_REVIEW: Final = "Review"


class Place(Panel):
    """A conversation with its tabs, or a session file that has none."""

    title = "Conversation"

    def __init__(
        self,
        lab: "Lab",
        conversation_id: int | None,
        path: Path | None = None,
        *,
        desk: Desk | None = None,
        summarizer: "Summarizer | None" = None,
    ) -> None:
        super().__init__()
        self.lab, self.conversation_id, self.path = lab, conversation_id, path
        self.summarizer = summarizer
        self.desk = desk or Desk(lab)
        self.panels: dict[str, Panel] = {}
        self._stamps: dict[str, Any] = {}
        self._review = w.VBox(
            [w.HTML(blocks.faint("No repair is under review. The buttons of the other tabs start one."))]
        )
        self.names = TABS if conversation_id is not None else TABS[:1]
        self.tabs = w.Tab(children=[w.VBox() for _ in self.names], titles=self.names)
        self.tabs.add_class("lcm-tabs")
        self.body.children = (w.HTML(blocks.STYLE), self.tabs)
        self.tabs.observe(lambda _change: self.guard(self.look), "selected_index")
        self.guard(self.look)
        tabs = {"l": "Summary DAG", "c": "Context", "f": "Large files"}
        ways: dict[str, keys.Action] = {key: partial(self._to, tab) for key, tab in tabs.items()}
        leave = {"Esc": self._leave_review, "n": self._leave_review}
        keys.attach(self, {**ways, **leave})

    @property
    def tab(self) -> str:
        """The tab that shows."""
        return self.names[self.tabs.selected_index or 0]

    @property
    def panel(self) -> Panel | None:
        """What is in the tab that shows; None for a review tab without a review."""
        return self.panels.get(self.tab)

    def open(self, tab: str) -> Panel | None:
        """Show a tab, filled."""
        self.tabs.selected_index = self.names.index(tab)
        return self.panel

    def up(self) -> bool:
        """Show the tab this one was reached from: the conversation, for a review the summaries; False at the top."""
        if self.tab == self.names[0]:
            return False
        self.open("Summary DAG" if self.tab == _REVIEW else self.names[0])
        return True

    def open_summary(self, summary_id: str) -> None:
        """Show a summary among the others."""
        panel = self.open("Summary DAG")
        if isinstance(panel, DagPanel):
            panel.go(summary_id)

    def open_item(self, ordinal: int) -> None:
        """Show an item of the context."""
        panel = self.open("Context")
        if isinstance(panel, ContextPanel):
            panel.show_item(ordinal)

    def review(self, make: "Callable[[], Panel]") -> None:
        """Show the review that ``make`` gives in its tab, in the place of the one before.

        Raises:
            Refused: the one before is still at work.
        """
        before = self.panels.get(_REVIEW)
        if before is not None and before.working:
            raise Refused("A review is still at work in the Review tab: let it end, cancel it or give it up first.")
        panel = make()
        if before is not None:
            before.close()
            lists.close(before.widget)
        self.panels[_REVIEW] = panel
        self._review.children = (panel.widget,)
        self.tabs.children[self.names.index(_REVIEW)].children = (self._review,)
        self.tabs.selected_index = self.names.index(_REVIEW)

    def reload(self) -> None:
        """Read the tab that shows again."""
        panel = self.panel
        reload = getattr(panel, "reload", None)
        if panel is None:
            self.look()
        elif reload is not None and self.tab != _REVIEW:
            stamp = self.lab.store.stamp()
            reload()
            self._stamps[self.tab] = stamp

    def tables(self) -> list[Table]:
        """Those of the tab that shows."""
        return self.panel.tables() if self.panel else []

    def drawing(self) -> str:
        """That of the tab that shows."""
        return self.panel.drawing() if self.panel else ""

    @property
    def working(self) -> bool:
        """Whether something in one of the tabs is under way."""
        return any(one.working for one in self.panels.values())

    def close(self) -> None:
        """Give up what is under way in the tabs."""
        for one in self.panels.values():
            one.close()

    def look(self) -> None:
        """Fill the tab that is chosen; one that was filled is read again where the store has changed since."""
        tab = self.tab
        if tab == _REVIEW:
            self.tabs.children[self.names.index(tab)].children = (self._review,)
            return
        if tab not in self.panels:
            # Taken first: a store that cannot be looked at leaves the tab to be filled by the next look.
            stamp = self.lab.store.stamp()
            panel = self._make(tab)
            self.panels[tab], self._stamps[tab] = panel, stamp
            self.tabs.children[self.names.index(tab)].children = (panel.widget,)
        elif self._stamps.get(tab) != self.lab.store.stamp():
            self._changed(self.panels[tab])

    def _changed(self, panel: Panel) -> None:
        """The store is not what the tab shows, most likely by a repair made here: read it again where that is quick."""
        if isinstance(panel, DagPanel) and panel.dag is not None and len(panel.dag.nodes) > QUICK:
            panel.say("The store has changed since this was read; Reload reads it again.", "warning")
        else:
            self.reload()

    def _make(self, tab: str) -> Panel:
        lab, conversation = self.lab, self.conversation_id
        if conversation is None or tab == "Conversation":
            return ConversationPanel(lab, conversation, self.path)
        makers: dict[str, Callable[[], Panel]] = {
            "Summary DAG": lambda: DagPanel(
                lab,
                conversation,
                desk=self.desk,
                on_rewrite=lambda one: self._rewrite(lambda: lab.rewrite(conversation, one)),
                on_subtree=lambda one: self._rewrite(lambda: lab.rewrite(conversation, subtree=one)),
                on_dissolve=lambda one: self.review(lambda: reviews().DissolveReview(lab, conversation, one)),
            ),
            "Context": lambda: ContextPanel(lab, conversation, on_summary=self.open_summary),
            "Large files": lambda: FilesPanel(lab, conversation),
            "Focus briefs": lambda: BriefsPanel(lab, conversation, on_summary=self.open_summary),
            "Health": lambda: HealthPanel(
                lab,
                conversation,
                desk=self.desk,
                on_summary=self.open_summary,
                on_item=self.open_item,
                on_repair=lambda: self.review(lambda: reviews().RepairReview(lab, conversation, self.summarizer)),
            ),
            "Budget": lambda: BudgetPanel(lab, conversation),
        }
        return makers[tab]()

    def _to(self, tab: str) -> None:
        if tab in self.names:
            self.open(tab)

    def _leave_review(self) -> None:
        if self.tab == _REVIEW:
            self.up()

    def _rewrite(self, plan: "Callable[[], Batch]") -> None:
        self.review(lambda: reviews().RewriteReview(self.lab, plan(), self.summarizer))


def reviews() -> Any:
    """The panels that review repairs; imported when one is asked for.

    Raises:
        Refused: this version has none.
    """
    try:
        return import_module("lcm_lab.panels.reviews")
    except ImportError as error:
        raise Refused(f"The panels that review repairs are not here: {error}. The command line has them.") from error
