"""The three rules on texts whose right number is known, and the sharing out of a total."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab import tokens


@pytest.mark.parametrize(
    ("text", "plugin", "legacy", "tui"),
    [
        ("", 0, 0, 0),
        ("abc", 1, 1, 0),
        ("x" * 400, 100, 100, 100),
        ("x" * 401, 101, 101, 100),
        ("\u4f60\u597d\u4e16\u754c", 6, 1, 3),
        ("\u3053\u3093\u306b\u3061\u306f", 8, 2, 3),
        ("\uc548\ub155\ud558\uc138\uc694", 8, 2, 3),
        ("\u6c49" * 100, 150, 25, 75),
        ("\U0001f525\U0001f389\U0001f4af", 6, 2, 3),
        ("\U0001f525" * 10, 20, 5, 10),
        ("\u00e9" * 100, 25, 25, 50),
        ("\U00020000", 2, 1, 1),
        ("mixed \u4f60\u597d world \U0001f525", 9, 5, 5),
    ],
)
def test_each_rule_on_known_texts(text: str, plugin: int, legacy: int, tui: int) -> None:
    assert tokens.estimates(text) == {"plugin": plugin, "plugin<0.8": legacy, "lcm-tui": tui}


@given(st.text())
def test_plugin_rule_equals_a_sum_character_by_character(text: str) -> None:
    wide = (
        (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
        (0x2CEB0, 0x2EBEF), (0x3000, 0x303F), (0x3040, 0x30FF), (0xAC00, 0xD7AF), (0xFF00, 0xFFEF),
    )  # fmt: skip
    quarters = 0
    for character in text:
        point = ord(character)
        quarters += 6 if any(low <= point <= high for low, high in wide) else 8 if point > 0xFFFF else 1
    assert tokens.plugin_tokens(text) == -(-quarters // 4)


@given(st.text())
def test_legacy_rule_counts_utf16_units(text: str) -> None:
    assert tokens.legacy_plugin_tokens(text) == -(-len(text.encode("utf-16-le", "surrogatepass")) // 2 // 4)


def test_a_picture_costs_the_same_whatever_its_size() -> None:
    url = "data:image/png;base64," + "A" * 4_000_000
    assert tokens.message_tokens(f"look: {url} ok") == tokens.IMAGE_TOKENS + tokens.plugin_tokens("look:  ok")
    assert tokens.message_tokens(url + " " + url) == 2 * tokens.IMAGE_TOKENS + 1


def test_a_long_plain_text_is_no_picture() -> None:
    assert tokens.message_tokens("a" * 10_000_000) == 2_500_000


@given(st.integers(0, 10**9), st.lists(st.integers(0, 10**6), min_size=1, max_size=20))
def test_shares_add_up_and_never_miss_by_one(total: int, weights: list[int]) -> None:
    split = tokens.shares(total, weights)
    assert sum(split) == total
    whole = sum(weights)
    if whole:
        assert all(abs(part * whole - total * weight) < whole for part, weight in zip(split, weights, strict=True))


@pytest.mark.parametrize(
    ("used", "window", "percent"), [(310_000, 128_000, 242), (1, 0, None), (1, None, None), (0, 10, 0)]
)
def test_percent_of_a_window(used: int, window: int | None, percent: int | None) -> None:
    assert tokens.percent_of(used, window) == percent
