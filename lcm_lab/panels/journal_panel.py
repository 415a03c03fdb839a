"""What was applied to a store, newest first, and taking it back: one repair or its whole batch.

Restoring a backup needs every other program off the store, so it is left to the command line; the panel says how.
Invariant: what an undo would take back is shown before it can be pressed. Checked by
``tests/panels/test_review_journal.py``.
"""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.errors import NotFound
from lcm_lab.panels import keys
from lcm_lab.panels.base import Panel
from lcm_lab.panels.rewrite_screen import bar, fill_tables, shown
from lcm_lab.plain import safe
from lcm_lab.repairs import kept
from lcm_lab.repairs.journal import Entry, Journal
from lcm_lab.repairs.undo import Undone, UndoPlan
from lcm_lab.views import blocks, repairs
from lcm_lab.views.table import Table, make

if TYPE_CHECKING:
    from lcm_lab.lab import Lab

SHOWN: Final = 500
"""Entries in the list, the newest ones."""


class JournalPanel(Panel):
    """The journal of a Lab's store. ``chosen`` is the entry that stands out, None where there is none."""

    title = "Journal"

    def __init__(self, lab: "Lab", *, on_change: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.lab = lab
        self._journal: Journal | None = None
        self._changed = on_change or (lambda: None)
        self.undone: Undone | None = None
        self.entries = w.Select(options=[], layout=w.Layout(width="auto"), tooltip="repairs, newest first")
        self.entries.add_class("lcm-list")
        self.reload = self.button("Reload", self._reload, hint="Read the journal again")
        self.undo_one = self.button("Undo this repair", self._undo_one, style="warning", hint="Take this repair back")
        self.undo_batch = self.button("Undo its batch", self._undo_batch, style="warning", hint="Take its batch back")
        self.shown = shown("")
        self.backups = shown("")
        self.body.children = (
            w.HTML(blocks.STYLE),
            self.entries,
            bar(self.undo_one, self.undo_batch, self.reload),
            self.shown,
            self.backups,
        )
        self.entries.observe(lambda _change: self.guard(self._look), names="value")
        self.act(self._reload)
        keys.attach(self, {"r": self.reload}, hint="r reload")

    @property
    def chosen(self) -> Entry | None:
        """The entry that is chosen in the list."""
        found = self._journal.entries if self._journal is not None else ()
        return next((one for one in found if one.journal_id == self.entries.value), None)

    def tables(self) -> list[Table]:
        """The journal and the backups."""
        if self._journal is None:
            return []
        return [*repairs.history(self._journal, self.lab.zone), *self._backups()]

    def refresh(self) -> None:
        """Enable what makes sense."""
        entry = self.chosen
        undoable = {one.journal_id for one in self._journal.undoable()} if self._journal is not None else set()
        self.undo_one.disabled = entry is None or entry.journal_id not in undoable
        self.undo_batch.disabled = entry is None or entry.batch is None or not self._of_batch(entry)

    def _reload(self) -> None:
        before = self.entries.value
        self.undone = None
        self._journal = self.lab.history()
        newest = list(reversed(self._journal.entries))[:SHOWN]
        options = [(self._label(one), one.journal_id) for one in newest]
        self.entries.options = options
        self.entries.rows = min(max(len(options), 4), 10)
        self.entries.layout.display = "" if options else "none"
        known = [key for _, key in options]
        self.entries.value = before if before in known else (known[0] if known else None)
        fill_tables(self.backups, self._backups())
        if len(self._journal.entries) > SHOWN:
            self.say(f"The newest {SHOWN:,} of {len(self._journal.entries):,} entries.")
        self._look()

    def _look(self) -> None:
        """Show the chosen entry, and what taking it back would take back."""
        entry = self.chosen
        self.refresh()
        if self._journal is None or entry is None:
            fill_tables(self.shown, repairs.history(self._journal, self.lab.zone) if self._journal else [])
            return
        try:
            plan = UndoPlan(self.lab.store, entry.journal_id, self._journal.find(entry.journal_id))
        except NotFound as error:
            found = [make(entry.title, [], [], notes=[str(error)])]
        else:
            found = repairs.undo_plan(plan, self.lab.zone)
        fill_tables(self.shown, found)

    def _undo_one(self) -> None:
        entry = self.chosen
        if entry is not None:
            self._undo(entry.journal_id)

    def _undo_batch(self) -> None:
        entry = self.chosen
        if entry is not None and entry.batch is not None:
            self._undo(entry.batch)

    def _undo(self, name: str) -> None:
        done = self.lab.undo(name)
        self._reload()
        self.undone = done
        fill_tables(self.shown, repairs.undone(done, self.lab.zone))
        self.say(done.problem or "Taken back.", "warning" if done.problem else "good")
        self._changed()

    def _of_batch(self, entry: Entry) -> int:
        found = self._journal.undoable() if self._journal is not None else ()
        return sum(one.batch == entry.batch for one in found)

    def _label(self, one: Entry) -> str:
        state = "undone" if one.undone_by else one.state
        title = " ".join(safe(one.title).split())
        return f"{self.lab.zone.show(one.at)}  {state:<6}  {title if len(title) <= 120 else title[:119] + chr(0x2026)}"

    def _backups(self) -> list[Table]:
        found = repairs.kept(kept.of(self.lab.store), self.lab.zone)
        path = shlex.quote(str(self.lab.store.given))
        how = f"To put one back, stop the gateway, then: lcm-lab restore --db {path} BACKUP --apply"
        return [*found, make("", [], [], notes=[how])]
