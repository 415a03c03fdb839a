"""A figure of ours: live plotly, a still picture, and one line of text, in one object that a notebook shows.

A saved notebook keeps all three. JupyterLab shows the still until the pointer is over it, then the live figure; other
viewers and HTML made by nbconvert show the still, a terminal the line. Nothing here needs a browser, a renderer setting
or the network, and importing it changes no setting of plotly or matplotlib. Checked by
``tests/analysis/test_draw_figure.py``.
"""

import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape as html_escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import plotly.graph_objects as go

from lcm_lab.analysis.draw import palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Still

PLOTLY_MIME: Final = "application/vnd.plotly.v1+json"
CONFIG: Final = {
    "displaylogo": False,
    "responsive": True,
    "showSendToCloud": False,  # the default offers to upload the figure, and with it what is stored
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
FONT: Final = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans', 'Noto Sans CJK SC', sans-serif"
_LEGEND: Final = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": 1,
    "yanchor": "bottom",
    "traceorder": "normal",
    "itemclick": False,
    "itemdoubleclick": False,
    "font": {"size": 12},
}
_CAPTION_COLUMNS: Final = 86
_TITLE_COLUMNS: Final = 64
_DETAIL_COLUMNS: Final = 100


@dataclass(frozen=True, slots=True)
class Words:
    """What stands around a figure: title, the numbers in short, and what they rest on and leave out. Plain text."""

    title: str
    detail: str = ""
    caption: str = ""

    @property
    def title_lines(self) -> list[str]:
        """The title, broken where a narrow notebook would cut it."""
        return palette.lines(self.title, width=_TITLE_COLUMNS)

    @property
    def detail_lines(self) -> list[str]:
        """The detail, broken likewise."""
        return palette.lines(self.detail, width=_DETAIL_COLUMNS)

    @property
    def caption_lines(self) -> list[str]:
        """The caption, broken likewise."""
        return palette.lines(self.caption, width=_CAPTION_COLUMNS)

    def __str__(self) -> str:
        said = f"{self.title}: {self.detail}" if self.detail else self.title
        return palette.visible(f"{said} ({self.caption})" if self.caption else said, size=2000)


class Figure:
    """A figure; shown in a notebook by being the last value of a cell.

    ``plotly`` is the plotly figure, to change or combine; the still shows what was drawn, not such changes.
    """

    def __init__(self, plotly: Any, words: Words, still: Callable[[], "Still"]) -> None:
        self.plotly = plotly
        self.words = words
        self._still = still
        self._png: bytes | None = None

    def __repr__(self) -> str:
        return f"<Figure: {self.words}>"

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        makers: dict[str, Callable[[], Any]] = {
            PLOTLY_MIME: self.to_json,
            "image/png": self.png,
            "text/plain": lambda: str(self.words),
        }
        wanted = [mime for mime in makers if (not include or mime in include) and mime not in (exclude or ())]
        return {mime: makers[mime]() for mime in wanted}

    def to_json(self) -> dict[str, Any]:
        """The plotly figure as plain JSON values, as a notebook stores it."""
        found: dict[str, Any] = json.loads(self.plotly.to_json(validate=False))
        return {**found, "config": dict(CONFIG)}

    def png(self) -> bytes:
        """The still as a PNG, 900 pixels wide; drawn once."""
        if self._png is None:
            from lcm_lab.analysis.draw import still

            self._png = still.png(self._still)
        return self._png

    def to_png(self, path: str | os.PathLike[str]) -> Path:
        """Write the still to ``path``."""
        target = Path(path)
        target.write_bytes(self.png())
        return target

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that shows the figure live and needs nothing else: plotly.js is in it."""
        target = Path(path)
        body = self.plotly.to_html(full_html=False, include_plotlyjs=True, include_mathjax=False, config=CONFIG)
        title = html_escape(palette.visible(self.words.title))
        head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>'
        page = f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body style="margin:0">{body}</body></html>\n'
        target.write_text(page, encoding="utf-8")
        return target


def framed(traces: list[Any], words: Words, *, height: int, legend: int = 0, axis: int = 56, **layout: Any) -> Any:
    """A plotly figure of ``traces`` in our frame: title, detail and caption in full, all text escaped.

    ``height`` is the plot area's; ``legend`` pixels above it are for the legend, ``axis`` below it for the axis title.
    The template is empty, so that no default of the notebook changes what is drawn.
    """
    head = 22 * len(words.title_lines) + 17 * len(words.detail_lines) + 26
    foot = 15 * len(words.caption_lines)
    figure = go.Figure(data=traces)
    figure.update_layout(
        template=go.layout.Template(),
        title=_title(words),
        height=head + legend + height + axis + foot + 14,
        autosize=True,
        margin={"t": head + legend, "b": axis + foot + 14, "l": 70, "r": 40, "pad": 2},
        font={"family": FONT, "size": 12, "color": palette.INK},
        paper_bgcolor=palette.PAPER,
        plot_bgcolor=palette.PAPER,
        modebar={"orientation": "v", "bgcolor": "rgba(0,0,0,0)", "color": palette.EDGE},
        hoverlabel={"align": "left", "bgcolor": "#FFFFFF", "font": {"size": 12, "color": palette.INK}},
        legend=_LEGEND,
        showlegend=bool(legend),
    )
    figure.update_layout(**layout)
    if words.caption_lines:
        place = {"x": 0, "xref": "paper", "xanchor": "left", "y": 0, "yref": "paper", "yanchor": "top"}
        note(figure, *words.caption_lines, size=11, colour=palette.FAINT, yshift=-axis, align="left", **place)
    return figure


def note(figure: Any, *lines: str, size: int = 11, colour: str = palette.INK, **place: Any) -> None:
    """Writes lines of plain text into a plotly figure; ``place`` is where, in plotly's words."""
    text = "<br>".join(map(palette.escape, lines))
    figure.add_annotation(text=text, showarrow=False, font={"size": size, "color": colour}, **place)


