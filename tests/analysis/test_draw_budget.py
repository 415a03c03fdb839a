"""Budget figures show every class with its number, at 1 % and at 242 %, and never an empty area."""

from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lcm_lab import tokens
from lcm_lab.analysis.budget import Budget, Line
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.budget_figures import budget_bars, budget_treemap
from lcm_lab.analysis.draw.squares import Box, squares

USUAL = {
    "summaries d2": 9000,
    "summaries leaf": 40_000,
    "fresh tail: user": 11_000,
    "fresh tail: assistant": 15_000,
    "tool output": 230_000,
    "heartbeat": 12,
    "XML wrapper": 4988,
}


def budget(lines: dict[str, int], *, window: int | None = None) -> Budget:
    """A budget of these classes."""
    return Budget(
        conversation_id=9,
        lines=tuple(Line(group, size, 1) for group, size in lines.items()),
        total=sum(lines.values()),
        window=window,
        compact_at=0.75,
        fresh_tail=64,
        items=10,
        dropped=(),
        redundant=(),
        re_estimated=0,
        stored_messages=100,
        stored_tokens=500_000,
        estimator=tokens.STORED_OR_PLUGIN,
        zone="UTC",
    )


def test_bars_at_242_percent() -> None:
    figure = budget_bars(budget(USUAL, window=128_000))
    whole, classes = figure.plotly.data
    assert (whole.x[0], whole.marker.color) == (310_000, palette.ALARM)
    assert list(classes.x) == list(USUAL.values())
    assert classes.text[4] == "230,000 · 74 %"
    assert classes.text[5] == "12 · &lt;1 %"
    assert "242 % of 128,000 tokens: over the window" in figure.words.title
    layout = figure.plotly.layout
    assert list(layout.yaxis.ticktext) == list(USUAL)
    assert layout.xaxis2.range[1] > 310_000
    assert [one.x0 for one in layout.shapes] == [96_000, 128_000]
    assert layout.xaxis.title.text == "tokens per class (stored count, else plugin estimate)"
    assert "system prompt" in figure.words.caption


@pytest.mark.parametrize(
    ("window", "colour", "lines"),
    [(None, palette.FAINT, 0), (0, palette.FAINT, 0), (1_000_000, palette.USER, 2), (350_000, palette.CAUTION, 2)],
)
def test_the_whole_has_the_colour_of_its_level(window: int | None, colour: str, lines: int) -> None:
    figure = budget_bars(budget(USUAL, window=window))
    assert figure.plotly.data[0].marker.color == colour
    assert len(figure.plotly.layout.shapes) == lines
    assert Image.open(BytesIO(figure.png())).width == 900


def test_the_treemap_adds_up() -> None:
    tree = budget_treemap(budget(USUAL, window=128_000)).plotly.data[0]
    assert tree.branchvalues == "remainder"
    assert sum(tree.values) == 310_000
    assert all(value > 0 for value, key in zip(tree.values, tree.ids, strict=True) if key.startswith("class "))
    assert len(set(tree.ids)) == len(tree.ids)
    assert set(tree.parents) <= {"", *tree.ids}
    assert "summaries 49,000" in tree.labels
    assert "fresh tail 26,000" in tree.labels


@pytest.mark.parametrize("lines", [{}, {"files": 0}, {"files": 0, "older: user": 0}, {"files": -4}])
def test_without_tokens_it_says_so(lines: dict[str, int]) -> None:
    figure = budget_treemap(budget(lines))
    assert not figure.plotly.data
    assert figure.plotly.layout.annotations[-1].text == "nothing in context"
    assert Image.open(BytesIO(figure.png())).height > 100
    assert budget_bars(budget({"files": 0})).plotly.layout.annotations[-1].text == "nothing in context"


def test_a_single_class_and_one_below_zero() -> None:
    assert sum(budget_treemap(budget({"files": 7})).plotly.data[0].values) == 7
    odd = budget_treemap(budget({"files": 7, "older: user": -3, "reasoning": 0}))
    assert list(odd.plotly.data[0].values) == [0, 7]
    assert "Not shown, below zero: older: user (-3)." in odd.words.caption
    bars = budget_bars(budget({"files": 7, "older: user": -3}))
    assert bars.plotly.layout.xaxis.range[0] < -3
    assert bars.png()


def test_a_class_is_never_markup() -> None:
    group = r"</script><img src=x> $\alpha$"
    for figure in (budget_bars(budget({group: 5})), budget_treemap(budget({group: 5}))):
        said = str(figure.to_json())
        assert "<img" not in said
        assert r"$\alpha" not in said
        assert figure.png()


@settings(deadline=None)
@given(lines=st.dictionaries(st.sampled_from([*USUAL, "new"]), st.integers(-10, 10**9), max_size=8))
def test_any_numbers_make_a_figure(lines: dict[str, int]) -> None:
    found = budget(lines, window=1000)
    shown = sum(size for size in lines.values() if size > 0)
    tree = budget_treemap(found)
    assert sum(sum(one.values) for one in tree.plotly.data) == shown
    assert bool(tree.plotly.data) == bool(shown)
    assert budget_bars(found).to_json()["layout"]["annotations"]


@given(sizes=st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
def test_squares_fill_the_box_in_proportion(sizes: list[int]) -> None:
    boxes = squares(sizes, Box(0, 0, 860, 340))
    for size, box in zip(sizes, boxes, strict=True):
        assert box.width * box.height == pytest.approx(860 * 340 * size / sum(sizes), rel=1e-6)
        assert min(box.x, box.y) >= 0
        assert box.x + box.width <= 860 + 1e-6
        assert box.y + box.height <= 340 + 1e-6


def test_no_squares_of_nothing() -> None:
    assert squares([], Box(0, 0, 1, 1)) == []
    assert squares([0], Box(0, 0, 1, 1)) == []
