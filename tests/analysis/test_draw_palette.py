"""Stored text stays text: in plotly's strings, in a terminal and in a still."""

import doctest
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.analysis.draw import palette

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<b>x",
    r"$\alpha$ and $\beta$",
    "&lt;b&gt;",
    "a\x1b[31m\x00\u202eb\u2066",
]


def test_the_examples() -> None:
    assert doctest.testmod(palette).failed == 0


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_in_a_text_comes_to_life(text: str) -> None:
    shown = palette.escape(text)
    assert not re.search(r"[<>$\x00-\x1f\u202a-\u202e\u2066-\u2069]", shown)
    assert re.fullmatch(r"(?:[^&]|&(?:amp|lt|gt|#36);)*", shown)


@given(text=st.text(max_size=300), size=st.integers(2, 80))
def test_any_text_fits_and_is_harmless(text: str, size: int) -> None:
    shown = palette.visible(text, size=size)
    assert len(shown) <= size
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", shown)
    assert "<" not in palette.escape(text, size=size)
    shown.encode("utf-8")


@given(text=st.text(max_size=200), width=st.integers(4, 60))
def test_lines_are_no_wider_than_asked_and_lose_nothing(text: str, width: int) -> None:
    found = palette.lines(text, width=width)
    assert all(palette.columns(line) <= width for line in found)
    assert "".join(found).replace(" ", "") == palette.visible(text, size=2000).replace(" ", "")


@given(text=st.text(max_size=60), width=st.integers(2, 40))
def test_fitted_text_is_no_wider_than_asked(text: str, width: int) -> None:
    assert palette.columns(palette.fitted(text, width=width)) <= width


def test_a_line_of_megabytes_is_cut_before_it_is_looked_at() -> None:
    assert palette.visible("x" * 5_000_000, size=20) == "x" * 19 + "…"


@pytest.mark.parametrize(
    ("kind", "colour"),
    [
        ("user", palette.USER),
        ("assistant", palette.ASSISTANT),
        ("system", palette.SYSTEM),
        ("tool", palette.TOOL),
        ("leaf", palette.DEPTHS[0]),
        ("d1", palette.DEPTHS[1]),
        ("d99", palette.DEPTHS[-1]),
        ("d-3", palette.DEPTHS[0]),
        ("something else", palette.OTHER),
    ],
)
def test_a_kind_has_its_colour(kind: str, colour: str) -> None:
    assert palette.kind_colour(kind) == colour


def test_depths_darken() -> None:
    brightness = [sum(int(one[i : i + 2], 16) for i in (1, 3, 5)) for one in palette.DEPTHS]
    assert brightness == sorted(brightness, reverse=True)


@pytest.mark.parametrize(
    "group", ["summaries d2", "fresh tail: user", "older: user", "tool output", "XML wrapper", "new"]
)
def test_every_budget_class_has_a_colour(group: str) -> None:
    assert re.fullmatch(r"#[0-9A-F]{6}", palette.group_colour(group))
