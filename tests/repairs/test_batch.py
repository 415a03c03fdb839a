"""Batches with scripted replies: order, what each request sees, what is written, and what becomes of failures."""

import doctest
import os
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lcm_lab import lab as labs
from lcm_lab import tokens
from lcm_lab.analysis.health import markers
from lcm_lab.errors import BadReply, LcmLabError, ModelBusy, ModelError, ModelRefused, NotFound, Refused, UsageError
from lcm_lab.lab import Lab
from lcm_lab.repairs import batch as batches
from lcm_lab.repairs import journal
from lcm_lab.repairs.batch import Batch, Proposal
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.store import copies
from lcm_lab.summarizer.seam import Draft, Request, Scripted
from tests.command import beside, change, dump, rows
from tests.conftest import StoreMaker
from tests.repairs.wide import wide

FOOTER = "\nExpand for details about: ports"
BROKEN = f"half of a text\n{markers.FALLBACK}"
BREAK_LEAVES = f"UPDATE summaries SET content = 'cut short' || char(10) || '{markers.FALLBACK}' WHERE depth = 0;"
BREAK_ALL = f"UPDATE summaries SET content = 'cut short' || char(10) || '{markers.FALLBACK}';"


def new_text(request: Request) -> str:
    """A good reply that tells which request it is for."""
    return f"new text of {request.summary_id}{FOOTER}"


def lab(path: Path) -> Lab:
    """A Lab in UTC."""
    return labs.open(path, tz="UTC")


def statuses(result: BatchResult) -> dict[str, str]:
    """What became of each item."""
    return {one.summary_id: one.status for one in result.items}


def contents(path: Path) -> dict[str, str]:
    """The text of each summary."""
    return dict(rows(path, "SELECT summary_id, content FROM summaries"))


def scripted(**replies: Any) -> Scripted:
    """Replies by the id of the summary; :func:`new_text` for those not named."""
    return Scripted(lambda request: replies.get(request.summary_id, new_text(request)))


def test_doctests() -> None:
    assert doctest.testmod(batches).failed == 0


# ---- in turn --------------------------------------------------------------------------------------------------------


def test_in_turn_each_request_sees_what_was_written_before(base_store: Path) -> None:
    model = scripted()
    result = lab(base_store).rewrite(44, everything=True).apply(model)
    assert [one.summary_id for one in model.requests] == ["sum_la", "sum_lb", "sum_c1"]
    assert "previous_context>" not in model.requests[0].prompt
    assert "<previous_context>\nnew text of sum_la" in model.requests[1].prompt
    assert "new text of sum_la" in model.requests[2].prompt
    assert "new text of sum_lb" in model.requests[2].prompt
    assert result.complete
    assert result.applied
    assert {key: text.split(FOOTER)[0] for key, text in contents(base_store).items()} == {
        key: f"new text of {key}" for key in ("sum_la", "sum_lb", "sum_c1")
    }
    assert result.stale == ()


def test_text_tokens_and_model_are_written(base_store: Path) -> None:
    text = "\n  Port 443, since 8080 is blocked: 端口.\nExpand for details about: ports  \n\n"
    model = Scripted([Draft(text, "claude-of-the-day", "anthropic", stop_reason="end_turn")])
    result = lab(base_store).rewrite(44, "sum_la").apply(model)
    assert rows(base_store, "SELECT content, token_count, model FROM summaries WHERE summary_id = 'sum_la'") == [
        (text.strip(), tokens.plugin_tokens(text.strip()), "claude-of-the-day")
    ]
    assert result.items[0].tokens_after == tokens.plugin_tokens(text.strip())
    assert result.items[0].tokens_before == 7


def test_a_store_without_the_column_model(make_store: StoreMaker) -> None:
    path = make_store(version="0.1.0")
    before = dump(path)
    result = lab(path).rewrite(44, everything=True).apply(scripted())
    assert result.complete
    assert contents(path)["sum_c1"] == f"new text of sum_c1{FOOTER}"
    lab(path).undo(result.batch)
    assert dump(path) == before


