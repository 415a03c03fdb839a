"""Savings keep their sign, and what is not known is not zero."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lcm_lab import tokens
from lcm_lab.analysis import compression as compressions
from lcm_lab.analysis.compression import DepthTotal, compression
from lcm_lab.analysis.health import check_store
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.summaries import Node


def node(key: str, size: int, source: int | None, *, depth: int = 0, at: str = "2026-01-01 00:00:00") -> Node:
    """A summary of ``size`` tokens made from ``source`` tokens."""
    kind = "condensed" if depth else "leaf"
    return Node(key, 1, kind, depth, size, "stored", 40, "", None, None, at, "m", 0, source, None)


@pytest.mark.parametrize(
    ("size", "source", "saving", "ratio", "flagged"),
    [
        (100, 1000, 900, 0.1, False),
        (9657, 9602, -55, 9657 / 9602, True),
        (500, 500, 0, 1.0, True),
        (20_000, 15_000, -5000, 4 / 3, True),
        (10, 0, -10, None, True),
        (0, 0, 0, None, False),
        (10, None, None, None, False),
    ],
)
def test_one_summary(size: int, source: int | None, saving: int | None, ratio: float | None, flagged: bool) -> None:  # noqa: FBT001
    row = compression([node("a", size, source)], 1).rows[0]
    assert (row.saving, row.ratio, row.flagged) == (saving, ratio, flagged)


def test_totals_per_depth_leave_the_unknown_out_and_count_it() -> None:
    found = compression(
        [
            node("a", 100, 1000),
            node("b", 300, 200),
            node("c", 70, None),
            node("d", 50, 400, depth=1),
            node("e", 60, None, depth=2),
        ],
        1,
    )
    assert found.by_depth == (
        DepthTotal(depth=0, summaries=3, source_tokens=1200, tokens=400, flagged=1, unknown=1),
        DepthTotal(depth=1, summaries=1, source_tokens=400, tokens=50, flagged=0, unknown=0),
        DepthTotal(depth=2, summaries=1, source_tokens=0, tokens=0, flagged=0, unknown=1),
    )
    assert [(one.saving, one.ratio) for one in found.by_depth] == [(800, 1 / 3), (350, 0.125), (0, None)]
    assert found.unknown == ("c", "e")
    assert found.estimator == tokens.STORED_OR_PLUGIN


def test_the_worst_stands_first_and_rows_stand_in_order_of_creation() -> None:
    nodes = [node("a", 30, 20, at="2026-01-02 00:00:00"), node("b", 90, 20, at="2026-01-01T00:00:00Z"), node("c", 1, 2)]
    found = compression(nodes, None)
    assert [row.summary_id for row in found.rows] == ["b", "c", "a"]
    assert [row.summary_id for row in found.flagged] == ["b", "a"]


def test_a_store(make_store: Callable[..., Path]) -> None:
    path = make_store("UPDATE summaries SET token_count = 40 WHERE summary_id = 'sum_la'")
    found = StoreFile(path).read(lambda reader: compressions.load(reader, 44))
    assert {row.summary_id: (row.source_tokens, row.saving) for row in found.rows} == {
        "sum_la": (15, -25),
        "sum_lb": (9, 5),
        "sum_c1": (44, 37),
    }
    assert StoreFile(path).read(compressions.load).rows == found.rows


def test_no_summaries() -> None:
    found = compression([], 1)
    assert (found.rows, found.by_depth, found.unknown, found.flagged) == ((), (), (), ())


@pytest.mark.parametrize(
    ("sql", "flagged", "unknown"),
    [
        ("", set(), set()),
        ("UPDATE summaries SET token_count = 15 WHERE summary_id = 'sum_la'", {"sum_la"}, set()),
        ("DELETE FROM messages WHERE message_id = 1; UPDATE summaries SET token_count = 12", {"sum_lb"}, {"sum_la"}),
        (
            "DELETE FROM summaries WHERE summary_id = 'sum_la'; UPDATE summaries SET token_count = 8",
            set(),
            {"sum_c1"},
        ),
        ("UPDATE messages SET conversation_id = 45 WHERE message_id = 3", set(), {"sum_lb"}),
        ("UPDATE summaries SET depth = 0, token_count = 11 WHERE summary_id = 'sum_c1'", {"sum_c1"}, set()),
    ],
    ids=["sound", "larger", "message gone", "summary gone", "message elsewhere", "a condensed one of depth 0"],
)
def test_what_saved_nothing_is_what_the_check_finds(
    make_store: Callable[..., Path], sql: str, flagged: set[str], unknown: set[str]
) -> None:
    """What is gone is not a source of no tokens: a sum of the rest would show a loss that nobody had."""
    file = StoreFile(make_store(sql))
    found = file.read(lambda reader: compressions.load(reader, 44))
    assert {row.summary_id for row in found.flagged} == flagged
    assert set(found.unknown) == unknown
    assert {key for one in check_store(file, 44).of("K2-no-compression") for key in one.ids} == flagged
