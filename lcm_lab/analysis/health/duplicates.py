"""Messages that are in a conversation twice: the same message stored again, or a stretch of it replayed.

Three kinds, and nothing else counts:

- ``same-time``: same role, same text, same moment. A short "ok" said twice at different times is no duplicate.
- ``run``: three or more consecutive messages, at least three of them different, that repeat an earlier stretch in the
  same order, at whatever time. Two texts that alternate (a heartbeat) are no run.
- ``possible``: same role, and the same text but for a key that was blacked out in one of the two.

A pure function over small rows: no text is needed, only fingerprints of it. Checked by
``tests/analysis/test_health_duplicates.py``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final, Literal

Kind = Literal["same-time", "run", "possible"]

_SHORTEST_RUN: Final = 3
_FIRST: Final = "[<*•…"
_HINTS: Final = (
    *("[REDACTED", "[redacted", "[MASKED", "[masked", "[removed", "[hidden"),
    *("<redacted>", "***", "•••", "……"),
)
_REDACTED: Final = re.compile(
    r"\[(?:REDACTED|redacted|MASKED|masked|removed|hidden)[^\]\n]{0,40}\]|<redacted>|\*{3,}|•{3,}|…{2,}"
)
_SECRET: Final = re.compile(
    r"(?:sk|pk|rk|ghp|gho|github_pat|xox[abp]|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}"
    r"|(?:sk|pk|rk)-(?:\*{3,}|[A-Za-z0-9_-]*\*{3,}[A-Za-z0-9_-]*|[A-Za-z0-9_-]{4,})"
)
_ASSIGNED: Final = re.compile(
    r"(?i)((?:api[-_]?)?key|token|secret|passw(?:or)?d|passphrase|authorization|bearer)(['\"]?\s*[:=]\s*['\"]?|\s+)"
    r"((?:bearer\s+)?[^\s'\"]+)"
)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A message as far as duplicates go.

    ``text`` stands for role and text (None: nothing to compare). ``masked`` stands for role and text with every key
    blanked, None where there is no key; ``redacted`` tells whether a key in it was already blacked out.
    """

    message_id: int
    seq: int
    text: str | None
    moment: float | None
    tokens: int
    masked: str | None = None
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A stretch of messages and one repetition of it, in order, with the tokens the repetition costs."""

    kind: Kind
    originals: tuple[int, ...]
    copies: tuple[int, ...]
    original_seqs: tuple[int, int]
    copy_seqs: tuple[int, int]
    wasted_tokens: int


def has_redaction(text: str) -> bool:
    """Whether a key in ``text`` was blacked out.

    >>> has_redaction("export KEY=[REDACTED]"), has_redaction("export KEY=[removed]"), has_redaction("KEY=sk-abcdef12")
    (True, True, False)
    """
    # Looking for one character is many times faster than for a word, and a word than for a pattern.
    likely = any(first in text for first in _FIRST) and any(hint in text for hint in _HINTS)
    return likely and _REDACTED.search(text) is not None


def mask(text: str) -> str | None:
    """A fingerprint of ``text`` with every key blanked, blacked out or not; None for a text without keys.

    >>> mask("export KEY=sk-abcdef1234567890") == mask("export KEY=[REDACTED]")
    True
    """
    blanked, first = _SECRET.subn("\0", text)
    blanked, second = _REDACTED.subn("\0", blanked)
    blanked, third = _ASSIGNED.subn("\\1\0", blanked)
    if first + second + third == 0:
        return None
    return blake2b(re.sub("\0+", "\0", blanked).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def duplicates(messages: Sequence[Fingerprint]) -> list[Duplicate]:
    """Every repetition in ``messages`` (one conversation in ``seq`` order), in the order of the copies."""
    taken: set[int] = set()
    found = [*_runs(messages, taken), *_same_time(messages, taken), *_possible(messages, taken)]
    return sorted(found, key=lambda one: (one.copy_seqs, one.original_seqs))


def _runs(messages: Sequence[Fingerprint], taken: set[int]) -> list[Duplicate]:
    first_seen: dict[tuple[str, ...], int] = {}
    found = []
    free = at = 0
    while at + _SHORTEST_RUN <= len(messages):
        window = [one.text for one in messages[at : at + _SHORTEST_RUN]]
        key = tuple(text for text in window if text is not None)
        if len(set(key)) < _SHORTEST_RUN:
            at += 1
            continue
        start = first_seen.setdefault(key, at)
        if start + _SHORTEST_RUN > at:
            at += 1
            continue
        back, length = _stretch(messages, start, at, free)
        originals, copies = messages[start - back : start + length], messages[at - back : at + length]
        found.append(_duplicate("run", originals, copies))
        taken.update(one.message_id for one in copies)
        at += length
        free = at
    return found


def _stretch(messages: Sequence[Fingerprint], start: int, at: int, free: int) -> tuple[int, int]:
    """How far a match at (start, at) reaches back and on, without running into itself or into an earlier copy."""
    length = _SHORTEST_RUN
    while (
        at + length < len(messages) and start + length < at and _equal(messages[start + length], messages[at + length])
    ):
        length += 1
    back = 0
    while (
        start - back > 0
        and at - back > max(free, start + length)
        and _equal(messages[start - back - 1], messages[at - back - 1])
    ):
        back += 1
    return back, length


def _same_time(messages: Sequence[Fingerprint], taken: set[int]) -> list[Duplicate]:
    first_seen: dict[tuple[str, float], int] = {}
    pairs: list[tuple[int, int]] = []
    for at, one in enumerate(messages):
        if one.text is None or one.moment is None:
            continue
        start = first_seen.setdefault((one.text, one.moment), at)
        if start != at and one.message_id not in taken:
            pairs.append((start, at))
            taken.add(one.message_id)
    found: list[Duplicate] = []
    for first in range(len(pairs)):
        if first and pairs[first - 1] == (pairs[first][0] - 1, pairs[first][1] - 1):
            continue
        last = first
        while last + 1 < len(pairs) and pairs[last + 1] == (pairs[last][0] + 1, pairs[last][1] + 1):
            last += 1
        originals = [messages[start] for start, _ in pairs[first : last + 1]]
        copies = [messages[at] for _, at in pairs[first : last + 1]]
        found.append(_duplicate("same-time", originals, copies))
    return found


def _possible(messages: Sequence[Fingerprint], taken: set[int]) -> list[Duplicate]:
    first_seen: dict[str, Fingerprint] = {}
    found = []
    for one in messages:
        if one.masked is None or one.message_id in taken:
            continue
        start = first_seen.setdefault(one.masked, one)
        if start is not one and start.text != one.text and (start.redacted or one.redacted):
            found.append(_duplicate("possible", [start], [one]))
            taken.add(one.message_id)
    return found


def _duplicate(kind: Kind, originals: Sequence[Fingerprint], copies: Sequence[Fingerprint]) -> Duplicate:
    return Duplicate(
        kind,
        tuple(one.message_id for one in originals),
        tuple(one.message_id for one in copies),
        (originals[0].seq, originals[-1].seq),
        (copies[0].seq, copies[-1].seq),
        sum(one.tokens for one in copies),
    )


def _equal(one: Fingerprint, other: Fingerprint) -> bool:
    return one.text is not None and one.text == other.text