def test_a_preview_writes_nothing_and_sees_what_apply_would(base_store: Path, make_store: StoreMaker) -> None:
    other = make_store()
    before = dump(base_store)
    seen, written = scripted(), scripted()
    result = lab(base_store).rewrite(44, everything=True).preview(seen)
    assert set(statuses(result).values()) == {"drafted"}
    assert (result.applied, result.backup, result.stale, result.complete) == (False, None, (), True)
    assert (dump(base_store), beside(base_store)) == (before, [])
    lab(other).rewrite(44, everything=True).apply(written)
    assert [one.prompt for one in seen.requests] == [one.prompt for one in written.requests]
    plans = [one.plan for one in result.items]
    assert [plan.text.after.content for plan in plans if plan and plan.text] == [
        f"new text of {key}{FOOTER}" for key in ("sum_la", "sum_lb", "sum_c1")
    ]


def test_steps_of_a_review_one_by_one(base_store: Path) -> None:
    batch = lab(base_store).rewrite(44, "sum_lb")
    step = batch.steps[0]
    material = batch.material(step, {"sum_la": "a draft of the one before"})
    request = batch.request(material)
    assert "a draft of the one before" in request.prompt
    assert request.target_tokens == material.target_tokens
    proposal = batch.proposal(step, material, request, Draft(new_text(request), "m", "p"))
    assert proposal.verdict.may_be_written
    assert proposal.plan is not None
    proposal.plan.apply()
    assert contents(base_store)["sum_lb"] == f"new text of sum_lb{FOOTER}"


@pytest.mark.parametrize(
    "stored",
    ["CAST(x'41ff42' AS TEXT)", "x'41ff42'", "x'4142'", "''", "'  a' || char(13, 10) || 'b  '", "'\U0001f525'"],
)
@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("half \ud83d of one", "half \ufffd of one"),
        ("two \ud83d\ude00 halves", "two \U0001f600 halves"),
        ("no \0 end", "no  end"),
        ("\u2028 \x1b[2J 端口", "\u2028 \x1b[2J 端口"),
    ],
)
def test_odd_texts_are_replaced_and_come_back(stored: str, said: str, kept: str, make_store: StoreMaker) -> None:
    path = make_store(
        f"UPDATE summaries SET content = {stored}, token_count = '12 tokens' WHERE summary_id = 'sum_la';"
    )
    before = dump(path)
    result = lab(path).rewrite(44, "sum_la").apply(Scripted([f"a {said}{FOOTER}"]))
    assert statuses(result) == {"sum_la": "applied"}, result.items[0].reason
    assert contents(path)["sum_la"] == f"a {kept}{FOOTER}"
    lab(path).undo()
    assert dump(path) == before


