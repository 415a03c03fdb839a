"""Findings lead to the summaries they are about, whatever table they name, and back."""

import pytest

from lcm_lab.analysis.health.about import about, ordinals_of, summaries_of
from lcm_lab.analysis.health.finding import Finding, Report
from lcm_lab.lab import open as open_lab
from tests.conftest import StoreMaker


def finding(table: str, *ids: str) -> Finding:
    """A finding about these rows."""
    return Finding("X0-test", "error", table, ids, 44, "It is so.", "Do this.")


@pytest.mark.parametrize(
    ("table", "ids", "expected"),
    [
        ("summaries", ("a", "b"), ("a", "b")),
        ("summary_parents", ("a->b", "a->c"), ("a", "b", "c")),
        ("summary_messages", ("a->1", "a->2"), ("a",)),
        ("context_items", ("44:1",), ()),
        ("messages", ("1",), ()),
    ],
)
def test_summaries_of_a_finding(table: str, ids: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert summaries_of(finding(table, *ids)) == expected


def test_places_of_a_finding_are_those_of_the_conversation() -> None:
    assert ordinals_of(finding("context_items", "44:1", "45:2", "44:x", "44:-3", "odd"), 44) == (1,)
    assert ordinals_of(finding("messages", "44:1"), 44) == ()


def test_what_is_about_a_summary(make_store: StoreMaker) -> None:
    node = open_lab(make_store(), tz="UTC").summary("sum_c1").node
    mine = (
        finding("summaries", "sum_c1"),
        finding("summary_parents", "sum_c1->gone"),
        finding("context_items", "44:0"),
    )
    others = (finding("summaries", "sum_la"), finding("context_items", "44:1"), finding("context_items", "45:0"))
    assert about(Report("s", 44, (*mine, *others)), node) == mine
