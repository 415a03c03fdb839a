"""The focus briefs of a conversation: what each says, what it rests on, and how far the talk has moved on since.

Checked by ``tests/panels/test_browse_files.py``.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.panels import keys, lists, reading
from lcm_lab.panels.base import Panel
from lcm_lab.store.text import preview
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.analysis.context import Context
    from lcm_lab.analysis.focus import BriefView
    from lcm_lab.lab import Lab
    from lcm_lab.results import Briefs

_SOURCES: Final = 200


class BriefsPanel(Panel):
    """The focus briefs of a conversation. ``on_summary`` is called with the id of a source that is picked."""

    title = "Focus briefs"

    def __init__(self, lab: "Lab", conversation_id: int, *, on_summary: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.briefs: Briefs | None = None
        self.context: Context | None = None
        self.chosen: BriefView | None = None
        self._on_summary = on_summary
        cells: list[tuple[object, int]] = [("status", 11), ("created", 19), ("tokens/target", -15), ("marks", 18)]
        self.listing = lists.Listing("focus briefs", self._picked, head=lists.columns([*cells, ("prompt", 0)]), rows=6)
        self.facts = w.HTML()
        self.text = reading.Expandable()
        self.masks = w.HTML()
        self.sources = lists.Listing("what the brief rests on", self._source, head="rests on these summaries", rows=7)
        self.sources.above.layout.display = "none"
        left = w.VBox([self.facts, self.text.widget])
        self.right = w.VBox([self.masks, self.sources.widget])
        self.body.children = (w.HTML(blocks.STYLE), self.listing.widget, lists.side_by_side(left, self.right))
        self.guard(self.reload)
        moves = keys.moving(self.listing) | keys.reading(self.right)
        keys.attach(self, {**moves, "r": self.reload}, hint="j k move, J K scroll, r reload")

    def reload(self) -> None:
        """Read the briefs again."""
        self.briefs = self.lab.briefs(self.conversation_id)
        self.context = self.lab.context(self.conversation_id) if self.briefs.rows else None
        self.listing.fill([_row(at, one, self.lab) for at, one in enumerate(self.briefs.rows)])
        if self.listing.picked is None and self.listing.keys:
            self.listing.pick(self.listing.keys[0])
        self._show(self.listing.picked)

    def tables(self) -> list[Table]:
        """The list."""
        return tables.of(self.briefs, self.lab.zone) if self.briefs else []

    def drawing(self) -> str:
        """The context, with what the active brief hides left out."""
        parts = [(one.kind, one.tokens) for one in self.context.sent] if self.context else []
        return svg.strip(parts, title="The context with the active brief in place of what it covers")

    def _picked(self, key: str) -> None:
        self.guard(lambda: self._show(key))

    def _source(self, key: str) -> None:
        if self._on_summary is not None:
            self.guard(partial(self._on_summary, key))

    def _show(self, key: str | None) -> None:
        self.chosen = self.briefs.rows[int(key)] if self.briefs and key is not None else None
        self.right.layout.display = "none" if self.chosen is None else ""
        if self.chosen is None:
            self.facts.value = blocks.faint(
                "No focus briefs: none was made for this conversation, or this store is older."
            )
            self.text.show(None)
            return
        view, brief = self.chosen, self.chosen.brief
        self.facts.value = blocks.headline(brief.brief_id) + blocks.facts(_facts(view, self.lab))
        self.text.show(partial(blocks.boxed, brief.content, label="the brief's text"), limit=12_000)
        missing = set(view.missing_sources)
        rows = [
            lists.Row(one, lists.columns([(f"{one} (missing)" if one in missing else one, 0)]))
            for one in view.source_ids[:_SOURCES]
        ]
        self.sources.fill(rows, keep=False)
        self.masks.value = self._masked(brief.brief_id)

    def _masked(self, brief_id: str) -> str:
        if self.context is None or self.context.focus_brief != brief_id:
            return blocks.faint("It stands in for nothing at present: it is not the active brief, or covers no item.")
        hidden = [one for one in self.context.items if one.dropped and brief_id in one.dropped]
        saved = sum(one.tokens + one.wrapper_tokens for one in hidden)
        names = "".join(
            f"<li>{blocks.inline(f'{one.ordinal}: {one.kind} {one.item_id}, {one.tokens:,} tokens')}</li>"
            for one in hidden[:20]
        )
        more = f"<li>and {len(hidden) - 20:,} more</li>" if len(hidden) > 20 else ""
        said = blocks.headline(f"Stands in for {len(hidden):,} context items, {saved:,} tokens with their XML")
        return f'{said}<ul style="margin:2px 0 6px 18px;padding:0">{names}{more}</ul>'


def _marks(view: "BriefView") -> str:
    marks = [name for name, on in (("stale", view.stale), ("truncated", view.truncated)) if on]
    return ", ".join([*marks, f"{len(view.missing_sources)} missing"] if view.missing_sources else marks)


def _row(at: int, view: "BriefView", lab: "Lab") -> lists.Row:
    brief = view.brief
    cells: list[tuple[object, int]] = [(brief.status, 11), (lab.zone.show(brief.created_at, zone=False), 19)]
    cells += [(f"{brief.token_count or 0:,}/{brief.target_tokens or 0:,}", -15), (_marks(view), 18)]
    return lists.Row(str(at), lists.columns([*cells, (preview(brief.prompt, size=80), 0)]))


def _facts(view: "BriefView", lab: "Lab") -> list[tuple[str, object]]:
    brief = view.brief
    since = f"{view.delta_messages:,} messages, {view.delta_summaries:,} summaries, {view.delta_tokens:,} tokens"
    changed = "the summaries in context are no longer those it was made from"
    return [
        ("status", brief.status),
        ("prompt", blocks.short(brief.prompt, 2_000)),
        ("tokens", f"{brief.token_count or 0:,} of {brief.target_tokens or 0:,} aimed at"),
        ("created", lab.zone.show(brief.created_at)),
        ("covers up to", f"{lab.zone.show(brief.covered_latest_at)}, message seq {brief.covered_message_seq}"),
        ("came since", since),
        ("source hash", changed if view.hash_changed else "unchanged"),
        ("stale", "yes" if view.stale else "no"),
        ("truncated", "yes" if view.truncated else "no"),
        ("sources", ", ".join(f"{role} {count}" for role, count in view.sources.items())),
        ("error", brief.error),
    ]
