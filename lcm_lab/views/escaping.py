"""Stored text as HTML that shows it: never markup, never a formula, each line in its own writing direction.

Every view of a text in a notebook goes through here. The class keeps MathJax away, which reads a page after it was
built and so cannot be stopped by escaping a dollar sign; characters that act are replaced as everywhere. Checked by
``tests/views/test_word_diff.py``.
"""

from html import escape
from typing import Final

from lcm_lab.plain import safe

_LITERAL: Final = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext"


def escaped(text: str) -> str:
    """``text`` for the inside of an element or an attribute."""
    return escape(safe(text)).replace("$", "&#36;")


def literal(text: str) -> str:
    """``text`` as an element that shows it literally, line ends and all."""
    return f'<bdi class="mathjax_ignore" style="{_LITERAL}">{escaped(text)}</bdi>'


def box(text: str, *, height: str = "24em") -> str:
    """A long text in a frame of limited height that scrolls."""
    return (
        f'<div class="mathjax_ignore" dir="auto" tabindex="0" style="{_LITERAL};max-height:{height};overflow:auto;'
        "border:1px solid rgba(128,128,128,.35);border-radius:4px;padding:6px 8px;line-height:1.45;"
        f'font-family:var(--jp-code-font-family,monospace);font-size:12px">{escaped(text)}</div>'
    )
