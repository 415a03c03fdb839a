"""The picture of the DAG: every summary has one place, however many there are, and the title says what is left out."""

import json
from io import BytesIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from lcm_lab import times
from lcm_lab.analysis import dag as dags
from lcm_lab.analysis.dag import Dag
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.dag_figure import dag_figure
from lcm_lab.analysis.draw.dag_layout import layout
from lcm_lab.store.rows import Edge
from lcm_lab.store.summaries import Node

ZONE = times.zone("Asia/Shanghai")
HOSTILE = r"</script><img src=x onerror=alert(1)> <b>x $\alpha$ 你好 שלום " + "x" * 200_000


def node(
    key: str, depth: int = 0, *, at: str = "2026-01-01 00:00:00", preview: str = "text", place: int | None = None
) -> Node:
    """A summary."""
    kind = "condensed" if depth else "leaf"
    return Node(key, 1, kind, depth, 10, "stored", 40, preview, at, at, at, "m", 3, 100, place)


def tree(leaves: int) -> Dag:
    """A DAG with ten summaries below each condensed one."""
    nodes = [
        node(f"l{i:06}", at=f"2026-01-{1 + i // 1440:02}T{i // 60 % 24:02}:{i % 60:02}:00Z") for i in range(leaves)
    ]
    found, level, depth = [], [one.summary_id for one in nodes], 1
    while len(level) >= 10:
        upper = [f"d{depth}{i:05}" for i in range(len(level) // 10)]
        nodes += [node(key, depth, at="2026-01-20 00:00:00") for key in upper]
        found += [Edge(key, level[10 * i + j], j) for i, key in enumerate(upper) for j in range(10)]
        level, depth = upper, depth + 1
    return dags.build(nodes, found, {}, 1)


def test_two_traces_and_a_legend() -> None:
    nodes = [node("a"), node("b", place=1), node("c", 1, place=0)]
    figure = dag_figure(dags.build(nodes, [Edge("c", "a", 0), Edge("c", "b", 1)], {}, 1), zone=ZONE)
    edges, marks, *legend = figure.plotly.data
    assert edges.mode == "lines"
    assert len(edges.x) == 6
    assert list(marks.y) == [0, 0, 1]
    assert list(marks.marker.color) == [palette.DEPTHS[0], palette.DEPTHS[0], palette.DEPTHS[1]]
    assert list(marks.marker.line.width) == [0, 2, 2]
    assert [one.name for one in legend] == ["leaf", "d1", "in context"]
    assert marks.x[2] == (marks.x[0] + marks.x[1]) / 2
    assert "made 2026-01-01 08:00:00 CST" in marks.hovertext[0]
    assert "10 tokens (stored)" in marks.hovertext[0]
    assert list(figure.plotly.layout.yaxis.ticktext) == ["leaf (2)", "d1 (1)"]
    assert figure.plotly.layout.xaxis.title.text.endswith("in Asia/Shanghai")


def test_what_is_doubtful_has_a_ring_and_its_reason() -> None:
    nodes = [node("a", 1), node("b", 1), node("c")]
    found = dags.build(nodes, [Edge("a", "b", 0), Edge("b", "a", 0), Edge("c", "gone", 0)], {}, 1)
    figure = dag_figure(found, zone=ZONE)
    ring = next(one for one in figure.plotly.data if one.marker.symbol == "circle-open" and one.x[0] is not None)
    assert len(ring.x) == 3
    assert "is in a cycle" in figure.plotly.data[1].hovertext[1]
    assert "in a cycle: 2 summaries" in figure.words.caption
    assert "not drawn: 1 edge to summaries that do not exist" in figure.words.caption


def test_stored_text_is_literal_in_the_picture() -> None:
    hostile = [node(HOSTILE[:60], preview=HOSTILE, place=0), node("b", 1, preview=HOSTILE)]
    figure = dag_figure(dags.build(hostile, [Edge("b", HOSTILE[:60], 0)], {}, 1), zone=ZONE)
    for text in figure.plotly.data[1].hovertext:
        assert "<img" not in text
        assert "$" not in text
        assert "&lt;img src=x onerror" in text
        assert len(text) < 1000
    assert len(json.dumps(figure.to_json())) < 20_000
    assert figure.png()


@pytest.mark.parametrize(("leaves", "limit", "bytes_"), [(9000, 2000, 1_000_000), (9000, 20_000, 2_000_000)])
def test_ten_thousand_summaries(leaves: int, limit: int, bytes_: int) -> None:
    found = tree(leaves)
    assert len(found.nodes) == 9999
    figure = dag_figure(found, limit=limit, zone=ZONE)
    assert len(json.dumps(figure.to_json())) < bytes_
    if limit < 9999:
        assert figure.words.title.startswith("Summary DAG of conversation 1: showing 999 of 9,999 summaries")
        assert len(figure.plotly.data[1].x) <= limit
    else:
        assert "showing" not in figure.words.title
        assert figure.plotly.data[1].type == "scattergl"
    assert 10_000 < len(figure.png()) < 150_000


def test_bundled_summaries_say_how_many_they_are() -> None:
    figure = dag_figure(tree(100), limit=40, zone=ZONE)
    marks = figure.plotly.data[1]
    assert "square" in marks.marker.symbol
    assert any(text.startswith("<b>4 summaries</b> leaf<br>40 tokens") for text in marks.hovertext)


def test_what_is_in_context_stays_alone() -> None:
    nodes = [
        node(f"l{i:03}", at=f"2026-01-01 00:{i // 60:02}:{i % 60:02}", place=i if i in (7, 50) else None)
        for i in range(100)
    ]
    found = layout(dags.build(nodes, [], {}, 1), limit=20, keep={"l007", "l050"})
    assert {mark.ids for mark in found.marks} >= {("l007",), ("l050",)}
    assert len(found.marks) <= 20


def test_no_summaries() -> None:
    figure = dag_figure(dags.build([], [], {}, 3), zone=ZONE)
    assert str(figure.words) == "Summary DAG of conversation 3: no summaries"
    assert Image.open(BytesIO(figure.png())).height > 100


def test_a_single_summary_and_an_unreadable_time() -> None:
    figure = dag_figure(dags.build([node("a", at="nonsense")], [], {}, 1), zone=ZONE)
    assert list(figure.plotly.layout.xaxis.ticktext) == ["unknown"]
    assert figure.png()


KEYS = st.sampled_from("abcdefghij")


@settings(deadline=None)
@given(
    present=st.dictionaries(KEYS, st.tuples(st.integers(-2, 400), st.booleans())),
    pairs=st.lists(st.tuples(KEYS, KEYS), max_size=20),
    limit=st.integers(1, 12),
)
def test_every_summary_has_one_place(
    present: dict[str, tuple[int, bool]], pairs: list[tuple[str, str]], limit: int
) -> None:
    nodes = [node(key, depth, place=0 if inside else None) for key, (depth, inside) in present.items()]
    found = dags.build(nodes, [Edge(a, b, 0) for a, b in pairs], {}, 1)
    placed = layout(found, limit=limit, keep=found.in_context)
    assert sorted(one for mark in placed.marks for one in mark.ids) == sorted(present)
    assert len({(mark.row, mark.x) for mark in placed.marks}) == len(placed.marks)
    assert all(-1e-6 <= mark.x <= placed.width for mark in placed.marks)
    assert len(placed.marks) <= max(limit, len(placed.rows))
    figure = dag_figure(found, limit=limit, zone=ZONE)
    assert figure.to_json()["data"] or not present


def test_hundreds_of_depths_share_rows() -> None:
    found = dags.build([node(f"s{i:04}", i) for i in range(900)], [], {}, 1)
    placed = layout(found, limit=2000)
    assert len(placed.rows) == 180
    assert dag_figure(found, zone=ZONE).png()
