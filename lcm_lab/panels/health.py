"""What is wrong or suspicious in a conversation: findings, worst first, each with what to do and a way to the place.

A small conversation is checked at once, a large one when asked, with its progress said. Checked by
``tests/panels/test_browse_health.py``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.analysis.health.about import ordinals_of, summaries_of
from lcm_lab.analysis.wording import counted, some
from lcm_lab.panels import keys, lists
from lcm_lab.panels.base import Panel
from lcm_lab.panels.desk import Desk
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.analysis.health import Finding, Report
    from lcm_lab.lab import Lab

_ALL: Final = "all"
_PLACES: Final = 200
_PICTURED: Final = 60


class HealthPanel(Panel):
    """The findings of a conversation.

    ``on_summary`` and ``on_item`` are called with a summary's id and a place in the context to go to, ``on_repair``
    when broken summaries are to be made again.
    """

    title = "Health"

    def __init__(
        self,
        lab: "Lab",
        conversation_id: int,
        *,
        desk: Desk | None = None,
        on_summary: Callable[[str], None] | None = None,
        on_item: Callable[[int], None] | None = None,
        on_repair: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.desk = desk or Desk(lab)
        self.report: Report | None = None
        self.chosen: Finding | None = None
        self._on_summary, self._on_item, self._on_repair = on_summary, on_item, on_repair
        self.check = self.button("Check now", self._check, hint="Look for what is wrong in this conversation")
        self.repair = self.button(
            "Repair\u2026", self._repair, hint="Write the broken summaries anew; you review it first"
        )
        self.severity = w.ToggleButtons(
            options=[_ALL, "error", "warning", "info"], tooltips=["Every finding"], style={"button_width": "auto"}
        )
        self.severity.observe(lambda _change: self.guard(self._fill), "value")
        self.totals = w.HTML()
        head = lists.columns([("severity", 9), ("code", 26), ("rows", 28), ("finding", 0)])
        self.listing = lists.Listing("findings", self._picked, head=head, rows=12)
        self.detail = w.HTML()
        self.places = lists.Listing("places of the finding", self._go, head="go to", rows=5)
        self.places.above.layout.display = "none"
        bar = lists.row(self.check, self.repair, self.severity)
        detail = lists.side_by_side(self.detail, self.places.widget, basis="360px")
        self.body.children = (w.HTML(blocks.STYLE), bar, self.totals, self.listing.widget, detail)
        self.guard(self.reload)
        moves = keys.moving(self.listing) | keys.reading(detail)
        keys.attach(self, {**moves, "r": self.check}, hint="j k move, r check again")

    def reload(self) -> None:
        """Show what is known; a small conversation is checked at once."""
        self.report = self.desk.findings(self.desk.dag(self.conversation_id))
        self._fill()

    def refresh(self) -> None:
        """A repair makes sense where something is broken."""
        broken = bool(self.report and any(one.code.startswith("K1") for one in self.report.findings))
        self.repair.disabled = self._on_repair is None or not broken

    def tables(self) -> list[Table]:
        """The worst findings."""
        if self.report is None:
            return []
        (table,) = tables.of(self.report, self.lab.zone)
        left = len(table.rows) - _PICTURED
        notes = (*table.notes, f"and {left:,} more findings") if left > 0 else table.notes
        return [Table(table.title, table.columns, table.rows[:_PICTURED], table.tones[:_PICTURED], notes)]

    def drawing(self) -> str:
        """Findings by rule."""
        counts: dict[str, int] = {}
        for one in self.report.findings if self.report else ():
            counts[one.code] = counts.get(one.code, 0) + 1
        return svg.bars(sorted(counts.items(), key=lambda one: -one[1]), title="Findings by rule")

    def _check(self) -> None:
        self.report = self.desk.report(self.conversation_id, self._progress)
        self.say("")
        self._fill()

    def _progress(self, what: str, done: int, total: int) -> None:
        self.say(f"Checking: {what}, {done:,} of {total:,}")

    def _fill(self) -> None:
        report = self.report
        if report is None:
            self.totals.value = blocks.faint(
                "A large conversation: checking it takes a few seconds. 'Check now' does it."
            )
            self.listing.fill([])
        else:
            counts = report.counts
            numbers = (
                counted(counts["error"], "error"),
                counted(counts["warning"], "warning"),
                f"{counts['info']:,} info",
            )
            said = [blocks.toned(text, tone) for text, tone in zip(numbers, ("error", "warning", "info"), strict=True)]
            skipped = "; ".join(f"{one.rule}: {one.reason}" for one in report.skipped[:5])
            note = blocks.faint(f"Not checked: {skipped}") if skipped else ""
            self.totals.value = f"<div>{', '.join(said)}</div>{note}"
            wanted = self.severity.value
            rows = [_row(at, one) for at, one in enumerate(report.findings) if wanted in (_ALL, one.severity)]
            self.listing.fill(rows)
            if self.listing.picked is None and rows:
                self.listing.pick(rows[0].key)
        self._show(self.listing.picked)
        self.refresh()

    def _picked(self, key: str) -> None:
        self.guard(lambda: self._show(key))

    def _show(self, key: str | None) -> None:
        self.chosen = one = self.report.findings[int(key)] if self.report and key is not None else None
        if one is None:
            self.detail.value = blocks.faint("No findings." if self.report else "")
            self.places.widget.layout.display = "none"
            return
        rows = [
            ("rows", f"{one.table} {some(one.ids, limit=40)}"),
            ("finding", one.message),
            ("what to do", one.advice),
        ]
        self.detail.value = f"{blocks.toned(one.severity, one.severity)} {blocks.headline(one.code)}" + blocks.facts(
            rows
        )
        found = (
            [lists.Row(f"s{name}", lists.columns([(f"summary {name}", 0)])) for name in summaries_of(one)]
            if self._on_summary
            else []
        )
        if self._on_item:
            places = ordinals_of(one, self.conversation_id)
            found += [lists.Row(f"i{place}", f"context item {place}") for place in places]
        self.places.fill(found[:_PLACES], keep=False)
        self.places.widget.layout.display = "" if found else "none"

    def _go(self, key: str) -> None:
        if key.startswith("s") and self._on_summary is not None:
            on_summary = self._on_summary
            self.guard(lambda: on_summary(key[1:]))
        elif self._on_item is not None:
            on_item = self._on_item
            self.guard(lambda: on_item(int(key[1:])))

    def _repair(self) -> None:
        if self._on_repair is not None:
            self._on_repair()


def _row(at: int, one: "Finding") -> lists.Row:
    rows = f"{one.table} {some(one.ids, limit=2)}"
    return lists.Row(str(at), lists.columns([(one.severity, 9), (one.code, 26), (rows, 28), (one.message, 0)]))
