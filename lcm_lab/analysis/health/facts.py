"""What is known of one conversation once its rows were read: the ground all rules of a conversation stand on.

Bodies are looked at while they stream by (tokens, fingerprints, markers) and are not kept, so the size of a
conversation's facts goes with its number of rows, not with its texts. A part that could not be read (a damaged page, a
missing table) is noted in ``missing`` with the reason; a rule that needs it does not run, so that damage in one place
does not turn into false findings in another. Checked by ``tests/analysis/test_health_damage.py``.
"""

from dataclasses import dataclass, field
from typing import Any

from lcm_lab import times
from lcm_lab.analysis.health.duplicates import Fingerprint
from lcm_lab.analysis.health.finding import Finding, Quoted, Severity
from lcm_lab.analysis.health.markers import MarkerKind
from lcm_lab.store.checks import EdgeFact, Item, Lane, LinkFact
from lcm_lab.store.checks_text import SummaryRow, ToolPart
from lcm_lab.store.connect import Reader


@dataclass(frozen=True, slots=True)
class MessageFact:
    """What is kept of a message; ``tokens`` is the number that every view shows."""

    message_id: int
    seq: Any
    role: str
    tokens: int
    created_at: str | None
    blank: bool


@dataclass(frozen=True, slots=True)
class Node:
    """A summary without its text: its row, the three estimates, and what its text showed."""

    row: SummaryRow
    estimates: dict[str, int]
    blank: bool
    marker: MarkerKind | None

    @property
    def summary_id(self) -> str:
        """The row's key."""
        return self.row.summary_id

    @property
    def tokens(self) -> int:
        """The token number that every view shows."""
        return self.row.tokens

    @property
    def is_leaf(self) -> bool:
        """Whether the store calls it a leaf."""
        return self.row.kind == "leaf"

    def finding(self, code: str, severity: Severity, text: str, advice: str) -> Finding:
        """A finding about this summary."""
        return Finding(code, severity, "summaries", (self.summary_id,), self.row.conversation_id, text, advice)


@dataclass(slots=True)
class Facts:
    """One conversation's rows, as far as they could be read.

    ``noticed`` are findings about texts, made while the texts streamed by; ``missing`` says what could not be read.
    """

    reader: Reader
    conversation_id: int
    lane: Lane | None = None
    items: list[Item] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[EdgeFact] = field(default_factory=list)  # set once, before sources() is asked
    links: dict[str, list[LinkFact]] = field(default_factory=dict)
    links_in: list[LinkFact] = field(default_factory=list)
    messages: dict[int, MessageFact] = field(default_factory=dict)
    fingerprints: list[Fingerprint] = field(default_factory=list)
    tool_parts: list[ToolPart] = field(default_factory=list)
    wrong_hashes: list[int] = field(default_factory=list)
    noticed: list[Finding] = field(default_factory=list)
    quoted: list[Quoted] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    _sources: dict[str, list[EdgeFact]] | None = None
    _copied: set[int] | None = None

    @property
    def has_times(self) -> bool:
        """Whether this store's summaries have times at all."""
        has = self.reader.schema.has
        return has("summaries", "earliest_at") and has("summaries", "latest_at")

    def copied(self) -> set[int]:
        """Messages that a transplant put here.

        A copied leaf keeps its times, so all it covers is older than the message before the first of its own;
        lcm-tui's copies have no times at all.
        """
        if self._copied is None:
            self._copied = set()
            before: dict[int, str | None] = {}
            last: str | None = None
            for one in self.messages.values():
                before[one.message_id], last = last, one.created_at
            for node in self.nodes.values():
                mine = [link.message_id for link in self.links.get(node.summary_id, ())]
                if node.is_leaf and self._is_copy(node, [before.get(one) for one in mine[:1]]):
                    self._copied.update(mine)
        return self._copied

    def _is_copy(self, node: Node, before: list[str | None]) -> bool:
        if self.has_times and node.row.earliest_at is None:
            return True
        last = times.parse(node.row.latest_at)
        return last is not None and any((moment := times.parse(one)) is not None and last < moment for one in before)

    def sources(self) -> dict[str, list[EdgeFact]]:
        """The edges from each derived node to its sources, in their order."""
        if self._sources is None:
            self._sources = {}
            for edge in self.edges:
                self._sources.setdefault(edge.derived, []).append(edge)
        return self._sources

    def whole_sources(self, edges: list[EdgeFact]) -> list[Node] | None:
        """The source nodes of ``edges``; None where one of them is missing or belongs to another conversation."""
        found = [self.nodes.get(edge.source) for edge in edges]
        return [node for node in found if node is not None] if all(found) else None

    def whole_links(self, summary_id: str) -> list[MessageFact] | None:
        """The messages a summary links; None where one of them is missing or belongs to another conversation."""
        found = [self.messages.get(link.message_id) for link in self.links.get(summary_id, ())]
        return [one for one in found if one is not None] if all(found) else None

    def gaps(self) -> list[tuple[int, int, str]]:
        """Unused stretches of the context's ordinals: (first, last, key of the item behind it)."""
        found = []
        expected = 0
        for item in self.items:
            if not isinstance(item.ordinal, int) or not 0 <= item.ordinal < TEMPORARY:
                continue
            if item.ordinal > expected:
                found.append((expected, item.ordinal - 1, item.key))
            expected = max(expected, item.ordinal + 1)
        return found

    def soft_reset(self) -> str | None:
        """Why history outside the context may be left out on purpose; None where nothing hints at it."""
        if self.lane is not None and self.lane.soft_reset_at:
            return f"the session was reset at {self.lane.soft_reset_at}"
        if self.lane is not None and (self.lane.active == 0 or self.lane.archived_at):
            return "the conversation is archived"
        if self.gaps():
            return "the context has gaps, as a reset leaves them"
        used = {item.summary_id for item in self.items} | {edge.source for edge in self.edges}
        if any(key not in used for key in self.nodes):
            return "summaries were taken out of the context, as a reset does"
        return None


TEMPORARY = 10_000_000
"""Ordinals from here on are used only while a writer renumbers a context."""
