"""Where the tokens of one conversation go, in its context and in its store.

The invariant: each context item is counted once, classes add up to the total exactly, and numbers of the context and of
the store never mix. Every budget carries the rule behind its numbers, its zone, and what the numbers leave out.
Checked by ``tests/analysis/test_assembly.py``.
"""

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lcm_lab import tokens
from lcm_lab.analysis.context import Context, Item

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure

LEAVES_OUT: Final = "the system prompt, tool schemas, injected files and what the provider adds to each message"
WRAPPER: Final = "XML wrapper"
_ORDER: Final = (
    "focus brief",
    "fresh tail: user",
    "fresh tail: assistant",
    "fresh tail: system",
    "older: user",
    "older: assistant",
    "older: system",
    "tool input",
    "tool output",
    "reasoning",
    "files",
    "heartbeat",
    WRAPPER,
)


@dataclass(frozen=True, slots=True)
class Line:
    """One class of tokens: how many, on how many items (an item may count in several classes)."""

    group: str
    tokens: int
    items: int


@dataclass(frozen=True, slots=True)
class Budget:
    """What the model sees in the next turn, by class.

    ``lines`` add up to ``total``; ``dropped`` are the items that assembly would leave out, not in the total.
    ``redundant_tokens`` are in the total: items sent although a summary that is sent covers them.
    ``stored_messages`` and ``stored_tokens`` are the whole conversation on disk.
    """

    conversation_id: int
    lines: tuple[Line, ...]
    total: int
    window: int | None
    compact_at: float
    fresh_tail: int
    items: int
    dropped: tuple[Item, ...]
    redundant: tuple[Item, ...]
    re_estimated: int
    stored_messages: int
    stored_tokens: int
    estimator: str
    zone: str
    noise_left_out: int = 0
    leaves_out: str = LEAVES_OUT

    def figure(self) -> "Figure":
        """Bars by class, with the budget line."""
        from lcm_lab.analysis.draw.budget_figures import budget_bars

        return budget_bars(self)

    def treemap(self) -> "Figure":
        """The same as areas."""
        from lcm_lab.analysis.draw.budget_figures import budget_treemap

        return budget_treemap(self)

    @property
    def percent(self) -> int | None:
        """The total as a percentage of the window; None where no window is set."""
        return tokens.percent_of(self.total, self.window)

    @property
    def compaction_line(self) -> int | None:
        """Tokens at which the plugin would compact; None where no window is set."""
        return int(self.window * self.compact_at) if self.window else None

    @property
    def redundant_tokens(self) -> int:
        """Tokens of the redundant items, wrappers included."""
        return sum(item.tokens + item.wrapper_tokens for item in self.redundant)

    @property
    def verdict(self) -> str:
        """The budget line in words."""
        if self.window is None or self.compaction_line is None:
            return "no budget set"
        said = f"{self.percent} % of {self.window:,} tokens"
        if self.total > self.window:
            return f"{said}: over the window"
        if self.total > self.compaction_line:
            return f"{said}: over the compaction line at {self.compaction_line:,}"
        return f"{said}: {self.compaction_line - self.total:,} below the compaction line at {self.compaction_line:,}"

    @property
    def level(self) -> str:
        """``none``, ``ok``, ``warning`` (over the compaction line) or ``over`` (over the window)."""
        if self.window is None or self.compaction_line is None:
            return "none"
        return "over" if self.total > self.window else "warning" if self.total > self.compaction_line else "ok"


def budget(context: Context, *, stored_messages: int, stored_tokens: int, with_noise: bool = True) -> Budget:
    """The budget of an assembled context. ``with_noise=False`` leaves heartbeats out of lines and total."""
    sent = [item for item in context.sent if with_noise or not item.noise]
    by_group: Counter[str] = Counter()
    touched: Counter[str] = Counter()
    for item in sent:
        for piece in item.pieces:
            by_group[piece.group] += piece.tokens
            touched[piece.group] += 1
        if item.wrapper_tokens:
            by_group[WRAPPER] += item.wrapper_tokens
            touched[WRAPPER] += 1
    lines = tuple(Line(group, by_group[group], touched[group]) for group in sorted(by_group, key=_rank))
    sent_ids = {item.item_id for item in sent}
    return Budget(
        conversation_id=context.conversation_id,
        lines=lines,
        total=sum(line.tokens for line in lines),
        window=context.window,
        compact_at=context.compact_at,
        fresh_tail=context.fresh_tail,
        items=len(sent),
        dropped=tuple(item for item in context.items if item.dropped),
        redundant=tuple(item for item in sent if any(root in sent_ids for root in item.covered_by)),
        re_estimated=sum(item.rule == "estimated" for item in sent),
        stored_messages=stored_messages,
        stored_tokens=stored_tokens,
        estimator=tokens.STORED_OR_PLUGIN,
        zone=context.zone,
        noise_left_out=len(context.sent) - len(sent),
    )


def _rank(group: str) -> tuple[int, int, str]:
    """Summaries first, deepest first; then the fixed order; then anything else by name."""
    if group.startswith("summaries "):
        label = group.removeprefix("summaries ")
        return (0, -int(label[1:]) if label[1:].isdigit() else 0, group)
    return (1, _ORDER.index(group) if group in _ORDER else len(_ORDER), group)
