"""The large files of a conversation: what each is, the summary that stands in for it, and how the payload begins.

A payload is opened only where :func:`lcm_lab.store.payloads.locate` finds it inside the store's own folder. Checked by
``tests/panels/test_browse_files.py``.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.panels import keys, lists, reading
from lcm_lab.panels.base import Panel
from lcm_lab.store import payload_text
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Table, size

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.results import Files
    from lcm_lab.store.payloads import Payload

_MORE: Final = 1024 * 1024


class FilesPanel(Panel):
    """The large files of a conversation."""

    title = "Large files"

    def __init__(self, lab: "Lab", conversation_id: int) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.files: Files | None = None
        self.chosen: Payload | None = None
        cells: list[tuple[object, int]] = [("file", 22), ("name", 30), ("type", 18), ("size", -10), ("payload", 0)]
        self.listing = lists.Listing("large files", self._picked, head=lists.columns(cells), rows=8)
        self.facts = w.HTML()
        self.summary = reading.Expandable()
        first, more = size(payload_text.FIRST), size(_MORE)
        self.open = self.button(
            "Show the payload", lambda: self._payload(payload_text.FIRST), hint=f"Its first {first}"
        )
        self.more = self.button(f"Show {more} of it", lambda: self._payload(_MORE), hint="More of the payload")
        self.where = w.HTML()
        self.text = reading.Expandable()
        right = w.VBox([lists.row(self.open, self.more), self.where, self.text.widget])
        detail = lists.side_by_side(w.VBox([self.facts, self.summary.widget]), right, basis="360px")
        self.body.children = (w.HTML(blocks.STYLE), self.listing.widget, detail)
        self.guard(self.reload)
        moves = keys.moving(self.listing) | keys.reading(detail)
        keys.attach(self, {**moves, "Enter": self.open, "r": self.reload}, hint="j k move, Enter payload, r reload")

    def reload(self) -> None:
        """Read the list again."""
        self.files = self.lab.files(self.conversation_id)
        self.listing.fill([_row(at, one) for at, one in enumerate(self.files.rows)])
        if self.listing.picked is None and self.listing.keys:
            self.listing.pick(self.listing.keys[0])
        self._show(self.listing.picked)

    def refresh(self) -> None:
        """The payload can be shown where there is one."""
        there = self.chosen is not None and self.chosen.path is not None
        self.open.disabled = self.more.disabled = not there

    def tables(self) -> list[Table]:
        """The list."""
        return tables.of(self.files, self.lab.zone) if self.files else []

    def drawing(self) -> str:
        """The files by size."""
        rows = sorted(self.files.rows if self.files else (), key=lambda one: -(one.file.byte_size or 0))
        sizes = [(one.file.file_name or one.file.file_id, (one.file.byte_size or 0) // 1024) for one in rows]
        return svg.bars(sizes, title="Large files by size in KB")

    def _picked(self, key: str) -> None:
        self.guard(lambda: self._show(key))

    def _show(self, key: str | None) -> None:
        self.chosen = self.files.rows[int(key)] if self.files and key is not None else None
        self.where.value = ""
        self.text.show(None)
        if self.chosen is None:
            self.facts.value = blocks.faint("No large files: nothing of this conversation was too large for the store.")
            self.summary.show(None)
        else:
            one = self.chosen.file
            self.facts.value = blocks.headline(one.file_name or "(unnamed)") + blocks.facts(
                [
                    ("file id", one.file_id),
                    ("type", one.mime_type),
                    ("size", size(one.byte_size)),
                    ("lines", one.line_count),
                    ("created", self.lab.zone.show(one.created_at)),
                    ("payload", self.chosen.said),
                    ("stored at", one.storage_uri),
                ]
            )
            text = one.exploration_summary or ""
            self.summary.show(partial(_labelled, "Exploration summary", text, "the exploration summary"), limit=12_000)
        self.refresh()

    def _payload(self, first: int) -> None:
        if self.chosen is None:
            return
        found = payload_text.opening(self.lab.store.path, self.chosen.file, first=first)
        kind = "binary, shown as hexadecimal bytes" if found.binary else "text"
        self.where.value = blocks.faint(f"{found.path}: {found.read:,} of {found.size:,} bytes, {kind}.")
        self.text.show(partial(blocks.boxed, found.text, label="the payload"), limit=payload_text.FIRST)


def _labelled(title: str, text: str, label: str, *, limit: int) -> blocks.Block:
    block = blocks.boxed(text, limit=limit, label=label)
    return blocks.Block(blocks.headline(title) + block.html, block.hidden, block.size)


def _row(at: int, one: "Payload") -> lists.Row:
    file = one.file
    cells: list[tuple[object, int]] = [
        (file.file_id, 22),
        (file.file_name or "(unnamed)", 30),
        (file.mime_type or "", 18),
    ]
    return lists.Row(str(at), lists.columns([*cells, (size(file.byte_size), -10), (one.said, 0)]))
