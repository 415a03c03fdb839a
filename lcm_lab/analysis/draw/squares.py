"""Areas in proportion to numbers, as square as they come: the treemap of the still.

The squarified layout of Bruls, Huizing and van Wijk: rows are filled along the shorter side while that makes the worst
shape better. The invariant: areas are in proportion, and together they fill the box. Checked by
``tests/analysis/test_draw_budget.py``.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Box(NamedTuple):
    """A rectangle: its corner, width and height."""

    x: float
    y: float
    width: float
    height: float


def squares(sizes: Sequence[float], box: Box) -> list[Box]:
    """A box for each of ``sizes`` (all above zero), in their order, filling ``box``."""
    whole = sum(sizes)
    if not sizes or whole <= 0:
        return []
    scale = box.width * box.height / whole
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    found: dict[int, Box] = {}
    rest = box
    row: list[int] = []
    for i in order:
        side = min(rest.width, rest.height)
        areas = [sizes[one] * scale for one in row]
        if row and _worst([*areas, sizes[i] * scale], side) > _worst(areas, side):
            rest = _fill(row, areas, rest, found)
            row = []
        row.append(i)
    _fill(row, [sizes[one] * scale for one in row], rest, found)
    return [found[i] for i in range(len(sizes))]


def _worst(areas: Sequence[float], side: float) -> float:
    whole = sum(areas)
    return max(max(side * side * area / whole**2, whole**2 / (side * side * area)) for area in areas) if side else 0.0


def _fill(row: Sequence[int], areas: Sequence[float], rest: Box, found: dict[int, Box]) -> Box:
    """Lays a row along the shorter side of ``rest``; what is left of it."""
    whole = sum(areas)
    if rest.width >= rest.height:
        width = whole / rest.height if rest.height else 0.0
        y = rest.y
        for i, area in zip(row, areas, strict=True):
            height = area / width if width else 0.0
            found[i] = Box(rest.x, y, width, height)
            y += height
        return Box(rest.x + width, rest.y, max(0.0, rest.width - width), rest.height)
    height = whole / rest.width if rest.width else 0.0
    x = rest.x
    for i, area in zip(row, areas, strict=True):
        width = area / height if height else 0.0
        found[i] = Box(x, rest.y, width, height)
        x += width
    return Box(rest.x, rest.y + height, rest.width, max(0.0, rest.height - height))
