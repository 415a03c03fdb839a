"""From a plain count of characters to tokens: factors measured against the usage that the API reported.

Idea: between two requests of one stretch (a session's beginning, a compaction or a new root starts one) the context
grows by what stands in the transcript between them. What comes before a stretch's first request (system prompt, tools,
instructions) is in no transcript, so only growth is predicted, from text alone. Factors come from *other* sessions of
the same family of models (leave one out), so the error that is reported is one that a new session would meet.

Invariant: a session's own usage never enters the factors that its error is measured with. Checked by
``tests/analysis/savings/test_calibration.py``.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from lcm_lab.analysis.savings.session import CLASSES, Item, Session

TARGET: Final = 0.15
ENOUGH: Final = 20
"""Requests with usage that a family needs before it gets factors of its own."""

STIFFNESS: Final = 0.1
"""How strongly a class's factor is held to the common one; small classes move little."""

_NEWER: Final = re.compile(r"(?:opus-(?:4-[7-9]|[5-9])|sonnet-[5-9]|haiku-[5-9]|fable|mythos)")
_FIXED: Final = frozenset({"image"})


def family(model: str) -> str:
    """The family of models that count alike: newer ones make about 30 % more tokens of the same text.

    >>> family("claude-opus-4-5-20251101"), family("claude-opus-5-5"), family("kimi-k2.5")
    ('claude to 4.6', 'claude from 4.7', 'kimi-k2.5')
    """
    if "claude" not in model:
        return model or "unknown"
    return "claude from 4.7" if _NEWER.search(model) else "claude to 4.6"


@dataclass(frozen=True, slots=True)
class Factors:
    """Tokens for one estimated token, by class, and what each request adds around its texts."""

    by_class: dict[str, float]
    overhead: float = 0.0
    sessions: int = 0

    def tokens(self, item: Item) -> float:
        """The tokens of an item."""
        return item.estimate if item.kind in _FIXED else item.estimate * self.by_class.get(item.kind, 1.0)


PLAIN: Final = Factors(dict.fromkeys(CLASSES, 1.0))


@dataclass(frozen=True, slots=True)
class Step:
    """Growth between two requests: as reported, and what entered, by class, by a plain rule."""

    stretch: int
    growth: int
    added: dict[str, float]


