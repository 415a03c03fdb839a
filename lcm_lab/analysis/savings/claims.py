"""The concept's claims, each with what the sessions say and how many things that was measured on.

Idea: a claim is quoted in one line, answered by a number, and its n stands beside it. None is called right or wrong in
general: the sessions at hand are what they are.
Invariant: every number is reckoned from the report's sessions and replays, none is written here. Checked by
``tests/analysis/savings/test_report.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

from lcm_lab.analysis.savings.calibration import factors_for
from lcm_lab.analysis.savings.context import KINDS, SYSTEM
from lcm_lab.analysis.savings.policies import AS_RECORDED, CONCEPT, CONCEPT_BIG, CONCEPT_SMALL, CONCEPT_TURNS, PLAIN
from lcm_lab.analysis.savings.replay import Replay
from lcm_lab.analysis.savings.report import Report
from lcm_lab.analysis.savings.session import Session

_CLIENT_SMALL = 18_000
"""10 % as the client reckons it on a window of 200,000: of the window less 20,000."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim, what was found, and the n of it."""

    claim: str
    found: str
    n: str


def answers(report: Report) -> tuple[Claim, ...]:
    """Every claim of the concept that a number can answer; none where the report lacks the policies it takes."""
    if not all(one.name in report.replays for one in (PLAIN, AS_RECORDED, CONCEPT)):
        return ()
    plain = report.replays[PLAIN.name]
    sessions = [one.session for one in plain]
    recorded = report.replays[AS_RECORDED.name]
    concept = report.replays[CONCEPT.name]
    return (
        *_per_turn(sessions, plain, concept),
        *_sizes(recorded),
        *_layers(sessions),
        _loss(report, concept),
        *_threshold(report, sessions),
        *_protected(sessions, plain),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _per_turn(sessions: Sequence[Session], plain: Sequence[Replay], concept: Sequence[Replay]) -> list[Claim]:
    with_memory = [one for one in sessions if one.layers.turns and one.layers.raw]
    turns = sum(one.layers.turns for one in with_memory)
    raw = sum(_history(one) for one in with_memory)
    kept = sum(one.layers.l1 + one.layers.l2 for one in with_memory)
    each = [1 - (one.layers.l1 + one.layers.l2) / _history(one) for one in with_memory]
    before, after = (sum(one.prompt_tokens for one in arm) for arm in (plain, concept))
    usd = [(a.usd, b.usd) for a, b in zip(plain, concept, strict=True) if a.usd is not None and b.usd is not None]
    ends = [_end(a, b) for a, b in zip(plain, concept, strict=True)]
    first, last = sum(a for a, _ in ends), sum(b for _, b in ends)
    found = []
    if raw:
        text = f"{_percent(1 - kept / raw)} if every turn is folded (by session: median {_percent(median(each))}, "
        text += f"lowest {_percent(min(each))})"
        found.append(Claim("97 % fewer tokens a turn", text, f"{turns} turns, {len(with_memory)} sessions"))
    text = f"{_percent(1 - after / before)} of the input tokens, {_percent(1 - last / first)} of the history at the end"
    if sum(a for a, _ in usd):
        text += f", {_percent(1 - sum(b for _, b in usd) / sum(a for a, _ in usd))} of the dollars"
    claim = "97 % less, with the concept's own rules (10 %, newest 10 turns raw), if nothing but L1 and L2 were left"
    found.append(Claim(claim, text, f"{len(plain)} sessions, {sum(len(one.rows) for one in plain)} requests"))
    return found


def _history(session: Session) -> int:
    """Tokens of a session's own texts by the plain rule, the client's summaries apart."""
    return max(1, sum(one.estimate for one in session.items if one.kind != "summary"))


def _end(plain: Replay, other: Replay) -> tuple[int, int]:
    """History of the last prompt, under plain and under another policy."""
    system = plain.rows[-1].by_class[KINDS.index(SYSTEM)]
    return plain.rows[-1].prompt - system, other.rows[-1].prompt - system


def _sizes(recorded: Sequence[Replay]) -> list[Claim]:
    rows = [row for one in recorded for row in one.rows]
    system = sum(row.by_class[KINDS.index(SYSTEM)] for row in rows)
    prompts = sum(row.prompt for row in rows)
    shares = [1 - row.by_class[KINDS.index(SYSTEM)] / row.prompt for row in rows if row.prompt]
    turns: dict[tuple[int, int], int] = {}
    for i, one in enumerate(recorded):
        for request, row in zip(one.session.requests, one.rows, strict=True):
            turns[i, row.turn] = turns.get((i, row.turn), 0) + (request.prompt or row.prompt)
    real = [request.prompt for one in recorded for request in one.session.requests if request.prompt]
    text = f"{_percent(1 - system / prompts)} of all input tokens; median request {_percent(median(shares))}"
    found = [Claim("history is 87 % of the context", text, f"{len(rows)} requests")]
    if real:
        text = f"a request: mean {mean(real):,.0f}, median {median(real):,.0f}; a turn with all its requests: mean "
        text += f"{mean(turns.values()):,.0f}, median {median(turns.values()):,.0f}"
        found.append(Claim("188K tokens a turn", text, f"{len(real)} requests, {len(turns)} turns"))
    return found


def _layers(sessions: Sequence[Session]) -> list[Claim]:
    known = [one for one in sessions if one.layers.turns]
    turns = sum(one.layers.turns for one in known)
    if not turns:
        return []
    scale = [factors_for(one, sessions).by_class["assistant"] for one in known]
    found = []
    for name, says, values in (
        ("L1", "about 10 tokens", [one.layers.l1 for one in known]),
        ("L2", "about 50 tokens", [one.layers.l2 for one in known]),
    ):
        real = sum(value * factor for value, factor in zip(values, scale, strict=True))
        text = f"{real / turns:.0f} a turn, calibrated ({sum(values) / turns:.0f} by characters / 4)"
        found.append(Claim(f"{name}: {says} a turn", text, f"{turns} turns"))
    return found


def _loss(report: Report, concept: Sequence[Replay]) -> Claim:
    known = next(one.known for one in report.lines if one.policy == CONCEPT)
    folded = sum(one.compactions for one in concept)
    text = "no reference to measure on"
    if known.n:
        text = (
            f"{_percent(known.context / known.n)} still in the context, {_percent(known.lookup / known.n)} one look-up "
        )
        text += f"away, {_percent(known.lost / known.n)} lost"
    return Claim("zero loss", text, f"{known.n} references, {folded} foldings")


def _threshold(report: Report, sessions: Sequence[Session]) -> list[Claim]:
    systems = [one.system for one in report.sessions if one.system]
    n = len(systems)
    above = sum(one > _CLIENT_SMALL for one in systems)
    text = f"the system prompt alone is above {_CLIENT_SMALL:,} in {above} of {n} sessions (median "
    text += f"{median(systems) if systems else 0:,.0f}): a compaction there would be due again at once"
    plain = report.replays[PLAIN.name]
    reached = sum(one.peak > CONCEPT_BIG for one in plain)
    big = f"{CONCEPT_BIG:,} on a window of one million: {reached} of {len(plain)} sessions ever reach it"
    sizes = [
        request.before
        for one in sessions
        for request in one.requests
        if request.boundary and request.before and not request.manual
    ]
    shares = [size / 200_000 for size in sizes]
    auto = "no automatic compaction recorded"
    if shares:
        auto = f"automatic compactions came at {_percent(min(shares))} to {_percent(max(shares))} of 200,000"
    return [
        Claim(f"compact at 10 % (here {CONCEPT_SMALL:,} of 200,000)", text, f"{n} sessions"),
        Claim("compact at 10 %, larger window", big, f"{len(plain)} sessions"),
        Claim("the default is about 95 %", auto, f"{len(shares)} automatic compactions"),
    ]


def _protected(sessions: Sequence[Session], plain: Sequence[Replay]) -> list[Claim]:
    longer = sum(max((r.turn for r in one.requests), default=0) > CONCEPT_TURNS for one in sessions)
    shares = []
    largest = 0
    for one, run in zip(sessions, plain, strict=True):
        history = run.rows[-1].prompt - run.rows[-1].by_class[KINDS.index(SYSTEM)]
        by_turn: dict[int, float] = {}
        factors = factors_for(one, sessions)
        for item in one.items:
            if item.kind != "summary":
                by_turn[item.turn] = by_turn.get(item.turn, 0.0) + factors.tokens(item)
        newest = sorted(by_turn, reverse=True)[:CONCEPT_TURNS]
        largest = max(largest, round(max(by_turn.values(), default=0)))
        if history > 0:
            shares.append(min(1.0, sum(by_turn[turn] for turn in newest) / history))
    text = f"{longer} of {len(sessions)} sessions ever have more than {CONCEPT_TURNS} turns; at the end the newest "
    share = _percent(median(shares)) if shares else "-"
    text += f"{CONCEPT_TURNS} are {share} of the history (median); the largest turn has {largest:,} tokens"
    return [Claim("the newest 10 turns stay raw", text, f"{len(sessions)} sessions")]
