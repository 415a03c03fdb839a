"""The benchmark: sessions in, policies over them, one report out; every number that is published comes from here.

Idea: a report is plain frozen numbers, made from sessions of numbers, so the committed traces give the same report as
the transcripts they were made from. Views only lay it out.
Invariant: a report names its inputs (sessions, prices with their date, model, lifetime of the cache); dollars of
sessions without a price are left out and counted. Checked by ``tests/analysis/savings/test_report.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from statistics import median, quantiles
from typing import Final

from lcm_lab.analysis.savings import calibration, references
from lcm_lab.analysis.savings.acting import Typical
from lcm_lab.analysis.savings.billing import LIFETIMES
from lcm_lab.analysis.savings.calibration import Accuracy
from lcm_lab.analysis.savings.policies import AS_RECORDED, LAYERS, PLAIN, RECORDED, STANDARD, Policy, sweep
from lcm_lab.analysis.savings.replay import IN_CONTEXT, LOST, ONE_LOOKUP, Replay, Setting, replay
from lcm_lab.analysis.savings.session import Session
from lcm_lab.analysis.savings.typical import Boundary, Reorientation, base, boundaries, reorientation, typical
from lcm_lab.summarizer.prices import price_of

WINDOW: Final = 200_000
"""The window that figures about fitting are reckoned with."""

CHANGED_CACHE: Final = (
    *("plain", "native, as recorded", "native at 98k", "masking, keep 10", "masking, keep 10, by 20k"),
    *("three layers alone, T 67k, 10 turns", "three layers alone, T 67k, 20k tokens", "hooks, native at 98k + L1, L2"),
)
"""Policies whose bill is shown for each lifetime of the cache."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Known:
    """Of the references of one class: how many were still in the context, one look-up away, lost."""

    kind: str
    n: int
    context: int
    lookup: int
    lost: int

    @property
    def context_share(self) -> float | None:
        """The share that was still in the context."""
        return self.context / self.n if self.n else None

    @property
    def reachable_share(self) -> float | None:
        """The share that was in the context or one look-up away."""
        return (self.context + self.lookup) / self.n if self.n else None


@dataclass(frozen=True, slots=True)
class Spread:
    """How a figure differs between sessions: not only means."""

    n: int
    lowest: float
    quarter: float
    median: float
    three_quarters: float
    highest: float


@dataclass(frozen=True, slots=True)
class Line:
    """One policy over all sessions. Savings are against *plain*, as shares; ``usd`` includes the summaries' calls.

    ``reorientation_usd`` is what the steps after compactions would cost more, if each took what the recorded ones did;
    it is not in ``usd``. ``expected_share``: known in the context if a summary that was not written here held as much
    as the recorded ones.
    """

    policy: Policy
    sessions: int
    requests: int
    prompt_tokens: int
    read: int
    written_5m: int
    written_1h: int
    uncached: int
    output: int
    usd: float
    call_usd: float
    reorientation_usd: float
    peak: int
    compactions: int
    beyond_window: int
    saved_tokens: float | None
    saved_usd: float | None
    known: Known
    expected_share: float | None
    by_class: tuple[Known, ...]
    tokens_spread: Spread | None
    usd_spread: Spread | None


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


