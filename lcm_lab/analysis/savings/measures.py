"""The figures of one policy over all sessions: tokens, dollars, what is known, and how that differs between sessions.

Idea: sums hide outliers, so every share comes with its spread over the sessions, and with its n.
Invariant: savings are against *plain* of the same sessions; dollars count only sessions that have a price. Checked by
``tests/analysis/savings/test_report.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles
from typing import Final

from lcm_lab.analysis.savings import references
from lcm_lab.analysis.savings.policies import LAYERS, NEVER, RECORDED, Policy
from lcm_lab.analysis.savings.replay import IN_CONTEXT, LOST, ONE_LOOKUP, Replay
from lcm_lab.analysis.savings.session import Session
from lcm_lab.analysis.savings.typical import Reorientation
from lcm_lab.summarizer.prices import price_of

WINDOW: Final = 200_000
"""The window that figures about fitting are reckoned with."""


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
    if not states or share is None or policy.compaction in (RECORDED, LAYERS, NEVER):
        return None
    held = sum(state == IN_CONTEXT for _, state in states)
    return (held + share * (len(states) - held)) / len(states)


def _known(kind: str, states: Sequence[str]) -> Known:
    return Known(kind, len(states), states.count(IN_CONTEXT), states.count(ONE_LOOKUP), states.count(LOST))


def _reorientation_usd(one: Replay, found: Reorientation) -> float:
    if not one.compactions or not one.rows:
        return 0.0
    price = price_of(one.priced_as or one.session.requests[0].model)
    if price is None:
        return 0.0
    write = price.cache_write_1h if one.session.one_hour else price.cache_write_5m
    typical_prompt = median(row.prompt for row in one.rows)
    each = found.extra_tokens * write + found.extra_actions * typical_prompt * price.cache_read
    return one.compactions * each / 1e6
