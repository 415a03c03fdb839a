"""What all figures share: colours by kind, and text made harmless.

Roles have the hues lcm-tui gives them (user green, assistant blue, system yellow, tool grey), in shades that
colour-blind readers tell apart (after Okabe and Ito). Summaries are one purple that darkens with depth, so lightness
alone carries the order.

Stored text is data, never markup: :func:`escape` is the only way stored text gets into a plotly string, and
:func:`visible` the only way into a still. Checked by ``tests/analysis/test_draw_palette.py``.
"""

import unicodedata
from typing import Final

from lcm_lab import plain

USER: Final = "#009E73"
ASSISTANT: Final = "#0072B2"
SYSTEM: Final = "#E3B505"
TOOL: Final = "#8C8C8C"
FOCUS: Final = "#E69F00"
MISSING: Final = "#FFFFFF"
OTHER: Final = "#B8B8B8"
ALARM: Final = "#D55E00"
CAUTION: Final = "#E69F00"
INK: Final = "#222222"
FAINT: Final = "#6B6B6B"
GRID: Final = "#E4E4E4"
EDGE: Final = "#9AA5B1"
PAPER: Final = "#FFFFFF"
DEPTHS: Final = ("#E3B7D0", "#CC79A7", "#A64E82", "#7A2C5D", "#4F1439")
LEVELS: Final = {"none": FAINT, "ok": USER, "warning": CAUTION, "over": ALARM}
_KINDS: Final = {
    "user": USER,
    "assistant": ASSISTANT,
    "system": SYSTEM,
    "tool": TOOL,
    "leaf": DEPTHS[0],
    "focus": FOCUS,
    "missing": MISSING,
}
_GROUPS: Final = {
    "focus brief": FOCUS,
    "older: user": "#7CCDB7",
    "older: assistant": "#7FB5D6",
    "older: system": "#EFDA85",
    "tool input": "#B5B5B5",
    "tool output": TOOL,
    "reasoning": "#56B4E9",
    "files": "#A6761D",
    "heartbeat": "#DDBFA9",
    "XML wrapper": "#DCD3E0",
}


def depth_colour(depth: int) -> str:
    """The tint of summaries of a depth: darker the deeper."""
    return DEPTHS[min(max(depth, 0), len(DEPTHS) - 1)]


def kind_colour(kind: str) -> str:
    """The colour of a context item's kind: a role, ``leaf``, ``dN``, ``focus`` or ``missing``."""
    if kind[:1] == "d" and kind[1:].lstrip("-").isdecimal():
        return depth_colour(int(kind[1:]))
    return _KINDS.get(kind, OTHER)


def group_colour(group: str) -> str:
    """The colour of a budget class."""
    if group.startswith("summaries "):
        return kind_colour(group.removeprefix("summaries "))
    if group.startswith("fresh tail: "):
        return kind_colour(group.removeprefix("fresh tail: "))
    return _GROUPS.get(group, OTHER)


def ink_on(colour: str) -> str:
    """Black or white, whichever is read more easily on ``colour``.

    >>> ink_on("#4F1439"), ink_on("#E3B7D0")
    ('#FFFFFF', '#222222')
    """
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 140 else PAPER


def visible(text: object, *, size: int = 400) -> str:
    r"""``text`` on one line, without control characters and what turns its direction around; cut to ``size``.

    >>> visible("a\x1b[31mb\u202ec\n\nd"), visible("abcdef", size=4)
    ('a[31mbc d', 'abc…')
    """
    # Cut before looking at each character: a line can be megabytes long.
    whole = str(text)
    start = whole[: size * 4]
    kept = "".join(" " if one in "\t\r\n" or one in plain.LINE_ENDS else one for one in start if not plain.acts(one))
    line = " ".join(kept.split())
    if len(line) <= size and len(whole) <= size * 4:
        return line
    return line[: size - 1].rstrip() + "…"


def escape(text: object, *, size: int = 400) -> str:
    """``text`` as plotly shows it literally: no tag, entity or formula in it comes to life.

    >>> escape("<b>x</b> & $1")
    '&lt;b&gt;x&lt;/b&gt; &amp; &#36;1'
    """
    shown = visible(text, size=size).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # MathJax looks for pairs of dollars in the raw string, before entities are read.
    return shown.replace("$", "&#36;")


def wrapped(text: object, *, width: int = 72, size: int = 400) -> str:
    """As :func:`escape`, in lines of at most ``width`` characters; words longer than that are broken."""
    return "<br>".join(escape(line, size=width + 1) for line in lines(text, width=width, size=size))


def lines(text: object, *, width: int, size: int = 2000) -> list[str]:
    """:func:`visible` text in lines of at most ``width`` columns; characters of double width count twice."""
    found, line, used = [], "", 0
    for word in visible(text, size=size).split(" "):
        for piece in _pieces(word, width):
            wide = columns(piece)
            if line and used + 1 + wide > width:
                found.append(line)
                line, used = piece, wide
            else:
                line, used = (f"{line} {piece}", used + 1 + wide) if line else (piece, wide)
    return [*found, line] if line else found


def columns(text: str) -> int:
    """How many columns ``text`` takes where a CJK character takes two.

    >>> columns("ab"), columns("你好")
    (2, 4)
    """
    return sum(2 if unicodedata.east_asian_width(one) in "WF" else 1 for one in text)


def fitted(text: object, *, width: int) -> str:
    """:func:`visible` text cut to ``width`` columns, an ellipsis in the last one.

    >>> fitted("abcdef", width=4), fitted("你好世界", width=5)
    ('abc…', '你好…')
    """
    shown = visible(text, size=max(2, width))
    if columns(shown) <= width:
        return shown
    while shown and columns(shown) > width - 1:
        shown = shown[:-1]
    return shown.rstrip() + "…"


def short_id(key: object, *, size: int = 20) -> str:
    """An id on one line, its middle left out where it is longer than ``size``; not escaped.

    >>> short_id("sum_0123456789abcdef"), short_id("sum_0123456789abcdef0123456789")
    ('sum_0123456789abcdef', 'sum_012345…123456789')
    """
    shown = visible(key, size=200)
    half = size // 2
    return shown if len(shown) <= size else f"{shown[: size - half]}…{shown[len(shown) - half + 1 :]}"


def _pieces(word: str, width: int) -> list[str]:
    if columns(word) <= width:
        return [word]
    found, piece, used = [], "", 0
    for one in word:
        wide = columns(one)
        if used + wide > width:
            found.append(piece)
            piece, used = "", 0
        piece, used = piece + one, used + wide
    return [*found, piece]