def line(
    policy: Policy,
    replays: Sequence[Replay],
    plain: Sequence[Replay],
    found: Reorientation,
    retained: Sequence[Known],
) -> Line:
    """One policy's figures over all sessions; dollars over those that have a price."""
    priced = [(one, base_line) for one, base_line in zip(replays, plain, strict=True) if base_line.usd is not None]
    usd = sum(one.usd or 0.0 for one, _ in priced)
    plain_usd = sum(base_line.usd or 0.0 for _, base_line in priced)
    tokens = sum(one.prompt_tokens for one in replays)
    plain_tokens = sum(one.prompt_tokens for one in plain)
    pairs = [pair for one in replays for pair in zip(one.session.references, one.states, strict=True)]
    states = [(ref.kind, state) for ref, state in pairs]
    whole = _known("all", [state for _, state in states])
    return Line(
        policy=policy,
        sessions=len(replays),
        requests=sum(len(one.rows) for one in replays),
        prompt_tokens=tokens,
        read=sum(one.billed("read") for one in replays),
        written_5m=sum(one.billed("written_5m") for one in replays),
        written_1h=sum(one.billed("written_1h") for one in replays),
        uncached=sum(one.billed("uncached") for one in replays),
        output=sum(one.billed("output") for one in replays),
        usd=usd,
        call_usd=sum(one.call_usd for one, _ in priced),
        reorientation_usd=sum(_reorientation_usd(one, found) for one, _ in priced),
        peak=max((one.peak for one in replays), default=0),
        compactions=sum(one.compactions for one in replays),
        beyond_window=sum(one.beyond(WINDOW) for one in replays),
        saved_tokens=1 - tokens / plain_tokens if plain_tokens else None,
        saved_usd=1 - usd / plain_usd if plain_usd else None,
        known=whole,
        expected_share=_expected(policy, states, retained),
        by_class=tuple(_known(kind, [state for k, state in states if k == kind]) for kind in references.KINDS),
        tokens_spread=spread([1 - a.prompt_tokens / b.prompt_tokens for a, b in zip(replays, plain, strict=True)]),
        usd_spread=spread([1 - (a.usd or 0.0) / b.usd for a, b in priced if b.usd]),
    )


def spread(values: Sequence[float]) -> Spread | None:
    """Extremes, quartiles and median; None without values."""
    if not values:
        return None
    low, middle, high = quantiles(values, n=4, method="inclusive") if len(values) > 1 else (values[0],) * 3
    return Spread(len(values), min(values), low, middle, high, max(values))


def retention(sessions: Sequence[Session]) -> tuple[Known, ...]:
    """Of the references at recorded compactions: how many stood in the client's summary, by class and altogether."""
    found: list[tuple[str, bool]] = []
    for session in sessions:
        marks = set(session.boundaries)
        met = [ref for ref in session.references if ref.cut in marks]
        found += [(ref.kind, any(session.items[i].kind == "summary" for i in ref.where)) for ref in met]
    kinds = ("all", *references.KINDS)
    chosen = {kind: [held for k, held in found if kind in ("all", k)] for kind in kinds}
    return tuple(Known(k, len(v), sum(v), 0, len(v) - sum(v)) for k, v in chosen.items())


def _expected(policy: Policy, states: Sequence[tuple[str, str]], retained: Sequence[Known]) -> float | None:
    share = retained[0].context_share
    if not states or share is None or policy.compaction in (RECORDED, LAYERS, "never"):
        return None
    held = sum(state == IN_CONTEXT for _, state in states)
    return (held + share * (len(states) - held)) / len(states)


def _known(kind: str, states: Sequence[str]) -> Known:
    return Known(kind, len(states), states.count(IN_CONTEXT), states.count(ONE_LOOKUP), states.count(LOST))


def _reorientation_usd(one: Replay, found: Reorientation) -> float:
    if not one.compactions or not one.rows:
        return 0.0
    price = price_of(one.session.requests[0].model)
    if price is None:
        return 0.0
    write = price.cache_write_1h if one.session.one_hour else price.cache_write_5m
    typical_prompt = median(row.prompt for row in one.rows)
    each = found.extra_tokens * write + found.extra_actions * typical_prompt * price.cache_read
    return one.compactions * each / 1e6


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
        recorded_input_usd=_recorded_usd(session),
        replayed_input_usd=None if usd is None else _input_usd(recorded),
        recorded_prompt=sum(one.prompt for one in session.requests),
        replayed_prompt=recorded.prompt_tokens,
    )


def _recorded_usd(session: Session) -> float | None:
    """The input of all requests by the API's own split; None where a model has no price, or nothing was reported."""
    usd = 0.0
    for one in session.requests:
        price = price_of(one.model)
        if price is None:
            return None
        rates = price.for_prompt(one.prompt)
        usd += one.cache_read * rates.cache_read + one.uncached * rates.input
        usd += one.write_5m * rates.cache_write_5m + one.write_1h * rates.cache_write_1h
    return usd / 1e6 if usd else None


def _input_usd(recorded: Replay) -> float:
    usd = 0.0
    for row, request in zip(recorded.rows, recorded.session.requests, strict=True):
        price = price_of(request.model)
        rate = price.for_prompt(row.prompt).output if price else 0.0
        usd += (row.bill.usd or 0.0) - row.bill.output * rate / 1e6
    return usd
