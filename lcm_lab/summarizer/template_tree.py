"""A prompt template as a tree, and how it is filled.

The nodes are what :mod:`lcm_lab.summarizer.templates` reads from a file. Filling can only fail on kinds of values, as
in ``len .Depth``, and then names file and line. Checked by ``tests/summarizer/test_templates.py``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from lcm_lab.errors import PromptError
from lcm_lab.summarizer.template_functions import FUNCTIONS, LAZY, Value, shown, truth


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that stands in the template."""

    value: Value


@dataclass(frozen=True, slots=True)
class Field:
    """A variable of the prompt: ``.TargetTokens``."""

    name: str


@dataclass(frozen=True, slots=True)
class Dot:
    """What the innermost ``with`` is about."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A variable of the template's own: ``$x``. Each declaration has a number of its own."""

    number: int


@dataclass(frozen=True, slots=True)
class Assign:
    """``$x := value``; its value is the value."""

    number: int
    value: "Expression"


@dataclass(frozen=True, slots=True)
class Call:
    """A function with its arguments; what a pipeline hands on is the last of them."""

    name: str
    arguments: "tuple[Expression, ...]"
    line: int
    height: int
    """How many calls lie within each other here; the parser limits it."""


Expression = Literal | Field | Dot | Slot | Assign | Call


@dataclass(frozen=True, slots=True)
class Output:
    """An action that prints its value."""

    value: Expression
    line: int


@dataclass(frozen=True, slots=True)
class Quiet:
    """An action that only assigns."""

    value: Assign


@dataclass(frozen=True, slots=True)
class Branch:
    """``if`` or ``with``: the first arm whose condition is true, else ``otherwise``. ``with`` sets the dot."""

    arms: "tuple[tuple[Expression, tuple[Node, ...]], ...]"
    otherwise: "tuple[Node, ...]"
    sets_dot: bool


Node = str | Output | Quiet | Branch


@dataclass(frozen=True, slots=True)
class Parsed:
    """A template without faults, ready to be filled in any number of times, from several threads."""

    file: str
    nodes: tuple[Node, ...]
    uses: frozenset[str]
    """The prompt's variables it mentions, in any branch."""

    def render(self, values: Mapping[str, Value]) -> str:
        """The text with ``values`` filled in.

        Raises:
            PromptError: a function cannot be applied to a value, or a value is missing.
        """
        return "".join(_Filling(self.file, values).texts(self.nodes))


@dataclass(frozen=True, slots=True)
class _Filling:
    """One rendering: the values, the template's own variables so far, and the dot."""

    file: str
    values: Mapping[str, Value]
    slots: dict[int, Value] = field(default_factory=dict)
    dot: Value = ""

    def texts(self, nodes: tuple[Node, ...]) -> Iterable[str]:
        for node in nodes:
            if isinstance(node, str):
                yield node
            elif isinstance(node, Output):
                yield self.printed(node)
            elif isinstance(node, Quiet):
                self.value(node.value)
            else:
                yield from self.taken(node)

    def printed(self, node: Output) -> str:
        value = self.value(node.value)
        try:
            return shown(value)
        except ValueError as error:  # a number of more digits than Python will print
            raise PromptError(f"{self.file}:{node.line}: {error}") from error

    def taken(self, branch: Branch) -> Iterable[str]:
        for condition, body in branch.arms:
            value = self.value(condition)
            if truth(value):
                inner = replace(self, dot=value) if branch.sets_dot else self
                yield from inner.texts(body)
                return
        yield from self.texts(branch.otherwise)

    def value(self, of: Expression) -> Value:
        if isinstance(of, Literal):
            return of.value
        if isinstance(of, Field):
            if of.name not in self.values:
                raise PromptError(f"{self.file}: no value was given for .{of.name}")
            return self.values[of.name]
        if isinstance(of, Dot):
            return self.dot
        if isinstance(of, Slot):
            return self.slots[of.number]
        if isinstance(of, Assign):
            self.slots[of.number] = self.value(of.value)
            return self.slots[of.number]
        return self.called(of)

    def called(self, call: Call) -> Value:
        if call.name in LAZY:
            for argument in call.arguments:
                value = self.value(argument)
                if truth(value) == (call.name == "or"):
                    break
            return value
        arguments = [self.value(one) for one in call.arguments]
        try:
            return FUNCTIONS[call.name].call(*arguments)
        except ValueError as error:
            raise PromptError(f"{self.file}:{call.line}: {error}") from error
