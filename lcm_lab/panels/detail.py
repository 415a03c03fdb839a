"""One summary whole: its text, what it was made from, what was made from it, what is wrong with it.

Sources and derived summaries are picked from lists and lead on; a leaf's messages are shown with their tool traffic,
which lcm-tui leaves blank. Checked by ``tests/panels/test_browse_dag.py``.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.panels import lists, reading
from lcm_lab.store.text import preview
from lcm_lab.views import blocks

if TYPE_CHECKING:
    from lcm_lab.analysis.health import Finding
    from lcm_lab.results import SummaryView
    from lcm_lab.times import Zone

_FIRST: Final = 12_000
_FINDINGS: Final = 8


class SummaryDetail:
    """The detail of a summary; ``on_go`` is called with the id of a source or a derived summary that is picked."""

    def __init__(self, zone: "Zone", on_go: Callable[[str], None]) -> None:
        self.zone = zone
        self.view: SummaryView | None = None
        self._on_go = on_go
        self.head = w.HTML()
        self.findings = w.HTML()
        self.text = reading.Expandable()
        head = lists.columns([("made from", 18), ("kind", 10), ("tokens", -8), ("begins", 0)])
        self.sources = lists.Listing("what this summary was made from", self._source, head=head, rows=7)
        self.sources.above.layout.display = "none"
        self.message = reading.Expandable()
        head = lists.columns([("made from this one", 18), ("", 0)])
        self.derived = lists.Listing("what was made from this summary", self._leads, head=head, rows=3)
        self.derived.above.layout.display = "none"
        left = w.VBox([self.head, self.findings, self.text.widget])
        right = w.VBox([self.derived.widget, self.sources.widget, self.message.widget])
        self.widget = lists.side_by_side(left, right, basis="380px")
        self.widget.layout.display = "none"

    def show(self, view: "SummaryView", findings: "Sequence[Finding] | None") -> None:
        """Show a summary; ``findings`` are None where nobody looked yet."""
        self.view = view
        self.widget.layout.display = "flex"
        self.head.value = blocks.headline(view.node.summary_id) + blocks.facts(self._facts(view))
        self.findings.value = _findings(findings)
        self.text.show(partial(blocks.boxed, view.content, label="the summary's text"), limit=_FIRST)
        self.sources.fill(self._source_rows(view), note=self._missing(view), keep=False)
        self.derived.fill([lists.Row(one, lists.columns([(one, 0)])) for one in view.derived], keep=False)
        for listing in (self.sources, self.derived):
            listing.widget.layout.display = "" if listing.keys or listing is self.sources else "none"
        self.message.show(None)
        if view.messages and not view.sources:
            first = self.sources.keys[0]
            self.sources.pick(first)
            self._source(first)

    def hide(self) -> None:
        """Show nothing."""
        self.view = None
        self.widget.layout.display = "none"

    def _facts(self, view: "SummaryView") -> list[tuple[str, object]]:
        node = view.node
        made_from = "unknown" if node.source_tokens is None else f"{node.source_tokens:,}"
        place = "no" if node.in_context is None else f"yes, at ordinal {node.in_context}"
        return [
            ("kind", f"{node.label}, depth {node.depth}"),
            ("tokens", f"{node.tokens:,} ({node.rule}); made from {made_from}"),
            ("covers", f"{self.zone.show(node.earliest_at)} to {self.zone.show(node.latest_at)}"),
            ("created", self.zone.show(node.created_at)),
            ("model", node.model),
            ("in context", place),
            ("read with care", "; ".join(map(str, view.notes[:5]))),
        ]

    def _source_rows(self, view: "SummaryView") -> list[lists.Row]:
        rows = [
            lists.Row(one.summary_id, _line(one.summary_id, one.label, one.tokens, one.preview)) for one in view.sources
        ]
        for at, one in enumerate(view.messages):
            name = f"#{one.message.message_id}"
            rows.append(lists.Row(f"\0{at}", _line(name, one.message.role.upper(), one.tokens, one.text)))
        return rows

    def _missing(self, view: "SummaryView") -> str:
        if view.missing_sources:
            return f"Sources that do not exist: {', '.join(view.missing_sources[:5])}."
        return "" if view.sources or view.messages else "Nothing in the store says what this was made from."

    def _source(self, key: str) -> None:
        if key.startswith("\0") and self.view is not None:
            one = self.view.messages[int(key[1:])]
            self.message.show(partial(blocks.message, one, self.zone))
        else:
            self._leads(key)

    def _leads(self, key: str) -> None:
        self._on_go(key)


def _line(name: str, kind: str, tokens: int, text: str) -> str:
    return lists.columns([(name, 18), (kind, 10), (f"{tokens:,}", -8), (preview(text, size=90), 0)])


def _findings(findings: "Sequence[Finding] | None") -> str:
    if findings is None:
        return blocks.faint("Findings: not looked for yet; the Health tab does it.")
    if not findings:
        return blocks.faint("Findings: none.")
    said = [f"<li>{_finding(one)}</li>" for one in findings[:_FINDINGS]]
    more = f"<li>and {len(findings) - _FINDINGS} more</li>" if len(findings) > _FINDINGS else ""
    return f'<ul style="margin:2px 0 6px 18px;padding:0;line-height:1.4">{"".join(said)}{more}</ul>'


def _finding(one: "Finding") -> str:
    return f"{blocks.toned(one.severity, one.severity)} {blocks.inline(f'{one.code}: {one.message} {one.advice}')}"
