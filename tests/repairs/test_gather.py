"""Gathering: source text, times, target and previous context of one summary, as lcm-tui sent them and better."""

import doctest
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm_lab import times, tokens
from lcm_lab.analysis.health import markers
from lcm_lab.errors import NotFound
from lcm_lab.repairs import gather as module
from lcm_lab.repairs import selecting
from lcm_lab.repairs.gather import Material, gather
from lcm_lab.store import lineage
from lcm_lab.store.connect import StoreFile

UTC = times.zone("UTC")
BERLIN = times.zone("Europe/Berlin")
MARK = markers.FALLBACK

REPLAYED = {
    "small-rewrite-1-all-diff": {"everything": True},
    "small-rewrite-1-depth0": {"depth": 0},
    "mixed-rewrite-1-depth0": {"depth": 0},
}


def of(path: Path, summary_id: str, conversation_id: int = 44, **options: Any) -> Material:
    """The material of a summary, in UTC unless said otherwise."""
    options = {"zone": UTC, **options}
    return StoreFile(path).read(lambda reader: gather(reader, conversation_id, summary_id, **options))


def test_doctests() -> None:
    assert doctest.testmod(module).failed == 0


def test_every_mark_begins_with_what_the_scan_looks_for() -> None:
    for literal in (
        markers.FALLBACK,
        markers.DIRECTIVE,
        markers.DIRECTIVE_INLINE,
        markers.TRUNCATED,
        markers.EMERGENCY,
    ):
        assert literal.startswith(lineage.MARK_BEGINNINGS)
    assert markers.EMERGENCY_MODEL == lineage.EMERGENCY_MODEL


# ---- against lcm-tui ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", REPLAYED)
def test_lcm_tui_was_sent_the_same(case: str, shared: Path, shared_store: Callable[[str], Path]) -> None:
    golden = json.loads((shared / "golden" / f"{case}.json").read_text())
    store = StoreFile(shared_store(golden["store"]))
    selected = store.read(lambda reader: selecting.for_rewrite(reader, 1, **REPLAYED[case]))
    assert list(selected.ids) == [request["summary_id"] for request in golden["requests"]]
    drafts: dict[str, str] = {}
    for request in golden["requests"]:
        found = of(store.path, request["summary_id"], 1, drafts=dict(drafts))
        assert found.problem is None
        assert found.target_tokens == request["target_tokens"]
        assert found.previous_context == request["previous_context"]
        assert found.source_text == request["source_text"]
        drafts[found.summary_id] = request["reply"]


@pytest.mark.parametrize("case", ["corrupt-repair-1", "corrupt-doctor-1", "corrupt-doctor-1-timestamps"])
def test_order_and_targets_of_the_broken_ones_both_take(
    case: str, shared: Path, shared_store: Callable[[str], Path]
) -> None:
    golden = json.loads((shared / "golden" / f"{case}.json").read_text())
    store = StoreFile(shared_store(golden["store"]))
    ours = store.read(lambda reader: selecting.broken(reader, 1)).ids
    theirs = [request["summary_id"] for request in golden["requests"]]
    common = [one for one in theirs if one in ours]
    assert [one for one in ours if one in theirs] == common
    assert len(common) >= 5
    for request in golden["requests"]:
        found = of(store.path, request["summary_id"], 1)
        assert found.target_tokens == request["target_tokens"]


def test_doctor_with_timestamps_was_sent_the_same_text_of_leaves(
    shared: Path, shared_store: Callable[[str], Path]
) -> None:
    golden = json.loads((shared / "golden" / "corrupt-doctor-1-timestamps.json").read_text())
    path = shared_store(golden["store"])
    drafts: dict[str, str] = {}
    for request in golden["requests"]:
        found = of(path, request["summary_id"], 1, drafts=dict(drafts))
        if found.source_kind == "messages":
            assert found.source_text == request["source_text"]
        drafts[found.summary_id] = request["reply"]


