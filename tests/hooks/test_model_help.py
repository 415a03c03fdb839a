"""The model's part in L1 and L2: asked only where the user wants it, within the budget, and nothing breaks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.hooks import (
    block,
    client_call,
    hook_io,
    ingest,
    layers,
    lookup,
    memory_db,
    memory_read,
    model_help,
    model_prompt,
    upkeep,
)
from lcm_lab.hooks.client_call import Reply
from lcm_lab.summarizer import claude_cli

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from fake_claude import RESULT, FakeClaude
from own_session import Writer

if TYPE_CHECKING:
    import sqlite3

HOOKS = Path(model_help.__file__).resolve().parent
FIRST = "make the parser faster"
SLOW = "The parser reads every file three times over."
CHOSEN = "Going through a cache of tokens it is, then."


def session(folder: Path) -> Writer:
    """Two finished turns."""
    w = Writer(prompt_ids=True)
    w.ask(FIRST)
    w.say(f"{SLOW} {CHOSEN}", stop="end_turn")
    w.line("system", subtype="stop_hook_summary")
    w.ask("and now?")
    w.say("That reading is over: one pass is left. I added a cache.", stop="end_turn")
    w.line("system", subtype="stop_hook_summary")
    return save(w, folder)


def save(w: Writer, folder: Path) -> Writer:
    """The lines so far in the file of the session."""
    (folder / "s.jsonl").write_bytes(b"".join(w.lines))
    return w


def switch(**more: Any) -> None:
    """Model help is on."""
    Path(hook_io.home(), "config.json").write_text(json.dumps({"model_help": True, **more}))


def another_turn(folder: Path) -> Writer:
    """The two turns and a third one."""
    w = session(folder)
    w.ask("third request")
    w.say("Something else was renamed.", stop="end_turn")
    return w


def long_turns(count: int, size: int) -> Writer:
    """So many turns of so many sentences."""
    w = Writer(prompt_ids=True)
    for number in range(count):
        w.ask(f"request number {number}")
        w.say(" ".join(f"Sentence {n} of answer {number} is here." for n in range(size)), stop="end_turn")
    return w


def take_in(con: sqlite3.Connection, w: Writer, folder: Path) -> None:
    """The lines so far, as a hook reads them."""
    save(w, folder)
    ingest.catch_up(con, "s", str(folder / "s.jsonl"))


class Model:
    """Answers by the sentences that it finds in the request."""

    def __init__(self, answers: dict[str, str], *, rest: str = "") -> None:
        self.answers = answers
        self.rest = rest
        self.requests: list[str] = []

    def __call__(self, request: str, _model: str, _patience: float) -> Reply:
        """One line for each sentence that is known."""
        self.requests.append(request)
        lines = []
        for number, said in re.findall(r"^(#?\d+) (.*)$", request.partition("The session:")[2], re.MULTILINE):
            lines += [f"{number} {word}" for words, word in self.answers.items() if words in said]
        lines += [f"{n} FIXED" for n, said in re.findall(r"^(#\d+) (.*)$", request, re.MULTILINE) if said == SLOW]
        return Reply("\n".join([*lines, self.rest]), usage={"input_tokens": 100, "output_tokens": 10}, cost=0.001)


@pytest.fixture
def told(con: sqlite3.Connection, tmp_path: Path) -> sqlite3.Connection:
    """A memory that took in the two turns."""
    session(tmp_path)
    ingest.catch_up(con, "s", str(tmp_path / "s.jsonl"))
    return con


def judgments(con: sqlite3.Connection) -> list[tuple[str, str, str, int]]:
    """(source, category, content, resolved) of what would be given back."""
    return con.execute(
        "SELECT source, category, content, resolved FROM judgments WHERE confidence >= 0.55 ORDER BY turn_number, id"
    ).fetchall()


def test_nobody_is_asked_unless_the_user_wants_it(told: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Off by default, off for anything but true, off inside a call of our own."""
    for config in ("{}", '{"model_help": "yes"}', '{"model_help": 1}', "broken"):
        Path(hook_io.home(), "config.json").write_text(config)
        assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    switch()
    monkeypatch.setenv(client_call.GUARD, "1")
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    assert memory_read.model_use(told).requests == 0


