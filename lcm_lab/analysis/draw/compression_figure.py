"""What each summary saved, and what it cost where it is larger than its sources: the bars below the line.

Above ``limit`` summaries those that saved nothing come first (the worst ones), then the largest savings and losses,
all in order of creation, and the title says how many are shown. Checked by ``tests/analysis/test_draw_growth.py``.
"""

from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.compression import Compression, DepthTotal, Ratio
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_entry, legend_height, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.store.rows import kind_label

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

LIMIT: Final = 1000
_HEIGHT: Final = 280


def compression_figure(compression: Compression, *, limit: int = LIMIT) -> Figure:
    """The saving of each summary in tokens, by depth."""
    rows = _chosen(compression, max(1, limit))
    words = _words(compression, rows)
    if not rows:
        return nothing(words, "no summary with known sources" if compression.rows else "no summaries")
    traces = []
    for depth in sorted({row.depth for row in rows}):
        mine = [(i, row) for i, row in enumerate(rows) if row.depth == depth]
        colour = palette.depth_colour(depth)
        traces.append(
            go.Bar(
                x=[i for i, _ in mine],
                y=[row.saving for _, row in mine],
                width=0.9,
                name=kind_label("", depth),
                hovertext=[_hover(row) for _, row in mine],
                hoverinfo="text",
                marker={
                    "color": [palette.ALARM if (row.saving or 0) < 0 else colour for _, row in mine],
                    "line": {"color": colour, "width": 0.5},
                },
                legendgroup=kind_label("", depth),
                showlegend=False,
            )
        )
        traces.append(legend_entry(kind_label("", depth), colour, symbol="square"))
    flagged = [(i, row) for i, row in enumerate(rows) if row.flagged]
    if flagged:
        traces.append(
            go.Scatter(
                x=[i for i, _ in flagged],
                y=[min(0, row.saving or 0) for _, row in flagged],
                mode="markers",
                name="saved nothing",
                cliponaxis=False,
                hovertext=[_hover(row) for _, row in flagged],
                hoverinfo="text",
                marker={"symbol": "triangle-up", "size": 7, "color": palette.ALARM},
            )
        )
    plotly = framed(
        traces,
        words,
        height=_HEIGHT,
        legend=legend_height(traces),
        barmode="overlay",
        bargap=0.1,
        xaxis=axis(
            "summaries in order of creation", range=[-0.8, len(rows) - 0.2], showgrid=False, showticklabels=False
        ),
        yaxis=axis(
            f"tokens saved ({compression.estimator})", tickformat=",d", zeroline=True, zerolinecolor=palette.INK
        ),
    )
    return Figure(plotly, words, lambda: _still(rows, words, compression.estimator))


def _chosen(compression: Compression, limit: int) -> list[Ratio]:
    known = compression.known
    if len(known) <= limit:
        return list(known)
    first = [row.summary_id for row in compression.flagged][: max(1, limit // 2)]
    by_size = sorted(known, key=lambda row: (-abs(row.saving or 0), row.summary_id))
    kept = set(list(dict.fromkeys([*first, *(row.summary_id for row in by_size)]))[:limit])
    return [row for row in known if row.summary_id in kept]


def _words(compression: Compression, rows: list[Ratio]) -> Words:
    where = "" if compression.conversation_id is None else f" in conversation {compression.conversation_id}"
    title = f"What each summary saved{where}"
    if len(rows) < len(compression.known):
        title += f": showing {len(rows):,} of {counted(len(compression.known), 'summary', 'summaries')}"
    detail = "; ".join(map(_total, compression.by_depth[:6]))
    said = [f"tokens: {compression.estimator}", "saved: tokens of the direct sources minus tokens of the summary"]
    if compression.flagged:
        worst = compression.flagged[0]
        said.append(f"{len(compression.flagged):,} saved nothing, worst {palette.short_id(worst.summary_id, size=24)}")
    if compression.unknown:
        some = ", ".join(palette.short_id(key, size=24) for key in compression.unknown[:3])
        more = ", and more" if len(compression.unknown) > 3 else ""
        said.append(f"left out, sources unknown: {len(compression.unknown):,} ({some}{more})")
    return Words(title, detail, "; ".join(said) + ".")


def _total(total: DepthTotal) -> str:
    ratio = "" if total.ratio is None else f" ({100 * total.ratio:.0f} %)"
    return f"{kind_label('', total.depth)} {total.source_tokens:,} to {total.tokens:,}{ratio}"


def _hover(row: Ratio) -> str:
    ratio = "" if row.ratio is None else f", {100 * row.ratio:.0f} % of its sources"
    said = f"<b>{palette.escape(palette.short_id(row.summary_id, size=24))}</b> {palette.escape(row.label)}"
    said += f"<br>{row.source_tokens or 0:,} to {row.tokens:,} tokens ({palette.escape(row.rule)}){ratio}"
    return f"{said}<br>saved {row.saving or 0:,}"


def _still(rows: list[Ratio], words: Words, estimator: str) -> "Still":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_HEIGHT, legend=26, axis=30, left=90)
    savings = [row.saving or 0 for row in rows]
    colours = [
        palette.ALARM if saving < 0 else palette.depth_colour(row.depth)
        for saving, row in zip(savings, rows, strict=True)
    ]
    axes.bar(range(len(rows)), savings, width=0.9, color=colours, edgecolor=colours, linewidth=0.4)
    axes.axhline(0, color=palette.INK, linewidth=0.8)
    flagged = [(i, min(0, row.saving or 0)) for i, row in enumerate(rows) if row.flagged]
    look: dict[str, Any] = {"marker": "^", "s": 30, "c": palette.ALARM, "zorder": 3, "clip_on": False}
    axes.scatter([i for i, _ in flagged], [y for _, y in flagged], **look)
    axes.set_xlim(-0.8, len(rows) - 0.2)
    axes.set_xticks([])
    axes.set_xlabel("summaries in order of creation", fontsize=8, color=palette.FAINT)
    axes.set_ylabel(f"tokens saved\n({estimator})", fontsize=8, color=palette.FAINT)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.grid(axis="y", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    depths = sorted({row.depth for row in rows})
    handles: list[Any] = [Patch(color=palette.depth_colour(depth), label=kind_label("", depth)) for depth in depths]
    if flagged:
        look = {"linestyle": "none", "marker": "^", "color": palette.ALARM, "markersize": 6}
        handles.append(Line2D([], [], label="saved nothing", **look))
    still.legend(axes, handles)
    return sheet
