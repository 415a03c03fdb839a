"""Plain graph work on the summary DAG: what lies below, what is in a cycle, how much each covers, wrong depths.

Every function ends on every graph, cycles included, and none recurses: chains of summaries can be long. Edges point
from a derived summary to its source. Checked by ``tests/analysis/test_dag.py``.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    import networkx as nx

CYCLES_NAMED: Final = 100
"""As many cycles are named; which summaries are in one is always known in full."""


@dataclass(frozen=True, slots=True)
class DepthProblem:
    """What is wrong with a depth: ``kind`` (it contradicts the kind), ``depth`` (its sources), or ``mixed``.

    ``expected`` is the right depth, None where it cannot be told. ``mixed`` is no error: the sources differ in depth.
    """

    about: Literal["kind", "depth", "mixed"]
    expected: int | None
    reason: str


def depth_problems(
    kind: str, depth: object, source_depths: Iterable[object], *, missing: bool
) -> tuple[DepthProblem, ...]:
    """What is wrong with a summary's stored depth: a leaf has 0, any other one more than its deepest source.

    ``missing``: there are sources whose depth is not known (gone, or in another conversation). One of them may have
    been the deepest, so that a depth above the known ones is let pass. Depths that are no whole numbers say nothing.

    >>> [one.reason for one in depth_problems("condensed", 3, [0, 1], missing=False)]
    ['depth 3, but its deepest source has 1']
    >>> depth_problems("condensed", 3, [1], missing=True), depth_problems("leaf", 0, [], missing=False)
    ((), ())
    """
    listed = list(source_depths)
    known = sorted({one for one in listed if isinstance(one, int)})
    unsure = missing or any(not isinstance(one, int) for one in listed)
    right = 0 if kind == "leaf" else known[-1] + 1 if known else None
    found: list[DepthProblem] = []
    if not isinstance(depth, int):
        return (DepthProblem("kind", right, f"{depth!r} where its depth should be"),)
    if (kind == "leaf") != (depth == 0):
        found.append(DepthProblem("kind", right, f"{kind} at depth {depth}; only leaves have depth 0"))
    if kind == "leaf":
        return (*found, DepthProblem("depth", 0, f"depth {depth}, but a leaf has 0")) if found else ()
    if right is not None and depth != right and not (unsure and depth > right):
        found.append(DepthProblem("depth", right, f"depth {depth}, but its deepest source has {right - 1}"))
    elif len(known) > 1:
        depths = ", ".join(map(str, known))
        found.append(DepthProblem("mixed", right, f"made from depths {depths}; the plugin joins one depth only"))
    return tuple(found)


def reach(graph: "nx.DiGraph[str]", starts: Iterable[str]) -> set[str]:
    """The starts and everything below them."""
    seen = set(starts)
    waiting = list(seen)
    while waiting:
        for source in graph.successors(waiting.pop()):
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return seen


def cyclic(graph: "nx.DiGraph[str]") -> frozenset[str]:
    """The summaries that are in a cycle, one with itself included."""
    import networkx as nx  # late: a health check of depths needs no graph

    found: set[str] = set()
    for group in nx.strongly_connected_components(graph):
        if len(group) > 1:
            found |= group
    return frozenset(found | {one for one in graph if graph.has_edge(one, one)})


def name_cycles(
    graph: "nx.DiGraph[str]", members: frozenset[str], place: Mapping[str, int]
) -> tuple[tuple[str, ...], ...]:
    """Cycles until each summary in one has been in a named one: each time the shortest through the oldest left.

    A graph can hold more cycles than could ever be listed, so not all are; each starts at its oldest summary.
    """
    named: dict[tuple[str, ...], None] = {}
    done: set[str] = set()
    for start in sorted(members, key=place.__getitem__):
        if start in done:
            continue
        if len(named) == CYCLES_NAMED:
            break
        cycle = _shortest_cycle(graph, start)
        done.update(cycle)
        first = min(range(len(cycle)), key=lambda i: place[cycle[i]])
        named[tuple(cycle[first:] + cycle[:first])] = None
    return tuple(named)


def _shortest_cycle(graph: "nx.DiGraph[str]", start: str) -> list[str]:
    came_from: dict[str, str] = {}
    waiting = deque([start])
    while waiting:
        one = waiting.popleft()
        for source in graph.successors(one):
            if source == start:
                path = [one]
                while path[-1] != start:
                    path.append(came_from[path[-1]])
                return path[::-1]
            if source not in came_from:
                came_from[source] = one
                waiting.append(source)
    return [start]


def covered_counts(
    graph: "nx.DiGraph[str]", links: Mapping[str, tuple[int, ...]], messages: frozenset[int]
) -> dict[str, int]:
    """How many messages of the conversation each summary covers.

    Sets of messages are whole numbers with a bit per message: joining two is one operation, which keeps thousands of
    summaries over thousands of messages cheap. Summaries of one cycle cover the same, so a cycle counts as one.
    """
    import networkx as nx

    linked = sorted({message for found in links.values() for message in found if message in messages})
    bit = {message: i for i, message in enumerate(linked)}
    groups: nx.DiGraph[int] = nx.condensation(graph) if len(graph) else nx.DiGraph()
    covered: dict[int, int] = {}
    found: dict[str, int] = {}
    users = dict(groups.in_degree())
    for group in nx.dfs_postorder_nodes(groups):
        own = 0
        for member in groups.nodes[group]["members"]:
            for message in links.get(member, ()):
                if message in bit:
                    own |= 1 << bit[message]
        for source in groups.successors(group):
            own |= covered[source]
            users[source] -= 1
            if not users[source]:
                del covered[source]
        covered[group] = own
        found.update(dict.fromkeys(groups.nodes[group]["members"], own.bit_count()))
    return found
