"""The context while a session is replayed: pieces in their order, and how much of their beginning stayed as it was.

Idea: what a prompt cache can give back is the unchanged beginning, so every change says from where on it changes.
Invariant: ``total`` is the sum of the pieces; ``kept`` never exceeds what was sent with the request before. Checked by
``tests/analysis/savings/test_by_hand.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lcm_lab.analysis.savings.session import CLASSES

SYSTEM: Final = "system"
CLIENT: Final = "client"
MEMORY: Final = "memory"
KINDS: Final = (SYSTEM, *CLASSES, CLIENT, MEMORY)
"""Classes of the context.

The session's own, the system prompt with its tools, what the client puts back after a compaction beside its summary,
and what a memory gives (the block of the hooks, summaries of LCM).
"""


@dataclass(slots=True, eq=False)
class Piece:
    """One piece of the context; ``item`` is its place in the session, -1 where it is none of the session's."""

    kind: str
    tokens: int
    item: int = -1
    turn: int = 0
    message: int = -1
    cleared: bool = False
    depth: int = -1


class Context:
    """What the next request would send."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.total = 0
        self.kept = 0
        """Tokens of the beginning that are as they were in the request before."""
        self.point: int | None = None
        """The memory point whose block is in the context."""
        self.folded: frozenset[int] = frozenset()
        """Turns that are there as L1 and L2 only; turn 0 is a history that is in no file."""
        self.unseen = 0
        """Tokens of that history, once it is folded."""
        self._items: set[int] | None = None
        self._classes = dict.fromkeys(KINDS, 0)

    def add(self, piece: Piece) -> None:
        """Put a piece at the end."""
        self.pieces.append(piece)
        self.total += piece.tokens
        self._classes[piece.kind] += piece.tokens
        if self._items is not None and piece.item >= 0:
            self._items.add(piece.item)

    def put(self, pieces: Iterable[Piece]) -> None:
        """Have these pieces instead; what both begin with counts as kept."""
        new = list(pieces)
        same = 0
        for old, one in zip(self.pieces, new, strict=False):
            if old is not one:
                break
            same += one.tokens
        self.pieces, self.total = new, sum(one.tokens for one in new)
        self.kept = min(self.kept, same)
        self._items = None
        self._classes = dict.fromkeys(KINDS, 0)
        for one in new:
            self._classes[one.kind] += one.tokens

    def clear(self, places: Iterable[int], tokens: int) -> None:
        """Clear the texts of the pieces at these places; a mark of so many tokens stays."""
        chosen = sorted(places)
        if not chosen:
            return
        self.kept = min(self.kept, sum(one.tokens for one in self.pieces[: chosen[0]]))
        for place in chosen:
            piece = self.pieces[place]
            less = max(0, piece.tokens - tokens)
            self.total -= less
            self._classes[piece.kind] -= less
            piece.tokens = min(piece.tokens, tokens)
            piece.cleared = True
            if self._items is not None:
                self._items.discard(piece.item)

    def sent(self) -> None:
        """The context as it is now was sent."""
        self.kept = self.total

    @property
    def items(self) -> set[int]:
        """Places of the session's items whose text is in the context."""
        if self._items is None:
            self._items = {one.item for one in self.pieces if one.item >= 0 and not one.cleared}
        return self._items

    def by_class(self) -> tuple[int, ...]:
        """Tokens of each class, in the order of :data:`KINDS`."""
        return tuple(self._classes.values())
