"""A batch at work: one summary after the other, or those of a depth side by side.

Only the thread that started a run reads the store, judges and writes; the others wait for the model, and hold nothing.
In turn (``jobs`` 1) the order of requests, and what each one sees, is lcm-tui's. Side by side, summaries of one depth
see the texts their neighbours had before the batch, since nobody knows which of them will be done first.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from lcm_lab.analysis.health import markers
from lcm_lab.errors import LcmLabError, ModelError, StalePlan, UsageError
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, journal, stale
from lcm_lab.repairs.batch import Batch, Progress, Proposal, obstacle
from lcm_lab.repairs.gather import Material
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.repairs.steps import Step
from lcm_lab.store import lineage
from lcm_lab.summarizer.seam import Draft, Request, Summarizer

FAILURES_IN_A_ROW: Final = 5
"""After so many requests in a row without an answer that can be used, the rest is not tried."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A step with all that its request was made of."""

    step: Step
    material: Material
    request: Request


class Run:
    """One pass over a batch. ``write`` is false for a preview; ``cancelled`` stops it between two items."""

    def __init__(
        self,
        batch: Batch,
        *,
        write: bool,
        confirm: Callable[[Proposal], bool] | None = None,
        progress: Progress | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._batch = batch
        self._write = write
        self._confirm = confirm
        self._progress = progress
        self._cancelled = cancelled or threading.Event()
        self._outcomes: dict[str, Outcome] = {}
        self._texts: dict[str, str] = {}
        self._failures = 0
        self._stopped: str | None = None
        self._writing: Outcome | None = None
        self._session = backups.Session(batch.store, "never")

    def all(self, *, jobs: int, backup: str) -> BatchResult:
        """Work through the batch.

        Raises:
            UsageError: ``jobs`` is below 1. LcmLabError: nothing could be written, see :meth:`Session.must_work`;
                nothing was sent.
        """
        if jobs < 1:
            raise UsageError(f"At least one job is needed, not {jobs}.")
        self._session = backups.Session(self._batch.store, backup)
        if self._write and self._batch.steps:
            self._session.must_work()
        try:
            if jobs == 1:
                self._in_turn(self._batch.steps)
            else:
                self._side_by_side(jobs)
        except KeyboardInterrupt:
            self._cancelled.set()
            self._stopped = "it was interrupted"
            self._look_after_writing()
        return self._result()

    def _in_turn(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if not self._goes_on():
                return
            asked = self._ask(step, self._texts)
            if asked is None:
                continue
            try:
                draft: Draft | LcmLabError = self._summarizer.complete(asked.request)
            except ModelError as error:
                draft = error
            self._take(asked, draft)

    def _side_by_side(self, jobs: int) -> None:
        for level in self._levels():
            # What this level's neighbours said before the batch.
            before = dict(self._texts)
            self._level(jobs, level, before)

    def _level(self, jobs: int, level: Sequence[Step], before: dict[str, str]) -> None:
        waiting = iter(level)
        flying: dict[Future[Draft], _Asked] = {}
        while True:
            while len(flying) < jobs and self._goes_on():
                step = next(waiting, None)
                if step is None:
                    break
                asked = self._ask(step, before)
                if asked is not None:
                    flying[_sent(self._summarizer, asked.request)] = asked
            if not flying:
                return
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                asked = flying.pop(future)
                if self._write:
                    before.setdefault(asked.step.summary_id, _old(asked))
                error = future.exception()
                if error is not None and not isinstance(error, ModelError):
                    raise error
                self._take(asked, error if isinstance(error, ModelError) else future.result())

    def _levels(self) -> Iterator[list[Step]]:
        """Steps of equal depth that follow each other, none of them a source of another."""
        ids = [one.summary_id for one in self._batch.steps]
        sources = self._batch.store.read(lambda reader: lineage.sources_of(reader, ids))
        level: dict[str, Step] = {}
        for step in self._batch.steps:
            # Depths may be wrong: what a step is made from has to be done before it is asked.
            waits = any(one in level for one in sources.get(step.summary_id, ()))
            if level and (waits or _rank(next(iter(level.values()))) != _rank(step)):
                yield list(level.values())
                level = {}
            level[step.summary_id] = step
        if level:
            yield list(level.values())

    def _ask(self, step: Step, texts: dict[str, str]) -> _Asked | None:
        """What to send for a step; None where nothing is, and the outcome says why."""
        try:
            material = self._batch.material(step, texts)
            request = self._batch.request(material)
        except LcmLabError as error:
            self._end(step, Outcome(step.summary_id, step.conversation_id, "failed", str(error), step.chosen.tokens))
            return None
        if self._batch.options.strict and markers.broken_kind(material.old_content, material.model) is None:
            reason = "it is not broken any more: another program has written it anew"
            self._end(step, Outcome(step.summary_id, step.conversation_id, "skipped", reason, material.old_tokens or 0))
            return None
        problem = obstacle(self._batch, material, request)
        if problem is None:
            return _Asked(step, material, request)
        reason = f"cannot be written anew: {problem}"
        self._end(step, Outcome(step.summary_id, step.conversation_id, "failed", reason, step.chosen.tokens))
        return None

    def _take(self, asked: _Asked, draft: Draft | LcmLabError) -> None:
        step = asked.step
        outcome = Outcome(step.summary_id, step.conversation_id, "failed", tokens_before=step.chosen.tokens)
        if isinstance(draft, LcmLabError):
            self._failures += 1
            # Requests that were under way when it stopped end here, too; the first reason stands.
            if isinstance(draft, ModelError) and draft.fatal:
                self._stopped = self._stopped or str(draft)
            elif self._failures >= FAILURES_IN_A_ROW:
                self._stopped = self._stopped or f"{self._failures} requests in a row failed"
            self._end(step, replace(outcome, reason=str(draft)))
            return
        self._failures = 0
        try:
            proposal = self._batch.proposal(step, asked.material, asked.request, draft)
        except LcmLabError as error:
            self._end(step, replace(outcome, reason=str(error), draft=draft))
            return
        self._end(step, self._judged(proposal, outcome))

    def _judged(self, proposal: Proposal, outcome: Outcome) -> Outcome:
        judged = proposal.verdict
        outcome = replace(
            outcome,
            draft=proposal.draft,
            verdict=judged,
            notes=judged.notes,
            tokens_after=judged.tokens,
            plan=proposal.plan,
        )
        reasons = " ".join(judged.reasons)
        if proposal.plan is None:
            return replace(outcome, reason=f"the reply was refused: {reasons}")
        if not self._write:
            self._texts[outcome.summary_id] = proposal.draft.text.strip()
            return replace(outcome, status="drafted", reason=reasons)
        if judged.level == "confirm" and not (self._confirm and self._confirm(proposal)):
            return replace(outcome, status="skipped", reason=f"the reply needs a look before it is written: {reasons}")
        self._writing = outcome
        try:
            done = writer.apply(self._batch.store, proposal.plan, session=self._session)
        except LcmLabError as error:
            self._writing = None
            if not isinstance(error, StalePlan):
                self._stopped = self._stopped or str(error)
            return replace(outcome, reason=str(error))
        self._writing = None
        return replace(
            outcome,
            status="applied",
            journal_id=done.journal_id,
            notes=(*outcome.notes, *done.notes),
            locked_seconds=done.locked_seconds,
        )

    def _look_after_writing(self) -> None:
        """The outcome of a write that an interruption fell into: the journal knows whether it was made."""
        one, store = self._writing, self._batch.store
        if one is None or one.plan is None:
            return
        with suppress(LcmLabError):
            writer.settle(store)
            made = [entry for entry in journal.read(store).undoable() if entry.plan_id == one.plan.plan_id]
            if made:
                self._outcomes[one.summary_id] = replace(one, status="applied", journal_id=made[0].journal_id)

    def _end(self, step: Step, outcome: Outcome) -> None:
        self._outcomes[step.summary_id] = outcome
        if self._progress is not None:
            self._progress(outcome, len(self._outcomes), len(self._batch.steps))

    def _goes_on(self) -> bool:
        if self._stopped is None and self._cancelled.is_set():
            self._stopped = "it was cancelled"
        return self._stopped is None

    @property
    def _summarizer(self) -> Summarizer:
        if self._batch.summarizer is None:
            raise UsageError("There is nobody to ask.")
        return self._batch.summarizer

    def _result(self) -> BatchResult:
        items = [
            self._outcomes.get(one.summary_id)
            or Outcome(
                one.summary_id,
                one.conversation_id,
                "skipped",
                f"not tried: {self._stopped}",
                tokens_before=one.chosen.tokens,
            )
            for one in self._batch.steps
        ]
        written = [one.summary_id for one in items if one.status == "applied"]
        return BatchResult(
            operation=self._batch.operation,
            batch=self._batch.batch_id,
            applied=self._write,
            items=tuple(items),
            store=str(self._batch.store.given),
            backup=str(self._session.saved) if written and self._session.saved else None,
            stale=stale.after(self._batch.store, written) if written else (),
            stopped=self._stopped,
            notes=(self._batch.note,) if self._batch.note else (),
        )


def _sent(summarizer: Summarizer, request: Request) -> "Future[Draft]":
    """A request on its way, in a thread that nobody has to wait for: a silent server does not hold up Ctrl-C."""
    future: Future[Draft] = Future()

    def ask() -> None:
        try:
            future.set_result(summarizer.complete(request))
        except BaseException as error:  # noqa: BLE001  (raised where the future is asked)
            future.set_exception(error)

    threading.Thread(target=ask, name="lcm-lab", daemon=True).start()
    return future


def _old(asked: _Asked) -> str:
    """What a summary said before the batch, for its neighbours; of a broken one only that it was broken."""
    return asked.material.old_content if asked.step.chosen.marker is None else markers.FALLBACK


def _rank(step: Step) -> tuple[int, str]:
    return step.conversation_id, step.chosen.label
