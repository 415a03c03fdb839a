"""The context of a conversation as values: items, the pieces their tokens split into, totals.

Made by :mod:`lcm_lab.analysis.assembly`; every view of a context is a view of these.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lcm_lab.store.connect import Note
from lcm_lab.store.page import Page, slice_page

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure


@dataclass(frozen=True, slots=True)
class Piece:
    """A share of an item's tokens that belongs to one budget class."""

    group: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Item:
    """One context row as the model would get it.

    ``kind`` is the role of a message, ``leaf`` or ``dN`` of a summary, ``focus`` for a focus brief, ``missing`` for a
    row that points to nothing. ``tokens`` is the text alone, by ``rule``; ``wrapper_tokens`` is what the XML around it
    adds.
    ``dropped`` says why assembly would leave the item out (None: it is sent); ``pieces`` add up to ``tokens``.
    """

    ordinal: int
    kind: str
    item_id: str
    message_id: int | None
    summary_id: str | None
    depth: int | None
    tokens: int
    rule: str
    wrapper_tokens: int
    preview: str
    created_at: str | None
    in_tail: bool = False
    dropped: str | None = None
    covered_by: tuple[str, ...] = ()
    anomalies: tuple[str, ...] = ()
    noise: str | None = None
    pieces: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one conversation, every stored row in order.

    ``window`` and ``compact_at`` are the budget line, or None where none is set. ``notes`` are values that could not be
    read as declared.
    """

    conversation_id: int
    items: tuple[Item, ...]
    fresh_tail: int
    window: int | None
    compact_at: float
    zone: str
    focus_brief: str | None
    notes: tuple[Note, ...] = field(default=())

    def page(self, *, limit: int, cursor: str | None) -> "ContextPage":
        """A page of the items; ``limit`` 0 gives all.

        Raises:
            UsageError: ``cursor`` is not the ``next`` of a page.
        """
        return ContextPage(self, slice_page(self.items, limit=limit, cursor=cursor))

    def figure(self) -> "Figure":
        """The context as one strip in the order the model reads it, as wide as its tokens."""
        from lcm_lab.analysis.draw.context_strip import context_strip

        return context_strip(self)

    @property
    def sent(self) -> tuple[Item, ...]:
        """The items the model would get."""
        return tuple(item for item in self.items if item.dropped is None)

    @property
    def content_tokens(self) -> int:
        """Tokens of the texts that are sent, wrappers left out."""
        return sum(item.tokens for item in self.sent)

    @property
    def wrapper_tokens(self) -> int:
        """Tokens that the XML around summaries and the focus brief adds."""
        return sum(item.wrapper_tokens for item in self.sent)

    @property
    def total_tokens(self) -> int:
        """Tokens of all that is sent, wrappers included."""
        return self.content_tokens + self.wrapper_tokens


@dataclass(frozen=True, slots=True)
class ContextPage:
    """Some items of a context, and the context whose totals are shown with them."""

    whole: Context
    page: Page[Item]
