"""Which characters of a stored text may reach a screen: those that show, and none that act.

Control characters move a terminal's cursor, direction marks turn a line around, lone surrogates break an encoder. One
list for tables, figures and terminal alike. Checked by ``tests/views/test_tables.py`` and
``tests/analysis/test_draw_palette.py``.
"""

import re
import unicodedata
from typing import Final

DIRECTION: Final = frozenset(map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))))
LINE_ENDS: Final = frozenset("\u2028\u2029")
_ACTING_CATEGORIES: Final = frozenset({"Cc", "Cs", "Cn", "Co"})
_ACTING: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff" + "".join(sorted(DIRECTION | LINE_ENDS)) + "]",
)


def acts(character: str) -> bool:
    """Whether a character would do something instead of showing; tab and line ends do not count."""
    if character in "\t\r\n" or character in LINE_ENDS:
        return False
    return character in DIRECTION or unicodedata.category(character) in _ACTING_CATEGORIES


def safe(text: str) -> str:
    r"""``text`` with U+FFFD for each character that acts; lines and tabs stay.

    >>> safe("a\x1b[31mb\u202ec")
    'a�[31mb�c'
    """
    return _ACTING.sub("\ufffd", text)
