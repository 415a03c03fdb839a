"""Rules about the summary DAG: links, edges, depth, cycles and nodes that nothing uses (L1 to L7, D1, D2, O1)."""

from collections import Counter
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from lcm_lab.analysis import graphs
from lcm_lab.analysis.health.facts import Facts, Node
from lcm_lab.analysis.health.finding import Finding, Severity
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store.checks import EdgeFact, LinkFact

_DANGLING = "Remove the row; until then a rewrite goes without it and says so, and a dissolve is refused."
_DEPTH: Final[dict[str, tuple[str, Severity, str]]] = {
    "kind": ("D2-kind-and-depth", "error", "Look at what it was made from, then set kind or depth."),
    "depth": ("D1-depth", "error", "Set the depth to {expected}."),
    "mixed": ("D1-mixed-depths", "warning", "Look at its sources; nothing is broken by this alone."),
}


def without_source(facts: Facts) -> Iterator[Finding]:
    """L1: a leaf has at least one link, a condensed summary at least one source, existing or not."""
    sources = facts.sources()
    for node in facts.nodes.values():
        if node.is_leaf and not facts.links.get(node.summary_id):
            text = f"leaf {node.summary_id} is linked to no message: it cannot be expanded or rewritten"
            yield node.finding(
                "L1-leaf-without-messages", "error", text, "Check its text by hand, then remove it or keep it."
            )
        elif not node.is_leaf and not sources.get(node.summary_id):
            text = f"condensed summary {node.summary_id} has no sources: it cannot be expanded, rewritten or dissolved"
            yield node.finding("L1-no-sources", "error", text, "Check its text by hand, then remove it or keep it.")


def wrong_source(facts: Facts) -> Iterator[Finding]:
    """L2: a leaf has no sources among summaries, a condensed summary no messages of its own."""
    sources = facts.sources()
    for node in facts.nodes.values():
        if node.is_leaf and sources.get(node.summary_id):
            number = counted(len(sources[node.summary_id]), "summary", "summaries")
            text = f"leaf {node.summary_id} names {number} as sources; a leaf is made from messages"
            yield node.finding(
                "L2-leaf-with-sources", "warning", text, "Compare its text with both, then remove the wrong rows."
            )
        elif not node.is_leaf and facts.links.get(node.summary_id):
            number = counted(len(facts.links[node.summary_id]), "message")
            text = f"condensed summary {node.summary_id} is linked to {number}; it is made from summaries"
            yield node.finding(
                "L2-condensed-with-messages", "warning", text, "Compare its text, then remove the wrong rows."
            )


def dangling(facts: Facts) -> Iterator[Finding]:
    """L3: both ends of each edge and link are there, in one conversation."""
    for edge in facts.edges:
        yield from edge_ends(edge, facts.conversation_id)
    for links in [*facts.links.values(), facts.links_in]:
        for link in links:
            yield from link_ends(link, facts.conversation_id)


def edge_ends(edge: EdgeFact, conversation_id: int | None) -> Iterator[Finding]:
    """L3 for one edge."""
    missing = [
        name for name, owner in ((edge.derived, edge.derived_owner), (edge.source, edge.source_owner)) if owner is None
    ]
    home = edge.derived_owner if edge.derived_owner is not None else edge.source_owner
    home = conversation_id if home is None else home
    if missing:
        text = f"edge {edge.key} leads to a summary that does not exist: {some(missing)}"
        yield Finding("L3-dangling-edge", "error", "summary_parents", (edge.key,), home, text, _DANGLING)
    elif edge.derived_owner != edge.source_owner:
        text = f"edge {edge.key} joins conversation {edge.derived_owner} to conversation {edge.source_owner}"
        advice = "Transplant copies summaries with their edges; an edge across conversations has to be removed by hand."
        yield Finding("L3-foreign-edge", "error", "summary_parents", (edge.key,), home, text, advice)


def link_ends(link: LinkFact, conversation_id: int | None) -> Iterator[Finding]:
    """L3 for one link."""
    home = link.summary_owner if link.summary_owner is not None else link.message_owner
    home = conversation_id if home is None else home
    missing = [] if link.summary_owner is not None else [f"summary {link.summary_id}"]
    if link.message_owner is None:
        missing.append(f"message {link.message_id}")
    if missing:
        text = f"link {link.key} names a row that does not exist: {some(missing)}"
        yield Finding("L3-dangling-link", "error", "summary_messages", (link.key,), home, text, _DANGLING)
    elif link.summary_owner != link.message_owner:
        text = (
            f"link {link.key} joins conversation {link.summary_owner} to a message of conversation {link.message_owner}"
        )
        advice = (
            "Transplant copies messages with their summaries; a link across conversations has to be removed by hand."
        )
        yield Finding("L3-foreign-link", "error", "summary_messages", (link.key,), home, text, advice)


def cycles(facts: Facts) -> Iterator[Finding]:
    """L4: no summary is made from itself, over however many steps; one finding per cycle, with all its summaries."""
    yield from circles(facts.edges, facts.conversation_id)


