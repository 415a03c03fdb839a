r"""What the session used again: words that the model wrote after a cut and had from before it.

Idea: whether a context still holds what is needed can be told without a model, from what was needed. At a *cut* (every
so many tokens of growth, and wherever the client compacted) the past is set apart; the first time after it that the
model itself writes an identifier, a path, a number, a name or a quoted string from before, without having been shown it
again, is one reference. Keeping noise does not help: a word that is never used again counts for nothing.

What the measure cannot see, and so what its figures do not say:

- A word that survives is not the thought it belonged to; a paraphrase that says it all counts as lost.
- Common words of a language or library (``os.path.join``) count although any model knows them.
- After a recorded compaction the model could only use what had survived it (``survivor``): there the measure flatters
native.
- What the model would have used, had it still known it, is nowhere.
- What a user repeats, or a tool shows again, is left out, though having to ask again is a loss, too.

Invariant: a reference's origin lies before its cut and its reuse behind it, and each word counts once a cut. Checked by
``tests/analysis/savings/test_references.py``.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lcm_lab.analysis.savings.session import Item, Reference, Session

KINDS: Final = ("path", "quoted", "identifier", "number", "name")
CUT: Final = 20_000
"""Estimated tokens between two cuts; with usual factors about 30,000 of the API's."""

_ENDINGS: Final = (
    "py|go|ts|tsx|js|jsx|md|json|jsonl|toml|ya?ml|sh|txt|rs|java|rb|cpp|sql|html|css|lock|cfg|ini|mod|csv|xml"
)
_PATTERNS: Final = {
    "path": re.compile(rf"(?:~?/)?(?:[\w.@-]+/)+[\w.@-]*[\w-]|\b[\w-]{{2,}}\.(?:{_ENDINGS})\b"),
    "quoted": re.compile(r"[\"`'“]([^\"`'“”\n]{3,50} [^\"`'“”\n]{1,50})[\"`'”]"),
    "identifier": re.compile(r"\b(?:[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+|[A-Za-z][a-z0-9]+(?:[A-Z][A-Za-z0-9]+)+)\b"),
    "number": re.compile(r"\b(?:\d{3,}(?:\.\d+)?|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40})\b"),
    "name": re.compile(r"(?<=[a-z,;:] )[A-Z][a-z]{3,}\b"),
}
_LONGEST: Final = 200_000
"""Characters of one text that are looked through."""


@dataclass(slots=True)
class Known:
    """What a memory would hold, as texts.

    Its blocks by the request they were made for, L1 and L2 and details by turn.
    """

    blocks: Mapping[int, str] = field(default_factory=dict)
    lines: Mapping[int, str] = field(default_factory=dict)
    details: Mapping[int, str] = field(default_factory=dict)


def words(text: str) -> Iterator[tuple[str, str]]:
    """(kind, word) of everything in a text that can be referred to.

    >>> sorted(words("Open src/app.py, then call read_port with 8443."))
    [('identifier', 'read_port'), ('number', '8443'), ('path', 'src/app.py')]
    """
    for kind, pattern in _PATTERNS.items():
        for found in pattern.findall(text[:_LONGEST]):
            if len(found) >= 4 or kind == "number":
                yield kind, found


def cuts(session: Session) -> list[int]:
    """The requests before which the past is set apart."""
    found = []
    grown = 0
    for i, (request, entering) in enumerate(zip(session.requests, session.entering(), strict=True)):
        grown += sum(session.items[k].estimate for k in entering)
        if i and (request.boundary or grown >= CUT):
            found.append(i)
            grown = 0
    return found


def find(session: Session, texts: Sequence[str], known: Known | None = None) -> tuple[Reference, ...]:
    """Every reference of the session, in the order of reuse."""
    known = known or Known()
    own, kinds = _own_words(session, texts)
    held = [one if one is not None else _held(text, kinds) for one, text in zip(own, texts, strict=True)]
    marks = cuts(session)
    places: dict[str, list[int]] = {}
    found: list[Reference] = []
    when = _whens(session)
    order = sorted(range(len(texts)), key=lambda i: (when[i], i))
    place = 0
    boundary = min(session.boundaries, default=len(session.requests))
    for number, cut in enumerate(marks):
        end = marks[number + 1] if number + 1 < len(marks) else len(session.requests) + 1
        while place < len(order) and when[order[place]] < cut:
            for word in held[order[place]]:
                places.setdefault(word, []).append(order[place])
            place += 1
        settled: set[str] = set()
        for i in order[place:]:
            item = session.items[i]
            if when[i] >= end:
                break
            if item.kind == "thinking":
                continue
            if item.made >= 0:
                again = sorted(word for word in held[i] - settled if _is_old(session, places.get(word, ())))
                uses = [_Use(word, kinds[word], cut, item, places[word]) for word in again]
                found += [_reference(session, when, one, known, survivor=item.made >= boundary) for one in uses]
            settled |= held[i]
    return tuple(found)


def _whens(session: Session) -> list[int]:
    """For each item the request that made it, or that first read it.

    The client's summary, and what stands before a compaction but was read by no request any more, count as before it.
    """
    newest: dict[int, int] = {}
    for item in session.items:
        newest[item.entry] = max(newest.get(item.entry, 0), item.stretch)
    found = []
    for item in session.items:
        late = item.kind == "summary" or item.stretch < newest[item.entry]
        found.append(item.made if item.made >= 0 else item.entry - late)
    return found


def _is_old(session: Session, where: Sequence[int]) -> bool:
    return any(session.items[i].kind != "summary" for i in where)


def _own_words(session: Session, texts: Sequence[str]) -> tuple[list[set[str] | None], dict[str, str]]:
    """The words of what the model wrote, thinking apart, and the kind of each; None for all other items."""
    kinds: dict[str, str] = {}
    found: list[set[str] | None] = []
    for item, text in zip(session.items, texts, strict=True):
        if item.made < 0 or item.kind == "thinking":
            found.append(None)
            continue
        mine = set()
        for kind, word in words(text):
            kinds.setdefault(word, kind)
            mine.add(word)
        found.append(mine)
    return found, kinds


def _held(text: str, kinds: Mapping[str, str]) -> set[str]:
    return {word for _, word in words(text) if word in kinds}


@dataclass(frozen=True, slots=True)
class _Use:
    """A word, its kind, the cut before it, the item that uses it again, and the items it stood in."""

    word: str
    kind: str
    cut: int
    item: Item
    places: Sequence[int]


def _reference(session: Session, when: Sequence[int], use: _Use, known: Known, *, survivor: bool) -> Reference:
    turns = {session.items[i].turn for i in use.places}
    made = use.item.made
    return Reference(
        use.kind,
        use.cut,
        min(when[i] for i in use.places),
        made,
        tuple(use.places),
        tuple(at for at, text in known.blocks.items() if at <= made and use.word in text),
        tuple(turn for turn, text in known.lines.items() if turn < use.item.turn and use.word in text),
        stored=any(use.word in known.details.get(turn, "") for turn in turns),
        survivor=survivor,
    )
