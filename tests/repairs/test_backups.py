"""Backups: what is in them, when one is made, and putting one back."""

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from lcm_lab.errors import LcmLabError, NotFound, Refused, StalePlan, StoreBusy, StoreDamaged, StoreError, UsageError
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, kept, undo
from lcm_lab.store import copies
from lcm_lab.store.connect import StoreFile
from tests.repairs.making import another, dissolved, files, rows, run, set_text
from tests.repairs.random_stores import dump

THREE = "INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (44, 6, 'user', 'a', 1), (44, 7, 'user', 'b', 1), (44, 8, 'user', 'c', 1)"
Maker = Callable[..., Path]


def alone(backup: Path, folder: Path) -> Path:
    """The backup alone in an empty folder."""
    folder.mkdir()
    return Path(shutil.copyfile(backup, folder / "copy.db"))


# ---- what is in one -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_what_is_in_the_log_alone_is_in_the_backup(mode: str, make_store: Maker, tmp_path: Path) -> None:
    path = make_store(journal_mode=mode)
    with another(path, f"PRAGMA wal_autocheckpoint=0;{THREE}"):
        assert (StoreFile(path).wal.exists() and StoreFile(path).wal.stat().st_size > 0) == (mode == "wal")
        made = copies.backup(StoreFile(path))
        assert files(path) == (["bak", "db-shm", "db-wal"] if mode == "wal" else ["bak"])
    copy = alone(made.path, tmp_path / "alone")
    assert StoreFile(copy).read(lambda reader: reader.value("SELECT count(*) FROM messages")) == 9
    assert StoreFile(copy).read(lambda reader: reader.value("PRAGMA integrity_check")) == "ok"
    assert [one.name for one in copy.parent.iterdir()] == ["copy.db"]
    assert made.size_bytes == copy.stat().st_size


def test_names_modes_and_how_many(base_store: Path) -> None:
    made = []
    for _ in range(7):
        made.append(copies.backup(StoreFile(base_store)).path)
        time.sleep(0.002)
    assert copies.backups(StoreFile(base_store)) == made[:1:-1]
    assert {one.stat().st_mode & 0o777 for one in made[2:]} == {0o600}
    assert all(one.name.startswith("lcm.db.lcm-lab-") for one in made)
    assert files(base_store) == ["bak"] * 5
    other = base_store.with_name("lcm.db.lcm-lab-mine.bak")
    other.write_text("not one of ours")
    assert other not in copies.backups(StoreFile(base_store))


def test_a_clock_that_went_back_loses_no_backup(base_store: Path) -> None:
    store = StoreFile(base_store)
    for i in range(1, 6):
        shutil.copyfile(base_store, base_store.with_name(f"lcm.db.lcm-lab-2099010{i}T000000.000Z.bak"))
    run(base_store, "UPDATE summaries SET content = 'later'")
    made = copies.backup(store).path
    assert made.name == "lcm.db.lcm-lab-20990105T000000.001Z.bak"
    assert copies.find(store, None) == made
    assert len(copies.backups(store)) == 5
    saved = backups.restore(store, base_store.with_name("lcm.db.lcm-lab-20990105T000000.000Z.bak")).saved
    assert copies.find(store, None) == Path(saved)


@pytest.mark.parametrize("name", ["20200101T000000.000", "20990101T000000.000", "99999999T999999", "20260101T000000"])
@pytest.mark.parametrize("kind", ["folder", "link to nothing", "file"])
def test_names_that_only_look_like_ours(kind: str, name: str, base_store: Path) -> None:
    odd = base_store.with_name(f"lcm.db.lcm-lab-{name}Z.bak")
    if kind == "folder":
        odd.mkdir()
    elif kind == "file":
        odd.touch()
    else:
        odd.symlink_to("nowhere")
    store = StoreFile(base_store)
    made = [copies.backup(store).path for _ in range(6)][-1]
    assert made.is_file()
    assert len(copies.backups(store)) == 5
    assert kept.of(store).rows
    assert odd.is_symlink() or odd.exists() == (kind == "folder" or name == "99999999T999999")


