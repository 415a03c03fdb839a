"""The category mix of L2: a bar for each category, open issues apart. Checked by ``tests/memory/test_figures.py``."""

from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_height, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.memory.results import Judgments

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

_COLOURS: Final = {
    "ISSUE": palette.CAUTION,
    "CONSTRAINT": palette.DEPTHS[2],
    "DECISION": palette.ASSISTANT,
    "IMPL": palette.USER,
    "CONTEXT": palette.TOOL,
}
_ROW: Final = 30
_OPEN: Final = "open issues"


def mix_figure(judgments: Judgments) -> Figure:
    """How many lines each category has."""
    mix = judgments.mix
    words = _words(judgments, mix)
    if not judgments.rows:
        return nothing(words, "no judgments yet")
    names = list(mix)
    still_open = [mix[name][1] for name in names]
    others = [mix[name][0] - mix[name][1] for name in names]
    labels = [_said(*mix[name]) for name in names]
    y = list(range(len(names)))
    common: dict[str, Any] = {"y": y, "orientation": "h", "width": 0.74, "hoverinfo": "text", "hovertext": labels}
    traces = [
        go.Bar(x=still_open, name=_OPEN, showlegend=any(still_open), marker={"color": palette.ALARM}, **common),
        go.Bar(
            x=others,
            showlegend=False,
            marker={"color": [_COLOURS.get(name, palette.OTHER) for name in names]},
            text=labels,
            textposition="outside",
            cliponaxis=False,
            **common,
        ),
    ]
    most = max(count for count, _ in mix.values())
    plotly = framed(
        traces,
        words,
        height=_ROW * len(names) + 10,
        legend=legend_height(traces),
        barmode="stack",
        xaxis=axis("lines of L2", range=[0, most * 1.25], tickformat=",d"),
        yaxis=axis(range=[len(names) - 0.4, -0.6], tickvals=y, ticktext=names, showgrid=False),
    )
    return Figure(plotly, words, lambda: _still(names, still_open, others, labels, words))


def _words(judgments: Judgments, mix: dict[str, tuple[int, int]]) -> Words:
    open_now = sum(still for _, still in mix.values())
    whose = "all sessions" if judgments.session_id is None else f"session {judgments.session_id}"
    tokens = sum(one.tokens for one in judgments.rows)
    detail = f"{counted(len(judgments.rows), 'line')}, {tokens:,} tokens; {counted(open_now, 'open issue')}"
    caption = f"{whose}; found by rules, so some lines are in the wrong category (docs/differences.md says how many)."
    return Words("What was written down (L2), by category", detail, caption[:1].upper() + caption[1:])


def _said(count: int, still: int) -> str:
    return f"{count:,}" + (f", {still:,} open" if still else "")


def _still(names: list[str], still_open: list[int], others: list[int], labels: list[str], words: Words) -> "Still":
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_ROW * len(names) + 10, legend=26, left=110)
    y = list(range(len(names)))
    axes.barh(y, still_open, height=0.74, color=palette.ALARM)
    colours = [_COLOURS.get(name, palette.OTHER) for name in names]
    bars = axes.barh(y, others, left=still_open, height=0.74, color=colours)
    look: dict[str, Any] = {"padding": 4, "fontsize": 8}
    axes.bar_label(bars, labels, **look)
    axes.set_yticks(y, names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, max(a + b for a, b in zip(still_open, others, strict=True)) * 1.25)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("lines of L2", fontsize=8, color=palette.FAINT)
    axes.grid(axis="x", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    if any(still_open):
        still.legend(axes, [Patch(color=palette.ALARM, label=_OPEN)])
    return sheet
