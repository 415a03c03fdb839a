"""The work of a batch before any model was asked: which summaries, how much text, what cannot be done.

Sizes come from the stored numbers, so that a plan over hundreds of summaries takes one look at the store and reads no
text; only where a source is missing is a summary looked at in full, to say why. Checked by
``tests/repairs/test_batch.py``.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lcm_lab import times
from lcm_lab.repairs.gather import CONDENSED_TARGET, gather, leaf_target
from lcm_lab.repairs.selecting import Chosen, Selection
from lcm_lab.store.connect import Reader

PROMPT_TOKENS: Final = 700
"""What a template adds to the source text, about."""


@dataclass(frozen=True, slots=True)
class Step:
    """One summary to be written anew: ``chosen`` as it is, and what it will take.

    ``source_tokens`` (None: unknown) and ``target_tokens`` are estimates from stored numbers; ``problem`` says why it
    cannot be done, None where it can.
    """

    chosen: Chosen
    source_tokens: int | None
    target_tokens: int
    problem: str | None = None

    @property
    def summary_id(self) -> str:
        """The summary's id."""
        return self.chosen.summary_id

    @property
    def conversation_id(self) -> int:
        """The conversation it belongs to."""
        return self.chosen.conversation_id

    @property
    def input_tokens(self) -> int:
        """About how many tokens its request sends."""
        return (self.source_tokens or 0) + PROMPT_TOKENS + self.target_tokens // 2


@dataclass(frozen=True, slots=True)
class Totals:
    """What a batch will take: requests, and tokens by estimate; how many there are of each mark and each depth."""

    requests: int
    impossible: int
    input_tokens: int
    output_tokens: int
    by_mark: tuple[tuple[str, int], ...]
    by_depth: tuple[tuple[str, int], ...]


def steps(reader: Reader, selection: Selection, zone: times.Zone) -> tuple[Step, ...]:
    """The steps of a selection, in its order."""
    return tuple(_step(reader, one, zone) for one in selection.rows)


def totals(found: Iterable[Step]) -> Totals:
    """The sums over steps."""
    found = list(found)
    possible = [one for one in found if one.problem is None]
    return Totals(
        requests=len(possible),
        impossible=len(found) - len(possible),
        input_tokens=sum(one.input_tokens for one in possible),
        output_tokens=sum(one.target_tokens for one in possible),
        by_mark=tuple(Counter(one.chosen.marker.label for one in found if one.chosen.marker).items()),
        by_depth=tuple(Counter(one.chosen.label for one in found).items()),
    )


def _step(reader: Reader, one: Chosen, zone: times.Zone) -> Step:
    size = one.node.source_tokens
    if one.sources and size is not None:
        return Step(one, size, leaf_target(size) if one.is_leaf else CONDENSED_TARGET)
    material = gather(reader, one.conversation_id, one.summary_id, zone=zone)
    return Step(one, material.source_tokens, material.target_tokens, material.problem)