def test_the_model_replaces_the_rules_where_it_was_asked(told: sqlite3.Connection) -> None:
    """Its judgments and outcomes stand, what the rules took for something goes to the search, the block has it."""
    switch()
    model = Model({SLOW: "FIXED", CHOSEN: "DECISION"}, rest="T1 a cache of tokens was chosen\nT2: cache added.")
    assert model_help.judge(told, "s", model) == (1, 1)
    assert judgments(told) == [("model", "ISSUE", SLOW, 1), ("model", "DECISION", CHOSEN, 0)]
    assert told.execute("SELECT count(*) FROM judgments WHERE source='rule'").fetchone()[0] > 0
    lines = [row[0] for row in told.execute("SELECT summary FROM skeletons ORDER BY turn_number")]
    assert lines == [f"{FIRST} → a cache of tokens was chosen", "and now? → cache added"]
    text = "\n".join(block.lay_out(block.gather(told, "s"), "s", "b1").parts)
    assert CHOSEN in text
    assert "a cache of tokens was chosen" in text
    assert "cache of tokens" in lookup.answer(told, "search", "tokens", "s", 5_000)


def test_what_the_model_doubts_is_not_given_back(told: sqlite3.Connection) -> None:
    """A question mark behind the word: kept for search, whatever the mark-up around it."""
    switch()
    model_help.judge(told, "s", Model({SLOW: "**ISSUE**?", CHOSEN: "DECISION"}))
    assert [row[2] for row in judgments(told)] == [CHOSEN]
    kept = told.execute("SELECT source, confidence FROM judgments WHERE content=?", (SLOW,)).fetchall()
    assert ("model", model_help.DOUBTED) in kept


def test_a_turn_is_asked_about_once_until_it_grows(told: sqlite3.Connection, tmp_path: Path) -> None:
    """The second compaction asks about the new turn only, and whether the old issue is settled now."""
    switch()
    model_help.judge(told, "s", Model({SLOW: "ISSUE"}))
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    take_in(told, another_turn(tmp_path), tmp_path)
    model = Model({"renamed": "IMPL"})
    assert model_help.judge(told, "s", model) == (1, 1)
    assert CHOSEN not in model.requests[0]
    assert [row[1:] for row in judgments(told)] == [("ISSUE", SLOW, 1), ("IMPL", "Something else was renamed.", 0)]
    assert told.execute("SELECT resolved_by FROM judgments WHERE content=? AND resolved", (SLOW,)).fetchone() == (
        "model",
    )


def test_a_turn_that_grew_is_asked_about_again(told: sqlite3.Connection, tmp_path: Path) -> None:
    """A compaction in the middle of a turn, and another one later in the same turn."""
    switch()
    w = session(tmp_path)
    w.ask("third, and a long one")
    w.say("We drop the index for now.")
    take_in(told, w, tmp_path)
    assert model_help.judge(told, "s", Model({"drop the index": "DECISION"})) == (1, 1)
    w.say("We keep the table, though.", stop="end_turn")
    take_in(told, w, tmp_path)
    model = Model({"keep the table": "DECISION"})
    assert model_help.judge(told, "s", model) == (1, 1)
    assert "We keep the table, though." in model.requests[0]
    assert SLOW not in model.requests[0]


def test_at_most_four_requests_at_once(con: sqlite3.Connection, tmp_path: Path) -> None:
    """Of a very long session the newest turns; the others have their turn the next time."""
    switch(model_help_tokens=10_000_000)
    take_in(con, long_turns(12, 95), tmp_path)
    first, second = Model({"answer 11": "IMPL"}), Model({"answer 0": "IMPL"})
    assert model_help.judge(con, "s", first)[0] == len(first.requests) == model_help.SIDE_BY_SIDE
    assert any("answer 11 " in request for request in first.requests)
    assert not any("answer 0 " in request for request in first.requests)
    con.execute("UPDATE turns SET model_items=items WHERE turn_number > 4")
    model_help.judge(con, "s", second)
    assert any("answer 0 " in request for request in second.requests)


