"""The small pictures of reviews: well-formed whatever the store says, and no colour without a word."""

import re
from base64 import b64decode
from xml.etree import ElementTree as ET

from lcm_lab.repairs.plan import ContextChange, Shown
from lcm_lab.views import strips


def drawn(html: str) -> str:
    """The SVG inside of an image, which is well-formed."""
    found = re.search('base64,([^"]+)', html)
    assert found is not None
    text = b64decode(found[1]).decode()
    ET.fromstring(text)  # noqa: S314  (our own)
    return text


def item(key: str, label: str, size: int) -> Shown:
    """An item of a context."""
    return Shown("summary", key, label, size, "")


def test_what_goes_and_what_comes_is_marked_with_signs() -> None:
    stays = [item(f"m{i}", "user", 40) for i in range(20)]
    change = ContextChange(
        7, (item("c", "d1", 200), *stays), (item("a", "leaf", 300), item("b", "leaf", 300), *stays), 5, 100
    )
    html = strips.context(change)
    text = drawn(html)
    assert "\u2212 d1" in text
    assert text.count("+ leaf") == 2
    assert "d1, 200 tokens, goes" in text
    assert "user, 800 tokens" in text, "neighbours that stay are one bar"
    assert "unchanged, 100 tokens" in text
    assert 'alt="Context before (1,100 tokens) and after (1,500 tokens)"' in html


def test_labels_of_a_store_are_text() -> None:
    odd = "\x1b</svg><script>"
    text = drawn(strips.context(ContextChange(7, (item("a", odd, 900),), (item("a", odd, 900),))))
    assert "<script" not in text


def test_nothing_to_draw() -> None:
    assert strips.context(ContextChange(7, (), ())) == ""
    assert strips.queue([]) == ""


def test_a_long_context_is_a_small_picture() -> None:
    many = tuple(item(str(i), ("leaf", "user")[i % 2], 9) for i in range(20_000))
    assert len(strips.context(ContextChange(7, many, many[1:]))) < 300_000


def test_a_queue_has_a_sign_for_each_status() -> None:
    text = drawn(strips.queue(["applied", "failed", "skipped", "planned"]))
    assert "\u2713 applied 1, \u2717 failed 1, \u2013 skipped 1,  planned 1" in text
    assert len(strips.queue(["applied"] * 10_000)) < 300_000
