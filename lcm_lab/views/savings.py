"""Tables of the savings benchmark and of the advice."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from lcm_lab.errors import UsageError
from lcm_lab.times import Zone
from lcm_lab.views.table import DASH, Column, Table, make

if TYPE_CHECKING:
    from lcm_lab.analysis.savings.advice import Advice
    from lcm_lab.analysis.savings.measures import Known, Spread
    from lcm_lab.analysis.savings.report import Part, Report

DOLLARS = "US dollars at list prices; who has a subscription reads them as API-equivalent"


def report(result: "Report", zone: Zone) -> list[Table]:  # noqa: ARG001  (as every view)
    """The whole benchmark."""
    return [table for make_tables in _PARTS.values() for table in make_tables(result)]


def part(result: "Part", zone: Zone) -> list[Table]:  # noqa: ARG001  (as every view)
    """Some of its tables."""
    unknown = [name for name in result.names if name not in _PARTS]
    if unknown:
        raise UsageError(f"A report has no part {unknown[0]!r}; its parts are {', '.join(_PARTS)}.")
    return [table for name in result.names for table in _PARTS[name](result.report)]


def advice(result: "Advice", zone: Zone) -> list[Table]:  # noqa: ARG001  (as every view)
    """What was tried, and what comes of it."""
    names = ["setting", "compacts at", "stays raw", "saved", "median", "worst", "best", "in context", "+ look-up"]
    rows = []
    for one in result.candidates:
        known = one.line.known
        over = one.saved
        rows.append(
            (
                *(one.name, one.threshold or None, one.protected, _percent(one.saved_usd)),
                *(_percent(over.median if over else None), _percent(over.lowest if over else None)),
                *(_percent(over.highest if over else None), _percent(one.line.expected_share or known.context_share)),
                *(_percent(known.reachable_share), "yes" if one.on_frontier else "", one.command),
            )
        )
    numbers: list[Column | str] = [Column(name, right=i > 2 or i == 1) for i, name in enumerate(names)]
    shown = ", ".join(result.names[:6]) + (f" and {len(result.names) - 6} more" if len(result.names) > 6 else "")
    about = make(
        "Advice",
        ["", Column("", wrap=True)],
        [
            ("sessions", f"{result.sessions}: {shown}"),
            ("requests", result.requests),
            ("as recorded", f"{result.recorded_usd:,.2f} dollars"),
            ("system prompt and tools", f"{result.system:,} tokens at most"),
            ("take", (result.chosen.command if result.chosen else "nothing") or DASH),
        ],
        notes=[result.sentence],
    )
    notes = [
        "saved: dollars of all sessions against what was recorded, steps to find the way again included.",
        f"median, worst, best: of the sessions that the setting touches. {DOLLARS}.",
        "in context: of what the model used again; of native summaries as much as the recorded ones held.",
        "Without a command: only for programs that drive the API themselves.",
    ]
    heads = [*numbers, "frontier", Column("command", wrap=True)]
    return [about, make("Settings on these sessions", heads, rows, notes=notes)]


def _percent(share: float | None) -> str:
    return DASH if share is None else f"{100 * share:.1f} %"


def _usd(amount: float | None) -> str:
    return DASH if amount is None else f"{amount:,.2f}"


def _inputs(result: "Report") -> Table:
    heads = [*("session", "client", "model", "turns", "requests", "system", "largest", "compacted"), "references"]
    heads += ["input, recorded", "replayed", "$ input, recorded", "$ replayed"]
    rows = [
        (
            *(one.name, one.client, one.model, one.turns, one.requests, one.system, one.largest, one.compactions),
            *(one.references, one.recorded_prompt, one.replayed_prompt),
            *(_usd(one.recorded_input_usd), _usd(one.replayed_input_usd)),
        )
        for one in result.sessions
    ]
    cut = sum(one.cut_by_client for one in result.sessions)
    priced = f"all priced as {result.priced_as}" if result.priced_as else "each priced as its own model"
    notes = [
        f"Prices of {result.prices_dated or 'no date'}, {priced}. {DOLLARS}.",
        f"Results of tools as the model read them: {cut} of them cut by the client's own limits.",
        "system: system prompt and tools, in no transcript; it stays under every policy.",
        "replayed: native as recorded, sizes from text.",
    ]
    if result.unpriced:
        notes.append(f"Without a price, so in no dollar figure: {', '.join(result.unpriced)}.")
    recorded_all = sum(one.recorded_prompt for one in result.sessions)
    replayed_all = sum(one.replayed_prompt for one in result.sessions if one.recorded_prompt)
    if recorded_all:
        off = _percent(replayed_all / recorded_all - 1)
        notes.append(f"Input tokens replayed against recorded: {replayed_all:,} against {recorded_all:,}, {off} off.")
    both = [one for one in result.sessions if one.recorded_input_usd and one.replayed_input_usd]
    if both:
        recorded = sum(one.recorded_input_usd or 0.0 for one in both)
        replayed = sum(one.replayed_input_usd or 0.0 for one in both)
        notes.append(
            f"Input dollars replayed against recorded: {_usd(replayed)} against {_usd(recorded)}, "
            f"{_percent(replayed / recorded - 1)} off (n {len(both)})."
        )
    columns = [Column(name, right=i > 2) for i, name in enumerate(heads)]
    return make(f"Sessions ({result.inputs})" if result.inputs else "Sessions", columns, rows, notes=notes)


def _accuracy(result: "Report") -> list[Table]:
    from lcm_lab.analysis.savings.calibration import CHOSEN, TARGET

    rows = []
    for one in result.accuracies:
        worst = max((fault.end for fault in one.faults), default=None)
        within = sum(fault.end <= TARGET for fault in one.faults)
        rows.append(
            (one.rule, _percent(one.median), _percent(one.median_along), _percent(worst), within, len(one.faults))
        )
    heads: list[Column | str] = [
        "rule",
        *(Column(n, right=True) for n in ("median error", "on the way", "worst", "within 15 %", "sessions")),
    ]
    said = "Growth after a stretch's first request, from text alone, each session with what the others taught"
    notes = [f"{said}; target {_percent(TARGET)}. Used here: {CHOSEN}."]
    found = [make("Growth of the context, predicted against the API's own figures", heads, rows, notes=notes)]
    chosen = next((one for one in result.accuracies if one.rule == CHOSEN), None)
    faults = chosen.faults if chosen else ()
    each = [
        (
            one.session,
            one.requests,
            one.stretches,
            one.growth,
            round(one.predicted),
            _percent(one.end),
            _percent(one.along),
        )
        for one in faults
    ]
    columns: list[Column | str] = [
        "session",
        *(Column(n, right=True) for n in ("steps", "stretches", "grown", "predicted", "error", "on the way")),
    ]
    found.append(make(f"By session: {CHOSEN}", columns, each))
    return found


def _policies(result: "Report") -> Table:
    heads = [
        "policy",
        "input tokens",
        "saved",
        "read",
        "write 5m",
        "write 1h",
        "uncached",
        "output",
        "$",
        "of it summaries",
    ]
    heads += ["saved $", "+ finding the way", "peak", "compacted", "over 200k"]
    rows = [
        (
            *(one.policy.name, one.prompt_tokens, _percent(one.saved_tokens), one.read, one.written_5m, one.written_1h),
            *(
                one.uncached,
                one.output,
                _usd(one.usd),
                _usd(one.call_usd),
                _percent(one.saved_usd),
                _usd(one.reorientation_usd),
            ),
            *(one.peak, one.compactions, one.beyond_window),
        )
        for one in result.lines
    ]
    n = f"{result.lines[0].sessions} sessions, {result.lines[0].requests} requests" if result.lines else "nothing"
    notes = [
        f"n: {n}. saved: against plain. read, write: billed by cache class, the calls for summaries included.",
        "+ finding the way: what the steps after compactions would cost more, if each took what the recorded ones did.",
        "over 200k: requests that such a window would not have taken.",
    ]
    plugins = [one.policy.plugin for one in result.lines if one.policy.compaction == "lcm"]
    if plugins:
        leaf, condensed = plugins[0].leaf_target, plugins[0].condensed_target
        notes.append(f"LCM's summaries: leaves of {leaf:,} tokens, condensed ones of {condensed:,}.")
    columns = [Column(name, right=i > 0) for i, name in enumerate(heads)]
    return make("Policies: tokens and dollars", columns, rows, notes=notes)


def _spreads(result: "Report") -> Table:
    def five(over: "Spread | None") -> tuple[str, ...]:
        if over is None:
            return (DASH,) * 5
        return tuple(map(_percent, (over.lowest, over.quarter, over.median, over.three_quarters, over.highest)))

    rows = [(one.policy.name, *five(one.tokens_spread), *five(one.usd_spread)) for one in result.lines]
    names = ("lowest", "quarter", "median", "3 quarters", "highest")
    heads = ["policy", *(f"tokens {n}" for n in names), *(f"$ {n}" for n in names)]
    columns = [Column(name, right=i > 0) for i, name in enumerate(heads)]
    n = result.lines[0].usd_spread.n if result.lines and result.lines[0].usd_spread else 0
    return make("Saved by session", columns, rows, notes=[f"n: {n} sessions with a price, each against its own plain."])


def _known(result: "Report") -> Table:
    rows = [
        (
            *(one.policy.name, one.known.n, _percent(_share(one.known.context, one.known))),
            *(_percent(_share(one.known.lookup, one.known)), _percent(_share(one.known.lost, one.known))),
            _percent(one.expected_share),
        )
        for one in result.lines
    ]
    heads = ["policy", "references", "in the context", "one look-up away", "lost", "in context with a summary"]
    columns = [Column(name, right=i > 0) for i, name in enumerate(heads)]
    notes = [
        "Words that the model wrote again after a cut, and had from before it; where they were then.",
        "in context with a summary: if the summaries that were not written here held what the recorded ones held.",
    ]
    return make("What is still known", columns, rows, notes=notes)


def _share(part: int, known: "Known") -> float | None:
    return part / known.n if known.n else None


def _classes(result: "Report") -> Table:
    kinds = [(one.kind, one.n) for one in result.lines[0].by_class] if result.lines else []
    rows = [(one.policy.name, *(_both(known) for known in one.by_class)) for one in result.lines]
    columns = [Column("policy"), *(Column(f"{kind} (n {n})", right=True) for kind, n in kinds)]
    return make("What is still known, by class: in the context / with one look-up", columns, rows)


def _both(known: "Known") -> str:
    return f"{_percent(known.context_share)} / {_percent(known.reachable_share)}"


def _compactions(result: "Report") -> list[Table]:
    heads = ["session", "request", "before", "after", "summary", "put back"]
    rows = [(b.session, b.request, b.before or None, b.after, b.summary, b.kept) for b in result.boundaries]
    found = result.reorientation
    usual, after = found.usual, found.after
    medians = found.medians
    known = f"n {result.typical.boundaries}" if result.typical.boundaries else "none recorded: published figures"
    sizes = f"Mean summary {result.typical.summary:,} tokens, put back beside it {result.typical.kept:,} ({known})."
    steps = f"Actions before the next edit: median {medians[0]:g} after a compaction (n {len(after)}), "
    steps += f"{medians[1]:g} at the beginning of other turns (n {len(usual)}); "
    steps += f"{found.extra_actions:.1f} more on average."
    again = f"Tokens of files read again before that edit: {found.extra_tokens:,.0f} more on average."
    notes = [sizes, steps, again]
    columns = [Column(name, right=i > 0) for i, name in enumerate(heads)]
    kept = [(k.kind, k.n, _percent(k.context_share)) for k in result.retention]
    return [
        make("Compactions that happened", columns, rows, notes=notes),
        make(
            "Of what was used again after them, in the client's summary",
            ["class", Column("n", right=True), Column("in it", right=True)],
            kept,
        ),
    ]


def _lifetimes(result: "Report") -> Table:
    names = list(dict.fromkeys(policy for policy, _, _ in result.lifetimes))
    amounts = {(policy, lifetime): usd for policy, lifetime, usd in result.lifetimes}
    rows = [(name, *(_usd(amounts.get((name, life))) for life in ("5m", "1h", "none"))) for name in names]
    heads: list[Column | str] = ["policy", *(Column(n, right=True) for n in ("$ 5 minutes", "$ 1 hour", "$ no cache"))]
    return make("The bill by lifetime of the cache", heads, rows)


def _sweep(result: "Report") -> Table:
    rows = [
        (
            *(one.policy.threshold, one.policy.protect_turns, one.policy.protect_tokens),
            *(_percent(one.saved_tokens), _percent(one.saved_usd), one.compactions, one.peak),
            *(_percent(one.known.context_share), _percent(one.known.reachable_share)),
        )
        for one in result.sweep
    ]
    heads = ["threshold", "turns raw", "tokens raw", "saved", "saved $", "folded", "peak", "in context", "+ look-up"]
    columns = [Column(name, right=True) for name in heads]
    note = "L1 and L2 in the place of the history, no native summary: what N and T do."
    return make("Three layers alone: threshold and protected tail", columns, rows, notes=[note])


def _claims(result: "Report") -> Table:
    from lcm_lab.analysis.savings import claims

    rows = [(one.claim, one.found, one.n) for one in claims.answers(result)]
    heads = [Column("the concept says", wrap=True), Column("these sessions", wrap=True), Column("n", wrap=True)]
    return make("The concept's claims", heads, rows)


def flat(result: "Report") -> tuple[list[str], list[Sequence[object]]]:
    """One row for each policy and session: what ``--csv`` writes."""
    heads = ["policy", "session", "requests", "prompt_tokens", "read", "written_5m", "written_1h", "uncached", "output"]
    heads += ["usd", "call_usd", "peak", "compactions", "over_200k", "references", "in_context", "look_up", "lost"]
    rows: list[Sequence[object]] = []
    for name, replays in result.replays.items():
        for one in replays:
            billed = [one.billed(n) for n in ("read", "written_5m", "written_1h", "uncached", "output")]
            usd = one.usd
            states = [one.states.count(n) for n in ("context", "look-up", "lost")]
            rows.append(
                [
                    *(name, one.session.name, len(one.rows), one.prompt_tokens, *billed),
                    *("" if usd is None else f"{usd:.6f}", f"{one.call_usd:.6f}", one.peak, one.compactions),
                    *(one.beyond(200_000), len(one.states), *states),
                ]
            )
    return heads, rows


def markdown(tables: Sequence[Table]) -> str:
    """Tables as Markdown, for the documentation."""
    parts = []
    for one in tables:
        parts.append(f"### {one.title}\n")
        parts.append("| " + " | ".join(column.title for column in one.columns) + " |")
        parts.append("|" + "|".join("---:" if column.right else "---" for column in one.columns) + "|")
        parts += ["| " + " | ".join(value.replace("|", "\\|") for value in row) + " |" for row in one.rows]
        parts.append("")
        parts += [f"- {note}" for note in one.notes]
        parts.append("")
    return "\n".join(parts)


_PARTS: Final[dict[str, Callable[["Report"], list[Table]]]] = {
    "inputs": lambda result: [_inputs(result)],
    "growth": _accuracy,
    "policies": lambda result: [_policies(result)],
    "sessions": lambda result: [_spreads(result)],
    "known": lambda result: [_known(result)],
    "classes": lambda result: [_classes(result)],
    "compactions": _compactions,
    "lifetimes": lambda result: [_lifetimes(result)],
    "sweep": lambda result: [_sweep(result)],
    "claims": lambda result: [_claims(result)],
}
"""The parts of a report, in their order."""