def test_a_folder_that_cannot_be_listed(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(LcmLabError, match="cannot be listed: Permission denied"):
        copies.find(StoreFile(base_store), None)


class Disk(NamedTuple):
    """As shutil.disk_usage says it."""

    total: int
    used: int
    free: int


def test_no_room(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = set_text(base_store, "sum_la", "One.")
    before = dump(base_store)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Disk(10**9, 10**9, 1000))
    with pytest.raises(Refused, match="1,000 free"):
        plan.apply()
    assert dump(base_store) == before
    assert files(base_store) == []
    plan.apply(backup="never")


def test_a_store_in_delete_mode_is_not_held_up_for_long(make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store(
        "CREATE TABLE filler AS SELECT randomblob(1000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9000) SELECT i FROM n)",
        journal_mode="delete",
    )
    plan = set_text(path, "sum_la", "One.")
    monkeypatch.setattr(copies, "LIMIT_SECONDS", 0.0)
    monkeypatch.setattr(copies, "_STEP", 64)
    with pytest.raises(StoreBusy, match="DELETE mode"):
        plan.apply()
    assert files(path) == []


def test_a_folder_of_that_name_is_no_backup(base_store: Path) -> None:
    base_store.with_name("lcm.db.lcm-lab-20260101T000000.000Z.bak").mkdir()
    plan = set_text(base_store, "sum_la", "One.")
    plan.apply()
    undo.undo(StoreFile(base_store))


# ---- when one is made -----------------------------------------------------------------------------------------------


def count(path: Path) -> int:
    time.sleep(0.002)
    return len(copies.backups(StoreFile(path)))


@pytest.mark.parametrize("live", [False, True], ids=["closed", "live"])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_one_serves_while_only_we_write(mode: str, live: bool, make_store: Maker) -> None:  # noqa: FBT001
    path = make_store(journal_mode=mode)

    def three() -> None:
        set_text(path, "sum_la", "One.").apply()
        first = copies.backups(StoreFile(path))
        set_text(path, "sum_lb", "Two.").apply()
        undo.undo(StoreFile(path))
        dissolved(path, "sum_c1").apply()
        assert copies.backups(StoreFile(path)) == first
        time.sleep(0.002)
        run(path, "UPDATE conversations SET title = 'somebody else'")
        set_text(path, "sum_lb", "Three.").apply()
        assert count(path) == 2
        set_text(path, "sum_lb", "Four.").apply()
        assert count(path) == 2

    if live:
        with another(path, "SELECT count(*) FROM messages"):
            three()
    else:
        three()


def test_policies(base_store: Path) -> None:
    assert set_text(base_store, "sum_la", "One.").apply(backup="never").backup is None
    assert count(base_store) == 0
    for i in range(3):
        assert set_text(base_store, "sum_la", f"Text {i}.").apply(backup="always").backup
        assert count(base_store) == i + 1
    with pytest.raises(UsageError, match="none of them"):
        set_text(base_store, "sum_la", "Two.").apply(backup="perhaps")


def test_a_session_makes_one(base_store: Path) -> None:
    store = StoreFile(base_store)
    session = backups.Session(store, "always")
    for one in ("sum_la", "sum_lb", "sum_c1"):
        writer.apply(store, set_text(base_store, one, "New."), session=session)
        run(base_store, "UPDATE conversations SET title = title || '.'")
    assert copies.backups(store) == [session.saved]


def test_one_that_is_gone_is_made_anew(base_store: Path) -> None:
    set_text(base_store, "sum_la", "One.").apply()
    copies.backups(StoreFile(base_store))[0].unlink()
    set_text(base_store, "sum_la", "Two.").apply()
    assert count(base_store) == 1


def test_nothing_written_nothing_saved(base_store: Path) -> None:
    plan = dissolved(base_store, "sum_c1")
    run(base_store, "UPDATE summaries SET content = 'changed' WHERE summary_id = 'sum_c1'")
    with pytest.raises(StalePlan):
        plan.apply()
    with pytest.raises(NotFound):
        undo.undo(StoreFile(base_store))
    assert files(base_store) == []


# ---- putting one back -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_restore(mode: str, make_store: Maker) -> None:
    path = make_store(journal_mode=mode)
    before = dump(path)
    set_text(path, "sum_la", "One.").apply()
    after = dump(path)
    time.sleep(0.002)
    done = backups.restore(StoreFile(path))
    assert dump(path) == before
    assert dump(Path(done.saved)) == after
    assert StoreFile(path).journal_mode == mode
    assert files(path) == ["bak", "bak", "jsonl"]
    assert Path(done.saved).stat().st_mode & 0o777 == 0o600
    backups.restore(StoreFile(path), done.saved)
    assert dump(path) == after
    assert StoreFile(path).read(lambda reader: reader.value("PRAGMA integrity_check")) == "ok"


def test_restore_over_a_log_that_was_left(make_store: Maker, tmp_path: Path) -> None:
    """A crashed gateway leaves ``-wal`` and ``-shm``; what is in them belongs to the state before."""
    path = make_store()
    before = dump(path)
    made = copies.backup(StoreFile(path))
    left = tmp_path / "left"
    left.mkdir()
    with another(path, f"PRAGMA wal_autocheckpoint=0;{THREE}"):
        for one in path.parent.iterdir():
            shutil.copyfile(one, left / one.name)
    store = left / "lcm.db"
    assert (left / "lcm.db-wal").stat().st_size > 0
    done = backups.restore(StoreFile(store), left / made.path.name)
    assert dump(store) == before
    assert rows(Path(done.saved), "SELECT count(*) FROM messages") == [(9,)]
    assert files(store) == ["bak", "bak", "jsonl"]


@pytest.mark.parametrize(
    ("mode", "statements"),
    [
        ("wal", "SELECT count(*) FROM messages"),
        ("wal", "BEGIN IMMEDIATE"),
        ("delete", "BEGIN; SELECT count(*) FROM messages"),
        ("delete", "BEGIN IMMEDIATE"),
    ],
)
def test_not_while_somebody_has_it_open(mode: str, statements: str, make_store: Maker) -> None:
    path = make_store(journal_mode=mode)
    before = dump(path)
    set_text(path, "sum_la", "One.").apply()
    after = dump(path)
    with another(path, statements), pytest.raises(Refused, match="stop the gateway"):
        backups.restore(StoreFile(path))
    assert dump(path) == after
    assert len(copies.backups(StoreFile(path))) == 1
    backups.restore(StoreFile(path))
    assert dump(path) == before


@pytest.mark.parametrize("what", ["cut", "page", "text", "another database", "itself", "missing"])
def test_what_is_no_sound_backup_is_refused(what: str, make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store()
    made = copies.backup(StoreFile(path)).path
    run(path, "UPDATE summaries SET content = 'later' WHERE summary_id = 'sum_la'")
    before = dump(path)
    if what == "cut":
        made.write_bytes(made.read_bytes()[: 4096 * 5])
    elif what == "page":
        (root,) = rows(made, "SELECT rootpage FROM sqlite_master WHERE name = 'summaries'")[0]
        raw = bytearray(made.read_bytes())
        raw[(root - 1) * 4096 : (root - 1) * 4096 + 100] = b"\xff" * 100
        made.write_bytes(raw)
    elif what == "text":
        made.write_text("hello " * 100)
    elif what == "another database":
        made.unlink()
        run(made, "CREATE TABLE t (x)")
    given: str | Path = {"itself": path, "missing": Path("nothing.bak")}.get(what, made)
    with pytest.raises(LcmLabError):
        backups.restore(StoreFile(path), given)
    assert dump(path) == before
    assert "jsonl" not in files(path)


def test_a_store_that_may_not_be_written_to_is_not_restored(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies.backup(StoreFile(base_store))
    monkeypatch.setattr(os, "access", lambda path, _how: path != base_store)
    with pytest.raises(StoreError, match="may not be written to"):
        backups.restore(StoreFile(base_store))
    assert files(base_store) == ["bak"]


def test_a_backup_by_its_name_alone(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = dump(base_store)
    made = copies.backup(StoreFile(base_store)).path
    run(base_store, "UPDATE summaries SET content = 'later'")
    backups.restore(StoreFile(base_store), made.name)
    assert dump(base_store) == before
    run(base_store, "UPDATE summaries SET content = 'later'")
    monkeypatch.chdir(base_store.parent)
    backups.restore(StoreFile(base_store), made.name)
    assert dump(base_store) == before


def test_a_damaged_store_is_healed_by_its_backup(make_store: Maker) -> None:
    path = make_store()
    before = dump(path)
    copies.backup(StoreFile(path))
    (root,) = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'summaries'")[0]
    with path.open("r+b") as out:
        out.seek((root - 1) * 4096)
        out.write(b"\xff" * 100)
    with closing(sqlite3.connect(path)) as db, pytest.raises(sqlite3.DatabaseError):
        db.execute("SELECT content FROM summaries").fetchall()
    backups.restore(StoreFile(path))
    assert dump(path) == before


def test_a_damaged_store_gives_no_backup_before_a_repair(make_store: Maker) -> None:
    path = make_store()
    (root,) = rows(path, "SELECT rootpage FROM sqlite_master WHERE name = 'large_files'")[0]
    with path.open("r+b") as out:
        out.seek((root - 1) * 4096)
        out.write(b"\xff" * 100)
    with pytest.raises(StoreDamaged, match="is damaged"):
        set_text(path, "sum_la", "One.").apply()
    assert files(path) == []
