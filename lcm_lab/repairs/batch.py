"""Many summaries to be written anew, one plan each: rewrite, repair and doctor are batches.

Gather, draft, judge, plan, apply: for each summary in turn, sources before what was made from them. Invariants: nothing
is sent before :meth:`Batch.preview` or :meth:`Batch.apply`; the model never holds the store's lock; each summary is as
it was or as its plan says, and the journal knows which; a failed one stops no other that does not rest on it. A review
takes the same steps one by one: :meth:`Batch.request`, :meth:`Batch.proposal`, ``plan.apply()``. Checked by
``tests/repairs/test_batch.py``.
"""

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

from lcm_lab import times, tokens
from lcm_lab.errors import StalePlan, UsageError
from lcm_lab.repairs import verdict as verdicts
from lcm_lab.repairs.edits import SetText, TextState
from lcm_lab.repairs.gather import Material, gather
from lcm_lab.repairs.journal import now
from lcm_lab.repairs.plan import Plan, maker, new_id
from lcm_lab.repairs.steps import Step, Totals, totals
from lcm_lab.repairs.verdict import Verdict
from lcm_lab.store import images
from lcm_lab.store.connect import Reader, StoreFile
from lcm_lab.store.images import RawText
from lcm_lab.summarizer import prompting
from lcm_lab.summarizer.seam import Draft, Request, Summarizer

if TYPE_CHECKING:
    from lcm_lab.repairs.results import BatchResult, Outcome

Operation = Literal["rewrite", "repair", "doctor"]
Progress = Callable[["Outcome", int, int], None]
"""Called after each item with what became of it, how many are done, and how many there are."""

MODEL_LIMIT: Final = 1_000_000
"""Tokens of a prompt that no model takes; longer ones are not sent."""

_HALF: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Options:
    """``timestamps`` in the source text, ``prompt_dir`` with own templates; ``strict`` judges as repair does."""

    timestamps: bool = True
    prompt_dir: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """A reply to one step, judged, with the plan that would write it (None where it must not be written)."""

    step: Step
    material: Material
    request: Request
    draft: Draft
    verdict: Verdict
    plan: Plan | None


@dataclass(frozen=True, slots=True)
class Batch:
    """The plan of a batch. ``note`` says why there is nothing to do where ``steps`` is empty.

    ``model`` and ``cost_usd`` (None: no price known) are for the estimate; ``described`` says who would be asked.
    """

    operation: Operation
    batch_id: str
    store: StoreFile
    zone: times.Zone
    steps: tuple[Step, ...]
    options: Options
    note: str | None = None
    summarizer: Summarizer | None = field(default=None, compare=False, repr=False)
    model: str | None = None
    cost_usd: float | None = None
    skipped: tuple[str, ...] = ()

    @property
    def totals(self) -> Totals:
        """What the batch will take."""
        return totals(self.steps)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is strange about the prompts that will be used.

        Raises:
            PromptError: one of them cannot be used.
        """
        names = dict.fromkeys(prompting.for_depth(0 if one.chosen.is_leaf else one.chosen.depth) for one in self.steps)
        found = [prompting.find(name, self.options.prompt_dir) for name in names]
        return tuple(f"{one.path or one.name}: {said}" for one in found for said in one.warnings)

    def nothing(self, *, applied: bool) -> "BatchResult":
        """The result of a batch without steps; ``applied`` as in every result."""
        from lcm_lab.repairs.results import BatchResult

        notes = (self.note,) if self.note else ()
        return BatchResult(
            self.operation, self.batch_id, applied=applied, items=(), store=str(self.store.given), notes=notes
        )

    def by(self, summarizer: Summarizer) -> "Batch":
        """The same batch, its texts written by ``summarizer``."""
        return replace(self, summarizer=summarizer)

    def apply(
        self,
        summarizer: Summarizer | None = None,
        *,
        jobs: int = 1,
        backup: str = "auto",
        confirm: Callable[[Proposal], bool] | None = None,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
    ) -> "BatchResult":
        """Ask the model and write, summary by summary; ``confirm`` decides on a doubtful reply (without it: no).

        Raises:
            UsageError: there is no summarizer. StoreError: no backup could be made; nothing was changed.
        """
        from lcm_lab.repairs import running

        run = running.Run(self._with(summarizer), write=True, confirm=confirm, progress=progress, cancelled=cancelled)
        return run.all(jobs=jobs, backup=backup)

    def preview(
        self,
        summarizer: Summarizer | None = None,
        *,
        jobs: int = 1,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
    ) -> "BatchResult":
        """Ask the model and write nothing; later summaries read the drafts of earlier ones, as they would applied."""
        from lcm_lab.repairs import running

        run = running.Run(self._with(summarizer), write=False, progress=progress, cancelled=cancelled)
        return run.all(jobs=jobs, backup="never")

    def material(self, step: Step, drafts: Mapping[str, str] | None = None) -> Material:
        """What a step's summary is made from, as the store reads now; ``drafts`` stand in for stored texts."""
        return self.store.read(lambda reader: self._gather(reader, step, drafts or {}))

    def request(self, material: Material) -> Request:
        """The prompt for a step.

        Raises:
            PromptError: the template that counts cannot be used.
        """
        template = prompting.find(prompting.for_depth(material.prompt_depth), self.options.prompt_dir)
        prompt = prompting.render(
            template,
            prompting.Variables(
                target_tokens=material.target_tokens,
                source_text=material.source_text,
                previous_context=material.previous_context or "",
                child_count=material.source_items,
                time_range=material.time_range,
                depth=material.prompt_depth,
            ),
        )
        return Request(prompt, material.target_tokens, material.summary_id)

    def proposal(self, step: Step, material: Material, request: Request, draft: Draft) -> Proposal:
        """A reply judged, with the plan that would write it."""
        draft = replace(draft, text=_storable(draft.text))
        judged = verdicts.judge(
            draft,
            material,
            strict=self.options.strict,
            footer_expected=prompting.asks_for_footer(request.prompt),
        )
        said = (*judged.reasons, *judged.notes)
        plan = None if judged.level == "refuse" else self.plan(step, material, draft, said)
        return Proposal(step, material, request, draft, judged, plan)

    def plan(self, step: Step, material: Material, draft: Draft, said: tuple[str, ...] = ()) -> Plan:
        """The plan that writes a text in the place of a summary's; ``said`` was said of the text.

        Raises:
            StalePlan: the summary is not what it was when ``material`` was gathered.
        """
        row = self.store.read(lambda reader: images.image(reader, "summaries", step.summary_id))
        if row is None:
            raise StalePlan(f"Summary {step.summary_id} is not there any more.")
        before = _before(row, material)
        text = _storable(draft.text).strip()
        size = tokens.plugin_tokens(text)
        after = TextState(text, size, draft.model if "model" in row else None)
        return Plan(
            plan_id=new_id(),
            operation=self.operation,
            conversation_id=step.conversation_id,
            subject=step.summary_id,
            title=f"{self.operation.capitalize()} {step.summary_id} ({step.chosen.label}) of conversation "
            f"{step.conversation_id}: {step.chosen.tokens:,} -> {size:,} tokens",
            edits=(SetText(step.summary_id, before, after),),
            made_at=now(),
            made_by=maker(),
            why=f"broken: {step.chosen.marker.label}" if step.chosen.marker else f"{self.operation} asked for",
            model=draft.model,
            batch=self.batch_id,
            store_path=str(self.store.path),
            tokens_before=step.chosen.tokens,
            tokens_after=size,
            facts=_facts(material, draft, step),
            warnings=(*said, *_warnings(material)),
            store=self.store,
        )

    def _gather(self, reader: Reader, step: Step, drafts: Mapping[str, str]) -> Material:
        return gather(
            reader,
            step.conversation_id,
            step.summary_id,
            zone=self.zone,
            timestamps=self.options.timestamps,
            drafts=drafts,
        )

    def _with(self, summarizer: Summarizer | None) -> "Batch":
        batch = self if summarizer is None else self.by(summarizer)
        if batch.summarizer is None:
            raise UsageError(
                "There is nobody to ask: give a summarizer, e.g. batch.apply(lab.summarizer()), or one of your own."
            )
        return batch


