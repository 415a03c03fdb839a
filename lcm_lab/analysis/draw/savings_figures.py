"""The figures of the savings benchmark: what they show, and the words around them.

Idea: each figure answers one question and carries its n and what it leaves out in its caption, so that it can be shown
alone.
Invariant: a figure takes its numbers from the report and adds none. Checked by ``tests/analysis/test_draw_savings.py``.
"""

from collections.abc import Callable, Sequence
from typing import Final

from lcm_lab.analysis.draw.figure import Figure, Words, nothing
from lcm_lab.analysis.draw.savings_plot import COLOURS, Series, Side, draw
from lcm_lab.analysis.savings.measures import Line
from lcm_lab.analysis.savings.policies import CONCEPT, PLAIN
from lcm_lab.analysis.savings.report import Report
from lcm_lab.errors import UsageError

SHOWN: Final = (
    *("plain", "native, as recorded", "masking, keep 10, by 20k", "LCM at 150k (defaults, 200k)"),
    *(
        "three layers, concept (T 20k, 10 turns)",
        "three layers alone, T 67k, 20k tokens",
        "hooks, native at 98k + L1, L2",
    ),
)
"""Policies that are drawn one by one."""

DEFAULTS: Final = (CONCEPT.name, "LCM at 150k (defaults, 200k)", "hooks as installed (native at 67k + L1, L2)")
"""Points of the trade-off that stand for somebody's defaults."""


def every(report: Report) -> list[Figure]:
    """All figures, in the order of the notebook."""
    return [make(report, "") for make in FIGURES.values()]


def named(report: Report, what: str, session: str = "") -> Figure:
    """One figure by its name.

    Raises:
        UsageError: there is no such figure.
    """
    if what not in FIGURES:
        raise UsageError(f"There is no figure {what!r}; there are {', '.join(FIGURES)}.")
    return FIGURES[what](report, session)


def _n(report: Report) -> str:
    lines = report.lines
    return f"{lines[0].sessions} sessions, {lines[0].requests:,} requests" if lines else "no session"


def context(report: Report, session: str = "") -> Figure:
    """The context over one session under each policy; without a name the one with the most requests."""
    plain = report.replays.get(PLAIN.name, ())
    if not plain:
        return nothing(Words("The context over a session"), "no session")
    named = [i for i, one in enumerate(plain) if one.session.name == session]
    chosen = named[0] if named else max(range(len(plain)), key=lambda i: len(plain[i].rows))
    series = []
    for name, colour in zip(SHOWN, COLOURS, strict=False):
        if name in report.replays:
            rows = report.replays[name][chosen].rows
            dash = "dash" if name == PLAIN.name else "solid"
            xs, ys = tuple(float(row.request + 1) for row in rows), tuple(float(row.prompt) for row in rows)
            hovers = tuple(f"{name}: request {row.request + 1}, turn {row.turn}, {row.prompt:,} tokens" for row in rows)
            series.append(Series(name, xs, ys, colour, dash=dash, hovers=hovers))
    one = plain[chosen].session
    words = Words(
        f"What the model reads with each request: {one.name}",
        f"{len(one.requests)} requests, {one.turns} turns, compactions recorded: {len(one.boundaries)}",
        "Each policy replayed on the same requests and answers; sizes from text, calibrated on the API's figures.",
    )
    return draw(series, words, Side("request"), Side("tokens in the prompt"))


_LETTER: Final = 0.0085
_LINE: Final = 0.045
"""About how wide a letter and how high a line of a name is, in the shares of the axes of :func:`frontier`."""


