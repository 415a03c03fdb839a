"""The one estimate of tokens: characters by kind, times a factor measured in the session itself.

Idea: four characters of Latin text make about one token, one character of Chinese, Japanese or Korean about one. Real
counts differ by model, so the factor is what the API reported for this session divided by what the estimate said.
Invariant: monotonic in the text's length, linear in time, never negative.
Checked in tests/hooks/test_memory_db.py.
"""

from __future__ import annotations

SAMPLE = 20_000
ENOUGH = 2_000  # estimated tokens to have been seen before a measured factor counts
LOWEST, HIGHEST = 0.5, 3.0


def estimate(text: str, factor: float = 1.0) -> int:
    """Tokens of the text; 0 only for an empty one."""
    if not text:
        return 0
    if text.isascii():
        return max(1, round(len(text) / 4 * factor))
    sample = text if len(text) <= SAMPLE else text[: SAMPLE // 2] + text[-SAMPLE // 2 :]
    wide = sum(1 for c in sample if c >= "\u2e80")
    narrow_other = sum(1 for c in sample if "\x7f" < c < "\u2e80")
    per_char = (wide + narrow_other / 2 + (len(sample) - wide - narrow_other) / 4) / len(sample)
    return max(1, round(len(text) * per_char * factor))


def factor(real: int, estimated: int) -> float:
    """Reported over estimated growth, within sane limits; 1.0 until there is enough of it."""
    if estimated < ENOUGH or real <= 0:
        return 1.0
    return min(HIGHEST, max(LOWEST, real / estimated))
