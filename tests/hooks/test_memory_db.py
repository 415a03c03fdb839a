"""The store: keys, ranks, long and odd texts, migrations, files, the spool, the search, the layers."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.hooks import calls, memory_db, memory_read, memory_schema, spool, token_estimator


def put(con: sqlite3.Connection, source: str, output: str | None, **more: Any) -> None:
    """One detail of turn 1."""
    memory_db.put_detail(
        con,
        {"session_id": "s", "turn": 1, "source_id": source, "tool": "Bash", "input": "{}", "output": output, **more},
    )


def test_a_call_is_stored_once_and_a_better_source_wins(con: sqlite3.Connection) -> None:
    """An event's raw result gives way to what the model saw; nothing worse comes back."""
    put(con, "c", None, rank=memory_db.RANK_PENDING, status="pending")
    put(con, "c", "raw", rank=memory_db.RANK_EVENT)
    put(con, "c", "as seen", rank=memory_db.RANK_SEEN)
    put(con, "c", "raw again", rank=memory_db.RANK_EVENT)
    put(con, "c", "seen again", rank=memory_db.RANK_SEEN)
    assert memory_read.tool_output(con, "s", "c") == "as seen"
    assert con.execute("SELECT count(*) FROM details").fetchone() == (1,)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "a\0b",
        "ünï\u2028cödé",
        "漢字かな",
        "\U0001f600" * 10,
        "x" * 65_536,
        "x" * 65_537,
        "漢" * 30_000,
        "y\n" * 200_000,
    ],
)
def test_texts_come_back_whole(con: sqlite3.Connection, text: str) -> None:
    """Of any size and alphabet; over 64 KB compressed, with the first 64 KB in place."""
    put(con, "c", text)
    assert memory_read.tool_output(con, "s", "c") == text
    head, packed, size = con.execute("SELECT output_text, output_packed, output_size FROM details").fetchone()
    assert size == len(text.encode())
    assert (packed is not None) == (size > memory_db.INDEXED)
    assert len(head.encode()) <= memory_db.INDEXED
    assert text.startswith(head)


def test_halves_of_surrogate_pairs_become_one_mark() -> None:
    """As in the client's own UTF-8; whole pairs stay."""
    assert memory_db.clean("a\ud800b\U0001f600\udc00") == "a\ufffdb\U0001f600\ufffd"


def test_the_same_file_in_each_spelling_of_its_folder() -> None:
    """Windows paths in any case and with either slash are one project."""
    assert memory_db.project_key("C:\\Users\\x\\p\\") == memory_db.project_key("c:/users/x/p")
    assert memory_db.project_key("/home/X/p/") == "/home/X/p"
    assert memory_db.project_key("/") == "/"


def test_migration_is_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the middle leaves an empty file that the next start completes."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    good = memory_db.MIGRATIONS
    monkeypatch.setattr(memory_db, "MIGRATIONS", {1: (good[1][0], "CREATE TABLE turns (again TEXT);\n")})
    with pytest.raises(sqlite3.OperationalError):
        memory_db.connect()
    bare = sqlite3.connect(tmp_path / memory_db.FILE)
    assert bare.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    assert bare.execute("PRAGMA user_version").fetchone() == (0,)
    bare.close()
    monkeypatch.setattr(memory_db, "MIGRATIONS", good)
    memory_db.connect().close()


def test_many_processes_may_make_the_file_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight first starts at the same moment: one schema, no fault."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    faults: list[BaseException] = []

    def start() -> None:
        try:
            memory_db.connect().close()
        except BaseException as error:  # noqa: BLE001 - any of them fails the test below
            faults.append(error)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []


def test_a_later_schema_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An older copy of the hooks does not write into it."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    con = memory_db.connect()
    con.execute("PRAGMA user_version=99")
    con.close()
    with pytest.raises(memory_db.NewerSchema, match="update the hooks"):
        memory_db.connect()


def test_statuses_of_a_session(con: sqlite3.Connection) -> None:
    """Closed sessions open again as what they were; the last activity moves."""
    con.execute("UPDATE sessions SET status='closed', last_active='2001-01-01 00:00:00'")
    memory_db.ensure_session(con, "s")
    row = memory_read.session(con, "s")
    assert row is not None
    assert row.status == "active"
    assert row.last_active > "2020"
    assert row.project_path == "/project"
    con.execute("UPDATE sessions SET status='closed', compactions=1")
    memory_db.ensure_session(con, "s")
    assert memory_read.sessions(con)[0].status == "compacted"


