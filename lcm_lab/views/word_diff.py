"""Two texts and what differs between them, word by word: side by side, or as one text with signs before its lines.

Words, runs of spaces and single CJK characters are compared. What is gone is red and struck through, what is new green
and underlined, so that neither needs colour to be told. Invariants: the pieces of either side make up its whole text,
and everything is shown literally. Comparing takes little more time than reading the texts: equal lines are set aside
first, long stretches are cut where a few words in a row occur once in each, and what would take too long even then is
called replaced as a whole. Checked by ``tests/views/test_word_diff.py``.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final, Literal

from lcm_lab.views.escaping import escaped

Kind = Literal["same", "gone", "new"]

SHOWN: Final = 400_000
"""Characters of either text that are compared and shown."""

_ENOUGH: Final = 100_000
"""Pairs of equal pieces up to which difflib is quick: it goes through them again for each stretch it finds."""

_RUN: Final = 3
"""Pieces in a row that hold a long stretch together."""

_CJK: Final = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_WORD: Final = re.compile(rf"(?:[{_CJK}]|[^\W{_CJK}]+|\S)\s*|\s+")
"""A piece: a word, a CJK character or any other sign, with the space behind it."""

_MARKED: Final = {
    "gone": '<del style="background:rgba(248,81,73,.22);text-decoration:line-through">{}</del>',
    "new": '<ins style="background:rgba(46,160,67,.25);text-decoration:underline">{}</ins>',
}
_FRAME: Final = (
    "max-height:30em;overflow:auto;border:1px solid rgba(128,128,128,.35);border-radius:4px;line-height:1.45;"
    "font-family:var(--jp-code-font-family,monospace);font-size:12px"
)
_TEXT: Final = "white-space:pre-wrap;overflow-wrap:anywhere;unicode-bidi:plaintext;padding:0 8px;min-width:0"


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that is in both texts, only in the old one, or only in the new one."""

    kind: Kind
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """Lines of the old text beside those of the new one that stand in their place."""

    before: tuple[Piece, ...]
    after: tuple[Piece, ...]

    @property
    def changed(self) -> bool:
        """Whether anything differs."""
        return any(one.kind != "same" for one in (*self.before, *self.after))


def pieces(before: str, after: str) -> tuple[Piece, ...]:
    """What is common, gone and new, in order; of a place that changed, what is gone comes first."""
    return tuple(_joined(_compare(before, after)))


def rows(before: str, after: str) -> tuple[Row, ...]:
    """The differences line by line: a row ends wherever both texts have the same line end."""
    found: list[Row] = []
    old: list[Piece] = []
    new: list[Piece] = []
    for piece in pieces(before, after):
        if piece.kind == "gone":
            old.append(piece)
        elif piece.kind == "new":
            new.append(piece)
        else:
            for line in _LINE.findall(piece.text):
                old.append(Piece("same", line))
                new.append(Piece("same", line))
                if line.endswith("\n"):
                    found.append(Row(tuple(old), tuple(new)))
                    old, new = [], []
    if old or new:
        found.append(Row(tuple(old), tuple(new)))
    return tuple(found)


def side_by_side(before: str, after: str) -> str:
    """Both texts as HTML, the old one on the left."""
    lines = [
        _head("before", "after"),
        *(
            f'<div style="{_TEXT};{_RULE}" dir="auto">{_html(old)}</div>'
            f'<div style="{_TEXT};{_RULE};border-left:1px solid rgba(128,128,128,.35)" dir="auto">{_html(new)}</div>'
            for old, new in _cells(rows(before[:SHOWN], after[:SHOWN]))
        ),
    ]
    return _frame("display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr)", lines, before, after)


def unified(before: str, after: str) -> str:
    """One text as HTML, with ``-`` before lines that go and ``+`` before those that come."""
    lines = []
    for row in rows(before[:SHOWN], after[:SHOWN]):
        if not row.changed:
            lines.append(_line(" ", row.before))
            continue
        lines += [_line("-", row.before)] if row.before else []
        lines += [_line("+", row.after)] if row.after else []
    return _frame("display:grid;grid-template-columns:1.6em minmax(0,1fr)", lines, before, after)


_RULE: Final = "box-sizing:border-box"


def _cells(found: Iterable[Row]) -> Iterator[tuple[tuple[Piece, ...], tuple[Piece, ...]]]:
    """Rows for a page: lines that did not change go together, so that a long text needs few elements."""
    old: list[Piece] = []
    new: list[Piece] = []
    for row in found:
        if row.changed:
            if old:
                yield tuple(old), tuple(new)
                old, new = [], []
            yield row.before, row.after
        else:
            old += row.before
            new += row.after
    if old:
        yield tuple(old), tuple(new)


def _head(*titles: str) -> str:
    style = "padding:2px 8px;font-weight:600;opacity:.75;border-bottom:1px solid rgba(128,128,128,.35)"
    return "".join(f'<div style="{style}">{one}</div>' for one in titles)


def _line(sign: str, given: tuple[Piece, ...]) -> str:
    tint = {"-": "background:rgba(248,81,73,.08)", "+": "background:rgba(46,160,67,.08)", " ": "opacity:.8"}[sign]
    return (
        f'<div style="{tint};text-align:center;user-select:none">{sign}</div>'
        f'<div style="{_TEXT};{tint}" dir="auto">{_html(given)}</div>'
    )


