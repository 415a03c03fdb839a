"""Token estimates: three rules, each with a name that goes wherever its number goes.

A store holds counts made by different programs, so one text can carry three different right counts:

======================  ==============================================  ==============================
name                    rule                                            who writes it
======================  ==============================================  ==============================
``plugin``              weights per character: CJK 1.5, beyond the      lossless-claw since 0.8.0
                        basic plane 2, all else 0.25; rounded up
``plugin<0.8``          UTF-16 units / 4, rounded up                    lossless-claw up to 0.7
``lcm-tui``             UTF-8 bytes / 4, rounded down                   the terminal tool lcm-tui
======================  ==============================================  ==============================

None of them is a tokenizer: for English they are near one, for CJK only ``plugin`` is. Rules as found in the public
sources of lossless-claw and lcm-tui (commit 4214b480).
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

IMAGE_TOKENS: Final = 1600
"""What a picture costs, whatever its size: the flat figure the plugin itself uses when it assembles a context."""

PICTURE_FROM: Final = 4000
"""A text shorter than this holds no picture, only talk about one."""

SUSPECT_COUNT: Final = 4 * IMAGE_TOKENS
"""From this stored count on, a message with an embedded picture is estimated anew: the count may be of its letters."""

_CJK: Final = re.compile(
    "["
    "\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uff00-\uffef"
    "\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002ceb0-\U0002ebef"
    "]+"
)
_CJK_BEYOND: Final = re.compile(
    "[\U00020000-\U0002a6df\U0002a700-\U0002b73f\U0002b740-\U0002b81f\U0002b820-\U0002ceaf\U0002ceb0-\U0002ebef]+"
)
ABSURD_COUNT: Final = 10**12
"""A stored count from here on is no count; sums of such numbers would not fit."""

_ASCII: Final = bytes(range(128))
_BEYOND_LEADS: Final = b"\xf0\xf1\xf2\xf3\xf4"
_DATA_URL: Final = re.compile(
    r"data:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*;base64,[A-Za-z0-9+/=_-]{%d,}" % PICTURE_FROM,  # noqa: UP031  (braces)
)


def plugin_tokens(text: str) -> int:
    """Tokens of ``text`` by the rule of lossless-claw since 0.8.0 (rule ``plugin``).

    >>> plugin_tokens("abc"), plugin_tokens("你好世界"), plugin_tokens("🔥🎉💯"), plugin_tokens("")
    (1, 6, 6, 0)
    """
    if text.isascii():
        return (len(text) + 3) // 4
    # Bytes are sorted out at C speed: ASCII first, then the lead bytes of characters beyond the basic plane, so that
    # the patterns see only what is left.
    raw = text.encode("utf-8", "surrogatepass")
    others = raw.translate(None, _ASCII)
    rest = others.decode("utf-8", "surrogatepass")
    wide = _run_length(_CJK, rest)
    beyond = len(others) - len(others.translate(None, _BEYOND_LEADS))
    if beyond:
        beyond -= _run_length(_CJK_BEYOND, rest)
    # In quarters of a token, so that the sum is exact.
    plain = len(raw) - len(others) + len(rest) - wide - beyond
    return (plain + 6 * wide + 8 * beyond + 3) // 4


def legacy_plugin_tokens(text: str) -> int:
    """Tokens of ``text`` by the rule of lossless-claw before 0.8 (rule ``plugin<0.8``).

    >>> legacy_plugin_tokens("abcd"), legacy_plugin_tokens("你好世界"), legacy_plugin_tokens("🔥🎉💯")
    (1, 1, 2)
    """
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return (units + 3) // 4


def lcm_tui_tokens(text: str) -> int:
    """Tokens of ``text`` by the rule of lcm-tui (rule ``lcm-tui``); 0 for texts of one to three bytes.

    >>> lcm_tui_tokens("abc"), lcm_tui_tokens("你好世界"), lcm_tui_tokens("🔥🎉💯")
    (0, 3, 3)
    """
    return len(text.encode("utf-8", "surrogatepass")) // 4


@dataclass(frozen=True, slots=True)
class Estimator:
    """A rule to estimate tokens, with the name that is shown beside its numbers."""

    name: str
    rule: str
    count: Callable[[str], int]


PLUGIN: Final = Estimator("plugin", "lossless-claw since 0.8: CJK 1.5, emoji 2, other 0.25 a character", plugin_tokens)
LEGACY: Final = Estimator("plugin<0.8", "lossless-claw before 0.8: UTF-16 units / 4, up", legacy_plugin_tokens)
LCM_TUI: Final = Estimator("lcm-tui", "lcm-tui: UTF-8 bytes / 4, down", lcm_tui_tokens)
ESTIMATORS: Final = {one.name: one for one in (PLUGIN, LEGACY, LCM_TUI)}

STORED_OR_PLUGIN: Final = "stored count, else plugin estimate"
"""Name of the rule every view uses: the stored count where it is valid, else :data:`PLUGIN`."""


def estimates(text: str) -> dict[str, int]:
    """The count of every rule for ``text``, by the rule's name."""
    return {name: one.count(text) for name, one in ESTIMATORS.items()}


def stored_or_estimate(stored: object, text: str) -> tuple[int, str]:
    """The number of a text and the rule that gave it, as every view shows it: the stored count where it is valid."""
    if isinstance(stored, int | float) and 0.5 <= stored < ABSURD_COUNT:
        return int(stored + 0.5), "stored"
    return message_tokens(text), "estimated"


def without_pictures(text: str) -> tuple[str, int]:
    """``text`` with each embedded picture (a data URL of 4,000 characters up) taken out, and their number.

    >>> without_pictures("see " + "data:image/png;base64," + "A" * 8000 + " here")
    ('see  here', 1)
    """
    if len(text) < PICTURE_FROM or "data:" not in text:
        return text, 0
    return _DATA_URL.subn("", text)


def message_tokens(text: str) -> int:
    """Tokens of a message's text by rule ``plugin``, each embedded picture at :data:`IMAGE_TOKENS`."""
    rest, pictures = without_pictures(text)
    return plugin_tokens(rest) + pictures * IMAGE_TOKENS


def shares(total: int, weights: list[int]) -> list[int]:
    """Split ``total`` in proportion to ``weights`` into whole numbers that add up to ``total`` exactly.

    Largest remainder; all zero weights put everything on the first. Empty weights give an empty list.

    >>> shares(10, [1, 1, 1]), shares(5, [0, 0]), shares(0, [3, 4])
    ([4, 3, 3], [5, 0], [0, 0])
    """
    if not weights:
        return []
    whole = sum(weights)
    if whole <= 0:
        return [total, *[0] * (len(weights) - 1)]
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda i: (-(total * weights[i] % whole), i))
    for i in order[: total - sum(parts)]:
        parts[i] += 1
    return parts


def percent_of(tokens: int, window: int | None) -> int | None:
    """``tokens`` as a whole percentage of ``window``; None where no window is set (None or 0)."""
    return None if not window else round(100 * tokens / window)


def _run_length(pattern: re.Pattern[str], text: str) -> int:
    return sum(map(len, pattern.findall(text)))
