"""What the recorded compactions did: what the client kept, and what it took to find the way again.

Idea: a compaction is paid twice: for the summary, and in the steps after it. Both are measured at the boundaries that
really happened. Re-orientation is what the model does between a boundary and its next edit: actions, and reads of files
it had read before; compared with the same stretch at the beginning of every other turn, because a turn starts with
looking around, too.
Invariant: only recorded boundaries count. Checked by ``tests/analysis/savings/test_typical.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median
from typing import Final

from lcm_lab.analysis.savings.acting import Typical
from lcm_lab.analysis.savings.calibration import Factors
from lcm_lab.analysis.savings.session import Session

IN_THE_MIDDLE: Final = 20_000
"""A first prompt that is larger than a later stretch's by more than this began with a history that is in no file."""


@dataclass(frozen=True, slots=True)
class Boundary:
    """One recorded compaction: sizes before and after, the summary, what the client put back."""

    session: str
    request: int
    before: int
    after: int
    summary: int
    kept: int


@dataclass(frozen=True, slots=True)
class Search:
    """From a place on until the next edit.

    Actions, reads of files that had been read before, and those reads' tokens.
    """

    actions: int
    rereads: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Reorientation:
    """What the steps after boundaries were, and those at other turns' beginnings.

    ``extra`` values are the difference of means.
    """

    after: tuple[Search, ...]
    usual: tuple[Search, ...]

    @property
    def extra_actions(self) -> float:
        """Actions more than usual after a compaction; never below none."""
        return _more([one.actions for one in self.after], [one.actions for one in self.usual])

    @property
    def extra_tokens(self) -> float:
        """Tokens read again more than usual after a compaction."""
        return _more([one.tokens for one in self.after], [one.tokens for one in self.usual])

    @property
    def medians(self) -> tuple[float, float]:
        """Median actions before the next edit: after a boundary, and usually."""
        return (
            median([one.actions for one in self.after] or [0]),
            median([one.actions for one in self.usual] or [0]),
        )


def _more(after: list[int], usual: list[int]) -> float:
    return max(0.0, mean(after) - mean(usual)) if after and usual else 0.0


def new_items(session: Session, at: int, places: Sequence[int]) -> list[int]:
    """Of the items that enter with the first request of a stretch, those that stand behind its beginning."""
    now = session.items[places[-1]].stretch if places and at else 0
    return [i for i in places if not at or session.items[i].stretch == now]


def base(session: Session, factors: Factors) -> int:
    """Tokens of system prompt, tools and instructions: what a stretch's first prompt holds beside its texts.

    A file may begin in the middle of a session, so the smallest over all stretches counts where the first is far above.
    """
    entering = session.entering()
    found: list[int] = []
    first: list[int] = []
    for at, request in enumerate(session.requests):
        begins = at == 0 or request.boundary or request.fresh
        first = new_items(session, at, entering[at]) if begins else [*first, *entering[at]]
        if request.has_usage and (begins or not found):
            found.append(max(0, request.prompt - sum(round(factors.tokens(session.items[i])) for i in first)))
    if not found:
        return 0
    return found[0] if found[0] - min(found) <= IN_THE_MIDDLE else min(found)


def boundaries(session: Session, factors: Factors) -> list[Boundary]:
    """The session's compactions."""
    found = []
    entering = session.entering()
    system = base(session, factors)
    for at in session.boundaries:
        places = new_items(session, at, entering[at])
        if not places or not session.requests[at].has_usage:
            continue
        new = sum(round(factors.tokens(session.items[i])) for i in places)
        summary = sum(round(factors.tokens(session.items[i])) for i in places if session.items[i].kind == "summary")
        after = session.requests[at].prompt
        kept = max(0, after - system - new)
        found.append(Boundary(session.name, at, session.requests[at].before, after, summary, kept))
    return found


def typical(sessions: Sequence[Session], factors: Sequence[Factors]) -> Typical:
    """What a compaction leaves, on average over the recorded ones; the published figures where there is none."""
    found = [one for session, factor in zip(sessions, factors, strict=True) for one in boundaries(session, factor)]
    if not found:
        return Typical()
    return Typical(
        round(mean(one.summary for one in found)), round(mean(one.kept for one in found)), boundaries=len(found)
    )


def reorientation(sessions: Sequence[Session], factors: Sequence[Factors]) -> Reorientation:
    """Steps before the next edit, after each boundary and at the beginning of each other turn that edits."""
    after: list[Search] = []
    usual: list[Search] = []
    for session, factor in zip(sessions, factors, strict=True):
        boundary = set(session.boundaries)
        first: dict[int, int] = {}
        for i, request in enumerate(session.requests):
            first.setdefault(request.turn, i)
        for i in sorted({*boundary, *first.values()} - {0}):
            found = _search(session, factor, i)
            if found is not None:
                (after if i in boundary else usual).append(found)
    return Reorientation(tuple(after), tuple(usual))


def _search(session: Session, factors: Factors, start: int) -> Search | None:
    """The steps from a request on until the next edit; None where no edit follows before the next boundary."""
    before = {one.reads for one in session.items if one.reads >= 0 and one.entry < start}
    actions = rereads = tokens = 0
    for one in session.items:
        if one.made < start and one.entry <= start:
            continue
        if one.made > start and session.requests[min(one.made, len(session.requests) - 1)].boundary:
            return None
        if one.kind == "tool input":
            if one.edits >= 0:
                return Search(actions, rereads, tokens)
            actions += 1
        elif one.kind == "tool output" and one.reads in before:
            rereads += 1
            tokens += round(factors.tokens(one))
    return None
