"""OpenClaw's own store is counted, whatever it is, and left as it was."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.sessions.host_db import DATABASE, HostSessions, host_sessions

NODES = "CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, archived_at INTEGER)"
AUTH = "CREATE TABLE auth_profile_store (secret TEXT)"


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    path = tmp_path / "an agent?#%41"
    (path / "agent").mkdir(parents=True)
    return path


def make(agent: Path, *sql: str, version: int = 23) -> None:
    with closing(sqlite3.connect(agent / DATABASE, isolation_level=None)) as store:
        for one in (*sql, f"PRAGMA user_version = {version}"):
            store.execute(one)


def found(agent: Path) -> HostSessions:
    """What is found, after a look that nothing came to lie beside the store and no byte of it changed."""
    before = {one: one.read_bytes() for one in (agent / "agent").iterdir()}
    result = host_sessions(agent)
    after = {one: one.read_bytes() for one in (agent / "agent").iterdir()}
    assert before.keys() == after.keys()
    assert all(after[one] == data for one, data in before.items() if not one.name.endswith("-shm"))
    assert result is not None
    return result


def test_no_file_is_none(tmp_path: Path) -> None:
    assert host_sessions(tmp_path) is None


def test_sessions_since_schema_14(agent: Path) -> None:
    cold = "CREATE TABLE session_transcript_cold_archives (session_id TEXT)"
    rows = "INSERT INTO session_nodes VALUES ('a', NULL), ('b', 5), ('c', NULL)"
    make(agent, NODES, AUTH, cold, rows, "INSERT INTO session_transcript_cold_archives VALUES ('x')")
    result = found(agent)
    assert (result.schema, result.sessions, result.archived, result.cold, result.problem) == (23, 3, 1, 1, None)
    assert result.sentence() == "3 sessions in a SQLite store, schema 23: not read yet"


@pytest.mark.parametrize("table", ["sessions", "session_entries"])
def test_the_names_of_schema_8_to_13(agent: Path, table: str) -> None:
    make(agent, f"CREATE TABLE {table} (k TEXT)", f"INSERT INTO {table} VALUES ('a')", version=12)
    result = found(agent)
    assert (result.schema, result.sessions, result.archived, result.cold) == (12, 1, None, None)
    assert result.sentence() == "1 session in a SQLite store, schema 12: not read yet"


def test_entries_are_the_list_where_both_names_exist(agent: Path) -> None:
    make(
        agent,
        "CREATE TABLE sessions (id TEXT)",
        "INSERT INTO sessions VALUES ('w1'), ('w2')",
        "CREATE TABLE session_entries (k TEXT)",
        "INSERT INTO session_entries VALUES ('a')",
        version=9,
    )
    assert found(agent).sessions == 1


def test_a_file_without_session_tables(agent: Path) -> None:
    make(agent, AUTH, "CREATE TABLE cache (k TEXT)", version=1)
    result = found(agent)
    assert (result.schema, result.sessions, result.problem) == (1, None, None)
    assert result.sentence() == "no sessions in it"


def test_an_unknown_newer_schema_is_still_counted(agent: Path) -> None:
    make(agent, NODES, "INSERT INTO session_nodes VALUES ('a', NULL)", version=99)
    assert found(agent).sentence() == "1 session in a SQLite store, schema 99: not read yet"


def test_the_schema_of_schema_meta_where_the_pragma_is_silent(agent: Path) -> None:
    make(agent, NODES, "CREATE TABLE schema_meta (schema_version)", "INSERT INTO schema_meta VALUES (17)", version=0)
    assert found(agent).schema == 17
    make(agent, "DROP TABLE schema_meta", "CREATE TABLE schema_meta (other)", version=0)
    assert found(agent).schema is None
    assert found(agent).sentence() == "0 sessions in a SQLite store, schema unknown: not read yet"


@pytest.mark.parametrize("data", [b"", b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 200])
def test_something_else_at_the_path(agent: Path, data: bytes) -> None:
    (agent / DATABASE).write_bytes(data)
    result = found(agent)
    assert result.sessions is None
    assert (result.problem is None) == (data == b"")
    assert result.sentence().startswith("A SQLite store that cannot be read: " if data else "no sessions in it")


def test_a_folder_at_the_path(agent: Path) -> None:
    (agent / DATABASE).mkdir()
    result = host_sessions(agent)
    assert result is not None
    assert result.sentence() == "A SQLite store that cannot be read: it is not a file"


@given(st.binary(max_size=300))
def test_damage_never_raises(tail: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder)
        (agent / "agent").mkdir()
        make(agent, NODES)
        data = (agent / DATABASE).read_bytes()
        (agent / DATABASE).write_bytes(data[:100] + tail + data[100 + len(tail) :])
        assert isinstance(host_sessions(agent), HostSessions)


@pytest.fixture
def live(agent: Path) -> Iterator[Path]:
    """An agent whose host is running: everything is still in the write-ahead log."""
    with closing(sqlite3.connect(agent / DATABASE, isolation_level=None)) as host:
        for one in (
            "PRAGMA journal_mode = WAL",
            "PRAGMA wal_autocheckpoint = 0",
            NODES,
            "INSERT INTO session_nodes VALUES ('a', NULL)",
            "PRAGMA user_version = 24",
        ):
            host.execute(one)
        yield agent


def test_rows_in_the_log_of_a_running_host_count(live: Path) -> None:
    result = found(live)
    assert (result.schema, result.sessions, result.problem) == (24, 1, None)


def test_a_log_without_its_index_is_said_not_to_count(live: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    (copy / "agent").mkdir(parents=True)
    for ending in ("", "-wal"):
        shutil.copy(f"{live / DATABASE}{ending}", f"{copy / DATABASE}{ending}")
    result = found(copy)
    assert result.sessions is None
    assert "write-ahead log" in result.sentence()


def test_a_host_at_rest_leaves_no_log_and_neither_do_we(agent: Path) -> None:
    make(agent, "PRAGMA journal_mode = WAL", NODES)
    assert [one.name for one in (agent / "agent").iterdir()] == [DATABASE.name]
    assert found(agent).sessions == 0


def test_a_locked_store_is_a_problem_and_no_wait(agent: Path) -> None:
    make(agent, NODES)
    with closing(sqlite3.connect(agent / DATABASE, isolation_level=None)) as host:
        host.execute("BEGIN EXCLUSIVE")
        host.execute("INSERT INTO session_nodes VALUES ('a', NULL)")
        result = host_sessions(agent)
        host.execute("ROLLBACK")
    assert result is not None
    assert result.problem == "database is locked"


def test_the_real_store(state_copy: Callable[[str], Path]) -> None:
    result = found(state_copy("sqlite-1.0-beta") / "agents" / "main")
    assert (result.schema, result.sessions, result.archived, result.cold, result.problem) == (23, 2, 0, 0, None)
