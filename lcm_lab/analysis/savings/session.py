"""A session as numbers: what entered the context with which request, and what the API reported about it.

Idea: a policy decides about pieces of the context, and needs their sizes, classes and order, not their words. So a
transcript is read once into plain numbers, every policy is replayed from those, and the same numbers can be committed
and recomputed by anybody without the texts.

Invariant: an item enters the context with exactly one request (``entry``), items stand in the order in which they
entered, and a request's prompt is what was there before it plus the items that enter with it. Checked by
``tests/analysis/savings/test_reading.py``.
"""

from dataclasses import dataclass, field
from typing import Final

CLASSES: Final = ("user", "assistant", "thinking", "tool input", "tool output", "meta", "image", "summary")
"""What an item can be; ``meta`` is what the client adds in the user's name, ``summary`` the client's own summary."""

OUTPUT: Final = frozenset({"assistant", "thinking", "tool input"})
"""Classes that the model wrote: they are billed as output once and enter the context with the next request."""

PICTURE: Final = 1_500
"""Tokens of one picture, whatever its size; as measured on API sessions, pictures are rare in them."""


@dataclass(frozen=True, slots=True)
class Item:
    """One text in the context. ``estimate`` is by the plain rule (characters by kind), before any calibration.

    ``entry`` is the index of the first request whose prompt holds it, ``made`` that of the request whose answer it is
    (-1 where the model did not write it). ``reads``, ``edits`` number the file a call reads or changes; ``call``
    numbers the tool call that a result belongs to.
    """

    kind: str
    estimate: int
    pieces: int
    entry: int
    made: int = -1
    turn: int = 0
    call: int = -1
    reads: int = -1
    edits: int = -1
    stretch: int = 0
    """How many compactions and new beginnings stand before it."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the model, with the usage that the API reported; ``at`` is in seconds since the session began.

    ``boundary``: the client compacted before it. ``fresh``: the conversation began anew before it (a new root).
    ``resumed``: the client was started again before it, which takes earlier thinking out of the context.
    """

    at: float
    turn: int
    model: str
    prompt: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    uncached: int = 0
    output: int = 0
    boundary: bool = False
    fresh: bool = False
    resumed: bool = False
    before: int = 0
    """Size of the context before the compaction, as the client recorded it."""

    manual: bool = False
    """The user asked for the compaction."""

    @property
    def has_usage(self) -> bool:
        """Whether the API reported its size."""
        return self.prompt > 0


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """What the hooks would have had to say before a request: made by the hooks' own code from the transcript so far.

    ``block`` is the size of the block as the hooks lay it out; ``lines`` the size of L1 and of the L2 that is given
    back, by turn.
    """

    request: int
    block: int
    lines: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A word that the model used again after a cut and had from before it.

    ``where`` are the items it stood in before the reuse, the client's own summaries among them; ``blocks`` the memory
    points whose block holds it, ``lines`` the turns whose L1 or L2 hold it; ``stored`` says that L3 does.
    ``survivor``: the client had compacted by then, so the model could only use what had survived, or been read anew.
    """

    kind: str
    cut: int
    origin: int
    reuse: int
    where: tuple[int, ...]
    blocks: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    stored: bool = False
    survivor: bool = False


@dataclass(frozen=True, slots=True)
class Layers:
    """L1 and L2 of a whole session, as its memory ends up: tokens by the plain rule, and the number of lines."""

    turns: int = 0
    l1: int = 0
    l2: int = 0
    l2_lines: int = 0
    raw: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """One session as numbers."""

    name: str
    items: tuple[Item, ...]
    requests: tuple[Request, ...]
    memory: tuple[MemoryPoint, ...] = ()
    references: tuple[Reference, ...] = ()
    layers: Layers = field(default_factory=Layers)
    client: str = ""
    cut_by_client: int = 0
    """Tool results that stand in the context cut by the client.

    As the transcript shows them, or by us where it does not.
    """
    bad_lines: int = 0
    notes: tuple[str, ...] = ()

    @property
    def turns(self) -> int:
        """The number of turns that have a request."""
        return len({one.turn for one in self.requests if one.turn})

    @property
    def boundaries(self) -> tuple[int, ...]:
        """The requests before which the client compacted."""
        return tuple(i for i, one in enumerate(self.requests) if one.boundary)

    @property
    def one_hour(self) -> bool:
        """Whether its cache was written for one hour, as the API reported."""
        return sum(one.write_1h for one in self.requests) > sum(one.write_5m for one in self.requests)

    def entering(self) -> list[list[int]]:
        """For each request the items that enter with it."""
        found: list[list[int]] = [[] for _ in self.requests]
        for i, item in enumerate(self.items):
            if item.entry < len(found):
                found[item.entry].append(i)
        return found
