"""Selecting: which summaries are taken, and in which order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm_lab.analysis.health import markers
from lcm_lab.analysis.health.markers import MarkerKind
from lcm_lab.errors import NotFound, UsageError
from lcm_lab.repairs import selecting
from lcm_lab.repairs.selecting import Selection
from lcm_lab.store.connect import StoreFile

MARK = markers.FALLBACK
SEVEN = [
    "sum_9c8aae1d0dd41d48",
    "sum_53584d9746163ca5",
    "sum_37a70735c2e1afc2",
    "sum_d781dcb955460746",
    "sum_e91686f0a1d36dd6",
    "sum_4f6aea8d10bb3dbd",
    "sum_9f1241327e09cbbe",
]
QUOTING = "sum_4ae66c36048804ae"


def rewrite(path: Path, conversation_id: int = 44, **options: Any) -> Selection:
    return StoreFile(path).read(lambda reader: selecting.for_rewrite(reader, conversation_id, **options))


def broken(path: Path, *arguments: Any) -> Selection:
    return StoreFile(path).read(lambda reader: selecting.broken(reader, *arguments))


def summary(one: str, depth: int, created: str, text: str = "raw\n" + MARK, lane: int = 44) -> str:
    kind = "condensed" if depth else "leaf"
    return (
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at) VALUES "
        f"('{one}', {lane}, '{kind}', {depth}, '{text}', 9, '{created}');"
    )


# ---- broken ---------------------------------------------------------------------------------------------------------


def test_the_seven_of_the_real_store_in_order(shared_store: Callable[[str], Path]) -> None:
    found = broken(shared_store("corrupt.db"), 1)
    assert list(found.ids) == SEVEN
    assert found.note is None
    assert [row.ordinal for row in found.rows] == [3, 4, None, None, None, 1, 0]
    assert found.by_label == {"leaf": 4, "d1": 2, "d2": 1}


def test_all_conversations_are_grouped_by_ascending_id(shared_store: Callable[[str], Path]) -> None:
    found = broken(shared_store("corrupt.db"))
    assert list(found.ids) == [*SEVEN, "sum_nosource00000000"]
    assert {lane: len(rows) for lane, rows in found.by_conversation.items()} == {1: 7, 2: 1}
    assert found.rows[-1].sources == 0


def test_a_summary_that_only_quotes_the_mark_says_why_it_does_not_count(shared_store: Callable[[str], Path]) -> None:
    path = shared_store("corrupt.db")
    found = broken(path, 1, QUOTING)
    assert found.rows == ()
    assert str(found.note).startswith(
        f"Summary {QUOTING} is not broken: it holds {MARK}, but it stands inside the text"
    )
    assert broken(path, None, SEVEN[0]).ids == (SEVEN[0],)


def test_a_healthy_one_and_a_healthy_store_say_so(base_store: Path) -> None:
    assert broken(base_store, 44, "sum_la").note == (
        "Summary sum_la is not broken: it holds no mark of a failed compaction."
    )
    assert broken(base_store).note == "No summary in this store is broken."
    assert broken(base_store, 45).note == "No summary in conversation 45 is broken."


def test_what_is_not_there_is_named(base_store: Path) -> None:
    with pytest.raises(NotFound, match="no conversation 99 in this store"):
        broken(base_store, 99)
    with pytest.raises(NotFound, match="no summary sum_zz in this store; 'lcm-lab dag CONV'"):
        broken(base_store, None, "sum_zz")
    with pytest.raises(NotFound, match="sum_la belongs to conversation 44, not to 45"):
        broken(base_store, 45, "sum_la")


def test_b02_marks_at_the_end_are_seen_with_their_kind(make_store: Callable[..., Path]) -> None:
    body = "x" * 600
    path = make_store(
        summary("sum_1", 0, "2026-03-30 10:00:00", f"{body}\n{MARK}"),
        summary("sum_2", 0, "2026-03-30 10:01:00", f"{body}\n{MARK}\n  "),
        summary("sum_3", 0, "2026-03-30 10:02:00", "[Truncated from 0 tokens]"),
        summary("sum_4", 0, "2026-03-30 10:03:00", f"{MARK} {body}"),
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, model, created_at) VALUES "
        "('sum_5', 44, 'leaf', 0, 'Plain.', 2, 'emergency-fallback', '2026-03-30 10:04:00');",
    )
    found = broken(path, 44)
    assert [(row.summary_id, row.marker) for row in found.rows] == [
        ("sum_1", MarkerKind.FALLBACK_END),
        ("sum_2", MarkerKind.FALLBACK_END),
        ("sum_3", MarkerKind.TRUNCATED_END),
        ("sum_4", MarkerKind.FALLBACK_START),
        ("sum_5", MarkerKind.EMERGENCY_MODEL),
    ]
    assert found.by_marker[MarkerKind.FALLBACK_END] == 2
    assert found.rows[0].bytes == 600 + 1 + len(MARK)


def test_b07_leaves_by_their_place_then_the_others_then_what_is_made_from_them(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "DELETE FROM context_items;",
        summary("leaf_late", 0, "2026-03-30 10:10:00"),
        summary("leaf_early", 0, "2026-03-30 10:11:00"),
        summary("leaf_absorbed", 0, "2026-03-30 10:00:00"),
        summary("d1", 1, "2026-03-30 09:00:00"),
        summary("d2", 2, "2026-03-30 08:00:00"),
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('d1', 'leaf_late', 1), ('d1', 'leaf_early', 0), ('d2', 'd1', 0);"
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 2, 'summary', 'leaf_late'), (44, 1, 'summary', 'leaf_early');",
    )
    assert broken(path, 44).ids == ("leaf_early", "leaf_late", "leaf_absorbed", "d1", "d2")
    assert [row.sources for row in broken(path, 44).rows] == [0, 0, 0, 2, 1]


def test_the_conversations_stay_apart_even_where_an_edge_joins_them(make_store: Callable[..., Path]) -> None:
    path = make_store(
        summary("sum_a", 1, "2026-03-30 10:00:00"),
        summary("sum_b", 0, "2026-03-30 10:00:00", lane=45),
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_a', 'sum_b', 0);",
    )
    assert broken(path).ids == ("sum_a", "sum_b")


def test_old_stores_are_searched_without_the_columns_they_lack(make_store: Callable[..., Path]) -> None:
    path = make_store(f"UPDATE summaries SET content = 'raw\n{MARK}' WHERE summary_id = 'sum_lb'", version="0.1.0")
    assert broken(path, 44).ids == ("sum_lb",)


def test_values_of_a_wrong_kind_do_not_stop_it(make_store: Callable[..., Path]) -> None:
    path = make_store(
        f"UPDATE summaries SET content = CAST(x'ff' AS TEXT) || '\n{MARK}', depth = 'deep', created_at = 7 WHERE summary_id = 'sum_lb';"
        f"UPDATE summaries SET content = CAST('raw\n{MARK}' AS BLOB), token_count = 'many' WHERE summary_id = 'sum_la';"
    )
    assert set(broken(path, 44).ids) == {"sum_la", "sum_lb"}
    assert len(rewrite(path, everything=True).rows) == 3


# ---- rewrite --------------------------------------------------------------------------------------------------------

PILE = (
    summary("sum_x", 0, "2026-03-30 10:00:00", "x"),
    summary("sum_w", 0, "2026-03-30 10:00:00", "w"),
    summary("sum_iso", 0, "2026-03-30T09:00:00Z", "iso"),
    summary("sum_d2", 2, "2026-03-29 10:00:00", "d2"),
    "UPDATE summaries SET created_at = '2026-03-30 12:00:00' WHERE summary_id IN ('sum_la', 'sum_lb', 'sum_c1');",
    "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_d2', 'sum_c1', 0), ('sum_d2', 'sum_x', 1);",
)


def test_all_go_by_depth_then_age_as_text_then_id(make_store: Callable[..., Path]) -> None:
    path = make_store(*PILE)
    # As text a blank sorts before a T, whatever the hour: that is the order lcm-tui works in.
    leaves = ("sum_w", "sum_x", "sum_la", "sum_lb", "sum_iso")
    assert rewrite(path, everything=True).ids == (*leaves, "sum_c1", "sum_d2")
    assert rewrite(path, depth=0).ids == leaves
    assert rewrite(path, depth=1).ids == ("sum_c1",)


def test_one_is_one_and_a_subtree_is_bottom_up(make_store: Callable[..., Path]) -> None:
    path = make_store(*PILE)
    assert rewrite(path, summary_id="sum_c1").ids == ("sum_c1",)
    assert rewrite(path, subtree="sum_c1").ids == ("sum_la", "sum_lb", "sum_c1")
    assert rewrite(path, subtree="sum_d2").ids == ("sum_x", "sum_la", "sum_lb", "sum_c1", "sum_d2")
    assert rewrite(path, subtree="sum_la").ids == ("sum_la",)


def test_a_wrong_depth_does_not_put_a_summary_before_its_sources(make_store: Callable[..., Path]) -> None:
    path = make_store(*PILE, "UPDATE summaries SET depth = 5 WHERE summary_id = 'sum_la';")
    assert rewrite(path, subtree="sum_d2").ids == ("sum_x", "sum_lb", "sum_la", "sum_c1", "sum_d2")


def test_a_cycle_ends_and_each_comes_once(make_store: Callable[..., Path]) -> None:
    path = make_store(
        *PILE,
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_c1', 'sum_d2', 9), ('sum_c1', 'sum_c1', 8), ('sum_c1', 'sum_gone', 7);",
    )
    found = rewrite(path, subtree="sum_c1").ids
    assert sorted(found) == ["sum_c1", "sum_d2", "sum_la", "sum_lb", "sum_x"]
    assert sorted(rewrite(path, everything=True).ids) == sorted(
        ["sum_c1", "sum_d2", "sum_iso", "sum_la", "sum_lb", "sum_w", "sum_x"]
    )


def test_each_says_whether_it_is_broken(shared_store: Callable[[str], Path]) -> None:
    found = rewrite(shared_store("corrupt.db"), 1, everything=True)
    assert {row.summary_id for row in found.rows if row.marker is not None} == set(SEVEN)


def test_an_empty_selection_says_what_is_not_there(base_store: Path) -> None:
    assert rewrite(base_store, depth=3) == Selection((), "Conversation 44 has no summaries of depth 3.")
    assert rewrite(base_store, 45, everything=True).note == "Conversation 45 has no summaries."


@pytest.mark.parametrize(
    "options", [{}, {"depth": 0, "everything": True}, {"summary_id": "sum_la", "subtree": "sum_la"}]
)
def test_exactly_one_selector(options: dict[str, Any], base_store: Path) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        rewrite(base_store, **options)


def test_what_a_rewrite_cannot_find_is_named(base_store: Path) -> None:
    with pytest.raises(UsageError, match="not -1"):
        rewrite(base_store, depth=-1)
    with pytest.raises(NotFound, match="no summary sum_zz"):
        rewrite(base_store, summary_id="sum_zz")
    with pytest.raises(NotFound, match="sum_la belongs to conversation 44, not to 45"):
        rewrite(base_store, 45, subtree="sum_la")
    with pytest.raises(NotFound, match="no conversation 7"):
        rewrite(base_store, 7, everything=True)


# ---- any graph ------------------------------------------------------------------------------------------------------

NUMBERS = st.integers(0, 9)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    edges=st.sets(st.tuples(NUMBERS, NUMBERS), max_size=30),
    start=NUMBERS,
    depths=st.lists(NUMBERS, min_size=10, max_size=10),
)
def test_any_graph_gives_each_once_and_sources_first(
    edges: set[tuple[int, int]], start: int, depths: list[int], make_store: Callable[..., Path]
) -> None:
    """On a graph without cycles each source comes before what is made from it, whatever the depths say."""
    rows = [summary(f"sum_{number}", depths[number], "2026-03-30 10:00:00", "x") for number in range(10)]
    links = [f"INSERT INTO summary_parents VALUES ('sum_{a}', 'sum_{b}', {b});" for a, b in sorted(edges)]
    path = make_store("DELETE FROM summary_parents; DELETE FROM summaries;", *rows, *links, journal_mode="delete")
    below, front = {start}, [start]
    while front:
        derived = front.pop()
        new = {b for a, b in edges if a == derived} - below
        below |= new
        front.extend(new)
    found = rewrite(path, subtree=f"sum_{start}").ids
    assert sorted(found) == sorted(f"sum_{number}" for number in below)
    everything = rewrite(path, everything=True).ids
    assert len(everything) == len(set(everything)) == 10
    place = {one: at for at, one in enumerate(everything)}
    if all(a > b for a, b in edges):
        assert all(place[f"sum_{b}"] < place[f"sum_{a}"] for a, b in edges)
