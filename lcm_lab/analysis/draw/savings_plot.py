"""Draws the savings figures twice, live and still, from one plain description.

Idea: all of them are points in a plane with two titled axes: lines, markers or bars. What a figure says stands in
``savings_figures``; how it looks stands here.
Invariant: both pictures show the same points. Checked by ``tests/analysis/test_draw_savings.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_height

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

COLOURS: Final = ("#222222", "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#8C8C8C")
_DASHES: Final = {"solid": "-", "dash": "--", "dot": ":"}


@dataclass(frozen=True, slots=True)
class Series:
    """Points of one name. ``way``: ``lines``, ``markers``, ``both`` or ``bars``; ``labels`` stand beside markers."""

    name: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    colour: str
    way: str = "lines"
    symbol: str = "circle"
    size: int = 8
    dash: str = "solid"
    hovers: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    in_legend: bool = True


@dataclass(frozen=True, slots=True)
class Side:
    """An axis: its title, whether it counts in percent, names in the place of numbers."""

    title: str
    percent: bool = False
    names: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    ticks: tuple[float, ...] = ()


def draw(series: Sequence[Series], words: Words, x: Side, y: Side, *, height: int = 330, left: int = 90) -> Figure:
    """The figure."""
    traces = [_trace(one) for one in series]
    plotly = framed(
        traces,
        words,
        height=height,
        legend=legend_height(traces) if any(one.in_legend for one in series) else 0,
        barmode="group",
        xaxis=_axis(x),
        yaxis=_axis(y),
    )
    return Figure(plotly, words, lambda: _still(series, words, x, y, height, left))


def _trace(one: Series) -> Any:
    hover = [palette.escape(text, size=300) for text in one.hovers] or None
    look: dict[str, Any] = {
        "name": palette.escape(one.name, size=60),
        "hovertext": hover,
        "hoverinfo": "text" if hover else "all",
        "showlegend": one.in_legend,
    }
    if one.way == "bars":
        return go.Bar(x=one.xs, y=one.ys, marker={"color": one.colour}, **look)
    mode = {"lines": "lines", "markers": "markers", "both": "lines+markers"}[one.way]
    if one.labels:
        look |= {"text": [palette.escape(text, size=60) for text in one.labels], "textposition": "top center"}
        look |= {"textfont": {"size": 10, "color": palette.FAINT}}
        mode += "+text"
    marker = {"color": one.colour, "size": one.size, "symbol": one.symbol}
    line = {"color": one.colour, "width": 1.8, "dash": one.dash}
    return go.Scatter(x=one.xs, y=one.ys, mode=mode, marker=marker, line=line, **look)


def _axis(side: Side) -> dict[str, Any]:
    more: dict[str, Any] = {"tickformat": ".0%" if side.percent else ",d"}
    if side.names:
        more = {"tickvals": list(range(len(side.names))), "ticktext": [palette.escape(n, size=60) for n in side.names]}
    if side.ticks:
        more |= {"tickvals": list(side.ticks)}
    if side.low is not None and side.high is not None:
        more["range"] = [side.low, side.high]
    return axis(side.title, **more)


def _still(series: Sequence[Series], words: Words, x: Side, y: Side, height: int, left: int) -> "Still":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from lcm_lab.analysis.draw import still
    from lcm_lab.analysis.draw.figure import legend_rows

    shown = [one for one in series if one.in_legend]
    rows = len(legend_rows([one.name for one in shown]))
    sheet, axes = still.sheet(words, height=height, legend=20 * rows + 6 if rows else 0, left=left)
    bars = [one for one in series if one.way == "bars"]
    handles: list[Any] = []
    for one in series:
        if one.way == "bars":
            width = 0.8 / len(bars)
            shift = (bars.index(one) - (len(bars) - 1) / 2) * width
            axes.bar([value + shift for value in one.xs], one.ys, width=width * 0.95, color=one.colour)
            handles.append(Patch(color=one.colour, label=one.name))
            continue
        look: dict[str, Any] = {"color": one.colour, "markersize": one.size * 0.75, "linewidth": 1.6}
        look["marker"] = {"circle": "o", "star": "*", "diamond": "D", "line-ns-open": "|"}[one.symbol]
        look["marker"] = None if one.way == "lines" else look["marker"]
        look["linestyle"] = "none" if one.way == "markers" else _DASHES[one.dash]
        axes.plot(one.xs, one.ys, **look)
        for text, at, up in zip(one.labels, one.xs, one.ys, strict=False):
            place: Any = {"fontsize": 7, "color": palette.FAINT, "ha": "center", "va": "bottom"}
            axes.annotate(still.say(text), (at, up), xytext=(0, 4), textcoords="offset points", **place)
        if one.in_legend:
            handles.append(Line2D([], [], label=one.name, **look))
    _side(axes.xaxis, axes.set_xlim, x)
    _side(axes.yaxis, axes.set_ylim, y)
    axes.set_xlabel(x.title, fontsize=8, color=palette.FAINT)
    axes.set_ylabel(y.title, fontsize=8, color=palette.FAINT)
    axes.grid(color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    if handles:
        still.legend(axes, handles)
    return sheet


def _side(where: Any, limit: Any, side: Side) -> None:
    if side.names:
        where.set_ticks(range(len(side.names)), list(side.names))
    else:
        if side.ticks:
            where.set_ticks(list(side.ticks))
        where.set_major_formatter((lambda value, _place: f"{100 * value:.0f} %") if side.percent else "{x:,.0f}")
    if side.low is not None and side.high is not None:
        limit(side.low, side.high)
