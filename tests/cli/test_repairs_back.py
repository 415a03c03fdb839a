"""Plans that go through a file, and the ways back: undo, backup, restore."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lcm_lab import lab as labs
from tests.command import GOOD, User, beside, change, dump, lcm_lab, rows
from tests.conftest import StoreMaker
from tests.stand_in import ok

# ---- plans in files -------------------------------------------------------------------------------------------------


def test_a_plan_goes_through_a_file(user: User, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    saved.write_text(user.line("dissolve 44 --summary-id sum_c1 --json").out)
    done = user("apply", saved, "--json")
    assert (done.code, done.json["operation"], done.json["applied"]) == (0, "dissolve", True)
    assert rows(user.path, "SELECT summary_id FROM context_items ORDER BY ordinal LIMIT 2") == [
        ("sum_la",),
        ("sum_lb",),
    ]
    again = user("apply", saved)
    assert again.code == 3
    assert "make the plan again" in again.err
    assert user.line("undo --apply").code == 0
    api = labs.open(user.path, tz="UTC").dissolve(44, "sum_c1")
    assert user("apply", api.save(tmp_path / "api.json")).code == 0


def test_a_previewed_batch_goes_through_a_file(user: User, tmp_path: Path) -> None:
    saved = tmp_path / "drafts.json"
    user.server.script(ok(GOOD), ok("HEARTBEAT_OK"), ok(GOOD))
    preview = user.line("rewrite 44 --all --preview --json")
    assert preview.code == 1
    saved.write_text(preview.out)
    assert [one["subject"] for one in preview.json["plans"]] == ["sum_la", "sum_c1"]
    sent, before = len(user.prompts), dump(user.path)
    done = user("apply", saved, "--json")
    assert (done.code, len(user.prompts)) == (0, sent)
    assert [(one["id"], one["status"]) for one in done.json["items"]] == [("sum_la", "applied"), ("sum_c1", "applied")]
    assert rows(user.path, "SELECT content FROM summaries WHERE summary_id = 'sum_la'") == [(GOOD,)]
    assert done.json["journal_id"] == preview.json["batch"]
    again = user("apply", saved, "--json")
    assert again.code == 1
    assert [one["reason"] for one in again.json["items"]] == ["the store has this text already"] * 2
    assert user("undo", preview.json["batch"], "--apply").code == 0
    assert dump(user.path) == before


def test_a_draft_from_a_draft_that_is_not_written_is_left_out(user: User, tmp_path: Path) -> None:
    saved = tmp_path / "drafts.json"
    saved.write_text(user.line("rewrite 44 --all --preview --json").out)
    change(user.path, "UPDATE summaries SET content = 'written by the agent' WHERE summary_id = 'sum_lb'")
    done = user("apply", saved, "--json")
    assert done.code == 1
    assert [(one["id"], one["status"]) for one in done.json["items"]] == [
        ("sum_la", "applied"),
        ("sum_lb", "failed"),
        ("sum_c1", "skipped"),
    ]
    assert done.json["items"][2]["reason"] == "made from a text of sum_lb that was not written"
    assert done.json["stale"] == ["sum_c1"]


def test_doubts_about_a_draft_stay_with_its_plan(user: User) -> None:
    user.server.script(ok("Here is the summary:\n" + GOOD))
    told = user.line("rewrite 44 --summary sum_la --preview --json").json
    assert "does not start with the summary" in told["items"][0]["reason"]
    assert any("does not start with the summary" in one for one in told["plans"][0]["warnings"])


Spoil = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda _plan: '{\n "lcm_lab_plan": 1,\n oops', "line 3: no JSON"),
        (lambda _plan: "", "line 1: no JSON"),
        (lambda _plan: "[1, 2]", "This is no plan of lcm-lab"),
        (lambda _plan: '{"plans": []}', "holds no plan that could be applied"),
        (lambda _plan: '{"plans": 7}', "holds no plan that could be applied"),
        (lambda plan: {"plans": [plan, {**plan, "why": 3}]}, "plan 1: The plan's 'why' cannot be 3"),
        (lambda plan: {**plan, "lcm_lab_plan": 99}, "has version 99"),
        (lambda plan: {**plan, "surprise": 1}, "surprise"),
        (lambda plan: {key: value for key, value in plan.items() if key != "edits"}, "edits"),
        (lambda plan: {**plan, "edits": "all"}, "'edits' is no list"),
        (lambda plan: {**plan, "edits": [{"edit": "sql"}]}, "Edit 0 of the plan"),
        (lambda plan: {**plan, "edits": [*plan["edits"], {}]}, "of the plan"),
        (lambda plan: {**plan, "context": {"before": 3}}, "cannot be read"),
        (lambda plan: {**plan, "conversation_id": "44"}, "'conversation_id' cannot be '44'"),
    ],
)
def test_a_broken_plan_file_is_named(spoil: Spoil, words: str, user: User, tmp_path: Path) -> None:
    plan = user.line("dissolve 44 --summary-id sum_c1 --json").json
    spoilt = spoil(plan)
    saved = tmp_path / "plan.json"
    saved.write_text(spoilt if isinstance(spoilt, str) else json.dumps(spoilt))
    before = dump(user.path)
    done = user("apply", saved)
    assert (done.code, done.out) == (2, ""), done.err
    assert str(saved) in done.err
    assert words in done.err
    assert (dump(user.path), beside(user.path)) == (before, [])


def test_a_plan_file_that_is_none(user: User, tmp_path: Path) -> None:
    assert user("apply", tmp_path / "none.json").code == 2
    assert user("apply", tmp_path).code == 2
    (tmp_path / "latin.json").write_bytes(b'{"lcm_lab_plan": "\xe4"}')
    assert "it is not UTF-8 text" in user("apply", tmp_path / "latin.json").err
    for endless in ("[" * 100_000, '{"a":' * 100_000, "9" * 5000):
        (tmp_path / "endless.json").write_text(endless)
        done = user("apply", tmp_path / "endless.json")
        assert (done.code, "too long or nested too deep" in done.err) == (2, True)
    bare = tmp_path / "bare.json"
    bare.write_text(user.line("rewrite 44 --all --json").out)
    done = user("apply", bare)
    assert done.code == 2
    assert "nothing was asked of a model yet" in done.err


def test_a_plan_for_another_store(user: User, make_store: StoreMaker, tmp_path: Path) -> None:
    saved, other = tmp_path / "plan.json", make_store("DELETE FROM context_items WHERE conversation_id = 44;")
    saved.write_text(user.line("dissolve 44 --summary-id sum_c1 --json").out)
    before = dump(other)
    done = lcm_lab("apply", saved, "--db", other, home=user.home)
    assert done.code == 3
    assert (dump(other), beside(other)) == (before, [])


# ---- undo, backup, restore ------------------------------------------------------------------------------------------


def test_undo_shows_then_does(user: User) -> None:
    assert "Nothing was ever applied" in user.line("undo --list").out
    before = dump(user.path)
    user.line("repair 44 --apply")
    user.line("dissolve 44 --summary-id sum_c1 --apply")
    listed = user.line("undo --list --json").json
    assert [(one["operation"], one["id"], one["state"]) for one in listed["rows"]] == [
        ("repair", "sum_la", "done"),
        ("repair", "sum_lb", "done"),
        ("dissolve", "sum_c1", "done"),
    ]
    now = dump(user.path)
    named = user.line("undo sum_la").err + user.line(f"undo {listed['rows'][0]['journal_id']}").out
    assert "There is no plan, batch or journal entry 'sum_la'" in named
    assert f"1 more repair of batch {listed['rows'][0]['batch']} would stay" in named
    shown = user.line("undo")
    assert (shown.code, "Dissolve sum_c1" in shown.out, "--apply" in shown.out) == (0, True, True)
    assert dump(user.path) == now
    assert user.line("undo --yes").code == 0
    batch = listed["rows"][0]["batch"]
    assert user.line(f"undo {batch} --dry-run").code == 0
    done = user.line(f"undo {batch} --apply --json").json
    assert [one["id"] for one in done["items"]] == ["sum_lb", "sum_la"]
    assert dump(user.path) == before
    assert user.line("undo --apply").code == 3
    again = user.line(f"undo {batch} --apply")
    assert again.code == 3
    assert "was undone by j_" in again.err


def test_undo_is_refused_where_the_store_went_on(user: User) -> None:
    user.line("rewrite 44 --depth 0 --apply")
    change(user.path, "UPDATE summaries SET content = 'by the agent' WHERE summary_id = 'sum_la'")
    batch = user.line("undo --list --json").json["rows"][0]["batch"]
    done = user.line(f"undo {batch} --apply --json")
    assert done.code == 1
    assert [(one["id"], one["status"]) for one in done.json["items"]] == [("sum_lb", "applied"), ("sum_la", "failed")]
    assert "was changed since" in done.json["items"][1]["reason"]
    done = user.line("undo --apply")
    assert done.code == 3
    assert rows(user.path, "SELECT content FROM summaries WHERE summary_id = 'sum_la'") == [("by the agent",)]


def test_backup_and_restore(user: User) -> None:
    assert "There is no backup beside this store." in user.line("restore --list").out
    made = user.line("backup --json")
    assert made.code == 0
    before = dump(user.path)
    user.line("rewrite 44 --all --apply")
    listed = user.line("restore --list")
    assert (listed.code, "1 backup" in listed.out) == (0, True)
    now = dump(user.path)
    shown = user.line("restore")
    assert (shown.code, "Restore would take this backup" in shown.out) == (0, True)
    assert dump(user.path) == now
    done = user.line("restore --apply --json")
    assert done.code == 0, done.err
    assert dump(user.path) == before
    assert dump(Path(done.json["saved"])) == now
    assert user.line("undo --apply").code == 3
    assert user("restore", Path(done.json["saved"]).name, "--yes").code == 0
    assert dump(user.path) == now


def test_restore_is_refused_while_somebody_has_the_store_open(user: User) -> None:
    user.line("backup")
    before = dump(user.path)
    with closing(sqlite3.connect(user.path, isolation_level=None)) as other:
        other.execute("SELECT count(*) FROM messages").fetchone()
        done = user.line("restore --apply")
    assert done.code == 3
    assert "open" in done.err
    assert dump(user.path) == before


def test_no_backup_on_request(user: User) -> None:
    done = user.line("repair 44 --apply --backup never --json")
    assert (done.code, done.json["backup"]) == (0, None)
    assert not [one for one in beside(user.path) if one.endswith(".bak")]


def test_restore_shows_nothing_that_it_would_refuse(user: User, tmp_path: Path) -> None:
    (tmp_path / "text.bak").write_text("hello")
    done = user("restore", tmp_path / "text.bak")
    assert (done.code, done.out) == (3, "")
    assert "is not an SQLite database" in done.err
