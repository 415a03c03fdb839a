"""Dissolve: take a condensed summary out of the context and put what it was made from in its place.

What cannot be put back in full is not dissolved: a source that is missing or belongs to another conversation. A source
that the model sees already, itself or through another summary, is not put in twice. With ``purge`` the summary itself
goes, unless a higher one was made from it; ``splice`` then hands its sources to that one. Order and rows as lcm-tui
leaves them (public sources, commit 4214b480); the differences are in docs/differences.md.
"""

from dataclasses import dataclass

from lcm_lab import times
from lcm_lab.errors import NotFound, Refused
from lcm_lab.repairs import preview
from lcm_lab.repairs.edits import DeleteRows, Edit, InsertRows, SwapItems
from lcm_lab.repairs.journal import now
from lcm_lab.repairs.plan import Plan, Shown, maker, new_id
from lcm_lab.store import images, summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import Edge
from lcm_lab.store.summaries import Node


@dataclass(frozen=True, slots=True)
class Options:
    """``purge`` deletes the summary, too; ``splice`` hands its sources to summaries made from it."""

    purge: bool = True
    splice: bool = False
    window: int | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    """The target and what its edges lead to: sources to put back, those that are not, and what was derived from it."""

    node: Node
    edges: tuple[Edge, ...]
    restored: tuple[Node, ...]
    left_out: tuple[str, ...]
    derived: tuple[str, ...]


def plan(reader: Reader, conversation_id: int, summary_id: str, *, zone: times.Zone, options: Options) -> Plan:
    """The plan that dissolves a summary of a conversation's context.

    Raises:
        NotFound: there is no such summary. Refused: it cannot be dissolved; the message says why and what could be.
    """
    node = _target(reader, conversation_id, summary_id)
    items = preview.shown(reader, conversation_id, zone)
    at = _place(reader, node, items)
    found = _sources(reader, node, {str(one.ref) for one in items if one.item_type == "summary"}, options)
    before = items[at]
    new = [Shown("summary", one.summary_id, one.label, one.tokens, one.preview[:80]) for one in found.restored]
    left, right = preview.neighbours(items, at, at + 1)
    swap = SwapItems(
        conversation_id,
        left=left.key if left else None,
        old=preview.run([before]),
        new=preview.run(new),
        right=right.key if right else None,
        start=node.in_context or 0,
    )
    context = preview.change(conversation_id, items, swap, new)
    return Plan(
        plan_id=new_id(),
        operation="dissolve",
        conversation_id=conversation_id,
        subject=summary_id,
        title=f"Dissolve {summary_id} ({node.label}) of conversation {conversation_id} into its {len(new)} sources",
        edits=(swap, *_removal(reader, found, options)),
        made_at=now(),
        made_by=maker(),
        why=f"{node.label} {summary_id} gives way to the finer summaries it was made from",
        tokens_before=node.tokens,
        tokens_after=sum(one.tokens for one in new),
        facts=_facts(found, options, before, len(items) - at - 1),
        warnings=(*_said(found, options), *preview.warnings(reader, conversation_id, context, options.window)),
        context=context,
    )


def _target(reader: Reader, conversation_id: int, summary_id: str) -> Node:
    found = summaries.nodes(reader, ids=[summary_id])
    if not found:
        raise NotFound(f"There is no summary {summary_id}; 'lcm-lab dag {conversation_id}' lists those there are.")
    node = found[0]
    if node.conversation_id != conversation_id:
        raise Refused(f"{summary_id} belongs to conversation {node.conversation_id}, not to {conversation_id}.")
    if node.kind != "condensed":
        raise Refused(
            f"{summary_id} is not condensed: it is a leaf (depth {node.depth}), made from messages. Only condensed "
            "summaries can be dissolved; to improve a leaf, rewrite it."
        )
    return node


def _place(reader: Reader, node: Node, items: tuple[Shown, ...]) -> int:
    at = [i for i, one in enumerate(items) if one.key == ("summary", node.summary_id)]
    if len(at) == 1:
        return at[0]
    if at:
        raise Refused(
            f"{node.summary_id} stands {len(at)} times in the context of conversation {node.conversation_id} "
            "(see 'lcm-lab check'); which one to dissolve cannot be told."
        )
    above = summaries.derived(reader, node.summary_id)
    where = f"it is part of {', '.join(above)}: dissolve that first" if above else "nothing uses it any more"
    raise Refused(f"{node.summary_id} is not in the active context of conversation {node.conversation_id}; {where}.")


def _sources(reader: Reader, node: Node, in_context: set[str], options: Options) -> _Found:
    edges = [one for one in summaries.edges(reader, node.conversation_id) if one.summary_id == node.summary_id]
    edges.sort(key=lambda one: (one.ordinal is None, one.ordinal or 0))
    ids = [one.parent_summary_id for one in edges]
    if not ids:
        raise Refused(f"{node.summary_id} has no sources in the store, so there is nothing to put in its place.")
    known = {one.summary_id: one for one in summaries.nodes(reader, ids=ids)}
    missing = [one for one in ids if one not in known]
    if missing and (options.purge or len(missing) == len(ids)):
        raise Refused(
            f"{len(missing)} of {len(ids)} sources of {node.summary_id} are missing ({', '.join(missing)}): what they "
            "told is in this summary alone. With --purge=false the rest can be put back and the summary kept."
        )
    foreign = [one for one in known.values() if one.conversation_id != node.conversation_id]
    if foreign:
        named = ", ".join(f"{one.summary_id} (conversation {one.conversation_id})" for one in foreign)
        raise Refused(f"Sources of {node.summary_id} belong to another conversation: {named}.")
    covered = _covered(reader, node, in_context | set(ids))
    restored, left_out = [], [f"source {one} is missing and stays out" for one in missing]
    for one in ids:
        if one in in_context:
            left_out.append(f"source {one} is in the context already and is not put in twice")
        elif one in covered:
            left_out.append(f"source {one} is in the context already as part of {covered[one]} and is not put in twice")
        elif one in known:
            restored.append(known[one])
    derived = tuple(summaries.derived(reader, node.summary_id))
    return _Found(node, tuple(edges), tuple(restored), tuple(left_out), derived)


