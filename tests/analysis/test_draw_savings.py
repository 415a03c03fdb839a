"""The savings figures: live and still, on the committed traces and where there is nothing to draw."""

import dataclasses
from pathlib import Path

import pytest

from lcm_lab import bench
from lcm_lab.analysis.draw import savings_figures
from lcm_lab.analysis.savings.report import Report
from tests.analysis.savings.made_up import coding


@pytest.fixture(scope="module")
def report() -> Report:
    """The report on the committed traces."""
    return bench.savings()


def test_every_figure_has_a_still_and_says_its_n(report: Report) -> None:
    for figure in savings_figures.every(report):
        assert figure.png().startswith(b"\x89PNG")
        assert 1_000 < len(figure.png()) < 150_000
        assert figure.to_json()["data"]
        assert "requests" in str(figure.words) or "sessions" in str(figure.words)


def test_the_context_of_a_session_can_be_chosen(report: Report) -> None:
    figure = savings_figures.context(report, "cli-large")
    assert "cli-large" in figure.words.title
    plain = figure.plotly.data[0]
    assert list(plain.y) == [row.prompt for row in next(iter(report.replays["plain"][3:4])).rows]


def test_the_frontier_marks_the_defaults_and_is_not_beaten(report: Report) -> None:
    figure = savings_figures.frontier(report)
    named = {trace.name: trace for trace in figure.plotly.data}
    assert len(named["somebody's defaults"].x) == len(savings_figures.DEFAULTS)
    line = named["the frontier"]
    for one in report.lines:
        beaten = [
            x >= (one.saved_usd or 0) and y >= (one.known.context_share or 0)
            for x, y in zip(line.x, line.y, strict=True)
        ]
        assert any(beaten)


def test_where_there_is_nothing_to_draw_a_figure_says_so(report: Report, tmp_path: Path) -> None:
    path = coding(1, turns=1, calls=1, size=400).write(tmp_path / "s.jsonl")
    tiny = bench.savings(path)
    assert "no reference" in str(savings_figures.frontier(tiny).plotly.layout.annotations)
    empty = dataclasses.replace(report, replays={}, lifetimes=(), lines=())
    for figure in savings_figures.every(empty):
        assert figure.png().startswith(b"\x89PNG")