@dataclass(frozen=True, slots=True)
class Fault:
    """How far a prediction from text was from the API's own figures, for one session and one rule.

    ``end`` is the error of the growth over whole stretches, ``along`` that at every request on the way, each as a share
    of the growth.
    """

    session: str
    requests: int
    stretches: int
    growth: int
    predicted: float
    end: float
    along: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The error of one rule over all sessions, each predicted with what the others taught."""

    rule: str
    faults: tuple[Fault, ...]

    @property
    def median(self) -> float | None:
        """The median over the sessions."""
        return median(one.end for one in self.faults) if self.faults else None

    @property
    def median_along(self) -> float | None:
        """The median of the errors on the way."""
        return median(one.along for one in self.faults) if self.faults else None


def steps(session: Session, size: Callable[[Item], float] = lambda item: item.estimate) -> list[Step]:
    """Every growth within a stretch, and what entered with it."""
    found: list[Step] = []
    thinking = 0.0
    last = 0
    stretch = -1
    for request, entering in zip(session.requests, session.entering(), strict=True):
        if request.boundary or request.fresh:
            last, thinking = 0, 0.0
        if not request.has_usage:
            continue
        added = dict.fromkeys(CLASSES, 0.0)
        for i in entering:
            added[session.items[i].kind] += size(session.items[i])
        if request.resumed:
            added["thinking"] -= thinking
            thinking = 0.0
        thinking += max(0.0, added["thinking"])
        if last:
            found.append(Step(stretch, request.prompt - last, added))
        else:
            stretch += 1
        last = request.prompt
    return found


def common(all_steps: Sequence[Step]) -> Factors:
    """One factor for all classes: what the API reported over what was counted."""
    grown = sum(one.growth - one.added["image"] for one in all_steps)
    counted = sum(sum(v for k, v in one.added.items() if k not in _FIXED) for one in all_steps)
    return Factors(dict.fromkeys(CLASSES, grown / counted if counted > 0 and grown > 0 else 1.0))


def fit(all_steps: Sequence[Step]) -> Factors:
    """A factor for each class and the overhead of a request, by least squares held to the common factor."""
    start = common(all_steps)
    if len(all_steps) < ENOUGH:
        return start
    import numpy as np

    names = [name for name in CLASSES if name not in _FIXED]
    table = np.array([[one.added[name] for name in names] + [1.0] for one in all_steps])
    grown = np.array([one.growth - one.added["image"] for one in all_steps], dtype=float)
    prior = np.array([start.by_class[name] for name in names] + [0.0])
    weight = STIFFNESS * float((table[:, :-1] ** 2).sum(axis=0).mean())
    hold = np.diag([weight] * len(names) + [weight / 1e4])
    solved: Any = np.linalg.solve(table.T @ table + hold, table.T @ grown + hold @ prior)
    by_class = {name: max(0.1, float(solved[i])) for i, name in enumerate(names)}
    return Factors({**dict.fromkeys(CLASSES, 1.0), **by_class}, overhead=float(solved[-1]))


RULES: Final[dict[str, tuple[Callable[[Item], float], Callable[[Sequence[Step]], Factors]]]] = {
    "characters / 4, as it is": (lambda item: item.estimate, lambda _steps: PLAIN),
    "characters / 4, one factor": (lambda item: item.estimate, common),
    "characters / 4, a factor for each class": (lambda item: item.estimate, fit),
    "short words and signs, as they are": (lambda item: item.pieces, lambda _steps: PLAIN),
    "short words and signs, one factor": (lambda item: item.pieces, common),
}
"""Every rule that was tried: how a text is counted, and how its count is turned into tokens."""

CHOSEN: Final = "characters / 4, a factor for each class"


def accuracy(sessions: Sequence[Session], rule: str = CHOSEN) -> Accuracy:
    """Each session predicted with what the others of its family taught (all others where it has no family)."""
    size, teach = RULES[rule]
    known = {id(one): steps(one, size) for one in sessions}
    faults = []
    for one in sessions:
        if not known[id(one)]:
            continue
        others = [step for other in _kin(one, sessions) for step in known[id(other)]]
        if not others and teach(()) is not PLAIN:
            continue
        faults.append(_fault(one, known[id(one)], teach(others)))
    return Accuracy(rule, tuple(faults))


def factors_for(session: Session, sessions: Sequence[Session]) -> Factors:
    """Factors from all sessions of its family, brought to the session's own level where it reported enough."""
    kin = [*_kin(session, sessions), session]
    taught = fit([step for one in kin for step in steps(one)])
    own = steps(session)
    predicted = sum(_predicted(step, taught) for step in own)
    grown = sum(step.growth for step in own)
    if len(own) < ENOUGH or predicted <= 0 or grown <= 0:
        return taught
    level = min(2.0, max(0.5, grown / predicted))
    by_class = {name: factor * level for name, factor in taught.by_class.items()}
    return Factors(by_class, taught.overhead * level, len(kin))


def _kin(session: Session, sessions: Sequence[Session]) -> list[Session]:
    others = [one for one in sessions if one is not session]
    mine = main_family(session)
    kin = [one for one in others if main_family(one) == mine]
    return kin if sum(len(one.requests) for one in kin) >= ENOUGH else others


def main_family(session: Session) -> str:
    """The family that most of its requests went to."""
    names = [family(one.model) for one in session.requests]
    return max(sorted(set(names)), key=names.count, default="unknown")


def _predicted(step: Step, factors: Factors) -> float:
    counted = sum(v if k in _FIXED else v * factors.by_class[k] for k, v in step.added.items())
    return counted + factors.overhead


def _fault(session: Session, found: list[Step], factors: Factors) -> Fault:
    real: dict[int, float] = {}
    said: dict[int, float] = {}
    off = passed = 0.0
    for step in found:
        real[step.stretch] = real.get(step.stretch, 0.0) + step.growth
        said[step.stretch] = said.get(step.stretch, 0.0) + _predicted(step, factors)
        off += abs(said[step.stretch] - real[step.stretch])
        passed += abs(real[step.stretch])
    grown = sum(abs(one) for one in real.values())
    wrong = sum(abs(said[one] - real[one]) for one in real)
    total = round(sum(real.values()))
    return Fault(
        session.name,
        len(found),
        len(real),
        total,
        sum(said.values()),
        wrong / grown if grown else 0.0,
        off / passed if passed else 0.0,
    )