class TestSpool:
    """Events that wait in files."""

    def test_kept_and_taken_in_once(self, con: sqlite3.Connection) -> None:
        """Twice the same event is one row; the files are gone afterwards."""
        call = {
            "source_id": "c",
            "tool": "Bash",
            "input": "{}",
            "output": "x",
            "status": "ok",
            "rank": 2,
            "exit_code": None,
        }
        for _ in range(2):
            spool.put("calls", {"session": "s2", "calls": [call]})
        assert len(spool.waiting()) == 2
        assert {Path(spool.folder(), name).stat().st_mode & 0o777 for name in spool.waiting()} == {0o600}
        assert spool.drain(con, calls.take) == 2
        assert spool.waiting() == []
        assert con.execute("SELECT session_id, source_id FROM details").fetchall() == [("s2", "c")]

    def test_a_damaged_file_is_set_aside(self, con: sqlite3.Connection) -> None:
        """The others are taken in."""
        spool.put("calls", {"session": "s", "calls": []})
        Path(spool.folder(), "0-bad.json").write_text('{"kind": "ca')
        Path(spool.folder(), "1-odd.json").write_text('{"kind": "calls", "payload": {"calls": 3}}')
        Path(spool.folder(), "2-odd.json").write_text(
            '{"kind": "calls", "payload": {"session": "s", "calls": [{"a": 1}]}}'
        )
        assert spool.drain(con, calls.take) == 1
        left = sorted(path.name for path in Path(spool.folder()).iterdir())
        assert left == ["0-bad.json.bad", "1-odd.json.bad", "2-odd.json.bad"]
        assert not con.in_transaction

    def test_files_stay_while_the_lock_is_held(self, con: sqlite3.Connection) -> None:
        """Nothing is removed before it is committed."""
        spool.put("calls", {"session": "s", "calls": []})
        other = memory_db.connect(patience=0.05)
        con.execute("BEGIN IMMEDIATE")
        with pytest.raises(sqlite3.OperationalError) as caught:
            spool.drain(other, calls.take)
        con.execute("ROLLBACK")
        other.close()
        assert spool.locked(caught.value)
        assert len(spool.waiting()) == 1


class TestSearch:
    """Words in the index, and anywhere by a scan."""

    @pytest.fixture(autouse=True)
    def filled(self, con: sqlite3.Connection) -> None:
        """Some texts to find."""
        put(con, "c1", "the worktree index is corrupt")
        put(con, "c2", "サーバーを再起動しました。ポート8080は使用不可。", input='{"command": "再起動"}')
        put(con, "c3", "服务器已经重新启动")
        put(con, "c4", "start " + "filler " * 20_000 + "needle-at-the-end")
        put(con, "c5", 'say "quoted" OR NOT near* -minus (paren)')

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            (["worktree", "corrupt"], ["c1"]),
            (["worktree", "missing"], []),
            (["再起動"], ["c2"]),
            (["使用不可", "8080"], ["c2"]),
            (["重新"], ["c3"]),
            (["needle-at-the-end"], ["c4"]),
            (['"quoted"'], ["c5"]),
            (["near*", "-minus"], ["c5"]),
            (["'; DROP TABLE details; --"], []),
            (["\0"], []),
            ([], []),
        ],
    )
    def test_finds(self, con: sqlite3.Connection, words: list[str], found: list[str]) -> None:
        """All the words must be there; no letter has a special meaning."""
        hits = memory_read.search(con, words, "s")
        sources = [con.execute("SELECT source_id FROM details WHERE id=?", (hit.id,)).fetchone()[0] for hit in hits]
        assert sources == found
        assert memory_read.search(con, words, "another") == []

    def test_without_full_text_search(self, con: sqlite3.Connection) -> None:
        """A library without it scans."""
        for name in ("insert", "delete", "update"):
            con.execute(f"DROP TRIGGER details_fts_{name}")
        con.execute("DROP TABLE details_fts")
        assert [hit.turn_number for hit in memory_read.search(con, ["corrupt"], "s")] == [1]

    def test_changed_and_deleted_rows_leave_the_index(self, con: sqlite3.Connection) -> None:
        """The index follows its table."""
        put(con, "c9", None, rank=memory_db.RANK_PENDING)
        put(con, "c9", "completed later")
        assert len(memory_read.search(con, ["completed"], "s")) == 1
        con.execute("DELETE FROM details WHERE source_id='c9'")
        assert memory_read.search(con, ["completed"], "s") == []
        con.execute("INSERT INTO details_fts(details_fts) VALUES ('integrity-check')")


