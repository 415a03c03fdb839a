"""Rules about the context: what lies in it, in which order, and whether it says anything twice (C1 to C8, X1)."""

from collections.abc import Iterator
from typing import Final

from lcm_lab.analysis.health.facts import TEMPORARY, Facts
from lcm_lab.analysis.health.finding import Finding, Severity
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store import checks
from lcm_lab.store.checks import Item

_TABLE: Final = "context_items"
_NO_EFFECT: Final = "The model never sees it; remove the item from the context."


def ordinals(facts: Facts) -> Iterator[Finding]:
    """C1: every ordinal is a whole number of 0 and up, below the temporary range, and used once. C2: no gaps."""
    seen: dict[object, int] = {}
    for item in facts.items:
        seen[item.ordinal] = seen.get(item.ordinal, 0) + 1
        if not isinstance(item.ordinal, int):
            text = f"context item {item.key} has {item.ordinal!r} where its place in the order should be"
        elif item.ordinal < 0 or item.ordinal >= TEMPORARY:
            text = f"context item {item.key} has a temporary ordinal: a renumbering was interrupted"
        elif seen[item.ordinal] == 2:
            text = (
                f"ordinal {item.ordinal} of conversation {facts.conversation_id} is used by more than one context item"
            )
        else:
            continue
        advice = "Restore a backup from before the interrupted write, or let the plugin compact once: it renumbers all."
        yield Finding("C1-bad-ordinal", "error", _TABLE, (item.key,), facts.conversation_id, text, advice)
    gaps = facts.gaps()
    if gaps:
        spans = [str(first) if first == last else f"{first}-{last}" for first, last, _ in gaps]
        text = (
            f"{counted(len(gaps), 'gap')} in the context of conversation {facts.conversation_id}: unused {some(spans)}"
        )
        advice = "Nothing to do: gaps are left by resets and removals, and the next compaction closes them."
        yield Finding("C2-gap", "info", _TABLE, tuple(key for *_, key in gaps), facts.conversation_id, text, advice)


def targets(facts: Facts) -> Iterator[Finding]:
    """C3: an item names one row, of its own type, that is there. C4: in the same conversation."""
    for item in facts.items:
        named = [value for value in (item.message_id, item.summary_id) if value is not None]
        fits = item.item_type in ("message", "summary") and len(named) == 1
        target = item.message_id if item.item_type == "message" else item.summary_id
        if not fits or target is None:
            text = (
                f"context item {item.key} is of type {item.item_type!r} with message {item.message_id!r} and summary "
                f"{item.summary_id!r}: it must name exactly one row of its type"
            )
            yield Finding("C3-bad-item", "error", _TABLE, (item.key,), facts.conversation_id, text, _NO_EFFECT)
        elif not item.resolves:
            text = f"context item {item.key} points to {item.item_type} {target}, which does not exist"
            yield Finding("C3-dangling-item", "error", _TABLE, (item.key,), facts.conversation_id, text, _NO_EFFECT)
        else:
            owner = item.message_owner if item.item_type == "message" else item.summary_owner
            if owner != facts.conversation_id:
                text = f"context item {item.key} points to {item.item_type} {target} of conversation {owner}"
                advice = f"Remove the item, or transplant conversation {owner} to copy what is needed."
                yield Finding("C4-foreign-item", "error", _TABLE, (item.key,), facts.conversation_id, text, advice)


def repeated(facts: Facts) -> Iterator[Finding]:
    """C5: nothing is in the context twice. The finding names the second place and those after it."""
    places: dict[tuple[object, object], list[Item]] = {}
    for item in facts.items:
        if item.resolves:
            target = item.message_id if item.item_type == "message" else item.summary_id
            places.setdefault((item.item_type, target), []).append(item)
    for (kind, target), found in places.items():
        if len(found) > 1:
            ids = tuple(item.key for item in found[1:])
            cost = _cost(facts, found[0]) * (len(found) - 1)
            text = (
                f"{kind} {target} is in the context {len(found)} times, at {some(item.key for item in found)}: "
                f"{cost:,} tokens are paid again"
            )
            advice = "Keep the first item and remove the others."
            yield Finding("C5-item-twice", "error", _TABLE, ids, facts.conversation_id, text, advice)


