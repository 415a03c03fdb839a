"""Prompt templates in the part of Go's text/template that override files in the field use.

Idea: a template becomes a small tree once, and all that can be wrong with the file is found then, in branches that are
never taken, too: an unknown variable or function, an action that is not closed, a missing ``end``. The whole set of
variables is never a value of its own (a lone ``.`` outside ``with`` and a lone ``$`` are refused), so every value is a
text, a number or true/false. Nesting is limited, so that no file can exhaust the stack.

Invariant: :func:`parse` and :meth:`Parsed.render` raise nothing but PromptError, and it names file and line. Text
outside actions comes out as it stands, values are put in as they are; nothing is escaped. Checked by
``tests/summarizer/test_templates.py``. The subset is described in docs/prompts.md.
"""

import re
from collections.abc import Iterable
from typing import Final

from lcm_lab.summarizer.template_functions import ELSEWHERE, ESCAPES, FUNCTIONS
from lcm_lab.summarizer.template_tree import (
    Assign,
    Branch,
    Call,
    Dot,
    Expression,
    Field,
    Literal,
    Node,
    Output,
    Parsed,
    Quiet,
    Slot,
)
from lcm_lab.summarizer.template_words import Action, Source, Word

_DEEPEST: Final = 40
_BRANCHES: Final = ("if", "with")
_MISSING: Final = frozenset({"range", "define", "template", "block", "break", "continue", "nil"})
_CONSTANTS: Final = {"true": True, "false": False}
_ESCAPE: Final = re.compile(
    r"""\\(?:(?P<plain>[abfnrtv\\"])|x(?P<x>[0-7][0-9a-fA-F])|u(?P<u>(?![dD][89a-fA-F])[0-9a-fA-F]{4})
    |U(?P<U>00(?:0[0-9a-fA-F]|10)[0-9a-fA-F]{4})|(?P<bad>.))""",
    re.VERBOSE,
)
_PLAIN: Final = {escape[1]: character for character, escape in ESCAPES.items()}


def parse(text: str, *, file: str, known: Iterable[str]) -> Parsed:
    """A template from its text; ``known`` are the variables there are, ``file`` is how errors call it.

    >>> parse("{{if .Name}}Hello {{.Name}}{{end}}", file="greeting.tmpl", known=["Name"]).render({"Name": "Ada"})
    'Hello Ada'

    Raises:
        PromptError: the template cannot be used; the message names file and line.
    """
    parser = _Parser(Source(text, file), frozenset(known))
    nodes = parser.whole()
    return Parsed(file, nodes, frozenset(parser.uses))


