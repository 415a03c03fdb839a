"""A figure in a panel: live and clickable where anywidget is installed, a still picture where it is not.

The invariant: a click gives the place of a point in its trace and nothing else; what that means is the caller's.
Checked by ``tests/panels/test_browse_dag.py``.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from lcm_lab.panels import lists
from lcm_lab.views import blocks

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure


class Live:
    """Shows one figure at a time; ``widget`` is displayed."""

    def __init__(self, *, description: str = "figure") -> None:
        self.description = description
        self.figure: Any = None
        self.widget = w.VBox(layout=w.Layout(width="100%", min_width="0", overflow="hidden"))
        self.widget.add_class("lcm-live")

    def show(
        self, figure: "Figure | None", *, clickable: int | None = None, on_point: Callable[[int], None] | None = None
    ) -> None:
        """Show ``figure`` (None: nothing); a click on a point of the trace ``clickable`` is told to ``on_point``."""
        before, self.figure = self.widget.children, None
        if figure is None:
            self.widget.children = ()
        else:
            made = _figure_widget(figure)
            if made is None:
                self.widget.children = (w.HTML(_still(figure)),)
            else:
                self.figure = made
                if clickable is not None and on_point is not None and len(made.data) > clickable:
                    made.data[clickable].on_click(lambda _trace, points, _state: _told(points, on_point))
                words = figure.words
                head = w.HTML(blocks.headline(words.title) + blocks.faint(words.detail))
                self.widget.children = (head, made, w.HTML(blocks.faint(words.caption)), _fit())
        for one in before:
            lists.close(one)

    def ring(self, x: float | None, y: float | None, *, size: float = 20) -> None:
        """Put a ring around a place of the figure, or take it away."""
        if self.figure is None:
            return
        rings = [one for one in self.figure.data if one.name == _RING]
        places = {"x": [] if x is None else [x], "y": [] if y is None else [y]}
        with self.figure.batch_update():
            if rings:
                rings[0].update(places)
            elif x is not None:
                look = {"symbol": "circle-open", "size": size, "color": "#0072B2", "line": {"width": 3}}
                kind = self.figure.add_scattergl if self.figure.data[0].type == "scattergl" else self.figure.add_scatter
                kind(**places, mode="markers", name=_RING, hoverinfo="skip", showlegend=False, marker=look)


_RING = "selected"
_TICKS = 4


def prepare() -> None:
    """Import what live figures need: it takes more than a second, so it is done before one is asked for."""
    import plotly.graph_objects as go

    from lcm_lab.analysis.draw import budget_figures, dag_figure

    _ = budget_figures, dag_figure, go.Scatter(x=[0], marker={"size": 1})
    with suppress(ImportError):
        go.FigureWidget  # noqa: B018  (plotly imports it when it is named; it needs anywidget)


def _figure_widget(figure: "Figure") -> Any:
    import plotly.graph_objects as go

    from lcm_lab.analysis.draw.figure import CONFIG

    try:
        made = go.FigureWidget(figure.plotly)
    except ImportError:
        return None
    _bare(made, figure)
    made._config = {**made._config, **CONFIG}  # noqa: SLF001  (plotly has no other way to say it)
    return made


def _fit() -> w.DOMWidget:
    """Keeps figures as wide as the box they stand in; exists where live figures do."""
    import anywidget

    class Fit(anywidget.AnyWidget):
        """``fit.js`` in the page; it has no state."""

        _esm = Path(__file__).with_name("fit.js").read_text("utf-8")

    return Fit()


def _bare(made: Any, figure: "Figure") -> None:
    """Take title and caption out of the picture: the panel says them in words of its own, which wrap."""
    words = figure.words
    head = 22 * len(words.title_lines) + 17 * len(words.detail_lines) + 18
    foot = 15 * len(words.caption_lines)
    margin = made.layout.margin
    ticks = made.layout.xaxis
    with made.batch_update():
        made.layout.title = None
        if ticks.tickvals is not None and len(ticks.tickvals) > _TICKS:
            # Half as wide as a figure of its own, so half the labels.
            ticks.tickvals, ticks.ticktext = ticks.tickvals[::2], ticks.ticktext[::2]
        made.layout.annotations = [one for one in made.layout.annotations if one.yref != "paper" or one.y != 0]
        made.layout.height = made.layout.height - head - foot
        made.layout.margin = {"t": max(8, margin.t - head), "b": margin.b - foot}


def _still(figure: "Figure") -> str:
    from base64 import b64encode

    from lcm_lab.views.escaping import escaped

    data = b64encode(figure.png()).decode()
    return f'<img alt="{escaped(str(figure.words))}" style="max-width:100%" src="data:image/png;base64,{data}">'


def _told(points: Any, on_point: Callable[[int], None]) -> None:
    if points.point_inds:
        on_point(int(points.point_inds[0]))