def circles(edges: Iterable[EdgeFact], conversation_id: int | None) -> Iterator[Finding]:
    """L4 for any edges."""
    # An end that is NULL is no summary: L3 reports its edge.
    pairs = [(edge.derived, edge.source) for edge in edges if edge.derived is not None and edge.source is not None]
    if not _circular(pairs):
        return
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from(pairs)
    for component in nx.strongly_connected_components(graph):
        ids = sorted(component)
        if len(ids) > 1 or graph.has_edge(ids[0], ids[0]):
            text = f"{counted(len(ids), 'summary', 'summaries')} made from each other in a circle: {some(ids)}"
            advice = "Remove one edge of the circle before any rewrite; lcm-tui does not end on it."
            yield Finding("L4-cycle", "error", "summaries", tuple(ids), conversation_id, text, advice)


def _circular(pairs: Iterable[tuple[str, str]]) -> bool:
    # Asked first, since most stores have no circle and networkx takes a tenth of a second to import.
    order: TopologicalSorter[str] = TopologicalSorter()
    for derived, source in pairs:
        order.add(derived, source)
    try:
        order.prepare()
    except CycleError:
        return True
    return False


def numbering(facts: Facts) -> Iterator[Finding]:
    """L5: the sources and the links of a summary are numbered 0, 1, 2 and so on. Dangling rows may fill a place."""
    for derived, edges in facts.sources().items():
        node = facts.nodes.get(derived)
        if node is not None:
            yield from _numbering(node, "sources", [(one.ordinal, one.source in facts.nodes) for one in edges])
    for summary_id, links in facts.links.items():
        if summary_id in facts.nodes:
            pairs = [(one.ordinal, one.message_owner is not None) for one in links]
            yield from _numbering(facts.nodes[summary_id], "messages", pairs)


def shared(facts: Facts) -> Iterator[Finding]:
    """L6: a summary is the source of at most one other. L7: a message is linked to at most one leaf."""
    derived: dict[str, list[str]] = {}
    for edge in facts.edges:
        if edge.derived_owner is not None and edge.source in facts.nodes:
            derived.setdefault(edge.source, []).append(edge.derived)
    for source, found in derived.items():
        if len(found) > 1:
            text = f"summary {source} is the source of {len(found)} others: {some(found)}"
            advice = "Before a dissolve of one of them, look at what the others lose."
            yield facts.nodes[source].finding("L6-shared-source", "warning", text, advice)
    leaves: dict[Any, list[Node]] = {}
    for summary_id, links in facts.links.items():
        node = facts.nodes.get(summary_id)
        for link in links if node is not None and node.is_leaf else ():
            if link.message_owner is not None and node is not None:
                leaves.setdefault(link.message_id, []).append(node)
    for message_id, nodes in leaves.items():
        if len(nodes) > 1:
            # Transplant copies leaves that share messages: that is legal.
            copied = message_id in facts.copied()
            severity: Severity = "info" if copied else "warning"
            text = f"message {message_id} is linked to {len(nodes)} leaves: {some(node.summary_id for node in nodes)}"
            advice = "Nothing is lost, but the message is told in each of them; compare the leaves."
            yield Finding(
                "L7-shared-message", severity, "messages", (str(message_id),), facts.conversation_id, text, advice
            )


def depth(facts: Facts) -> Iterator[Finding]:
    """D1: a condensed summary is one deeper than its deepest source. D2: depth 0 exactly for leaves."""
    sources = facts.sources()
    there = facts.reader.schema.has("summaries", "depth")
    for node in facts.nodes.values():
        edges = sources.get(node.summary_id, [])
        depths = [facts.nodes[edge.source].row.depth for edge in edges if edge.source in facts.nodes]
        missing = len(depths) < len(edges)
        for one in graphs.depth_problems(node.row.kind, node.row.depth, depths, missing=missing) if there else ():
            code, severity, advice = _DEPTH[one.about]
            text = f"summary {node.summary_id}: {one.reason}"
            yield node.finding(code, severity, text, advice.format(expected=one.expected))


def unused(facts: Facts) -> Iterator[Finding]:
    """O1: a summary that is neither in the context nor the source of another."""
    used = {item.summary_id for item in facts.items} | {edge.source for edge in facts.edges}
    for node in facts.nodes.values():
        if node.summary_id not in used:
            text = f"summary {node.summary_id} ({node.tokens:,} tokens) is not in the context and no source of another"
            advice = (
                "Nothing to do: resets and archived conversations leave such summaries; they can still be searched."
            )
            yield node.finding("O1-unused-summary", "info", text, advice)


def _numbering(node: Node, what: str, pairs: list[tuple[Any, bool]]) -> Iterator[Finding]:
    numbers = [ordinal for ordinal, resolves in pairs if resolves]
    filled = {ordinal for ordinal, _ in pairs}
    bad = [one for one in numbers if not isinstance(one, int) or one < 0]
    twice = [one for one, times in Counter(numbers).items() if times > 1]
    whole = [one for one in numbers if isinstance(one, int) and one >= 0]
    holes = [one for one in range(min(max(whole, default=-1), 100_000)) if one not in filled]
    if not (bad or twice or holes):
        return
    problems = [f"used twice {some(twice)}"] if twice else []
    problems += [f"unused {some(holes)}"] if holes else []
    problems += [f"no whole number {some(map(repr, bad))}"] if bad else []
    text = f"the {what} of summary {node.summary_id} are not numbered 0 to {len(numbers) - 1}: {'; '.join(problems)}"
    advice = f"Check the order of its {what} before a rewrite; their order in the prompt follows these numbers."
    yield node.finding("L5-link-order", "warning", text, advice)
