"""The context as one strip, in the order the model reads it: as wide as its tokens, coloured by kind.

An item too small to see gets a least width, so the scale bends there; the ticks bend with it and stay exact. Wrappers
are a lighter, hatched end of their item; items that assembly drops are slots of that least width with a cross. The
invariant: places on the strip grow with tokens, and every item has one. Checked by
``tests/analysis/test_draw_context.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab import tokens
from lcm_lab.analysis.budget import LEAVES_OUT
from lcm_lab.analysis.context import Context
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, legend_entry, legend_height, nothing
from lcm_lab.analysis.draw.slots import Slot, lay, place, ticks
from lcm_lab.analysis.wording import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

LIMIT: Final = 2500
_HEIGHT: Final = 170
_HOVER_BYTES: Final = 900_000
_LABEL_AT: Final = {"window": -0.62, "compaction line": -0.9}


def context_strip(context: Context, *, limit: int = LIMIT) -> Figure:
    """The context of a conversation as a strip; above ``limit`` items neighbours are put together."""
    if not context.items:
        return nothing(Words(f"Context of conversation {context.conversation_id}"), "nothing in context")
    slots = lay(context.items, limit=limit)
    words = _words(context, slots)
    lines = _lines(context)
    right = max([slots[-1].end, *(place(slots, at) for at, _, _ in lines)])
    marks = ticks(slots, right)
    traces = _traces(slots)
    plotly = framed(
        traces,
        words,
        height=_HEIGHT,
        legend=legend_height(traces),
        barmode="overlay",
        bargap=0,
        xaxis=axis(
            f"tokens ({tokens.STORED_OR_PLUGIN}), wrappers included, in assembly order",
            tickvals=[place(slots, at) for at in marks],
            ticktext=[f"{at:,}" for at in marks],
            range=[-0.01 * right, 1.01 * right],
            ticks="outside",
            showgrid=False,
        ),
        yaxis={"visible": False, "range": [-1.25, 1.25], "fixedrange": True},
    )
    for at, name, colour in lines:
        x = place(slots, at)
        plotly.add_shape(type="line", x0=x, x1=x, y0=-0.62, y1=0.75, line={"color": colour, "width": 2, "dash": "dash"})
        plotly.add_annotation(
            x=x,
            y=_LABEL_AT[name],
            yanchor="top",
            xanchor=_side(x, right),
            showarrow=False,
            text=palette.escape(f"{name} {at:,}"),
            font={"size": 11},
        )
    _add_bracket(plotly, context, slots, right)
    return Figure(plotly, words, lambda: _still(context, slots, words, right))


def _words(context: Context, slots: Sequence[Slot]) -> Words:
    sent = len(context.sent)
    title = f"Context of conversation {context.conversation_id}: {context.total_tokens:,} tokens"
    if len(slots) < len(context.items):
        title += f", showing {len(slots):,} stretches for {counted(len(context.items), 'item')}"
    detail = f"{counted(sent, 'item')} sent, {context.wrapper_tokens:,} tokens of them XML wrapper"
    dropped = len(context.items) - sent
    if dropped:
        detail += f"; {dropped:,} dropped"
    marked = sum(bool(item.anomalies) for item in context.items)
    if marked:
        detail += f"; {counted(marked, 'anomaly', 'anomalies')}"
    if context.window:
        detail += f"; {tokens.percent_of(context.total_tokens, context.window)} % of {context.window:,} tokens"
    caption = (
        f"tokens: {tokens.STORED_OR_PLUGIN}; left out: {LEAVES_OUT}. Items too small to see have a least width; "
        f"ticks stay exact. Zone {context.zone}."
    )
    return Words(title, detail, caption)


def _lines(context: Context) -> list[tuple[int, str, str]]:
    if not context.window:
        return []
    return [
        (int(context.window * context.compact_at), "compaction line", palette.CAUTION),
        (context.window, "window", palette.ALARM),
    ]


def _kind(slot: Slot) -> str:
    """The kind of a slot: of its item, or the one with most tokens among several."""
    return max(slot.items, key=lambda item: item.tokens).kind


def _kind_order(kind: str) -> tuple[int, str]:
    """Summaries by depth, then messages."""
    return (-1 if kind == "leaf" else 0 if kind[:1] == "d" else 1, kind)


def _traces(slots: Sequence[Slot]) -> list[Any]:
    room = min(140, max(0, _HOVER_BYTES // len(slots) - 260))
    hover = [_hover(slot, room) for slot in slots]
    kinds = list(dict.fromkeys(map(_kind, slots)))
    edge = 0.5 if len(slots) <= 120 else 0
    traces = []
    for kind in sorted(kinds, key=_kind_order):
        chosen = [i for i, slot in enumerate(slots) if _kind(slot) == kind]
        look: dict[str, Any] = {"color": palette.kind_colour(kind), "line": {"color": palette.PAPER, "width": edge}}
        if kind == "missing":
            look = {"color": palette.PAPER, "line": {"color": palette.ALARM, "width": 1}}
        traces.append(
            _bars([(slots[i].start, slots[i].wrapper) for i in chosen], [hover[i] for i in chosen], look, kind)
        )
    wrapped = [i for i, slot in enumerate(slots) if slot.end > slot.wrapper]
    if wrapped:
        pattern = {"shape": "/", "size": 4, "solidity": 0.35, "fgcolor": palette.DEPTHS[2], "bgcolor": "#F4EAF1"}
        look = {"color": "#F4EAF1", "pattern": pattern, "line": {"width": 0}}
        spans = [(slots[i].wrapper, slots[i].end) for i in wrapped]
        traces.append(_bars(spans, [hover[i] for i in wrapped], look, "XML wrapper"))
    for name, symbol, colour, flags in _marks(slots):
        chosen = [i for i, flag in enumerate(flags) if flag]
        if chosen:
            traces.append(
                go.Scatter(
                    x=[(slots[i].start + slots[i].end) / 2 for i in chosen],
                    y=[0.62] * len(chosen),
                    mode="markers",
                    hovertext=[hover[i] for i in chosen],
                    hoverinfo="text",
                    name=name,
                    showlegend=False,
                    marker={"symbol": symbol, "size": 8, "color": colour, "line": {"width": 1, "color": colour}},
                )
            )
            traces.append(legend_entry(name, colour, symbol=symbol))
    return traces


def _bars(spans: list[tuple[float, float]], hover: list[str], look: dict[str, Any], name: str) -> Any:
    return go.Bar(
        orientation="h",
        base=[round(start, 2) for start, _ in spans],
        x=[round(end - start, 2) for start, end in spans],
        y=[0] * len(spans),
        width=1,
        hovertext=hover,
        hoverinfo="text",
        name=palette.escape(name),
        marker=look,
    )


def _marks(slots: Sequence[Slot]) -> list[tuple[str, str, str, list[bool]]]:
    return [
        ("dropped", "x", palette.ALARM, [any(item.dropped for item in slot.items) for slot in slots]),
        (
            "anomaly",
            "triangle-down",
            palette.INK,
            [any(item.anomalies and not item.dropped for item in slot.items) for slot in slots],
        ),
        (
            "already covered",
            "diamond",
            palette.CAUTION,
            [any(item.covered_by and not item.dropped and not item.anomalies for item in slot.items) for slot in slots],
        ),
    ]


def _hover(slot: Slot, room: int) -> str:
    item = slot.first
    if len(slot.items) > 1:
        last = slot.items[-1]
        kinds = ", ".join(dict.fromkeys(one.kind for one in slot.items))
        said = [f"<b>{len(slot.items)} items</b> {item.ordinal} to {last.ordinal}: {palette.escape(kinds)}"]
        return "<br>".join([*said, f"{slot.tokens:,} tokens"])
    size = f"{item.tokens:,} tokens ({item.rule})" + (
        f" + {item.wrapper_tokens:,} wrapper" if item.wrapper_tokens else ""
    )
    said = [
        f"<b>{item.ordinal} {palette.escape(item.kind)}</b> {palette.escape(palette.short_id(item.item_id, size=24))}"
    ]
    said.append(palette.escape(size + ("; fresh tail" if item.in_tail else "")))
    why = [f"dropped: {item.dropped}"] if item.dropped else []
    why += [*item.anomalies[:3], *(f"covered by {palette.short_id(one, size=24)}" for one in item.covered_by[:2])]
    said += [f"<b>{palette.wrapped(one)}</b>" for one in why]
    if room > 20:
        said.append(f"<i>{palette.wrapped(item.preview, size=room)}</i>")
    return "<br>".join(said)


def _tail(context: Context, slots: Sequence[Slot]) -> tuple[float, float, str] | None:
    chosen = [slot for slot in slots if any(item.in_tail for item in slot.items)]
    if not chosen:
        return None
    inside = [item for item in context.items if item.in_tail and item.dropped is None]
    size = sum(item.tokens + item.wrapper_tokens for item in inside)
    return chosen[0].start, chosen[-1].end, f"fresh tail: {counted(len(inside), 'item')}, {size:,} tokens"


def _side(x: float, right: float) -> str:
    return "right" if x > 0.85 * right else "left" if x < 0.15 * right else "center"


def _bracket_label(start: float, end: float, right: float) -> tuple[float, str]:
    """Where the bracket's label fits: in its middle, or from the end that has room."""
    if end - start >= 0.3 * right:
        return (start + end) / 2, "center"
    return (start, "left") if start < 0.5 * right else (end, "right")