def test_old_stores_can_be_gathered(shared: Path, shared_store: Callable[[str], Path]) -> None:
    store = StoreFile(shared_store("old-0.1.0.db"))
    selected = store.read(lambda reader: selecting.for_rewrite(reader, 1, everything=True))
    assert len(selected.rows) == 5
    for one in selected.rows:
        found = of(store.path, one.summary_id, 1)
        assert found.problem is None
        assert found.source_items == found.source_count == one.sources > 0
        assert found.model is None


# ---- the source text ------------------------------------------------------------------------------------------------


def test_b11_each_line_has_time_and_role(base_store: Path) -> None:
    found = of(base_store, "sum_la")
    assert found.source_text == (
        "[2026-03-30 23:11 UTC] [user] Which port, 8080?\n"
        "[2026-03-30 23:11 UTC] [assistant] Not that one: blocked by the firewall."
    )
    assert found.time_range == "2026-03-30 23:11 UTC"
    assert (found.source_kind, found.source_items, found.source_count, found.label) == ("messages", 2, 2, "leaf")
    assert found.source_tokens == tokens.lcm_tui_tokens(found.source_text)
    assert found.target_tokens == module.SMALLEST_TARGET
    assert (found.old_content, found.old_tokens) == ("The firewall blocks 8080.", 7)


def test_without_timestamps_only_the_role_stands_there(base_store: Path) -> None:
    assert (
        of(base_store, "sum_lb", timestamps=False).source_text == "[user] Take 443 then.\n[assistant] Port 443 answers."
    )
    condensed = of(base_store, "sum_c1", timestamps=False)
    assert condensed.source_text == "The firewall blocks 8080.\n\nThey chose 443."
    assert condensed.time_range == "2026-03-30 23:11 UTC - 2026-03-30 23:12 UTC"


def test_a_condensed_one_is_made_from_its_sources_with_their_times(base_store: Path) -> None:
    found = of(base_store, "sum_c1")
    assert found.source_text == (
        "[2026-03-30 23:11 UTC]\nThe firewall blocks 8080.\n\n[2026-03-30 23:12 UTC]\nThey chose 443."
    )
    assert (found.source_kind, found.target_tokens, found.label, found.prompt_depth) == ("summaries", 2000, "d1", 1)


def test_times_are_shown_in_the_zone_asked_for(base_store: Path) -> None:
    assert of(base_store, "sum_lb", zone=BERLIN).source_text.startswith("[2026-03-31 01:12 CEST] [user] Take")


def test_a_clock_change_does_not_turn_a_range_round(make_store: Callable[..., Path]) -> None:
    # On 2026-10-25 the clock goes from 03:00 CEST back to 02:00 CET: 00:50 UTC reads 02:50, 01:10 UTC reads 02:10.
    path = make_store(
        "UPDATE messages SET created_at = '2026-10-25 00:50:00' WHERE message_id = 1;"
        "UPDATE messages SET created_at = '2026-10-25T01:10:00.000Z' WHERE message_id = 2;"
    )
    assert of(path, "sum_la", zone=BERLIN).time_range == "2026-10-25 02:50 CEST - 2026-10-25 02:10 CET"


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-40 99:00:00"])
def test_a_time_that_cannot_be_read_is_left_out(text: str, make_store: Callable[..., Path]) -> None:
    path = make_store(f"UPDATE messages SET created_at = '{text}' WHERE message_id = 1")
    assert of(path, "sum_la").source_text.startswith("[user] Which port, 8080?\n[2026-03-30 23:11 UTC] [assistant]")


