"""Search: index where it works, scan where it does not, any text literal."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.data import schema_files
from lcm_lab.errors import UsageError
from lcm_lab.store import search
from lcm_lab.store.connect import StoreFile
from tests.conftest import StoreMaker

INDEX_ALL = (
    "INSERT INTO messages_fts(rowid, content) SELECT message_id, content FROM messages",
    "INSERT INTO summaries_fts(summary_id, content) SELECT summary_id, content FROM summaries",
)


def found(path: Path, text: str, **options: object) -> search.Hits:
    """The hits for a text."""
    return StoreFile(path).read(lambda reader: search.search(reader, text, **options))  # type: ignore[arg-type]


def ids(hits: search.Hits) -> list[str]:
    """The rows of the hits."""
    return [one.row_id for one in hits.rows]


def test_words_come_from_the_index(make_store: StoreMaker) -> None:
    hits = found(make_store(*INDEX_ALL), "443")
    assert ids(hits) == ["sum_c1", "sum_lb", "4", "3"]
    assert hits.modes == {"summaries": search.SCAN, "messages": search.INDEX}


def test_what_the_index_lacks_is_found_by_a_scan(base_store: Path) -> None:
    hits = found(base_store, "firewall")
    assert ids(hits) == ["sum_la", "2"]
    assert hits.modes["messages"] == search.SCAN


def test_a_part_of_a_word_is_found(make_store: StoreMaker) -> None:
    assert ids(found(make_store(*INDEX_ALL), "irewal")) == ["sum_la", "2"]


def test_chinese_inside_a_longer_run(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = '\u8bf7\u628a\u8bbe\u5907\u8bbe\u4e3a\u9759\u9ed8\u6a21\u5f0f' WHERE message_id = 5",
        *INDEX_ALL,
    )
    hits = found(path, "\u9759\u9ed8")
    assert ids(hits) == ["5"]
    assert hits.modes["messages"] == search.SCAN


@pytest.mark.parametrize(
    "text", ['"', "*", "AND", "a OR b", "NEAR(", "%", "_", "\\", "'; DROP TABLE messages; --", "(", "^x", "-", "\x00"]
)
def test_any_text_is_literal(make_store: StoreMaker, text: str) -> None:
    path = make_store(*INDEX_ALL)
    assert ids(found(path, text)) == []
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE messages SET content = ? WHERE message_id = 6", (f"before {text} after",))
        db.commit()
    if text != "\x00":
        assert ids(found(path, text)) == ["6"]


def test_blank_text_finds_nothing(base_store: Path) -> None:
    assert found(base_store, "  ").rows == ()


def test_tool_payloads_are_searched(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = '' WHERE message_id = 6",
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, tool_output) VALUES ('a', 6, 's', 'tool', 0, 'exit code forty')",
        *INDEX_ALL,
    )
    hits = found(path, "forty")
    assert ids(hits) == ["6"]
    assert "exit code forty" in hits.rows[0].snippet


def test_a_damaged_index_gives_way_to_a_scan(make_store: StoreMaker) -> None:
    path = make_store(*INDEX_ALL, "DELETE FROM messages_fts_data")
    hits = found(path, "firewall")
    assert ids(hits) == ["sum_la", "2"]


def test_a_rewritten_summary_is_found_by_its_new_words_only(make_store: StoreMaker) -> None:
    path = make_store(*INDEX_ALL, "UPDATE summaries SET content = 'Entirely reworded' WHERE summary_id = 'sum_la'")
    assert ids(found(path, "reworded")) == ["sum_la"]
    assert "sum_la" not in ids(found(path, "8080"))


def test_a_store_without_full_text_tables(tmp_path: Path, make_store: StoreMaker) -> None:
    path = make_store("DROP TABLE messages_fts", "DROP TABLE summaries_fts")
    assert ids(found(path, "firewall")) == ["sum_la", "2"]
    assert StoreFile(path).read(search.index_state)["messages_fts"] == "missing"


def test_only_one_conversation(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (45, 1, 'user', 'firewall', 2)"
    )
    assert ids(found(path, "firewall", conversation_id=45)) == ["7"]


def test_pages_join_up(make_store: StoreMaker) -> None:
    rows = "".join(
        f"INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (45, {i}, 'user', 'needle {i}', 2);"
        f"INSERT INTO summaries(summary_id, conversation_id, kind, content, token_count) VALUES ('s{i}', 45, 'leaf', 'needle', 1);"
        for i in range(1, 8)
    )
    path = make_store(rows)
    whole, pages, cursor = ids(found(path, "needle", limit=100)), [], None
    while True:
        hits = found(path, "needle", limit=3, cursor=cursor)
        pages += ids(hits)
        cursor = hits.next
        if cursor is None:
            break
    assert pages == whole
    assert len(whole) == len(set(whole)) == 14


def test_a_foreign_cursor_is_refused(base_store: Path) -> None:
    with pytest.raises(UsageError, match="not a cursor"):
        found(base_store, "x", cursor="bogus")


@given(st.text(min_size=1, max_size=30))
def test_no_text_breaks_the_search(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "search"
    path = folder / "lcm.db"
    if not path.exists():
        folder.mkdir()
        schema_files.create_store(path, "0.15.3")
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM messages")
        db.execute("DELETE FROM messages_fts")
        db.execute("INSERT INTO conversations(conversation_id, session_id) VALUES (1, 's') ON CONFLICT DO NOTHING")
        db.execute(
            "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) VALUES (1, 1, 1, 'user', ?, 1)",
            (f"a {text} b".encode("utf-8", "replace").decode(),),
        )
        db.commit()
    hits = found(path, text)
    if text.strip() and "\x00" not in text and text.encode("utf-8", "replace").decode() == text:
        assert ids(hits) == ["1"]
