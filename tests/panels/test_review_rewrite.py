"""A review of rewrites through its widgets: one, a queue, errors, edits, cancelling, and what the store holds after."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lcm_lab import lab as labs
from lcm_lab.errors import BadReply, NoCredentials, StoreBusy
from lcm_lab.lab import Lab
from lcm_lab.panels import rewrite_screen
from lcm_lab.panels.keys import NAMES
from lcm_lab.panels.rewrite_review import RewriteReview
from lcm_lab.repairs import apply as writer
from lcm_lab.store import writing
from lcm_lab.store.connect import StoreFile
from lcm_lab.summarizer.seam import Draft, Request, Scripted
from lcm_lab.views import review as views_of_reviews
from tests.command import GOOD, beside, change, dump, rows
from tests.conftest import StoreMaker
from tests.repairs.wide import wide

CHAT = "Sure! What would you like me to do?"
FOOTER = "\nExpand for details about: questions"
NASTY = "</script><img src=x onerror=alert(1)> <b>x</b> $\\alpha$ \\(y\\) \u05e9\u05dc\u05d5\u05dd \u7aef\u53e3\u9632\u706b "


def lab(path: Path) -> Lab:
    """A Lab in UTC."""
    return labs.open(path, tz="UTC")


def reply(request: Request) -> str:
    """A good reply that tells which request it is for."""
    return f"new {request.summary_id}{FOOTER}"


def panel(path: Path, script: Any = reply, **selection: Any) -> RewriteReview:
    """A review of conversation 44, or of 46 where a subtree of it is asked for."""
    one = lab(path)
    lane = 46 if selection.get("subtree") == "w_top" else 44
    made = RewriteReview(one, one.rewrite(lane, **(selection or {"summary_id": "sum_la"})), Scripted(script))
    made.double_click = 0
    return made


def at(one: RewriteReview) -> str:
    """Where a review is."""
    return one.state


def contents(path: Path) -> dict[str, str]:
    """The text of each summary."""
    return dict(rows(path, "SELECT summary_id, content FROM summaries"))


@pytest.fixture
def seven(make_store: StoreMaker) -> Path:
    """A store with a summary made from six leaves."""
    return make_store(wide(6))


# ---- one summary ----------------------------------------------------------------------------------------------------


def test_the_preview_says_what_would_be_sent(base_store: Path) -> None:
    one = panel(base_store, summary_id="sum_lb")
    facts = one.screen.facts.value
    for said in ("leaf, 4 tokens", "192 tokens", "2 messages", "2026-03-30 23:12 UTC", "sum_la", "scripted replies"):
        assert said in facts
    assert "Take 443 then." in one.screen.prompt.value
    assert "The firewall blocks 8080." in one.screen.prompt.value, "the previous context"
    assert (at(one), one.send.disabled, one.apply_button.disabled, one.skip.disabled) == (
        "preview",
        False,
        True,
        False,
    )
    assert one.accept_all.layout.display == one.abort.layout.display == "none"
    assert one.skip.description == "Discard"


def test_one_is_sent_compared_applied_and_undone(base_store: Path) -> None:
    before = dump(base_store)
    one = panel(base_store, [GOOD])
    one.send.click()
    assert one.busy
    one.settle()
    assert at(one) == "review"
    assert one.screen.editor.value == GOOD
    assert "<ins" in one.screen.difference.value
    assert "target 192" in one.screen.said.value
    assert contents(base_store)["sum_la"] == "The firewall blocks 8080."
    one.apply_button.click()
    assert at(one) == "over"
    assert contents(base_store)["sum_la"] == GOOD
    assert "1 of 1 summary applied" in one.screen.result.value
    assert "sum_c1" in one.screen.result.value, "what was made from it is stale"
    one.undo_last.click()
    assert "1 taken back" in one.said
    assert dump(base_store) == before
    assert one.undo_last.disabled
    one.undo_last.click()
    assert dump(base_store) == before


def test_the_unified_form_is_a_click_away(base_store: Path) -> None:
    one = panel(base_store, [GOOD])
    one.send.click()
    one.settle()
    side = one.screen.difference.value
    one.screen.view.value = rewrite_screen.UNIFIED
    assert one.screen.difference.value != side
    one.toggle()
    assert one.screen.difference.value == side


def test_an_edited_text_is_judged_and_written(base_store: Path) -> None:
    one = panel(base_store, [CHAT])
    one.send.click()
    one.settle()
    assert one.apply_button.disabled
    assert "refused" in one.screen.said.value
    one.apply_button.click()
    assert contents(base_store)["sum_la"] == "The firewall blocks 8080."
    one.screen.editor.value = GOOD + " and 443"
    assert not one.apply_button.disabled
    assert "443" in one.screen.difference.value
    one.screen.editor.value = ""
    assert one.apply_button.disabled
    one.screen.editor.value = GOOD + " and 443"
    one.apply_button.click()
    assert contents(base_store)["sum_la"] == GOOD + " and 443"


def test_what_stands_in_the_editor_counts_when_apply_is_pressed(base_store: Path) -> None:
    one = panel(base_store, [GOOD])
    one.send.click()
    one.settle()
    one.screen.put_text("x" * 4_000)  # a change the browser has not told of
    one.apply_button.click()
    assert "The text was changed" in one.said
    assert one.apply_button.description == "Apply anyway"
    assert contents(base_store)["sum_la"] == "The firewall blocks 8080."
    one.apply_button.click()
    assert contents(base_store)["sum_la"] == "x" * 4_000


def test_discard_leaves_nothing(base_store: Path) -> None:
    before = dump(base_store)
    one = panel(base_store, [GOOD])
    one.send.click()
    one.settle()
    one.skip.click()
    assert at(one) == "over"
    assert (dump(base_store), beside(base_store)) == (before, [])
    assert "left as it is" in one.screen.result.value


def test_an_error_of_the_model_is_said_and_it_can_be_sent_again(base_store: Path) -> None:
    one = panel(base_store, [BadReply("an empty <reply>"), RuntimeError("odd"), GOOD])
    one.send.click()
    one.settle()
    assert "an empty &lt;reply&gt;" in one.said
    assert (at(one), one.send.disabled, one.busy) == ("preview", False, False)
    one.send.click()
    one.settle()
    assert "Unexpected: RuntimeError: odd" in one.said
    one.send.click()
    one.settle()
    assert at(one) == "review"
    assert one.said == ""


def test_a_second_send_that_fails_keeps_the_first_reply(base_store: Path) -> None:
    one = panel(base_store, [GOOD, BadReply("nothing came")])
    one.send.click()
    one.settle()
    assert one.send.description == "Send again"
    one.send.click()
    one.settle()
    assert at(one) == "review"
    one.apply_button.click()
    assert contents(base_store)["sum_la"] == GOOD


def test_two_quick_clicks_do_one_thing(seven: Path) -> None:
    one = panel(seven, subtree="w_top")
    model = one.model.summarizer()
    assert isinstance(model, Scripted)
    one.send.click()
    one.send.click()
    one.settle()
    assert len(model.requests) == 1
    one.apply_button.click()
    one.apply_button.click()
    assert (at(one), one.review.number, len(one.review.written)) == ("preview", 2, 1)
    one.double_click = 5
    one.skip.click()
    one.skip.click()
    assert one.review.number == 3
    assert rows(seven, "SELECT count(*) FROM summaries WHERE content LIKE 'new %'") == [(1,)]


def test_two_quick_clicks_at_the_end_leave_the_word_and_take_back_one(seven: Path) -> None:
    one = panel(seven, subtree="w_top")
    one.double_click = 5
    one.accept_all.click()
    one.accept_all.click()
    one.settle()
    assert "All done." in one.said
    one.undo_last.click()
    one.undo_last.click()
    assert len(one.review.written) == 6
    assert "1 taken back." in one.said
    one.undo_all.click()
    one.undo_all.click()
    assert "6 taken back." in one.said


def test_a_summary_that_is_gone_meanwhile_is_said(base_store: Path) -> None:
    one = panel(base_store, [GOOD])
    one.send.click()
    one.settle()
    change(base_store, "DELETE FROM summaries WHERE summary_id = 'sum_la'")
    one.apply_button.click()
    assert "not there any more" in one.said
    assert "judged for it" not in one.said
    assert (at(one), one.apply_button.disabled) == ("preview", True)


def test_a_summary_changed_by_others_is_shown_as_it_is_now(base_store: Path) -> None:
    one = panel(base_store, [GOOD])
    one.send.click()
    one.settle()
    change(base_store, "UPDATE summaries SET content = 'somebody was here' WHERE summary_id = 'sum_la'")
    one.apply_button.click()
    assert "What stands there now is shown" in one.said
    assert at(one) == "review"
    assert "somebody" in one.screen.difference.value
    assert contents(base_store)["sum_la"] == "somebody was here"
    one.apply_button.click()
    assert contents(base_store)["sum_la"] == GOOD


def test_a_summary_changed_while_it_was_asked_for(base_store: Path) -> None:
    def meddle(_request: Request) -> str:
        change(base_store, "UPDATE summaries SET content = 'somebody was here' WHERE summary_id = 'sum_la'")
        return GOOD

    one = panel(base_store, meddle)
    one.send.click()
    one.settle()
    assert "was changed by another program" in one.said
    assert at(one) == "preview"
    assert not one.send.disabled


def test_what_cannot_be_done_is_not_sent(make_store: StoreMaker) -> None:
    path = make_store("DELETE FROM summary_messages WHERE summary_id = 'sum_lb';")
    one = panel(path, summary_id="sum_lb")
    assert "no message is linked to it" in one.screen.facts.value
    assert one.send.disabled
    one.send.click()
    assert (one.said, at(one)) == ("", "preview")
    change(path, "INSERT INTO summary_messages VALUES ('sum_lb', 3, 0)")
    one.look.click()
    assert not one.send.disabled


def test_no_key_is_said_in_the_panel(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "LCM_TUI_SUMMARY_MODEL", "LCM_SUMMARY_MODEL"):
        monkeypatch.delenv(name, raising=False)
    given = lab(base_store)
    asked: list[dict[str, Any]] = []

    def none(**flags: Any) -> None:
        asked.append(flags)
        raise NoCredentials("No key was found: set ANTHROPIC_API_KEY.")

    monkeypatch.setattr(given, "summarizer", none)
    one = RewriteReview(given, given.rewrite(44, "sum_la"))
    assert asked == [], "nothing is looked up before Send"
    one.model.model_name.value = "claude-haiku-5-5"
    assert "claude-haiku-5-5, anthropic at https://api.anthropic.com" in one.screen.facts.value
    one.send.click()
    assert "No key was found" in one.said
    assert asked[0]["model"] == "claude-haiku-5-5"
    assert (at(one), one.send.disabled) == ("preview", False)
    one.model.provider.value = "minimax"
    one.model.model_name.value = ""
    one.model.address.value = "not an address"
    assert "is no address" in one.screen.facts.value


# ---- a queue --------------------------------------------------------------------------------------------------------


def test_a_subtree_of_seven_with_one_that_fails(seven: Path) -> None:
    failures = iter([BadReply("the server had a bad moment")])

    def sometimes(request: Request) -> Any:
        return next(failures, reply(request)) if request.summary_id == "w_003" else reply(request)

    before = dump(seven)
    one = panel(seven, sometimes, subtree="w_top")
    assert "[1/7]" in one.screen.facts.value
    one.accept_all.click()
    one.settle()
    assert "Paused: the server had a bad moment" in one.said
    assert (at(one), one.review.number, one.auto, one.busy) == ("preview", 4, False, False)
    one.send.click()
    one.settle()
    assert at(one) == "review"
    one.accept_all.click()
    one.settle()
    assert at(one) == "over"
    assert "7 of 7 summaries applied" in one.screen.result.value
    model = one.model.summarizer()
    assert isinstance(model, Scripted)
    assert all(f"new w_{i:03}" in model.requests[-1].prompt for i in range(6)), "the top reads what was accepted"
    assert {key: text for key, text in contents(seven).items() if key.startswith("w_")} == {
        key: f"new {key}{FOOTER}" for key in (*(f"w_{i:03}" for i in range(6)), "w_top")
    }
    assert len(rows(seven, "SELECT 1 FROM summaries WHERE model = 'scripted'")) == 7
    assert len([name for name in beside(seven) if name.endswith(".bak")]) == 1
    one.undo_last.click()
    assert contents(seven)["w_top"] == "old text of the top"
    one.undo_all.click()
    assert dump(seven) == before
    assert one.undo_all.disabled
    assert "applied and undone" in one.screen.result.value


def test_accepting_all_pauses_where_a_reply_is_not_good(seven: Path) -> None:
    answers = {"w_002": "x" * 4_000, "w_004": CHAT}
    one = panel(seven, lambda request: answers.get(request.summary_id, reply(request)), subtree="w_top")
    one.accept_all.click()
    one.settle()
    assert "Paused at w_002" in one.said
    assert (at(one), one.review.number) == ("review", 3)
    assert contents(seven)["w_002"] == "old text of 2"
    one.accept_all.click()  # a person saw it, and takes it with all that follow
    one.settle()
    assert contents(seven)["w_002"] == "x" * 4_000
    assert "Paused at w_004" in one.said
    one.accept_all.click()
    assert "The reply was refused" in one.said
    assert contents(seven)["w_004"] == "old text of 4"
    assert not one.auto
    one.skip.click()
    one.accept_all.click()
    one.settle()
    assert at(one) == "over"
    assert [item.status for item in one.review.result().items].count("failed") == 1


def test_aborting_keeps_what_was_applied_and_a_new_review_starts_clean(seven: Path) -> None:
    one = panel(seven, subtree="w_top")
    one.send.click()
    one.settle()
    one.apply_button.click()
    one.send.click()
    one.settle()
    one.abort.click()
    assert at(one) == "over"
    assert contents(seven)["w_000"].startswith("new")
    assert contents(seven)["w_001"] == "old text of 1"
    assert "not tried: it was given up" in one.screen.result.value
    again = panel(seven, subtree="w_top")
    assert (at(again), again.review.number, again.review.proposal) == ("preview", 1, None)
    one.undo_all.click()
    assert contents(seven)["w_000"] == "old text of 0"


def test_a_store_that_cannot_be_written_pauses(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = panel(seven, subtree="w_top")

    def locked(*_arguments: Any, **_options: Any) -> None:
        raise StoreBusy("somebody holds the lock")

    with monkeypatch.context() as held:
        held.setattr(writer, "apply", locked)
        one.accept_all.click()
        one.settle()
    assert "somebody holds the lock" in one.said
    assert (at(one), one.apply_button.disabled, one.auto) == ("review", False, False)
    one.apply_button.click()
    assert contents(seven)["w_000"].startswith("new")


# ---- while it is sent -----------------------------------------------------------------------------------------------


class Slow(Scripted):
    """Answers when its gate is opened, and remembers in which thread."""

    def __init__(self) -> None:
        super().__init__(reply)
        self.gate = threading.Event()
        self.began = threading.Event()
        self.threads: list[threading.Thread] = []

    def complete(self, request: Request) -> Draft:
        """The reply, late."""
        self.threads.append(threading.current_thread())
        self.began.set()
        self.gate.wait(10)
        return super().complete(request)


def slow(path: Path) -> tuple[RewriteReview, Slow]:
    """A review of a subtree with a slow model."""
    one, model = lab(path), Slow()
    return RewriteReview(one, one.rewrite(46, subtree="w_top"), model), model


def test_cancelling_ends_the_wait_and_drops_the_reply(seven: Path) -> None:
    before = dump(seven)
    one, model = slow(seven)
    one.accept_all.click()
    assert model.began.wait(5)
    assert (at(one), one.cancel.disabled, one.send.disabled) == ("sending", False, True)
    assert "asking scripted replies" in one.screen.status.value
    one.cancel.click()
    one.cancel.click()
    one.settle()
    assert "Cancelled: nothing was written" in one.said
    assert (at(one), one.busy, one.auto, one.send.disabled) == ("preview", False, False, False)
    model.gate.set()
    time.sleep(0.05)
    assert (at(one), one.review.number) == ("preview", 1)
    assert (dump(seven), beside(seven)) == (before, [])


def test_closing_while_it_is_sent_leaves_nothing(seven: Path) -> None:
    before = dump(seven)
    one, model = slow(seven)
    one.accept_all.click()
    assert model.began.wait(5)
    one.close()
    one.close()
    one.settle()
    model.gate.set()
    assert at(one) == "over"
    assert (dump(seven), beside(seven)) == (before, [])


def test_only_the_model_is_asked_in_another_thread(seven: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touched: list[threading.Thread] = []

    def noted(function: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*arguments: Any, **options: Any) -> Any:
            touched.append(threading.current_thread())
            return function(*arguments, **options)

        return noting

    monkeypatch.setattr(StoreFile, "read", noted(StoreFile.read))
    monkeypatch.setattr(writing, "opened", noted(writing.opened))
    one, model = slow(seven)
    model.gate.set()
    one.accept_all.click()
    one.settle()
    assert at(one) == "over"
    assert len(model.threads) == 7
    assert threading.current_thread() not in model.threads
    assert len(touched) > 7
    assert set(touched) == {threading.current_thread()}


def test_in_a_kernel_it_goes_on_by_itself_and_says_how_long_it_takes(seven: Path) -> None:
    async def kernel() -> tuple[RewriteReview, str]:
        one, model = slow(seven)
        one.accept_all.click()
        await asyncio.sleep(1.3)
        said = one.screen.status.value
        model.gate.set()
        for _ in range(500):
            if at(one) == "over":
                break
            await asyncio.sleep(0.02)
        return one, said

    one, said = asyncio.run(kernel())
    assert "1 s" in said
    assert at(one) == "over"
    assert "7 of 7 summaries applied" in one.screen.result.value


# ---- what is shown --------------------------------------------------------------------------------------------------


def test_texts_are_shown_literally_whatever_they_are(make_store: StoreMaker) -> None:
    old = (NASTY * 3 + "\n" + "w" * 200_000).replace("'", "''")
    path = make_store(
        f"UPDATE summaries SET content = '{old}' WHERE summary_id = 'sum_la';",
        f"UPDATE messages SET content = '{NASTY}' WHERE message_id = 1;",
    )
    one = panel(path, [NASTY + "the port" + FOOTER])
    assert "<img" not in one.screen.prompt.value.replace("<img alt", "")
    one.send.click()
    one.settle()
    for html in (one.screen.difference.value, one.screen.prompt.value, one.static()):
        assert "<script" not in html
        assert "<img src=x" not in html
        assert "&lt;img src=x onerror=alert(1)&gt;" in html
    assert "mathjax_ignore" in one.screen.difference.value
    assert "\u7aef\u53e3" in one.screen.difference.value
    one.apply_button.click()
    assert contents(path)["sum_la"] == NASTY + "the port" + FOOTER


def test_the_picture_that_stays(seven: Path) -> None:
    one = panel(seven, subtree="w_top")
    assert "Rewrite w_000" in one.static()
    one.send.click()
    one.settle()
    assert "+new w_000" in one.static()
    one.accept_all.click()
    one.settle()
    assert "7 of 7 summaries applied" in one.static()
    assert "data:image/svg+xml" in one.static()


def test_an_empty_batch_says_why(make_store: StoreMaker) -> None:
    one = lab(make_store())
    empty = RewriteReview(one, one.rewrite(45, everything=True), Scripted([]))
    assert at(empty) == "over"
    assert "Conversation 45 has no summaries" in empty.screen.result.value
    assert empty.send.disabled


def test_others_are_told_of_changes(base_store: Path) -> None:
    one = lab(base_store)
    told: list[int] = []
    made = RewriteReview(one, one.rewrite(44, "sum_la"), Scripted([GOOD]), on_change=lambda: told.append(1))
    made.send.click()
    made.settle()
    assert told == []
    made.apply_button.click()
    assert told
    assert {"y", "n", "d", "A", "Esc", "Enter"} <= set(NAMES)


def test_the_end_of_a_long_queue_shows_first_what_was_not_done(
    make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views_of_reviews, "_ROWS", 2)
    one = panel(make_store(wide(4)), lambda r: CHAT if r.summary_id == "w_003" else reply(r), subtree="w_top")
    one.accept_all.click()
    one.settle()
    one.skip.click()
    one.accept_all.click()
    one.settle()
    (table,) = one.tables()
    assert [row[:2] for row in table.rows] == [("w_003", "failed"), ("w_000", "applied")]
    assert table.notes[0] == "Showing 2 of 5 summaries, those that were not applied first."
