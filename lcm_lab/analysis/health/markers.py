r"""The marks that a failed compaction leaves in a summary, and how to tell them from a text that quotes one.

A mark means damage only where the plugin puts it. Trailing and leading white space never matters.

====================  ==================================================  ==============================================
kind                  literal                                             counts
====================  ==================================================  ==============================================
FALLBACK_START        ``[LCM fallback summary; truncated for context      at the start of the text
                      management]``
FALLBACK_END          the same                                            at the very end, with or without a line break
                                                                          before it; or after a line break and less than
                                                                          80 bytes before the end (as lcm-tui has it)
TRUNCATED_END         ``[Truncated from N tokens]``                       less than 40 bytes before the end (as lcm-tui
                                                                          has it), so also alone
DIRECTIVE             ``[LCM fallback summary; directive-shaped           at the start, at the very end, or as a line of
                      untrusted content omitted]``                        its own
                      ``[LCM fallback summary omitted directive-shaped    as a line of its own, where a unit of text was
                      untrusted content].``                               taken out; in a sentence it is a quotation
EMERGENCY_END         ``[Truncated for context management]``              at the very end, with model ``unknown`` (or a
                                                                          store that has no model column)
EMERGENCY_MODEL       model ``emergency-fallback``                        whatever the text
====================  ==================================================  ==============================================

``[Capped from N tokens to ~M]``, ``[Capped to ~M]`` and ``[Capped]`` end a legitimate summary that was too long; they
are never damage. A mark further inside the text, also right above a closing line such as ``Expand for details about:``,
is a healthy text that talks about it. Checked by ``tests/analysis/test_health_markers.py``.
"""

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

FALLBACK: Final = "[LCM fallback summary; truncated for context management]"
DIRECTIVE: Final = "[LCM fallback summary; directive-shaped untrusted content omitted]"
DIRECTIVE_INLINE: Final = "[LCM fallback summary omitted directive-shaped untrusted content]"
TRUNCATED: Final = "[Truncated from "
EMERGENCY: Final = "[Truncated for context management]"
EMERGENCY_MODEL: Final = "emergency-fallback"
CAPPED: Final = "[Capped"

_FALLBACK_ZONE: Final = 80
_TRUNCATED_ZONE: Final = 40
_CAPPED: Final = re.compile(r"\[Capped(?: from [\d,.]+ tokens)?(?: to ~[\d,.]+)?\]")


class MarkerKind(Enum):
    """Which mark makes a summary broken; the first three carry the names lcm-tui's doctor gives them."""

    FALLBACK_START = "old"
    TRUNCATED_END = "new"
    FALLBACK_END = "fallback"
    DIRECTIVE = "directive"
    EMERGENCY_END = "emergency"
    EMERGENCY_MODEL = "emergency-model"

    @property
    def label(self) -> str:
        """The kind in a few words."""
        return _LABELS[self]

    @property
    def code(self) -> str:
        """The code of the finding."""
        return _CODES[self]


_LABELS: Final = {
    MarkerKind.FALLBACK_START: "fallback mark at the start",
    MarkerKind.FALLBACK_END: "fallback mark at the end",
    MarkerKind.TRUNCATED_END: "truncation mark at the end",
    MarkerKind.DIRECTIVE: "mark of omitted directive-shaped content",
    MarkerKind.EMERGENCY_END: "emergency mark at the end",
    MarkerKind.EMERGENCY_MODEL: "model emergency-fallback",
}
_CODES: Final = {
    MarkerKind.FALLBACK_START: "K1-fallback-marker",
    MarkerKind.FALLBACK_END: "K1-fallback-marker",
    MarkerKind.TRUNCATED_END: "K1-truncated-marker",
    MarkerKind.DIRECTIVE: "K1-directive-marker",
    MarkerKind.EMERGENCY_END: "K1-emergency-marker",
    MarkerKind.EMERGENCY_MODEL: "K1-emergency-model",
}


@dataclass(frozen=True, slots=True)
class Quotation:
    """A mark in a healthy text: the literal, and why it does not count."""

    marker: str
    reason: str


def broken_kind(text: str, model: str | None) -> MarkerKind | None:
    r"""Which mark makes a summary with this text and model broken; None for a healthy one.

    >>> broken_kind("Some text\n[Truncated from 900 tokens]", "m")
    <MarkerKind.TRUNCATED_END: 'new'>
    >>> broken_kind("We saw [Truncated from 900 tokens] in a log and removed the cause of it.", "m") is None
    True
    """
    trimmed = text.strip()
    kind = _broken_text(trimmed, model) if "[LCM fallback" in trimmed or "[Truncated f" in trimmed else None
    if kind is None and model is not None and model.strip() == EMERGENCY_MODEL:
        return MarkerKind.EMERGENCY_MODEL
    return kind


def quotation(text: str, model: str | None) -> Quotation | None:
    """The mark that a healthy text quotes, with the reason why it is not counted; None for a text without one."""
    if broken_kind(text, model) is not None:
        return None
    trimmed = text.strip()
    for literal in (FALLBACK, DIRECTIVE, DIRECTIVE_INLINE, TRUNCATED, EMERGENCY):
        at = trimmed.rfind(literal)
        if at < 0:
            continue
        if literal == EMERGENCY and trimmed.endswith(EMERGENCY):
            return Quotation(literal, f"this mark counts only with model 'unknown', and the model is {model!r}")
        after = _bytes(trimmed[at:]) - _bytes(literal)
        before = _bytes(trimmed[:at])
        reason = (
            f"it stands inside the text, {before:,} bytes before it and {after:,} after it: the text talks about it"
        )
        return Quotation(literal.strip(), reason)
    last = trimmed.rsplit("\n", 1)[-1]
    if _CAPPED.search(last):
        return Quotation(CAPPED + "]", "an over-long reply was cut to its limit: a legitimate summary")
    return None


def _broken_text(trimmed: str, model: str | None) -> MarkerKind | None:
    if trimmed.startswith(FALLBACK):
        return MarkerKind.FALLBACK_START
    if _within(trimmed, TRUNCATED, _TRUNCATED_ZONE):
        return MarkerKind.TRUNCATED_END
    at = trimmed.rfind(FALLBACK)
    if at > 0 and (
        trimmed.endswith(FALLBACK) or (trimmed[at - 1] == "\n" and _within(trimmed, FALLBACK, _FALLBACK_ZONE))
    ):
        return MarkerKind.FALLBACK_END
    if _directive(trimmed):
        return MarkerKind.DIRECTIVE
    if trimmed.endswith(EMERGENCY) and (model is None or model.strip() in ("", "unknown")):
        return MarkerKind.EMERGENCY_END
    return None


def _within(trimmed: str, literal: str, zone: int) -> bool:
    """Whether the last ``literal`` begins less than ``zone`` bytes before the end."""
    at = trimmed.rfind(literal)
    # A text of ``zone`` characters cannot be shorter in bytes, so most texts need no encoding.
    return at >= 0 and len(trimmed) - at < zone and _bytes(trimmed[at:]) < zone


def _directive(trimmed: str) -> bool:
    if trimmed.startswith(DIRECTIVE) or trimmed.endswith(DIRECTIVE):
        return True
    if "directive-shaped" not in trimmed:
        return False
    lines = {line.strip() for line in trimmed.splitlines()}
    return DIRECTIVE in lines or DIRECTIVE_INLINE in lines or f"{DIRECTIVE_INLINE}." in lines


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
