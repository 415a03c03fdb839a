"""What was given to the model, over time: a row for each kind, its mark coloured by whether it arrived.

Times that cannot be read are left out, and the caption counts them. Checked by ``tests/memory/test_figures.py``.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import plotly.graph_objects as go

from lcm_lab import times
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_height, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.memory.results import Injection, Injections

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

LANES: Final = (
    ("pre_compact", "block made"),
    ("context_compaction", "part handed out"),
    ("fallback", "given late"),
    ("post_compact", "compacted"),
    ("on_demand", "looked up"),
)
_ROW: Final = 34


class _State(NamedTuple):
    name: str
    colour: str
    symbol: str
    marker: str


_ARRIVED: Final = _State("arrived", palette.USER, "circle", "o")
_LOST: Final = _State("did not arrive", palette.ALARM, "x", "X")
_OPEN: Final = _State("not known", palette.CAUTION, "circle-open", "o")
_NOTED: Final = _State("nothing to arrive", palette.TOOL, "diamond", "D")
_STATES: Final = (_ARRIVED, _LOST, _OPEN, _NOTED)


def injections_figure(injections: Injections) -> Figure:
    """A timeline in the zone of the memory."""
    known = [(one, moment) for one in injections.rows if (moment := times.parse(one.injected_at)) is not None]
    words = _words(injections, len(injections.rows) - len(known))
    if not known:
        return nothing(words, "no compaction and no look-up yet")
    # Plotly shows a time without a zone as it stands, so the zone's clock is what it gets.
    points = [(one, injections.zone.local(moment).replace(tzinfo=None)) for one, moment in known]
    names = [name for _, name in LANES]
    traces = []
    for state in _STATES:
        mine = [(one, at) for one, at in points if _state(one) == state]
        if mine:
            traces.append(
                go.Scatter(
                    x=[at for _, at in mine],
                    y=[_lane(one) for one, _ in mine],
                    mode="markers",
                    name=state.name,
                    marker={
                        "color": state.colour,
                        "size": 12,
                        "symbol": state.symbol,
                        "line": {"width": 2 if state is _OPEN else 0, "color": state.colour},
                    },
                    hoverinfo="text",
                    hovertext=[_hover(one, at) for one, at in mine],
                    cliponaxis=False,
                )
            )
    plotly = framed(
        traces,
        words,
        height=_ROW * len(names) + 10,
        legend=legend_height(traces),
        axis=74,  # a second line for the date
        xaxis=axis(f"time ({injections.zone.name})", type="date", range=_span([at for _, at in points])),
        yaxis=axis(range=[len(names) - 0.4, -0.6], tickvals=list(range(len(names))), ticktext=names),
    )
    return Figure(plotly, words, lambda: _still(points, words, injections.zone.name))


def _state(one: Injection) -> _State:
    if one.event_type in ("on_demand", "post_compact"):
        return _NOTED
    return {True: _ARRIVED, False: _LOST, None: _OPEN}[one.delivered]


def _lane(one: Injection) -> int:
    return next((i for i, (kind, _) in enumerate(LANES) if kind == one.event_type), len(LANES) - 1)


def _words(injections: Injections, unreadable: int) -> Words:
    parts = [one for one in injections.rows if one.event_type == "context_compaction"]
    arrived = sum(one.delivered is True for one in parts)
    lost = sum(one.delivered is False for one in parts)
    looks = sum(one.event_type == "on_demand" for one in injections.rows)
    detail = f"{counted(len(parts), 'part')} handed out: {arrived:,} arrived, {lost:,} did not; "
    detail += counted(looks, "look-up")
    caption = f"Session {injections.session_id}; arrived is what the client's transcript shows behind the compaction."
    if unreadable:
        caption += f" Left out, time unreadable: {unreadable:,}."
    return Words("What was given to the model, and whether it arrived", detail, caption)


def _hover(one: Injection, at: datetime) -> str:
    said = f"<b>{LANES[_lane(one)][1]}</b> {at:%Y-%m-%d %H:%M:%S}<br>{palette.escape(one.layers_sent)}"
    said += f", part {one.part} of {one.parts}" if one.part else ""
    said += f", {one.units:,} units" if one.units else ""
    if one.token_before is not None and one.token_after is not None:
        said += f"<br>context {one.token_before:,} to {one.token_after:,} tokens"
    return said + (f"<br>{palette.wrapped(one.note, size=200)}" if one.note else "")


def _span(moments: Sequence[datetime]) -> list[datetime]:
    """A little room on both sides, so that no mark is cut; a minute around a single moment."""
    first, last = min(moments), max(moments)
    edge = max((last - first) / 30, datetime.resolution * 60_000_000)
    return [first - edge, last + edge]


def _still(points: Sequence[tuple[Injection, datetime]], words: Words, zone: str) -> "Still":
    from matplotlib import dates as untyped
    from matplotlib.lines import Line2D

    from lcm_lab.analysis.draw import still

    names = [name for _, name in LANES]
    sheet, axes = still.sheet(words, height=_ROW * len(names) + 10, legend=26, left=120)
    handles: list[Any] = []
    for state in _STATES:
        mine = [(one, at) for one, at in points if _state(one) == state]
        if not mine:
            continue
        fill = "none" if state is _OPEN else state.colour
        look: dict[str, Any] = {"marker": state.marker, "markerfacecolor": fill, "markeredgecolor": state.colour}
        x: Any = [at for _, at in mine]
        axes.plot(x, [_lane(one) for one, _ in mine], linestyle="none", markersize=8, clip_on=False, **look)
        handles.append(Line2D([], [], linestyle="none", markersize=7, label=state.name, **look))
    first, last = _span([at for _, at in points])
    edges: Any = (first, last)
    axes.set_xlim(*edges)
    dates: Any = untyped
    locator = dates.AutoDateLocator(maxticks=8)
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator))
    axes.xaxis.get_offset_text().set_fontsize(8)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel(f"time ({zone})", fontsize=8, color=palette.FAINT)
    axes.grid(color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    still.legend(axes, handles)
    return sheet