@pytest.mark.parametrize(
    ("tool", "given", "expected"),
    [
        ("Bash", "/usr/bin/python3 -S -E /h/lookup.py detail 5 --session a", True),
        ("Bash", "'/my py/python3' -S -E '/h o/lookup.py' search two words --page 2 --session a", True),
        ("Bash", "/usr/bin/python3 -S -E /h/lookup.py detail 5 --session a; rm -rf x", False),
        ("Bash", "/usr/bin/python3 -S -E /h/lookup.py detail $(id) --session a", False),
        ("Bash", "/usr/bin/python3 -S -E /h/lookup.py detail 5 --session a | tee x", False),
        ("Bash", "cat hooks/lookup.py", False),
        ("Bash", "python3 lookup.py detail 5", False),
        ("Bash", None, False),
        ("Read", "lookup.py", False),
    ],
)
def test_only_the_plain_look_up_is_left_out(tool: str, given: str | None, *, expected: bool) -> None:
    """Whatever else stands in the command keeps it in L3."""
    assert calls.is_lookup(tool, {"command": given}) is expected
    assert calls.is_lookup("Skill", {"skill": "p:sc-detail"})
    assert not calls.is_lookup("Skill", {"skill": "review"})


def test_estimates() -> None:
    """Longer is more, wide letters weigh more, a measured factor counts within limits."""
    assert token_estimator.estimate("") == 0
    assert token_estimator.estimate("a") == 1
    assert token_estimator.estimate("word " * 100) == 125
    assert token_estimator.estimate("漢字" * 50) == 100
    assert token_estimator.estimate("word " * 100, 1.6) == 200
    sizes = [token_estimator.estimate("é漢a " * count) for count in (1, 10, 1_000, 100_000)]
    assert sizes == sorted(sizes)
    assert token_estimator.factor(9_999, 100) == 1.0
    assert token_estimator.factor(4_800, 3_000) == 1.6
    assert token_estimator.factor(10**9, 3_000) == token_estimator.HIGHEST


def test_a_single_event_shows_about_what_the_model_saw() -> None:
    """Older clients send raw results; the keys of calls without an id are stable."""
    given = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c", "hook_event_name": "PostToolUse"}
    (row,) = calls.of_event({**given, "tool_response": {"stdout": "a", "stderr": "b"}}, masked=True)
    assert (row["output"], row["rank"], row["status"]) == ("a\nb", memory_db.RANK_EVENT, "ok")
    failure = {**given, "hook_event_name": "PostToolUseFailure", "error": "Exit code 4\nno"}
    (row,) = calls.of_event(failure, masked=True)
    assert (row["output"], row["exit_code"], row["status"]) == ("Exit code 4\nno", 4, "failed")
    del given["tool_use_id"]
    first, again = (
        calls.of_event(json.loads(json.dumps({**given, "tool_response": "x"})), masked=True)[0] for _ in range(2)
    )
    assert first["source_id"] == again["source_id"]


def version_1(where: Path) -> sqlite3.Connection:
    """A memory as the hooks made it before a model could be asked, with a session, a turn and three judgments."""
    con = sqlite3.connect(where, isolation_level=None)
    for script in memory_schema.MIGRATIONS[1]:
        con.executescript(script)
    con.execute("PRAGMA user_version=1")
    con.execute("INSERT INTO sessions(session_id, project_path, total_turns) VALUES ('s', '/p', 1)")
    con.execute("INSERT INTO turns(session_id, turn_number, state, items) VALUES ('s', 1, 'complete', 1)")
    for number, command in enumerate((None, "pytest", None)):
        con.execute(
            "INSERT INTO judgments(session_id, turn_number, category, content, confidence, command, content_hash) "
            "VALUES ('s', 1, 'ISSUE', ?, 0.9, ?, ?)",
            (f"fault {number}", command, str(number)),
        )
    return con


def test_a_memory_of_version_1_is_read_as_it_is_and_migrated_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers do not need the new columns; the first hook adds them and loses nothing."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    old = version_1(tmp_path / memory_db.FILE)
    before = [(row.content, row.source) for row in memory_read.judgments(old, "s")]
    assert before == [("fault 0", "rule"), ("fault 1", "tool"), ("fault 2", "rule")]
    assert memory_read.model_use(old).requests == 0
    old.close()
    con = memory_db.connect()
    assert con.execute("PRAGMA user_version").fetchone() == (memory_schema.VERSION,)
    assert [(row.content, row.source) for row in memory_read.judgments(con, "s")] == before
    assert con.execute("SELECT model_items FROM turns").fetchall() == [(None,)]
    con.close()


def test_eight_processes_meet_an_old_memory_at_once(tmp_path: Path) -> None:
    """One of them migrates it, the others wait."""
    version_1(tmp_path / memory_db.FILE).close()
    code = "import memory_db; print(memory_db.connect().execute('SELECT count(source) FROM judgments').fetchone())"
    runs = [
        subprocess.Popen(
            [sys.executable, "-S", "-E", "-c", code],
            cwd=Path(memory_db.__file__).resolve().parent,
            env={**os.environ, "THROUGHLINE_HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(8)
    ]
    assert [run.communicate()[0] for run in runs] == ["(3,)\n"] * 8
