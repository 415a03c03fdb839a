"""The journal: what crashed processes leave in it, how that is settled, and what can be undone by which name."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.errors import LcmLabError, NotFound, Refused
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, journal, undo
from lcm_lab.repairs.journal import Entry
from lcm_lab.store.connect import StoreFile
from tests.repairs.making import dissolved, run, set_text
from tests.repairs.random_stores import dump

ROOT = Path(__file__).resolve().parents[2]
Maker = Callable[..., Path]


def lines(path: Path) -> list[dict[str, Any]]:
    text = journal.path_of(StoreFile(path)).read_text("utf-8")
    return [json.loads(line) for line in text.splitlines() if line]


def entries(path: Path) -> tuple[Entry, ...]:
    return journal.read(StoreFile(path)).entries


def without_end(path: Path) -> None:
    """Take the last line away, as a process killed after its commit leaves it."""
    where = journal.path_of(StoreFile(path))
    kept = [line for line in where.read_text("utf-8").splitlines() if line][:-1]
    where.write_text("\n".join(kept) + "\n", "utf-8")


def test_one_line_a_step(base_store: Path) -> None:
    applied = set_text(base_store, "sum_la", "One.").apply()
    assert [one["line"] for one in lines(base_store)] == ["backup", "plan", "begin", "done"]
    (entry,) = entries(base_store)
    assert (entry.journal_id, entry.state, entry.subject) == (applied.journal_id, "done", "sum_la")
    assert journal.path_of(StoreFile(base_store)).stat().st_mode & 0o777 == 0o600


def test_nothing_applied_makes_no_journal(base_store: Path) -> None:
    assert journal.read(StoreFile(base_store)).entries == ()
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.undo(StoreFile(base_store))
    assert not journal.path_of(StoreFile(base_store)).exists()


@pytest.mark.parametrize(
    "torn",
    [
        b'{"line":"begin","id":"j_torn","edi',
        b"\xff\xfe",
        b"[]",
        b"3",
        b"{}",
        b'{"line":"done"}',
        b"[" * 100_000,
        b"9" * 5000,
    ],
)
def test_a_torn_line_is_left_out(torn: bytes, base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    with journal.path_of(StoreFile(base_store)).open("ab") as out:
        out.write(torn)
    set_text(base_store, "sum_lb", "Two.").apply()
    assert [one.subject for one in entries(base_store)] == ["sum_la", "sum_lb"]
    undo.undo(StoreFile(base_store))
    undo.undo(StoreFile(base_store))


@pytest.mark.parametrize("spoil", [{"edits": 5}, {"edits": [{"edit": "DropTable"}]}, {"inverse": None}])
def test_an_entry_of_another_kind_is_named_and_stops_writing(spoil: dict[str, Any], base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    where = journal.path_of(StoreFile(base_store))
    where.write_text(
        "\n".join(json.dumps({**one, **spoil} if one["line"] == "begin" else one) for one in lines(base_store))
    )
    plan = set_text(base_store, "sum_lb", "Two.")
    before = dump(base_store)
    for act in (plan.apply, lambda: undo.undo(StoreFile(base_store))):
        with pytest.raises(LcmLabError, match="move the file away"):
            act()
    assert dump(base_store) == before


# ---- a begin without an end -----------------------------------------------------------------------------------------


def test_killed_after_the_commit(base_store: Path) -> None:
    before = dump(base_store)
    for plan in (set_text(base_store, "sum_la", "One."), dissolved(base_store, "sum_c1")):
        plan.apply()
        without_end(base_store)
        assert entries(base_store)[-1].state == "begun"
        writer.settle(StoreFile(base_store))
        assert entries(base_store)[-1].state == "done"
        undo.undo(StoreFile(base_store))
        assert dump(base_store) == before


@pytest.mark.parametrize("name", ["set text", "dissolve"])
def test_killed_before_the_commit(name: str, base_store: Path) -> None:
    plan = set_text(base_store, "sum_la", "One.") if name == "set text" else dissolved(base_store, "sum_c1")
    before = dump(base_store)
    plan.apply()
    undo.undo(StoreFile(base_store))
    kept = [json.dumps(one) for one in lines(base_store) if one["line"] in ("plan", "begin")][:2]
    journal.path_of(StoreFile(base_store)).write_text("\n".join(kept) + "\n")
    with pytest.raises(NotFound):
        undo.undo(StoreFile(base_store))
    assert [one.state for one in entries(base_store)] == ["rolled back"]
    assert dump(base_store) == before
    plan.apply()


@pytest.mark.parametrize("backup", ["auto", "never"])
def test_refused_at_once_leaves_no_line(backup: str, base_store: Path) -> None:
    plan = set_text(base_store, "sum_la", "One.")
    run(base_store, "UPDATE summaries SET content = 'three' WHERE summary_id = 'sum_la'")
    with pytest.raises(Refused):
        plan.apply(backup=backup)
    assert not journal.path_of(StoreFile(base_store)).exists()


def test_a_plan_that_was_never_begun_is_no_entry(base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    where = journal.path_of(StoreFile(base_store))
    where.write_text("".join(json.dumps(one) + "\n" for one in lines(base_store) if one["line"] == "plan"))
    assert entries(base_store) == ()


def test_changed_by_others_since_it_was_killed(base_store: Path) -> None:
    applied = set_text(base_store, "sum_la", "One.").apply()
    without_end(base_store)
    run(base_store, "UPDATE summaries SET content = 'three' WHERE summary_id = 'sum_la'")
    set_text(base_store, "sum_lb", "Two.").apply()
    assert [one.state for one in entries(base_store)] == ["unclear", "done"]
    with pytest.raises(NotFound, match="is unclear"):
        undo.undo(StoreFile(base_store), applied.journal_id)


def test_an_undo_that_was_killed_is_settled_too(base_store: Path) -> None:
    applied = set_text(base_store, "sum_la", "One.").apply()
    undo.undo(StoreFile(base_store))
    without_end(base_store)
    with pytest.raises(NotFound, match="was undone by"):
        undo.undo(StoreFile(base_store), applied.journal_id)


def test_whoever_looked_meanwhile_does_not_overrule_who_made_it(base_store: Path) -> None:
    applied = set_text(base_store, "sum_la", "One.").apply()
    journal.end(StoreFile(base_store), applied.journal_id, journal.UNCLEAR)
    assert [one.state for one in entries(base_store)] == ["done"]


def test_two_processes(base_store: Path) -> None:
    """Each applies and undoes beside the other; the journal knows all of it, and nothing is left over."""
    code = textwrap.dedent("""
        import sys
        from pathlib import Path
        from lcm_lab.repairs import undo
        from lcm_lab.store.connect import StoreFile
        from tests.repairs.making import set_text
        path, one = Path(sys.argv[1]), sys.argv[2]
        for i in range(8):
            applied = set_text(path, one, f"Text {i} of {one}.").apply(backup="never")
            if i % 2:
                undo.undo(StoreFile(path), applied.journal_id, backup="never")
    """)
    with ThreadPoolExecutor(2) as pool:
        done = list(
            pool.map(
                lambda one: subprocess.run(
                    [sys.executable, "-c", code, str(base_store), one],
                    cwd=ROOT,
                    capture_output=True,
                    text=True,
                    check=False,
                ),
                ["sum_la", "sum_lb"],
            )
        )
    assert [one.stderr for one in done] == ["", ""]
    found = entries(base_store)
    assert len(found) == 2 * (8 + 4)
    assert {one.state for one in found} == {"done"}
    assert len(journal.read(StoreFile(base_store)).undoable()) == 8


# ---- undo by name ---------------------------------------------------------------------------------------------------


def test_by_name_batch_and_last(base_store: Path) -> None:
    store = StoreFile(base_store)
    before = dump(base_store)
    plan = set_text(base_store, "sum_la", "One.")
    plan.apply()
    alone = dump(base_store)
    session = backups.Session(store)
    for one in ("sum_lb", "sum_c1"):
        writer.apply(store, set_text(base_store, one, f"New {one}.", batch="b_1"), session=session)
    assert [one.subject for one in undo.find(store)] == ["sum_c1"]
    done = undo.undo(store, "b_1")
    assert [one.subject for one in done.undone] == ["sum_c1", "sum_lb"]
    assert dump(base_store) == alone
    undo.undo(store, plan.plan_id)
    assert dump(base_store) == before
    for name in ("b_1", plan.plan_id):
        with pytest.raises(NotFound, match="was undone by"):
            undo.undo(store, name)
    with pytest.raises(NotFound, match="no plan, batch or journal entry 'x'"):
        undo.undo(store, "x")


def test_an_undo_is_not_undone(base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    done = undo.undo(StoreFile(base_store))
    with pytest.raises(NotFound, match="itself an undo"):
        undo.undo(StoreFile(base_store), done.applied[0].journal_id)


def test_a_plan_can_be_made_undone_and_made_again(base_store: Path) -> None:
    plan = set_text(base_store, "sum_la", "One.")
    before = dump(base_store)
    for _ in range(3):
        plan.apply()
        undo.undo(StoreFile(base_store), plan.plan_id)
        assert dump(base_store) == before


def test_a_later_repair_of_the_same_is_named(base_store: Path) -> None:
    first = set_text(base_store, "sum_la", "One.").apply()
    second = set_text(base_store, "sum_la", "Two.").apply()
    set_text(base_store, "sum_lb", "Three.").apply()
    before = dump(base_store)
    with pytest.raises(Refused, match=second.journal_id):
        undo.undo(StoreFile(base_store), first.journal_id)
    assert dump(base_store) == before
    undo.undo(StoreFile(base_store), second.journal_id)
    undo.undo(StoreFile(base_store), first.journal_id)


def test_a_later_dissolve_of_what_came_up_is_named(make_store: Maker) -> None:
    path = make_store(
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES ('sum_d2', 44, 'condensed', 2, 'All of it.', 3)",
        "INSERT INTO summary_parents VALUES ('sum_d2', 'sum_c1', 0); UPDATE context_items SET summary_id = 'sum_d2' WHERE ordinal = 0",
    )
    before = dump(path)
    first = dissolved(path, "sum_d2").apply()
    second = dissolved(path, "sum_c1").apply()
    with pytest.raises(Refused, match=second.journal_id):
        undo.undo(StoreFile(path), first.journal_id)
    undo.undo(StoreFile(path))
    undo.undo(StoreFile(path))
    assert dump(path) == before


def test_a_change_by_somebody_else_is_said(base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    run(base_store, "UPDATE summaries SET content = 'three' WHERE summary_id = 'sum_la'")
    with pytest.raises(Refused, match="the store was changed since"):
        undo.undo(StoreFile(base_store))


def test_a_batch_stops_where_it_cannot_go_on(base_store: Path) -> None:
    store = StoreFile(base_store)
    for one in ("sum_la", "sum_lb", "sum_c1"):
        set_text(base_store, one, f"New {one}.", batch="b_1").apply()
    run(base_store, "UPDATE summaries SET content = 'three' WHERE summary_id = 'sum_lb'")
    done = undo.undo(store, "b_1")
    assert [one.subject for one in done.undone] == ["sum_c1"]
    assert [one.subject for one in done.left] == ["sum_lb", "sum_la"]
    assert done.problem is not None
    run(base_store, "UPDATE summaries SET content = 'New sum_lb.' WHERE summary_id = 'sum_lb'")
    assert [one.subject for one in undo.undo(store, "b_1").undone] == ["sum_lb", "sum_la"]


def test_nothing_from_before_a_restore_is_undone(base_store: Path) -> None:
    store = StoreFile(base_store)
    before = dump(base_store)
    applied = set_text(base_store, "sum_la", "One.").apply()
    backups.restore(store)
    assert dump(base_store) == before
    with pytest.raises(NotFound, match="before a backup was restored"):
        undo.undo(store, applied.journal_id)
    with pytest.raises(NotFound, match="nothing to undo"):
        undo.undo(store)
    set_text(base_store, "sum_la", "Two.").apply()
    undo.undo(store)
    assert dump(base_store) == before


def test_the_order_of_the_journal_counts_when_the_clock_went_back(
    base_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = set_text(base_store, "sum_la", "One.").apply()
    monkeypatch.setattr(journal, "now", lambda: "2001-01-01T00:00:00.000Z")
    second = set_text(base_store, "sum_la", "Two.").apply()
    with pytest.raises(Refused, match=f"{second.journal_id} came later"):
        undo.undo(StoreFile(base_store), first.journal_id)


def test_an_undo_of_one_of_a_batch_says_how_many_stay(base_store: Path) -> None:
    for one in ("sum_la", "sum_lb"):
        replace(set_text(base_store, one, "One."), batch="b_1").apply()
    assert undo.planned(StoreFile(base_store)).staying == 1
    assert undo.planned(StoreFile(base_store), "b_1").staying == 0
