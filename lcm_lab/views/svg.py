"""Small pictures made of text: the strip of a context, the levels of a DAG, bars; a few KB each, no kernel needed.

Each is an ``<img>`` that holds its own SVG: a code host or an untrusted notebook strips bare ``<svg>`` and keeps those,
and nothing in one can run. The invariant: what colour says is said in words, too (legend, title, ``alt``); whatever the
store holds, a picture is well-formed XML and stays under :data:`LIMIT`. Checked by ``tests/views/test_svg.py``.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final

from lcm_lab.analysis.draw import palette

LIMIT: Final = 12_000
"""Bytes of a picture at most, as it stands in the page."""

WIDTH: Final = 720
_BANDS: Final = 48
_DOTS: Final = 38
_ROWS: Final = 12
_FONT: Final = 'font-family="sans-serif" font-size="11"'


def strip(parts: Iterable[tuple[str, int]], *, title: str) -> str:
    """What follows what, as wide as its tokens: (kind, tokens) in order, neighbours of a kind put together."""
    bands = _merged(parts)
    total = sum(size for _, size in bands)
    if not total:
        return ""
    found, x = [], 0.0
    for kind, size in bands:
        width = WIDTH * size / total
        name = _words(f"{kind}, {size:,} tokens")
        found.append(
            f'<rect x="{x:.1f}" y="18" width="{max(width, 0.4):.1f}" height="26" fill="{palette.kind_colour(kind)}">'
            f"<title>{name}</title></rect>"
        )
        if width > 8 * len(kind):
            ink = palette.ink_on(palette.kind_colour(kind))
            middle = x + width / 2
            found.append(f'<text x="{middle:.1f}" y="35" text-anchor="middle" fill="{ink}">{_words(kind)}</text>')
        x += width
    sums: dict[str, int] = {}
    for kind, size in bands:
        sums[kind] = sums.get(kind, 0) + size
    ranked = sorted(sums.items(), key=lambda one: -one[1])[:_ROWS]
    legend, height = _legend([(palette.kind_colour(kind), f"{kind} {size:,}") for kind, size in ranked], y=60)
    return _image([*found, *legend], height=height, title=title)


def levels(counts: Mapping[int, int], marked: Mapping[int, int], *, title: str) -> str:
    """The levels of a DAG, deepest on top: a dot for each summary, filled dark where it is in context."""
    rows = sorted(counts, reverse=True)[:_ROWS]
    if not rows:
        return ""
    found = []
    for at, depth in enumerate(rows):
        y = 30 + 18 * at
        dots = min(counts[depth], _DOTS)
        dark = min(marked.get(depth, 0), dots)
        found.append(f'<text x="0" y="{y + 4}" fill="{palette.INK}">{"leaf" if depth == 0 else f"d{depth}"}</text>')
        found += [_dots(dark, y, palette.INK, 12), _dots(dots, y, palette.depth_colour(depth), 8)]
        more = f"{counts[depth]:,}, {marked.get(depth, 0):,} in context"
        found.append(f'<text x="{50 + 14 * dots}" y="{y + 4}" fill="{palette.INK}">{more}</text>')
    return _image(found, height=34 + 18 * len(rows), title=title)


def bars(rows: Sequence[tuple[str, int]], *, title: str) -> str:
    """A bar for each (name, number), the largest as wide as there is room."""
    shown = list(rows)[:_ROWS]
    largest = max((size for _, size in shown), default=0)
    if largest <= 0:
        return ""
    found = []
    for at, (name, size) in enumerate(shown):
        y = 22 + 20 * at
        width = max(0.5, 400 * max(size, 0) / largest)
        found.append(f'<text x="190" y="{y + 12}" text-anchor="end" fill="{palette.INK}">{_words(name)}</text>')
        colour = palette.group_colour(name)
        found.append(
            f'<rect x="196" y="{y}" width="{width:.1f}" height="15" fill="{colour}" stroke="{palette.FAINT}"/>'
        )
        found.append(f'<text x="{202 + width:.1f}" y="{y + 12}" fill="{palette.INK}">{size:,}</text>')
    return _image(found, height=26 + 20 * len(shown), title=title)


def _dots(count: int, y: int, colour: str, size: int) -> str:
    """A row of dots, as one line of no length each."""
    if not count:
        return ""
    line = f'stroke="{colour}" stroke-width="{size}" stroke-linecap="round"'
    return f'<path d="M46 {y}h0{"m14 0h0" * (count - 1)}" {line}/>'


def _merged(parts: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Neighbours of one kind as one band; the smallest go into their neighbour until few enough are left."""
    bands: list[tuple[str, int]] = []
    for kind, size in parts:
        if size <= 0:
            continue
        if bands and bands[-1][0] == kind:
            bands[-1] = (kind, bands[-1][1] + size)
        else:
            bands.append((kind, size))
    while len(bands) > _BANDS:
        # In steps of a whole pass: a context of ten thousand items would take ten thousand passes one by one.
        joined: list[tuple[str, int]] = []
        for first, second in zip(bands[::2], [*bands[1::2], ("", 0)], strict=False):
            larger = max(first, second, key=lambda one: one[1])
            joined.append((larger[0], first[1] + second[1]))
        bands = joined
    return bands


def _legend(entries: Sequence[tuple[str, str]], *, y: int) -> tuple[list[str], int]:
    found, x = [], 0
    for colour, text in entries:
        width = 22 + 7 * len(text)
        if x and x + width > WIDTH:
            x, y = 0, y + 18
        box = f'width="10" height="10" fill="{colour}" stroke="{palette.FAINT}"'
        found.append(f'<rect x="{x}" y="{y - 9}" {box}/><text x="{x + 14}" y="{y}">{_words(text)}</text>')
        x += width
    return found, y + 8


def _image(shapes: Iterable[str], *, height: int, title: str) -> str:
    said = _words(title, size=160)
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'{_FONT}><rect width="100%" height="100%" fill="{palette.PAPER}"/>'
        f'<text x="0" y="12" font-weight="bold" fill="{palette.INK}">{said}</text>{"".join(shapes)}</svg>'
    )
    data = b64encode(drawn.encode()).decode()
    return (
        f'<div><img alt="{said}" style="max-width:100%;height:auto" width="{WIDTH}" height="{height}" '
        f'src="data:image/svg+xml;base64,{data}"></div>'
    )


def _words(text: str, *, size: int = 40) -> str:
    return escape(palette.visible(text, size=size)).replace("$", "&#36;")
