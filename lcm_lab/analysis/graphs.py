"""Plain graph work on the summary DAG: what lies below, which summaries are in a cycle, how much each covers.

Every function ends on every graph, cycles included, and none recurses: chains of summaries can be long. Edges point
from a derived summary to its source. Checked by ``tests/analysis/test_dag.py``.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final

import networkx as nx

CYCLES_NAMED: Final = 100
"""As many cycles are named; which summaries are in one is always known in full."""


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
