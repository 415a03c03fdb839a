"""Strict JSON as text: what is refused and where, and that edits touch one place only."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import json_text
from lcm_lab.hooks.json_text import NotStrict, append, drop, parse, put

REFUSED = {
    "line comment": ('{\n  // why\n  "a": 1\n}', 2, "comment"),
    "block comment": ('{"a": 1 /* why */}', 1, "comment"),
    "hash comment": ('{"a": 1}\n# why', 2, "comment"),
    "byte order mark": ('\ufeff{"a": 1}', 1, "byte order mark"),
    "trailing comma": ('{\n  "a": 1,\n}', 3, "trailing comma"),
    "trailing comma in a list": ("[1,\n2,\n]", 3, "trailing comma"),
    "duplicate key": ('{\n  "a": 1,\r\n  "b": 2,\n  "a": 3\n}', 4, "twice"),
    "duplicate key deep down": ('{"x": [{"k": 1,\n"k": 2}]}', 2, "twice"),
    "duplicate key in other words": ('{"a": 1, "\\u0061": 2}', 1, "twice"),
    "empty": ("", 1, "empty"),
    "blank": (" \n", 1, "empty"),
    "cut": ('{"a": ', 1, "ends too early"),
    "single quotes": ("{'a': 1}", 1, "double quotes"),
    "bare key": ("{a: 1}", 1, "double quotes"),
    "NaN": ('{"a": NaN}', 1, "no json value"),
    "leading zero": ('{"a": 01}', 1, "comma"),
    "line end in a text": ('{"a": "x\ny"}', 1, "control character"),
    "two documents": ("{}\n{}", 2, "more text"),
    "no colon": ('{"a" 1}', 1, "colon"),
    "too deep": ("[" * 200 + "]" * 200, 1, "deep"),
}


@pytest.mark.parametrize(("text", "line", "what"), REFUSED.values(), ids=REFUSED)
def test_refusals_name_line_and_reason(text: str, line: int, what: str) -> None:
    """What strict JSON does not allow, one by one."""
    with pytest.raises(NotStrict) as caught:
        parse(text)
    assert caught.value.line == line
    assert what in caught.value.what.lower()


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
layouts = st.sampled_from([None, 0, 1, 2, 4, "\t"])


@given(value=values, indent=layouts, ascii_only=st.booleans())
def test_reads_what_the_standard_reader_reads(value: object, indent: int | str | None, *, ascii_only: bool) -> None:
    """Same data, for any document and layout."""
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse(text).plain() == json.loads(text)


@given(st.text(alphabet='{}[]",:01e-.+ntrufalse \n\\/#', max_size=30))
def test_never_accepts_what_the_standard_reader_refuses(text: str) -> None:
    """Noise that looks like JSON."""
    try:
        found = parse(text)
    except NotStrict:
        return
    assert found.plain() == json.loads(text)


@given(st.dictionaries(st.text(), values, min_size=1, max_size=5), layouts, st.sampled_from(["\n", "\r\n"]))
def test_a_member_that_is_added_and_dropped_leaves_no_trace(
    value: dict[str, object], indent: int | str | None, line: str
) -> None:
    """Appending and dropping are inverse, in every layout."""
    text = json.dumps(value, indent=indent).replace("\n", line)
    key = max(value, key=len) + "x"
    added = put(text, (key,), {"b": [1, {"c": 2}]})
    assert json.loads(added) == {**value, key: {"b": [1, {"c": 2}]}}
    assert list(json.loads(added)) == [*value, key]
    assert drop(added, (key,)) == text
    if line == "\r\n":
        assert "\n" not in added.replace("\r\n", "")


@given(st.lists(values, min_size=2, max_size=5), layouts, st.data())
def test_dropping_an_item_keeps_the_bytes_of_the_others(
    value: list[object], indent: int | str | None, data: st.DataObject
) -> None:
    """Not even the form of a number changes."""
    text = json.dumps(value, indent=indent)
    index = data.draw(st.integers(0, len(value) - 1))
    left = drop(text, (index,))
    assert json.loads(left) == json.loads(text)[:index] + json.loads(text)[index + 1 :]
    raw = [text[node.start : node.end] for node in parse(text).children]
    assert [left[node.start : node.end] for node in parse(left).children] == raw[:index] + raw[index + 1 :]


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("{}\n", '{\n  "k": [\n    1\n  ]\n}\n'),
        ('{"a":1}', '{"a":1,"k": [1]}'),
        ('{"a": 1}', '{"a": 1, "k": [1]}'),
        ('{ "a": 1 }', '{ "a": 1, "k": [1] }'),
        ('{\n\t"a": {}\n}', '{\n\t"a": {},\n\t"k": [\n\t\t1\n\t]\n}'),
        ('{\r\n    "a": 1\r\n}\r\n', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}\r\n'),
    ],
)
def test_additions_take_the_documents_own_layout(text: str, after: str) -> None:
    """Indentation, line ends, or one line."""
    assert put(text, ("k",), [1]) == after


def test_an_item_joins_an_empty_list_at_its_place() -> None:
    """Indented as deep as its list."""
    text = '{\n  "a": {\n    "b": []\n  }\n}\n'
    assert append(text, ("a", "b"), "x") == '{\n  "a": {\n    "b": [\n      "x"\n    ]\n  }\n}\n'


def test_a_value_is_replaced_in_place() -> None:
    """The white space around it stays."""
    text = '{"a": {"n":  1e3 }, "b": [ ]}'
    assert put(text, ("a", "n"), "9") == '{"a": {"n":  "9" }, "b": [ ]}'
    assert json_text.put_raw(text, ("a", "n"), "2E1") == '{"a": {"n":  2E1 }, "b": [ ]}'


@pytest.mark.parametrize("path", [("x",), ("a", 3), ("a", "b")])
def test_a_place_that_is_not_there_is_an_error(path: tuple[str | int, ...]) -> None:
    """A wrong path never cuts something else."""
    with pytest.raises(KeyError):
        drop('{"a": [1]}', path)


def test_numbers_too_long_for_python_survive() -> None:
    """They are text to us."""
    text = '{"a": ' + "9" * 5000 + "}"
    assert parse(text).plain() == {"a": "9" * 5000}
    assert drop(put(text, ("b",), 1), ("b",)) == text
