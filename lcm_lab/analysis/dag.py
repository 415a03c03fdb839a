"""The DAG of summaries of one conversation: who was made from what, and where that goes wrong.

Edges run from the derived summary to its source, the way one expands a summary. The graph holds only edges between
summaries of the conversation; an edge with an end that is nowhere is *dangling*, one into another conversation is
*foreign*, and both are listed. A store may hold cycles and depths that contradict the edges: they are named, and every
walk here ends all the same.

The invariant: levels partition the summaries, every summary is in an expanded tree at least once, and what a summary
covers equals the plain closure over edges and links. Checked by ``tests/analysis/test_dag.py`` on random graphs.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import networkx as nx

from lcm_lab import times, tokens
from lcm_lab.analysis import graphs
from lcm_lab.analysis.tree import TreeRow, tree_rows
from lcm_lab.store import messages, summaries
from lcm_lab.store.connect import Note, Reader
from lcm_lab.store.rows import Edge
from lcm_lab.store.summaries import Node

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many messages of the conversation a summary covers, at any depth.

    ``linked_elsewhere`` counts linked message ids that are no messages of this conversation (missing, or of another).
    """

    messages: int
    by_any: int
    by_context: int
    linked_elsewhere: int

    @property
    def uncovered(self) -> int:
        """Messages that no summary covers."""
        return self.messages - self.by_any


@dataclass(frozen=True, slots=True)
class DepthConflict:
    """A summary whose depth or kind contradicts what it was made from. ``expected`` is None where it cannot be told."""

    summary_id: str
    depth: int
    expected: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Dag:
    """The summaries of one conversation as a graph; made by :func:`build` or :func:`load`.

    ``graph`` has the summary ids as nodes, with depth, label, tokens, times, place in context and the number of
    messages covered (``messages``) as attributes. ``levels`` are the ids by depth, in order of creation.
    """

    conversation_id: int
    nodes: Mapping[str, Node]
    graph: "nx.DiGraph[str]"
    leaf_messages: Mapping[str, tuple[int, ...]]
    roots: tuple[str, ...]
    levels: Mapping[int, tuple[str, ...]]
    coverage: Coverage
    cycles: tuple[tuple[str, ...], ...]
    cyclic: frozenset[str]
    dangling: tuple[Edge, ...]
    foreign: tuple[Edge, ...]
    depth_conflicts: tuple[DepthConflict, ...]
    estimator: str = tokens.STORED_OR_PLUGIN
    zone: times.Zone | None = None
    notes: tuple[Note, ...] = ()

    def figure(self, *, limit: int = 2000) -> "Figure":
        """The graph drawn in layers by depth, over time; at most ``limit`` summaries, the title says how many."""
        from lcm_lab.analysis.draw.dag_figure import dag_figure

        return dag_figure(self, limit=limit, zone=self.zone or times.zone())

    def sources(self, summary_id: str) -> tuple[str, ...]:
        """What a summary was made from, oldest first."""
        return tuple(self.graph.successors(summary_id))

    def derived(self, summary_id: str) -> tuple[str, ...]:
        """What was made from a summary, oldest first."""
        return _in_time(self.nodes, self.graph.predecessors(summary_id))

    def below(self, summary_id: str) -> frozenset[str]:
        """Every summary a summary rests on, itself left out."""
        return frozenset(graphs.reach(self.graph, [summary_id]) - {summary_id})

    def covered_messages(self, summary_id: str) -> frozenset[int]:
        """Ids of all messages a summary covers through everything below it, whether or not they exist."""
        return frozenset(
            message for one in graphs.reach(self.graph, [summary_id]) for message in self.leaf_messages.get(one, ())
        )

    @property
    def in_context(self) -> tuple[str, ...]:
        """The summaries in the conversation's context, in context order."""
        found = [(node.in_context, key) for key, node in self.nodes.items() if node.in_context is not None]
        return tuple(key for _, key in sorted(found))

    @property
    def problems(self) -> dict[str, tuple[str, ...]]:
        """What is wrong with a summary as a place in the graph, by id; sound summaries are left out."""
        found: dict[str, list[str]] = {}
        for conflict in self.depth_conflicts:
            found.setdefault(conflict.summary_id, []).append(conflict.reason)
        for edges, what in ((self.dangling, "does not exist"), (self.foreign, "is in another conversation")):
            for edge in edges:
                source, derived = edge.parent_summary_id, edge.summary_id
                found.setdefault(derived, []).append(f"its source {source} {what}")
                found.setdefault(source, []).append(f"{derived}, made from it, {what}")
        return {key: tuple(said) for key, said in found.items() if key in self.nodes}

    def tree_rows(self, *, expand: Literal["all"] | int | Collection[str] = "all") -> list[TreeRow]:
        """The rows of a text tree; ``expand`` opens everything, so many levels, or the summaries named.

        A shared summary stands under each one made from it, and its own sources under the first of them only. Fully
        expanded, every summary is shown: what no root reaches (a cycle) follows after the roots.
        """
        return tree_rows(self.nodes, self.sources, self._starts(), expand)

    def _starts(self) -> tuple[str, ...]:
        seen = graphs.reach(self.graph, self.roots)
        starts = list(self.roots)
        # What is left has only cycles above it; its oldest summary stands for each.
        for one in _in_time(self.nodes, self.nodes.keys() - seen):
            if one not in seen:
                starts.append(one)
                seen |= graphs.reach(self.graph, [one])
        return tuple(starts)


