"""The budget of a context: bars per class under a line for the window, and the same classes as areas.

The bars of classes have a scale of their own, apart from that of the window, so they stay readable at 1 % and at 242 %.
The treemap gets no value at or below zero and no parent with a value of its own, the two ways in which plotly draws
nothing at all; without tokens it says so. Checked by ``tests/analysis/test_draw_budget.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import plotly.graph_objects as go

from lcm_lab.analysis.budget import Budget, Line
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, note, nothing
from lcm_lab.analysis.draw.squares import Box, squares
from lcm_lab.analysis.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

_ROW: Final = 24
_TOP: Final = 96
"""Pixels for the bar of the whole and its labels."""

NOTHING: Final = "nothing in context"


class _Tile(NamedTuple):
    key: str
    parent: str
    label: str
    value: int
    colour: str
    text: str


def budget_bars(budget: Budget) -> Figure:
    """The total against the window, and below it a bar for each class with its number and share."""
    words = _words(budget)
    if not budget.total and not any(line.tokens for line in budget.lines):
        return nothing(words, NOTHING)
    rows = list(budget.lines)
    body = _ROW * max(1, len(rows))
    split = 1 - _TOP / (_TOP + body)
    longest = max((line.tokens for line in rows), default=0)
    span = _span(budget)
    plotly = framed(
        _bars(budget),
        words,
        height=_TOP + body,
        xaxis=axis(
            f"tokens per class ({budget.estimator})",
            domain=[0, 1],
            anchor="y",
            range=[_lowest(budget), max(1, longest) * 1.32],
            tickformat=",d",
        ),
        yaxis=axis(
            domain=[0, split - 0.02],
            range=[len(rows) - 0.4, -0.6],
            tickvals=list(range(len(rows))),
            ticktext=[palette.escape(line.group) for line in rows],
            showgrid=False,
        ),
        xaxis2={"domain": [0, 1], "anchor": "y2", "range": [0, span], "visible": False, "fixedrange": True},
        yaxis2={"domain": [split, 1], "anchor": "x2", "range": [-1.6, 1.7], "visible": False, "fixedrange": True},
        bargap=0,
    )
    for at, name, ink in _lines(budget):
        place: dict[str, Any] = {"xref": "x2", "yref": "y2"}
        line = {"color": ink, "width": 2, "dash": "dash"}
        plotly.add_shape(type="line", x0=at, x1=at, y0=-0.75, y1=0.75, line=line, **place)
        y, anchor = (0.78, "bottom") if name == "window" else (-0.78, "top")
        note(plotly, f"{name} {at:,}", x=at, y=y, yanchor=anchor, xanchor=_side(at, span), **place)
    return Figure(plotly, words, lambda: _still_bars(budget, words, body, span))


def _bars(budget: Budget) -> list[Any]:
    whole = go.Bar(
        x=[budget.total],
        y=[0],
        orientation="h",
        width=0.9,
        xaxis="x2",
        yaxis="y2",
        text=[f"{budget.total:,}"],
        textposition="auto",
        textangle=0,
        cliponaxis=False,
        marker={"color": palette.LEVELS[budget.level]},
        hoverinfo="text",
        hovertext=[palette.escape(budget.verdict)],
    )
    classes = go.Bar(
        x=[line.tokens for line in budget.lines],
        y=list(range(len(budget.lines))),
        orientation="h",
        width=0.78,
        marker={"color": [palette.group_colour(line.group) for line in budget.lines]},
        text=[palette.escape(_said(line, budget)) for line in budget.lines],
        textposition="outside",
        cliponaxis=False,
        hoverinfo="text",
        hovertext=[_hover(line, budget) for line in budget.lines],
    )
    return [whole, classes]


def budget_treemap(budget: Budget) -> Figure:
    """The classes as areas, grouped; a figure that says so where there is nothing to show."""
    rows = [line for line in budget.lines if line.tokens > 0]
    words = _words(budget)
    left_out = [line for line in budget.lines if line.tokens < 0]
    if left_out:
        said = ", ".join(f"{line.group} ({line.tokens:,})" for line in left_out)
        words = Words(words.title, words.detail, f"{words.caption} Not shown, below zero: {said}.")
    if not rows:
        return nothing(words, NOTHING)
    tiles = _tiles(rows, budget)
    plotly = framed(
        [
            go.Treemap(
                labels=[palette.escape(tile.label) for tile in tiles],
                parents=[palette.escape(tile.parent) for tile in tiles],
                ids=[palette.escape(tile.key) for tile in tiles],
                text=[palette.escape(tile.text) for tile in tiles],
                values=[tile.value for tile in tiles],
                branchvalues="remainder",
                textinfo="label+text",
                hoverinfo="label+text",
                marker={"colors": [tile.colour for tile in tiles], "line": {"width": 1.5, "color": palette.PAPER}},
                tiling={"pad": 2},
                pathbar={"visible": False},
                root={"color": palette.PAPER},
                sort=False,
            )
        ],
        words,
        height=340,
        axis=8,
    )
    plotly.update_layout(margin={"l": 14, "r": 14})
    return Figure(plotly, words, lambda: _still_treemap(rows, budget, words))


def _tiles(rows: Sequence[Line], budget: Budget) -> list[_Tile]:
    """All, families of several classes, classes. Only classes have a value; a family is as large as their sum."""
    families: dict[str, list[Line]] = {}
    for line in rows:
        families.setdefault(_family(line.group), []).append(line)
    whole = sum(line.tokens for line in rows)
    tiles = [_Tile("all", "", f"all {whole:,}", 0, palette.PAPER, "")]
    for family, members in families.items():
        parent = "all"
        if len(members) > 1:
            parent = f"family {family}"
            size = sum(line.tokens for line in members)
            tiles.append(_Tile(parent, "all", f"{family} {size:,}", 0, "#F3F3F3", ""))
        for line in members:
            colour = palette.group_colour(line.group)
            tiles.append(_Tile(f"class {line.group}", parent, line.group, line.tokens, colour, _said(line, budget)))
    return tiles


def _words(budget: Budget) -> Words:
    title = f"Budget of conversation {budget.conversation_id}: {budget.total:,} tokens, {budget.verdict}"
    detail = f"{counted(budget.items, 'item')} sent"
    if budget.dropped:
        detail += f"; {len(budget.dropped):,} dropped, not in the total"
    if budget.redundant:
        detail += f"; {budget.redundant_tokens:,} tokens sent although a summary that is sent covers them"
    if budget.re_estimated:
        detail += f"; {budget.re_estimated:,} re-estimated"
    detail += f"; on disk {counted(budget.stored_messages, 'message')}, {budget.stored_tokens:,} tokens"
    caption = f"tokens: {budget.estimator}; left out: {budget.leaves_out}. Zone {budget.zone}."
    return Words(title, detail, caption)


def _share(tokens: int, total: int) -> str:
    if total <= 0:
        return "-"
    share = 100 * tokens / total
    return "<1 %" if 0 < share < 1 else f"{share:.0f} %"


def _said(line: Line, budget: Budget) -> str:
    return f"{line.tokens:,} · {_share(line.tokens, budget.total)}"


def _hover(line: Line, budget: Budget) -> str:
    said = f"<b>{palette.escape(line.group)}</b><br>{line.tokens:,} tokens on {counted(line.items, 'item')}"
    said += f"<br>{palette.escape(_share(line.tokens, budget.total))} of the total"
    return f"{said}<br>{palette.escape(_share(line.tokens, budget.window))} of the window" if budget.window else said


def _lowest(budget: Budget) -> float:
    """Where the scale of the classes begins: at 0, or with room for the number of one below it."""
    lowest = min([0, *(line.tokens for line in budget.lines)])
    highest = max([1, *(line.tokens for line in budget.lines)])
    return lowest - 0.3 * max(highest, -lowest) if lowest < 0 else 0.0


def _span(budget: Budget) -> float:
    return max(1.0, budget.total, budget.window or 0) * 1.04


def _lines(budget: Budget) -> list[tuple[int, str, str]]:
    if not budget.window or budget.compaction_line is None:
        return []
    return [(budget.compaction_line, "compaction line", palette.INK), (budget.window, "window", palette.INK)]


def _side(at: float, span: float) -> str:
    return "right" if at > 0.8 * span else "left" if at < 0.2 * span else "center"


def _family(group: str) -> str:
    return (
        "summaries" if group.startswith("summaries ") else group.split(":", maxsplit=1)[0] if ": " in group else group
    )


def _still_bars(budget: Budget, words: Words, body: int, span: float) -> "Still":
    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_TOP + body, left=150)
    place = axes.get_position()
    split = place.y0 + place.height * body / (_TOP + body)
    axes.set_position((place.x0, place.y0, place.width, split - place.y0))
    top = sheet.add_axes((place.x0, split, place.width, place.y1 - split))
    top.set_axis_off()
    top.barh([0], [budget.total], height=0.9, color=palette.LEVELS[budget.level])
    top.set_xlim(0, span)
    top.set_ylim(-1.6, 1.7)
    inside = budget.total > 0.2 * span
    at_start: dict[str, Any] = {"x": 0.01 * span if inside else budget.total + 0.01 * span, "y": 0, "va": "center"}
    top.text(s=f"{budget.total:,}", fontsize=8, color=palette.PAPER if inside else palette.INK, **at_start)
    for at, name, ink in _lines(budget):
        above = name == "window"
        top.plot([at, at], [-0.75, 0.75], color=ink, linestyle="--", linewidth=1.4)
        where: Any = {"ha": _side(at, span), "va": "bottom" if above else "top", "fontsize": 8}
        top.text(at, 0.8 if above else -0.8, f"{name} {at:,}", **where)
    rows = budget.lines
    colours = [palette.group_colour(line.group) for line in rows]
    bars = axes.barh(range(len(rows)), [line.tokens for line in rows], height=0.78, color=colours)
    axes.bar_label(bars, [_said(line, budget) for line in rows], padding=4, fontsize=8)
    axes.set_yticks(range(len(rows)), [still.say(line.group, size=40) for line in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(_lowest(budget), max(1, *(line.tokens for line in rows), 1) * 1.25)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"tokens per class ({budget.estimator})", fontsize=8, color=palette.FAINT)
    axes.grid(axis="x", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    return sheet


def _still_treemap(rows: Sequence[Line], budget: Budget, words: Words) -> "Still":
    from matplotlib.patches import Rectangle

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=340, axis=8, left=14)
    axes.set_axis_off()
    wide, high = float(still.WIDTH - 38), 340.0
    axes.set_xlim(0, wide)
    axes.set_ylim(high, 0)
    for line, (x, y, width, height) in zip(
        rows, squares([line.tokens for line in rows], Box(0, 0, wide, high)), strict=True
    ):
        colour = palette.group_colour(line.group)
        axes.add_patch(Rectangle((x, y), width, height, facecolor=colour, edgecolor=palette.PAPER, linewidth=1.5))
        said = f"{still.say(line.group)}\n{_said(line, budget)}"
        if width > 7 * max(map(len, said.split("\n"))) and height > 30:
            axes.text(x + 6, y + 6, said, fontsize=8, va="top", color=palette.ink_on(colour))
    return sheet
