"""Differences of texts: nothing lost, nothing run, told without colour, and quick whatever the texts are."""

import random
import re
import time
from collections.abc import Callable
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.views import word_diff
from lcm_lab.views.escaping import box, literal
from lcm_lab.views.word_diff import Piece

NASTY = "</script><img src=x onerror=alert(1)><b>x</b> $\\alpha$ \\(x\\) \u202eabc\x1b[31m \"quoted\" & 'so'"
TEXT = st.text(alphabet=st.sampled_from("ab .,\n\t\u7aef\u53e3\u05d0<&$"), max_size=60)


class Page(HTMLParser):
    """What a page shows, and which elements it is made of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text, self.elements, self.attributes = "", set[str](), set[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.text += data


def sides(found: tuple[Piece, ...]) -> tuple[str, str]:
    """The two texts that pieces make up."""
    return (
        "".join(one.text for one in found if one.kind != "new"),
        "".join(one.text for one in found if one.kind != "gone"),
    )


@given(TEXT, TEXT)
def test_the_pieces_make_up_both_texts(before: str, after: str) -> None:
    found = word_diff.pieces(before, after)
    assert sides(found) == (before, after)
    assert all(one.text for one in found)
    rows = word_diff.rows(before, after)
    assert "".join(one.text for row in rows for one in row.before) == before
    assert "".join(one.text for row in rows for one in row.after) == after


def test_words_are_compared_not_lines() -> None:
    found = word_diff.pieces("The firewall blocks 8080 now.\nSame.", "The firewall blocks 443, now.\nSame.")
    assert [(one.kind, one.text) for one in found] == [
        ("same", "The firewall blocks "),
        ("gone", "8080"),
        ("new", "443,"),
        ("same", " now.\nSame."),
    ]


def test_a_word_followed_by_something_else_is_the_same_word() -> None:
    found = word_diff.pieces("port 443 answers", "port 443, answers")
    assert [one.text for one in found if one.kind == "same"] == ["port 443", "answers"]


def test_chinese_is_compared_by_character() -> None:
    found = word_diff.pieces("\u7aef\u53e3\u88ab\u963b\u6b62", "\u7aef\u53e3\u88ab\u5f00\u653e")
    assert [(one.kind, one.text) for one in found] == [
        ("same", "\u7aef\u53e3\u88ab"),
        ("gone", "\u963b\u6b62"),
        ("new", "\u5f00\u653e"),
    ]


@pytest.mark.parametrize("show", [word_diff.side_by_side, word_diff.unified])
def test_texts_are_shown_literally_and_signs_go_with_colours(show: Callable[[str, str], str]) -> None:
    html = show(f"old {NASTY}\nkept", f"new {NASTY}\nkept")
    page = Page(html)
    assert page.elements == {"div", "del", "ins"}
    assert not page.attributes - {"style", "class", "dir", "tabindex"}
    assert "<img src=x onerror=alert(1)>" in page.text
    assert "$\\alpha$" in page.text
    assert "\u202e" not in html
    assert "\x1b" not in html
    assert "mathjax_ignore" in html
    assert "line-through" in html
    assert "underline" in html


def test_the_unified_form_has_signs() -> None:
    text = Page(word_diff.unified("a\nb\nc\n", "a\nx\nc\n")).text
    assert re.sub(r"\s", "", text) == "a-b+xc"


def test_equal_texts_say_so() -> None:
    assert "The texts are the same" in word_diff.side_by_side("a\nb", "a\nb")
    assert "The texts are the same" not in word_diff.side_by_side("a\nb", "a\nc")


def test_a_line_end_that_goes_is_seen() -> None:
    assert "\u21b5" in word_diff.side_by_side("a\n\nb", "a\nb")


def test_a_text_beyond_the_limit_is_cut_and_that_is_said() -> None:
    html = word_diff.side_by_side("x" * (word_diff.SHOWN + 10), "y")
    assert f"the first {word_diff.SHOWN:,} of {word_diff.SHOWN + 10:,} characters" in html
    assert len(html) < 2 * word_diff.SHOWN


def many() -> dict[str, tuple[str, str]]:
    """Pairs of texts of 200 KB that make careless comparisons hang."""
    dice = random.Random(5)  # noqa: S311  (any texts will do)
    words = [f"w{i}" for i in range(2000)]
    some = [dice.choice(words) for _ in range(40_000)]
    other = [dice.choice(words) for _ in range(40_000)]
    near = [one if dice.random() > 0.1 else dice.choice(words) for one in some]
    return {
        "one line, all different": (" ".join(some), " ".join(other)),
        "one line, some different": (" ".join(some), " ".join(near)),
        "lines, all different": ("\n".join(some), "\n".join(other)),
        "lines, turned round": ("\n".join(some), "\n".join(some[::-1])),
        "the same word": ("word " * 40_000, "word " * 39_000 + "x word " * 500),
        "one long word": ("a" * 200_000, "a" * 199_999 + "b"),
        "signs": (".!?" * 70_000, "?.!" * 70_000),
        "line ends": ("\n" * 200_000, "\n " * 100_000),
        "Chinese": ("\u7aef\u53e3\u9632\u706b\u5899" * 40_000, "\u7aef\u53e3\u9632\u706b\u57ce" * 40_000),
    }


@pytest.mark.parametrize("name", many())
def test_200_kb_do_not_hang(name: str) -> None:
    before, after = many()[name]
    start = time.process_time()
    found = word_diff.pieces(before, after)
    assert time.process_time() - start < 10
    assert sides(found) == (before, after)


def test_a_long_line_is_still_compared_word_by_word() -> None:
    before, after = many()["one line, some different"]
    same = sum(len(one.text) for one in word_diff.pieces(before, after) if one.kind == "same")
    assert same > 0.8 * len(before)


def test_a_box_and_a_line_show_text_and_nothing_else() -> None:
    for html in (box(NASTY), literal(NASTY)):
        page = Page(html)
        assert page.elements <= {"div", "bdi"}
        assert page.text == NASTY.replace("\u202e", "\ufffd").replace("\x1b", "\ufffd")
