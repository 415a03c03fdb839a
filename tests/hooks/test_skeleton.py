"""The line of a turn: intent and outcome, whole outcome, short line, in three languages."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import skeleton
from lcm_lab.hooks.turns import ToolCall, Turn

sys.path.insert(0, str(Path(__file__).parent))

import labels
from cjk_sentences import TURNS

NEEDS_SESSIONS = pytest.mark.skipif(not labels.available(), reason="the labelled sessions are not on this machine")


def turn(asked: str, *answers: str, state: str = "complete") -> Turn:
    """A turn with its answers."""
    made = Turn(1, asked)
    made.assistant_texts = list(answers)
    made.final_text = answers[-1] if answers else ""
    made.state = state
    return made


LINES = [
    (
        "Implement the following plan:\n\n# Split the parser in two\n\n## Goal\nLess code.",
        ["Done. The parser is split in two."],
        "Split the parser in two → The parser is split in two",
    ),
    (
        "please fix these:\n\n```\nlog\n```\n- the wrong total\n- the missing zone",
        ["Fixed the total and the zone."],
        "fix these: the wrong total → Fixed the total and the zone",
    ),
    (
        "can you please restart the server manager?",
        ["Let me stop it first.", "Restarted. The server manager is running again on port 8080."],
        "restart the server manager? → The server manager is running again on port 8080",
    ),
    (
        "why is the build slow?",
        ["Let me look.", "Good question. The build compiles every test twice.\n\nWant me to change that?"],
        "why is the build slow? → The build compiles every test twice",
    ),
    (
        "fix the date parser",
        ["Fixed the date parser.\n\n- added a guard\n\nAll tests pass."],
        "fix the date parser → Fixed the date parser; All tests pass",
    ),
    ("サーバーを再起動して", ["まず確認します。", "再起動しました。"], "サーバーを再起動して → 再起動しました"),
    ("ログインできない。なぜ？", ["原因は期限切れのトークンです。"], "ログインできない → 原因は期限切れのトークンです"),
    ("修复日期解析", ["我先看一下。", "修复了日期解析。测试都通过了。"], "修复日期解析 → 修复了日期解析; 测试都通过了"),
    ("go on", ["Done."], "go on → Done"),
]


@pytest.mark.parametrize(("asked", "answers", "expected"), LINES)
def test_intent_and_outcome(asked: str, answers: list[str], expected: str) -> None:
    """Courtesy goes, narration is passed over, the sentence that tells of the end stays."""
    assert skeleton.line(turn(asked, *answers)) == expected


def test_an_open_choice_is_the_outcome() -> None:
    """Where nothing is settled, the question handed back is what came of the turn, its choices not counted."""
    made = turn(
        "add an end date", "There are two places.\n\n**When should the date be set?**\n\nA) at the end\nB) always"
    )
    assert skeleton.line(made).startswith("add an end date → When should the date be set?")


@pytest.mark.parametrize(("asked", "word"), [("fix it", "interrupted"), ("直して", "中断"), ("修一下", "已中断")])
def test_an_interruption_is_told(asked: str, word: str) -> None:
    """In the language of the request."""
    assert skeleton.line(turn(asked, "Let me look at it.", state="interrupted")) == f"{asked} → {word}"


def test_a_turn_without_words_is_told_by_its_tools() -> None:
    """A failing check first, then the files that changed, then that nobody answered."""
    made = turn("fix it")
    assert skeleton.line(made) == "fix it → no answer"
    edit = ToolCall("toolu_1", "Write", {"file_path": "/w/a.py"})
    edit.finish("ok", is_error=False)
    made.tools = [edit]
    assert skeleton.line(made) == "fix it → changed a.py"
    check = ToolCall("toolu_2", "Bash", {"command": "pytest -q"})
    check.finish("Exit code 1\n1 failed", is_error=True)
    made.tools = [edit, check]
    assert skeleton.line(made) == "fix it → pytest -q fails"


def test_a_failing_api_is_told_without_its_payload() -> None:
    """The status is the outcome."""
    made = turn("go on", 'API Error: 529 {"type":"error","error":{"type":"overloaded_error"}}')
    assert skeleton.line(made) == "go on → API Error: 529"


def test_the_client_saying_nothing_is_no_answer() -> None:
    """A local command makes the model say that nothing was asked; the answer before it counts."""
    made = turn("is it safe?", "Yes, it keeps all data.", "No response requested.")
    assert skeleton.line(made) == "is it safe? → Yes, it keeps all data"


def test_the_outcome_is_never_cut() -> None:
    """A long sentence without a joint stays whole; only the intent is shortened."""
    long = "Renamed every helper of the old importer to match the names that the new exporter gives them everywhere"
    made = turn("please rename all the helpers of the importer so that they match the exporter", long + ".")
    told = skeleton.line(made)
    assert told.endswith(skeleton.ARROW + long)
    assert told.startswith("rename all the")
    assert "…" in told


def test_lines_of_our_own_japanese_and_chinese_turns() -> None:
    """At least nine of ten hold the outcome."""
    wrong = [told for asked, answers, words in TURNS if words not in (told := skeleton.line(turn(asked, *answers)))]
    assert len(wrong) * 10 <= len(TURNS), wrong


@given(
    st.text(max_size=300),
    st.lists(st.text(alphabet=st.sampled_from("ab. \n?:*`#-—→;テ。已\ud800🙂"), max_size=200), max_size=3),
    st.sampled_from(["complete", "open", "interrupted"]),
)
def test_any_turn_has_one_line(asked: str, answers: list[str], state: str) -> None:
    """Never an exception, never a line break, always both sides."""
    told = skeleton.line(turn(asked, *answers, state=state))
    asked_for, arrow, came = told.partition(skeleton.ARROW)
    assert arrow
    assert came
    assert "\n" not in told
    assert skeleton.quarters(asked_for) <= skeleton.WIDE_MOST + 6


@NEEDS_SESSIONS
@pytest.mark.parametrize("side", ["development", "held-out", "reserve"])
def test_lines_of_real_turns(side: str) -> None:
    """Short in the median, and mostly holding the outcome; the exact shares are printed by the benchmark."""
    lines, right = [], 0
    for file in {row.file for row in labels.outcomes(side)}:
        by_line = labels.turns(file)
        last = {id(by_line[row.prompt_line]): row for row in labels.outcomes(side) if row.file == file}
        for row in last.values():
            lines.append(skeleton.line(by_line[row.prompt_line]))
            right += bool(labels.held(lines[-1], row, tuple(skeleton.STOPPED.values())))
    assert statistics.median((skeleton.quarters(line) + 3) // 4 for line in lines) <= 25
    assert right >= 0.8 * len(lines)