def obstacle(batch: Batch, material: Material, request: Request) -> str | None:
    """Why nothing is sent for a summary; None where it is."""
    problem = material.problem or too_long(request)
    if problem is None and batch.options.strict and material.broken_sources:
        problem = f"its sources {', '.join(material.broken_sources)} are still broken: repair them first"
    return problem


def too_long(request: Request) -> str | None:
    """Why a request is not sent at all; None where it is."""
    size = tokens.plugin_tokens(request.prompt)
    if size + request.max_tokens <= MODEL_LIMIT:
        return None
    return (
        f"its source needs a prompt of {size:,} tokens, more than any model takes ({MODEL_LIMIT:,}); nothing was sent"
    )


def _before(row: images.Image, material: Material) -> TextState:
    """What a summary says now, which has to be what it said when its new text was asked for."""
    content = row["content"]
    kept = content if isinstance(content, str | bytes) else str(content or "")
    # Bytes that are no text were shown in some form of their own; apply compares them as they are.
    said = kept.decode("utf-8", "replace") if isinstance(kept, RawText) else kept
    if isinstance(said, str) and said != material.old_content:
        raise StalePlan(
            f"Summary {material.summary_id} was changed by another program while its new text was made; what stands "
            "there now was left alone."
        )
    return TextState(kept, row["token_count"], row.get("model"))  # type: ignore[arg-type]


def _storable(text: str) -> str:
    r"""A reply as SQLite can hold it: halves of characters joined, single ones replaced, no NUL.

    >>> _storable("a\ud83d\ude00b\ud83d\0c") == "a\U0001f600b\ufffdc"
    True
    """
    whole = text.replace("\0", "")
    return whole.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALF.search(whole) else whole


def _facts(material: Material, draft: Draft, step: Step) -> tuple[tuple[str, str], ...]:
    previous = f"{material.previous_id}" if material.previous_context else "none"
    return (
        ("target", f"{material.target_tokens:,} tokens"),
        ("made from", f"{material.source_items} {material.source_kind}, {material.source_tokens:,} tokens"),
        ("time range", material.time_range or "unknown"),
        ("previous context", previous),
        ("model", f"{draft.model} ({draft.provider})"),
        ("in context", "no" if step.chosen.ordinal is None else f"yes, ordinal {step.chosen.ordinal}"),
    )


def _warnings(material: Material) -> list[str]:
    said = []
    if material.missing:
        said.append(f"{material.sources_found}; missing: {', '.join(material.missing)}.")
    if material.broken_sources:
        said.append(f"Made from sources that are broken themselves: {', '.join(material.broken_sources)}.")
    return said
