"""Small pictures are well-formed, small, say in words what their colours say, and hold no markup of the store's."""

import re
from base64 import b64decode
from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.views import svg


def drawn(picture: str) -> str:
    """The SVG in a picture, which must be well-formed."""
    found = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', picture)
    assert found is not None
    text = b64decode(found[1]).decode()
    ET.fromstring(text)  # noqa: S314  (our own)
    return text


def test_a_strip_puts_neighbours_together_and_names_the_kinds() -> None:
    text = drawn(svg.strip([("leaf", 10), ("leaf", 20), ("user", 5), ("user", 0)], title="Context"))
    assert text.count("<title>") == 2
    assert "leaf, 30 tokens" in text
    assert "user 5" in text


@given(st.lists(st.tuples(st.sampled_from(["user", "d1", "tool", "leaf"]), st.integers(-5, 10**6)), max_size=500))
def test_a_strip_keeps_every_token_and_stays_small(parts: list[tuple[str, int]]) -> None:
    picture = svg.strip(parts, title="Context")
    total = sum(size for _, size in parts if size > 0)
    if not total:
        assert picture == ""
        return
    text = drawn(picture)
    found = [int(one.replace(",", "")) for one in re.findall(r"<title>[^<]*, ([\d,]+) tokens</title>", text)]
    assert sum(found) == total
    assert len(picture) < svg.LIMIT


@given(st.text(max_size=60), st.text(max_size=60))
def test_texts_are_never_markup(name: str, title: str) -> None:
    for picture in (svg.bars([(name, 5)], title=title), svg.strip([(name, 5)], title=title)):
        text = drawn(picture)
        assert set(re.findall(r"<(\w+)", text)) <= {"svg", "rect", "text", "title", "path"}
        assert "<script" not in picture
        assert re.findall(r"<(/?\w+)", picture) == ["div", "img", "/div"]


def test_levels_are_capped_and_counted() -> None:
    text = drawn(svg.levels({0: 8752, 1: 1094, 2: 3}, {2: 1}, title="Levels"))
    assert text.count("h0") == 38 + 38 + 3 + 1
    assert len(svg.levels(dict.fromkeys(range(40), 10**6), {}, title="Levels")) < svg.LIMIT
    assert "8,752, 0 in context" in text
    assert text.index(">d2<") < text.index(">d1<") < text.index(">leaf<")
    assert svg.levels({}, {}, title="none") == ""


def test_bars_without_numbers_are_nothing() -> None:
    assert svg.bars([], title="t") == ""
    assert svg.bars([("a", 0)], title="t") == ""
    assert "1,234" in drawn(svg.bars([("a", 1234), ("b", -3)], title="t"))
