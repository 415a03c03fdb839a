"""Content of every shape becomes text."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.sessions import flatten as module
from lcm_lab.sessions.flatten import clean, flatten, size_text

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "text", "content", "name", "x"]), inner),
)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  plain \n", "plain"),
        (None, ""),
        ([], ""),
        (42, "42"),
        ([{"type": "text", "text": " a "}, {"type": "text", "text": ""}, {"type": "text", "text": "b"}], "a\nb"),
        (["bare", {"type": "text", "text": "block"}], "bare\nblock"),
        ({"type": "text", "text": "one block"}, "one block"),
        ([{"type": "thinking", "thinking": "Anthropic's"}], "[thinking] Anthropic's"),
        ([{"type": "thinking", "text": "first", "thinking": "second"}], "[thinking] first"),
        ([{"type": "reasoning", "reasoning": "r"}], "[thinking] r"),
        ([{"type": "thinking"}], "[thinking]"),
        ([{"type": "toolCall", "name": "exec", "arguments": {"cmd": "é"}}], '[toolCall] exec {"cmd":"é"}'),
        ([{"type": "tool_use", "name": "Bash", "input": {"a": 1}}], '[toolCall] Bash {"a":1}'),
        ([{"type": "toolCall", "arguments": None}], "[toolCall] unknown"),
        ([{"type": "toolCall", "name": "x", "arguments": {}}], "[toolCall] x {}"),
        ([{"type": "toolResult", "content": [{"type": "text", "text": "nested"}]}], "[toolResult] nested"),
        ([{"type": "tool_result", "content": "plain"}], "[toolResult] plain"),
        ([{"type": "image", "source": {"data": "..."}}], "[image]"),
        ([{"type": "custom", "content": ["in"]}], "in"),
        ([{"type": "text", "text": 5}, {"type": "text", "text": "kept"}], '{"type":"text","text":5}\nkept'),
        ([{"type": 7}, {}], '{"type":7}\n{}'),
    ],
)
def test_each_shape(content: object, text: str) -> None:
    assert flatten(content) == text


@given(_JSON)
def test_any_value_gives_text_that_utf8_can_hold(value: object) -> None:
    clean(flatten(value)).encode()


def test_deep_nesting_ends() -> None:
    value: object = "deep"
    for _ in range(60):
        value = {"content": [value]}
    assert flatten(value) == "[…]"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mFAIL\x1b[0m done", "FAIL done"),
        ("\x1b]0;title\x07rest", "rest"),
        ("a\tb\r\nc", "a\tb\r\nc"),
        ("a" * 20 + "\x07\x85", "a" * 20),
        ("abc\x00\x01", "[binary content, 5 B]"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("</script><img src=x onerror=alert(1)>", "</script><img src=x onerror=alert(1)>"),
        ("日本語 🔥", "日本語 🔥"),
    ],
)
def test_control_codes_go_and_all_else_stays(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_sizes() -> None:
    assert [size_text(one) for one in (0, 1024, 1536, 5 * 2**20, 3 * 2**30)] == [
        "0 B",
        "1.0 KB",
        "1.5 KB",
        "5.0 MB",
        "3.0 GB",
    ]


def test_the_examples_in_the_docstrings() -> None:
    assert doctest.testmod(module).failed == 0
