"""Duplicates: the same message again, a replayed stretch, a possible pair; and what is none."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.analysis.health import Fingerprint, check_store, duplicates
from lcm_lab.store.connect import StoreFile


def row(seq: int, text: str | None, moment: float | None = None, tokens: int = 10) -> Fingerprint:
    """A message at ``seq`` whose id is 100 more; without a time of its own it has one that no other has."""
    return Fingerprint(100 + seq, seq, text, 1000.0 * seq if moment is None else moment, tokens)


def test_copies_of_the_same_moment_are_one_stretch() -> None:
    found = duplicates([row(5, "a", 1.0), row(6, "b", 2.0), row(7, "a", 1.0), row(8, "b", 2.0, 7)])
    assert [(one.kind, one.originals, one.copies, one.wasted_tokens) for one in found] == [
        ("same-time", (105, 106), (107, 108), 17)
    ]


def test_a_short_reply_at_another_time_is_none() -> None:
    assert duplicates([row(9, "ok"), row(10, "ok"), row(11, None, 1.0), row(12, None, 1.0)]) == []


def test_a_replayed_stretch_is_found_at_other_times() -> None:
    stretch = [f"text {number}" for number in range(14, 20)]
    rows = [row(13, "before"), *[row(14 + i, text) for i, text in enumerate(stretch)]]
    rows += [row(20 + i, text) for i, text in enumerate(stretch)]
    [one] = duplicates([*rows, row(26, "after")])
    assert (one.kind, one.original_seqs, one.copy_seqs, one.wasted_tokens) == ("run", (14, 19), (20, 25), 60)


def test_a_run_is_found_with_its_beginning() -> None:
    texts = ["x", "x", "b", "c", "d", "end", "x", "x", "b", "c", "d"]
    [one] = duplicates([row(seq, text) for seq, text in enumerate(texts)])
    assert (one.original_seqs, one.copy_seqs) == ((0, 4), (6, 10))


def test_a_heartbeat_is_no_run() -> None:
    assert duplicates([row(seq, ("ask", "ok")[seq % 2]) for seq in range(40)]) == []


def test_three_copies_are_two_repetitions() -> None:
    found = duplicates([row(seq, "abc"[seq % 3]) for seq in range(9)])
    assert [(one.original_seqs, one.copy_seqs) for one in found] == [((0, 2), (3, 5)), ((0, 2), (6, 8))]


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 3)), max_size=40))
def test_no_message_is_wasted_twice(texts: list[tuple[str, int]]) -> None:
    rows = [row(seq, text, float(moment)) for seq, (text, moment) in enumerate(texts)]
    copies = [key for one in duplicates(rows) for key in one.copies]
    assert len(copies) == len(set(copies))
    for one in duplicates(rows):
        by_id = {message.message_id: message.text for message in rows}
        assert [by_id[key] for key in one.originals] == [by_id[key] for key in one.copies]
        assert one.original_seqs[1] < one.copy_seqs[0] or one.kind == "same-time"


def test_the_store_says_which_and_how_much(make_store: Callable[..., Path]) -> None:
    path = make_store(
        """INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at)
        SELECT message_id + 2, 44, seq + 2, role, content, token_count, created_at FROM messages
        WHERE message_id IN (5, 6);
        INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES
        (9, 44, 8, 'user', 'ok', 1, '2026-04-01 10:00:00'), (10, 44, 9, 'user', 'ok', 1, '2026-04-01 12:00:00'),
        (11, 44, 10, 'user', 'export KEY=sk-live-0123456789 and run it', 9, '2026-04-01 13:00:00'),
        (12, 44, 11, 'user', 'export KEY=[REDACTED] and run it', 8, '2026-04-01 13:00:01'),
        (13, 44, 12, 'user', 'export KEY=sk-live-9876543210 and stop it', 9, '2026-04-01 13:00:02');"""
    )
    with closing(sqlite3.connect(path)) as connection:
        for seq in range(14, 26):
            connection.execute(
                "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) "
                "VALUES (?, 44, ?, 'assistant', ?, 5, ?)",
                (seq, seq, f"step {(seq - 14) % 6}", f"2026-04-02 10:{seq}:00"),
            )
        connection.commit()
    found = {one.ids: one for one in check_store(StoreFile(path), 44).of("Q3")}
    assert {ids: one.code for ids, one in found.items()} == {
        ("7", "8"): "Q3-duplicate-message",
        ("12",): "Q3-possible-duplicate",
        ("20", "21", "22", "23", "24", "25"): "Q3-duplicate-run",
    }
    assert "seq 20-25 repeats seq 14-19" in found["20", "21", "22", "23", "24", "25"].message
    assert "30 tokens wasted" in found["20", "21", "22", "23", "24", "25"].message
    assert {one.severity for one in found.values()} == {"info"}
