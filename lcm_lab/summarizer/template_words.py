"""A prompt template cut into plain text and actions, the actions into words.

What stands outside ``{{ }}`` is kept character for character, but for the white space that a trim marker (``{{-``,
``-}}``) takes away. Every piece knows its line, so that an error can name it. Checked by
``tests/summarizer/test_templates.py``.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from lcm_lab.errors import PromptError

_SPACE: Final = " \t\r\n"
_COMMENT: Final = re.compile(r"[ \t\r\n]*/\*")
_COMMENT_END: Final = re.compile(r"\*/(?:(?P<trim>[ \t\r\n]+-)|[ \t\r\n]*)\}\}")
_WORD: Final = re.compile(
    r"""(?P<close>(?P<trim>[ \t\r\n]+-)?\}\})
    |(?P<space>[ \t\r\n]+)
    |(?P<field>(?:\.[^\W\d]\w*)+)
    |(?P<variable>\$\w*(?:\.\w+)*)
    |(?P<dot>\.)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<number>[-+]?[0-9][\w.]*)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>:=|=|\||\(|\))
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an action: ``kind`` is field, variable, dot, text, number, name or sign."""

    kind: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Action:
    """What stands between ``{{`` and ``}}``; ``line`` is where it begins."""

    words: tuple[Word, ...]
    line: int


class Source:
    """The text of a template, with its file for errors."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self._line_ends = [found.start() for found in re.finditer("\n", text)]

    def line(self, at: int) -> int:
        """The line of a position."""
        return bisect_left(self._line_ends, at) + 1

    def error(self, line: int, message: str) -> PromptError:
        """What to raise because of what stands in ``line``."""
        return PromptError(f"{self.file}:{line}: {message}")

    def pieces(self) -> Iterator[str | Action]:
        """Plain texts and actions in their order; comments are gone, trim markers have done their work."""
        at, trim = 0, False
        while True:
            opened = self.text.find("{{", at)
            plain = self.text[at : opened if opened >= 0 else len(self.text)]
            plain = plain.lstrip(_SPACE) if trim else plain
            inside = opened + 2
            if opened >= 0 and self._marked(inside):
                plain, inside = plain.rstrip(_SPACE), inside + 1
            if plain:
                yield plain
            if opened < 0:
                return
            if comment := _COMMENT.match(self.text, inside):
                closed = self._comment_end(comment.end(), opened)
                at, trim = closed.end(), bool(closed["trim"])
                continue
            words, at, trim = self._words(inside, opened)
            yield Action(tuple(words), self.line(opened))

    def _marked(self, at: int) -> bool:
        # ``{{-3}}`` is a number, ``{{- 3}}`` a trim marker.
        return self.text.startswith("-", at) and self.text[at + 1 : at + 2] in tuple(_SPACE)

    def _comment_end(self, at: int, opened: int) -> re.Match[str]:
        end = self.text.find("*/", at)
        if end < 0:
            raise self.error(self.line(opened), "a comment is not closed: write {{/* ... */}}")
        closed = _COMMENT_END.match(self.text, end)
        if not closed:
            raise self.error(self.line(end), "after the end of a comment only }} may stand")
        return closed

    def _words(self, at: int, opened: int) -> tuple[list[Word], int, bool]:
        words: list[Word] = []
        while found := _WORD.match(self.text, at):
            at = found.end()
            kind = str(found.lastgroup)
            # The trim marker is a group within ``close`` and ends first, so ``close`` is the last one.
            if kind == "close":
                return words, at, bool(found["trim"])
            if kind != "space":
                words.append(Word(kind, found[0], self.line(found.start())))
        if at >= len(self.text):
            raise self.error(self.line(opened), "an action is not closed: }} is missing")
        if self.text[at] in '"`':
            raise self.error(self.line(at), "a text in quotes is not closed")
        if self.text[at] == "-":
            raise self.error(
                self.line(at), "a trim marker stands apart: '{{- ' with a space behind it, ' -}}' with one before"
            )
        raise self.error(self.line(at), f"{self.text[at]!r} has no meaning in an action")
