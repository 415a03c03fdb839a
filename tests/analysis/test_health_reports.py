"""Kinds of fault that users of such stores reported, on the base rows: each one is found under its own code."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lcm_lab.analysis.health import Report, check_store
from lcm_lab.store.connect import StoreFile
from lcm_lab.views import as_json

FALLBACK = "[LCM fallback summary; truncated for context management]"


@pytest.fixture
def report(make_store: Callable[..., Path]) -> Callable[..., Report]:
    """The report on the base rows after some SQL."""

    def make(*sql: str, version: str = "0.1.0") -> Report:
        return check_store(StoreFile(make_store(*sql, version=version)))

    return make


def rows(report: Report, code: str) -> set[str]:
    """All rows of a code."""
    return {key for one in report.of(code) for key in one.ids}


def test_base_rows_have_no_structural_fault(report: Callable[..., Report]) -> None:
    found = report()
    assert {one.rule for one in found.findings if one.severity != "info"} <= {"F1"}, "only the index was never written"


def test_a_mark_at_the_end_with_and_without_white_space(report: Callable[..., Report]) -> None:
    text = "x" * 600
    found = report(
        f"UPDATE summaries SET content = '{text}\n{FALLBACK}' WHERE summary_id = 'sum_la'",
        f"UPDATE summaries SET content = '{text}\n{FALLBACK}\n  ' WHERE summary_id = 'sum_lb'",
    )
    assert rows(found, "K1-fallback-marker") == {"sum_la", "sum_lb"}


def test_a_message_whose_text_is_in_its_parts(report: Callable[..., Report]) -> None:
    found = report(
        "UPDATE messages SET content = '', token_count = 0 WHERE message_id = 1",
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content) "
        "VALUES ('a', 1, 's44', 'text', 0, 'deploy done')",
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, tool_name, tool_output) "
        "VALUES ('b', 1, 's44', 'tool', 1, 'Bash', 'exit 0')",
    )
    [one] = found.of("T1-zero-count")
    assert one.ids == ("1",)
    assert "stored tokens 0, re-estimated 5" in one.message


def test_an_unmarked_copy_is_a_suspect_and_no_hit(report: Callable[..., Report]) -> None:
    long = " ".join(f"word{number}" for number in range(900))
    found = report(
        f"UPDATE messages SET content = '{long}', token_count = {len(long) // 4} WHERE message_id = 1",
        "UPDATE summaries SET content = (SELECT substr(content, 1, 2048) FROM messages WHERE message_id = 1), "
        "token_count = 512 WHERE summary_id = 'sum_la'",
    )
    assert rows(found, "K2-verbatim-copy") == {"sum_la"}
    assert found.of("K1") == ()
    assert "suspect" in found.of("K2-verbatim-copy")[0].message


def test_a_summary_larger_than_its_source(report: Callable[..., Report]) -> None:
    found = report(
        "UPDATE messages SET token_count = 4801 WHERE message_id IN (1, 2)",
        "UPDATE summaries SET token_count = 9657 WHERE summary_id = 'sum_la'",
    )
    assert rows(found, "K2-no-compression") >= {"sum_la"}


def test_counts_that_are_no_numbers(report: Callable[..., Report]) -> None:
    found = report(
        "UPDATE messages SET token_count = '' WHERE message_id = 1",
        "UPDATE messages SET token_count = '12 tokens' WHERE message_id = 2",
        "UPDATE messages SET token_count = 3.7 WHERE message_id = 3",
        "UPDATE messages SET token_count = -5 WHERE message_id = 4",
        "UPDATE summaries SET token_count = 'x' WHERE summary_id = 'sum_la'",
    )
    assert rows(found, "T1-bad-count") == {"1", "2", "3", "sum_la"}
    assert rows(found, "T1-zero-count") == {"4"}
    assert "'12 tokens'" in " ".join(one.message for one in found.of("T1-bad-count"))


def test_a_zero_count_with_a_long_text(report: Callable[..., Report]) -> None:
    found = report(f"UPDATE messages SET content = '{'long ' * 2000}', token_count = 0 WHERE message_id = 5")
    assert "re-estimated 2500" in found.of("T1-zero-count")[0].message


def test_a_message_that_is_already_covered(report: Callable[..., Report]) -> None:
    found = report(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 1)"
    )
    [one] = found.of("C6")
    assert one.ids == ("44:3",)
    assert "sum_la, which is inside sum_c1" in one.message
    assert "5 tokens" in one.message


def test_classes_of_untidy_messages(report: Callable[..., Report]) -> None:
    found = report(
        "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) VALUES "
        "(7, 44, 6, 'user', 'And?', 1), (8, 44, 7, 'user', 'Well?', 1), (9, 44, 8, 'tool', 'exit 0', 2), "
        "(10, 44, 9, 'assistant', '', 0)"
    )
    assert rows(found, "P1-user-after-user") == {"8"}
    assert rows(found, "P1-tool-without-call") == {"9"}
    assert rows(found, "P1-empty-assistant") == {"10"}


def test_gaps_inversions_and_items_of_elsewhere(report: Callable[..., Report]) -> None:
    found = report(
        "UPDATE context_items SET ordinal = 5 WHERE ordinal = 0",
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) "
        "VALUES ('sum_x', 45, 'leaf', 0, 'Other lane.', 3)",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 7, 'summary', 'sum_x')",
    )
    assert rows(found, "C2") == {"44:1", "44:5", "44:7"}
    assert rows(found, "C7") == {"44:5", "44:7"}
    assert rows(found, "C4") == {"44:7"}


def test_orphans_by_table(report: Callable[..., Report]) -> None:
    found = report("DELETE FROM messages WHERE message_id = 1; DELETE FROM summaries WHERE summary_id = 'sum_lb'")
    assert {(one.table, one.ids[0]) for one in found.of("L3")} == {
        ("summary_messages", "sum_la->1"),
        ("summary_messages", "sum_lb->3"),
        ("summary_messages", "sum_lb->4"),
        ("summary_parents", "sum_c1->sum_lb"),
    }


def test_a_store_with_columns_and_tables_of_a_later_day(report: Callable[..., Report]) -> None:
    found = report(
        "ALTER TABLE summaries ADD COLUMN mood TEXT; CREATE TABLE lcm_future(id INTEGER PRIMARY KEY, note TEXT)",
        version="0.15.3",
    )
    assert found.of("S2") == ()
    assert found.of("S1") == ()


def test_several_rows_on_one_session(report: Callable[..., Report]) -> None:
    found = report(
        "INSERT INTO conversations(conversation_id, session_id, session_key, active, archived_at) VALUES "
        "(50, 'same', 'key', 1, NULL), (51, 'same', 'key', 0, '2026-01-01 00:00:00'), "
        "(52, 'same', 'key', 0, '2026-01-01 00:00:00')",
        version="0.15.3",
    )
    assert found.of("B1") == ()


def test_a_rewritten_text_is_out_of_step_until_it_is_indexed_again(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "INSERT INTO summaries_fts SELECT summary_id, content FROM summaries; DROP TABLE summaries_fts_cjk"
    )
    assert "summaries" not in {one.table for one in check_store(StoreFile(path)).of("F1")}
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE summaries SET content = 'A text of today.', token_count = 4 WHERE summary_id = 'sum_la'"
        )
        assert rows(check_store(StoreFile(path)), "F1-summary-index") == {"sum_la"}
        connection.execute("UPDATE summaries_fts SET content = 'A text of today.' WHERE summary_id = 'sum_la'")
        assert rows(check_store(StoreFile(path)), "F1-summary-index") == set()


def test_text_and_json_give_the_same(report: Callable[..., Report]) -> None:
    found = report("UPDATE summaries SET depth = 3 WHERE summary_id = 'sum_c1'")
    again = json.loads(as_json.text(found))
    assert sum(again["counts"].values()) == len(again["findings"]) == len(found.findings)
    assert {one["severity"] for one in again["findings"]} <= {"error", "warning", "info"}
