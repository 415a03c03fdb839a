"""The functions a prompt template may call, and Go's rules for truth and printing.

A template handles three kinds of value: text, whole numbers and true/false. As in Go, a comparison of different kinds
is an error and not "false", and ``len`` of a text counts UTF-8 bytes. What a function cannot do it says as a
ValueError; the engine adds file and line. Checked by ``tests/summarizer/test_templates.py``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

Value = str | int | bool

LAZY: Final = frozenset({"and", "or"})
"""Functions that stop at the first argument that decides; the engine evaluates their arguments itself."""

_KINDS: Final = {str: "a text", int: "a number", bool: "true or false"}
_VERB: Final = re.compile(r"%(?P<flags>[-+0]*)(?P<width>\d{0,4})(?P<precision>(?:\.\d{0,4})?)(?P<verb>.)?", re.DOTALL)
ESCAPES: Final = {
    "\a": r"\a",
    "\b": r"\b",
    "\f": r"\f",
    "\n": r"\n",
    "\r": r"\r",
    "\t": r"\t",
    "\v": r"\v",
    "\\": r"\\",
    '"': r"\"",
}
"""How a text in double quotes writes them."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function with how many arguments it takes; ``most`` is None where there is no limit."""

    call: Callable[..., Value]
    least: int
    most: int | None = None

    def takes(self, count: int) -> bool:
        """Whether it can be called with that many arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


def truth(value: Value) -> bool:
    """Go's rule for ``if``: the empty text, 0 and false are false."""
    return bool(value)


def shown(value: Value) -> str:
    """A value as a template prints it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else str(value)


def _eq(first: Value, *others: Value) -> bool:
    _alike(first, *others)
    return first in others


def _ne(first: Value, second: Value) -> bool:
    return not _eq(first, second)


def _lt(first: Any, second: Any) -> bool:
    _alike(first, second)
    if isinstance(first, bool):
        raise ValueError("true and false have no order")  # noqa: TRY004  (one kind of error for the engine)
    # Go orders text by its bytes. For UTF-8 that is the order of code points, which is Python's.
    return bool(first < second)


def _le(first: Value, second: Value) -> bool:
    return _lt(first, second) or first == second


def _alike(*values: Value) -> None:
    kinds = list(dict.fromkeys(_KINDS[type(one)] for one in values))
    if len(kinds) > 1:
        raise ValueError(f"{kinds[0]} cannot be compared with {kinds[1]}")


def _len(text: Value) -> int:
    if not isinstance(text, str):
        raise ValueError(f"len wants a text, not {_KINDS[type(text)]}")  # noqa: TRY004  (as above)
    return len(text.encode("utf-8", "surrogatepass"))


def _print(*values: Value) -> str:
    out = ""
    for i, value in enumerate(values):
        # As Go does: a space only between two values neither of which is a text.
        gap = i and not isinstance(value, str) and not isinstance(values[i - 1], str)
        out += (" " if gap else "") + shown(value)
    return out


def _println(*values: Value) -> str:
    return " ".join(map(shown, values)) + "\n"


def _printf(form: Value, *values: Value) -> str:
    if not isinstance(form, str):
        raise ValueError('printf wants a text first, as in printf "%d" .Depth')  # noqa: TRY004  (as above)
    rest = list(values)

    def fill(found: re.Match[str]) -> str:
        verb = found["verb"]
        if verb == "%":
            return "%"
        if verb is None or verb not in "sdvqt":
            raise ValueError(f"printf knows %s %d %v %q %t and %%, not {found[0]}")
        if not rest:
            raise ValueError(f"printf has no value for {found[0]}")
        return _formatted(found, rest.pop(0))

    text = _VERB.sub(fill, form)
    if rest:
        raise ValueError(f"printf has {len(rest)} more value{'s' * (len(rest) > 1)} than places")
    return text


def _formatted(found: re.Match[str], value: Value) -> str:
    verb = found["verb"]
    wanted = {"s": str, "q": str, "d": int, "t": bool}.get(verb, type(value))
    if type(value) is not wanted:
        raise ValueError(f"printf's %{verb} wants {_KINDS[wanted]}, not {_KINDS[type(value)]}")
    flags, width, precision = found["flags"], found["width"], found["precision"]
    if isinstance(value, int) and not isinstance(value, bool):
        return f"%{flags}{width}{precision}d" % value
    text = shown(value)
    if isinstance(value, str) and precision:
        text = text[: int(precision[1:] or 0)]
    if verb == "q":
        text = _quoted(text)
    size = int(width or 0)
    return text.ljust(size) if "-" in flags else text.rjust(size)


def _quoted(text: str) -> str:
    """``text`` as a string in Go source would write it."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    code = ord(character)
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


FUNCTIONS: Final[dict[str, Function]] = {
    "and": Function(lambda *values: values[-1], 1),
    "or": Function(lambda *values: values[-1], 1),
    "not": Function(lambda value: not truth(value), 1, 1),
    "eq": Function(_eq, 2),
    "ne": Function(_ne, 2, 2),
    "lt": Function(_lt, 2, 2),
    "le": Function(_le, 2, 2),
    "gt": Function(lambda first, second: not _le(first, second), 2, 2),
    "ge": Function(lambda first, second: not _lt(first, second), 2, 2),
    "len": Function(_len, 1, 1),
    "print": Function(_print, 0),
    "println": Function(_println, 0),
    "printf": Function(_printf, 1),
}

ELSEWHERE: Final = frozenset({"call", "html", "index", "js", "slice", "urlquery"})
"""Functions that Go has and a prompt has no use for."""