def _covered(reader: Reader, node: Node, seen: set[str]) -> dict[str, str]:
    """Summaries that the model would see through another one than ``node``, and through which.

    Raises:
        Refused: what lies below the node was made from itself in a circle.
    """
    below: dict[str, list[str]] = {}
    for edge in summaries.edges(reader, node.conversation_id):
        below.setdefault(edge.summary_id, []).append(edge.parent_summary_id)
    for one in (node.summary_id, *_reach(below, node.summary_id)):
        if one in _reach(below, one):
            raise Refused(
                f"{one} was made from itself in a circle (see 'lcm-lab check'), so what to put in the place of "
                f"{node.summary_id} cannot be told."
            )
    found: dict[str, str] = {}
    for top in sorted(seen - {node.summary_id}):
        for one in _reach(below, top):
            found.setdefault(one, top)
    return found


def _reach(below: dict[str, list[str]], top: str) -> set[str]:
    """All that a summary was made from, on whatever level."""
    found: set[str] = set()
    waiting = list(below.get(top, ()))
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += below.get(one, ())
    return found


def _removal(reader: Reader, found: _Found, options: Options) -> list[Edit]:
    """The edits that delete the target, and hand its sources on where something was made from it."""
    target = found.node.summary_id
    if not options.purge:
        return []
    if found.derived and not options.splice:
        raise Refused(
            f"{', '.join(found.derived)} was made from {target} and would be left with a source that is gone. "
            "--splice hands its sources on to it; --purge=false keeps the summary."
        )
    spliced = [edit for derived in found.derived for edit in _splice(reader, found, derived)]
    row = images.image(reader, "summaries", target)
    edges = images.images(reader, "summary_parents", {"summary_id": target}, order=["ordinal"])
    links = images.images(reader, "summary_messages", {"summary_id": target}, order=["ordinal"])
    edits: list[Edit] = [*spliced, DeleteRows("summary_parents", tuple(edges))]
    if links:
        edits.append(DeleteRows("summary_messages", tuple(links)))
    return [*edits, DeleteRows("summaries", (row or {},))]


def _splice(reader: Reader, found: _Found, derived: str) -> list[Edit]:
    """Edges of a derived summary, with the target's sources in the target's place."""
    target = found.node.summary_id
    old = images.images(reader, "summary_parents", {"summary_id": derived}, order=["ordinal"])
    order: list[str] = []
    for row in old:
        one = str(row["parent_summary_id"])
        order += [edge.parent_summary_id for edge in found.edges] if one == target else [one]
    order = list(dict.fromkeys(order))
    nodes = {one.summary_id: one for one in summaries.nodes(reader, ids=[derived, *order])}
    missing = [one for one in order if one not in nodes]
    if missing:
        raise Refused(
            f"{derived} was made from {target} and from {', '.join(missing)}, which is missing: its sources cannot be "
            "set anew. Keep the summary with --purge=false."
        )
    deepest = max((nodes[one].depth for one in order if one in nodes), default=0)
    if derived in nodes and nodes[derived].depth != deepest + 1:
        raise Refused(
            f"{derived} (d{nodes[derived].depth}) was made from {target} alone at that depth; with the sources of "
            f"{target} below it it would have to be d{deepest + 1}. Keep the summary with --purge=false."
        )
    # A column we do not know stays with the edges that stay.
    kept = {str(row["parent_summary_id"]): row for row in old}
    new: list[images.Image] = [
        {**kept.get(one, {}), "summary_id": derived, "parent_summary_id": one, "ordinal": i}
        for i, one in enumerate(order)
    ]
    return [DeleteRows("summary_parents", tuple(old)), InsertRows("summary_parents", tuple(new))]


def _facts(found: _Found, options: Options, before: Shown, behind: int) -> tuple[tuple[str, str], ...]:
    node = found.node
    total = sum(one.tokens for one in found.restored)
    shift = len(found.restored) - 1
    return (
        ("target", f"{node.summary_id} [{node.label}, {node.tokens:,} tokens], context ordinal {node.in_context}"),
        ("tokens", f"{before.tokens:,} -> {total:,} ({total - before.tokens:+,})"),
        ("ordinal shift", f"{behind:,} items behind it move by {shift:+d}" if shift else "none"),
        ("sources", f"{len(found.restored)} of {len(found.edges)} are put back"),
        *(
            (f"source {i}", f"{one.summary_id} [{one.label}, {one.tokens:,} tokens] {one.preview[:80]}")
            for i, one in enumerate(found.restored)
        ),
        ("the summary itself", "is deleted" if options.purge else "stays in the store, outside of the context"),
    )


def _said(found: _Found, options: Options) -> list[str]:
    said = [one[0].upper() + one[1:] + "." for one in found.left_out]
    if found.derived and options.purge:
        said.append(f"The sources are handed on to {', '.join(found.derived)}, whose text stays as it is.")
    if found.derived and not options.purge:
        said.append(f"{', '.join(found.derived)} was made from it and keeps it as a source.")
    return said
