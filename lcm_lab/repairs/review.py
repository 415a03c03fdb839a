"""A batch in the hands of a person: one summary after the other, and nothing is written that was not accepted.

The same steps as :mod:`lcm_lab.repairs.running`, stopped between asking and writing: look, ask, propose (again for each
change of the text), apply or skip. Invariants: a review holds no lock and leaves nothing behind, so that it may be
given up anywhere; accepted texts are in the store, and later summaries read them from there; all that is written shares
one backup; a reply that was refused cannot be applied, only another text can. Asking is left to the caller, who may do
it in a thread: nothing else here may run in one. Checked by ``tests/repairs/test_review.py``.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from lcm_lab import tokens
from lcm_lab.errors import LcmLabError, Refused
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, stale
from lcm_lab.repairs.batch import Batch, Proposal, obstacle
from lcm_lab.repairs.journal import Applied
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.repairs.steps import Step
from lcm_lab.summarizer import prices
from lcm_lab.summarizer.seam import Draft, Request

if TYPE_CHECKING:
    from lcm_lab.repairs.gather import Material

BY_HAND = ", edited by hand"
"""What the provider of a draft says more, once a person has changed its text."""


class Review:
    """One pass over a batch. ``material``, ``request`` and ``problem`` are those of the present step.

    ``problem`` says why nothing can be asked for it, None where it can; ``proposal`` is the reply as it reads now, None
    before there is one.
    """

    def __init__(self, batch: Batch, *, backup: str = "auto") -> None:
        self.batch = batch
        self.material: Material | None = None
        self.request: Request | None = None
        self.problem: str | None = None
        self.proposal: Proposal | None = None
        self._session = backups.Session(batch.store, backup)
        self._reply: Draft | None = None
        self._failure: str | None = None
        self._outcomes: dict[str, Outcome] = {}
        self._stopped: str | None = None
        self._at = 0
        self._can_write = False
        self.look()

    @property
    def step(self) -> Step | None:
        """The summary to decide on; None when all is over."""
        if self._stopped is not None or self._at >= self.total:
            return None
        return self.batch.steps[self._at]

    @property
    def number(self) -> int:
        """Which one it is, from 1."""
        return min(self._at + 1, self.total)

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self.batch.steps)

    @property
    def decided(self) -> int:
        """How many were applied or skipped."""
        return len(self._outcomes)

    @property
    def written(self) -> tuple[str, ...]:
        """The journal entries of what was applied and not taken back, oldest first."""
        return tuple(one.journal_id for one in self._outcomes.values() if one.status == "applied" and one.journal_id)

    def look(self) -> None:
        """Read what the present summary is made from, as the store is now; a reply that was there is dropped."""
        self.material = self.request = self.problem = self.proposal = self._reply = self._failure = None
        step = self.step
        if step is None:
            return
        try:
            self.material = self.batch.material(step)
            self.request = self.batch.request(self.material)
        except LcmLabError as error:
            self.problem = str(error)
        else:
            self.problem = obstacle(self.batch, self.material, self.request)

    def ready(self) -> Request:
        """The request to send for the present summary.

        Raises:
            Refused: it cannot be written anew, or there is no room for the backup; nothing was sent.
        """
        if self.request is None or self.problem is not None:
            raise Refused(f"It cannot be written anew: {self.problem or 'there is nothing left to do'}.")
        if not self._can_write:
            self._session.must_work()
        self._can_write = True
        return self.request

    def cost_usd(self, model: str | None) -> float | None:
        """What the request costs by estimate in US dollars; None where no price is known."""
        if self.request is None:
            return None
        found = prices.estimate(model or "", tokens.plugin_tokens(self.request.prompt), self.request.target_tokens)
        return None if found is None else found.usd

    def propose(self, draft: Draft) -> Proposal:
        """The reply, judged; it becomes what :meth:`apply` writes.

        Raises:
            StalePlan: the summary was changed meanwhile.
        """
        if self.step is None or self.material is None or self.request is None:
            raise Refused("There is no summary to propose a text for.")
        self._reply = draft
        return self._propose(draft)

    def edit(self, text: str) -> Proposal:
        """The text as a person changed it, judged anew; the reply as it came where nothing differs from it.

        Raises:
            Refused: there is no reply to edit. StalePlan: the summary was changed meanwhile.
        """
        if self._reply is None:
            raise Refused("There is no reply to edit yet.")
        if text.strip() == self._reply.text.strip():
            return self._propose(self._reply)
        # Whether the reply had come to its end says nothing about a text that a person finished.
        return self._propose(replace(self._reply, text=text, provider=self._reply.provider + BY_HAND, stop_reason=None))

    def again(self) -> Proposal | None:
        """Look at the store anew and judge the present text for what stands there now; None where that cannot be."""
        reply, draft = self._reply, self.proposal.draft if self.proposal else None
        self.look()
        if draft is None or self.material is None:
            return None
        self._reply = reply
        return self._propose(draft)

    def apply(self) -> Applied:
        """Write the proposal and go on to the next summary.

        Raises:
            Refused: there is none, or it may not be written. StalePlan and kin: nothing was changed, nothing moved on.
        """
        proposal = self.proposal
        if proposal is None:
            raise Refused("There is no reply to apply yet.")
        if proposal.plan is None:
            raise Refused(f"The reply was refused: {' '.join(proposal.verdict.reasons)}")
        try:
            done = writer.apply(self.batch.store, proposal.plan, session=self._session)
        except LcmLabError as error:
            self.fail(error)
            raise
        notes = (*proposal.verdict.notes, *done.notes)
        self._decide(replace(self._outcome(), status="applied", reason="", journal_id=done.journal_id, notes=notes))
        return done

    def fail(self, error: Exception) -> None:
        """Note what went wrong, for the case that the summary is skipped."""
        self._failure = str(error)

    def skip(self) -> None:
        """Leave the present summary as it is and go on."""
        if self.step is not None:
            self._decide(self._outcome())

    def stop(self, why: str = "it was given up") -> None:
        """Leave this summary and all that follow as they are."""
        if self.step is not None:
            if self._failure is not None or self.problem is not None:
                self._outcomes[self.step.summary_id] = self._outcome()
            self._stopped = why
            self.look()

    def undone(self, journal_ids: Iterable[str]) -> None:
        """Note that these repairs were taken back."""
        gone = set(journal_ids)
        for key, one in self._outcomes.items():
            if one.journal_id in gone:
                self._outcomes[key] = replace(one, status="skipped", reason="applied and undone", journal_id=None)

    def result(self) -> BatchResult:
        """What became of the batch so far."""
        items = [self._outcomes.get(one.summary_id) or self._untouched(one) for one in self.batch.steps]
        written = [one.summary_id for one in items if one.status == "applied"]
        return BatchResult(
            operation=self.batch.operation,
            batch=self.batch.batch_id,
            applied=True,
            items=tuple(items),
            store=str(self.batch.store.given),
            backup=str(self._session.saved) if written and self._session.saved else None,
            stale=stale.after(self.batch.store, written) if written else (),
            stopped=self._stopped,
            notes=(self.batch.note,) if self.batch.note else (),
        )

    def _propose(self, draft: Draft) -> Proposal:
        step, material, request = self.step, self.material, self.request
        if step is None or material is None or request is None:
            raise Refused("There is no summary to propose a text for.")
        try:
            self.proposal = self.batch.proposal(step, material, request, draft)
        except LcmLabError as error:
            self.fail(error)
            raise
        self._failure = None
        return self.proposal

    def _outcome(self) -> Outcome:
        """What is to be said of the present summary if nothing is written."""
        step, proposal = self.batch.steps[self._at], self.proposal
        reason = self._failure or (f"cannot be written anew: {self.problem}" if self.problem else None)
        judged = proposal.verdict if proposal else None
        if reason is None and judged is not None and judged.level == "refuse":
            reason = f"the reply was refused: {' '.join(judged.reasons)}"
        return Outcome(
            step.summary_id,
            step.conversation_id,
            "failed" if reason else "skipped",
            reason or ("" if judged and judged.level != "good" else "left as it is"),
            step.chosen.tokens,
            judged.tokens if judged else None,
            draft=proposal.draft if proposal else None,
            verdict=judged,
            plan=proposal.plan if proposal else None,
        )

    def _untouched(self, step: Step) -> Outcome:
        status = "planned" if self._stopped is None else "skipped"
        why = "" if self._stopped is None else f"not tried: {self._stopped}"
        return Outcome(step.summary_id, step.conversation_id, status, why, step.chosen.tokens)  # type: ignore[arg-type]

    def _decide(self, outcome: Outcome) -> None:
        self._outcomes[outcome.summary_id] = outcome
        self._at += 1
        self.look()


def chosen(batch: Batch, summary_ids: Iterable[str]) -> Batch:
    """The batch with these of its summaries alone, in its own order; the estimate of the cost follows."""
    wanted = set(summary_ids)
    steps = tuple(one for one in batch.steps if one.summary_id in wanted)
    costs = [
        prices.estimate(batch.model or "", one.input_tokens, one.target_tokens) for one in steps if not one.problem
    ]
    known = [one.usd for one in costs if one is not None]
    return replace(batch, steps=steps, cost_usd=sum(known) if len(known) == len(costs) else None)
