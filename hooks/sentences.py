"""Cuts a message into sentences and tells what kind of list each stands in.

Idea: a judgment is one sentence of somebody, so the cut decides what can be remembered. Fenced code, tables and
headings are no sentences; a heading or a line that ends in a colon says what the list under it holds.
Invariant: every span lies inside the text and holds no line break.
Checked in tests/hooks/test_classifier.py.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHORTEST = 12  # "Let me check" says nothing; CJK sentences are exempt
ITEM = re.compile(r"\*\*\d|[✅❌⚠✓✔]")
MARK = re.compile(r"[ \t>]*(?:(?:[-*+•]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
END = re.compile(r"[.!?…]+[\"')\]*_`]*(?=\s)|[。！？]+[」』）*_]*")
NO_END = re.compile(r"(?:\be\.g\.|\bi\.e\.|\bvs\.|\betc\.|\b\d+\.)$")
WIDE = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]")


class Span:
    """One sentence: where it stands, and the line that leads the list it is in."""

    __slots__ = ("end", "first", "lead", "listed", "start")

    def __init__(self, start: int, end: int, lead: str, *, listed: bool, first: bool) -> None:
        self.start = start
        self.end = end
        self.lead = lead
        self.listed = listed
        self.first = first  # the first sentence of its line


def spans(text: str) -> Iterator[Span]:
    """Each sentence of a message in order."""
    at, fence, lead, gap = 0, "", "", False
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fence = "" if fence else bare[:3]
            continue
        if fence or not bare or bare.startswith("|"):
            gap = gap or not bare
            continue
        if bare.startswith("#"):
            lead = bare
            continue
        mark = MARK.match(line)
        begin = mark.end() if mark else 0
        listed = bool(mark and mark.group().strip(" \t>")) or ITEM.match(bare) is not None
        if gap and not listed and not line.startswith("  "):
            lead = ""  # a new paragraph; lines right under an item or a lead still belong to it
        gap = False
        found = list(_cut(line, begin))
        for number, (a, b) in enumerate(found):
            yield Span(start + a, start + b, lead, listed=listed, first=number == 0)
        if bare.endswith((":", "：", ":**", " that")) or (bare.startswith("**") and bare.endswith("**")):
            lead = lead if listed and lead else bare[-120:]


def _cut(line: str, begin: int) -> Iterator[tuple[int, int]]:
    at = begin
    for stop in END.finditer(line, begin):
        if not NO_END.search(line[at : stop.end()]):
            if span := _trim(line, at, stop.end()):
                yield span
            at = stop.end()
    if span := _trim(line, at, len(line)):
        yield span


def _trim(line: str, start: int, end: int) -> tuple[int, int] | None:
    while start < end and line[start].isspace():
        start += 1
    while end > start and line[end - 1].isspace():
        end -= 1
    long_enough = end - start >= SHORTEST or (end - start >= 4 and WIDE.search(line, start, end))
    return (start, end) if long_enough else None
