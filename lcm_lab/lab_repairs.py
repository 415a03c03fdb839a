"""What a Lab can change: each operation gives a plan or a batch of plans, and only their ``apply`` writes.

Making a plan reads the store and sends nothing. See :mod:`lcm_lab.repairs.apply` for what applying one means.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lcm_lab import times
from lcm_lab.errors import NotFound
from lcm_lab.store.connect import StoreFile

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.repairs.backups import Restored
    from lcm_lab.repairs.batch import Batch, Operation
    from lcm_lab.repairs.journal import Applied, Journal
    from lcm_lab.repairs.plan import Plan
    from lcm_lab.repairs.results import BatchResult
    from lcm_lab.repairs.selecting import Selection
    from lcm_lab.repairs.steps import Step
    from lcm_lab.repairs.undo import Undone, UndoPlan
    from lcm_lab.store.copies import Copy
    from lcm_lab.summarizer.chosen import Chosen


class Repairing:
    """The repairs of a store; the other half of a Lab.

    Raises (all methods): NotFound for an id that is not there, Refused where something of the user's would be lost,
    StoreError and its kin where the store cannot be read or written.
    """

    store: StoreFile
    zone: times.Zone

    @property
    def state_dir(self) -> Path:
        """The OpenClaw state folder: the one the store lies in. A copy elsewhere has no agents beside it."""
        return self.store.path.parent

    def rehearsal(self) -> "Lab":
        """A Lab on a copy of the store in a temporary folder of its own, to try repairs on; nothing real is touched.

        The folder, with the copy's backups and journal, is deleted when Python ends. No agents lie beside the copy.
        """
        import atexit
        import shutil
        import tempfile

        from lcm_lab.lab import Lab
        from lcm_lab.store import copies

        folder = Path(tempfile.mkdtemp(prefix="lcm-lab-rehearsal-"))
        # A handler, not a finalizer: plans and batches hold the store, and the Lab may be gone before them.
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return Lab(StoreFile(copies.aside(self.store, folder)), self.zone, chosen_by="lab.rehearsal()")

    def dissolve(
        self,
        conversation_id: int,
        summary_id: str,
        *,
        purge: bool = True,
        splice: bool = False,
        window: int | None = None,
    ) -> "Plan":
        """The plan that puts a condensed summary's sources back into the context in its place.

        ``purge`` deletes the summary as well, ``splice`` hands its sources to what was made from it; ``window`` is the
        model's, in tokens, for a warning.
        """
        from lcm_lab.repairs import dissolve

        options = dissolve.Options(purge=purge, splice=splice, window=window)
        return self._bound(
            self.store.read(
                lambda reader: dissolve.plan(reader, conversation_id, summary_id, zone=self.zone, options=options)
            )
        )

    def transplant(
        self,
        source_id: int,
        target_id: int,
        *,
        order: str = "depth",
        summary_ids: Sequence[str] = (),
        skip_duplicates: bool = False,
        window: int | None = None,
    ) -> "Plan":
        """The plan that copies the summaries of one conversation, with all they rest on, into another.

        ``order`` is ``depth`` (deepest summaries first) or ``source`` (put in front as they stand); ``summary_ids``
        takes these with what they were made from instead of all in context.
        """
        from lcm_lab.repairs import transplant

        options = transplant.Options(
            order=order, summary_ids=tuple(summary_ids), skip_duplicates=skip_duplicates, window=window
        )
        return self._bound(
            self.store.read(
                lambda reader: transplant.plan(reader, source_id, target_id, zone=self.zone, options=options)
            )
        )

    def rewrite(
        self,
        conversation_id: int,
        summary_id: str | None = None,
        *,
        depth: int | None = None,
        everything: bool = False,
        subtree: str | None = None,
        **options: Any,
    ) -> "Batch":
        """The batch that writes summaries anew: one, those of a depth, all, or one with all it was made from.

        ``options``: ``timestamps`` (in the source text, on by default), ``prompt_dir`` (templates of your own),
        ``model`` (for the estimate of the cost), ``resume`` (an earlier batch to go on with).
        """
        from lcm_lab.repairs import selecting

        selection = self.store.read(
            lambda reader: selecting.for_rewrite(
                reader, conversation_id, summary_id=summary_id, depth=depth, everything=everything, subtree=subtree
            )
        )
        return self._batch("rewrite", selection, **options)

    def repair(
        self,
        conversation_id: int | None = None,
        summary_id: str | None = None,
        *,
        operation: "Operation" = "repair",
        **options: Any,
    ) -> "Batch":
        """The batch that writes broken summaries anew: of a conversation, of the store without one, or one of them.

        ``options`` as for :meth:`rewrite`, without ``resume``: what was repaired is not found again.
        """
        from lcm_lab.repairs import selecting

        selection = self.store.read(lambda reader: selecting.broken(reader, conversation_id, summary_id))
        return self._batch(operation, selection, **options)

    def doctor(self, conversation_id: int | None = None, summary_id: str | None = None, **options: Any) -> "Batch":
        """As :meth:`repair`, by the cheaper model that ``lcm-lab doctor`` takes."""
        options.setdefault("model", self.model(doctor=True))
        return self.repair(conversation_id, summary_id, operation="doctor", **options)

    def summarizer(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        doctor: bool = False,
        **options: Any,
    ) -> "Chosen":
        """Whoever the settings of this machine name to write summaries; nothing is sent yet.

        ``options`` are those of :func:`lcm_lab.summarizer.chosen.choose`: patience, on_wait, cancelled.

        Raises:
            NoCredentials: no key was found. ModelRefused: provider, model or address make no sense.
        """
        from lcm_lab.summarizer.chosen import choose

        return choose(
            provider=provider,
            model=model,
            base_url=base_url,
            env=dict(os.environ),
            state_dir=self.state_dir,
            doctor=doctor,
            **options,
        )

    def model(
        self,
        provider: str | None = None,
        model: str | None = None,
        base_url: str | None = None,
        *,
        doctor: bool = False,
    ) -> str | None:
        """The model that would be asked; None where the settings name none that could be."""
        from lcm_lab.errors import LcmLabError
        from lcm_lab.summarizer.provider import resolve

        try:
            return resolve(
                provider=provider,
                model=model,
                base_url=base_url,
                env=dict(os.environ),
                state_dir=self.state_dir,
                doctor=doctor,
            ).model
        except LcmLabError:
            return model

    def apply(self, plan: "Plan | str | Path", *, backup: str = "auto") -> "Applied | BatchResult":
        """Make a repair: a plan, or what a file holds that :meth:`Plan.save` or ``--json`` wrote."""
        from lcm_lab.repairs import filed
        from lcm_lab.repairs.plan import Plan

        if isinstance(plan, Plan):
            return plan.on(self.store).apply(backup=backup)
        return filed.apply(self.store, plan, backup=backup)

    def undo(self, name: str | None = None, *, backup: str = "auto") -> "Undone":
        """Take back the last repair, or the plan, batch or journal entry ``name``."""
        return self.undo_plan(name).apply(backup=backup)

    def undo_plan(self, name: str | None = None) -> "UndoPlan":
        """What :meth:`undo` would take back."""
        from lcm_lab.repairs import undo

        return undo.planned(self.store, name)

    def history(self) -> "Journal":
        """The repairs made to this store."""
        from lcm_lab.repairs import journal

        return journal.read(self.store)

    def stale(self, conversation_id: int | None = None) -> tuple[str, ...]:
        """Summaries made from a text that was replaced since, as far as the journal knows."""
        from lcm_lab.repairs import stale

        kept = self.history()
        return self.store.read(lambda reader: stale.known(reader, kept, conversation_id))

    def backup(self) -> "Copy":
        """Make a backup now; the newest five are kept."""
        from lcm_lab.repairs import backups

        return backups.make(self.store)

    def backups(self) -> list[Path]:
        """The backups beside the store, the newest first."""
        from lcm_lab.store import copies

        return copies.backups(self.store)

    def restore(self, backup: str | Path | None = None) -> "Restored":
        """Put a backup (the newest without a name) in the place of the store, and keep what is there as a backup."""
        from lcm_lab.repairs import backups

        return backups.restore(self.store, backup)

    def _bound(self, plan: "Plan") -> "Plan":
        return replace(plan, store=self.store, store_path=str(self.store.path))

    def _batch(
        self,
        operation: "Operation",
        selection: "Selection",
        *,
        timestamps: bool = True,
        prompt_dir: str | None = None,
        model: str | None = None,
        resume: str | None = None,
    ) -> "Batch":
        from lcm_lab.repairs import steps
        from lcm_lab.repairs.batch import Batch, Options
        from lcm_lab.repairs.plan import new_id

        done = self._done(resume)
        left = replace(selection, rows=tuple(one for one in selection.rows if one.summary_id not in done))
        found = self.store.read(lambda reader: steps.steps(reader, left, self.zone))
        model = model or self.model()
        return Batch(
            operation=operation,
            batch_id=resume or new_id("b"),
            store=self.store,
            zone=self.zone,
            steps=found,
            options=Options(timestamps=timestamps, prompt_dir=prompt_dir, strict=operation != "rewrite"),
            note=selection.note,
            model=model,
            cost_usd=_cost(model, found),
            skipped=tuple(one for one in selection.ids if one in done),
        )

    def _done(self, batch: str | None) -> set[str]:
        if batch is None:
            return set()
        from lcm_lab.repairs import apply

        kept = self.history()
        if kept.open_ends():
            apply.settle(self.store)
            kept = self.history()
        if not any(one.batch == batch for one in kept.entries):
            raise NotFound(
                f"There is no batch {batch} in {kept.path.name}; 'lcm-lab undo --list' shows those there are."
            )
        return {one.subject for one in kept.undoable() if one.batch == batch}


def _cost(model: str | None, steps: "Iterable[Step]") -> float | None:
    """What the requests of a batch cost in US dollars; None where there is no price for the model."""
    from lcm_lab.summarizer.prices import estimate

    total = 0.0
    for one in steps:
        cost = estimate(model or "", one.input_tokens, one.target_tokens)
        if cost is None:
            return None
        total += cost.usd if one.problem is None else 0.0
    return total