def test_nobody_to_ask_and_no_jobs(base_store: Path) -> None:
    batch = lab(base_store).rewrite(44, everything=True)
    with pytest.raises(UsageError, match="nobody to ask"):
        batch.apply()
    with pytest.raises(UsageError, match="nobody to ask"):
        batch.preview()
    with pytest.raises(UsageError, match="At least one job"):
        batch.apply(scripted(), jobs=0)
    with pytest.raises(UsageError, match="backup"):
        batch.apply(scripted(), backup="sometimes")
    assert batch.by(scripted()).preview().complete


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_no_request_leaves_a_transaction_open(mode: str, make_store: StoreMaker) -> None:
    """B46, B65: another program writes, and empties the log, while the model thinks."""
    base_store = make_store(journal_mode=mode)

    def reply(request: Request) -> str:
        with closing(sqlite3.connect(base_store, timeout=0, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE conversations SET title = ? WHERE conversation_id = 45", (request.summary_id,))
            other.execute("COMMIT")
            assert other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        return new_text(request)

    assert lab(base_store).rewrite(44, everything=True).apply(Scripted(reply)).complete


def test_progress_counts_every_item(base_store: Path) -> None:
    seen: list[tuple[str, str, int, int]] = []

    def progress(outcome: Outcome, done: int, total: int) -> None:
        seen.append((outcome.summary_id, outcome.status, done, total))

    model = scripted(sum_lb=ModelError("no"))
    lab(base_store).rewrite(44, everything=True).apply(model, progress=progress)
    assert seen == [("sum_la", "applied", 1, 3), ("sum_lb", "failed", 2, 3), ("sum_c1", "applied", 3, 3)]


# ---- side by side ---------------------------------------------------------------------------------------------------


class Peak:
    """A summarizer that counts how many requests it is asked at once."""

    def __init__(self, seconds: float) -> None:
        self.scripted = scripted()
        self.peak = self.now = 0
        self._seconds = seconds
        self._lock = threading.Lock()

    @property
    def described(self) -> str:
        """As any summarizer."""
        return "counted"

    @property
    def model(self) -> str:
        """As any summarizer."""
        return "counted"

    def complete(self, request: Request) -> Draft:
        """The reply, after a while."""
        with self._lock:
            self.now += 1
            self.peak = max(self.peak, self.now)
        time.sleep(self._seconds)
        with self._lock:
            self.now -= 1
        return self.scripted.complete(request)


@pytest.mark.parametrize("operation", ["rewrite", "repair"])
def test_side_by_side_ends_in_the_same_set(operation: str, make_store: StoreMaker, tmp_path: Path) -> None:
    broken = operation == "repair"
    one, many = make_store(wide(10, broken=broken)), tmp_path / "many" / "lcm.db"
    many.parent.mkdir()
    shutil.copyfile(one, many)

    def batch(path: Path) -> Batch:
        return lab(path).repair(46) if broken else lab(path).rewrite(46, everything=True)

    peak = Peak(0.02)
    assert batch(one).apply(scripted()).complete
    result = batch(many).apply(peak, jobs=4)
    assert result.complete
    assert [item.summary_id for item in result.items] == [step.summary_id for step in batch(one).steps or result.items]
    assert dump(many, leave_out=["summaries"]) == dump(one, leave_out=["summaries"])
    assert contents(many) == contents(one)
    assert 2 <= peak.peak <= 4
    assert len([name for name in beside(many) if name.endswith(".bak")]) == 1


@pytest.mark.parametrize("write", [True, False])
def test_side_by_side_siblings_see_the_old_texts(write: bool, make_store: StoreMaker) -> None:  # noqa: FBT001
    """The named difference of --jobs N: nobody waits for a neighbour, so all see what it said before the batch."""
    path = make_store(wide(8))
    batch, model = lab(path).rewrite(46, everything=True), scripted()
    result = batch.apply(model, jobs=3) if write else batch.preview(model, jobs=3)
    assert result.complete
    prompts = {one.summary_id: one.prompt for one in model.requests}
    for i in range(1, 8):
        assert f"<previous_context>\nold text of {i - 1}\n" in prompts[f"w_{i:03}"]
        assert "new text" not in prompts[f"w_{i:03}"]
    assert all(f"new text of w_{i:03}" in prompts["w_top"] for i in range(8))
    assert "old text" not in prompts["w_top"]


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_broken_neighbour_never_enters_a_prompt(jobs: int, make_store: StoreMaker) -> None:
    """Also not where only its model says that it is broken, and also not its old text once it was repaired."""
    path = make_store(wide(8), "UPDATE summaries SET model = 'emergency-fallback' WHERE conversation_id = 46;")
    model = scripted()
    assert lab(path).repair(46).apply(model, jobs=jobs).complete
    assert len(model.requests) == 9
    assert not [one.summary_id for one in model.requests if "old text" in one.prompt]


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("operation", ["rewrite", "repair"])
def test_sources_come_first_where_depths_are_wrong(operation: str, jobs: int, make_store: StoreMaker) -> None:
    path = make_store(
        wide(3, broken=True),
        f"""INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at)
        VALUES ('w_same', 46, 'condensed', 1, 'old text of the odd one{chr(10) + markers.FALLBACK}', 9, '2026-01-01');
        INSERT INTO summary_parents VALUES ('w_same', 'w_top', 0);""",
    )
    model = Peak(0.02)
    batch = lab(path).repair(46) if operation == "repair" else lab(path).rewrite(46, everything=True)
    result = batch.apply(model, jobs=jobs)
    assert result.complete, [one.reason for one in result.items]
    asked = {one.summary_id: one.prompt for one in model.scripted.requests}
    assert "new text of w_top" in asked["w_same"]


# ---- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_that_fails_stops_no_other(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(5))
    model = scripted(w_002=BadReply("an empty reply"))
    result = lab(path).rewrite(46, depth=0).apply(model, jobs=jobs)
    assert statuses(result) == {f"w_00{i}": "failed" if i == 2 else "applied" for i in range(5)}
    assert (result.items[2].reason, result.items[2].tokens_before) == ("an empty reply", 4)
    assert result.items[2].tokens_after is None
    assert result.items[2].journal_id is None
    assert (result.complete, result.stopped) == (False, None)
    assert contents(path)["w_002"] == "old text of 2"
    assert rows(path, "SELECT token_count FROM summaries WHERE summary_id = 'w_002'") == [(4,)]


def test_what_rests_on_a_failed_repair_is_not_tried(make_store: StoreMaker) -> None:
    path = make_store(BREAK_ALL)
    for model in (scripted(sum_la=BadReply("empty")), scripted(sum_la=f"still bad\n{markers.FALLBACK}")):
        for write in (False, True):
            batch = lab(path).repair(44)
            result = batch.apply(model) if write else batch.preview(model)
            ends = statuses(result)
            assert (ends["sum_la"], ends["sum_c1"]) == ("failed", "failed")
            assert "sum_c1" not in [one.summary_id for one in model.requests]
            reason = next(one.reason for one in result.items if one.summary_id == "sum_c1")
            assert "sum_la are still broken: repair them first" in reason
    assert contents(path)["sum_lb"] == f"new text of sum_lb{FOOTER}"
    assert markers.FALLBACK in contents(path)["sum_la"]
    assert markers.FALLBACK in contents(path)["sum_c1"]


def test_one_without_sources_is_reported_and_the_rest_goes_on(make_store: StoreMaker) -> None:
    """B10: no request is sent for it, and its line says how many of its sources were found."""
    path = make_store(BREAK_LEAVES, "PRAGMA foreign_keys=OFF; DELETE FROM messages WHERE message_id IN (1, 2);")
    batch = lab(path).repair(44)
    assert {one.summary_id: one.problem for one in batch.steps} == {"sum_la": "0 of 2 sources found", "sum_lb": None}
    assert (batch.totals.requests, batch.totals.impossible) == (1, 1)
    model = scripted()
    result = batch.apply(model)
    assert [one.summary_id for one in model.requests] == ["sum_lb"]
    assert statuses(result) == {"sum_la": "failed", "sum_lb": "applied"}
    assert "0 of 2 sources found" in result.items[0].reason


@pytest.mark.parametrize("jobs", [1, 4])
def test_all_conversations_one_after_the_other(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(BREAK_ALL, wide(4, broken=True))
    model = scripted(sum_lb=BadReply("empty"))
    result = lab(path).repair().apply(model, jobs=jobs)
    ends = statuses(result)
    assert list(ends) == ["sum_la", "sum_lb", "sum_c1", "w_000", "w_001", "w_002", "w_003", "w_top"]
    assert [key for key, end in ends.items() if end != "applied"] == ["sum_lb", "sum_c1"]
    assert [one.conversation_id for one in result.items] == [44] * 3 + [46] * 5
    assert [step.summary_id for step in lab(path).repair().steps] == ["sum_lb", "sum_c1"]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_fatal_error_stops_and_lists_the_rest(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(12))
    model = scripted(w_003=ModelRefused("The key is not accepted."))
    result = lab(path).rewrite(46, everything=True).apply(model, jobs=jobs)
    ends = statuses(result)
    assert result.stopped == "The key is not accepted."
    assert ends["w_003"] == "failed"
    assert {ends[f"w_00{i}"] for i in range(3)} == {"applied"}
    assert {ends[f"w_0{i:02}"] for i in range(6, 12)} == {"skipped"}
    assert result.items[-1].reason == "not tried: The key is not accepted."
    assert result.items[-1].tokens_before == 9
    assert len(model.requests) <= 4 + jobs


@pytest.mark.parametrize("jobs", [1, 2])
def test_five_failures_in_a_row_stop(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(20))
    model = Scripted(lambda request: new_text(request) if request.summary_id < "w_003" else ModelBusy("overloaded"))
    result = lab(path).rewrite(46, everything=True).apply(model, jobs=jobs)
    assert result.stopped == "5 requests in a row failed"
    # Side by side, one that failed may be heard of before the last good one.
    assert result.count("applied") == 3
    assert 5 <= result.count("failed") <= 3 + 2 * jobs
    assert result.count("skipped") == 21 - result.count("applied") - result.count("failed")
    assert len(model.requests) == 3 + result.count("failed")


def test_an_answer_in_between_starts_the_count_anew(make_store: StoreMaker) -> None:
    path = make_store(wide(20))
    model = Scripted(lambda one: new_text(one) if one.summary_id in ("w_004", "w_009") else ModelBusy("overloaded"))
    result = lab(path).rewrite(46, depth=0).apply(model)
    assert (result.count("applied"), result.count("failed"), result.count("skipped")) == (2, 13, 5)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_stale_plan_is_that_item_alone(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(5))

    def reply(request: Request) -> str:
        if request.summary_id == "w_001":
            change(path, "UPDATE summaries SET content = 'written by the agent' WHERE summary_id = 'w_001'")
        if request.summary_id == "w_003":
            change(path, "DELETE FROM summary_parents WHERE parent_summary_id = 'w_003'")
            change(path, "DELETE FROM summaries WHERE summary_id = 'w_003'")
        return new_text(request)

    result = lab(path).rewrite(46, depth=0).apply(Scripted(reply), jobs=jobs)
    assert statuses(result) == {f"w_00{i}": "failed" if i in (1, 3) else "applied" for i in range(5)}
    assert contents(path)["w_001"] == "written by the agent"
    assert "w_003" not in contents(path)
    assert "w_003" in result.items[3].reason
    assert result.stopped is None


def test_what_is_whole_by_now_is_not_written_over(make_store: StoreMaker) -> None:
    path = make_store(wide(4, broken=True))
    early, model = lab(path).repair(46), scripted()
    lab(path).repair(46).apply(Scripted(lambda one: f"by another {one.summary_id}{FOOTER}"))
    result = early.apply(model)
    assert (set(statuses(result).values()), model.requests) == ({"skipped"}, [])
    assert "not broken any more" in result.items[0].reason
    assert contents(path)["w_000"] == f"by another w_000{FOOTER}"


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_batches_at_the_same_time(mode: str, make_store: StoreMaker) -> None:
    """Each item is written by whoever says so, and all of it can be taken back."""
    path = make_store(wide(8, broken=True), journal_mode=mode)
    before = dump(path)
    results: dict[str, BatchResult] = {}

    def run(name: str) -> None:
        def reply(request: Request) -> str:
            time.sleep(0.002)
            return f"by {name} {request.summary_id}{FOOTER}"

        results[name] = lab(path).repair(46).apply(Scripted(reply), jobs=3)

    threads = [threading.Thread(target=run, args=(name,)) for name in "abc"]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    written = {item.summary_id: name for name, result in results.items() for item in result.items if item.journal_id}
    assert {key: text.split(FOOTER)[0] for key, text in contents(path).items() if key.startswith("w_")} == {
        key: f"by {name} {key}" for key, name in written.items()
    }
    assert [result.stopped for result in results.values()] == [None] * 3
    for result in results.values():
        if result.count("applied"):
            assert lab(path).undo(result.batch).left == ()
    assert dump(path) == before


def test_two_backups_of_the_same_millisecond(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = lab(base_store).store
    monkeypatch.setattr(copies, "_moment", lambda _store: datetime(2026, 1, 1, tzinfo=UTC))
    taken = base_store.with_name("lcm.db.lcm-lab-20260101T000000.000Z.bak.part")
    taken.write_text("another program's")
    assert copies.backup(store).path.name.endswith(".001Z.bak")
    assert copies.backup(store).path.name.endswith(".002Z.bak")
    assert taken.read_text() == "another program's"


@pytest.mark.parametrize("what", ["store", "folder", "journal", "journal is a pipe"])
def test_what_could_not_be_written_is_not_asked_for(
    what: str, base_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = journal.path_of(lab(base_store).store)
    if what == "journal is a pipe":
        os.mkfifo(there)
    elif what == "journal":
        there.touch()
    # Root may write to everything, so the file system is not asked.
    locked = {"store": base_store, "folder": base_store.parent, "journal": there}.get(what)
    monkeypatch.setattr(os, "access", lambda path, _how: path != locked)
    model = scripted()
    with pytest.raises(LcmLabError, match=r"may not be written to|is no file"):
        lab(base_store).rewrite(44, everything=True).apply(model)
    assert model.requests == []


def test_a_store_that_cannot_be_written_stops_the_batch(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lcm_lab.store.writing.WAIT_SECONDS", 0.05)
    batch, model = lab(base_store).rewrite(44, everything=True), scripted()
    before = dump(base_store)
    with closing(sqlite3.connect(base_store, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        result = batch.apply(model)
        other.execute("ROLLBACK")
    assert statuses(result) == {"sum_la": "failed", "sum_lb": "skipped", "sum_c1": "skipped"}
    assert "locked by another program" in (result.stopped or "")
    assert len(model.requests) == 1
    assert dump(base_store) == before
    # The text that could not be written is not lost: it was paid for.
    assert result.items[0].draft is not None
    assert result.items[0].plan is not None
    result.items[0].plan.apply()
    assert contents(base_store)["sum_la"] == f"new text of sum_la{FOOTER}"


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_what_was_done(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(6))

    def reply(request: Request) -> str:
        if request.summary_id == "w_003":
            raise KeyboardInterrupt
        return new_text(request)

    result = lab(path).rewrite(46, everything=True).apply(Scripted(reply), jobs=jobs)
    ends = statuses(result)
    assert result.stopped == "it was interrupted"
    assert [ends[f"w_00{i}"] for i in range(2)] == ["applied"] * 2
    assert ends["w_003"] == ends["w_005"] == ends["w_top"] == "skipped"
    for key, end in ends.items():
        assert ("new text" in contents(path)[key]) == (end == "applied")
    rest = lab(path).rewrite(46, everything=True, resume=result.batch)
    assert rest.apply(scripted()).complete
    assert all("new text" in text for key, text in contents(path).items() if key.startswith("w_"))


@pytest.mark.parametrize("when", ["after the commit", "before it"])
def test_an_interruption_while_writing_is_told_as_it_ended(
    when: str, make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_store(wide(4))
    real, moment = (journal.end, "end") if when == "after the commit" else (journal.begin, "begin")
    calls: list[int] = []

    def interrupted(*given: Any, **more: Any) -> None:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*given, **more)

    monkeypatch.setattr(journal, moment, interrupted)
    result = lab(path).rewrite(46, depth=0).apply(scripted())
    written = 2 if when == "after the commit" else 1
    assert list(statuses(result).values()) == ["applied"] * written + ["skipped"] * (4 - written)
    assert [("new text" in contents(path)[f"w_00{i}"]) for i in range(4)] == [i < written for i in range(4)]
    assert len(lab(path).history().undoable()) == written


@pytest.mark.parametrize("jobs", [1, 2])
def test_cancelled_between_two_items(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(wide(8))
    cancelled, model = threading.Event(), scripted()
    result = (
        lab(path)
        .rewrite(46, everything=True)
        .apply(model, jobs=jobs, cancelled=cancelled, progress=lambda *_one: cancelled.set())
    )
    assert result.stopped == "it was cancelled"
    assert 1 <= result.count("applied") <= jobs
    assert len(model.requests) == result.count("applied")
    assert result.count("applied") + result.count("skipped") == 9
    assert result.items[-1].reason == "not tried: it was cancelled"


def test_cancelled_before_it_began(base_store: Path) -> None:
    cancelled, model = threading.Event(), scripted()
    cancelled.set()
    result = lab(base_store).rewrite(44, everything=True).preview(model, cancelled=cancelled)
    assert set(statuses(result).values()) == {"skipped"}
    assert model.requests == []


# ---- replies that are judged ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "  \n",
        "HEARTBEAT_OK",
        "Sure! What would you like me to do?",
        f"text\n{markers.FALLBACK}",
        "[Truncated from 900 tokens]",
        Draft("The firewall blocks" + FOOTER, "m", "p", stop_reason="max_tokens"),
        Draft("The firewall blocks" + FOOTER, "m", "p", stop_reason="refusal"),
    ],
)
@pytest.mark.parametrize("operation", ["rewrite", "repair"])
def test_what_is_no_summary_is_never_written(reply: Any, operation: str, make_store: StoreMaker) -> None:
    path = make_store(BREAK_LEAVES)
    before, found = dump(path), lab(path)
    batch = found.repair(44, "sum_la") if operation == "repair" else found.rewrite(44, "sum_la")
    result = batch.apply(Scripted([reply]), confirm=lambda _one: True)
    assert statuses(result) == {"sum_la": "failed"}
    assert result.items[0].reason.startswith("the reply was refused: ")
    assert result.items[0].plan is None
    assert (dump(path), beside(path), result.backup) == (before, [], None)


def test_a_doubtful_reply_needs_a_yes(make_store: StoreMaker) -> None:
    # B17: five times the target.
    path = make_store(
        "UPDATE messages SET content = 'They tried port 8080 and then 443. ' || hex(zeroblob(12000)) WHERE message_id = 1;"
    )
    target = lab(path).rewrite(44, "sum_la").steps
    long = "They tried ports. " * 1400 + FOOTER
    asked: list[Proposal] = []

    def no(proposal: Proposal) -> bool:
        asked.append(proposal)
        return False

    before = dump(path)
    assert lab(path).rewrite(44, "sum_la").preview(Scripted([long])).items[0].status == "drafted"
    for confirm in (None, no):
        result = lab(path).rewrite(44, "sum_la").apply(Scripted([long]), confirm=confirm)
        assert statuses(result) == {"sum_la": "skipped"}
        assert "needs a look before it is written" in result.items[0].reason
        assert "times its target" in result.items[0].reason
        assert result.items[0].plan is not None
        assert (dump(path), beside(path)) == (before, [])
    assert asked[0].step == target[0]
    assert asked[0].verdict.level == "confirm"
    assert asked[0].plan is not None
    assert any("times its target" in one for one in asked[0].plan.warnings)
    result = lab(path).rewrite(44, "sum_la").apply(Scripted([long]), confirm=lambda _one: True)
    assert statuses(result) == {"sum_la": "applied"}
    assert contents(path)["sum_la"] == long.strip()


def test_a_prompt_no_model_takes_is_not_sent(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """B68."""
    monkeypatch.setattr(batches, "MODEL_LIMIT", 3000)
    change(base_store, "UPDATE messages SET content = hex(zeroblob(8000)) WHERE message_id = 1")
    model, before = scripted(), dump(base_store)
    result = lab(base_store).rewrite(44, depth=0).apply(model)
    assert [one.summary_id for one in model.requests] == ["sum_lb"]
    assert "more than any model takes (3,000); nothing was sent" in result.items[0].reason
    assert statuses(result) == {"sum_la": "failed", "sum_lb": "applied"}
    assert [row for row in dump(base_store)["summaries"] if row[0] == b"sum_la"] == [
        row for row in before["summaries"] if row[0] == b"sum_la"
    ]


# ---- plan, backup, resume, undo -------------------------------------------------------------------------------------


def test_b13_the_plan_says_what_it_will_take(make_store: StoreMaker) -> None:
    path = make_store(
        wide(6, broken=True),
        "UPDATE summaries SET content = 'x' || char(10) || '[Truncated from 900 tokens]' WHERE summary_id IN ('w_001', 'w_002');",
    )
    batch = lab(path).repair(46)
    assert dict(batch.totals.by_mark) == {"fallback mark at the end": 5, "truncation mark at the end": 2}
    assert dict(batch.totals.by_depth) == {"leaf": 6, "d1": 1}
    assert batch.totals.requests == 7
    assert batch.totals.output_tokens == 6 * 192 + 2000
    assert (batch.model, batch.operation) == ("claude-sonnet-5-5", "repair")
    assert batch.cost_usd is not None
    assert lab(path).doctor(46).model == "claude-haiku-5-5"
    assert lab(path).repair(44).note == "No summary in conversation 44 is broken."
    assert lab(path).repair(44).apply(scripted()).items == ()


def test_b13_one_backup_for_a_batch_and_before_its_first_write(make_store: StoreMaker) -> None:
    path = make_store(wide(9))
    before = dump(path)
    result = lab(path).rewrite(46, everything=True).apply(scripted(w_000=BadReply("empty")))
    kept = [name for name in beside(path) if name.endswith(".bak")]
    assert [str(path.parent / name) for name in kept] == [result.backup]
    assert dump(Path(str(result.backup))) == before
    again = lab(path).rewrite(46, "w_003").apply(scripted())
    assert again.backup == result.backup
    always = lab(path).rewrite(46, depth=0).apply(scripted(), backup="always")
    assert always.backup not in (None, result.backup)
    assert len([name for name in beside(path) if name.endswith(".bak")]) == 2


def test_no_backup_where_nothing_is_written(base_store: Path) -> None:
    """B43."""
    for model in (Scripted(lambda _one: BadReply("empty")), Scripted(lambda _one: ""), Scripted(lambda _one: "OK")):
        result = lab(base_store).rewrite(44, everything=True).apply(model)
        assert (result.backup, beside(base_store)) == (None, [])
    result = lab(base_store).rewrite(44, everything=True).apply(scripted(), backup="never")
    assert result.complete
    assert result.backup is None
    assert [name for name in beside(base_store) if name.endswith(".bak")] == []


def test_without_room_for_a_backup_nothing_is_sent(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch, model = lab(base_store).rewrite(44, everything=True), scripted()
    usage = shutil.disk_usage(base_store.parent)
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: usage._replace(free=10_000))
    with pytest.raises(Refused, match="make room"):
        batch.apply(model)
    assert model.requests == []
    assert batch.apply(model, backup="never").complete


def test_resume_leaves_out_what_was_done(make_store: StoreMaker) -> None:
    path = make_store(wide(6))
    before = dump(path)
    first = lab(path).rewrite(46, everything=True)
    result = first.apply(scripted(w_002=ModelRefused("no credit")))
    assert (result.count("applied"), result.stopped) == (2, "no credit")
    model = scripted()
    rest = lab(path).rewrite(46, everything=True, resume=result.batch)
    assert rest.skipped == ("w_000", "w_001")
    assert rest.batch_id == first.batch_id
    done = rest.apply(model)
    assert [one.summary_id for one in model.requests] == ["w_002", "w_003", "w_004", "w_005", "w_top"]
    assert done.complete
    nothing = lab(path).rewrite(46, everything=True, resume=result.batch)
    assert (nothing.steps, len(nothing.skipped)) == ((), 7)
    with pytest.raises(NotFound, match="There is no batch b_none"):
        lab(path).rewrite(46, everything=True, resume="b_none")
    undone = lab(path).undo(result.batch)
    assert (len(undone.undone), undone.left) == (7, ())
    assert dump(path) == before
    assert len(lab(path).rewrite(46, everything=True, resume=result.batch).steps) == 7


@pytest.mark.parametrize("jobs", [1, 4])
def test_undo_of_a_batch_restores_everything(jobs: int, make_store: StoreMaker) -> None:
    path = make_store(
        wide(7, broken=True),
        """UPDATE summaries SET descendant_count = 7, descendant_token_count = 28, source_message_token_count = 42
        WHERE summary_id = 'w_top'; UPDATE summaries SET source_message_token_count = 6 WHERE depth = 0;""",
    )
    before = dump(path)
    result = lab(path).repair(46).apply(scripted(), jobs=jobs)
    assert result.complete
    own = rows(path, "SELECT sum(token_count) FROM summaries WHERE conversation_id = 46 AND depth = 0")[0][0]
    assert rows(path, "SELECT descendant_token_count FROM summaries WHERE summary_id = 'w_top'") == [(own,)]
    assert lab(path).repair(46).steps == ()
    undone = lab(path).undo(result.batch)
    assert len(undone.undone) == 8
    assert dump(path) == before
    with pytest.raises(NotFound, match="was undone by"):
        lab(path).undo(result.batch)


def test_what_was_made_from_a_rewritten_one_is_stale(base_store: Path) -> None:
    result = lab(base_store).rewrite(44, "sum_la").apply(scripted())
    assert result.stale == ("sum_c1",) == lab(base_store).stale(44) == lab(base_store).stale()
    assert lab(base_store).stale(45) == ()
    result = lab(base_store).rewrite(44, depth=0).apply(scripted(sum_lb=BadReply("empty")))
    assert result.stale == ("sum_c1",)
    result = lab(base_store).rewrite(44, "sum_c1").apply(scripted())
    assert result.stale == () == lab(base_store).stale(44)
    lab(base_store).rewrite(44, "sum_lb").apply(scripted())
    assert lab(base_store).stale(44) == ("sum_c1",)
    lab(base_store).undo()
    assert lab(base_store).stale(44) == ()


def test_stale_goes_up_through_all_levels(make_store: StoreMaker) -> None:
    path = make_store(
        """INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES
        ('sum_d2', 44, 'condensed', 2, 'the whole', 3);
        INSERT INTO summary_parents VALUES ('sum_d2', 'sum_c1', 0);"""
    )
    assert lab(path).rewrite(44, "sum_lb").apply(scripted()).stale == ("sum_c1", "sum_d2")
    assert lab(path).rewrite(44, subtree="sum_c1").apply(scripted()).stale == ("sum_d2",)
    assert lab(path).rewrite(44, everything=True).apply(scripted()).stale == ()


def test_the_words_of_a_batch_are_found_and_the_old_ones_are_not(base_store: Path) -> None:
    """B49."""
    assert lab(base_store).search("firewall").rows
    lab(base_store).rewrite(44, everything=True).apply(
        Scripted(lambda one: f"Zanzibar {one.summary_id}\nExpand for details about: nothing")
    )
    hits = [row.row_id for row in lab(base_store).search("Zanzibar").rows]
    assert sorted(hits) == ["sum_c1", "sum_la", "sum_lb"]
    assert not [row for row in lab(base_store).search("chose").rows if row.table == "summaries"]