def _add_bracket(plotly: Any, context: Context, slots: Sequence[Slot], right: float) -> None:
    found = _tail(context, slots)
    if found is None:
        return
    start, end, said = found
    line = {"color": palette.INK, "width": 1.5}
    for x0, x1, y0, y1 in ((start, end, 0.9, 0.9), (start, start, 0.78, 0.9), (end, end, 0.78, 0.9)):
        plotly.add_shape(type="line", x0=x0, x1=x1, y0=y0, y1=y1, line=line)
    x, side = _bracket_label(start, end, right)
    plotly.add_annotation(
        x=x,
        y=0.93,
        yanchor="bottom",
        xanchor=side,
        showarrow=False,
        text=palette.escape(said),
        font={"size": 11},
    )


def _still(context: Context, slots: Sequence[Slot], words: Words, right: float) -> "Still":
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_HEIGHT, legend=46, left=24)
    handles: list[Any] = []
    for kind in sorted(dict.fromkeys(map(_kind, slots)), key=_kind_order):
        spans = [(slot.start, slot.wrapper - slot.start) for slot in slots if _kind(slot) == kind]
        edge = palette.ALARM if kind == "missing" else palette.PAPER
        look: dict[str, Any] = {"facecolor": palette.kind_colour(kind), "edgecolor": edge}
        axes.broken_barh(spans, (-0.5, 1), linewidth=0.4 if len(slots) <= 120 else 0, **look)
        handles.append(Patch(label=still.say(kind), linewidth=0.5, **look))
    spans = [(slot.wrapper, slot.end - slot.wrapper) for slot in slots if slot.end > slot.wrapper]
    if spans:
        look = {"facecolor": "#F4EAF1", "edgecolor": palette.DEPTHS[2], "hatch": "////", "linewidth": 0}
        axes.broken_barh(spans, (-0.5, 1), **look)
        handles.append(Patch(label="XML wrapper", **look))
    for (name, _, colour, flags), marker in zip(_marks(slots), ("x", "v", "D"), strict=True):
        xs = [(slot.start + slot.end) / 2 for slot, flag in zip(slots, flags, strict=True) if flag]
        if xs:
            axes.scatter(xs, [0.62] * len(xs), s=22, marker=marker, c=colour, linewidths=1.2)
            handles.append(Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=5, label=name))
    for at, name, colour in _lines(context):
        x = place(slots, at)
        axes.plot([x, x], [-0.62, 0.75], color=colour, linestyle="--", linewidth=1.5)
        axes.text(x, _LABEL_AT[name], f"{name} {at:,}", fontsize=8, va="top", ha=_side(x, right))
    found = _tail(context, slots)
    if found:
        start, end, said = found
        axes.plot([start, start, end, end], [0.78, 0.9, 0.9, 0.78], color=palette.INK, linewidth=1)
        x, side = _bracket_label(start, end, right)
        axes.text(x, 0.95, said, fontsize=8, va="bottom", ha=side)
    marks = ticks(slots, right)
    axes.set_xticks([place(slots, at) for at in marks], [f"{at:,}" for at in marks])
    axes.set_xlabel(f"tokens ({tokens.STORED_OR_PLUGIN}), wrappers included", fontsize=8, color=palette.FAINT)
    axes.set_xlim(-0.01 * right, 1.01 * right)
    axes.set_ylim(-1.25, 1.25)
    axes.yaxis.set_visible(False)
    axes.spines["left"].set_visible(False)
    still.legend(axes, handles)
    return sheet