def test_b04_a_message_without_content_speaks_through_its_parts(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "UPDATE messages SET content = ' ', token_count = 0 WHERE message_id = 1;"
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, tool_name, tool_input, tool_output) VALUES"
        " ('p1', 1, 's', 'tool', 1, NULL, 'Bash', ' ls ', 'exit 0'), ('p0', 1, 's', 'text', 0, ' deploy done ', NULL, NULL, NULL),"
        " ('p2', 1, 's', 'text', 2, '  ', NULL, NULL, NULL);"
    )
    lines = of(path, "sum_la").source_text
    assert lines.startswith("[2026-03-30 23:11 UTC] [user] deploy done\n\nTool input: ls\nTool output: exit 0\n[2026")


def test_b14_reasoning_and_ignored_parts_stay_out(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "UPDATE messages SET content = '' WHERE message_id IN (1, 2);"
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, is_ignored) VALUES"
        " ('a', 1, 's', 'reasoning', 0, 'my private plan', NULL), ('b', 1, 's', 'text', 1, 'Port 443.', 0),"
        " ('c', 1, 's', 'text', 2, 'an ignored aside', 1), ('d', 2, 's', 'reasoning', 0, 'only thoughts', NULL);"
    )
    found = of(path, "sum_la")
    assert "private" not in found.source_text
    assert "aside" not in found.source_text
    assert found.source_text == "[2026-03-30 23:11 UTC] [user] Port 443.\n[2026-03-30 23:11 UTC] [assistant] (empty)"
    assert found.problem is None


def test_an_embedded_picture_is_named_and_not_sent(make_store: Callable[..., Path]) -> None:
    picture = "data:image/png;base64," + "A" * 9000
    found = of(make_store(f"UPDATE messages SET content = 'See {picture} here' WHERE message_id = 1"), "sum_la")
    assert "See  here [1 embedded picture left out]" in found.source_text
    assert found.source_tokens < 100


def test_bytes_that_are_no_text_and_blank_roles_do_not_stop_it(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "UPDATE messages SET content = CAST(x'506f7274ff' AS TEXT), role = ' ' WHERE message_id = 1;"
        "UPDATE messages SET content = x'343433' WHERE message_id = 2;"
    )
    assert [line[23:] for line in of(path, "sum_la").source_text.split("\n")] == [
        "[unknown] Port\ufffd",
        "[assistant] 443",
    ]


# ---- what is missing ------------------------------------------------------------------------------------------------


def test_b10_without_its_messages_a_leaf_is_not_rebuilt(make_store: Callable[..., Path]) -> None:
    found = of(make_store("DELETE FROM messages WHERE message_id IN (1, 2)"), "sum_la")
    assert found.problem == found.sources_found == "0 of 2 sources found"
    assert (found.missing, found.source_text, found.source_items) == (("1", "2"), "", 0)


def test_a_part_of_the_messages_is_enough_and_the_lost_ones_are_named(make_store: Callable[..., Path]) -> None:
    found = of(make_store("DELETE FROM messages WHERE message_id = 1"), "sum_la")
    assert (found.problem, found.sources_found, found.missing) == (None, "1 of 2 sources found", ("1",))


