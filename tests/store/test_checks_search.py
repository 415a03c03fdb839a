"""The full-text tables as the health checks read them: by their inner tables, of real indexes of many shapes."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.store import checks_search
from lcm_lab.store.checks_search import IndexState
from lcm_lab.store.connect import StoreFile

StoreMaker = Callable[..., Path]
MANY = """WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 1500)
INSERT INTO messages_fts(rowid, content) SELECT i, 'word' || i || ' ' || hex(randomblob(120)) FROM n;"""


@pytest.fixture
def indexed(make_store: StoreMaker) -> Path:
    """The base rows with their index rows."""
    return make_store(
        "INSERT INTO messages_fts(rowid, content) SELECT message_id, content FROM messages;"
        "INSERT INTO summaries_fts SELECT summary_id, content FROM summaries;"
        "INSERT INTO summaries_fts_cjk SELECT summary_id, content FROM summaries;"
    )


def pages(path: Path, table: str) -> int:
    """How many pages of an index are missing."""
    return StoreFile(path).read(lambda reader: checks_search.missing_pages(reader, table))


def test_an_index_in_step_shows_nothing(indexed: Path) -> None:
    file = StoreFile(indexed)
    for table in ("summaries_fts", "summaries_fts_cjk"):
        assert file.read(lambda reader, table=table: list(checks_search.summary_states(reader, table, None))) == []
    assert file.read(lambda reader: list(checks_search.unindexed_messages(reader, None))) == []
    assert file.read(checks_search.rows_of_no_message) == []


@pytest.mark.parametrize("table", ["messages_fts", "summaries_fts", "summaries_fts_cjk"])
def test_a_whole_index_has_all_pages_and_finds_a_word(indexed: Path, table: str) -> None:
    assert pages(indexed, table) == 0
    assert StoreFile(indexed).read(lambda reader: checks_search.finds(reader, table)) is True


def test_each_difference_is_counted(indexed: Path) -> None:
    with closing(sqlite3.connect(indexed, isolation_level=None)) as connection:
        connection.execute("DELETE FROM summaries_fts WHERE summary_id = 'sum_la'")
        connection.execute("UPDATE summaries_fts SET content = 'old' WHERE summary_id = 'sum_lb'")
        connection.execute(
            "INSERT INTO summaries_fts SELECT summary_id, content FROM summaries WHERE summary_id = 'sum_c1'"
        )
        connection.execute("INSERT INTO summaries_fts VALUES ('gone', 'x')")
    file = StoreFile(indexed)
    found = file.read(lambda reader: sorted(checks_search.summary_states(reader, "summaries_fts", 44), key=str))
    assert found == [IndexState("sum_c1", 44, 2, 2), IndexState("sum_la", 44, 0, 0), IndexState("sum_lb", 44, 1, 0)]
    assert file.read(lambda reader: list(checks_search.summary_states(reader, "summaries_fts", 45))) == []
    assert file.read(lambda reader: checks_search.rows_of_no_summary(reader, "summaries_fts")) == ["gone"]


def test_blank_messages_need_no_row(indexed: Path) -> None:
    with closing(sqlite3.connect(indexed, isolation_level=None)) as connection:
        connection.execute("UPDATE messages SET content = char(10, 32, 160, 12288) WHERE message_id = 5")
        connection.execute("DELETE FROM messages_fts WHERE rowid IN (5, 6)")
    found = StoreFile(indexed).read(lambda reader: list(checks_search.unindexed_messages(reader, 44)))
    assert [one.message_id for one in found] == [6]


@pytest.mark.parametrize(
    "work",
    ["merge=16", "merge=-4", "optimize", "rebuild"],
)
def test_merging_an_index_loses_no_page(make_store: StoreMaker, work: str) -> None:
    kind, _, number = work.partition("=")
    columns, values = ("messages_fts, rank", f"'{kind}', {number}") if number else ("messages_fts", f"'{kind}'")
    command = f"INSERT INTO messages_fts({columns}) VALUES ({values});"
    path = make_store(MANY, "DELETE FROM messages_fts WHERE rowid % 3 = 0;", command * 3)
    assert pages(path, "messages_fts") == 0
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        last = connection.execute("SELECT max(id) FROM messages_fts_data").fetchone()[0]
        connection.execute("DELETE FROM messages_fts_data WHERE id = ?", (last,))
    assert pages(path, "messages_fts") == 1
    assert StoreFile(path).read(lambda reader: checks_search.missing_pages(reader, "messages_fts", every=False)) == 1


@given(st.integers(0, 2**64 - 1))
def test_numbers_are_read_as_sqlite_writes_them(number: int) -> None:
    if number >= 2**56:
        raw = bytes([0x80 | (number >> 8) >> 7 * i & 0x7F for i in range(7, -1, -1)]) + bytes([number & 0xFF])
    else:
        groups = [number & 0x7F]
        while number >> 7 * len(groups):
            groups.append(0x80 | number >> 7 * len(groups) & 0x7F)
        raw = bytes(reversed(groups))
    assert list(checks_search._varints(raw + b"\x05")) == [number, 5]


def test_a_record_nobody_can_read_is_not_judged() -> None:
    assert checks_search._segments(b"\x00\x00\x00\x00\x09") == []
    assert checks_search._segments(b"") == []
