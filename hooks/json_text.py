"""Strict JSON as text: read with positions, change one place, leave every other byte alone.

Idea: a settings file belongs to its user, so it is never written out anew. :func:`parse` says where each value stands;
:func:`put`, :func:`append` and :func:`drop` cut or insert at those places only, in the document's own indentation and
line ends. What strict JSON does not allow is refused with its line: comments, a byte order mark, trailing commas,
NaN, and a key that an object holds twice (readers disagree about which one counts).

Invariant: dropping what was appended last gives the text back, unless the container was empty and held white space.
Checked by ``tests/hooks/installer/test_json_text.py``.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

DEEPEST: Final = 100
"""Nesting beyond this is no settings file; the parser is recursive."""

_STRINGS: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_LINE: Final = re.compile(r"\r\n|\n|\r")

type_name: Final = {
    "object": "an object",
    "array": "a list",
    "string": "a text",
    "number": "a number",
    "word": "a word",
}


class NotStrict(ValueError):
    """The text is not strict JSON: ``line`` and ``what`` say where and why."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(f"line {line}: {what}")
        self.line = line
        self.what = what


@dataclass(frozen=True, slots=True)
class Node:
    """One value and where it stands; ``names`` and ``starts`` describe an object's members beside ``children``."""

    kind: Literal["object", "array", "string", "number", "word"]
    start: int
    end: int
    value: Any = None
    children: tuple["Node", ...] = ()
    names: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def get(self, key: str | int) -> "Node | None":
        """The member or item of that key, or None."""
        if isinstance(key, int):
            return self.children[key] if self.kind == "array" and key < len(self.children) else None
        return self.children[self.names.index(key)] if key in self.names else None

    def at(self, path: Sequence[str | int]) -> "Node | None":
        """The value at a path, or None where the path leaves the document."""
        node: Node | None = self
        for key in path:
            node = node.get(key) if node is not None else None
        return node

    def plain(self) -> Any:
        """The value as Python data; numbers that Python will not read stay text."""
        if self.kind == "object":
            return {name: child.plain() for name, child in zip(self.names, self.children, strict=True)}
        if self.kind == "array":
            return [child.plain() for child in self.children]
        if self.kind == "number":
            try:
                return json.loads(self.value)
            except ValueError:  # thousands of digits
                return self.value
        return self.value


def parse(text: str) -> Node:
    """The document with positions; NotStrict when a strict reader would stumble."""
    if text.startswith("\ufeff"):
        raise NotStrict(1, "the file starts with a byte order mark")
    reader = _Reader(text)
    start = reader.space(0)
    if start == len(text):
        raise NotStrict(1, "the file is empty")
    root = reader.value(start, 0)
    rest = reader.space(root.end)
    if rest != len(text):
        raise reader.wrong(rest, "more text after the end of the value")
    return root


class _Reader:
    """A recursive-descent reader over one text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def wrong(self, at: int, what: str) -> NotStrict:
        """The refusal for a place, naming a comment where one stands there."""
        if self.text.startswith(("//", "/*", "#"), at):
            what = "a comment (settings must be strict JSON)"
        return NotStrict(len(_LINE.findall(self.text, 0, at)) + 1, what)

    def space(self, at: int) -> int:
        """The first place at or after ``at`` that is not white space."""
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        """The value that starts exactly at ``at``."""
        if depth > DEEPEST:
            raise self.wrong(at, f"nested more than {DEEPEST} deep")
        first = self.text[at : at + 1]
        if first == "{":
            return self.container(at, depth, "}")
        if first == "[":
            return self.container(at, depth, "]")
        if first == '"':
            value, end = self.string(at)
            return Node("string", at, end, value)
        number = _NUMBER.match(self.text, at)
        if number:
            return Node("number", at, number.end(), number.group())
        for word, meaning in _WORDS.items():
            if self.text.startswith(word, at):
                return Node("word", at, at + len(word), meaning)
        raise self.wrong(at, "the text ends too early" if not first else f"no JSON value starts with {first!r}")

    def string(self, at: int) -> tuple[str, int]:
        """A quoted text and the place after it."""
        try:
            value, end = _STRINGS.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.wrong(error.pos, error.msg) from error
        return value, end

    def container(self, at: int, depth: int, close: str) -> Node:
        """An object or a list, up to and with its closing bracket."""
        children: list[Node] = []
        names: list[str] = []
        starts: list[int] = []
        place = self.space(at + 1)
        while self.text[place : place + 1] != close:
            if children:
                if self.text[place : place + 1] != ",":
                    raise self.wrong(place, f"a comma or {close!r} is missing")
                place = self.space(place + 1)
                if self.text[place : place + 1] == close:
                    raise self.wrong(place, "a trailing comma before this place")
            starts.append(place)
            if close == "}":
                name, place = self.name(place, names)
                names.append(name)
            children.append(self.value(place, depth + 1))
            place = self.space(children[-1].end)
        kind: Literal["object", "array"] = "object" if close == "}" else "array"
        return Node(kind, at, place + 1, None, tuple(children), tuple(names), tuple(starts))

    def name(self, at: int, taken: list[str]) -> tuple[str, int]:
        """A member's key and the place where its value starts."""
        if self.text[at : at + 1] != '"':
            raise self.wrong(at, "a key in double quotes is missing")
        name, place = self.string(at)
        if name in taken:
            raise self.wrong(at, f"the key {json.dumps(name)} stands twice in one object")
        place = self.space(place)
        if self.text[place : place + 1] != ":":
            raise self.wrong(place, "a colon is missing")
        return name, self.space(place + 1)


