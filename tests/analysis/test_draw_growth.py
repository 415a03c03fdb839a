"""Growth, compression and conversations as pictures: days stay days, losses stay below zero, outliers are marked."""

from io import BytesIO

import pytest
from PIL import Image

from lcm_lab import times
from lcm_lab.analysis.compression import compression
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.compression_figure import compression_figure
from lcm_lab.analysis.draw.conversations_figure import conversations_figure
from lcm_lab.analysis.draw.timeline import timeline
from lcm_lab.analysis.growth import growth
from lcm_lab.store.growth import MessageBucket, SummaryBucket
from lcm_lab.store.overview import ConversationTotals, usual
from lcm_lab.store.rows import Conversation
from lcm_lab.store.summaries import Node

UTC = times.zone("UTC")
DAY = 86_400


def node(i: int, size: int, source: int | None, depth: int = 0) -> Node:
    """A summary made from ``source`` tokens."""
    at = f"2026-01-01 {i // 3600 % 24:02}:{i // 60 % 60:02}:{i % 60:02}"
    return Node(
        f"sum_{i:016x}",
        1,
        "condensed" if depth else "leaf",
        depth,
        size,
        "stored",
        4,
        "",
        at,
        at,
        at,
        "m",
        0,
        source,
        None,
    )


def totals(key: int, size: int, title: str | None = None) -> ConversationTotals:
    """A conversation of ``size`` tokens."""
    conversation = Conversation(key, f"session-{key}", None, 1, None, None, title, "", "")
    return ConversationTotals(conversation, 10, size, 0, 1, 20, 0, 5, 100, 0, 0, None)


def test_a_bar_per_role_a_total_and_a_row_per_depth() -> None:
    found = growth(
        [
            MessageBucket(0, None, "user", 1, 10, 0),
            MessageBucket(0, None, "tool", 1, 5, 0),
            MessageBucket(2 * DAY, None, "user", 1, 7, 2),
            MessageBucket(None, "?", "user", 3, 30, 0),
        ],
        [
            SummaryBucket(2 * DAY, None, 0, 4, 40),
            SummaryBucket(2 * DAY, None, 1, 1, 9),
            SummaryBucket(None, "?", 1, 1, 9),
        ],
        5,
        zone=UTC,
    )
    figure = timeline(found)
    user, tool, total, leaf, d1 = figure.plotly.data
    assert (list(user.x), list(user.y)) == (["1970-01-01", "1970-01-03"], [10, 7])
    assert list(tool.y) == [5, 0]
    assert list(total.y) == [15, 22]
    assert (list(leaf.x), leaf.hovertext[0]) == (["1970-01-03"], "1970-01-03<br>4 summaries leaf, 40 tokens")
    assert list(d1.y) == [1]
    assert user.marker.color == palette.USER
    layout = figure.plotly.layout
    assert (layout.xaxis.type, layout.xaxis.dtick) == ("date", DAY * 1000)
    assert layout.xaxis.title.text == "day in UTC"
    assert list(layout.yaxis2.ticktext) == ["leaf made", "d1 made"]
    assert "on no day: 3 messages of unknown time with 30 tokens" in figure.words.caption
    assert "1 summary of unknown time not shown" in figure.words.caption
    assert "2 messages re-estimated" in figure.words.caption
    assert Image.open(BytesIO(figure.png())).width == 900


@pytest.mark.parametrize("start", [-62_135_596_800 + DAY, 0, 253_370_764_800])
def test_days_at_the_edges_of_the_calendar(start: int) -> None:
    figure = timeline(growth([MessageBucket(start, None, "user", 1, 0, 0)], [], None, zone=UTC))
    assert figure.words.title.startswith("Growth of the store")
    assert figure.png()


def test_growth_without_days() -> None:
    assert "no messages" in str(timeline(growth([], [], 5, zone=UTC)).words)
    unknown = timeline(growth([MessageBucket(None, "?", "user", 3, 30, 0)], [], 5, zone=UTC))
    assert "no message with a readable time" in str(unknown.words)
    assert unknown.png()


def test_a_summary_larger_than_its_source_goes_below_zero() -> None:
    nodes = [node(0, 100, 1000), node(1, 9657, 9602), node(2, 50, 400, 1), node(3, 5, None), node(4, 500, 500)]
    figure = compression_figure(compression(nodes, 1))
    leaf, _, d1, _, flagged = figure.plotly.data
    assert (list(leaf.x), list(leaf.y)) == ([0, 1, 3], [900, -55, 0])
    assert list(leaf.marker.color) == [palette.DEPTHS[0], palette.ALARM, palette.DEPTHS[0]]
    assert list(d1.y) == [350]
    assert (list(flagged.x), list(flagged.y)) == ([1, 3], [-55, 0])
    assert "saved -55" in leaf.hovertext[1]
    assert "left out, sources unknown: 1 (sum_0000000000000003)" in figure.words.caption
    assert "2 saved nothing, worst sum_0000000000000001" in figure.words.caption
    assert "leaf 11,102 to 10,257 (92 %)" in figure.words.detail
    assert figure.plotly.layout.yaxis.title.text == "tokens saved (stored count, else plugin estimate)"
    assert figure.png()


def test_too_many_summaries_show_the_worst_and_the_largest() -> None:
    nodes = [node(i, 100, 100 + i) for i in range(3000)] + [node(5000, 900, 100)]
    figure = compression_figure(compression(nodes, None), limit=10)
    assert "showing 10 of 3,001 summaries" in figure.words.title
    savings = list(figure.plotly.data[0].y)
    assert savings[-1] == -800
    assert savings[:-1] == [0, *range(2992, 3000)]


@pytest.mark.parametrize(
    ("nodes", "said"), [([], "no summaries"), ([node(1, 5, None)], "no summary with known sources")]
)
def test_nothing_to_compare(nodes: list[Node], said: str) -> None:
    figure = compression_figure(compression(nodes, 1))
    assert said in str(figure.words)
    assert figure.png()


def test_outliers_are_marked_and_the_rest_is_counted() -> None:
    rows = [totals(i, 1000) for i in range(199)] + [totals(200, 50_000), totals(201, 0)]
    figure = conversations_figure(rows, top=5)
    bars = figure.plotly.data[0]
    assert usual(rows) == 1000
    assert list(bars.x) == [50_000, 1000, 1000, 1000, 1000]
    assert list(bars.marker.color) == [palette.ALARM, *[palette.ASSISTANT] * 4]
    assert bars.text[0] == "50,000 · 50x the median"
    assert "showing 5 of 201" in figure.words.title
    assert "the 196 conversations not shown hold 195,000 tokens" in figure.words.caption
    assert "more than 10 times the median: 1" in figure.words.detail
    assert figure.png()


def test_titles_are_literal_and_equal_ones_stay_apart() -> None:
    title = r"</script><img src=x onerror=alert(1)> $\alpha$ 你好"
    figure = conversations_figure([totals(1, 5, title), totals(2, 5, title)])
    labels = figure.plotly.layout.yaxis.ticktext
    assert [label.split()[0] for label in labels] == ["1", "2"]
    assert all("<" not in label and "$" not in label for label in labels)
    assert "<img" not in figure.plotly.data[0].hovertext[0]
    assert list(figure.plotly.data[0].y) == [0, 1]
    assert figure.png()


@pytest.mark.parametrize("rows", [[], [totals(1, 0)]])
def test_no_conversations_or_empty_ones(rows: list[ConversationTotals]) -> None:
    figure = conversations_figure(rows)
    assert not figure.plotly.data
    assert figure.png()