def test_what_the_rules_say_later_does_not_undo_it(told: sqlite3.Connection, tmp_path: Path) -> None:
    """The running turn was judged in the middle of a compaction; it goes on and is read again."""
    switch()
    w = session(tmp_path)
    w.ask("third")
    w.say("We drop the index for now.")
    take_in(told, w, tmp_path)
    model_help.judge(told, "s", Model({"drop the index": "DECISION"}))
    w.say("Fixed the header.", stop="end_turn")
    take_in(told, w, tmp_path)
    found = [row[:3] for row in judgments(told)]
    assert ("model", "DECISION", "We drop the index for now.") in found
    assert ("rule", "IMPL", "Fixed the header.") in found


@pytest.mark.parametrize("answer", ["", "Sure, here you are!", "900 ISSUE\nT99 not asked", "1. maybe ISSUE"])
def test_an_odd_answer_changes_nothing(told: sqlite3.Connection, answer: str) -> None:
    """Nothing in the form that was asked for: the rules stand, and the turns are asked about again next time."""
    switch()
    before = told.execute("SELECT * FROM judgments").fetchall(), told.execute("SELECT * FROM skeletons").fetchall()
    assert model_help.judge(told, "s", lambda *_: Reply(answer)) == (1, 0)
    assert before == (
        told.execute("SELECT * FROM judgments").fetchall(),
        told.execute("SELECT * FROM skeletons").fetchall(),
    )
    assert model_help.judge(told, "s", Model({SLOW: "ISSUE"})) == (1, 1)
    outcomes = [row[0] for row in told.execute("SELECT outcome FROM model_requests ORDER BY id")]
    assert outcomes == ["not understood", "judged"]


@pytest.mark.parametrize("value", [-1, 0, 0.0, "5000", 5e3, True, [1]])
def test_a_budget_that_is_no_number_allows_nothing(told: sqlite3.Connection, value: Any) -> None:
    """What is not understood must not cost money."""
    switch(model_help_tokens=value)
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)


def test_one_bad_answer_does_not_lose_the_others(con: sqlite3.Connection, tmp_path: Path) -> None:
    """Halves of surrogate pairs, numbers beyond any bound, and text that would move the cursor of a terminal."""
    switch(model_help_tokens=10_000_000)
    take_in(con, long_turns(4, 120), tmp_path)
    odd = iter(
        [
            Reply(
                "1 ISSUE\nT4 \ud800 \x1b[2Jred\u202e", usage={"input_tokens": 10**30, "output_tokens": -5}, cost=10**400
            ),
            Reply(fault="\ud800", usage={"input_tokens": 0, "output_tokens": 0}, cost=float("inf")),
            Reply("T2 " + "[" * 200_000 + "\n1 IMPL", usage={"input_tokens": 7}),
            Reply("1 DECISION", usage={"input_tokens": 7, "output_tokens": 2}),
        ]
    )
    assert model_help.judge(con, "s", lambda *_: next(odd)) == (4, 3)
    rows = con.execute(
        "SELECT outcome, input_tokens, output_tokens, cost_usd FROM model_requests ORDER BY id"
    ).fetchall()
    assert sorted(rows, key=str) == sorted(
        [("judged", 10**9, 0, None), ("\ufffd", 0, 0, None), ("judged", 7, 0, None), ("judged", 7, 2, None)], key=str
    )
    assert all(text.isprintable() for (text,) in con.execute("SELECT summary FROM skeletons"))


def test_only_a_later_turn_settles_an_issue(told: sqlite3.Connection) -> None:
    """The newest turns were judged first; older ones that follow in another request cannot close their issues."""
    switch()
    told.execute("UPDATE turns SET model_items=items WHERE turn_number=2")
    told.execute(
        "INSERT INTO judgments(session_id, turn_number, category, content, confidence, content_hash, source) "
        "VALUES ('s', 2, 'ISSUE', ?, 0.9, 'x', 'model')",
        (SLOW,),
    )
    model = Model({}, rest="T1 chosen")
    assert model_help.judge(told, "s", model) == (1, 1)
    assert "Open before" not in model.requests[0]