def covered(facts: Facts) -> Iterator[Finding]:
    """C6: nothing is in the context beside a summary that was made from it. The finding names the covered item."""
    sources = facts.sources()
    by_message: dict[object, tuple[str, str]] = {}
    by_summary: dict[str, str] = {}
    for root in dict.fromkeys(
        str(item.summary_id) for item in facts.items if item.item_type == "summary" and item.resolves
    ):
        below = _below(sources, root)
        for node in below:
            for link in facts.links.get(node, ()):
                by_message.setdefault(link.message_id, (root, node))
        for node in below - {root}:
            by_summary.setdefault(node, root)
    for item in facts.items:
        if not item.resolves:
            continue
        if item.item_type == "message" and item.message_id in by_message:
            root, leaf = by_message[item.message_id]
            way = root if root == leaf else f"{leaf}, which is inside {root}"
            name = f"message {item.message_id}"
        elif item.item_type == "summary" and item.summary_id in by_summary:
            way, name = by_summary[item.summary_id], f"summary {item.summary_id}"
        else:
            continue
        text = (
            f"{name} at {item.key} is already covered by {way} in the same context: {_cost(facts, item):,} tokens are "
            "paid twice"
        )
        advice = "Remove the covered item, or dissolve the summary that covers it; nothing is removed by itself."
        yield Finding("C6-covered-item", "error", _TABLE, (item.key,), facts.conversation_id, text, advice)


def order(facts: Facts) -> Iterator[Finding]:
    """C7: summaries come before messages. C8: along the summaries the depth never rises. Resolvable items only."""
    in_front: list[int] = []
    behind: list[Item] = []
    last: Item | None = None
    for item in facts.items:
        if not item.resolves:
            continue
        if item.item_type == "message":
            in_front.append(item.message_id)
            continue
        if in_front:
            behind.append(item)
        if last is not None and isinstance(item.depth, int) and isinstance(last.depth, int) and item.depth > last.depth:
            text = (
                f"summary {item.summary_id} of depth {item.depth} at {item.key} comes after {last.summary_id} of depth "
                f"{last.depth}: an older, wider text behind a newer, narrower one"
            )
            advice = "Look at the order in the context view; a transplant or a dissolve by hand can leave this."
            yield Finding("C8-depth-rises", "warning", _TABLE, (item.key,), facts.conversation_id, text, advice)
        last = item
    if behind:
        yield from _behind(facts, behind, in_front)


def unreachable(facts: Facts) -> Iterator[Finding]:
    """X1: a message older than the oldest one in the context is covered by some summary; one finding for all."""
    held = {item.message_id for item in facts.items if item.item_type == "message"}
    oldest = min((item.seq for item in facts.items if item.item_type == "message" and isinstance(item.seq, int)
                  and item.message_owner == facts.conversation_id), default=None)  # fmt: skip
    if oldest is None:
        return
    linked = {link.message_id for links in facts.links.values() for link in links}
    linked.update(link.message_id for link in facts.links_in)
    lost = [
        one
        for key, one in facts.messages.items()
        if isinstance(one.seq, int) and one.seq < oldest and key not in held and key not in linked
    ]
    if not lost:
        return
    reset = facts.soft_reset()
    severity: Severity = "info" if reset else "warning"
    total = sum(one.tokens for one in lost)
    text = (
        f"{counted(len(lost), 'message')} of conversation {facts.conversation_id} ({total:,} tokens) from before its "
        "context belong to no summary, so no expansion leads to them"
        + (f"; legal here, since {reset}" if reset else "")
    )
    advice = "They are still in the store: read them in the conversation view."
    ids = tuple(str(one.message_id) for one in lost)
    yield Finding("X1-uncovered-messages", severity, "messages", ids, facts.conversation_id, text, advice)


def _behind(facts: Facts, behind: list[Item], in_front: list[int]) -> Iterator[Finding]:
    # A chunk without any text is skipped by the plugin and stays in front of the summaries: usual, nothing to do.
    says_something = set(in_front) - checks.blank_messages(facts.reader, in_front)
    for item in behind:
        before = [one for one in facts.items if one.item_type == "message" and _comes_before(one, item)]
        severity: Severity = "warning" if any(one.message_id in says_something for one in before) else "info"
        text = f"summary {item.summary_id} at {item.key} comes after {counted(len(before), 'message')} of the context"
        advice = "Look at the order in the context view; the model reads the context from top to bottom."
        yield Finding("C7-summary-behind", severity, _TABLE, (item.key,), facts.conversation_id, text, advice)


def _comes_before(one: Item, other: Item) -> bool:
    return (
        one.resolves and isinstance(one.ordinal, int) and isinstance(other.ordinal, int) and one.ordinal < other.ordinal
    )


def _below(sources: dict[str, list[checks.EdgeFact]], root: str) -> set[str]:
    found, pending = {root}, [root]
    while pending:
        for edge in sources.get(pending.pop(), ()):
            if edge.source not in found:
                found.add(edge.source)
                pending.append(edge.source)
    return found


def _cost(facts: Facts, item: Item) -> int:
    if item.item_type == "message":
        message = facts.messages.get(item.message_id)
        return 0 if message is None else message.tokens
    node = facts.nodes.get(item.summary_id)
    return 0 if node is None else node.tokens
