"""The screens above a conversation: the agents, an agent's sessions, and all conversations of the store.

Each is a list with the facts of the selected row below it; ``on_open`` goes on from there. Sessions the store does not
know are in their list ("not tracked"), conversations without a session file are in the list of conversations. Checked
by ``tests/panels/test_browse_workbench.py``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import ipywidgets as w

from lcm_lab.analysis.wording import counted
from lcm_lab.panels import keys, lists
from lcm_lab.panels.base import Panel
from lcm_lab.store.rows import kind_label
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Table, size

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.results import AgentList, SessionRow
    from lcm_lab.store.overview import ConversationTotals
    from lcm_lab.store.page import Page

BATCH: Final = 50
"""Sessions or conversations that are read at a time, as in lcm-tui."""


class _Screen(Panel):
    """A list, a button that opens the selected row, and what is known of it."""

    what = ""

    def __init__(self, lab: "Lab", *, head: str, rows: int = 10) -> None:
        super().__init__()
        self.lab = lab
        self.listing = lists.Listing(self.what, self._picked, head=head, rows=rows)
        self.open = self.button("Open", self._open, style="primary", hint="Open the selected row")
        self.more = self.button("Load more", self.load_more, hint=f"The next {BATCH} {self.what}")
        self.facts = w.HTML()
        self.notes = w.HTML()
        self.bar = lists.row(self.open, self.more)
        self.body.children = (w.HTML(blocks.STYLE), self.listing.widget, self.bar, self.facts, self.notes)
        more: dict[str, keys.Action] = {"Enter": self.open, "r": self.reload}
        keys.attach(self, keys.moving(self.listing) | more, hint="j k move, Enter open, r reload")

    def reload(self) -> None:
        """Read the list again."""
        raise NotImplementedError

    def load_more(self) -> None:
        """The next rows."""

    def refresh(self) -> None:
        """Open what is selected."""
        self.open.disabled = self.listing.picked is None

    def _select_first(self) -> None:
        if self.listing.picked is None and self.listing.keys:
            self.listing.pick(self.listing.keys[0])
        self._show(self.listing.picked)

    def _picked(self, key: str) -> None:
        self.guard(lambda: self._show(key))

    def _show(self, key: str | None) -> None:
        self.facts.value = self._describe(key) if key is not None else ""
        self.refresh()

    def _describe(self, key: str) -> str:
        raise NotImplementedError

    def _open(self) -> None:
        raise NotImplementedError


class AgentsScreen(_Screen):
    """The agents of the state folder."""

    title, what = "Agents", "agents"

    def __init__(self, lab: "Lab", on_open: Callable[[str], None]) -> None:
        self.agents: AgentList | None = None
        self._on_open = on_open
        super().__init__(lab, head=lists.columns([("agent", 28), ("session files", -13), ("set aside", 0)]), rows=6)
        self.more.layout.display = "none"
        self.guard(self.reload)

    def reload(self) -> None:
        """Look at the folder again."""
        self.agents = self.lab.agents()
        rows = [
            lists.Row(
                one.name,
                lists.columns(
                    [
                        (one.name, 28),
                        (f"{one.session_files:,}", -13),
                        (f"{one.reset_files} reset, {one.deleted_files} deleted", 0),
                    ]
                ),
            )
            for one in self.agents.agents
        ]
        self.listing.fill(rows, note=f"State folder: {self.agents.state_dir}.")
        self.notes.value = blocks.faint(self.agents.problem) if self.agents.problem else ""
        self._select_first()

    def tables(self) -> list[Table]:
        """The agents."""
        return tables.of(self.agents, self.lab.zone) if self.agents else []

    def _describe(self, key: str) -> str:
        one = next((one for one in self.agents.agents if one.name == key), None) if self.agents else None
        if one is None:
            return ""
        database = one.database.sentence() if one.database else None
        return blocks.facts([("folder", one.path), ("OpenClaw's own store", database), ("problem", one.problem)])

    def _open(self) -> None:
        if self.listing.picked is not None:
            self._on_open(self.listing.picked)


class SessionsScreen(_Screen):
    """The session files of an agent, newest first, those without a conversation among them."""

    title, what = "Sessions", "sessions"

    def __init__(self, lab: "Lab", agent: str, on_open: "Callable[[SessionRow], None]") -> None:
        self.agent = agent
        self.rows: list[SessionRow] = []
        self._on_open = on_open
        self._next: str | None = None
        self._last: Any = None
        head = [("modified", 19), ("messages", -8), ("conv_id", -12), ("summaries", -9), ("files", -5)]
        super().__init__(lab, head=lists.columns([*head, ("session file", 0)]))
        self.hidden = w.Checkbox(
            description="sub-agents and warm-ups, too", indent=False, tooltip="Show the files that are usually hidden"
        )
        self.hidden.observe(lambda _change: self.guard(self.reload), "value")
        self.bar.children = (*self.bar.children, self.hidden)
        self.guard(self.reload)

    def reload(self) -> None:
        """Look at the folder again, from its newest file on."""
        self.rows, self._next = [], None
        self.load_more()

    def load_more(self) -> None:
        """The next sessions."""
        found = self.lab.sessions(self.agent, limit=BATCH, cursor=self._next, show_hidden=self.hidden.value)
        self.rows += found.rows
        self._next, self._last = found.next, found
        self.listing.fill(
            [self._row(at, one) for at, one in enumerate(self.rows)],
            note=f"In all: {counted(found.total, 'session file')}. Times in {self.lab.zone.name}.",
        )
        aside = f"{found.reset_files} reset and {found.deleted_files} deleted files lie beside them."
        folded = f"{counted(found.duplicates, 'duplicate')} folded in."
        extra = [f"{found.hidden} hidden.", folded, aside, found.database or "", found.problem or ""]
        self.notes.value = blocks.faint(" ".join(extra))
        self._select_first()

    def refresh(self) -> None:
        """Open what is selected, load what is left."""
        super().refresh()
        self.more.disabled = self._next is None

    def tables(self) -> list[Table]:
        """The last page that was read."""
        return tables.of(self._last, self.lab.zone) if self._last else []

    def _row(self, at: int, one: "SessionRow") -> lists.Row:
        tracked = one.match.conversation_id
        cells: list[tuple[object, int]] = [
            (self.lab.zone.show_moment(one.file.modified, zone=False), 19),
            ("?" if one.file.messages is None else f"{one.file.messages:,}", -8),
            ("not tracked" if tracked is None else tracked, -12),
            ("" if one.summaries is None else one.summaries, -9),
            ("" if one.files is None else one.files, -5),
            (one.file.path.name, 0),
        ]
        return lists.Row(str(at), lists.columns(cells))

    def _describe(self, key: str) -> str:
        one = self.rows[int(key)]
        number, also = one.match.conversation_id, ", ".join(map(str, one.match.also))
        return blocks.facts(
            [
                ("file", one.file.path),
                ("size", f"{size(one.file.size_bytes)}, about {one.file.estimated_tokens:,} tokens (size/4)"),
                ("conversation", one.match.how if number is None else f"{number} ({one.match.how})"),
                ("also", f"conversations {also}" if also else ""),
                ("session key", one.match.session_key),
                ("hidden as", one.file.hidden_as),
            ]
        )

    def _open(self) -> None:
        if self.listing.picked is not None:
            self._on_open(self.rows[int(self.listing.picked)])


class ConversationsScreen(_Screen):
    """All conversations of the store, archived ones and those without a session file among them."""

    title, what = "Conversations", "conversations"

    def __init__(self, lab: "Lab", on_open: Callable[[int], object]) -> None:
        self.rows: list[ConversationTotals] = []
        self._on_open = on_open
        self._next: str | None = None
        self._page: Page[ConversationTotals] | None = None
        head = [("conv_id", -8), ("state", 9), ("last message", 19), ("messages", -8), ("summaries", -9)]
        super().__init__(lab, head=lists.columns([*head, ("deepest", 7), ("files", -5), ("session key or id", 0)]))
        self.number = w.Text(
            placeholder="conversation number, then Enter",
            tooltip="Open the conversation with this number",
            continuous_update=False,
            layout=w.Layout(width="240px"),
        )
        self.number.observe(lambda _change: self.guard(self._by_number), "value")
        self.bar.children = (*self.bar.children, self.number)
        self.guard(self.reload)

    def reload(self) -> None:
        """Read the list again, from the newest on."""
        self.rows, self._next = [], None
        self.load_more()

    def load_more(self) -> None:
        """The next conversations."""
        self._page = page = self.lab.conversations(limit=BATCH, cursor=self._next)
        self.rows += page.rows
        self._next = page.next
        self.listing.fill(
            [self._row(one) for one in self.rows],
            note=f"Read: {len(self.rows):,} of {page.total or 0:,}. Times in {self.lab.zone.name}.",
        )
        empty = "This store holds no conversation yet; the plugin writes one at its first turn."
        self.notes.value = "" if self.rows else blocks.faint(empty)
        self._select_first()

    def refresh(self) -> None:
        """Open what is selected, load what is left."""
        super().refresh()
        self.more.disabled = self._next is None

    def tables(self) -> list[Table]:
        """The last page that was read."""
        return tables.of(self._page, self.lab.zone) if self._page else []

    def drawing(self) -> str:
        """The conversations of that page by size."""
        rows = sorted(self._page.rows if self._page else (), key=lambda one: -one.message_tokens)
        return svg.bars(
            [(f"conversation {one.conversation.conversation_id}", one.message_tokens) for one in rows],
            title="Conversations by stored tokens",
        )

    def _row(self, one: "ConversationTotals") -> lists.Row:
        mine = one.conversation
        cells: list[tuple[object, int]] = [
            (mine.conversation_id, -8),
            ("active" if mine.state == "active" else "archived", 9),
            (self.lab.zone.show(one.last_message_at, zone=False) if one.last_message_at else "", 19),
            (f"{one.messages:,}", -8),
            (f"{one.summaries:,}", -9),
            ("" if one.max_depth is None else kind_label("", one.max_depth), 7),
            (one.files, -5),
            (f"{mine.session_key or mine.session_id} {mine.title or ''}", 0),
        ]
        return lists.Row(str(mine.conversation_id), lists.columns(cells))

    def _describe(self, key: str) -> str:
        one = next(one for one in self.rows if str(one.conversation.conversation_id) == key)
        mine = one.conversation
        return blocks.facts(
            [
                ("title", mine.title or "\u2014"),
                ("state", mine.state),
                ("session id", mine.session_id),
                ("session key", mine.session_key),
                ("stored", f"{one.messages:,} messages, {one.message_tokens:,} tokens"),
                ("in context", f"{one.context_items:,} items, {one.context_tokens:,} tokens"),
                ("large files", one.files),
                ("focus briefs", one.briefs),
            ]
        )

    def _by_number(self) -> None:
        text = self.number.value.strip()
        if text.isdecimal():
            self.lab.conversation(int(text))
            self._on_open(int(text))

    def _open(self) -> None:
        if self.listing.picked is not None:
            self._on_open(int(self.listing.picked))
