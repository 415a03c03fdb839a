"""Where the items of a context stand on a strip as wide as their tokens.

An item too small to see gets a least width, so the scale bends there; :func:`place` knows where each token stands all
the same. The invariant: slots touch without overlap, and a later token never stands further left. Checked by
``tests/analysis/test_draw_context.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from lcm_lab.analysis.context import Item


@dataclass(frozen=True, slots=True)
class Slot:
    """A stretch of the strip: its item (or neighbours put together), from where to where, and where the wrapper starts.

    ``before`` is the tokens of all that stands left of it, the exact number at ``start``.
    """

    items: tuple[Item, ...]
    before: int
    start: float
    wrapper: float
    end: float

    @property
    def first(self) -> Item:
        """The item, or the first of several."""
        return self.items[0]

    @property
    def tokens(self) -> int:
        """Tokens that are sent, wrapper included."""
        return sum(item.tokens + item.wrapper_tokens for item in self.items if item.dropped is None)


def lay(items: Sequence[Item], *, limit: int) -> list[Slot]:
    """The slots of ``items`` from left to right."""
    size = -(-len(items) // max(1, limit))
    groups = [tuple(items[i : i + size]) for i in range(0, len(items), size)]
    total = sum(item.tokens + item.wrapper_tokens for item in items if item.dropped is None)
    least = max(total, 1) * min(0.004, 0.4 / len(groups))
    slots = []
    start, before = 0.0, 0
    for group in groups:
        text = sum(item.tokens for item in group if item.dropped is None)
        wrapper = sum(item.wrapper_tokens for item in group if item.dropped is None)
        width = max(float(text + wrapper), least)
        split = start + width * text / (text + wrapper) if text + wrapper else start + width
        slots.append(Slot(group, before, start, split, start + width))
        start += width
        before += text + wrapper
    return slots


def place(slots: Sequence[Slot], at: float) -> float:
    """Where the strip has the token ``at``; beyond its end the scale runs on straight."""
    for slot in slots:
        if slot.tokens and at <= slot.before + slot.tokens:
            return slot.start + (slot.end - slot.start) * max(0.0, at - slot.before) / slot.tokens
    whole = slots[-1].before + slots[-1].tokens if slots else 0
    return (slots[-1].end if slots else 0.0) + at - whole


def ticks(slots: Sequence[Slot], right: float) -> list[int]:
    """Round token numbers; those that would stand on one another are left out."""
    end = max(1, slots[-1].before + slots[-1].tokens + max(0, round(right - slots[-1].end)))
    rough = end / 8
    base = 10 ** floor(log10(rough)) if rough >= 1 else 1
    step = max(1, next(int(base * factor) for factor in (1, 2, 5, 10) if base * factor >= rough))
    found: list[int] = []
    for at in range(0, end + 1, step):
        if not found or place(slots, at) - place(slots, found[-1]) > right / 16:
            found.append(at)
    return found
