"""The largest conversations, with those far beyond the usual marked: totals alone hide them.

What an outlier is says :func:`lcm_lab.store.overview.outliers`. Checked by ``tests/analysis/test_draw_growth.py``.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab import tokens
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.figure import Figure, Words, axis, framed, nothing
from lcm_lab.analysis.wording import counted
from lcm_lab.store.overview import OUTLIER, ConversationTotals, outliers, usual

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

TOP: Final = 20
_ROW: Final = 22


def conversations_figure(totals: Sequence[ConversationTotals], *, top: int = TOP) -> Figure:
    """The ``top`` conversations by tokens of their messages, outliers marked."""
    middle, marked = usual(totals), outliers(totals)
    ordered = sorted(totals, key=lambda one: (-one.message_tokens, one.conversation.conversation_id))
    rows = ordered[: max(1, top)]
    words = _words(totals, rows, middle, marked)
    if not any(one.message_tokens for one in rows):
        return nothing(words, "no conversation has messages" if totals else "no conversations")
    labels = [_label(one) for one in rows]
    numbers = [_said(one, middle, marked) for one in rows]
    longest = rows[0].message_tokens
    body = _ROW * len(rows) + 8
    plotly = framed(
        [
            go.Bar(
                x=[one.message_tokens for one in rows],
                y=list(range(len(rows))),
                orientation="h",
                width=0.78,
                marker={
                    "color": [
                        palette.ALARM if one.conversation.conversation_id in marked else palette.ASSISTANT
                        for one in rows
                    ]
                },
                text=[palette.escape(one) for one in numbers],
                textposition="outside",
                cliponaxis=False,
                hoverinfo="text",
                hovertext=[_hover(one) for one in rows],
            )
        ],
        words,
        height=body,
        bargap=0,
        xaxis=axis(
            f"tokens of messages ({tokens.STORED_OR_PLUGIN})",
            range=[0, longest * (1.7 if rows[0].conversation.conversation_id in marked else 1.3)],
            tickformat=",d",
        ),
        yaxis=axis(
            range=[len(rows) - 0.4, -0.6],
            tickvals=list(range(len(rows))),
            ticktext=[palette.escape(label) for label in labels],
            showgrid=False,
        ),
    )
    return Figure(plotly, words, lambda: _still(rows, labels, numbers, marked, words))


def _words(
    totals: Sequence[ConversationTotals], rows: Sequence[ConversationTotals], middle: float, marked: frozenset[int]
) -> Words:
    title = f"Conversations by tokens: showing {len(rows):,} of {len(totals):,}"
    whole = sum(one.message_tokens for one in totals)
    detail = f"{whole:,} tokens in all, median {middle:,.0f}; more than {OUTLIER} times the median: {len(marked):,}"
    rest = whole - sum(one.message_tokens for one in rows)
    said = f"tokens: {tokens.STORED_OR_PLUGIN}; messages only, summaries left out"
    if len(rows) < len(totals):
        said += f"; the {counted(len(totals) - len(rows), 'conversation')} not shown hold {rest:,} tokens"
    return Words(title, detail, said + ".")


def _colours(rows: Sequence[ConversationTotals], marked: frozenset[int]) -> list[str]:
    return [palette.ALARM if one.conversation.conversation_id in marked else palette.ASSISTANT for one in rows]


def _label(one: ConversationTotals) -> str:
    name = one.conversation.title or one.conversation.session_key or one.conversation.session_id
    return f"{one.conversation.conversation_id}  {palette.fitted(name, width=28)}"


def _said(one: ConversationTotals, middle: float, marked: frozenset[int]) -> str:
    mark = f" · {one.message_tokens / middle:,.0f}x the median" if one.conversation.conversation_id in marked else ""
    return f"{one.message_tokens:,}{mark}"


def _hover(one: ConversationTotals) -> str:
    name = one.conversation.title or one.conversation.session_key or one.conversation.session_id
    said = f"<b>{one.conversation.conversation_id}</b> {palette.wrapped(name, size=160)}"
    said += f"<br>{one.message_tokens:,} tokens in {counted(one.messages, 'message')}"
    said += f"<br>{counted(one.summaries, 'summary', 'summaries')} with {one.summary_tokens:,} tokens"
    return f"{said}<br>{one.context_tokens:,} tokens in context"


def _still(
    rows: Sequence[ConversationTotals], labels: list[str], numbers: list[str], marked: frozenset[int], words: Words
) -> "Still":
    from lcm_lab.analysis.draw import still

    sheet, axes = still.sheet(words, height=_ROW * len(rows) + 8, left=230)
    bars = axes.barh(range(len(rows)), [one.message_tokens for one in rows], height=0.78, color=_colours(rows, marked))
    look: dict[str, Any] = {"padding": 4, "fontsize": 8}
    axes.bar_label(bars, numbers, **look)
    axes.set_yticks(range(len(rows)), [still.say(label) for label in labels])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, rows[0].message_tokens * 1.3)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_xlabel(f"tokens of messages ({tokens.STORED_OR_PLUGIN})", fontsize=8, color=palette.FAINT)
    axes.grid(axis="x", color=palette.GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    return sheet