def test_lost_sources_of_a_condensed_one_are_named(make_store: Callable[..., Path]) -> None:
    path = make_store("DELETE FROM summaries WHERE summary_id = 'sum_la'")
    found = of(path, "sum_c1")
    assert (found.sources_found, found.missing, found.source_items) == ("1 of 2 sources found", ("sum_la",), 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM summaries WHERE summary_id = 'sum_lb'")
    assert of(path, "sum_c1").problem == "0 of 2 sources found"


def test_nothing_linked_and_nothing_said_are_problems_of_their_own(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "DELETE FROM summary_messages WHERE summary_id = 'sum_la'; UPDATE messages SET content = '' WHERE message_id IN (3, 4);"
        "UPDATE summaries SET content = ' ' WHERE summary_id IN ('sum_la', 'sum_lb')"
    )
    assert of(path, "sum_la").problem == "0 of 0 sources found: no message is linked to it"
    assert of(path, "sum_lb").problem == "2 of 2 sources found, and no message among them has any text"
    assert of(path, "sum_c1").problem == "2 of 2 sources found, and no summary among them has any text"


def test_a_summary_that_is_not_there_is_named(base_store: Path) -> None:
    with pytest.raises(NotFound, match="no summary sum_zz in this store"):
        of(base_store, "sum_zz")
    with pytest.raises(NotFound, match="sum_la belongs to conversation 44, not to 45"):
        of(base_store, "sum_la", 45)


def test_broken_sources_are_named_until_a_draft_replaces_them(make_store: Callable[..., Path]) -> None:
    path = make_store(f"UPDATE summaries SET content = 'Raw text.\n{MARK}' WHERE summary_id = 'sum_la'")
    assert of(path, "sum_c1").broken_sources == ("sum_la",)
    found = of(path, "sum_c1", drafts={"sum_la": "Port 8080 is blocked."})
    assert found.broken_sources == ()
    assert "Port 8080 is blocked." in found.source_text
    assert MARK not in found.source_text


def test_a_condensed_row_whose_depth_is_unknown_is_made_from_its_sources(make_store: Callable[..., Path]) -> None:
    found = of(make_store("UPDATE summaries SET depth = 0 WHERE summary_id = 'sum_c1'"), "sum_c1")
    assert (found.source_kind, found.source_items, found.prompt_depth) == ("summaries", 2, 1)


# ---- what comes before ----------------------------------------------------------------------------------------------

FOUR_LEAVES = """
DELETE FROM context_items;
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at) VALUES
 ('sum_old', 44, 'leaf', 0, 'An older one.', 4, '2026-03-29 10:00:00');
UPDATE summaries SET created_at = '2026-03-30 10:00:00' WHERE summary_id = 'sum_la';
UPDATE summaries SET created_at = '2026-03-30 11:00:00' WHERE summary_id = 'sum_lb';
"""
IN_CONTEXT = """
INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES
 (44, 0, 'summary', 'sum_old'), (44, 1, 'summary', 'sum_c1'), (44, 2, 'summary', 'sum_lb');
"""


def test_the_context_is_looked_at_first(make_store: Callable[..., Path]) -> None:
    found = of(make_store(FOUR_LEAVES, IN_CONTEXT), "sum_lb")
    assert (found.previous_id, found.previous_context) == ("sum_old", "An older one.")


def test_then_the_sources_of_what_was_made_from_it(make_store: Callable[..., Path]) -> None:
    found = of(make_store(FOUR_LEAVES), "sum_lb")
    assert (found.previous_id, found.previous_context) == ("sum_la", "The firewall blocks 8080.")


def test_then_the_older_ones_and_else_nothing(make_store: Callable[..., Path]) -> None:
    path = make_store(FOUR_LEAVES)
    assert of(path, "sum_la").previous_id == "sum_old"
    assert (of(path, "sum_old").previous_id, of(path, "sum_old").previous_context) == (None, None)


def test_a_blank_neighbour_sends_the_search_to_the_next_place(make_store: Callable[..., Path]) -> None:
    path = make_store(FOUR_LEAVES, IN_CONTEXT, "UPDATE summaries SET content = ' ' WHERE summary_id = 'sum_old'")
    assert of(path, "sum_lb").previous_id == "sum_la"


@pytest.mark.parametrize("broken", [f"{MARK}\nraw", f"raw\n{MARK}", "raw\n[Truncated from 900 tokens]"])
def test_a_broken_neighbour_never_serves(broken: str, make_store: Callable[..., Path]) -> None:
    path = make_store(FOUR_LEAVES, f"UPDATE summaries SET content = '{broken}' WHERE summary_id = 'sum_la'")
    found = of(path, "sum_lb")
    assert (found.previous_id, found.previous_context) == ("sum_old", "An older one.")
    assert of(path, "sum_lb", drafts={"sum_la": "Mended."}).previous_context == "Mended."


def test_many_broken_neighbours_in_a_row_are_passed_over(make_store: Callable[..., Path]) -> None:
    rows = ",".join(
        f"('sum_b{number:03}', 44, 'leaf', 0, 'raw\n{MARK}', 4, '2026-03-29 11:{number // 60:02}:{number % 60:02}')"
        for number in range(200)
    )
    insert = f"INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at) VALUES {rows};"
    assert of(make_store(FOUR_LEAVES, insert), "sum_la").previous_id == "sum_old"


def test_drafts_are_the_previous_context_unless_old_siblings_are_asked_for(make_store: Callable[..., Path]) -> None:
    path = make_store(FOUR_LEAVES)
    drafts = {"sum_la": "New words."}
    assert of(path, "sum_lb", drafts=drafts).previous_context == "New words."
    assert of(path, "sum_lb", drafts=drafts, old_siblings=True).previous_context == "The firewall blocks 8080."
    assert "New words." in of(path, "sum_c1", drafts=drafts, old_siblings=True).source_text


# ---- damage ---------------------------------------------------------------------------------------------------------


def test_a_cycle_ends_and_a_node_is_no_source_of_itself(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES"
        " ('sum_la', 'sum_c1', 0), ('sum_c1', 'sum_c1', 2), ('sum_c1', 'sum_gone', 3);"
    )
    found = of(path, "sum_c1")
    assert found.missing == ("sum_c1", "sum_gone")
    assert found.sources_found == "2 of 4 sources found"
    assert found.source_items == 2


def test_nothing_is_written(base_store: Path) -> None:
    before = base_store.read_bytes()
    of(base_store, "sum_c1")
    assert base_store.read_bytes() == before
    assert [one.name for one in base_store.parent.iterdir()] == [base_store.name]


IDS = st.integers(0, 7).map(lambda number: f"sum_{number}")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    depths=st.lists(st.integers(0, 3), min_size=8, max_size=8),
    edges=st.sets(st.tuples(IDS, IDS), max_size=24),
    links=st.sets(st.tuples(IDS, st.integers(1, 8)), max_size=16),
    marked=st.sets(IDS),
)
def test_any_graph_can_be_gathered(
    depths: list[int],
    edges: set[tuple[str, str]],
    links: set[tuple[str, int]],
    marked: set[str],
    base_store: Path,
    tmp_path: Path,
) -> None:
    """Cycles, dangling links and all: it ends, and each count fits the others."""
    path = tmp_path / "any.db"
    shutil.copyfile(base_store, path)
    with closing(sqlite3.connect(path)) as connection, connection:
        for table in ("context_items", "summary_parents", "summary_messages", "summaries"):
            connection.execute(f"DELETE FROM {table}")
        for number, depth in enumerate(depths[:7]):
            one = f"sum_{number}"
            text = f"Text {one}.\n{MARK}" if one in marked else f"Text {one}."
            row = (one, 44, "condensed" if depth else "leaf", depth, text, 4)
            connection.execute(
                "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES (?,?,?,?,?,?)",
                row,
            )
        for at, (derived, source) in enumerate(sorted(edges)):
            connection.execute("INSERT INTO summary_parents VALUES (?, ?, ?)", (derived, source, at))
        for at, (summary, message) in enumerate(sorted(links)):
            connection.execute("INSERT INTO summary_messages VALUES (?, ?, ?)", (summary, message, at))
    for number in range(7):
        found = of(path, f"sum_{number}")
        assert found.source_items == found.source_count - len(found.missing)
        assert (found.problem is None) == bool(found.source_items)
        assert found.previous_id != found.summary_id
        assert MARK not in (found.previous_context or "")
        assert set(found.broken_sources) <= marked
    everything = StoreFile(path).read(lambda reader: selecting.for_rewrite(reader, 44, everything=True))
    assert sorted(everything.ids) == [f"sum_{number}" for number in range(7)]
