"""The verdict on a reply: may it be written, must a person look at it first, or must it not be written at all.

Every reply is judged before it can become part of a plan, whoever wrote it. ``strict`` is for repair and doctor, where
nobody reads each text: a reply that is no clear gain over its source is refused. A rewrite is reviewed by a person, so
there only what is no summary at all is refused, and what is doubtful needs a confirmation.

All token numbers here are by rule ``plugin``, on both sides. A source below :data:`SMALL_SOURCE` tokens cannot be made
shorter by a text that still says something, so its reply may take as much as the smallest target that is ever asked
for (:data:`gather.SMALLEST_TARGET`). Checked by ``tests/repairs/test_verdict.py``.
"""

from dataclasses import dataclass
from typing import Final, Literal

from lcm_lab import tokens
from lcm_lab.analysis.health import markers, suspects
from lcm_lab.repairs.chatter import chatter, preamble
from lcm_lab.repairs.gather import SMALLEST_TARGET, Material
from lcm_lab.repairs.scripts import script
from lcm_lab.summarizer.prompting import FOOTER
from lcm_lab.summarizer.seam import Draft

Level = Literal["good", "confirm", "refuse"]

SMALL_SOURCE: Final = 100
TOO_SHORT: Final = 8
"""Tokens below which a reply says nothing about a source of :data:`SMALL_SOURCE` tokens or more."""

FAR_ABOVE: Final = 3
"""How many times its target a reply may have before somebody must look at it."""

_STOPPED: Final = frozenset({"refusal", "content_filter", "safety", "SAFETY", "blocked"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """``level`` with the sentences that led to it; ``notes`` are worth reading and change nothing.

    ``tokens`` and ``source_tokens`` are by rule ``plugin``.
    """

    level: Level
    reasons: tuple[str, ...]
    notes: tuple[str, ...]
    tokens: int
    source_tokens: int

    @property
    def may_be_written(self) -> bool:
        """Whether nobody needs to look at it first."""
        return self.level == "good"


class _Findings:
    """Sentences collected on the way to a verdict."""

    def __init__(self) -> None:
        self.refused: list[str] = []
        self.doubts: list[str] = []
        self.notes: list[str] = []

    def add(self, sentence: str, *, refuse: bool) -> None:
        """A reason to refuse, else to confirm."""
        (self.refused if refuse else self.doubts).append(sentence)


def judge(draft: Draft, material: Material, *, strict: bool, footer_expected: bool) -> Verdict:
    """The verdict on ``draft`` as the new text of ``material``; ``footer_expected``: the prompt asked for one."""
    text = draft.text.strip()
    size, source = tokens.plugin_tokens(text), tokens.plugin_tokens(material.source_text)
    found = _Findings()
    if not text:
        # Nothing else can be said about it, and "too short" would only repeat it.
        found.add("The reply is empty.", refuse=True)
    else:
        _is_summary(found, draft, text)
        _is_whole(found, draft, text, source=source, strict=strict)
        _has_size(found, size, source, material.target_tokens, strict=strict)
        _has_footer(found, text, expected=footer_expected, strict=strict)
        _same_script(found, text, material.source_text)
    level: Level = "refuse" if found.refused else "confirm" if found.doubts else "good"
    return Verdict(level, (*found.refused, *found.doubts), tuple(found.notes), size, source)


def _is_summary(found: _Findings, draft: Draft, text: str) -> None:
    """Neither a mark of a failed compaction, nor private reasoning, nor talk to somebody."""
    kind = markers.broken_kind(text, None)
    if kind is not None:
        found.add(f"The reply is itself marked as broken: {kind.label}.", refuse=True)
    else:
        quoted = markers.quotation(text, draft.model)
        if quoted is not None:
            found.notes.append(f"The reply holds {quoted.marker}, which does not count: {quoted.reason}.")
    problem = suspects.text_problem(text)
    if problem is not None:
        code, _, what = problem
        found.add(f"The reply {what}.", refuse=code != "K2-json")
    talk = chatter(text)
    if talk is not None:
        found.add(f"The reply is {talk}, not a summary.", refuse=True)
    else:
        words = preamble(text)
        if words is not None:
            found.add(f"The reply does not start with the summary but with {words!r}.", refuse=False)


def _is_whole(found: _Findings, draft: Draft, text: str, *, source: int, strict: bool) -> None:
    """Not cut off, not stopped by the provider, not too short to say anything."""
    if draft.cut_off:
        found.add(f"The reply was cut off at its limit (stop reason {draft.stop_reason}).", refuse=True)
    if draft.stop_reason in _STOPPED:
        found.add(f"The provider stopped the reply (stop reason {draft.stop_reason}).", refuse=True)
    size = tokens.plugin_tokens(text)
    if size < TOO_SHORT and source >= SMALL_SOURCE:
        found.add(f"The reply is too short: {size:,} tokens for a source of {source:,}.", refuse=strict)


def _has_size(found: _Findings, size: int, source: int, target: int, *, strict: bool) -> None:
    """Smaller than its source, and not far above its target."""
    numbers = f"{size:,} tokens, and its source has {source:,}"
    if source < SMALL_SOURCE:
        if size > SMALLEST_TARGET:
            found.add(f"The reply is much larger than its small source: {numbers}.", refuse=strict)
        elif size >= source:
            found.notes.append(f"The reply is not smaller than its source, which is too short for that: {numbers}.")
    elif size > source or (strict and size == source):
        found.add(f"The reply is not smaller than its source: {numbers}.", refuse=strict)
    if size > FAR_ABOVE * target:
        found.add(f"The reply is {size / target:.1f} times its target: {size:,} of {target:,} tokens.", refuse=False)
    elif size > target:
        found.notes.append(f"The reply is above its target: {size:,} of {target:,} tokens.")


def _has_footer(found: _Findings, text: str, *, expected: bool, strict: bool) -> None:
    lines = (line.strip(" \t*_#>-").lower() for line in text.splitlines())
    if not expected or any(line.startswith(FOOTER.lower()) for line in lines):
        return
    sentence = f"The closing line {FOOTER!r} is missing."
    if strict:
        found.add(sentence, refuse=True)
    else:
        found.notes.append(sentence)


def _same_script(found: _Findings, text: str, source: str) -> None:
    mine, theirs = script(text), script(source)
    if mine is not None and theirs is not None and mine != theirs:
        found.notes.append(f"The reply is written in {mine} script, its source in {theirs}.")
