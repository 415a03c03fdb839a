"""Which settings would have saved something on sessions like these, and whether that is worth it.

Idea: the client offers two knobs for when it compacts, and the hooks add L1 and L2 to what it keeps. Each pair is
replayed on the user's own sessions and judged by dollars *and* by what would still have been known: a setting is on the
*frontier* when no other one is at least as cheap and knows at least as much. What only a program that drives the API
itself could do (layers in the place of the history, masking) is shown apart: it tells how far the client's way is from
what is possible.
Invariant: nothing is recommended that does not save dollars in the median session it touches, that another setting
beats, or that would have lost more than it may. Checked by ``tests/analysis/savings/test_advice.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lcm_lab.analysis.savings import calibration
from lcm_lab.analysis.savings.measures import Line, Spread, line, retention, spread
from lcm_lab.analysis.savings.policies import AS_RECORDED, LAYERS, NATIVE, NATIVE_LAYERS, PLAIN, Policy
from lcm_lab.analysis.savings.replay import Setting, replay
from lcm_lab.analysis.savings.session import Session
from lcm_lab.analysis.savings.typical import base, reorientation, typical
from lcm_lab.hooks.threshold import BIG_MODEL, SMALL_MODEL, fires_at

Progress = Callable[[str, int, int], None]

WORTH_SHARE: Final = 0.03
"""A smaller saving in the median session that it touches is none."""

MOST_LOST: Final = 0.10
"""More references than this out of reach, and a setting is not recommended."""

RECENT: Final = 20
WINDOWS: Final = (100_000, 120_000, 150_000, 200_000)
PERCENTS: Final = (10, 20, 30, 50)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One setting: where it compacts, how it is set, its figures, and how its saving spreads.

    Savings are against the sessions as they were recorded; ``saved_usd`` is over all of them and has the steps to find
    the way again in it, ``saved`` spreads over the sessions that the setting touches. ``settable``: the client can be
    told to do so today.
    """

    name: str
    threshold: int
    window: int | None
    percent: float | None
    protected: str
    settable: bool
    line: Line
    saved_usd: float
    saved: Spread | None
    on_frontier: bool
    command: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What was looked at, and what comes of it; ``chosen`` is None where there is nothing to gain."""

    sessions: int
    requests: int
    recorded_usd: float
    system: int
    big: bool
    candidates: tuple[Candidate, ...]
    chosen: Candidate | None
    sentence: str
    names: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()


def advise(sessions: Sequence[Session], *, model: str = "", progress: Progress | None = None) -> Advice:
    """Replay the sessions under every setting and name the one to take, if any."""
    factors = [calibration.factors_for(one, sessions) for one in sessions]
    known, found = typical(sessions, factors), reorientation(sessions, factors)
    settings = [Setting(one, known, model=model) for one in factors]
    retained = retention(sessions)
    pairs = list(zip(sessions, settings, strict=True))
    plain = [replay(one, PLAIN, setting) for one, setting in pairs]
    recorded = [replay(one, AS_RECORDED, setting) for one, setting in pairs]
    recorded_usd = sum(one.usd or 0.0 for one in recorded)
    system = max((base(one, factor) for one, factor in zip(sessions, factors, strict=True)), default=0)
    big = any(request.prompt > SMALL_MODEL for one in sessions for request in one.requests)
    tried = _settings(big=big, system=system)
    made: list[Candidate] = []
    for number, (policy, window, percent) in enumerate(tried, 1):
        replays = [replay(one, policy, setting) for one, setting in pairs]
        figures = line(policy, replays, plain, found, retained)
        both = [(a.usd, b.usd) for a, b in zip(replays, recorded, strict=True)]
        touched = [a.compactions or b.compactions for a, b in zip(replays, recorded, strict=True)]
        shares = [1 - a / b for (a, b), met in zip(both, touched, strict=True) if met and a is not None and b]
        saved = 1 - (figures.usd + figures.reorientation_usd) / recorded_usd if recorded_usd else 0.0
        made.append(_candidate(policy, window, percent, figures, saved, spread(shares)))
        if progress is not None:
            progress("replaying", number, len(tried))
    frontier = {name for kind in (True, False) for name in _frontier([one for one in made if one.settable is kind])}
    made = [one if one.name not in frontier else replace(one, on_frontier=True) for one in made]
    chosen = _choose(made)
    return Advice(
        sessions=len(sessions),
        requests=sum(len(one.requests) for one in sessions),
        recorded_usd=recorded_usd,
        system=system,
        big=big,
        candidates=tuple(made),
        chosen=chosen,
        sentence=_sentence(chosen, made, recorded_usd, len(sessions)),
        names=tuple(one.name for one in sessions),
    )


def _settings(*, big: bool, system: int) -> list[tuple[Policy, int | None, float | None]]:
    """What can be set, and what could be done by a program of one's own.

    Nothing that a session's own load would fill.
    """
    found: list[tuple[Policy, int | None, float | None]] = []
    model = BIG_MODEL if big else SMALL_MODEL
    knobs: list[tuple[int | None, float | None]] = [(window, None) for window in WINDOWS]
    knobs += [(None, percent) for percent in PERCENTS] if big else []
    for window, percent in knobs:
        at = fires_at(model, window, percent)
        if at is None or at < system * 1.3:
            continue
        found.append((Policy(f"native at {at // 1000}k", NATIVE, at), window, percent))
        found.append((Policy(f"hooks at {at // 1000}k", NATIVE_LAYERS, at), window, percent))
    for at in (67_000, 98_000):
        for turns, tokens in ((3, None), (10, None), (None, 20_000)):
            what = f"{turns} turns" if turns else f"{(tokens or 0) // 1000}k tokens"
            name = f"layers alone at {at // 1000}k, {what} raw"
            found.append((Policy(name, LAYERS, at, protect_turns=turns, protect_tokens=tokens), None, None))
    found.append((Policy("masking by 20k, keep 10", keep_results=10, clear_least=20_000), None, None))
    return found


def _candidate(
    policy: Policy, window: int | None, percent: float | None, figures: Line, saved: float, over: Spread | None
) -> Candidate:
    settable = window is not None or percent is not None
    command = ""
    if settable:
        option = f"--window {window}" if window is not None else f"--threshold {percent:g}"
        command = f"lcm-lab hooks install {option}"
        if policy.compaction == NATIVE:
            command = f"autoCompactWindow {window}" if window is not None else f"percentage {percent:g}"
    protected = "the last exchange"
    if policy.compaction == LAYERS:
        raw = policy.protect_turns
        protected = f"{raw} turns" if raw is not None else f"{policy.protect_tokens:,} tokens"
    elif policy.keep_results is not None:
        protected = f"{policy.keep_results} results"
    return Candidate(
        policy.name, policy.threshold, window, percent, protected, settable, figures, saved, over, False, command
    )


def _reach(one: Candidate) -> float:
    """The share that would have been known, or one look-up away.

    What a summary may hold counts as the recorded ones.
    """
    known = one.line.known
    if not known.n:
        return 1.0
    return max((known.context + known.lookup) / known.n, one.line.expected_share or 0.0)


def _frontier(candidates: Sequence[Candidate]) -> set[str]:
    """Names of those that no other one beats in dollars and in what is known at once."""

    def share(one: Candidate) -> float:
        known = one.line.known
        return one.line.expected_share or (known.context / known.n if known.n else 1.0)

    beaten = set()
    for one in candidates:
        for other in candidates:
            better = other.saved_usd >= one.saved_usd and share(other) >= share(one)
            if better and (other.saved_usd > one.saved_usd or share(other) > share(one)):
                beaten.add(one.name)
    return {one.name for one in candidates} - beaten


def _choose(candidates: Sequence[Candidate]) -> Candidate | None:
    """The settable one that saves most.

    Among those that save anything in the median session that it touches and lose little.
    """
    good = [
        one
        for one in candidates
        if one.settable and one.on_frontier and one.saved and one.saved.median > 0 and one.saved_usd >= WORTH_SHARE
    ]
    good = [one for one in good if 1 - _reach(one) <= MOST_LOST]
    return max(good, key=lambda one: one.saved_usd, default=None)


def _sentence(chosen: Candidate | None, made: Sequence[Candidate], recorded_usd: float, sessions: int) -> str:
    if not recorded_usd:
        return "None of these sessions has a model with a price: name one with --model to reckon in its dollars."
    if chosen is None or chosen.saved is None:
        best = max((one.saved_usd for one in made if one.settable), default=0.0)
        text = "There is nothing to gain: no setting of the client saves dollars in the median session that it touches "
        text += "and keeps what was used again within reach "
        text += f"(the best one saves {100 * best:.0f} % in all, over {sessions} sessions)."
        return text
    low, high = chosen.saved.lowest, chosen.saved.highest
    knob = f"a window of {chosen.window:,}" if chosen.window else f"{chosen.percent:g} %"
    text = f"Take {chosen.name} ({knob}: it compacts at {chosen.threshold:,}, {chosen.protected} stays raw): "
    text += f"{100 * chosen.saved_usd:.0f} % of the dollars less, steps to find the way again included "
    text += (
        f"(in the {chosen.saved.n} of {sessions} sessions that it touches: median {100 * chosen.saved.median:.0f} %, "
    )
    text += f"from {100 * low:.0f} % to {100 * high:.0f} %)."
    return text