def _html(given: Iterable[Piece]) -> str:
    shown = []
    for one in given:
        text = escaped(one.text)
        if one.kind != "same":
            # A line end that comes or goes would not be seen.
            text = _MARKED[one.kind].format(text.replace("\n", "\u21b5\n"))
        shown.append(text)
    # The line end that closes a cell would be an empty line in it.
    return "".join(shown).removesuffix("\n")


def _frame(layout: str, lines: Iterable[str], before: str, after: str) -> str:
    cut = [
        f"{name}: the first {SHOWN:,} of {len(text):,} characters"
        for name, text in (("before", before), ("after", after))
        if len(text) > SHOWN
    ]
    note = f'<div style="opacity:.75">Compared and shown of {"; of ".join(cut)}.</div>' if cut else ""
    same = "" if before != after else '<div style="opacity:.75">The texts are the same.</div>'
    return (
        f'<div class="mathjax_ignore lcm-diff" tabindex="0" style="{_FRAME}"><div style="{layout}">{"".join(lines)}'
        f"</div></div>{note}{same}"
    )


def _compare(before: str, after: str, cut: re.Pattern[str] = _LINE) -> Iterator[Piece]:
    if before == after or not (before and after):
        yield from _whole(before, after)
        return
    a, b = cut.findall(before), cut.findall(after)
    first = _common(a, b)
    last = _common(a[first:][::-1], b[first:][::-1])
    yield Piece("same", "".join(a[:first]))
    yield from (_lines if cut is _LINE else _words)(a[first : len(a) - last], b[first : len(b) - last])
    yield Piece("same", "".join(a[len(a) - last :]))


def _lines(a: list[str], b: list[str]) -> Iterator[Piece]:
    if not _quick(a, b):
        yield from _compare("".join(a), "".join(b), _WORD)
        return
    for kind, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        old, new = "".join(a[i:j]), "".join(b[k:m])
        yield from _compare(old, new, _WORD) if kind == "replace" else _whole(old, new)


def _words(a: list[str], b: list[str]) -> Iterator[Piece]:
    keys = [one.rstrip() for one in a], [one.rstrip() for one in b]
    for i, j, k, m in _stretches(*keys):
        if not _quick(keys[0][i:j], keys[1][k:m]):
            yield from _whole("".join(a[i:j]), "".join(b[k:m]))
            continue
        match = SequenceMatcher(None, keys[0][i:j], keys[1][k:m], autojunk=False)
        for kind, c, d, e, f in match.get_opcodes():
            old, new = a[i + c : i + d], b[k + e : k + f]
            if kind == "equal":
                for left, right in zip(old, new, strict=True):
                    word = left.rstrip()
                    yield Piece("same", word)
                    yield from _whole(left[len(word) :], right[len(word) :])
            else:
                yield from _replaced("".join(old), "".join(new))


def _replaced(old: str, new: str) -> Iterator[Piece]:
    """Words in the place of others; the space behind them stays if it is the same."""
    end = 0
    while end < min(len(old), len(new)) and old[-1 - end] == new[-1 - end] and old[-1 - end].isspace():
        end += 1
    yield from _whole(old[: len(old) - end], new[: len(new) - end])
    yield Piece("same", old[len(old) - end :])


def _stretches(a: Sequence[str], b: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where to compare: all at once, or from one run of pieces to the next that occurs once in either text."""
    i = k = 0
    if not _quick(a, b):
        there = _once(b)
        runs = [(at, there[run]) for run, at in _once(a).items() if run in there]
        for j, m in _rising(runs):
            yield i, j, k, m
            i, k = j, m
    yield i, len(a), k, len(b)


def _once(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Runs that occur once, and where, in order."""
    seen: dict[tuple[str, ...], int] = {}
    for at, run in enumerate(zip(*(words[i:] for i in range(_RUN)), strict=False)):
        seen[run] = -1 if run in seen else at
    return {run: at for run, at in seen.items() if at >= 0}


def _rising(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of pairs (by their first number) in which the second one rises as well."""
    ends: list[int] = []
    tops: list[tuple[tuple[int, int], int]] = []
    links: list[tuple[tuple[int, int], int]] = []
    for pair in pairs:
        at = bisect_left(ends, pair[1])
        links.append((pair, tops[at - 1][1] if at else -1))
        top = (pair, len(links) - 1)
        if at == len(ends):
            ends.append(pair[1])
            tops.append(top)
        else:
            ends[at], tops[at] = pair[1], top
    found = []
    at = tops[-1][1] if tops else -1
    while at >= 0:
        found.append(links[at][0])
        at = links[at][1]
    return found[::-1]


def _whole(before: str, after: str) -> Iterator[Piece]:
    if before == after:
        yield Piece("same", before)
        return
    yield Piece("gone", before)
    yield Piece("new", after)


def _quick(a: Sequence[str], b: Sequence[str]) -> bool:
    there = Counter(b)
    return sum(number * there[one] for one, number in Counter(a).items()) <= _ENOUGH


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    at = 0
    while at < min(len(a), len(b)) and a[at] == b[at]:
        at += 1
    return at


def _joined(given: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours of a kind as one, between two common stretches first all that is gone and then all that is new."""
    held: dict[Kind, list[str]] = {"same": [], "gone": [], "new": []}

    def let_go(*kinds: Kind) -> Iterator[Piece]:
        for kind in kinds:
            text = "".join(held[kind])
            held[kind].clear()
            if text:
                yield Piece(kind, text)

    for one in given:
        if one.text:
            yield from let_go("gone", "new") if one.kind == "same" else let_go("same")
            held[one.kind].append(one.text)
    yield from let_go("same", "gone", "new")
