"""What became of a batch, item by item."""

from dataclasses import dataclass
from typing import Literal

from lcm_lab.repairs.plan import Plan
from lcm_lab.repairs.verdict import Verdict
from lcm_lab.summarizer.seam import Draft

Status = Literal["planned", "drafted", "applied", "skipped", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item.

    ``status`` is ``applied``, ``skipped`` (left as it is on purpose), ``failed``, ``drafted`` (in a preview) or
    ``planned``; ``reason`` says why where it was not applied. ``tokens_after`` is None where there is no new text;
    ``plan`` and ``draft`` hold the new text where there is one, also when it was not written.
    """

    summary_id: str
    conversation_id: int
    status: Status
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int | None = None
    journal_id: str | None = None
    notes: tuple[str, ...] = ()
    draft: Draft | None = None
    verdict: Verdict | None = None
    plan: Plan | None = None
    locked_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What became of a batch.

    ``store`` is the store's path; ``applied`` is false for a preview; ``stale`` names summaries made from a text that
    was replaced, and not written anew themselves; ``stopped`` says why the rest was not tried.
    """

    operation: str
    batch: str
    applied: bool
    items: tuple[Outcome, ...]
    store: str
    backup: str | None = None
    stale: tuple[str, ...] = ()
    stopped: str | None = None
    notes: tuple[str, ...] = ()

    def count(self, status: Status) -> int:
        """How many items have a status."""
        return sum(one.status == status for one in self.items)

    @property
    def complete(self) -> bool:
        """Whether every item was done."""
        return all(one.status in ("applied", "drafted") for one in self.items)
