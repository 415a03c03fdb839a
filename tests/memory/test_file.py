"""Looking at the memory leaves nothing behind and says plainly what is wrong."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab import places
from lcm_lab.errors import NotAStore, StoreError, StoreMissing
from lcm_lab.hooks import memory_db, memory_schema


def test_the_file_has_the_name_that_the_hooks_give_it() -> None:
    assert memory_db.FILE == places.MEMORY_FILE


def test_a_look_leaves_no_trace(own_folder: Path) -> None:
    def state() -> dict[str, tuple[int, bytes]]:
        return {one.name: (one.stat().st_mtime_ns, one.read_bytes()) for one in own_folder.iterdir() if one.is_file()}

    before = state()
    memory = lcm_lab.open_memory(own_folder)
    assert memory.sessions().total == 2
    assert memory.turns().rows
    assert memory.search("port").rows
    assert state() == before


def test_a_look_sees_what_a_live_writer_committed_and_holds_no_lock(own_folder: Path) -> None:
    memory = lcm_lab.open_memory(own_folder)
    with closing(memory_db.connect(file=str(own_folder / memory_db.FILE))) as con:
        con.execute("UPDATE sessions SET project_path='/elsewhere'")
        assert {one.project_path for one in memory.sessions().rows} == {"/elsewhere"}
        con.execute("BEGIN EXCLUSIVE")
        con.execute("DELETE FROM details")
        assert memory.stats().rows["details"] > 0
        con.execute("ROLLBACK")
        assert con.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


def test_the_path_is_a_folder_a_file_or_what_the_environment_names(
    own_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = own_folder / memory_db.FILE
    assert lcm_lab.open_memory(own_folder).file.path == lcm_lab.open_memory(file).file.path == file.resolve()
    monkeypatch.setenv("THROUGHLINE_HOME", str(own_folder))
    opened = lcm_lab.open_memory()
    assert (opened.file.path, opened.chosen_by) == (file.resolve(), "THROUGHLINE_HOME")
    assert lcm_lab.notebook_memory().file.path == file.resolve()
    assert places.memory_path(env={"THROUGHLINE_HOME": "  "})[1] == "the default place"


def test_a_memory_that_no_newer_hook_has_opened_yet_is_read(tmp_path: Path) -> None:
    """Version 1 lacks the requests to a model and who found what; reading it changes nothing."""
    with closing(sqlite3.connect(tmp_path / memory_db.FILE)) as connection:
        for script in memory_schema.MIGRATIONS[1]:
            connection.executescript(script)
        connection.execute("INSERT INTO sessions(session_id, project_path) VALUES ('s', '/p')")
        connection.execute("INSERT INTO turns(session_id, turn_number, state) VALUES ('s', 1, 'complete')")
        connection.execute(
            "INSERT INTO judgments(session_id, turn_number, category, content, confidence, content_hash) "
            "VALUES ('s', 1, 'ISSUE', 'a fault', 0.9, 'h')"
        )
        connection.execute("PRAGMA user_version=1")
        connection.commit()
    memory = lcm_lab.open_memory(tmp_path)
    assert memory.stats().model_help.requests == 0
    assert [one.source for one in memory.issues("s").rows] == ["rule"]
    assert "a fault" in "\n".join(memory.block("s").parts)
    with closing(sqlite3.connect(tmp_path / memory_db.FILE)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_what_is_wrong_is_said(tmp_path: Path, own_folder: Path) -> None:
    with pytest.raises(StoreMissing, match="lcm-lab memory import"):
        lcm_lab.open_memory(tmp_path / "nothing")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection:
        connection.execute("CREATE TABLE conversations(x)")
    with pytest.raises(NotAStore, match="no session memory"):
        lcm_lab.open_memory(other).sessions()
    with closing(sqlite3.connect(own_folder / memory_db.FILE)) as connection:
        connection.execute(f"PRAGMA user_version={memory_schema.VERSION + 1}")
    with pytest.raises(StoreError, match="newer hooks"):
        lcm_lab.open_memory(own_folder).sessions()
    torn = tmp_path / "torn.db"
    torn.write_bytes(os.urandom(4096))
    with pytest.raises(NotAStore):
        lcm_lab.open_memory(torn).sessions()