def test_what_the_user_settled_meanwhile_stays_so(told: sqlite3.Connection, tmp_path: Path) -> None:
    """And an answer that closes nothing but issues is understood."""
    switch()
    model_help.judge(told, "s", Model({SLOW: "ISSUE"}))
    take_in(told, another_turn(tmp_path), tmp_path)
    ((issue,),) = told.execute("SELECT id FROM judgments WHERE content=? AND source='model'", (SLOW,)).fetchall()

    def meanwhile(*_: Any) -> Reply:
        layers.resolve(memory_db.connect(), "s", issue)
        return Reply(f"#{issue} FIXED\n" * 3)

    assert model_help.judge(told, "s", meanwhile) == (1, 1)
    assert told.execute("SELECT resolved_by FROM judgments WHERE id=?", (issue,)).fetchone() == ("user",)


def test_a_session_that_is_forgotten_meanwhile_stays_forgotten(told: sqlite3.Connection) -> None:
    """Nothing of the answer is written."""
    switch()

    def meanwhile(*_: Any) -> Reply:
        upkeep.forget(memory_db.connect(), "s")
        return Reply("2 ISSUE\nT1 something")

    model_help.judge(told, "s", meanwhile)
    for table in ("judgments", "skeletons", "model_requests", "pending"):
        assert told.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_the_time_that_the_hook_has_used_is_gone(told: sqlite3.Connection) -> None:
    """Reading a transcript for the first time may take long; then less is left for the model, or nothing."""
    switch()
    given: list[float] = []
    model_help.judge(
        told, "s", lambda _r, _m, patience: given.append(patience) or Reply("no"), begun=time.monotonic() - 40
    )
    assert 10 < given[0] <= 12
    assert model_help.judge(told, "s", pytest.fail, begun=time.monotonic() - 55) == (0, 0)


def test_a_failing_client_changes_nothing(told: sqlite3.Connection) -> None:
    """Any exception is a fault of that request, booked and logged."""

    def fail(*_: Any) -> Reply:
        raise OSError("no such thing")

    switch()
    assert model_help.judge(told, "s", fail) == (1, 0)
    assert told.execute("SELECT outcome FROM model_requests").fetchone() == ("OSError: no such thing",)
    assert "model help" in Path(hook_io.home(), "hooks.log").read_text()


def test_of_two_copies_one_asks(told: sqlite3.Connection) -> None:
    """The hook is registered twice, or was killed while it waited: the same turns are not paid for twice at once."""
    switch()

    def meanwhile(*_: Any) -> Reply:
        assert model_help.judge(memory_db.connect(), "s", pytest.fail) == (0, 0)
        return Reply("2 ISSUE", usage={"input_tokens": 9, "output_tokens": 1})

    assert model_help.judge(told, "s", meanwhile) == (1, 1)
    told.execute("UPDATE turns SET model_items=NULL")
    told.execute("UPDATE model_requests SET outcome='asked'")
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    told.execute("UPDATE model_requests SET at=datetime('now', '-2 minutes')")
    assert model_help.judge(told, "s", Model({SLOW: "ISSUE"})) == (1, 1)


def test_the_budget_of_a_session(told: sqlite3.Connection) -> None:
    """What was spent counts, also for answers that brought nothing; above the limit nobody is asked."""
    switch(model_help_tokens=0)
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    switch(model_help_tokens=2_000)
    costly = Reply("no", usage={"input_tokens": 900, "cache_read_input_tokens": 1_000, "output_tokens": 90})
    assert model_help.judge(told, "s", lambda *_: costly) == (1, 0)
    assert model_help.spent(told, "s") == 1_990
    assert model_help.judge(told, "s", pytest.fail) == (0, 0)
    assert str(memory_read.model_use(told)) == "1 request, 0 of use, 1,990 tokens"
    assert memory_read.model_use(told, "another").requests == 0