def load(reader: Reader, conversation_id: int, *, zone: times.Zone | None = None) -> Dag:
    """The DAG of a conversation as it lies in the store; empty where there is none."""
    nodes = summaries.nodes(reader, conversation_id)
    edges = summaries.edges(reader, conversation_id)
    known = {node.summary_id for node in nodes}
    ends = {end for edge in edges for end in (edge.summary_id, edge.parent_summary_id)} - known
    others = summaries.nodes(reader, ids=sorted(ends)) if ends else []
    return build(
        [*nodes, *others],
        edges,
        summaries.leaf_messages(reader, conversation_id),
        conversation_id,
        message_ids=messages.ids(reader, conversation_id),
        zone=zone,
    )


def build(
    nodes: Iterable[Node],
    edges: Iterable[Edge],
    leaf_messages: Mapping[str, tuple[int, ...]],
    conversation_id: int,
    *,
    message_ids: Collection[int] = frozenset(),
    zone: times.Zone | None = None,
) -> Dag:
    """The DAG of a conversation from its rows.

    Nodes of other conversations do not enter the graph; they tell a foreign edge from a dangling one. ``message_ids``
    are the messages the conversation has.
    """
    everywhere = list(nodes)
    mine = {node.summary_id: node for node in sorted(everywhere, key=_made) if node.conversation_id == conversation_id}
    elsewhere = {node.summary_id for node in everywhere} - mine.keys()
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(mine)
    inside: list[Edge] = []
    dangling: list[Edge] = []
    foreign: list[Edge] = []
    for edge in edges:
        ends = (edge.summary_id, edge.parent_summary_id)
        group = inside if mine.keys() >= {*ends} else foreign if {*ends} <= mine.keys() | elsewhere else dangling
        group.append(edge)
    # Added oldest source first, so that the graph itself keeps siblings in time order.
    place = {key: i for i, key in enumerate(mine)}
    for edge in sorted(inside, key=lambda one: place[one.parent_summary_id]):
        graph.add_edge(edge.summary_id, edge.parent_summary_id, ordinal=edge.ordinal)
    cyclic = graphs.cyclic(graph)
    incomplete = frozenset(edge.summary_id for edge in (*dangling, *foreign))
    links = {key: tuple(found) for key, found in leaf_messages.items() if key in mine}
    _describe(graph, mine, graphs.covered_counts(graph, links, frozenset(message_ids)))
    return Dag(
        conversation_id=conversation_id,
        nodes=mine,
        graph=graph,
        leaf_messages=links,
        roots=tuple(key for key in mine if graph.in_degree(key) == 0) or tuple(mine),
        levels=_levels(mine),
        coverage=_coverage(graph, mine, links, frozenset(message_ids)),
        cycles=graphs.name_cycles(graph, cyclic, place),
        cyclic=cyclic,
        dangling=tuple(dangling),
        foreign=tuple(foreign),
        depth_conflicts=tuple(_depth_conflicts(graph, mine, cyclic, incomplete)),
        zone=zone,
    )


def _made(node: Node) -> tuple[bool, float, str]:
    """Order of creation: by the moment, not by the text; unreadable times last, ties by id."""
    return (*times.sort_key(node.created_at)[:2], node.summary_id)


def _in_time(nodes: Mapping[str, Node], ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(ids, key=lambda one: _made(nodes[one])))


def _levels(nodes: Mapping[str, Node]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for key, node in nodes.items():
        found.setdefault(node.depth, []).append(key)
    return {depth: tuple(found[depth]) for depth in sorted(found)}


def _coverage(
    graph: "nx.DiGraph[str]",
    nodes: Mapping[str, Node],
    links: Mapping[str, tuple[int, ...]],
    messages: frozenset[int],
) -> Coverage:
    linked = {message for found in links.values() for message in found}
    active = graphs.reach(graph, [key for key, node in nodes.items() if node.in_context is not None])
    by_context = {message for one in active for message in links.get(one, ())}
    return Coverage(len(messages), len(linked & messages), len(by_context & messages), len(linked - messages))


def _describe(graph: "nx.DiGraph[str]", nodes: Mapping[str, Node], covered: Mapping[str, int]) -> None:
    for key, node in nodes.items():
        graph.nodes[key].update(
            depth=node.depth,
            label=node.label,
            tokens=node.tokens,
            rule=node.rule,
            created_at=node.created_at,
            earliest_at=node.earliest_at,
            latest_at=node.latest_at,
            in_context=node.in_context,
            messages=covered.get(key, 0),
        )


def _depth_conflicts(
    graph: "nx.DiGraph[str]", nodes: Mapping[str, Node], cyclic: frozenset[str], incomplete: frozenset[str]
) -> Iterable[DepthConflict]:
    for key, node in nodes.items():
        if key in cyclic:
            yield DepthConflict(key, node.depth, None, "is in a cycle, so no depth can be right")
            continue
        below = [nodes[source].depth for source in graph.successors(key)]
        problems = graphs.depth_problems(node.kind, node.depth, below, missing=key in incomplete)
        first = next((one for one in problems if one.about != "mixed"), None)
        if first is not None:
            yield DepthConflict(key, node.depth, first.expected, first.reason)
