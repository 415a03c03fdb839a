"""The copy in DuckDB holds what SQLite holds, and says where it does not."""

import itertools
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm_lab import times, tokens
from lcm_lab.analysis import frames_load
from lcm_lab.analysis.frames import Frames, Snapshot, take_snapshot
from lcm_lab.analysis.frames_arrow import numbers, texts
from lcm_lab.analysis.frames_plan import utc
from lcm_lab.store.connect import StoreFile

UTC = times.zone("UTC")
StoreMaker = Callable[..., Path]


def snapshot(path: Path, *, bodies: bool = True) -> Snapshot:
    return take_snapshot(StoreFile(path), UTC, bodies=bodies)


def column(path: Path, sql: str) -> list[Any]:
    return [row[0] for row in snapshot(path).connection.execute(sql).fetchall()]


# (declared type, statement values, what the frame holds, problems) for a table t(c) of its own.
FIDELITY = [
    ("TEXT", ["NULL"] * 3000 + ["'late'"], [None] * 3000 + ["late"], []),
    ("INTEGER", ["1", "'abc'", "3"], [1, None, 3], ["'abc' in a column of whole numbers, left out"]),
    ("INTEGER", ["1", "1.5"], [1, None], ["1.5 in a column of whole numbers, left out"]),
    ("INTEGER", ["''", "'12 tokens'", "3.7", "7"], [None, None, None, 7], ["''", "'12 tokens'", "3.7"]),
    ("TEXT", ["x'fffe'", "'ok'"], ["\ufffd\ufffd", "ok"], ["binary value in a text column"]),
    ("TEXT", ["CAST(x'61ff62' AS TEXT)", "'ok'"], ["a\ufffdb", "ok"], ["invalid UTF-8, bad bytes shown as \ufffd"]),
    (
        "TEXT",
        ["CAST(x'e4bd' AS TEXT)", "CAST(x'a0' AS TEXT)"],
        ["\ufffd", "\ufffd"],
        ["invalid UTF-8", "invalid UTF-8"],
    ),
    ("TEXT", ["CAST(x'610062' AS TEXT)"], ["a\x00b"], []),
    ("TEXT", ["printf('%.*c', 5000000, 'x')"], ["x" * 5_000_000], []),
    (
        "INTEGER",
        ["9223372036854775807", "-9223372036854775808", "9223372036854775808"],
        [2**63 - 1, -(2**63), None],
        ["9.223372036854776e+18 in a column of whole numbers"],
    ),
    ("TEXT", ["'2026-03-30 23:11:15'", "''", "'yesterday'"], ["2026-03-30 23:11:15", "", "yesterday"], []),
    ("INTEGER", ["NULL", "NULL"], [None, None], []),
    ("TEXT", [], [], []),
    ("REAL", ["1", "2.5", "'x'", "NULL"], [1.0, 2.5, None, None], ["'x' in a column of numbers, left out"]),
    ("", ["1", "'a'", "2.5", "NULL"], ["1", "a", "2.5", None], []),
    ("TEXT", ["'\u4f60\u597d\U0001f525'"], ["\u4f60\u597d\U0001f525"], []),
]


@pytest.mark.parametrize(("declared", "values", "expected", "problems"), FIDELITY)
def test_a_column_holds_what_sqlite_holds_or_says_so(
    make_store: StoreMaker, declared: str, values: list[str], expected: list[Any], problems: list[str]
) -> None:
    rows = "".join(f"INSERT INTO t(id, c) VALUES ({i}, {value});" for i, value in enumerate(values, 1))
    path = make_store(f"CREATE TABLE t(id INTEGER PRIMARY KEY, c {declared}); BEGIN; {rows} COMMIT;")
    found = snapshot(path)
    assert [row[0] for row in found.connection.execute("SELECT c FROM t ORDER BY id").fetchall()] == expected
    assert len(found.loaded.notes) == len(problems)
    for note, problem in zip(found.loaded.notes, problems, strict=True):
        assert (note.table, note.column) == ("t", "c")
        assert note.problem.startswith(problem)
    listed = "SELECT row_key FROM lcm_anomalies WHERE table_name = 't' AND column_name = 'c'"
    assert [row[0] for row in found.connection.execute(listed).fetchall()] == [note.row for note in found.loaded.notes]


def test_null_where_a_value_must_be_is_listed(make_store: StoreMaker) -> None:
    path = make_store(
        "CREATE TABLE t(a TEXT, b TEXT NOT NULL, PRIMARY KEY (a, b)); INSERT INTO t VALUES ('k', 'v');"
        "PRAGMA writable_schema=ON; UPDATE sqlite_master SET sql = replace(sql, 'b TEXT NOT NULL', 'b TEXT') WHERE name = 't';"
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO t VALUES ('k', NULL)")
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'b TEXT', 'b TEXT NOT NULL') WHERE name = 't'")
    assert [(one.row, one.problem) for one in snapshot(path).loaded.notes] == [("k:None", "NULL where a value must be")]


