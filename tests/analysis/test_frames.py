"""Queries: what they give, what they may not do, and that the store is left as it was."""

import hashlib
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lcm_lab import times
from lcm_lab.analysis.frames import Frames
from lcm_lab.errors import NotFound, QueryError, StoreMissing
from lcm_lab.store.connect import StoreFile

StoreMaker = Callable[..., Path]
BERLIN = times.zone("Europe/Berlin")


def frames_of(path: Path) -> Frames:
    return Frames(StoreFile(path), BERLIN)


def run_sql(path: Path, *statements: str) -> None:
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_query_gives_a_frame_with_types(base_store: Path) -> None:
    frame = frames_of(base_store).sql("SELECT message_id, role, created_at, created_at_utc FROM messages ORDER BY 1")
    assert frame["message_id"].tolist() == [1, 2, 3, 4, 5, 6]
    assert [str(kind) for kind in frame.dtypes] == ["int64", "str", "str", "datetime64[us]"]
    assert frame["created_at"][2] == "2026-03-30T23:12:00Z"
    assert str(frame["created_at_utc"][2]) == "2026-03-30 23:12:00"


def test_an_empty_result_keeps_its_types(base_store: Path) -> None:
    frame = frames_of(base_store).sql("SELECT message_id, role, created_at_utc FROM messages WHERE seq > 99")
    assert [str(kind) for kind in frame.dtypes] == ["int64", "str", "datetime64[us]"]


def test_a_text_column_of_nulls_is_text(base_store: Path) -> None:
    frame = frames_of(base_store).sql("SELECT title FROM conversations WHERE conversation_id = 45")
    assert str(frame.dtypes["title"]) == "str"
    assert frame["title"].isna().tolist() == [True]


def test_sums_are_whole_numbers_unless_they_are_too_large(base_store: Path) -> None:
    frames = frames_of(base_store)
    frame = frames.sql(
        "SELECT sum(token_count) AS a, sum(token_count) AS a, sum(NULL::BIGINT) AS b FROM messages; -- all"
    )
    assert str(frame.dtypes.iloc[0]) == "int64"
    assert frame.iloc[0].tolist()[:2] == [30, 30]
    assert len(frame.columns) == 3
    assert frames.sql("SELECT sum(9223372036854775807) AS n FROM messages")["n"].tolist() == [6 * 9223372036854775807.0]


def test_local_time_is_the_zone_of_the_workbench(base_store: Path) -> None:
    frame = frames_of(base_store).sql("SELECT local_time(created_at_utc) AS t FROM messages WHERE message_id = 1")
    assert str(frame["t"][0]) == "2026-03-31 01:11:15"


@pytest.mark.parametrize(
    "query",
    [
        "WITH m AS (FROM messages) SELECT count(*) FROM m",
        "FROM messages",
        "VALUES (1)",
        "DESCRIBE messages",
        "SHOW TABLES",
        "SUMMARIZE messages",
        "EXPLAIN SELECT 1",
        "PIVOT messages ON role IN ('user', 'tool') USING count(*) GROUP BY conversation_id",
    ],
)
def test_reading_statements_run(base_store: Path, query: str) -> None:
    assert len(frames_of(base_store).sql(query)) > 0


FORBIDDEN = [
    "INSERT INTO messages(message_id) VALUES (9)",
    "WITH x AS (INSERT INTO lcm_base.messages(message_id) VALUES (9) RETURNING *) SELECT * FROM x",
    "EXPLAIN ANALYZE INSERT INTO lcm_base.messages(message_id) VALUES (9)",
    "DELETE FROM lcm_base.messages",
    "CREATE TABLE t(a INT)",
    "CREATE TEMP TABLE t AS SELECT 1",
    "DROP VIEW messages",
    "COPY messages TO '{folder}/out.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{folder}/out.csv'",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/other.db'",
    "INSTALL sqlite",
    "LOAD sqlite",
    "LOAD '{folder}/x.duckdb_extension'",
    "SET enable_external_access = true",
    "PRAGMA version",
    "CALL pragma_version()",
    "CHECKPOINT",
    "BEGIN",
    "SELECT 1; SELECT 2",
    "",
    "-- nothing",
    "SELEC 1",
    "SELECT * FROM read_csv('/etc/hostname')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_blob('{store}')",
    "SELECT * FROM '/etc/hostname'",
    "SELECT * FROM glob('/etc/*')",
    "SELECT * FROM sqlite_scan('{store}', 'messages')",
    "SELECT * FROM read_parquet('https://example.invalid/x.parquet')",
    "SELECT * FROM frames",
    "PIVOT messages ON role USING count(*)",
]


@pytest.mark.parametrize("query", FORBIDDEN)
def test_everything_else_is_refused_in_words(base_store: Path, tmp_path: Path, query: str) -> None:
    before = sorted(tmp_path.rglob("*"))
    frames = frames_of(base_store)
    began = time.monotonic()
    with pytest.raises(QueryError) as caught:
        frames.sql(query.format(folder=tmp_path, store=base_store))
    assert time.monotonic() - began < 5, "something waited for a network"
    assert len(str(caught.value)) > 20
    assert sorted(tmp_path.rglob("*")) == before
    assert frames.sql("SELECT count(*) AS n FROM messages")["n"].tolist() == [6], "the next query runs"