class _Parser:
    """Reads one template; ``uses`` are the variables met."""

    def __init__(self, source: Source, known: frozenset[str]) -> None:
        self._source = source
        self._known = known
        self._pieces = list(source.pieces())
        self._at = 0
        self._scope: list[tuple[str, int]] = []
        self._declared = 0
        self._depth = 0
        self._in_with = False
        self.uses: set[str] = set()

    def whole(self) -> tuple[Node, ...]:
        """The template's nodes."""
        nodes, stop = self._block()
        if stop is not None:
            raise self._source.error(
                stop.line, f"{{{{{stop.words[0].text}}}}} without an {{{{if}}}} or {{{{with}}}} before it"
            )
        return nodes

    def _block(self) -> tuple[tuple[Node, ...], Action | None]:
        """Nodes up to the ``else`` or ``end`` that belongs to somebody above, or to the end of the file."""
        nodes: list[Node] = []
        outside = len(self._scope)
        stop = None
        while stop is None and self._at < len(self._pieces):
            piece = self._pieces[self._at]
            self._at += 1
            if isinstance(piece, str):
                nodes.append(piece)
            elif _opens(piece, "end", "else"):
                stop = piece
            elif _opens(piece, *_BRANCHES):
                nodes.append(self._branch(piece))
            else:
                value = self._pipeline(piece.words, piece.line)
                nodes.append(Quiet(value) if isinstance(value, Assign) else Output(value, piece.line))
        del self._scope[outside:]
        return tuple(nodes), stop

    def _branch(self, action: Action) -> Branch:
        keyword, outside = action.words[0].text, len(self._scope)
        arms: list[tuple[Expression, tuple[Node, ...]]] = []
        condition = self._pipeline(action.words[1:], action.line)
        while True:
            body, stop = self._body(action, sets_dot=keyword == "with")
            arms.append((condition, body))
            rest = stop.words[1:]
            if stop.words[0].text == "end":
                otherwise: tuple[Node, ...] = ()
                break
            if not rest:
                otherwise, stop = self._body(action, sets_dot=False)
                if stop.words[0].text != "end":
                    raise self._source.error(stop.line, "an {{else}} after the last {{else}}")
                break
            if rest[0].text != keyword:
                raise self._source.error(stop.line, f"{{{{else {rest[0].text}}}}} cannot follow {{{{{keyword}}}}}")
            condition = self._pipeline(rest[1:], stop.line)
        if len(stop.words) > 1:
            raise self._source.error(stop.line, "nothing may stand beside 'end'")
        del self._scope[outside:]
        return Branch(tuple(arms), otherwise, sets_dot=keyword == "with")

    def _body(self, opener: Action, *, sets_dot: bool) -> tuple[tuple[Node, ...], Action]:
        before = self._in_with
        self._in_with = before or sets_dot
        self._descend(opener.line)
        nodes, stop = self._block()
        self._depth -= 1
        self._in_with = before
        if stop is None:
            raise self._source.error(
                opener.line, f"{{{{{opener.words[0].text}}}}} is never closed: {{{{end}}}} is missing"
            )
        return nodes, stop

    def _descend(self, line: int) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._source.error(line, f"nested more than {_DEEPEST} deep")

    def _pipeline(self, words: tuple[Word, ...], line: int) -> Expression:
        """What an action says: a pipeline, perhaps assigned to a variable."""
        sign = words[1].text if len(words) > 1 and words[0].kind == "variable" and words[1].kind == "sign" else ""
        if sign not in (":=", "="):
            return self._commands(list(words), line)
        name = words[0].text
        if name == "$" or "." in name:
            raise self._source.error(line, f"{name} cannot be assigned")
        value = self._commands(list(words[2:]), line)
        if sign == "=":
            return Assign(self._slot(words[0]).number, value)
        self._declared += 1
        self._scope.append((name, self._declared))
        return Assign(self._declared, value)

    def _commands(self, words: list[Word], line: int, *, closing: bool = False) -> Expression:
        """Commands up to the end, or to the bracket that closes them: ``a | f x`` is ``f x a``."""
        value: Expression | None = None
        while True:
            if not words or _is(words[0], ")") or _is(words[0], "|"):
                raise self._source.error(line, "a value is missing")
            value = self._command(words, value)
            if words and _is(words[0], "|"):
                words.pop(0)
                continue
            if words and not (closing and _is(words[0], ")")):
                raise self._source.error(words[0].line, f"{words[0].text!r} cannot stand here")
            if closing and not words:
                raise self._source.error(line, "a bracket is not closed")
            return value

    def _command(self, words: list[Word], piped: Expression | None) -> Expression:
        first = words[0]
        is_call = first.kind == "name" and first.text not in _CONSTANTS
        if is_call:
            self._check_name(words.pop(0))
        operands = []
        while words and not (words[0].kind == "sign" and words[0].text != "("):
            operands.append(self._operand(words))
        operands += [piped] if piped is not None else []
        if is_call:
            return self._call(first, operands)
        if piped is not None:
            raise self._source.error(first.line, f"{first.text} is no function and can take nothing from a pipe")
        if not operands:
            raise self._source.error(first.line, f"{first.text!r} cannot stand here")
        if len(operands) > 1:
            raise self._source.error(first.line, f"{first.text} is no function and takes no arguments")
        return operands[0]

    def _call(self, word: Word, operands: list[Expression]) -> Call:
        function = FUNCTIONS[word.text]
        if not function.takes(len(operands)):
            wanted = f"{function.least} or more" if function.most is None else f"exactly {function.least}"
            raise self._source.error(word.line, f"{word.text} wants {wanted} to work on, not {len(operands)}")
        height = 1 + max((one.height for one in operands if isinstance(one, Call)), default=0)
        if height > _DEEPEST:
            raise self._source.error(word.line, f"nested more than {_DEEPEST} deep")
        return Call(word.text, tuple(operands), word.line, height)

    def _check_name(self, word: Word) -> None:
        if word.text in FUNCTIONS:
            return
        if word.text in ELSEWHERE | _MISSING or word.text in (*_BRANCHES, "else", "end"):
            raise self._source.error(word.line, f"{word.text!r} cannot be used here; see docs/prompts.md for what can")
        raise self._source.error(word.line, f"unknown function {word.text}; known: {', '.join(FUNCTIONS)}")

    def _operand(self, words: list[Word]) -> Expression:
        word = words.pop(0)
        if word.kind == "field":
            return self._field(word, word.text[1:])
        if word.kind == "variable":
            return self._variable(word)
        if word.kind == "dot":
            if not self._in_with:
                raise self._source.error(
                    word.line, f"a lone dot means something inside {{{{with}}}} only; {self._names()}"
                )
            return Dot()
        if word.kind == "number":
            return Literal(self._number(word))
        if word.kind == "text":
            return Literal(self._text(word))
        if word.text in _CONSTANTS:
            return Literal(_CONSTANTS[word.text])
        if word.kind == "name":
            self._check_name(word)
            return self._call(word, [])
        self._descend(word.line)
        value = self._commands(words, word.line, closing=True)
        words.pop(0)
        self._depth -= 1
        return value

    def _field(self, word: Word, name: str, *, of_all: bool = False) -> Field:
        if name not in self._known:
            raise self._source.error(word.line, f"unknown variable .{name}; {self._names()}")
        if self._in_with and not of_all:
            raise self._source.error(
                word.line, f"inside {{{{with}}}} the dot is its value: write $.{name} for the variable"
            )
        self.uses.add(name)
        return Field(name)

    def _variable(self, word: Word) -> Expression:
        if word.text.startswith("$."):
            return self._field(word, word.text[2:], of_all=True)
        if word.text == "$":
            raise self._source.error(word.line, f"a lone $ is all variables at once; {self._names()}")
        return self._slot(word)

    def _slot(self, word: Word) -> Slot:
        for name, number in reversed(self._scope):
            if name == word.text:
                return Slot(number)
        raise self._source.error(
            word.line, f"unknown variable {word.text}; declare it first: {{{{{word.text} := ...}}}}"
        )

    def _names(self) -> str:
        return f"known: {', '.join(f'.{name}' for name in sorted(self._known))}"

    def _number(self, word: Word) -> int:
        try:
            value = int(word.text, 0)
        except ValueError:
            raise self._source.error(word.line, f"{word.text[:40]} is no whole number") from None
        if not -(2**63) <= value < 2**63:
            raise self._source.error(word.line, f"{word.text[:40]} is too large a number")
        return value

    def _text(self, word: Word) -> str:
        inner = word.text[1:-1]
        if word.text.startswith("`"):
            return inner

        def meant(escape: re.Match[str]) -> str:
            if escape["bad"]:
                raise self._source.error(word.line, f"{escape[0]} in a text means nothing; a backslash is written \\\\")
            if escape["plain"]:
                return _PLAIN[escape["plain"]]
            return chr(int(escape["x"] or escape["u"] or escape["U"], 16))

        return _ESCAPE.sub(meant, inner)


def _is(word: Word, sign: str) -> bool:
    return word.kind == "sign" and word.text == sign


def _opens(action: Action, *keywords: str) -> bool:
    return bool(action.words) and action.words[0].kind == "name" and action.words[0].text in keywords