def test_a_body_is_looked_at_when_it_is_loaded(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = CAST(x'61ff' AS TEXT) WHERE message_id = 3;")
    assert snapshot(path, bodies=False).loaded.notes == []
    assert [(one.row, one.column) for one in snapshot(path).loaded.notes] == [("3", "content")]
    for bodies in (False, True):
        sql = "SELECT content_bytes FROM messages WHERE message_id = 3"
        assert snapshot(path, bodies=bodies).connection.execute(sql).fetchall() == [(2,)]


def test_bodies_are_there_on_request_and_sizes_always(base_store: Path) -> None:
    names = {
        bodies: [
            row[0] for row in snapshot(base_store, bodies=bodies).connection.execute("DESCRIBE messages").fetchall()
        ]
        for bodies in (False, True)
    }
    assert "content" not in names[False]
    assert {"content_bytes", "tokens", "est_plugin", "created_at", "created_at_utc"} <= set(names[False])
    assert [name for name in names[True] if name != "content"] == names[False]


def test_columns_of_ours_never_take_a_name_of_the_store(make_store: StoreMaker) -> None:
    path = make_store(
        "ALTER TABLE messages ADD COLUMN tokens TEXT; UPDATE messages SET tokens = 'theirs';"
        "ALTER TABLE messages ADD COLUMN content_bytes TEXT; CREATE TABLE context(x TEXT); INSERT INTO context VALUES ('theirs');"
    )
    frames = Frames(StoreFile(path), UTC)
    assert frames.sql("SELECT DISTINCT tokens FROM messages")["tokens"].tolist() == ["theirs"]
    assert frames.sql("SELECT sum(lcm_tokens) AS n FROM messages")["n"].tolist() == [30]
    assert frames.sql("SELECT * FROM context")["x"].tolist() == ["theirs"]
    assert len(frames.sql("SELECT * FROM lcm_context")) == 3


def test_tables_and_columns_nobody_knows_are_kept(make_store: StoreMaker) -> None:
    path = make_store(
        "CREATE TABLE later(\"a b\" TEXT, n INT, raw BLOB) ; INSERT INTO later VALUES ('x', 'bad', x'0102');"
        "ALTER TABLE summaries ADD COLUMN mood TEXT; UPDATE summaries SET mood = 'calm';"
    )
    found = snapshot(path, bodies=False)
    assert found.connection.execute('SELECT "a b", n, raw_bytes FROM later').fetchall() == [("x", None, 2)]
    assert found.connection.execute("SELECT DISTINCT mood FROM summaries").fetchall() == [("calm",)]
    assert [(one.table, one.row) for one in found.loaded.notes] == [("later", "1")]


@pytest.mark.parametrize(
    "gone", ["large_files", "focus_briefs", "summary_parents", "summaries", "context_items", "message_parts"]
)
def test_a_missing_table_is_there_and_empty(make_store: StoreMaker, gone: str) -> None:
    path = make_store(f"DROP TABLE {gone};")
    found = snapshot(path, bodies=False)
    assert found.connection.execute(f"SELECT count(*) FROM {gone}").fetchall() == [(0,)]
    for view in found.views:
        found.connection.execute(f"SELECT * FROM {view}").fetchall()


def test_batches_of_any_size_give_the_same(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = snapshot(base_store).connection.execute("SELECT * FROM messages ORDER BY ALL").fetchall()
    monkeypatch.setattr(frames_load, "_LEAST_ROWS", 1)
    monkeypatch.setattr(frames_load, "_MOST_ROWS", 2)
    assert snapshot(base_store).connection.execute("SELECT * FROM messages ORDER BY ALL").fetchall() == whole


TEXTS = ["", "abc", "ab\u00e9", "\u4f60\u597d", "\U0001f525 fire", "\uff5e~", "a" * 4001, "x;base64," + "A" * 5000]
TEXTS += ["see data:image/png;base64," + "A" * 8000 + " here", "\u4f60 data:image/png;base64," + "B" * 8000]


@pytest.mark.parametrize("bodies", [False, True])
def test_estimates_are_those_of_the_rules(make_store: StoreMaker, *, bodies: bool) -> None:
    path = make_store(base=True)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM messages")
        rows = [(i, 44, i, "user", text, 0, "2026-01-01 00:00:00") for i, text in enumerate(TEXTS)]
        sql = "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES (?,?,?,?,?,?,?)"
        connection.executemany(sql, rows)
    sql = "SELECT est_plugin, est_plugin_old, est_lcm_tui, tokens FROM messages ORDER BY message_id"
    assert snapshot(path, bodies=bodies).connection.execute(sql).fetchall() == [
        (
            tokens.message_tokens(text),
            tokens.legacy_plugin_tokens(text),
            tokens.lcm_tui_tokens(text),
            tokens.message_tokens(text),
        )
        for text in TEXTS
    ]


@given(st.text(max_size=60))
def test_measures_of_any_text_are_those_of_the_rules(text: str) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    meter = frames_load.Meter()
    found = meter.read([meter.measure(raw)])
    shown = raw.decode("utf-8", "replace")
    assert (found.size[0], found.plugin[0], found.legacy[0]) == (
        len(raw),
        tokens.message_tokens(shown),
        tokens.legacy_plugin_tokens(shown),
    )


TIMES = [
    *("2026-03-30 23:11:15", "2026-03-30T23:11:15Z", "2026-03-31T07:11:15.000+08:00", "2026-03-31T07:11:15+0800"),
    *("2026-03-31T07:11:15+08", "2026-03-31T07:11", "2026-03-31T07:11:15.123456789Z", "2026-03-31T07:11:15,5Z"),
    *("2026-03-31T07:11:15 Europe/Berlin", "2026-03-31 07:11:15 UTC", "2026-03-31T25:00:00", "0000-01-01 00:00:00"),
    *("9999-12-31T23:59:59-01:00", "0001-01-01T00:00:00+01:00", "2026-02-30 00:00:00", " 2026-03-31 07:11:15 "),
    *("2026-03-31T07:11:60", "2026-03-31T07:11Z", "2026-03-31 07:11+05:30", "2026-03-31 07:11:15-0330"),
    *("2026-03-31T07:11:15+24:00", "2026-03-31T07:11:15+14:00", "yesterday", "", "2026-03-31", "20260331T071115Z"),
    *(
        "2026-13-01 00:00:00",
        "2024-02-29 12:00:00",
        "2026-03-31T07:11:15.1-00:00",
        "infinity",
        "epoch",
        "2026-3-1 00:00:00",
    ),
    *(
        "2026-03-31 07:11:15.000",
        "1969-12-31T23:59:59.999Z",
        "(BC) 2026-01-01 00:00:00",
        "2026-03-31T07:11:15+08:00:30",
    ),
]


@pytest.mark.parametrize("text", TIMES)
def test_times_are_read_by_the_rule_of_the_clock(base_store: Path, text: str) -> None:
    moment = times.parse(text)
    expected = None if moment is None else moment.replace(tzinfo=None)
    sql = f"SELECT {utc('x')} FROM (SELECT ?::VARCHAR AS x)"
    connection = snapshot(base_store, bodies=False).connection
    assert connection.execute(sql, [text]).fetchall() == [(expected,)]


def test_null_has_no_time(base_store: Path) -> None:
    assert column(base_store, "SELECT archived_at_utc FROM conversations") == [None, None]


def test_buffers_refuse_what_does_not_fit() -> None:
    for bad in (("1",), (1.5,), (b"x",), (2**63,)):
        with pytest.raises((TypeError, OverflowError)):
            numbers(bad)
    with pytest.raises(TypeError):
        texts((b"blob",))
    with pytest.raises(UnicodeDecodeError):
        texts((bytearray(b"\xff"),))


NUMBERS = itertools.count()
VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.binary(max_size=8),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=30))
def test_any_small_table_equals_its_rows(tmp_path: Path, rows: list[tuple[Any, Any, Any]]) -> None:
    path = tmp_path / f"{next(NUMBERS)}.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE conversations(conversation_id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE messages(message_id INTEGER PRIMARY KEY)")
        connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, i INTEGER, x TEXT, r REAL)")
        connection.executemany("INSERT INTO t(i, x, r) VALUES (?, ?, ?)", rows)
        stored = connection.execute("SELECT i, x, r, typeof(i), typeof(x), typeof(r) FROM t ORDER BY id").fetchall()
    found = snapshot(path)
    expected, misfits = [], 0
    for whole, text, real, whole_type, text_type, real_type in stored:
        shown = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        expected.append((whole if whole_type == "integer" else None, shown, real if real_type == "real" else None))
        misfits += (whole_type not in ("integer", "null")) + (text_type == "blob") + (real_type not in ("real", "null"))
    assert found.connection.execute("SELECT i, x, r FROM t ORDER BY id").fetchall() == expected
    assert len(found.loaded.notes) == misfits
    found.connection.close()
