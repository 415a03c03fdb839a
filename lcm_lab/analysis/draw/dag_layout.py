"""Where each summary stands: layered by depth, ordered by time, bundled where there are too many to see.

A mark is one summary, or neighbours in time of one level put together. Layers come from the stored depth, never from
the edges, so a contradiction shows as an edge that does not go down. The invariant: every summary is in exactly one
mark, and no two marks of a row share a place. Checked by ``tests/analysis/test_draw_dag.py``.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from lcm_lab import times
from lcm_lab.analysis.dag import Dag

ROWS: Final = 200
"""At most so many rows; where there are more depths, neighbours share one."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One place in the picture: the summaries there, and its coordinates; ``row`` counts from the lowest depth."""

    ids: tuple[str, ...]
    row: int
    x: float
    depth: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All marks, the edges between them (derived, source) as pairs of places in ``marks``, the depths of each row."""

    marks: tuple[Mark, ...]
    edges: tuple[tuple[int, int], ...]
    rows: tuple[tuple[int, ...], ...]
    width: float

    @property
    def alone(self) -> int:
        """Summaries with a mark of their own."""
        return sum(len(mark.ids) == 1 for mark in self.marks)

    @property
    def bundles(self) -> int:
        """Marks that stand for several summaries."""
        return len(self.marks) - self.alone


def layout(dag: Dag, *, limit: int, keep: Collection[str] = ()) -> Layout:
    """The places of all summaries in about ``limit`` marks; those in ``keep`` stay alone as far as there is room."""
    rows = _rows(dag)
    quotas = _quotas([len(ids) for _, ids in rows], limit)
    groups = [_bundled(ids, quota, frozenset(keep)) for (_, ids), quota in zip(rows, quotas, strict=True)]
    width = float(max((len(row) for row in groups), default=1))
    mark_of: dict[str, int] = {}
    xs: list[float] = []
    marks: list[Mark] = []
    lowest: list[tuple[float, float]] = []
    for row, found in enumerate(groups):
        wanted = [_wish(dag, ids, mark_of, xs, lowest) for ids in found]
        if not row:
            wanted = [(i + 0.5) * width / len(found) for i in range(len(found))]
            lowest = [(_seconds(dag, ids[0]), x) for ids, x in zip(found, wanted, strict=True)]
        for ids, x in zip(found, _spread(wanted, width), strict=True):
            mark_of.update(dict.fromkeys(ids, len(marks)))
            marks.append(Mark(ids, row, x, dag.nodes[ids[0]].depth))
            xs.append(x)
    edges = dict.fromkeys((mark_of[derived], mark_of[source]) for derived, source in dag.graph.edges)
    return Layout(tuple(marks), tuple(edges), tuple(depths for depths, _ in rows), width)


def _rows(dag: Dag) -> list[tuple[tuple[int, ...], list[str]]]:
    depths = sorted(dag.levels)
    step = -(-len(depths) // ROWS) or 1
    rows = []
    for start in range(0, len(depths), step):
        band = tuple(depths[start : start + step])
        ids = [one for depth in band for one in dag.levels[depth]]
        rows.append((band, sorted(ids, key=lambda one: _order(dag, one))))
    return rows


def _order(dag: Dag, key: str) -> tuple[object, ...]:
    """Creation, and what is covered where several were made in one second."""
    node = dag.nodes[key]
    return (*times.sort_key(node.created_at)[:2], *times.sort_key(node.earliest_at)[:2], key)


def _quotas(sizes: Sequence[int], limit: int) -> list[int]:
    """How many marks each row gets: all where they fit, the rest of ``limit`` shared among the large rows."""
    if sum(sizes) <= limit:
        return list(sizes)
    quotas = [0] * len(sizes)
    left = limit
    by_size = sorted(range(len(sizes)), key=sizes.__getitem__)
    for done, i in enumerate(by_size):
        others = len(sizes) - done - 1
        # Upper levels are the small ones: they may take more than their share while each larger row keeps a fifth.
        quotas[i] = max(1, min(sizes[i], max(left // (others + 1), left - max(1, limit // 5) * others)))
        left -= quotas[i]
    return quotas


def _bundled(ids: Sequence[str], quota: int, keep: frozenset[str]) -> list[tuple[str, ...]]:
    if len(ids) <= quota:
        return [(one,) for one in ids]
    alone = frozenset([one for one in ids if one in keep][: quota // 3])
    # Each one that stays alone may cut a bundle in two.
    size = -(-(len(ids) - len(alone)) // max(1, quota - 2 * len(alone)))
    found: list[tuple[str, ...]] = []
    bundle: list[str] = []
    for one in ids:
        if bundle and (one in alone or len(bundle) == size):
            found.append(tuple(bundle))
            bundle = []
        if one in alone:
            found.append((one,))
        else:
            bundle.append(one)
    return [*found, tuple(bundle)] if bundle else found


def _wish(
    dag: Dag, ids: Sequence[str], mark_of: dict[str, int], xs: Sequence[float], lowest: Sequence[tuple[float, float]]
) -> float:
    """Above the middle of its sources; without placed ones, where its time would be in the lowest row."""
    below = [xs[mark_of[source]] for one in ids for source in dag.sources(one) if source in mark_of]
    if below:
        return sum(below) / len(below)
    if not lowest:
        return 0.0
    place = bisect_left(lowest, (_seconds(dag, ids[0]), -1.0))
    return lowest[min(place, len(lowest) - 1)][1]


def _seconds(dag: Dag, key: str) -> float:
    moment = times.parse(dag.nodes[key].created_at)
    return moment.timestamp() if moment else float("inf")


def _spread(wanted: Sequence[float], width: float) -> list[float]:
    """The wanted places moved apart until no two of them touch, none beyond ``width``; the order is kept by place."""
    if len(wanted) < 2:
        return list(wanted)
    gap = min(1.0, width / len(wanted))
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], i))
    found = list(wanted)
    for before, i in pairwise(order):
        found[i] = max(found[i], found[before] + gap)
    found[order[-1]] = min(found[order[-1]], width - gap / 2)
    for after, i in pairwise(reversed(order)):
        found[i] = min(found[i], found[after] - gap)
    return found
