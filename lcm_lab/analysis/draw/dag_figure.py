"""The summary DAG as a picture: deepest level on top, time from left to right, lines from each summary to its sources.

Two traces whatever the size (all edges are one line with gaps), so a browser stays quick; above ``limit`` neighbours in
time are bundled and the title says how many are shown. Checked by ``tests/analysis/test_draw_dag.py``.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import plotly.graph_objects as go

from lcm_lab import times
from lcm_lab.analysis.dag import Dag
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.dag_layout import Layout, Mark, layout
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_entry, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.store.rows import kind_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

LIMIT: Final = 2000
"""Marks at which a browser still draws and zooms at once."""

_HOVER_BYTES: Final = 900_000
_TICKS: Final = 6


def dag_figure(dag: Dag, *, limit: int = LIMIT, zone: times.Zone) -> Figure:
    """The DAG, layered by depth and ordered by time; in-context summaries outlined, doubtful ones ringed."""
    if not dag.nodes:
        return nothing(_words(dag, None, zone), "no summaries")
    problems = dag.problems
    found = layout(dag, limit=max(1, limit), keep={*dag.in_context, *problems})
    words = _words(dag, found, zone)
    plotly = framed(
        _traces(dag, found, problems, zone),
        words,
        height=_height(found),
        legend=30,
        axis=72,
        xaxis=axis(
            f"order of creation, times of the lowest row in {zone.name}",
            **_ticks(dag, found, zone),
            showgrid=False,
            range=[-0.02 * found.width - 0.4, found.width * 1.02 + 0.4],
        ),
        yaxis=axis(
            tickvals=list(range(0, len(found.rows), _every(found))),
            ticktext=[palette.escape(label) for label in _row_labels(dag, found)[:: _every(found)]],
            range=[-0.5, len(found.rows) - 0.5],
        ),
    )
    return Figure(plotly, words, lambda: _still(dag, found, problems, words, zone))


def _words(dag: Dag, found: Layout | None, zone: times.Zone) -> Words:
    title = f"Summary DAG of conversation {dag.conversation_id}"
    if found is None:
        return Words(title)
    total = len(dag.nodes)
    if found.bundles:
        title += f": showing {found.alone:,} of {total:,} summaries one by one, the others in {found.bundles:,} bundles"
    covered = dag.coverage
    detail = (
        f"{counted(total, 'summary', 'summaries')} in {counted(len(dag.levels), 'level')}, "
        f"{counted(len(dag.roots), 'root')}, {len(dag.in_context):,} in context; "
        f"{covered.by_any:,} of {covered.messages:,} messages covered, {covered.by_context:,} by the context"
    )
    said = [
        f"tokens: {dag.estimator}",
        f"times in {zone.name}",
        "each line leads down to what the upper summary was made from",
    ]
    if dag.cyclic:
        said.append(f"in a cycle: {counted(len(dag.cyclic), 'summary', 'summaries')}")
    if dag.depth_conflicts:
        said.append(f"at a depth that contradicts the sources: {len(dag.depth_conflicts):,}")
    if dag.dangling:
        said.append(f"not drawn: {counted(len(dag.dangling), 'edge')} to summaries that do not exist")
    if dag.foreign:
        said.append(f"not drawn: {counted(len(dag.foreign), 'edge')} into other conversations")
    return Words(title, detail, "; ".join(said) + ".")


def _height(found: Layout) -> int:
    return min(640, max(170, 90 * len(found.rows)))


def _every(found: Layout) -> int:
    """Which rows get a label: each, unless they are too many to read."""
    return -(-len(found.rows) // 30)


def _size(found: Layout) -> float:
    return min(15.0, max(4.0, 760.0 / found.width))


def _edge_width(found: Layout) -> float:
    """Thinner the more there are, so that dense levels stay a texture and not a wall."""
    return min(1.0, max(0.45, 300 / (len(found.edges) or 1)))


def _row_labels(dag: Dag, found: Layout) -> list[str]:
    labels = []
    for depths in found.rows:
        count = sum(len(dag.levels[depth]) for depth in depths)
        names = kind_label("", depths[0]) if len(depths) == 1 else f"d{depths[0]} to d{depths[-1]}"
        labels.append(f"{names} ({count:,})")
    return labels


def _ticks(dag: Dag, found: Layout, zone: times.Zone) -> dict[str, Any]:
    lowest = [mark for mark in found.marks if mark.row == 0]
    step = max(1, -(-len(lowest) // _TICKS))
    chosen = lowest[::step]
    shown = [zone.show(dag.nodes[mark.ids[0]].created_at, zone=False).removesuffix(":00") for mark in chosen]
    return {
        "tickvals": [mark.x for mark in chosen],
        "ticktext": ["<br>".join(map(palette.escape, one.split())) for one in shown],
    }


def _traces(dag: Dag, found: Layout, problems: dict[str, tuple[str, ...]], zone: times.Zone) -> list[Any]:
    kind = go.Scattergl if len(found.marks) > LIMIT else go.Scatter
    in_context = set(dag.in_context)
    outlined = [any(one in in_context for one in mark.ids) for mark in found.marks]
    x, y = _edge_lines(found)
    room = min(120, max(0, _HOVER_BYTES // len(found.marks) - 200))
    size = _size(found)
    traces = [
        kind(
            x=x,
            y=y,
            mode="lines",
            hoverinfo="skip",
            showlegend=False,
            line={"color": palette.EDGE, "width": _edge_width(found)},
            opacity=min(1.0, 1.5 * _edge_width(found)),
        ),
        kind(
            x=np.array([mark.x for mark in found.marks], dtype="float32"),
            y=np.array([mark.row for mark in found.marks], dtype="int16"),
            mode="markers",
            hovertext=[_hover(dag, mark, problems, zone, room) for mark in found.marks],
            hoverinfo="text",
            showlegend=False,
            marker=_markers(found, outlined),
        ),
    ]
    doubtful = _doubtful(found, problems)
    if doubtful:
        ring = {"symbol": "circle-open", "size": size + 8, "color": palette.ALARM, "line": {"width": 2.5}}
        where = {"x": [mark.x for mark in doubtful], "y": [mark.row for mark in doubtful]}
        traces.append(kind(**where, mode="markers", hoverinfo="skip", showlegend=False, marker=ring))
    return [*traces, *_legend(dag, found, any(outlined), bool(doubtful))]


def _markers(found: Layout, outlined: list[bool]) -> dict[str, Any]:
    """One value where all are alike: a list per summary would be half the size of a large figure."""
    size = _size(found)
    many = [len(mark.ids) > 1 for mark in found.marks]
    return {
        "color": [palette.depth_colour(mark.depth) for mark in found.marks],
        "size": [size * 1.25 if flag else size for flag in many] if found.bundles else size,
        "symbol": ["square" if flag else "circle" for flag in many] if found.bundles else "circle",
        "line": {"color": palette.INK, "width": [2 if flag else 0 for flag in outlined] if any(outlined) else 0},
        "opacity": 1,
    }


def _legend(dag: Dag, found: Layout, outlined: bool, doubtful: bool) -> list[Any]:  # noqa: FBT001
    tints: dict[str, list[int]] = {}
    for depth in dag.levels:
        tints.setdefault(palette.depth_colour(depth), []).append(depth)
    entries = []
    for colour, depths in tints.items():
        name = kind_label("", depths[0])
        entries.append(legend_entry(name if len(depths) == 1 else f"{name} and deeper", colour))
    if found.bundles:
        entries.append(legend_entry("several in one", palette.DEPTHS[0], symbol="square"))
    if outlined:
        entries.append(legend_entry("in context", palette.PAPER, outline=palette.INK))
    if doubtful:
        entries.append(legend_entry("doubtful", palette.ALARM, symbol="circle-open", outline=palette.ALARM))
    return entries


def _doubtful(found: Layout, problems: dict[str, tuple[str, ...]]) -> list[Mark]:
    return [mark for mark in found.marks if any(one in problems for one in mark.ids)]


def _edge_lines(found: Layout) -> tuple[Any, Any]:
    """Both ends of each edge and a gap, in one line."""
    x = np.full(3 * len(found.edges), np.nan, dtype="float32")
    y = np.full(3 * len(found.edges), np.nan, dtype="float32")
    for offset, end in enumerate(zip(*found.edges, strict=True)):
        x[offset::3] = [found.marks[i].x for i in end]
        y[offset::3] = [found.marks[i].row for i in end]
    return x, y


def _hover(dag: Dag, mark: Mark, problems: dict[str, tuple[str, ...]], zone: times.Zone, room: int) -> str:
    if len(mark.ids) > 1:
        return _hover_bundle(dag, mark, problems, zone)
    key = mark.ids[0]
    node = dag.nodes[key]
    place = f", in context at {node.in_context}" if node.in_context is not None else ""
    said = [f"<b>{palette.escape(palette.short_id(key, size=24))}</b> {palette.escape(node.label + place)}"]
    said.append(palette.escape(f"{node.tokens:,} tokens ({node.rule}); made {zone.show(node.created_at)}"))
    below = len(dag.sources(key))
    source = counted(below, "summary", "summaries") if below else counted(node.message_links, "message")
    if room:
        covered = counted(dag.graph.nodes[key]["messages"], "message")
        said.append(palette.escape(f"made from {source}, covers {covered}"))
    if room and node.earliest_at:
        span = f"{zone.show(node.earliest_at, zone=False)} to {zone.show(node.latest_at, zone=False)}"
        said.append(palette.escape(f"covers {span}"))
    said += [f"<b>{palette.wrapped(why)}</b>" for why in problems.get(key, ())[:3]]
    if room > 20:
        said.append(f"<i>{palette.wrapped(node.preview, size=room)}</i>")
    return "<br>".join(said)


def _hover_bundle(dag: Dag, mark: Mark, problems: dict[str, tuple[str, ...]], zone: times.Zone) -> str:
    first, last = dag.nodes[mark.ids[0]], dag.nodes[mark.ids[-1]]
    doubtful = sum(one in problems for one in mark.ids)
    said = [
        f"<b>{len(mark.ids):,} summaries</b> {palette.escape(first.label)}",
        f"{sum(dag.nodes[one].tokens for one in mark.ids):,} tokens",
        palette.escape(f"{palette.short_id(mark.ids[0])} to {palette.short_id(mark.ids[-1])}"),
        palette.escape(f"made {zone.show(first.created_at, zone=False)} to {zone.show(last.created_at)}"),
    ]
    return "<br>".join([*said, f"<b>{doubtful:,} doubtful</b>"] if doubtful else said)


def _still(dag: Dag, found: Layout, problems: dict[str, tuple[str, ...]], words: Words, zone: times.Zone) -> "Still":
    from matplotlib.collections import LineCollection
    from matplotlib.lines import Line2D

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_height(found), legend=26, axis=62, left=90)
    marks = found.marks
    lines = [[(marks[a].x, marks[a].row), (marks[b].x, marks[b].row)] for a, b in found.edges]
    axes.add_collection(LineCollection(lines, colors=palette.EDGE, linewidths=0.7 * _edge_width(found), zorder=1))
    in_context = set(dag.in_context)
    area = (_size(found) * 0.72) ** 2
    for square in (False, True):
        chosen = [mark for mark in marks if (len(mark.ids) > 1) == square]
        axes.scatter(
            [mark.x for mark in chosen],
            [mark.row for mark in chosen],
            s=area * (1.4 if square else 1),
            c=[palette.depth_colour(mark.depth) for mark in chosen] or None,
            marker="s" if square else "o",
            edgecolors=palette.INK,
            linewidths=[1.5 if any(one in in_context for one in mark.ids) else 0 for mark in chosen],
            zorder=2,
        )
    doubtful = _doubtful(found, problems)
    ring: dict[str, Any] = {"facecolors": "none", "edgecolors": palette.ALARM, "linewidths": 1.8, "zorder": 3}
    axes.scatter([mark.x for mark in doubtful], [mark.row for mark in doubtful], s=area * 2.4 + 20, **ring)
    ticks = _ticks(dag, found, zone)
    axes.set_xticks(ticks["tickvals"], [label.replace("<br>", "\n") for label in ticks["ticktext"]])
    labels = _row_labels(dag, found)
    axes.set_yticks(range(0, len(labels), _every(found)), [still.say(label) for label in labels[:: _every(found)]])
    axes.set_xlim(-0.02 * found.width - 0.4, found.width * 1.02 + 0.4)
    axes.set_ylim(-0.5, len(found.rows) - 0.5)
    axes.grid(axis="y", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    entries = []
    for trace in _legend(dag, found, bool(in_context), bool(doubtful)):
        look = trace.marker
        open_ring = look.symbol == "circle-open"
        entries.append(
            Line2D(
                [],
                [],
                linestyle="none",
                markersize=7,
                marker="s" if look.symbol == "square" else "o",
                markerfacecolor="none" if open_ring else look.color,
                label=still.say(trace.name),
                markeredgecolor=look.line.color,
                markeredgewidth=1.5 if look.line.width else 0,
            )
        )
    axes.set_xlabel(f"order of creation, times of the lowest row in {zone.name}", fontsize=8, color=palette.FAINT)
    still.legend(axes, entries)
    return sheet
