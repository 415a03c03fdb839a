"""Small pictures for reviews: a context before and after, and how far a queue has come.

Each is an image that holds its own SVG, so that a saved notebook shows it anywhere and nothing in it can run. What
colour says is said in words, too. Checked by ``tests/views/test_strips.py``.
"""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from lcm_lab.analysis.draw import palette
from lcm_lab.plain import safe
from lcm_lab.repairs.plan import ContextChange, Shown

WIDTH: Final = 720
_NAMES: Final = 64
_BARS: Final = 300
"""Bars drawn of one context; neighbours that do not change are put together before any is left out."""

_STATUS: Final = {
    "applied": (palette.USER, "\u2713"),
    "drafted": (palette.USER, "\u2713"),
    "failed": (palette.ALARM, "\u2717"),
    "skipped": (palette.SYSTEM, "\u2013"),
    "planned": (palette.GRID, ""),
}


def context(change: ContextChange) -> str:
    """A context before and after as two strips of one scale; what goes and what comes has a thick edge and a sign."""
    scale = max(change.tokens_before, change.tokens_after)
    if not scale:
        return ""
    before, after = _marked(change.before, change.after), _marked(change.after, change.before)
    unit = (WIDTH - _NAMES) / scale
    found = [
        *_strip(before, change.rest_tokens, unit, y=4, sign="\u2212", name="before"),
        *_strip(after, change.rest_tokens, unit, y=40, sign="+", name="after"),
        *_words(_NAMES, 84, f"\u2212 goes, + comes; as wide as their tokens: {_sums(change)}"),
    ]
    title = f"Context before ({change.tokens_before:,} tokens) and after ({change.tokens_after:,} tokens)"
    return _image(found, height=92, title=title)


def queue(statuses: Sequence[str]) -> str:
    """The items of a queue in order, a box for each with the sign of what became of it."""
    if not statuses:
        return ""
    size = max(1.5, min(18.0, WIDTH / len(statuses)))
    found = []
    for i, status in enumerate(statuses[: int(WIDTH / size)]):
        colour, sign = _STATUS.get(status, (palette.OTHER, ""))
        found.append(
            f'<rect x="{i * size:.1f}" y="2" width="{size - min(2, size / 4):.1f}" height="16" fill="{colour}"/>'
        )
        if size >= 12:
            ink = palette.ink_on(colour)
            found.append(f'<text x="{(i + 0.5) * size - 1:.1f}" y="14" text-anchor="middle" fill="{ink}">{sign}</text>')
    legend = ", ".join(f"{_STATUS.get(name, ('', ''))[1]} {name} {n}" for name, n in Counter(statuses).items())
    return _image([*found, *_words(0, 34, legend)], height=42, title=f"The queue: {legend}")


def _marked(items: Sequence[Shown], others: Iterable[Shown]) -> list[tuple[str, int, bool]]:
    """Kind, tokens and whether it is on this side alone; neighbours of a kind that stay are put together."""
    there = {one.key for one in others}
    found: list[tuple[str, int, bool]] = []
    for one in items:
        alone = one.key not in there
        if found and not alone and found[-1][0] == one.label and not found[-1][2]:
            found[-1] = (one.label, found[-1][1] + one.tokens, False)
        else:
            found.append((one.label, one.tokens, alone))
    return found[:_BARS]


def _strip(
    items: Iterable[tuple[str, int, bool]], rest: int, unit: float, *, y: int, sign: str, name: str
) -> list[str]:
    found = _words(0, y + 18, name)
    x = float(_NAMES)
    for label, size, alone in (*items, *([("unchanged", rest, False)] if rest else [])):
        width = size * unit
        colour = palette.GRID if label == "unchanged" else palette.kind_colour(label)
        edge = f'stroke="{palette.ALARM if sign != "+" else palette.USER}" stroke-width="3"' if alone else ""
        inside = 1.5 if alone else 0
        title = escape(safe(f"{label}, {size:,} tokens{', ' + ('comes' if sign == '+' else 'goes') if alone else ''}"))
        found.append(
            f'<rect x="{x + inside:.1f}" y="{y + inside}" width="{max(width - 2 * inside, 0.5):.1f}" '
            f'height="{28 - 2 * inside}" fill="{colour}" {edge}><title>{title}</title></rect>'
        )
        text = f"{sign} {label}" if alone else label
        if alone and 12 < width <= 7 * len(text) + 6:
            text = sign
        if width > (12 if text == sign else 7 * len(text) + 6):
            ink = palette.ink_on(colour)
            found.append(
                f'<text x="{x + width / 2:.1f}" y="{y + 18}" text-anchor="middle" fill="{ink}">'
                f"{escape(safe(text))}</text>"
            )
        x += width
    return found


def _sums(change: ContextChange) -> str:
    return f"{change.tokens_before:,} -> {change.tokens_after:,}"


def _words(x: int, y: int, text: str) -> list[str]:
    # On a page of any colour: a pale plate under dark letters.
    return [f'<text x="{x}" y="{y}" fill="{palette.INK}">{escape(safe(text))}</text>']


def _image(found: Iterable[str], *, height: int, title: str) -> str:
    plate = f'<rect x="-6" y="0" width="{WIDTH + 12}" height="{height}" rx="4" fill="{palette.PAPER}"/>'
    drawn = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-6 0 {WIDTH + 12} {height}" width="{WIDTH + 12}" '
        f'height="{height}" font-family="sans-serif" font-size="11"><title>{escape(safe(title))}</title>{plate}'
        f"{''.join(found)}</svg>"
    )
    data = b64encode(drawn.encode()).decode()
    return (
        f'<img alt="{escape(safe(title))}" src="data:image/svg+xml;base64,{data}" '
        'style="max-width:100%;height:auto;display:block;margin:4px 0"/>'
    )
