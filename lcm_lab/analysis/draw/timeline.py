"""Growth as a picture: tokens per day and role, their running total, and the summaries made, under each other.

Days are plain dates of the zone in the axis title, so plotly shifts nothing. Checked by
``tests/analysis/test_draw_growth.py``.
"""

from datetime import date, timedelta
from math import sqrt
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_height, nothing
from lcm_lab.analysis.growth import Day, Growth
from lcm_lab.analysis.wording import counted
from lcm_lab.store.rows import kind_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Still

_HEIGHT: Final = 260
_ROW: Final = 22
_SPLIT_GAP: Final = 0.06


def timeline(growth: Growth) -> Figure:
    """Tokens over time, by local day."""
    words = _words(growth)
    if not growth.days:
        return nothing(words, "no message with a readable time" if growth.messages else "no messages")
    depths = _depths(growth)
    below = _ROW * len(depths) + 8 if depths else 0
    split = below / (_HEIGHT + below) + (_SPLIT_GAP if depths else 0)
    traces = _traces(growth, depths)
    plotly = framed(
        traces,
        words,
        height=_HEIGHT + below,
        legend=legend_height(traces),
        barmode="stack",
        bargap=0.15,
        xaxis=axis(f"day in {growth.zone}", **_day_axis(growth.days), showgrid=False, anchor="y2" if depths else "y"),
        yaxis=axis("tokens per day", domain=[split, 1], tickformat=",d", rangemode="tozero"),
        yaxis3=axis(
            "running total",
            overlaying="y",
            side="right",
            tickformat=",d",
            rangemode="tozero",
            showgrid=False,
            tickmode="auto",
            nticks=6,
        ),
    )
    if depths:
        plotly.update_layout(
            yaxis2=axis(
                domain=[0, split - _SPLIT_GAP],
                tickvals=list(range(len(depths))),
                ticktext=[f"{kind_label('', depth)} made" for depth in depths],
                range=[-0.6, len(depths) - 0.4],
                fixedrange=True,
            )
        )
    plotly.update_layout(margin={"r": 90})
    return Figure(plotly, words, lambda: _still(growth, depths, words))


def _words(growth: Growth) -> Words:
    what = "the store" if growth.conversation_id is None else f"conversation {growth.conversation_id}"
    title = f"Growth of {what}: {growth.tokens:,} tokens in {counted(growth.messages, 'message')}"
    made = sum(share.summaries for day in growth.days for share in day.summaries)
    detail = ""
    if growth.days:
        first, last = growth.days[0].day, growth.days[-1].day
        detail = f"{counted(len(growth.days), 'day')} with something on it, {first} to {last}; "
    detail += f"{counted(made, 'summary', 'summaries')} made"
    said = [f"tokens: {growth.estimator}", f"days as in {growth.zone}"]
    if growth.re_estimated:
        said.append(f"{counted(growth.re_estimated, 'message')} re-estimated")
    if growth.unknown:
        size = sum(share.tokens for share in growth.unknown)
        said.append(f"on no day: {counted(growth.unknown_messages, 'message')} of unknown time with {size:,} tokens")
    if growth.unknown_summaries:
        number = sum(share.summaries for share in growth.unknown_summaries)
        said.append(f"{counted(number, 'summary', 'summaries')} of unknown time not shown")
    return Words(title, detail, "; ".join(said) + ".")


def _depths(growth: Growth) -> list[int]:
    return sorted({share.depth for day in growth.days for share in day.summaries})