def test_errors_say_what_there_is(base_store: Path) -> None:
    frames = frames_of(base_store)
    for query, said in [
        ("SELECT * FROM message", "Did you mean messages?"),
        ("SELECT nope FROM summary_parents", "summary_parents has summary_id, parent_summary_id, ordinal"),
        ("SELECT content FROM messages", "--bodies"),
        ("COPY messages TO 'x'", "COPY is not allowed"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("PIVOT messages ON role USING count(*)", "PIVOT"),
    ]:
        with pytest.raises(QueryError, match=r"[A-Z]") as caught:
            frames.sql(query)
        assert said in str(caught.value)
    assert frames.sql("SELECT content FROM messages WHERE message_id = 5", bodies=True)["content"][0] == "Roll it out."


def test_whole_frames_and_their_list(base_store: Path) -> None:
    frames = frames_of(base_store)
    listed = {one.name: one for one in frames.tables()}
    assert listed["messages"].rows == 6
    assert listed["context"].kind == "view"
    assert ("created_at_utc", "TIMESTAMP") in listed["messages"].columns
    assert len(frames.frame("summary_tree")) == 3
    assert frames.anomalies() == ()
    with pytest.raises(NotFound, match="no table or view 'nope'"):
        frames.frame("nope")


@pytest.mark.parametrize("bodies", [False, True])
def test_a_changed_store_is_loaded_again(base_store: Path, *, bodies: bool) -> None:
    with frames_of(base_store) as frames:
        first = frames.snapshot(bodies=bodies)
        assert frames.snapshot(bodies=bodies) is first
        run_sql(base_store, "UPDATE messages SET token_count = 1000 WHERE message_id = 1")
        assert frames.sql("SELECT sum(tokens) AS n FROM messages", bodies=bodies)["n"].tolist() == [1025]


def test_a_store_that_is_gone_says_so(base_store: Path) -> None:
    frames = frames_of(base_store)
    frames.sql("SELECT 1")
    base_store.unlink()
    with pytest.raises(StoreMissing):
        frames.sql("SELECT 1")


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_loading_leaves_the_store_as_it_was(make_store: StoreMaker, mode: str) -> None:
    path = make_store(journal_mode=mode)
    code = (
        "import sys\nfrom pathlib import Path\nfrom lcm_lab import times\nfrom lcm_lab.analysis.frames import Frames\n"
        "from lcm_lab.store.connect import StoreFile\n"
        "frames = Frames(StoreFile(sys.argv[1]), times.zone('UTC'))\n"
        "for bodies in (False, True):\n    frames.sql('SELECT count(*) FROM messages', bodies=bodies)\n"
        "mapped = Path('/proc/self/maps')\n"
        "names = {line.split('/')[-1] for line in mapped.read_text().splitlines()} if mapped.exists() else set()\n"
        "print(sorted(name for name in names if 'sqlite' in name.lower()))\n"
    )
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True, cwd=path.parent
    )
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before
    assert [one.name for one in path.parent.iterdir()] == ["lcm.db"]
    assert "scanner" not in done.stdout
    assert "adbc" not in done.stdout


WRITER = """
import sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=5)
print("ready", flush=True)
number = 1000
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    number += 1
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) "
                       "VALUES (?, 44, ?, 'user', 'more', 1)", (number, number))
    connection.execute("INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, ?, 'message', ?)",
                       (number, number))
    connection.execute("COMMIT")
"""


def test_a_load_beside_a_writer_shows_one_moment(base_store: Path) -> None:
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(base_store), "3"], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        frames, seen = frames_of(base_store), set()
        pairs = """SELECT (SELECT count(*) FROM messages WHERE message_id > 1000) AS messages,
                          (SELECT count(*) FROM context_items WHERE message_id > 1000) AS items"""
        for bodies in (False, True) * 4:
            frame = frames.sql(pairs, bodies=bodies)
            assert frame["messages"][0] == frame["items"][0]
            seen.add(int(frame["messages"][0]))
        assert len(seen) > 1, "the store did not change"
    finally:
        writer.wait(timeout=20)
        if writer.stdout is not None:
            writer.stdout.close()
    assert writer.returncode == 0


@pytest.mark.parametrize("name", ["small.db", "corrupt.db", "mixed.db", "old-0.1.0.db"])
def test_real_stores_load(shared_store: Callable[[str], Path], name: str) -> None:
    frames = frames_of(shared_store(name))
    for bodies in (False, True):
        for one in frames.tables(bodies=bodies):
            frame = frames.frame(one.name, bodies=bodies)
            assert one.rows is None or len(frame) == one.rows
            assert list(frame.columns) == [column for column, _ in one.columns]
