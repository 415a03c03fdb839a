"""What was said: a window of a conversation's messages, newest first, or the lines of the session file behind it.

The store's messages and the raw file are two views of one talk; a switch shows either, and where only one of them is
there it is shown without asking. The invariant: a page holds :data:`SIZE` texts, each cut; a long one is shown whole
only when asked for. Checked by ``tests/panels/test_browse_conversation.py``.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab import roster
from lcm_lab.panels import keys, lists, reading
from lcm_lab.panels.base import Panel
from lcm_lab.views import blocks, svg, texts
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.sessions.jsonl import EntryPage
    from lcm_lab.store.messages import Window

SIZE: Final = 40
"""Messages or lines of a page."""

_STORE, _FILE = "messages in the store", "raw session file"
_PICTURED: Final = 12
_PICTURED_TEXT: Final = 600


class ConversationPanel(Panel):
    """The messages of a conversation; ``path`` is its session file, and either may be missing."""

    title = "Conversation"

    def __init__(self, lab: "Lab", conversation_id: int | None, path: Path | None = None) -> None:
        super().__init__()
        self.lab, self.conversation_id, self.path = lab, conversation_id, path
        self.window: Window | None = None
        self.lines: EntryPage | None = None
        self.source = w.ToggleButtons(
            options=[_STORE, _FILE],
            value=_STORE if conversation_id is not None else _FILE,
            tooltips=[
                "What the plugin keeps of this conversation",
                "The file that the agent wrote, as it lies on disk",
            ],
            disabled=conversation_id is None or path is None,
            style={"button_width": "auto"},
        )
        self.source.observe(lambda _change: self.guard(self.reload), "value")
        self.newest = self.button("Newest", self.reload, hint="The newest page, read again")
        self.older = self.button("\u25b2 Older", self._older, hint="The page before this one")
        self.newer = self.button("\u25bc Newer", self._newer, hint="The page after this one")
        self.where = w.HTML()
        # Turned around, a box is first seen at its end, where the newest text is.
        self.page = w.VBox(layout=w.Layout(max_height="640px", overflow="auto", flex_flow="column-reverse"))
        bar = lists.row(self.newest, self.older, self.newer, self.where)
        self.body.children = (w.HTML(blocks.STYLE), self.source, bar, self.page)
        self.guard(self.reload)
        ways = keys.scrolling(self.page)
        keys.attach(self, {**ways, "r": self.newest}, hint="j k scroll, PgUp PgDn half a page, g G ends, r newest")

    def reload(self) -> None:
        """The newest page of what is chosen, read anew."""
        self._read()

    def tables(self) -> list[Table]:
        """The page, its last dozen texts."""
        if self.window is not None:
            shown = [
                replace(one, text=blocks.short(one.text, _PICTURED_TEXT)) for one in self.window.messages[-_PICTURED:]
            ]
            return texts.window(replace(self.window, messages=tuple(shown)), self.lab.zone)
        if self.lines is not None:
            kept = [
                replace(one, text=blocks.short(one.text, _PICTURED_TEXT)) for one in self.lines.entries[-_PICTURED:]
            ]
            return texts.entries(replace(self.lines, entries=tuple(kept)), self.lab.zone)
        return []

    def drawing(self) -> str:
        """Who spoke, as wide as it took tokens."""
        if self.window is None:
            return ""
        parts = [(one.message.role, one.tokens) for one in self.window.messages]
        return svg.strip(parts, title=f"Messages shown of conversation {self.conversation_id}, by tokens")

    def refresh(self) -> None:
        """Only the buttons that lead somewhere."""
        page = self.window or self.lines
        self.older.disabled = not (page and page.has_older)
        self.newer.disabled = not (page and page.has_newer)

    def _older(self) -> None:
        self._read(before=self._edge(0))

    def _newer(self) -> None:
        self._read(after=self._edge(-1))

    def _edge(self, place: int) -> int | None:
        if self.window is not None and self.window.messages:
            return self.window.messages[place].message.seq
        if self.lines is not None and self.lines.entries:
            return self.lines.entries[place].line
        return None

    def _read(self, *, before: int | None = None, after: int | None = None) -> None:
        if self.source.value == _STORE and self.conversation_id is not None:
            window = self.lab.messages(self.conversation_id, size=SIZE, before=before, after=after)
            self.window, self.lines = window, None
            self._show_messages(window)
        elif self.path is not None:
            lines = roster.session_page(self.path, before=before, after=after, size=SIZE)
            self.window, self.lines = None, lines
            self._show_lines(lines, self.path)
        else:
            self.where.value = blocks.faint("There is neither a conversation nor a session file to show.")
        self.refresh()

    def _show_messages(self, window: "Window") -> None:
        shown = window.messages
        if not shown:
            self._say_where("No messages: the plugin has stored none for this conversation yet.")
        else:
            ends = f"seq {shown[0].message.seq} to {shown[-1].message.seq}"
            more = [text for text, on in (("older above", window.has_older), ("newer below", window.has_newer)) if on]
            self._say_where(f"{len(shown):,} messages, {ends}. There are {' and '.join(more) or 'no others'}.")
        self._fill([partial(blocks.message, one, self.lab.zone) for one in shown])

    def _show_lines(self, lines: "EntryPage", path: Path) -> None:
        bad = f", {lines.problems:,} could not be read as they should be" if lines.problems else ""
        ends = f"lines {lines.entries[0].line} to {lines.entries[-1].line} of" if lines.entries else "nothing of"
        self._say_where(f"{path.name}: {ends} {lines.total:,}, {lines.messages:,} messages{bad}.")
        self._fill([partial(blocks.entry, one, self.lab.zone) for one in lines.entries])

    def _say_where(self, text: str) -> None:
        self.where.value = blocks.faint(text)

    def _fill(self, shown: list[reading.Maker]) -> None:
        before = self.page.children
        self.page.children = (w.VBox(reading.flow(shown), layout=w.Layout(flex="0 0 auto", overflow="visible")),)
        for one in before:
            lists.close(one)
