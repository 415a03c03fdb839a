"""What each turn put into the context against what its L1 and L2 cost: pairs of bars on one scale.

A turn without an estimate has only its second bar. Above ``limit`` turns the newest are shown and the title says so.
Checked by ``tests/memory/test_figures.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_height, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.memory.results import RULE, Turn, Turns

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

LIMIT: Final = 120
RAW: Final = palette.TOOL
L1: Final = palette.DEPTHS[1]
L2: Final = palette.DEPTHS[3]
_HEIGHT: Final = 280
_BARS: Final = (("raw: texts and tool traffic", RAW), ("L1: the line", L1), ("L2: judgments", L2))


def turns_figure(turns: Turns, *, limit: int = LIMIT) -> Figure:
    """Two bars a turn: raw, and L1 with L2 on top."""
    rows = turns.rows[-max(1, limit) :]
    words = _words(turns, len(rows))
    if not any((one.raw_tokens or 0) + one.layer_tokens for one in rows):
        return nothing(words, "no turns" if not rows else "no turn has been measured yet")
    x = list(range(len(rows)))
    layers = [[one.raw_tokens for one in rows], [one.l1_tokens for one in rows], [one.l2_tokens for one in rows]]
    traces = [
        go.Bar(
            x=x,
            y=values,
            name=name,
            marker={"color": colour},
            width=0.4,
            offset=-0.42 if i == 0 else 0.0,
            base=layers[1] if i == 2 else None,
            hoverinfo="text",
            hovertext=[_hover(one) for one in rows],
        )
        for i, ((name, colour), values) in enumerate(zip(_BARS, layers, strict=True))
    ]
    plotly = framed(
        traces,
        words,
        height=_HEIGHT,
        legend=legend_height(traces),
        barmode="overlay",
        xaxis=axis(
            "turn",
            range=[-0.8, len(rows) - 0.2],
            tickvals=_ticks(len(rows)),
            ticktext=[str(rows[i].turn_number) for i in _ticks(len(rows))],
            showgrid=False,
        ),
        yaxis=axis(f"tokens ({RULE})", tickformat=",d", rangemode="tozero"),
    )
    return Figure(plotly, words, lambda: _still(rows, words))


def _words(turns: Turns, shown: int) -> Words:
    title = f"What {counted(len(turns.rows), 'turn')} put into the context, and what L1+L2 keep of it"
    if shown < len(turns.rows):
        title += f": the newest {shown:,}"
    share = f" ({100 * turns.layer_tokens / turns.raw_tokens:.1f} %)" if turns.raw_tokens else ""
    detail = f"{turns.raw_tokens:,} tokens raw, {turns.layer_tokens:,} as L1+L2{share}"
    caption = f"Session {turns.session_id}; tokens: {RULE}. What is not in L1+L2 stays stored and can be fetched."
    return Words(title, detail, caption)


def _ticks(count: int) -> list[int]:
    step = max(1, -(-count // 20))
    return list(range(0, count, step))


def _hover(one: Turn) -> str:
    raw = "not measured" if one.raw_tokens is None else f"{one.raw_tokens:,} tokens raw"
    said = f"<b>turn {one.turn_number}</b> {palette.wrapped(one.summary, size=240)}<br>{raw}"
    return f"{said}, L1 {one.l1_tokens:,}, L2 {one.l2_tokens:,} in {counted(one.judgments, 'line')}"


def _still(rows: Sequence[Turn], words: Words) -> "Still":
    from matplotlib.patches import Patch

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_HEIGHT, legend=26, left=80)
    left = [i - 0.22 for i in range(len(rows))]
    right = [i + 0.2 for i in range(len(rows))]
    look: dict[str, Any] = {"width": 0.4}
    axes.bar(left, [one.raw_tokens or 0 for one in rows], color=RAW, **look)
    axes.bar(right, [one.l1_tokens for one in rows], color=L1, **look)
    axes.bar(right, [one.l2_tokens for one in rows], bottom=[one.l1_tokens for one in rows], color=L2, **look)
    ticks = _ticks(len(rows))
    axes.set_xticks(ticks, [str(rows[i].turn_number) for i in ticks])
    axes.set_xlim(-0.8, len(rows) - 0.2)
    axes.set_xlabel("turn", fontsize=8, color=palette.FAINT)
    axes.set_ylabel(f"tokens ({RULE})", fontsize=8, color=palette.FAINT)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    still.legend(axes, [Patch(color=colour, label=name) for name, colour in _BARS])
    return sheet
