"""Judgments: what a sentence is taken for, what a turn leaves behind, what settles a fault, and what the labels say."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import classifier, commands, sentences
from lcm_lab.hooks.turns import ToolCall, Turn

sys.path.insert(0, str(Path(__file__).parent))

import labels
from cjk_sentences import CHINESE, JAPANESE

HOOKS = Path(classifier.__file__).resolve().parent
NEEDS_SESSIONS = pytest.mark.skipif(not labels.available(), reason="the labelled sessions are not on this machine")


class Issue:
    """An open issue as the store hands it in."""

    def __init__(self, content: str, command: str | None = None) -> None:
        self.id, self.turn_number, self.content, self.command = 7, 1, content, command


def turn(*answers: str, asked: str = "go on", tools: tuple[ToolCall, ...] = (), number: int = 2) -> Turn:
    """A finished turn."""
    made = Turn(number, asked)
    made.assistant_texts = list(answers)
    made.final_text = answers[-1] if answers else ""
    made.tools = list(tools)
    made.state = "complete"
    return made


def bash(command: str, output: str = "", *, code: int = 0) -> ToolCall:
    """A finished shell call."""
    call = ToolCall(f"toolu_{command}_{code}", "Bash", {"command": command})
    call.finish(f"Exit code {code}\n{output}" if code else output, is_error=code != 0)
    return call


def issues(made: Turn) -> list[str]:
    """The open faults of a turn."""
    return [j.content for j in classifier.classify(made) if j.category == "ISSUE" and not j.resolved]


SENTENCES = [
    ("user", "ISSUE", "the upload is broken, why?"),
    ("user", "ISSUE", "error: cannot open shared object file"),
    ("user", "ISSUE", "hm, it just happened again after the restart"),
    ("user", "CONSTRAINT", "don't touch the generated files"),
    ("user", "CONSTRAINT", "config.toml should be committed, only the cache should not"),
    ("user", "DECISION", "let's use a queue instead of polling"),
    ("user", "DECISION", "put it in the session handler"),
    ("user", "DECISION", "I'd prefer that as a separate change"),
    ("user", None, "why did we add the second index?"),
    ("user", None, "can you look at the logs"),
    ("assistant", "ISSUE", "The parser doesn't handle empty lines, but it only reports line numbers."),
    ("assistant", "ISSUE", "The problem is a stale lock file in the cache folder."),
    ("assistant", "ISSUE", "Two integration tests are still failing on the arm build."),
    ("assistant", "DECISION", "I'll use a temporary file instead of editing in place."),
    ("assistant", "IMPL", "Added a retry to the client and a test for it."),
    ("assistant", "IMPL", "All tests pass and lint is clean."),
    ("assistant", None, "Let me check whether the cache is broken."),
    ("assistant", None, "Would you like me to fix the failing test?"),
    ("assistant", None, "I'd recommend a queue instead of polling."),
    ("assistant", None, "Now let me run the tests."),
]


@pytest.mark.parametrize(("role", "category", "said"), SENTENCES)
def test_a_sentence_is_taken_for_what_it_is(role: str, category: str | None, said: str) -> None:
    """What rules may inject is the category expected; anything else stays below the line."""
    verdict = classifier.sentence(said, role)
    got = verdict[0] if verdict and classifier.injected(*verdict) else None
    assert got == category


@pytest.mark.parametrize(("name", "rows"), [("Japanese", JAPANESE), ("Chinese", CHINESE)])
def test_other_languages(name: str, rows: list[tuple[str, str, str]]) -> None:
    """Japanese and Chinese sentences of our own come out right in at least nine of ten."""
    wrong = []
    for role, category, said in rows:
        verdict = classifier.sentence(said, role)
        got = verdict[0] if verdict and verdict[1] >= classifier.SURE else "NONE"
        if got != category:
            wrong.append((said, category, got))
    assert len(wrong) * 10 <= len(rows), wrong


def test_the_list_under_a_line_takes_its_meaning() -> None:
    """Items under "what was fixed" are work, items under "found 2 issues" are faults, options are nothing."""
    done = classifier.classify(turn("Here is what was fixed:\n\n- The date of each row in the export\n"))
    assert [j.category for j in done] == ["IMPL"]
    open_now = issues(turn("The review found 2 issues:\n\n1. Empty input in the date parser\n2. Memory of old rows\n"))
    assert len(open_now) == 2
    assert not issues(turn("Options:\n\n- Keep the date parser as it is\n- Write another parser for dates\n"))


def test_code_tables_and_headings_are_no_sentences() -> None:
    """Fenced code, table rows and headings yield nothing, the prose around them does."""
    text = "## The build is broken\n```\nerror: it is broken\n```\n| the | build is broken |\nThe build is broken here."
    assert [text[s.start : s.end] for s in sentences.spans(text)] == ["The build is broken here."]


@given(st.text(alphabet=st.sampled_from("ab .!?\n#|`*-1)テス。、🙂\u2028\ud800"), max_size=200))
def test_spans_lie_inside_their_line(text: str) -> None:
    """Every span is a piece of one line, in order, without overlap."""
    last = 0
    for span in sentences.spans(text):
        assert last <= span.start < span.end <= len(text)
        assert "\n" not in text[span.start : span.end]
        last = span.end


@given(
    st.lists(
        st.sampled_from([said for _, _, said in SENTENCES] + ["x" * 300, "- **Fixed** the `parser`. 修正しました。"])
    )
)
def test_content_is_a_piece_of_what_was_said(parts: list[str]) -> None:
    """Nothing is rewritten, nothing is longer than a line, and nothing comes twice."""
    text = "\n".join(parts)
    found = [j for j in classifier.classify(turn(text, asked=text)) if j.role != "tool"]
    for judgment in found:
        assert judgment.content.rstrip("…") in text
        assert len(judgment.content) <= classifier.LONGEST
    assert len({classifier.said_once(j.content) for j in found}) == len(found)
    for category, most in classifier.PER_TURN.items():
        assert sum(j.category == category for j in found) <= most


def test_a_check_that_still_fails_is_an_issue_with_its_command() -> None:
    """A failing test run is kept with the command; a search that finds nothing is not."""
    made = turn(
        "Hm.", tools=(bash("cd /w && pytest -q 2>&1", "E  assert 1 == 2", code=1), bash("grep -r needle .", code=1))
    )
    (found,) = [j for j in classifier.classify(made) if j.category == "ISSUE"]
    assert (found.command, found.role) == ("pytest -q", "tool")
    assert found.content == "`pytest -q` fails: E assert 1 == 2"


@pytest.mark.parametrize(
    ("later", "settled"),
    [
        (bash("pytest tests/test_a.py -q"), True),
        (bash("cd /elsewhere && pytest -q"), True),
        (bash("pytest tests/test_b.py"), False),
        (bash("pytest tests/test_a.py -q", "FAILED tests/test_a.py", code=1), False),
        (bash("pytest tests/test_a.py -q | tail -5", "1 failed, 3 passed"), False),
        (bash("pytest tests/test_a.py -q | tail -5", "4 passed"), True),
        (bash("ruff check"), False),
    ],
)
def test_a_later_success_settles_a_failing_command(later: ToolCall, settled: bool) -> None:  # noqa: FBT001
    """The same check or one that asks for more has to pass; behind a pager the output decides."""
    assert (
        classifier.resolutions([Issue("x", "pytest tests/test_a.py -q")], turn("ok", tools=(later,))) == [7] * settled
    )
    first = bash("pytest tests/test_a.py -q", "FAILED", code=1)
    assert (not commands.still_failing([first, later])) == settled


def test_the_last_check_of_a_line_decides() -> None:
    """`a && b` is settled by b; a line that does more than checks, or says nothing of a fault, is no fault."""
    both = bash("cd /w && make fmt && make lint", "error: unused name", code=2)
    assert commands.still_failing([both]) == [("make fmt && make lint", "error: unused name")]
    assert commands.still_failing([both, bash("make fmt")])
    assert not commands.still_failing([both, bash("make lint")])
    assert not commands.still_failing([bash("go build ./... && ./tool --wrong", "error: no such flag", code=1)])
    assert not commands.still_failing([bash("pytest | head -3", "3 passed", code=141)])


def test_calls_of_sub_agents_and_rejected_calls_do_not_count() -> None:
    """Neither makes a fault."""
    side = bash("pytest", code=1)
    side.sidechain = True
    refused = ToolCall("toolu_r", "Bash", {"command": "pytest"})
    refused.finish("The user doesn't want to proceed with this tool use.", is_error=True)
    assert commands.still_failing([side, refused]) == []


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ("Fixed the date parser so that empty lines are skipped.", True),
        ("The date parser now handles empty lines.", True),
        ("Fixed the colour of the login button.", False),
        ("Shall I fix the date parser for empty lines?", False),
        ("I'll fix the date parser for empty lines now.", False),
    ],
)
def test_words_settle_the_issue_they_are_about(said: str, settled: bool) -> None:  # noqa: FBT001
    """A repair has to be told, not offered, and to share the names of the issue."""
    issue = Issue("The date parser doesn't handle empty lines.")
    assert classifier.resolutions([issue], turn(said)) == [7] * settled


def test_a_fault_that_the_same_turn_mends_is_resolved() -> None:
    """The order counts: a fault told after the repair stays open."""
    fault, repair = (
        "The issue is that the date parser doesn't handle empty lines.",
        "Fixed the date parser for empty lines.",
    )
    assert issues(turn(fault, repair)) == []
    assert issues(turn(repair, fault)) == [fault]
    same = Issue(fault)
    same.turn_number = 2
    assert classifier.resolutions([same], turn(repair, fault)) == []


def test_files_that_changed_in_silence_are_told() -> None:
    """Edits are named when no sentence tells of the work."""
    call = ToolCall("toolu_e", "Edit", {"file_path": "C:\\w\\parser.py"})
    call.finish("ok", is_error=False)
    assert [j.content for j in classifier.classify(turn(tools=(call,)))][-1] == "Changed parser.py"
    assert [j.role for j in classifier.classify(turn("Added a guard.", tools=(call,)))][-1] == "assistant"


def test_a_megabyte_is_no_burden() -> None:
    """A turn of 1 MB is read at its ends."""
    made = turn("The parser doesn't handle it. Added a guard.\n" * 23_000, asked="log line\n" * 100_000)
    classifier.classify(made)
    start = time.process_time()
    classifier.classify(made)
    assert time.process_time() - start < 0.2  # 15 ms on a quiet machine


def test_importing_costs_no_network_and_no_process() -> None:
    """Nothing that talks to the outside is loaded with the rules or the model seam."""
    code = "import sys, classifier, skeleton, model_help; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", code], cwd=HOOKS, capture_output=True, text=True, check=True
    )
    assert not {"socket", "urllib", "http", "ssl", "subprocess", "logging", "dataclasses"} & set(done.stdout.split())


def test_there_are_labels_enough() -> None:
    """At least 300 sentences and 60 turns, half of the sessions held out."""
    sides = {side: labels.sentences(side) for side in ("development", "held-out", "reserve")}
    assert sum(len(rows) for rows in sides.values()) >= 300
    files = {side: {s.file for s in rows} for side, rows in sides.items()}
    assert abs(len(files["development"]) - len(files["held-out"])) <= 1
    with (labels.FOLDER / "outcomes.tsv").open(encoding="utf-8") as rows:
        assert len({tuple(row.split("\t")[:2]) for row in rows}) > 60


@NEEDS_SESSIONS
def test_labels_point_into_the_sessions() -> None:
    """Every labelled position lies inside its text and the cut of today finds it."""
    cut: dict[tuple[str, int, int], set[tuple[int, int]]] = {}
    for side in ("development", "held-out", "reserve"):
        for given_ in labels.sentences(side):
            where = (given_.file, given_.line, given_.block)
            text = labels.texts(given_.file)[given_.line, given_.block].text
            assert 0 <= given_.start < given_.end <= len(text)
            spans = cut.setdefault(where, {(s.start, s.end) for s in sentences.spans(text)})
            assert (given_.start, given_.end) in spans


@NEEDS_SESSIONS
@pytest.mark.parametrize("category", ["ISSUE", "DECISION", "CONSTRAINT", "IMPL"])
def test_what_is_injected_is_precise_on_the_held_out_sessions(category: str) -> None:
    """At least 0.85 of what the rules inject is labelled so. They know this half by now: see the labels' README."""
    right, made, wanted = labels.tally("held-out", classifier, sentences)[category]
    assert right / made >= 0.85
    if category in {"ISSUE", "DECISION"}:
        assert right / wanted >= 0.5
