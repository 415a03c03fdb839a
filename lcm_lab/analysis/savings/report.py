"""The benchmark: sessions in, policies over them, one report out; every number that is published comes from here.

Idea: a report is plain frozen numbers, made from sessions of numbers, so the committed traces give the same report as
the transcripts they were made from. Views only lay it out.
Invariant: a report names its inputs (sessions, prices with their date, model, lifetime of the cache); dollars of
sessions without a price are left out and counted. Checked by ``tests/analysis/savings/test_report.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from lcm_lab.analysis.savings import calibration
from lcm_lab.analysis.savings.acting import Typical
from lcm_lab.analysis.savings.billing import LIFETIMES
from lcm_lab.analysis.savings.calibration import Accuracy
from lcm_lab.analysis.savings.measures import Known, Line, line, retention
from lcm_lab.analysis.savings.policies import AS_RECORDED, PLAIN, STANDARD, Policy, sweep
from lcm_lab.analysis.savings.replay import Replay, Setting, replay
from lcm_lab.analysis.savings.session import Session
from lcm_lab.analysis.savings.typical import Boundary, Reorientation, base, boundaries, reorientation, typical
from lcm_lab.summarizer.prices import price_of

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure

CHANGED_CACHE: Final = (
    *("plain", "native, as recorded", "native at 98k", "masking, keep 10", "masking, keep 10, by 20k"),
    *("three layers alone, T 67k, 10 turns", "three layers alone, T 67k, 20k tokens", "hooks, native at 98k + L1, L2"),
)
"""Policies whose bill is shown for each lifetime of the cache."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class About:
    """One session in the table of inputs."""

    name: str
    model: str
    client: str
    turns: int
    requests: int
    system: int
    largest: int
    compactions: int
    references: int
    one_hour: bool
    cut_by_client: int
    priced: bool
    recorded_input_usd: float | None
    replayed_input_usd: float | None
    recorded_prompt: int
    replayed_prompt: int


@dataclass(frozen=True, slots=True)
class Report:
    """All of it."""

    sessions: tuple[About, ...]
    lines: tuple[Line, ...]
    accuracies: tuple[Accuracy, ...]
    boundaries: tuple[Boundary, ...]
    typical: Typical
    reorientation: Reorientation
    retention: tuple[Known, ...]
    lifetimes: tuple[tuple[str, str, float], ...]
    """(policy, lifetime, dollars)."""

    sweep: tuple[Line, ...]
    priced_as: str
    prices_dated: date | None
    unpriced: tuple[str, ...]
    inputs: str = ""
    replays: dict[str, tuple[Replay, ...]] = field(default_factory=dict, repr=False)
    """By the policy's name; for figures and claims."""

    def figure(self, what: str = "frontier", session: str = "") -> "Figure":
        """One of its figures: context (of a session), frontier, settings, known, lifetimes, sessions."""
        from lcm_lab.analysis.draw import savings_figures

        return savings_figures.named(self, what, session)

    def part(self, *names: str) -> "Part":
        """Only these tables of it.

        Inputs, growth, policies, sessions, known, classes, compactions, lifetimes, sweep, claims.
        """
        return Part(self, names)


@dataclass(frozen=True, slots=True)
class Part:
    """Some tables of a report."""

    report: Report
    names: tuple[str, ...]


