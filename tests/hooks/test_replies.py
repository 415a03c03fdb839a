"""Decisions that the client itself reports: answers to questions, approved plans, reasons of rejections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import calls, classifier, replies
from lcm_lab.hooks.turns import ToolCall, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence

TAIL = ". You can now continue with the user's answers in mind."


def ask(output: str, *questions: Any) -> ToolCall:
    """A finished call of AskUserQuestion."""
    call = ToolCall("toolu_1", "AskUserQuestion", {"questions": [{"question": q, "options": []} for q in questions]})
    call.finish(output, is_error=False)
    return call


def plan(text: Any, output: str, *, error: bool = False) -> ToolCall:
    """A finished call of ExitPlanMode."""
    call = ToolCall("toolu_2", "ExitPlanMode", {"plan": text} if text is not None else {})
    call.finish(output, is_error=error)
    return call


def said(*made: ToolCall) -> list[str]:
    """The decisions of some calls."""
    return list(replies.decisions(made))


@pytest.mark.parametrize("head", replies.ANSWERED)
def test_each_answer_is_a_decision(head: str) -> None:
    """In the spelling of each client; the mark of the model's own advice is not part of the answer."""
    first, second = "Which database?", 'Name it "store", or not?'
    output = f'{head}"{first}"="SQLite (Recommended)", "{second}"="no, call it lake"{TAIL}'
    assert said(ask(output, first, second)) == [f"{first} → SQLite", f"{second} → no, call it lake"]


def test_a_note_behind_an_answer_does_not_hide_it() -> None:
    """What the client adds behind the answer is left out."""
    output = replies.ANSWERED[1] + '"Which?"="Left" selected preview:\nbox\n user notes: wider' + TAIL
    assert said(ask(output, "Which?")) == ["Which? → Left"]


def test_the_answer_survives_a_long_question() -> None:
    """The part that asks is kept, then the end of the question goes; the answer goes last."""
    lead = "The release notes say one thing and the history another, which I found while reading both of them in full."
    long = f"{lead} Which one should the automation follow from now on?"
    (short,) = said(ask(f'{replies.ANSWERED[0]}"{long}"="the history"{TAIL}', long))
    assert short == "Which one should the automation follow from now on? → the history"
    (cut,) = said(ask(f'{replies.ANSWERED[0]}"{"why " * 90}?"="{"because " * 9}"{TAIL}', "why " * 90 + "?"))
    assert len(cut) <= replies.LONGEST
    assert cut.startswith("why why")
    assert cut.endswith("because")


def test_an_approved_plan_by_its_title_and_place() -> None:
    """The heading without the word plan; where it was saved, since the file outlives the context."""
    output = "User has approved your plan. You can now start coding.\n\nYour plan has been saved to: /p/a-b.md\n"
    assert said(plan("Intro\n# Plan: Split the parser\n\n## Goal", output)) == [
        "Plan approved: Split the parser (saved to /p/a-b.md)"
    ]
    told = f"{replies.APPROVED}. You can now start coding.\n\n## Approved Plan (edited by user):\n# Move it\nx"
    assert said(plan(None, told)) == ["Plan approved: Move it"]
    assert said(plan("just do it in two steps", replies.APPROVED)) == ["Plan approved: just do it in two steps"]


@pytest.mark.parametrize(
    "call",
    [
        ask("The user did not answer the questions.", "Which?"),
        ask("User has answered your questions: something else entirely", "Which?"),
        ask(replies.ANSWERED[0] + '"Which?"=""' + TAIL, "Which?"),
        ask(replies.ANSWERED[0] + '"Which?"="A"', None, 7, ""),
        plan("# A", "The user doesn't want to proceed with this tool use.", error=True),
        plan("# A", "User has approved exiting plan mode. You can now proceed."),
        ToolCall("toolu_3", "AskUserQuestion", {"questions": "Which?"}),
    ],
)
def test_nothing_is_decided_where_nobody_did(call: ToolCall) -> None:
    """No answer, an unknown form, a rejected plan, a call still running."""
    assert said(call) == []


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.text())
def test_any_question_and_answer_is_read_without_harm(rows: Sequence[tuple[str, str]], rest: str) -> None:
    """Whatever both hold, each decision is one line within the length of a judgment."""
    output = replies.ANSWERED[0] + ", ".join(f'"{q}"="{a}"' for q, a in rows) + rest
    for content in said(ask(output, *(q for q, _ in rows))):
        assert len(content) <= replies.LONGEST
        assert content.splitlines() == [content]


def test_the_classifier_takes_them_and_the_reason_of_a_rejection() -> None:
    """All three reach the judgments of the turn, sure enough to be given back."""
    turn = Turn(1, "add the export")
    turn.followups = ["let's not change this in this branch, use a map instead"]
    turn.tools = [ask(f'{replies.ANSWERED[0]}"Which format?"="CSV"{TAIL}', "Which format?")]
    turn.assistant_texts, turn.final_text, turn.state = ["ok"], "ok", "complete"
    found = [
        (j.category, j.content) for j in classifier.classify(turn) if classifier.injected(j.category, j.confidence)
    ]
    assert ("DECISION", "Which format? → CSV") in found
    assert any("in this branch" in content for _, content in found)


def test_a_denied_call_is_a_rejected_one() -> None:
    """Both forms of the client's refusal."""
    for head in ("The user doesn't want to proceed", "Permission for this tool use was denied."):
        assert calls.status_of(head + " The user said:\nno", is_error=True) == "rejected"
