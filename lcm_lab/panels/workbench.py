"""The workbench: agents, sessions, conversations, and a conversation opened, with the way back.

Where it stands is the object's own state, so showing it twice shows the same place. A store without agents beside it
starts at the list of conversations. The invariant: whatever fails, the way back and the crumbs keep working. Checked by
``tests/panels/test_browse_workbench.py``.
"""

import threading
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab import roster
from lcm_lab.panels import keys, lists, live
from lcm_lab.panels.base import Panel
from lcm_lab.panels.desk import Desk
from lcm_lab.panels.place import Place, reviews
from lcm_lab.panels.screens import AgentsScreen, ConversationsScreen, SessionsScreen
from lcm_lab.views import blocks
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.results import SessionRow
    from lcm_lab.summarizer.seam import Summarizer

_LEVELS: Final = 4
_ASIDE: Final = ("Transplant", "Journal")


class Workbench(Panel):
    """Everything in one panel: drill down with Open, back with the crumbs or Back.

    ``summarizer`` writes what is written anew; without one it is whoever the settings of this machine name.
    """

    title = "Workbench"

    def __init__(self, lab: "Lab", *, summarizer: "Summarizer | None" = None) -> None:
        super().__init__()
        self.lab, self.summarizer = lab, summarizer
        self.desk = Desk(lab)
        self.path: list[tuple[str, Panel]] = []
        self.back = self.button("\u25c0 Back", self.go_back, hint="One level up")
        self.reload = self.button("Reload", self.read_again, hint="Read what shows from the store again")
        self.agents = self.button("Agents", self.show_agents, hint="The agents beside this store")
        self.conversations = self.button("All conversations", self.show_conversations, hint="Archived ones, too")
        self.transplant = self.button(
            "Transplant\u2026", self._transplant, hint="Copy summaries to another conversation"
        )
        self.journal = self.button("Journal\u2026", self._journal, hint="The repairs made to this store; undo")
        self.crumbs = [self.button("", lambda at=at: self._crumb(at), hint="A level above") for at in range(_LEVELS)]  # type: ignore[misc]
        for one in self.crumbs:
            one.layout.width = "auto"
            one.layout.max_width = "420px"
        self.store = w.HTML(blocks.faint(f"{lab.store.given}, times in {lab.zone.name}"))
        self.trail = w.HBox(self.crumbs, layout=w.Layout(flex_flow="row wrap", align_items="center"))
        self.stage = w.VBox()
        bar = lists.row(self.back, self.reload, self.agents, self.conversations, self.transplant, self.journal)
        self.body.children = (w.HTML(blocks.STYLE), bar, self.store, self.trail, self.stage)
        self.widget.add_class("lcm-panel")
        threading.Thread(target=live.prepare, daemon=True, name="lcm-lab imports").start()
        self.guard(self._start)
        ways: dict[str, keys.Action] = {"b": self._up, "Backspace": self._up, "r": self.reload}
        where = "after a click into the panel, except in fields"
        more = "b back, r reload; in a conversation l summaries, c context, f large files"
        keys.attach(self, ways, hint=f"Keys, {where}: {more}")

    @property
    def place(self) -> Panel:
        """What shows below the crumbs."""
        return self.path[-1][1]

    def show_agents(self) -> None:
        """The agents of the state folder."""
        self._go([("Agents", AgentsScreen(self.lab, self.open_agent))])

    def show_conversations(self) -> None:
        """All conversations of the store."""
        self._go([("Conversations", ConversationsScreen(self.lab, self.open_conversation))])

    def open_agent(self, name: str) -> None:
        """The sessions of an agent."""
        self._go([*self._above("Agents"), (name, SessionsScreen(self.lab, name, self.open_session))])

    def open_session(self, row: "SessionRow") -> None:
        """The conversation of a session file; the file itself where the store does not track it."""
        place = Place(self.lab, row.match.conversation_id, row.file.path, desk=self.desk, summarizer=self.summarizer)
        number = row.match.conversation_id
        name = f"{row.file.path.name} (not tracked)" if number is None else f"conversation {number}"
        self._go([*self.path[:2], (name, place)])

    def open_conversation(self, conversation_id: int, tab: str = "Conversation") -> Place:
        """A conversation by its number."""
        found = self.lab.conversation(conversation_id)
        path = roster.session_file(self.lab.state_dir, found.session_id, found.session_key)
        place = Place(self.lab, conversation_id, path, desk=self.desk, summarizer=self.summarizer)
        self._go([*self._above("Conversations"), (f"conversation {conversation_id}", place)])
        place.open(tab)
        return place

    def go_back(self) -> None:
        """One level up; the list above stands as it was left."""
        if len(self.path) > 1:
            self._go(self.path[:-1])

    def read_again(self) -> None:
        """Read what shows from the store again."""
        reload = getattr(self.place, "reload", None)
        if callable(reload):
            reload()

    def tables(self) -> list[Table]:
        """Those of what shows."""
        return self.place.tables() if self.path else []

    def drawing(self) -> str:
        """That of what shows."""
        return self.place.drawing() if self.path else ""

    def refresh(self) -> None:
        """The way back where there is one."""
        self.back.disabled = len(self.path) < 2

    def _start(self) -> None:
        self.show_conversations()
        if self.lab.agents().agents:
            self.show_agents()
        else:
            self.agents.layout.display = "none"

    def _above(self, root: str) -> list[tuple[str, Panel]]:
        """The list this is opened from, as it stands, or a new one."""
        if self.path and self.path[0][0] == root:
            return self.path[:1]
        made = AgentsScreen(self.lab, self.open_agent) if root == "Agents" else None
        return [(root, made or ConversationsScreen(self.lab, self.open_conversation))]

    def _go(self, path: list[tuple[str, Panel]]) -> None:
        left = [panel for _, panel in self.path if all(panel is not other for _, other in path)]
        self.path = path
        self.stage.children = (path[-1][1].widget,)
        for at, crumb in enumerate(self.crumbs):
            shown = at < len(path)
            crumb.layout.display = "" if shown else "none"
            if shown:
                name = lists.columns([(path[at][0], 0)])
                here = at == len(path) - 1
                crumb.description = name if at == 0 else f"\u203a {name}"
                crumb.tooltip = f"{name}: you are here" if here else f"Back to {name}"
                crumb.button_style = "info" if here else ""
        if any(one.working for one in left):
            self.say("What was at work there was given up; what it had applied stays.", "warning")
        for one in left:
            one.close()
            lists.close(one.widget)
        self.refresh()
        if isinstance(self.place, Place):
            self.place.guard(self.place.look)

    def _up(self) -> None:
        """As the key does in lcm-tui: from a tab to the conversation, from there to the list."""
        if not (isinstance(self.place, Place) and self.place.up()):
            self.go_back()

    def _crumb(self, at: int) -> None:
        if at < len(self.path) - 1:
            self._go(self.path[: at + 1])

    def _transplant(self) -> None:
        self._aside("Transplant", reviews().TransplantReview(self.lab))

    def _journal(self) -> None:
        self._aside("Journal", reviews().JournalPanel(self.lab))

    def _aside(self, name: str, panel: Panel) -> None:
        """A panel over what shows; Back returns to where one was."""
        kept = [one for one in self.path if one[0] not in _ASIDE]
        self._go([*kept, (name, panel)])