def test_many_turns_go_out_in_bearable_requests() -> None:
    """The newest turns first, each sentence once, a turn that is too long from its end."""
    said = [
        model_prompt.Said(turn, "assistant", " ".join(f"Sentence {n} of turn {turn} is here." for n in range(90)), 1)
        for turn in range(1, 8)
    ]
    said.append(model_prompt.Said(8, "assistant", "\n".join(f"Line {n} of a very long turn." for n in range(900)), 1))
    made = model_prompt.chunks(said)
    assert [chunk.turns for chunk in made] == [[8], [6, 7], [4, 5], [2, 3], [1]]
    assert all(len(chunk.sentences) <= model_prompt.SENTENCES for chunk in made)
    assert made[0].sentences[model_prompt.SENTENCES].text == "Line 899 of a very long turn."
    request = model_prompt.request(made[1], {7: "the old one"})
    assert "#7 the old one" in request
    assert request.index("\nT6 ") < request.index("\nT7 ")


@given(st.text(), st.lists(st.sampled_from(["1 ISSUE", "T1 done", "#3 FIXED", "2) **DECISION**", "- 1: IMPL"])))
def test_any_answer_is_read_without_harm(text: str, lines: list[str]) -> None:
    """Only numbers that were asked about come out of it."""
    (chunk,) = model_prompt.chunks([model_prompt.Said(1, "user", "Please do this now.\nAnd that as well.", 1)])
    found = model_prompt.read("\n".join([text, *lines]), chunk, {3: "old"})
    if found is not None:
        assert set(found.labels) <= {1, 2}
        assert set(found.outcomes) <= {1}
        assert found.fixed <= {3}


def _switches(arguments: tuple[str, ...]) -> list[str]:
    """Without the words of the system prompt."""
    place = arguments.index("--system-prompt")
    return sorted((*arguments[:place], *arguments[place + 2 :]))


