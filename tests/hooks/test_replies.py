"""Decisions that the client itself reports: answers to questions, approved plans, reasons of rejections."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import calls, classifier, ingest, layers, numbering, replies
from lcm_lab.hooks.turns import ToolCall, Turn

sys.path.insert(0, str(Path(__file__).parent))

from own_session import Writer

if TYPE_CHECKING:
    import sqlite3
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


def test_of_a_long_question_the_part_that_asks() -> None:
    """The lead goes, the question and the answer stay whole: what is cut could be half a secret."""
    lead = "The release notes say one thing and the history another, which I found while reading both of them in full."
    long = f"{lead} Which one should the automation follow from now on?"
    (short,) = said(ask(f'{replies.ANSWERED[0]}"{long}"="the history"{TAIL}', long))
    assert short == "Which one should the automation follow from now on? → the history"
    answer = "word " * 90 + "postgres://app:S3cretPassw0rd@db/x"
    assert said(ask(f'{replies.ANSWERED[0]}"Where?"="{answer}"{TAIL}', "Where?")) == [f"Where? → {answer}"]


def test_quotes_inside_answers_and_questions() -> None:
    """The end of an answer is where the next question begins; where that is not plain, nothing is said."""
    first, second = "First?", "Delete all data now?"
    output = f'{replies.ANSWERED[0]}"{first}"="I read "{second}"="yes" somewhere", "{second}"="no"{TAIL}'
    assert said(ask(output, first, second)) == [f'{first} → I read "{second}"="yes" somewhere', f"{second} → no"]
    output = f'{replies.ANSWERED[0]}"What now?"=""Delete it" is not what I want, keep it"{TAIL}'
    assert said(ask(output, "What now?")) == ['What now? → "Delete it" is not what I want, keep it']
    output = f'{replies.ANSWERED[0]}"{first}"="a", "{second}"="yes", "{second}"="no"{TAIL}'
    assert said(ask(output, first, second)) == []
    output = f'{replies.ANSWERED[0]}"{first}"="one\nand two"{TAIL}'
    assert said(ask(output, first)) == [f"{first} → one and two"]


def test_an_approved_plan_by_its_title_and_place() -> None:
    """The heading without the word plan; where it was saved, since the file outlives the context."""
    output = "User has approved your plan. You can now start coding.\n\nYour plan has been saved to: /p/a-b.md\n"
    assert said(plan("Intro\n# Plan: Split the parser\n\n## Goal", output)) == [
        "Plan approved: Split the parser (saved to /p/a-b.md)"
    ]
    told = f"{replies.APPROVED}. You can now start coding.\n\n## Approved Plan (edited by user):\n# Move it\nx"
    assert said(plan(None, told)) == ["Plan approved: Move it"]
    assert said(plan("just do it in two steps", replies.APPROVED)) == ["Plan approved: just do it in two steps"]
    assert said(plan("```sh\n# a comment\n```\n# The real one", replies.APPROVED)) == ["Plan approved: The real one"]


@pytest.mark.parametrize(
    "call",
    [
        ask("The user did not answer the questions.", "Which?"),
        ask("User has answered your questions: something else entirely", "Which?"),
        ask(replies.ANSWERED[0] + '"Which?"=""' + TAIL, "Which?"),
        ask(replies.ANSWERED[0] + '"Which?"="A"', None, 7, ""),
        plan("# A", "The user doesn't want to proceed with this tool use.", error=True),
        plan("# A", "User has approved exiting plan mode. You can now proceed."),
        plan(None, replies.APPROVED),
        plan("  \n```\nx\n```", replies.APPROVED),
        ToolCall("toolu_3", "AskUserQuestion", {"questions": "Which?"}),
    ],
)
def test_nothing_is_decided_where_nobody_did(call: ToolCall) -> None:
    """No answer, an unknown form, a rejected plan, a call still running."""
    assert said(call) == []


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4), st.text())
def test_any_question_and_answer_is_read_without_harm(rows: Sequence[tuple[str, str]], rest: str) -> None:
    """Whatever both hold, each decision is one line."""
    output = replies.ANSWERED[0] + ", ".join(f'"{q}"="{a}"' for q, a in rows) + rest
    for content in said(ask(output, *(q for q, _ in rows))):
        assert content.splitlines() == [content]


def test_the_classifier_takes_them_and_the_reason_of_a_rejection() -> None:
    """All three reach the judgments of the turn, sure enough to be given back."""
    turn = Turn(1, "add the export")
    turn.refusals = ["let's not change this in this branch, use a map instead"]
    turn.tools = [ask(f'{replies.ANSWERED[0]}"Which format?"="CSV"{TAIL}', "Which format?")]
    turn.assistant_texts, turn.final_text, turn.state = ["ok"], "ok", "complete"
    found = [
        (j.category, j.content) for j in classifier.classify(turn) if classifier.injected(j.category, j.confidence)
    ]
    assert ("DECISION", "Which format? → CSV") in found
    assert any("in this branch" in content for _, content in found)


def test_as_many_answers_as_there_are() -> None:
    """The limit for what wording finds does not hold for what the client reports."""
    questions = [f"Question {n}?" for n in range(12)]
    body = ", ".join(f'"{q}"="answer {n}"' for n, q in enumerate(questions))
    turn = Turn(1, "go")
    turn.tools = [ask(f"{replies.ANSWERED[1]}{body}{TAIL}", *questions)]
    assert sum(j.category == "DECISION" for j in classifier.classify(turn)) == 12


def test_a_secret_in_an_answer_is_masked_before_anything_is_cut(con: sqlite3.Connection) -> None:
    """Also in the line of the turn and in a command that fails: half a secret is no pattern any more."""
    secret = "postgres://app:S3cretPassw0rdVeryLongIndeedYes@db.example.com/x"  # noqa: S105  (made up)
    turn = Turn(1, f"{'w' * 40} {secret}")
    turn.followups = [f"never use {secret}{'y' * 200}"]
    push = ToolCall(
        "toolu_4",
        "Bash",
        {"command": f"git push https://bot:S3cretPassw0rdVeryLongIndeedYes@git.example.com/{'z' * 60}"},
    )
    push.finish(f"Exit code 1\nfatal: error for {secret}{'x' * 100}", is_error=True)
    turn.tools = [
        ask(
            f'{replies.ANSWERED[0]}"Where does the database of this project live now?"="{"v" * 40} {secret}"{TAIL}',
            "Where does the database of this project live now?",
        ),
        push,
    ]
    turn.assistant_texts, turn.final_text, turn.state = ["ok"], "ok", "complete"
    layers.store(con, "s", turn, mask=lambda text: calls.mask(text, on=True))
    stored = [*con.execute("SELECT content || coalesce(command, '') FROM judgments")]
    stored += con.execute("SELECT summary FROM skeletons")
    assert len(stored) > 2
    assert not [text for (text,) in stored if "S3cretPassw0rd" in text]


def test_a_denied_call_is_a_rejected_one() -> None:
    """Both forms of the client's refusal."""
    for head in ("The user doesn't want to proceed", "Permission for this tool use was denied."):
        assert calls.status_of(head + " The user said:\nno", is_error=True) == "rejected"