def frontier(report: Report) -> Figure:
    """Dollars saved against what was still in the context, for every policy and setting."""
    if not report.lines or not report.lines[0].known.n:
        return nothing(Words("Dollars against what is still known"), "no reference in these sessions")
    best = _best([*report.lines, *report.sweep])
    steps = (tuple(x for x, _ in best), tuple(y for _, y in best))
    named: list[tuple[float, float, int]] = []
    marked = [one for one in report.lines if one.policy.name in DEFAULTS]
    defaults = _cloud("somebody's defaults", marked, COLOURS[0], symbol="star", size=14, named=named)
    series = [
        Series("the frontier", *steps, "#BBBBBB", dash="dot"),
        _cloud("layers alone, other T and N", report.sweep, "#BBBBBB", size=6),
    ]
    others = [one for one in report.lines if one.policy.name not in DEFAULTS]
    groups = (
        ("plain and native", ("never", "recorded", "native"), False, COLOURS[1]),
        ("masking", ("never",), True, COLOURS[2]),
        ("LCM", ("lcm",), False, COLOURS[4]),
        ("three layers alone", ("layers",), False, COLOURS[3]),
        ("hooks beside native", ("native and layers",), False, COLOURS[5]),
    )
    for name, kinds, masked, colour in groups:
        mine = [one for one in others if one.policy.compaction in kinds]
        mine = [one for one in mine if name not in ("plain and native", "masking") or _masks(one) is masked]
        series.append(_cloud(name, mine, colour, named=named))
    series.append(defaults)
    words = Words(
        "Dollars saved, and what the model would still have had before it",
        f"{_n(report)}, {report.lines[0].known.n} references",
        "Right: cheaper than never compacting. Up: more of what was used again was still in the context, word for word;"
        " what native or LCM summaries may hold is not in it. Re-orientation is in no dollar here.",
    )
    return draw(
        series, words, Side("dollars saved against plain", percent=True), Side("still in the context", percent=True)
    )


def _masks(one: Line) -> bool:
    return one.policy.keep_results is not None


