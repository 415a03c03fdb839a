"""What summarizing saved: each summary against what it was made from, and the totals per depth.

A saving is the tokens of the sources minus the tokens of the summary, with its sign: a summary larger than its
sources costs tokens, and says so as a negative saving. Where the sources are not known there is no saving, not one of
zero; such summaries are listed and kept out of the totals. They are not known when one of them is gone: a sum of what
is left would show a loss that nobody had. The health check (K2) says the same. Checked by
``tests/analysis/test_compression.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lcm_lab import times, tokens
from lcm_lab.store import summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.summaries import Node

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure


@dataclass(frozen=True, slots=True)
class Ratio:
    """One summary against its direct sources. ``saving`` and ``ratio`` are None where the sources are not known.

    ``ratio`` is tokens per source token, None for sources of no tokens, too. ``flagged``: nothing was saved.
    """

    summary_id: str
    label: str
    depth: int
    created_at: str
    tokens: int
    rule: str
    source_tokens: int | None

    @property
    def saving(self) -> int | None:
        """Source tokens minus tokens, negative where the summary is the larger one."""
        return None if self.source_tokens is None else self.source_tokens - self.tokens

    @property
    def ratio(self) -> float | None:
        """Tokens of the summary for each token of its sources."""
        return self.tokens / self.source_tokens if self.source_tokens else None

    @property
    def flagged(self) -> bool:
        """Whether the summary is at least as large as what it was made from."""
        return self.source_tokens is not None and self.tokens > 0 and self.tokens >= self.source_tokens


@dataclass(frozen=True, slots=True)
class DepthTotal:
    """All summaries of one depth. Tokens are of those with known sources; ``unknown`` counts the others."""

    depth: int
    summaries: int
    source_tokens: int
    tokens: int
    flagged: int
    unknown: int

    @property
    def saving(self) -> int:
        """Source tokens minus tokens."""
        return self.source_tokens - self.tokens

    @property
    def ratio(self) -> float | None:
        """Tokens for each source token; None without source tokens."""
        return self.tokens / self.source_tokens if self.source_tokens else None


@dataclass(frozen=True, slots=True)
class Compression:
    """Every summary of a conversation (of the store without one) with its ratio, in order of creation.

    Savings of different depths overlap: a d1 is made from leaves that were a saving themselves.
    """

    conversation_id: int | None
    rows: tuple[Ratio, ...]
    by_depth: tuple[DepthTotal, ...]
    estimator: str = tokens.STORED_OR_PLUGIN

    def figure(self) -> "Figure":
        """What each summary saves; below zero where it is larger than what it was made from."""
        from lcm_lab.analysis.draw.compression_figure import compression_figure

        return compression_figure(self)

    @property
    def known(self) -> tuple[Ratio, ...]:
        """The summaries whose sources are known."""
        return tuple(row for row in self.rows if row.source_tokens is not None)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Ids of the summaries whose sources are not known."""
        return tuple(row.summary_id for row in self.rows if row.source_tokens is None)

    @property
    def flagged(self) -> tuple[Ratio, ...]:
        """The summaries that saved nothing, the worst first."""
        return tuple(
            sorted((row for row in self.rows if row.flagged), key=lambda row: (row.saving or 0, row.summary_id))
        )


def load(reader: Reader, conversation_id: int | None = None) -> Compression:
    """The compression of a conversation's summaries, or of the whole store's."""
    return compression(summaries.nodes(reader, conversation_id), conversation_id)


def compression(nodes: Iterable[Node], conversation_id: int | None) -> Compression:
    """Ratios and totals of ``nodes``."""
    ordered = sorted(nodes, key=lambda node: (*times.sort_key(node.created_at)[:2], node.summary_id))
    rows = tuple(
        Ratio(node.summary_id, node.label, node.depth, node.created_at, node.tokens, node.rule, node.source_tokens)
        for node in ordered
    )
    by_depth: dict[int, list[Ratio]] = {}
    for row in rows:
        by_depth.setdefault(row.depth, []).append(row)
    return Compression(conversation_id, rows, tuple(_total(depth, by_depth[depth]) for depth in sorted(by_depth)))


def _total(depth: int, rows: list[Ratio]) -> DepthTotal:
    known = [row for row in rows if row.source_tokens is not None]
    return DepthTotal(
        depth=depth,
        summaries=len(rows),
        source_tokens=sum(row.source_tokens or 0 for row in known),
        tokens=sum(row.tokens for row in known),
        flagged=sum(row.flagged for row in known),
        unknown=len(rows) - len(known),
    )