def put(text: str, path: Sequence[str], value: Any) -> str:
    """The text with an object's member set: replaced in place, else added behind the last one."""
    parent = _container(text, path[:-1], "object")
    found = parent.get(path[-1])
    if found is not None:
        return text[: found.start] + _render(text, found, value) + text[found.end :]
    return _add(text, parent, f"{json.dumps(path[-1], ensure_ascii=False)}: ", value)


def put_raw(text: str, path: Sequence[str], raw: str) -> str:
    """The text with a member that exists replaced by JSON text, as it was once taken from a document."""
    found = parse(text).at(path)
    if found is None:
        raise KeyError(path)
    return text[: found.start] + raw + text[found.end :]


def append(text: str, path: Sequence[str | int], value: Any) -> str:
    """The text with one more item at the end of a list."""
    return _add(text, _container(text, path, "array"), "", value)


def drop(text: str, path: Sequence[str | int]) -> str:
    """The text without one member or item, its comma included."""
    parent = parse(text).at(path[:-1])
    last = path[-1]
    if parent is None or parent.get(last) is None:
        raise KeyError(path)
    index = last if isinstance(last, int) else parent.names.index(last)
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if index == len(parent.children) - 1:
        return text[: parent.children[index - 1].end] + text[parent.children[index].end :]
    return text[: parent.starts[index]] + text[parent.starts[index + 1] :]


def _container(text: str, path: Sequence[str | int], kind: str) -> Node:
    node = parse(text).at(path)
    if node is None or node.kind != kind:
        raise KeyError(path)
    return node


def _add(text: str, parent: Node, lead: str, value: Any) -> str:
    if parent.children:
        last, start = parent.children[-1], parent.starts[-1]
        gap = text[: parent.starts[-1]]
        gap = gap[len(gap.rstrip(" \t\r\n")) :]
        indent = _LINE.split(gap)[-1] if _LINE.search(gap) else None
        body = _dump(text, value, indent)
        # The next item stands to its neighbour as the last one does to what is before it.
        if indent is None and len(parent.children) == 1 and not gap and start == parent.start + 1:
            gap = " " if ", " in text or ": " in text else ""
        return f"{text[: last.end]},{gap}{lead}{body}{text[last.end :]}"
    if not _LINE.search(text.strip()) and parse(text).children:  # a document on one line stays on it
        return text[: parent.start + 1] + lead + _dump(text, value, None) + text[parent.end - 1 :]
    base = _line_indent(text, parent.start)
    inner = base + _unit(text)
    body = lead + _dump(text, value, inner)
    line = _line_end(text)
    return f"{text[: parent.start + 1]}{line}{inner}{body}{line}{base}{text[parent.end - 1 :]}"


def _render(text: str, old: Node, value: Any) -> str:
    spread = _LINE.search(text[old.start : old.end]) is not None or old.kind not in {"object", "array"}
    return _dump(text, value, _line_indent(text, old.start) if spread and _LINE.search(text.strip()) else None)


def _dump(text: str, value: Any, indent: str | None) -> str:
    """The value as JSON: on one line, or spread over lines that continue at ``indent``."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=_unit(text)).split("\n")
    return f"{_line_end(text)}{indent}".join(lines)


def _line_end(text: str) -> str:
    found = _LINE.search(text)
    return found.group() if found else "\n"


def _line_indent(text: str, at: int) -> str:
    """The white space that the line of a place starts with."""
    head = _LINE.split(text[:at])[-1]
    return head[: len(head) - len(head.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of the document's indentation, taken from its first member."""
    root = parse(text)
    if root.starts:
        step = _LINE.split(text[: root.starts[0]])
        if len(step) > 1 and step[-1].strip(" \t") == "":
            base = _line_indent(text, root.start)
            unit = step[-1].removeprefix(base)
            if unit:
                return unit
    return "  "