def _best(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """The points that no other one beats in both."""
    known = [(one.saved_usd, one.known.context_share) for one in lines]
    points = sorted({(a, b) for a, b in known if a is not None and b is not None}, reverse=True)
    found: list[tuple[float, float]] = []
    for saved, share in points:
        if not found or share > found[-1][1]:
            found.append((saved, share))
    return found


def _cloud(
    name: str,
    lines: Sequence[Line],
    colour: str,
    *,
    symbol: str = "circle",
    size: int = 9,
    named: list[tuple[float, float, int]] | None = None,
) -> Series:
    """Points of one kind; a name stands beside each that is not too near to one that has its name already."""
    known = [one for one in lines if one.saved_usd is not None and one.known.context_share is not None]
    places = [(one.saved_usd or 0.0, one.known.context_share or 0.0) for one in known]
    hovers = tuple(
        f"{one.policy.name}: {100 * (one.saved_usd or 0):.1f} % saved, {one.known.context} of {one.known.n} in the "
        f"context, {one.known.lookup} one look-up away"
        for one in known
    )
    labels = []
    for one, (x, y) in zip(known, places, strict=True):
        label = _short(one.policy.name)
        # A name is centred above its point: half of both widths apart, or a line's height.
        free = named is not None and all(
            abs(x - a) > _LETTER * (len(label) + letters) / 2 or abs(y - b) > _LINE for a, b, letters in named
        )
        labels.append(label if free else "")
        if free and named is not None:
            named.append((x, y, len(label)))
    xs, ys = tuple(x for x, _ in places), tuple(y for _, y in places)
    return Series(name, xs, ys, colour, "markers", symbol, size, hovers=hovers, labels=tuple(labels))


def _short(name: str) -> str:
    for long, brief in (
        ("three layers alone, ", ""),
        ("three layers, concept (T 20k, 10 turns)", "the concept"),
        ("hooks as installed (native at 67k + L1, L2)", "hooks at 67k"),
        ("LCM at 150k (defaults, 200k)", "LCM"),
        (" + L1, L2", ""),
        ("masking, ", ""),
        ("masking by 20k + ", "masked + "),
    ):
        name = name.replace(long, brief)
    return name


def settings(report: Report, *, known: bool = False) -> Figure:
    """What N and T do: dollars saved by protected turns, a line for each threshold.

    With ``known``, what stays in the context.
    """
    by_threshold: dict[int, list[Line]] = {}
    for one in report.sweep:
        if one.policy.protect_turns is not None:
            by_threshold.setdefault(one.policy.threshold, []).append(one)
    series = []
    for (threshold, lines), colour in zip(by_threshold.items(), COLOURS[1:], strict=False):
        values = [(one.known.context_share if known else one.saved_usd) or 0.0 for one in lines]
        hovers = tuple(
            f"T {threshold:,}, {one.policy.protect_turns} turns raw: {100 * v:.1f} %"
            for one, v in zip(lines, values, strict=True)
        )
        turns = tuple(float(one.policy.protect_turns or 0) for one in lines)
        series.append(Series(f"T {threshold:,}", turns, tuple(values), colour, "both", size=6, hovers=hovers))
    title = "What stays in the context, by protected turns" if known else "What N and T save, by protected turns"
    words = Words(
        title,
        _n(report),
        "Three layers alone: L1 and L2 in the place of older turns, no native summary. The concept protects 10 turns "
        "and compacts at 10 %, here 20,000.",
    )
    what = Side("references still in the context" if known else "dollars saved against plain", percent=True)
    ticks = tuple(sorted({x for one in series for x in one.xs}))
    return draw(series, words, Side("newest turns that stay raw (N)", ticks=ticks), what, height=280)


def lifetimes(report: Report) -> Figure:
    """How much a policy saves by how long the cache lives."""
    plain = {life: usd for policy, life, usd in report.lifetimes if policy == PLAIN.name}
    names = [name for name in dict.fromkeys(policy for policy, _, _ in report.lifetimes) if name != PLAIN.name]
    amounts = {(policy, life): usd for policy, life, usd in report.lifetimes}
    if not names or not all(plain.values()):
        return nothing(Words("Savings by lifetime of the cache"), "no dollars to compare")
    series = []
    shown = {"5m": "5 minutes", "1h": "1 hour", "none": "no cache"}
    for (life, title), colour in zip(shown.items(), (COLOURS[6], COLOURS[1], COLOURS[7]), strict=True):
        values = tuple(1 - amounts[name, life] / plain[life] for name in names)
        hovers = tuple(f"{name}, {title}: {amounts[name, life]:,.2f} of {plain[life]:,.2f} dollars" for name in names)
        series.append(Series(title, tuple(map(float, range(len(names)))), values, colour, "bars", hovers=hovers))
    words = Words(
        "The same policies, another cache",
        f"{_n(report)}; plain costs {', '.join(f'{plain[k]:,.0f} ({v})' for k, v in shown.items())} dollars",
        "Saved against plain with the same cache. Without a cache every token sent costs the full price, so the shares "
        "are those of tokens; with one, most of what is saved would have been read at a tenth.",
    )
    ticks = tuple(_short(name).replace(", ", ",\n", 1) for name in names)
    return draw(series, words, Side("", names=ticks), Side("dollars saved", percent=True), height=280)


def sessions(report: Report) -> Figure:
    """Each session's own saving under each policy: not only means."""
    plain = report.replays.get(PLAIN.name, ())
    names = [name for name in report.replays if name != PLAIN.name][::-1]
    xs: list[float] = []
    ys: list[float] = []
    hovers: list[str] = []
    middles: list[tuple[float, float]] = []
    for place, name in enumerate(names):
        line = next(one for one in report.lines if one.policy.name == name)
        for own, base in zip(report.replays[name], plain, strict=True):
            if base.usd and own.usd is not None:
                xs.append(1 - own.usd / base.usd)
                ys.append(float(place))
                hovers.append(f"{own.session.name}: {100 * xs[-1]:.1f} % of {base.usd:,.2f} dollars")
        if line.usd_spread:
            middles.append((line.usd_spread.median, float(place)))
    if not xs:
        return nothing(Words("Saved by session"), "no session has a price")
    series = [
        Series("a session", tuple(xs), tuple(ys), COLOURS[1], "markers", size=7, hovers=tuple(hovers)),
        Series(
            "median",
            tuple(x for x, _ in middles),
            tuple(y for _, y in middles),
            COLOURS[5],
            "markers",
            "line-ns-open",
            16,
        ),
    ]
    words = Words(
        "Dollars saved, session by session",
        _n(report),
        "Each against never compacting. Left of zero: dearer, because clearing and compacting break the cache.",
    )
    sides = Side("dollars saved against plain", percent=True), Side("", names=tuple(names))
    return draw(series, words, *sides, height=24 * len(names) + 30, left=280)


FIGURES: Final[dict[str, Callable[[Report, str], Figure]]] = {
    "context": context,
    "frontier": lambda report, _session: frontier(report),
    "settings": lambda report, _session: settings(report),
    "known": lambda report, _session: settings(report, known=True),
    "lifetimes": lambda report, _session: lifetimes(report),
    "sessions": lambda report, _session: sessions(report),
}
"""Every figure by its name."""
