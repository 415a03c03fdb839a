"""Reviewing what a language model writes: one summary or a queue, each seen before it is written.

preview -> Send -> review (compare, edit) -> Apply or Skip, and so on to the end; *Accept all remaining* does it alone
and pauses where anything is not as it should be. Steps, judgement and writing are those of
:class:`lcm_lab.repairs.review.Review`. Invariants: giving up or closing leaves the store with what was applied and
nothing else; a request runs in a thread that touches neither store nor widgets, and can be cancelled; what is applied
is the text that stands in the editor. Checked by ``tests/panels/test_review_rewrite.py``.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import ipywidgets as w

from lcm_lab.errors import LcmLabError, StalePlan
from lcm_lab.panels import keys
from lcm_lab.panels.asking import Asking, GivenUp, ModelChoice, in_a_second
from lcm_lab.panels.base import Panel
from lcm_lab.panels.rewrite_screen import SIDE_BY_SIDE, UNIFIED, Screen, State, bar
from lcm_lab.repairs.batch import Batch
from lcm_lab.repairs.review import Review
from lcm_lab.summarizer.seam import Draft, Summarizer
from lcm_lab.views import blocks, repairs, strips
from lcm_lab.views import review as views
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.lab import Lab


class RewriteReview(Panel):
    """A review of ``batch``; without ``summarizer`` the one of this machine's settings is asked.

    ``on_change`` is called after each repair and undo and when it is over; ``state`` says where it is, ``auto`` whether
    it goes on alone.
    """

    def __init__(
        self,
        lab: "Lab",
        batch: Batch,
        summarizer: Summarizer | None = None,
        *,
        on_change: Callable[[], None] | None = None,
    ) -> None:
        super().__init__()
        self.title = f"{batch.operation.capitalize()}: review"
        self.lab = lab
        self.review = Review(batch)
        self.auto = self.closed = self._told = False
        self._changed = on_change or (lambda: None)
        self._asking: Asking | None = None
        self._since = 0.0
        self.model = ModelChoice(lab, summarizer, self._chosen_anew, doctor=batch.operation == "doctor")
        self.screen = Screen(edited=self._edited, toggled=self._toggled)
        self._make_buttons()
        self.state: State = self._next_state()
        self.refresh()
        many = self.review.total > 1
        keys.attach(
            self,
            {
                **keys.scrolling(self.body),
                "Enter": self._enter,
                "y": self.apply_button,
                "n": self.skip,
                "d": self.toggle,
                "A": self.accept_all,
                "Esc": self.abort if many else self.skip,
            },
            hint="Enter send or apply, y apply, n skip, d differences, j k scroll"
            + ", A accept all, Esc give up" * many,
        )

    def _make_buttons(self) -> None:
        many = self.review.total > 1
        self.send = self.button("Send", self._send, style="primary", hint="Send the prompt to the model")
        self.apply_button = self.button("Apply", self._apply, style="success", hint="Write the new text into the store")
        self.skip = self.button(
            "Skip" if many else "Discard", self._skip, hint="Leave this summary as it is", once=True
        )
        self.accept_all = self.button(
            "Accept all remaining",
            self._accept_all,
            style="warning",
            hint="Send and apply, pausing where one is not good",
        )
        self.look = self.button("Look again", self._look, hint="Read the store again for this summary")
        self.abort = self.button("Abort", self._abort, hint="Leave this summary and all that follow as they are")
        self.cancel = w.Button(description="Cancel", tooltip="Wait no longer for the model", disabled=True)
        self.cancel.on_click(lambda _button: self._cancel())
        self.undo_last = self.button(
            "Undo the last",
            lambda: self._undo(*self.review.written[-1:]),
            hint="Take back the repair made last",
            once=True,
        )
        self.undo_all = self.button(
            "Undo all", lambda: self._undo(self.review.batch.batch_id), hint="Take back all that this batch applied"
        )
        for one in (self.accept_all, self.abort):
            one.layout.display = "" if many else "none"
        self.body.children = (
            w.HTML(blocks.STYLE),
            self.model.widget,
            bar(self.send, self.apply_button, self.skip, self.accept_all, self.look, self.abort, self.cancel),
            self.screen.head,
            *self.screen.children,
            bar(self.undo_last, self.undo_all),
        )

    def close(self) -> None:
        """Give up what is under way; the store keeps what was applied, and nothing else is left behind."""
        self.closed = True
        self._cancel()
        self.review.stop("the review was closed")
        self.auto, self.state = False, "over"
        self.refresh()

    def accept_remaining(self) -> None:
        """Go on alone from here, as the button does."""
        self.act(self._accept_all)

    def toggle(self) -> None:
        """The other way to show differences."""
        self.screen.view.value = SIDE_BY_SIDE if self.screen.view.value == UNIFIED else UNIFIED

    def tables(self) -> list[Table]:
        """The present step, its reply and the text before and after; at the end what became of all."""
        if self.state == "over":
            return views.result(self.review, self.lab.zone)
        found = self._facts()
        proposal = self.review.proposal
        if proposal is not None:
            found.append(views.judged(proposal))
            if proposal.plan is not None and proposal.plan.text is not None:
                found.append(repairs.text_change(proposal.plan.text))
        return found

    def drawing(self) -> str:
        """How far the queue has come."""
        return strips.queue([one.status for one in self.review.result().items]) if self.review.total > 1 else ""

    def refresh(self) -> None:
        """Draw the state, and enable what makes sense in it."""
        self.screen.show(self.review, self.state, self._facts(), self.lab.zone)
        open_step = self.state in ("preview", "review")
        possible = open_step and self.review.problem is None
        proposal = self.review.proposal
        self.send.description = "Send again" if proposal is not None else "Send"
        self.send.disabled = not possible
        self._show_verdict()
        self.skip.disabled = not open_step
        self.accept_all.disabled = not possible
        self.look.disabled = not open_step
        self.abort.disabled = not open_step
        self.cancel.disabled = self.state != "sending"
        for one in (self.undo_last, self.undo_all):
            one.disabled = not (self.state == "over" and self.review.written)
            one.layout.display = "" if self.state == "over" else "none"
        self.undo_all.layout.display = "" if self.state == "over" and self.review.total > 1 else "none"
        if self.state == "over" and not self._told:
            self._told = True
            self._changed()
        self.model.widget.layout.display = "none" if self.state == "over" or not self.model.widget.children else ""

    def _facts(self) -> list[Table]:
        if self.state == "over":
            return []
        return [views.preview(self.review, asked=self.model.described, model=self.model.model)]

    def _send(self) -> None:
        if self.state not in ("preview", "review"):
            return
        request = self.review.ready()
        asking = self._asking = Asking(self.model.summarizer(), request)
        self.state, self._since = "sending", time.monotonic()
        self.screen.show(self.review, "sending", self._facts(), self.lab.zone)
        self.cancel.disabled = False
        self.later(asking.wait, self._received, failed=self._not_received)
        self._tick(asking)

    def _apply(self) -> None:
        proposal = self.review.proposal
        if self.state != "review" or proposal is None:
            return
        if self.screen.editor.value.strip() != proposal.draft.text.strip():
            # The browser tells of a change only when the field is left: what counts is what stands there.
            level = self.review.edit(self.screen.editor.value).verdict.level
            if level != "good":
                self._redraw()
                self.say("The text was changed: see what is said of it now, then decide.", "warning")
                return
        self._write()

    def _accept_all(self) -> None:
        if self.state not in ("preview", "review"):
            return
        self.auto = True
        try:
            (self._apply if self.state == "review" else self._send)()
        except Exception:
            self.auto = False
            raise
        if self.state == "review":
            self.auto = False

    def _enter(self) -> None:
        button = self.apply_button if self.state == "review" else self.send
        if not button.disabled:
            button.click()

    def _skip(self) -> None:
        if self.state not in ("preview", "review"):
            return
        self.review.skip()
        self.state = self._next_state()

    def _look(self) -> None:
        if self.state not in ("preview", "review"):
            return
        self.review.again()
        self.state = "review" if self.review.proposal else self._next_state()

    def _abort(self) -> None:
        self.review.stop()
        self.auto, self.state = False, "over"
        self.say("Given up. What was applied stays; the rest is as it was.")

    def _cancel(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self.model.cancel()
            self.cancel.disabled = True

    def _undo(self, name: str = "") -> None:
        if not (name and self.review.written):
            return
        done = self.lab.undo(name)
        self.review.undone(one.journal_id for one in done.undone)
        self.say(f"{len(done.undone)} taken back. {done.problem or ''}", "warning" if done.problem else "good")
        self._changed()

    def _received(self, draft: Draft) -> None:
        self._asking = None
        if self.closed:
            return
        self.state = "preview"
        try:
            proposal = self.review.propose(draft)
        except LcmLabError as error:
            self.auto = False
            self.review.look()
            self.say(str(error), "error")
            return
        self.state = "review"
        self.screen.put_text(draft.text.strip())
        if not self.auto:
            return
        if proposal.verdict.may_be_written:
            self._write()
        else:
            self._pause(f"Paused at {proposal.step.summary_id}: {' '.join(proposal.verdict.reasons)}", "warning")

    def _not_received(self, error: Exception) -> None:
        self._asking = None
        if self.closed:
            return
        self.state = "review" if self.review.proposal else self._next_state()
        if isinstance(error, GivenUp):
            self._pause(
                "Cancelled: nothing was written. The provider may charge for the request all the same.", "warning"
            )
            return
        self.review.fail(error)
        said = str(error) if isinstance(error, LcmLabError) else f"Unexpected: {type(error).__name__}: {error}"
        self._pause(f"Paused: {said}" if self.auto else said, "error")

    def _write(self) -> None:
        """Apply what stands there and go on; after an error everything is as before it, and paused."""
        try:
            done = self.review.apply()
        except StalePlan as error:
            proposal = self.review.again()
            self.state = "review" if proposal else self._next_state()
            judged = " What stands there now is shown; the new text was judged for it." if proposal else ""
            self._pause(f"{error}{judged}", "error")
            return
        except LcmLabError as error:
            self._pause(str(error), "error")
            return
        self.state = self._next_state()
        self._changed()
        if self.state == "over":
            self.auto = False
            self.say("All done." if self.review.total > 1 else f"Applied; journal entry {done.journal_id}.", "good")
        elif self.auto:
            self._go_on()

    def _go_on(self) -> None:
        try:
            self._send()
        except LcmLabError as error:
            self.review.fail(error)
            self._pause(f"Paused: {error}", "error")

    def _pause(self, text: str, tone: str) -> None:
        self.auto = False
        self.say(text, tone)

    def _next_state(self) -> State:
        return "preview" if self.review.step is not None else "over"

    def _edited(self) -> None:
        if self.state == "review" and not self.busy:
            self.guard(self._judge_anew)

    def _judge_anew(self) -> None:
        self.review.edit(self.screen.editor.value)
        self._redraw()

    def _chosen_anew(self) -> None:
        if not self.busy:
            self.guard(self.refresh)

    def _redraw(self) -> None:
        self.screen.compare(self.review.proposal)
        self._show_verdict()

    def _show_verdict(self) -> None:
        """The Apply button says what pressing it means for this text."""
        proposal = self.review.proposal if self.state == "review" else None
        doubtful = proposal is not None and proposal.verdict.level == "confirm"
        self.apply_button.description = "Apply anyway" if doubtful else "Apply"
        self.apply_button.button_style = "warning" if doubtful else "success"
        self.apply_button.disabled = not (proposal is not None and proposal.plan is not None)

    def _toggled(self) -> None:
        if self.state == "review":
            self.screen.compare(self.review.proposal)

    def _tick(self, asking: Asking) -> None:
        if self._asking is not asking:
            return
        head = f"[{self.review.number}/{self.review.total}] " if self.review.total > 1 else ""
        seconds = f"{time.monotonic() - self._since:.0f} s"
        waiting = f"; {self.model.waiting}" if self.model.waiting else ""
        self.screen.say(f"{head}asking {self.model.described}: {seconds}{waiting}")
        in_a_second(lambda: self._tick(asking))