def test_a_prompt_in_the_words_of_a_rejection_stays_a_turn(con: sqlite3.Connection, tmp_path: Path) -> None:
    """It was announced and is not on disk yet while the turn before is read again."""
    w = Writer(prompt_ids=True)
    w.ask("make it fast")
    w.calls(("c1", "Edit", {"file_path": "a"}))
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit). "
    )
    w.results(("c1", f"{refused}To tell you how to proceed, the user said:\nuse a map", True))
    w.say("Then a map.", stop="end_turn")
    (tmp_path / "s.jsonl").write_bytes(b"".join(w.lines))
    ingest.catch_up(con, "s", str(tmp_path / "s.jsonl"))
    number = numbering.announce(con, "s", "another prompt")
    ingest.put_text(con, "s", number, "user", 0, "use a map", 1.0)
    w.say("One thing more.", stop="end_turn")
    (tmp_path / "s.jsonl").write_bytes(b"".join(w.lines))
    ingest.catch_up(con, "s", str(tmp_path / "s.jsonl"))
    assert con.execute("SELECT count(*) FROM turns").fetchone() == (2,)
    said = [row[0] for row in con.execute("SELECT input_text FROM details WHERE kind='user' ORDER BY id")]
    assert said == ["make it fast", "use a map", "use a map"]