@dataclass(slots=True)
class Benchmark:
    """What a report is made from, in progress."""

    sessions: Sequence[Session]
    model: str = ""
    lifetime: str = ""
    progress: Progress | None = None
    _done: int = 0
    _total: int = 1

    def run(self, policies: Sequence[Policy] = STANDARD, *, inputs: str = "") -> Report:
        """Replay everything."""
        grid = sweep()
        self._total = len(policies) + len(grid) + 3 * len(CHANGED_CACHE)
        factors = [calibration.factors_for(one, self.sessions) for one in self.sessions]
        known = typical(self.sessions, factors)
        found = reorientation(self.sessions, factors)
        lifetime = LIFETIMES[self.lifetime] if self.lifetime else None
        settings = [Setting(one, known, lifetime, self.model) for one in factors]
        retained = retention(self.sessions)
        plain = self._replay(PLAIN, settings)
        replays: dict[str, tuple[Replay, ...]] = {}
        lines = []
        for policy in policies:
            replays[policy.name] = plain if policy == PLAIN else self._replay(policy, settings)
            lines.append(line(policy, replays[policy.name], plain, found, retained))
        swept = tuple(line(one, self._replay(one, settings), plain, found, retained) for one in grid)
        recorded = replays.get(AS_RECORDED.name) or self._replay(AS_RECORDED, settings)
        about = tuple(_about(*one) for one in zip(self.sessions, settings, recorded, strict=True))
        dated = [price.dated for one in about if (price := price_of(self.model or one.model))]
        return Report(
            sessions=about,
            lines=tuple(lines),
            accuracies=tuple(calibration.accuracy(self.sessions, rule) for rule in calibration.RULES),
            boundaries=tuple(one for s, f in zip(self.sessions, factors, strict=True) for one in boundaries(s, f)),
            typical=known,
            reorientation=found,
            retention=retained,
            lifetimes=tuple(self._lifetimes(policies, settings)),
            sweep=swept,
            priced_as=self.model,
            prices_dated=next((one for one in dated if one), None),
            unpriced=tuple(one.name for one in about if not one.priced),
            inputs=inputs,
            replays=replays,
        )

    def _replay(self, policy: Policy, settings: Sequence[Setting]) -> tuple[Replay, ...]:
        made = tuple(replay(one, policy, setting) for one, setting in zip(self.sessions, settings, strict=True))
        self._done = min(self._done + 1, self._total)
        if self.progress is not None:
            self.progress("replaying", self._done, self._total)
        return made

    def _lifetimes(self, policies: Sequence[Policy], settings: Sequence[Setting]) -> list[tuple[str, str, float]]:
        found = []
        chosen = [one for one in policies if one.name in CHANGED_CACHE]
        for policy in chosen:
            for name, lifetime in LIFETIMES.items():
                changed = [Setting(one.factors, one.typical, lifetime, one.model) for one in settings]
                usd = sum(one.usd or 0.0 for one in self._replay(policy, changed))
                found.append((policy.name, name, usd))
        return found


def _about(session: Session, setting: Setting, recorded: Replay) -> About:
    models = [one.model for one in session.requests]
    model = max(sorted(set(models)), key=models.count)
    usd = recorded.usd
    return About(
        name=session.name,
        model=model,
        client=session.client,
        turns=session.turns,
        requests=len(session.requests),
        system=base(session, setting.factors),
        largest=max(one.prompt for one in session.requests),
        compactions=len(session.boundaries),
        references=len(session.references),
        one_hour=session.one_hour,
        cut_by_client=session.cut_by_client,
        priced=usd is not None,
        recorded_input_usd=_recorded_usd(session, setting.model),
        replayed_input_usd=None if usd is None else _input_usd(recorded),
        recorded_prompt=sum(one.prompt for one in session.requests),
        replayed_prompt=recorded.prompt_tokens,
    )


def _recorded_usd(session: Session, model: str) -> float | None:
    """The input of all requests by the API's own split; None where a model has no price, or nothing was reported."""
    usd = 0.0
    for one in session.requests:
        price = price_of(model or one.model)
        if price is None:
            return None
        rates = price.for_prompt(one.prompt)
        usd += one.cache_read * rates.cache_read + one.uncached * rates.input
        usd += one.write_5m * rates.cache_write_5m + one.write_1h * rates.cache_write_1h
    return usd / 1e6 if usd else None


def _input_usd(recorded: Replay) -> float:
    usd = 0.0
    for row, request in zip(recorded.rows, recorded.session.requests, strict=True):
        price = price_of(recorded.priced_as or request.model)
        rate = price.for_prompt(row.prompt).output if price else 0.0
        usd += (row.bill.usd or 0.0) - row.bill.output * rate / 1e6
    return usd