def _title(words: Words) -> dict[str, Any]:
    detail = "<br>".join(map(palette.escape, words.detail_lines))
    return {
        "text": "<b>" + "<br>".join(map(palette.escape, words.title_lines)) + "</b>",
        "subtitle": {"text": detail, "font": {"size": 12, "color": palette.FAINT}},
        "font": {"size": 16, "color": palette.INK},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        # plotly sets a title by the middle of its lines.
        "pad": {"t": 2 + 10 * len(words.title_lines), "l": 14},
    }


def legend_rows(names: Sequence[str], *, width: int = 780) -> list[list[int]]:
    """Places of ``names`` in the rows a legend of ``width`` pixels needs."""
    rows: list[list[int]] = []
    left = 0
    for i, name in enumerate(names):
        needed = 7 * palette.columns(name) + 46
        if not rows or needed > left:
            rows.append([])
            left = width
        rows[-1].append(i)
        left -= needed
    return rows


def legend_height(traces: Sequence[Any]) -> int:
    """Pixels for the legend of ``traces``, for a notebook that is narrow."""
    names = [str(trace.name) for trace in traces if trace.showlegend is not False and trace.name]
    rows = legend_rows(names, width=620)
    if len(rows) > 1:
        # plotly then sets all entries in columns as wide as the widest.
        columns = max(1, 560 // (7 * max(map(palette.columns, names)) + 46))
        return 10 + 20 * -(-len(names) // columns)
    return 30


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """An axis in our style; ``title`` is escaped."""
    return {
        "title": {"text": palette.escape(title), "font": {"size": 12, "color": palette.FAINT}, "standoff": 10},
        "gridcolor": palette.GRID,
        "linecolor": palette.GRID,
        "zeroline": False,
        "automargin": True,
        "tickfont": {"size": 11},
        "tickangle": 0,
        **more,
    }


def legend_entry(name: str, colour: str, *, symbol: str = "circle", outline: str | None = None) -> Any:
    """A trace without points that stands in the legend only."""
    line = {"color": outline or colour, "width": 2 if outline else 0}
    return go.Scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=palette.escape(name, size=60),
        hoverinfo="skip",
        marker={"color": colour, "size": 11, "symbol": symbol, "line": line},
    )


def nothing(words: Words, reason: str) -> Figure:
    """A figure that says in its middle why there is nothing to draw."""
    plotly = framed([], words, height=120, axis=10, xaxis={"visible": False}, yaxis={"visible": False})
    note(plotly, reason, size=16, colour=palette.FAINT, x=0.5, y=0.5, xref="paper", yref="paper")

    def still() -> "Still":
        from lcm_lab.analysis.draw import still as stills

        sheet, axes = stills.sheet(words, height=120, axis=10)
        axes.set_axis_off()
        axes.text(0.5, 0.5, stills.say(reason), ha="center", va="center", fontsize=13, color=palette.FAINT)
        return sheet

    return Figure(plotly, Words(words.title, reason, words.caption), still)