def _day_axis(days: tuple[Day, ...]) -> dict[str, Any]:
    """Whole days as ticks, however few there are: plotly would show hours."""
    first, last = days[0].day, days[-1].day
    step = max(1, -(-((last - first).days + 1) // 6))
    return {
        "type": "date",
        "range": [f"{_shift(first, -1)} 06:00", f"{last} 18:00"],
        "tick0": str(first),
        "dtick": step * 86_400_000,
        "tickformat": "%Y-%m-%d",
    }


def _shift(day: date, by: int) -> date:
    try:
        return day + timedelta(days=by)
    except OverflowError:
        return day


def _traces(growth: Growth, depths: list[int]) -> list[Any]:
    days = [str(day.day) for day in growth.days]
    traces: list[Any] = []
    for role in growth.roles:
        found = {day.day: share for day in growth.days for share in day.roles if share.role == role}
        shares = [found.get(day.day) for day in growth.days]
        colour = palette.kind_colour(role)
        traces.append(
            go.Bar(
                x=days,
                y=[share.tokens if share else 0 for share in shares],
                customdata=[share.messages if share else 0 for share in shares],
                name=palette.escape(role, size=40),
                # An outline of its own colour keeps a day visible among thousands.
                marker={"color": colour, "line": {"color": colour, "width": 0.5}},
                hovertemplate="%{x|%Y-%m-%d}<br>%{y:,} tokens, %{customdata:,} messages<extra>%{fullData.name}</extra>",
            )
        )
    traces.append(
        go.Scatter(
            x=days,
            y=[day.cumulative for day in growth.days],
            yaxis="y3",
            name="running total",
            mode="lines+markers" if len(days) < 60 else "lines",
            line={"color": palette.INK, "width": 1.5},
            marker={"size": 5},
            hovertemplate="%{x|%Y-%m-%d}<br>%{y:,} tokens so far<extra></extra>",
        )
    )
    for row, depth in enumerate(depths):
        events = [(str(day.day), share) for day in growth.days for share in day.summaries if share.depth == depth]
        traces.append(
            go.Scatter(
                x=[day for day, _ in events],
                y=[row] * len(events),
                yaxis="y2",
                mode="markers",
                showlegend=False,
                hoverinfo="text",
                cliponaxis=False,
                hovertext=[
                    f"{day}<br>{counted(share.summaries, 'summary', 'summaries')} {kind_label('', depth)}"
                    f", {share.tokens:,} tokens"
                    for day, share in events
                ],
                marker={
                    "color": palette.depth_colour(depth),
                    "size": [_bubble(share.summaries) for _, share in events],
                    "line": {"width": 0},
                    "opacity": 1,
                },
            )
        )
    return traces


def _bubble(number: int) -> float:
    return min(18.0, 5.0 + 2.0 * sqrt(number))


def _still(growth: Growth, depths: list[int], words: Words) -> "Still":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from lcm_lab.analysis.draw import still

    below = _ROW * len(depths) + 8 if depths else 0
    sheet, axes = still.sheet(words, height=_HEIGHT + below, legend=26, left=90)
    place = axes.get_position()
    wide = place.width - 60 / still.WIDTH  # room for the axis on the right
    cut = place.y0 + place.height * below / (_HEIGHT + below)
    axes.set_position((place.x0, cut + (0.02 if depths else 0), wide, place.y1 - cut - (0.02 if depths else 0)))
    xs = [day.day.toordinal() for day in growth.days]
    total = _still_tokens(axes, growth, xs)
    bottom = axes
    if depths:
        bottom = sheet.add_axes((place.x0, place.y0, wide, cut - place.y0), sharex=axes)
        axes.tick_params(labelbottom=False)
        _still_made(bottom, growth, depths, xs)
    for one, name in ((axes, "tokens per day"), (total, "running total")):
        one.yaxis.set_major_formatter("{x:,.0f}")
        one.set_ylabel(name, fontsize=8, color=palette.FAINT)
        one.set_ylim(bottom=0)
        one.tick_params(labelsize=8, color=palette.GRID)
        one.spines["top"].set_visible(False)
    ticks = range(xs[0], xs[-1] + 1, max(1, -(-(xs[-1] - xs[0] + 1) // 8)))
    bottom.set_xticks(ticks, [str(date.fromordinal(tick)) for tick in ticks])
    bottom.set_xlim(xs[0] - 0.75, xs[-1] + 0.75)
    bottom.set_xlabel(f"day in {growth.zone}", fontsize=8, color=palette.FAINT)
    handles: list[Any] = [Patch(color=palette.kind_colour(role), label=still.say(role)) for role in growth.roles]
    still.legend(axes, [*handles, Line2D([], [], color=palette.INK, linewidth=1.2, label="running total")])
    return sheet


def _still_tokens(axes: "Axes", growth: Growth, xs: list[int]) -> "Axes":
    """Bars per role on each other and the running total over them; the axes of the total."""
    floor = [0] * len(xs)
    for role in growth.roles:
        found = {day.day: share.tokens for day in growth.days for share in day.roles if share.role == role}
        sizes = [found.get(day.day, 0) for day in growth.days]
        colour = palette.kind_colour(role)
        axes.bar(xs, sizes, bottom=floor, width=0.85, color=colour, edgecolor=colour, linewidth=0.4)
        floor = [low + size for low, size in zip(floor, sizes, strict=True)]
    total = axes.twinx()
    style = "o-" if len(xs) < 60 else "-"
    total.plot(xs, [day.cumulative for day in growth.days], style, color=palette.INK, linewidth=1.1, markersize=3)
    return total


def _still_made(axes: "Axes", growth: Growth, depths: list[int], xs: list[int]) -> None:
    for row, depth in enumerate(depths):
        events = [
            (x, share.summaries)
            for x, day in zip(xs, growth.days, strict=True)
            for share in day.summaries
            if share.depth == depth
        ]
        sizes = [(_bubble(number) * 0.75) ** 2 for _, number in events]
        look: dict[str, Any] = {"c": palette.depth_colour(depth), "linewidths": 0}
        axes.scatter([x for x, _ in events], [row] * len(events), s=sizes, **look)
    axes.set_yticks(range(len(depths)), [f"{kind_label('', depth)} made" for depth in depths])
    axes.set_ylim(-0.6, len(depths) - 0.4)
    axes.tick_params(labelsize=8, color=palette.GRID)
    axes.grid(axis="y", color=palette.GRID, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
