"""Marks: broken where the plugin puts them, healthy where a text quotes them."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.analysis import graphs, wording
from lcm_lab.analysis.health import duplicates as duplicates_function
from lcm_lab.analysis.health import markers
from lcm_lab.analysis.health.markers import (
    DIRECTIVE,
    DIRECTIVE_INLINE,
    EMERGENCY,
    FALLBACK,
    MarkerKind,
    broken_kind,
    quotation,
)

BODY = "Raw text that was kept because the call failed. " * 12
CUT = "[Truncated from 4211 tokens]"
FOOTER = "\nExpand for details about: the firewall, port 443 and the rollout."

BROKEN = [
    (FALLBACK, "m", MarkerKind.FALLBACK_START),
    (f"{FALLBACK}\n{BODY}", "m", MarkerKind.FALLBACK_START),
    (f"\n  {FALLBACK} {BODY}", "m", MarkerKind.FALLBACK_START),
    (f"{BODY}\n{FALLBACK}", "m", MarkerKind.FALLBACK_END),
    (f"{BODY}\n{FALLBACK}\n  ", "m", MarkerKind.FALLBACK_END),
    (f"{BODY} {FALLBACK}", "m", MarkerKind.FALLBACK_END),
    (f"Quoted {FALLBACK} first. {BODY}\n{FALLBACK}", "m", MarkerKind.FALLBACK_END),
    (f"{BODY}\n{FALLBACK}\nFiles: none", "m", MarkerKind.FALLBACK_END),
    (f"{BODY}\n{CUT}", "m", MarkerKind.TRUNCATED_END),
    (f"{BODY} {CUT}\n\n", "m", MarkerKind.TRUNCATED_END),
    ("[Truncated from 0 tokens]", "m", MarkerKind.TRUNCATED_END),
    (f"{CUT} was quoted. {BODY}\n{CUT}", "m", MarkerKind.TRUNCATED_END),
    (f"{BODY}\n{DIRECTIVE}", "m", MarkerKind.DIRECTIVE),
    (f"{BODY}\n{DIRECTIVE}\n{CUT}", "m", MarkerKind.TRUNCATED_END),
    (f"{BODY}\n{DIRECTIVE}\n{BODY}", "m", MarkerKind.DIRECTIVE),
    (f"{DIRECTIVE} {BODY}", "m", MarkerKind.DIRECTIVE),
    (f"{BODY}\n{DIRECTIVE_INLINE}.\n{BODY}", "m", MarkerKind.DIRECTIVE),
    (f"{BODY}\n{EMERGENCY}", "unknown", MarkerKind.EMERGENCY_END),
    (f"{BODY}{EMERGENCY}\n", None, MarkerKind.EMERGENCY_END),
    (BODY, "emergency-fallback", MarkerKind.EMERGENCY_MODEL),
]
HEALTHY = [
    f"The mark {FALLBACK} was seen in a log. {BODY}",
    f"{BODY}\n{FALLBACK}{FOOTER}",
    f'{BODY} They asked what "{FALLBACK}" means.',
    f"{BODY}\n{CUT}{FOOTER}",
    f"{CUT} was printed by the tool. {BODY}",
    f"{BODY} It said {DIRECTIVE} in the middle of a line. {BODY}",
    f"{BODY} It said {DIRECTIVE_INLINE}. Then it went on. {BODY}",
    f"{EMERGENCY} was there before. {BODY}",
    f"{BODY}\n{EMERGENCY}",
    f"{BODY}\n[Capped from 9000 tokens to ~7200]",
    f"{BODY}\n[Capped to ~7200]",
    f"{BODY}\n[Capped]",
]


@pytest.mark.parametrize(("text", "model", "kind"), BROKEN)
def test_a_mark_in_its_place_is_broken(text: str, model: str | None, kind: MarkerKind) -> None:
    assert broken_kind(text, model) is kind
    assert quotation(text, model) is None
    assert kind.code.startswith("K1-")
    assert kind.label


@pytest.mark.parametrize("text", HEALTHY)
def test_a_quoted_mark_is_healthy_with_a_reason(text: str) -> None:
    assert broken_kind(text, "m") is None
    found = quotation(text, "m")
    assert found is not None
    assert found.marker[:7] in text
    assert found.reason


def test_a_plain_text_is_neither() -> None:
    assert broken_kind(BODY, "m") is None
    assert quotation(BODY, "m") is None
    assert broken_kind("", None) is None


@given(st.text(max_size=200), st.sampled_from([FALLBACK, CUT]), st.text(" \t\n", max_size=5))
def test_whatever_stands_before_a_last_line_mark(before: str, mark: str, after: str) -> None:
    assert broken_kind(f"{before}\n{mark}{after}", "m") is not None


@given(st.text(alphabet="ab 你🔥\n", min_size=81, max_size=200), st.sampled_from([FALLBACK, CUT, EMERGENCY]))
def test_a_mark_far_from_both_ends_never_counts(text: str, mark: str) -> None:
    assert broken_kind(f"x{text}x {mark} x{text}x", "unknown") is None


def test_the_examples_in_the_docstrings() -> None:
    import sys

    for module in (markers, wording, graphs, sys.modules[duplicates_function.__module__]):
        result = doctest.testmod(module)
        assert result.attempted
        assert result.failed == 0
