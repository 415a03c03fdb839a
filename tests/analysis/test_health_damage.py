"""Damage stops nothing but the rule that meets it, and is named; a broken search index stops nothing at all."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lcm_lab.analysis.health import Report, check_store
from lcm_lab.analysis.health import checking as checking_module
from lcm_lab.errors import StoreBusy
from lcm_lab.store import checks_search
from lcm_lab.store.connect import Reader, StoreFile

StoreMaker = Callable[..., Path]
INDEXED = (
    "INSERT INTO messages_fts(rowid, content) SELECT message_id, content FROM messages;"
    "INSERT INTO summaries_fts SELECT summary_id, content FROM summaries;"
    "INSERT INTO summaries_fts_cjk SELECT summary_id, content FROM summaries;"
)


def big(make_store: StoreMaker, *sql: str) -> Path:
    """A store in DELETE mode with enough rows to fill many pages of each table."""
    filler = """WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 700)
    INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at)
    SELECT i, 45, i, 'user', 'message ' || i || hex(randomblob(300)), 160, '2026-05-01 10:00:00' FROM n;"""
    return make_store(filler, *sql, journal_mode="delete")


def page_of(path: Path, table: str, number: int) -> int:
    """A leaf page of a table, as an offset into the file."""
    with closing(sqlite3.connect(path)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    raw = path.read_bytes()
    start = (root - 1) * size
    assert raw[start] == 5, "the table has inner pages"
    cell = int.from_bytes(raw[start + 12 + 2 * number : start + 14 + 2 * number], "big")
    return (int.from_bytes(raw[start + cell : start + cell + 4], "big") - 1) * size


def test_a_broken_page_is_named_and_the_rest_is_checked(make_store: StoreMaker) -> None:
    path = big(make_store, "INSERT INTO summary_parents VALUES ('sum_c1', 'gone', 2)")
    start = page_of(path, "messages", 3)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 100)
    found = check_store(StoreFile(path))
    assert "table messages cannot be read whole" in found.of("S1-damaged")[0].message
    assert {one.conversation_id for one in found.of("S1-unreadable")} >= {45}
    assert ("L3", "sum_c1->gone") in found.pairs("error"), "conversation 44 is whole"
    assert any(one.conversation_id == 45 for one in found.skipped)


def test_a_file_cut_short_gives_a_report(make_store: StoreMaker) -> None:
    path = big(make_store)
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.truncate(size * 6 // 10)
    found = check_store(StoreFile(path))
    assert found.counts["error"] >= 1
    assert found.of("S1")


def test_no_false_findings_follow_from_damage(make_store: StoreMaker) -> None:
    path = big(make_store)
    healthy = check_store(StoreFile(path)).pairs()
    start = page_of(path, "messages", 3)
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xff" * 100)
    assert check_store(StoreFile(path)).pairs() <= healthy


@pytest.mark.parametrize("table", ["messages_fts", "summaries_fts", "summaries_fts_cjk"])
def test_an_emptied_index_is_damaged_and_stops_nothing(make_store: StoreMaker, table: str) -> None:
    path = make_store(INDEXED)
    before = check_store(StoreFile(path)).pairs()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"DELETE FROM {table}_data")
    found = check_store(StoreFile(path))
    assert {one.table for one in found.of("F1-damaged-index")} == {table}
    assert found.pairs() == before


def test_an_index_that_lost_a_page_is_damaged(make_store: StoreMaker) -> None:
    many = """WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
    INSERT INTO messages_fts(rowid, content) SELECT i, hex(randomblob(200)) FROM n;"""
    path = make_store(INDEXED, many)
    assert not check_store(StoreFile(path)).of("F1-damaged-index")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("DELETE FROM messages_fts_data WHERE id = (SELECT max(id) - 3 FROM messages_fts_data)")
    assert [one.table for one in check_store(StoreFile(path)).of("F1-damaged-index")] == ["messages_fts"]


def test_a_half_dropped_index_is_damaged(make_store: StoreMaker) -> None:
    path = make_store(INDEXED)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("DELETE FROM sqlite_master WHERE name = 'summaries_fts_idx'")
    found = check_store(StoreFile(path)).of("F1-damaged-index")
    assert [one.table for one in found] == ["summaries_fts"]
    assert "idx" in found[0].message


def test_a_search_that_misses_an_indexed_row_is_out_of_step(
    make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks_search, "finds", lambda _, table: table != "summaries_fts")
    found = check_store(StoreFile(make_store(INDEXED))).of("F1-damaged-index")
    assert [one.table for one in found] == ["summaries_fts"]


@pytest.mark.parametrize("said", ["no such module: fts5", "no such tokenizer: trigram"])
def test_a_library_that_cannot_search_is_skipped(
    make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    def finds(reader: Reader, table: str) -> bool:
        raise sqlite3.OperationalError(said)

    monkeypatch.setattr(checks_search, "finds", finds)
    found = check_store(StoreFile(make_store(INDEXED)))
    assert not found.of("F1-damaged-index")
    assert all(said in one.reason for one in found.skipped)
    assert len(found.skipped) == 3


def test_a_store_without_an_index_is_legal(make_store: StoreMaker) -> None:
    found = check_store(
        StoreFile(make_store("DROP TABLE messages_fts; DROP TABLE summaries_fts; DROP TABLE summaries_fts_cjk"))
    )
    assert not found.of("F1")
    assert [(one.rule, one.conversation_id) for one in found.skipped] == [("F1", None)]


def test_what_newer_libraries_say_of_an_index_is_not_damage_of_the_file(
    make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [
        "malformed inverted index for FTS5 table main.summaries_fts",
        "unable to validate the inverted index for FTS5 table main.summaries_fts_cjk: SQL logic error",
        "*** in database main ***\nTree 7 page 9: btreeInitPage() returns error code 11",
    ]
    monkeypatch.setattr(checking_module.store_rules.checks_file, "quick_check", lambda *_: lines)
    found = check_store(StoreFile(make_store(INDEXED)))
    assert [one.table for one in found.of("F1-damaged-index")] == ["summaries_fts"]
    assert "Tree 7 page 9" in found.of("S1-damaged")[0].message
    assert "FTS5" not in found.of("S1-damaged")[0].message
    assert any("validate" in one.reason for one in found.skipped)


def test_a_lock_is_no_finding(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(reader: Reader, conversation_id: int | None = None) -> list[object]:
        error = sqlite3.OperationalError("database is locked")
        error.sqlite_errorname = "SQLITE_BUSY"
        raise error

    monkeypatch.setattr(checking_module.store_rules.checks, "lanes", busy)
    with pytest.raises(StoreBusy):
        check_store(StoreFile(make_store()))


def test_findings_beyond_a_number_are_kept_together(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lcm_lab.analysis.health.finding.ONE_BY_ONE", 5)
    path = big(make_store, "UPDATE messages SET token_count = 0 WHERE conversation_id = 45")
    found: Report = check_store(StoreFile(path))
    zeros = found.of("T1-zero-count")
    assert len(zeros) == 6
    assert sum(len(one.ids) for one in zeros) == 601
    assert len(found.pairs("warning")) >= 601
