"""What a notebook gets from a figure: live, still and text, self-contained and without a trace in global settings."""

import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import matplotlib as mpl
import plotly.graph_objects as go
import plotly.io as pio
import pytest
from PIL import Image

from lcm_lab.analysis.draw import still
from lcm_lab.analysis.draw.figure import PLOTLY_MIME, Figure, Words, axis, framed, legend_rows, nothing

HOSTILE = r"</script><img src=x onerror=alert(1)> $\alpha$ 你好 שלום" + "\x00\x1b" + "x" * 3000


def sample() -> Figure:
    """A small figure."""
    return nothing(Words("A title", "the numbers", "what they leave out"), "nothing here")


def test_a_notebook_gets_three_forms() -> None:
    found = sample()._repr_mimebundle_()
    assert list(found) == [PLOTLY_MIME, "image/png", "text/plain"]
    assert set(found[PLOTLY_MIME]) == {"data", "layout", "config"}
    assert found["text/plain"] == "A title: nothing here (what they leave out)"
    assert found["image/png"].startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("include", "exclude", "kept"),
    [({"text/plain"}, None, {"text/plain"}), (None, {"image/png"}, {PLOTLY_MIME, "text/plain"}), ((), (), 3)],
)
def test_a_notebook_may_ask_for_some_forms(include: set[str], exclude: set[str], kept: set[str] | int) -> None:
    found = sample()._repr_mimebundle_(include, exclude)
    assert (len(found) if isinstance(kept, int) else set(found)) == kept


def test_the_figure_offers_no_upload() -> None:
    config = sample().to_json()["config"]
    assert config["showSendToCloud"] is False
    assert config["plotlyServerURL"] == ""


def test_the_page_needs_nothing_else(tmp_path: Path) -> None:
    page = nothing(Words(HOSTILE), HOSTILE).to_html(tmp_path / "page.html").read_text("utf-8")
    outside_plotly = re.sub(r"<script[^>]*>/\*\*\n\* plotly\.js.*?</script>", "", page, flags=re.DOTALL)
    assert len(outside_plotly) < 40_000
    assert not re.search(r"(?:src|href)\s*=\s*[\"']?https?:", outside_plotly)
    assert "<img" not in outside_plotly
    assert "cdn" not in outside_plotly.lower()
    assert outside_plotly.count("</script>") == outside_plotly.count("<script")


def test_the_still_is_a_picture_of_its_own(tmp_path: Path) -> None:
    figure = sample()
    path = figure.to_png(tmp_path / "still.png")
    picture = Image.open(path)
    assert picture.width == still.WIDTH
    assert len(picture.convert("RGB").getcolors(100_000) or []) > 5
    assert figure.png() is figure.png()


def test_hostile_words_are_shown_as_they_are() -> None:
    figure = nothing(Words(HOSTILE, HOSTILE, HOSTILE), HOSTILE)
    layout = figure.plotly.layout
    for text in (layout.title.text, layout.title.subtitle.text, *(one.text for one in layout.annotations)):
        assert "<img" not in text
        assert "$" not in text
        assert "\x1b" not in text
        assert "&lt;img src=x" in text
    assert Image.open(BytesIO(figure.png())).width == still.WIDTH
    assert "\n" not in str(figure.words)


def test_missing_characters_become_boxes_and_dollars_no_formula() -> None:
    assert still.say("a\U000f0000\ue000\U00013000$x$") == rf"a{still.BOX}\$x\$"


def test_settings_of_the_caller_neither_show_nor_change() -> None:
    before = sample().png()
    with mpl.rc_context({"figure.facecolor": "black", "font.size": 30, "axes.facecolor": "red", "text.color": "lime"}):
        kept = mpl.rcParams.copy()
        assert sample().png() == before
        assert mpl.rcParams.copy() == kept
    usual = pio.templates.default
    pio.templates.default = "plotly_dark"
    try:
        assert sample().to_json()["layout"]["paper_bgcolor"] == "#FFFFFF"
        assert (
            "template" not in sample().to_json()["layout"] or not sample().plotly.layout.template.layout.paper_bgcolor
        )
    finally:
        pio.templates.default = usual


def test_importing_the_figures_changes_no_setting_and_loads_no_pyplot() -> None:
    names = "dag_figure context_strip budget_figures timeline compression_figure conversations_figure still"
    code = f"""
import sys, plotly.io as pio, matplotlib
before = (pio.renderers.default, pio.templates.default, matplotlib.rcParams.copy())
import importlib
for name in {names!r}.split(): importlib.import_module('lcm_lab.analysis.draw.' + name)
assert before == (pio.renderers.default, pio.templates.default, matplotlib.rcParams.copy())
assert 'matplotlib.pyplot' not in sys.modules and 'kaleido' not in sys.modules and 'ipywidgets' not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_the_frame_has_room_for_every_line() -> None:
    short = framed([go.Bar(x=[1], y=[1])], Words("a"), height=100, xaxis=axis("x<y"))
    long = framed([go.Bar(x=[1], y=[1])], Words("a " * 200, "b " * 200, "c " * 200), height=100)
    assert short.layout.xaxis.title.text == "x&lt;y"
    assert long.layout.height - long.layout.margin.t - long.layout.margin.b == 100
    assert long.layout.margin.t > short.layout.margin.t + 100
    assert all(len(line) <= 130 for line in Words("", "", "c " * 200).caption_lines)


def test_a_legend_wraps_by_the_length_of_its_names() -> None:
    assert legend_rows(["a" * 40, "b" * 40, "c" * 40], width=680) == [[0, 1], [2]]
    assert legend_rows([]) == []
