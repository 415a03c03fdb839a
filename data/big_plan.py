"""How a big store is divided: messages, summaries and context items over conversations, exactly to the totals.

Invariant: every leaf has messages, every condensed node has sources of one depth, nothing feeds two nodes, and the sums
over all conversations are the numbers asked for. Pure arithmetic, no chance and no store.
"""

from dataclasses import dataclass
from typing import Final

from lcm_lab.errors import UsageError
from lcm_lab.tokens import shares

FAN_IN: Final = 8
"""Sources of a condensed node."""


@dataclass(frozen=True, slots=True)
class Node:
    """A summary: the messages of a leaf (positions in the conversation), or the sources (positions in the list)."""

    depth: int
    messages: range
    sources: range


@dataclass(slots=True)
class PlannedConversation:
    """One conversation: its messages, its summaries bottom-up, and its context: top summaries, then last messages."""

    messages: int
    nodes: list[Node]
    tops: list[int]
    shown: int


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole store."""

    conversations: list[PlannedConversation]


def plan_store(*, messages: int, summaries: int, context_items: int, conversations: int, largest: int) -> Plan:
    """Divide the totals.

    Raises:
        UsageError: they do not go together; the message says which.
    """
    if min(messages, summaries, context_items, largest) < 0 or conversations < 1:
        raise UsageError("Numbers must not be negative, and there has to be a conversation.")
    if largest > messages or (messages and conversations == 1 and largest not in (0, messages)):
        raise UsageError(f"The largest conversation cannot have {largest:,} of {messages:,} messages.")
    if summaries > messages:
        raise UsageError(f"{summaries:,} summaries need at least as many messages, not {messages:,}.")
    sizes = _sizes(messages, conversations, largest)
    trees = [_Tree(count) for count in shares(summaries, sizes)]
    tops = sum(len(tree.tops) for tree in trees)
    if context_items > messages + tops:
        raise UsageError(f"At most {messages + tops:,} context items fit these messages and summaries.")
    covered = _spread(messages + tops - context_items, [tree.leaves for tree in trees], sizes)
    planned = [
        PlannedConversation(size, tree.nodes(part), tree.tops, size - part)
        for size, tree, part in zip(sizes, trees, covered, strict=True)
    ]
    _fit(planned, context_items)
    return Plan(planned)


def _sizes(messages: int, conversations: int, largest: int) -> list[int]:
    """Messages of each conversation: a long tail, the largest first."""
    if largest:
        return [largest, *_sizes(messages - largest, conversations - 1, 0)] if conversations > 1 else [largest]
    floor = 1 if messages >= conversations else 0
    weights = [int(1e9 / (place + 20) ** 0.9) for place in range(conversations)]
    return [floor + share for share in shares(messages - floor * conversations, weights)]


class _Tree:
    """The shape of one conversation's summaries: leaves, and over each full group of eight a condensed node."""

    def __init__(self, count: int) -> None:
        self.leaves = 0
        while _with_condensed(self.leaves) < count:
            self.leaves += 1
        self.sources: list[tuple[int, range]] = []
        start, level, depth = 0, self.leaves, 0
        unused: list[range] = []
        while level:
            depth += 1
            # The last group may go without its condensed node, where the total says so.
            groups = min(level // FAN_IN, count - self.leaves - len(self.sources))
            self.sources += [(depth, range(start + FAN_IN * at, start + FAN_IN * (at + 1))) for at in range(groups)]
            unused.append(range(start + FAN_IN * groups, start + level))
            start, level = start + level, groups
        self.tops = [place for level_left in reversed(unused) for place in level_left]

    def nodes(self, covered: int) -> list[Node]:
        """The summaries, with ``covered`` messages divided among the leaves."""
        found, first = [], 0
        for size in shares(covered, [1] * self.leaves):
            found.append(Node(0, range(first, first + size), range(0)))
            first += size
        return found + [Node(depth, range(0), sources) for depth, sources in self.sources]


def _with_condensed(leaves: int) -> int:
    total, level = leaves, leaves
    while level:
        level //= FAN_IN
        total += level
    return total


def _spread(total: int, least: list[int], most: list[int]) -> list[int]:
    """Divide the covered messages: each conversation at least one a leaf, none without leaves, none beyond its size."""
    parts = list(least)
    left = total - sum(parts)
    while left > 0:
        open_places = [at for at, low in enumerate(least) if low and parts[at] < most[at]]
        if not open_places:
            break
        for at, share in zip(open_places, shares(left, [least[at] for at in open_places]), strict=True):
            parts[at] += min(share, most[at] - parts[at])
        left = total - sum(parts)
    return parts


def _fit(planned: list[PlannedConversation], context_items: int) -> None:
    """Make the contexts add up: show covered messages as well where items lack, and leave the oldest out where not."""
    differ = context_items - sum(len(one.tops) + one.shown for one in planned)
    for one in planned:
        if differ > 0:
            more = min(differ, one.messages - one.shown)
            one.shown, differ = one.shown + more, differ - more
        elif differ < 0:
            less = min(-differ, one.shown)
            one.shown, differ = one.shown - less, differ + less
    for one in planned:
        # Only when fewer items are asked for than there are top summaries.
        less = min(max(0, -differ), len(one.tops))
        one.tops, differ = one.tops[less:], differ + less