def running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class TestClient:
    """The user's client as a program, a small one in its place."""

    @pytest.fixture
    def fake(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClaude:
        """On the path, inside a session."""
        made = FakeClaude(tmp_path)
        monkeypatch.setenv("PATH", str(made.folder))
        monkeypatch.setenv("CLAUDECODE", "1")
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "outer")
        monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "kept")
        return made

    def test_it_runs_apart_from_everything(self, fake: FakeClaude) -> None:
        """No tools, no settings, an empty folder, the guard for our hooks, the user's own login."""
        reply = client_call.ask("x" * 300_000, "haiku", 20)
        assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Port is 443.", 43, 9)
        (call,) = fake.calls
        assert (call["bytes"], call["files"], call["env"][client_call.GUARD]) == (300_000, [], "1")
        assert "CLAUDECODE" not in call["env"]
        assert "CLAUDE_CODE_SESSION_ID" not in call["env"]
        assert call["env"]["CLAUDE_CODE_OAUTH_TOKEN"] == "kept"  # noqa: S105  (made up)
        assert call["argv"][-2:] == ["--model", "haiku"]
        assert call["argv"][call["argv"].index("--tools") + 1] == ""

    def test_a_flood_is_ended(self, fake: FakeClaude) -> None:
        """What it writes does not fill the disk or the memory."""
        fake.does("while True: sys.stdout.write('1 ISSUE\\n' * 100_000)")
        assert client_call.ask("a", "haiku", 60).fault == "answered far too much"

    @pytest.mark.parametrize(
        ("printed", "code", "fault"),
        [
            ("error: unknown option '--tools'", 1, "ended with code 1"),
            ({**RESULT, "is_error": True, "result": "Not logged in"}, 1, "the client reports: Not logged in"),
            ({**RESULT, "result": "  "}, 0, "the client reports"),
            ([1], 0, "without a result"),
        ],
    )
    def test_what_is_no_answer(self, fake: FakeClaude, printed: Any, code: int, fault: str) -> None:
        """A fault is named and no text comes of it."""
        fake.prints(printed, code=code)
        reply = client_call.ask("x", "haiku", 20)
        assert (reply.text, fault in reply.fault) == ("", True), reply.fault

    def test_it_is_ended_at_the_deadline(self, fake: FakeClaude, tmp_path: Path) -> None:
        """With what it started, which holds its output open."""
        pids = tmp_path / "pids"
        fake.does(
            "import subprocess\n"
            "child = subprocess.Popen(['/bin/sleep', '60'])\n"
            f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
            "time.sleep(60)"
        )
        begun = time.monotonic()
        assert client_call.ask("a", "haiku", 5).fault == "not answered in time"
        assert time.monotonic() - begun < 20
        for pid in map(int, pids.read_text().split()):
            assert not running(pid)

    def test_several_are_asked_at_the_same_time(self, fake: FakeClaude, tmp_path: Path) -> None:
        """Each waits until all four are there."""
        fake.does(
            f"open({str(tmp_path)!r} + f'/here-{{os.getpid()}}', 'w').close()\n"
            f"while len([n for n in os.listdir({str(tmp_path)!r}) if n.startswith('here-')]) < 4: time.sleep(0.05)\n"
            f"print({json.dumps(RESULT)!r})"
        )
        replies = client_call.side_by_side(["a", "b", "c", "d"], "haiku", 60, client_call.ask)
        assert [reply.text for reply in replies] == ["Port is 443."] * 4

    def test_what_it_leaves_running_is_not_waited_for(self, fake: FakeClaude) -> None:
        """Something that it started holds its output open after it has answered."""
        fake.does(f"import subprocess; subprocess.Popen(['/bin/sleep', '20']); print({json.dumps(RESULT)!r})")
        begun = time.monotonic()
        assert client_call.ask("a", "haiku", 60).text == "Port is 443."
        assert time.monotonic() - begun < 19

    def test_its_switches_are_those_of_the_summarizer(self) -> None:
        """Two programs keep the same client apart from the user's set-up; hooks cannot import the other one's list."""
        assert _switches(client_call.ARGUMENTS) == _switches(claude_cli._ARGUMENTS)
        for name in ("CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT"):
            assert claude_cli._NOT_PASSED_ON.fullmatch(name)
            assert name.startswith(client_call.NOT_PASSED_ON)

    def test_no_client(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """Nothing on the path."""
        monkeypatch.setenv("PATH", str(tmp_path))
        reply = client_call.ask("x", "haiku", 1)
        assert (reply.fault, reply.sent) == ("claude is not on the path", False)

    def test_what_was_never_sent_costs_nothing(
        self, told: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        """A client that is not there does not use the budget up; one that gave no figures counts as estimated."""
        switch()
        monkeypatch.setenv("PATH", str(tmp_path))
        assert model_help.judge(told, "s") == (1, 0)
        assert model_help.spent(told, "s") == 0
        assert model_help.judge(told, "s", lambda *_: Reply(fault="not answered in time")) == (1, 0)
        assert model_help.spent(told, "s") > 300

    def test_the_hook_asks_and_builds_the_block_from_it(
        self, fake: FakeClaude, told: sqlite3.Connection, tmp_path: Path
    ) -> None:
        """PreCompact as a process: the note it prints names the issue that the model found."""
        switch()
        fake.prints({**RESULT, "result": "2 ISSUE\n3 DECISION\nT1 a cache was chosen"})
        event = {
            "hook_event_name": "PreCompact",
            "session_id": "s",
            "transcript_path": str(tmp_path / "s.jsonl"),
            "trigger": "manual",
        }
        done = subprocess.run(
            [sys.executable, "-S", "-E", str(HOOKS / "pre_compact.py")],
            input=json.dumps(event),
            env={**os.environ, "THROUGHLINE_HOME": hook_io.home()},
            capture_output=True,
            text=True,
            check=True,
        )
        assert f"open issue: {SLOW}" in done.stdout
        assert done.stderr == ""
        assert len(fake.calls) == 1
        text = "\n".join(row[0] for row in told.execute("SELECT text FROM pending_parts ORDER BY part"))
        assert f"{FIRST} → a cache was chosen" in text
        assert told.execute("SELECT model, sentences, outcome FROM model_requests").fetchall() == [
            ("sonnet", 5, "judged")
        ]
