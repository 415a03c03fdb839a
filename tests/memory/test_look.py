"""The lists agree with what the hooks' own look-up says, and the numbers with their estimator."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import NotFound
from lcm_lab.hooks import lookup, memory_db, memory_read, token_estimator
from lcm_lab.views import as_json, tables
from tests.memory.conftest import MAIN, OTHER


def test_turns_have_raw_tokens_and_the_cost_of_their_layers(memory: lcm_lab.Memory) -> None:
    found = memory.turns()
    assert found.session_id == MAIN
    assert [one.turn_number for one in found.rows] == list(range(1, 12))
    with closing(sqlite3.connect(memory.file.path)) as con:
        row = memory_read.session(con, MAIN)
        assert row is not None
        factor = max(1.0, token_estimator.factor(row.real_tokens, row.estimated_tokens))
        for one in found.rows:
            lines = [each for each in memory_read.judgments(con, MAIN) if each.turn_number == one.turn_number]
            cost = sum(token_estimator.estimate(f"{each.category.lower()}: {each.content}", factor) for each in lines)
            assert (one.l2_tokens, one.judgments) == (cost, len(lines))
            assert one.l1_tokens == token_estimator.estimate(f"{one.turn_number}. {one.summary}", factor)
    assert 0 < found.layer_tokens < found.raw_tokens / 5


def test_a_factor_below_one_never_makes_the_memory_look_cheaper(own_folder: Path) -> None:
    plain = lcm_lab.open_memory(own_folder).turns(OTHER).layer_tokens
    with closing(sqlite3.connect(own_folder / memory_db.FILE)) as con, con:
        con.execute("UPDATE sessions SET real_tokens=5000, estimated_tokens=10000")
    assert lcm_lab.open_memory(own_folder).turns(OTHER).layer_tokens <= plain
    with closing(sqlite3.connect(own_folder / memory_db.FILE)) as con, con:
        con.execute("UPDATE sessions SET real_tokens=20000, estimated_tokens=10000")
    assert lcm_lab.open_memory(own_folder).turns(OTHER).layer_tokens >= 1.9 * plain


def test_a_session_is_named_by_its_id_its_beginning_or_not_at_all(memory: lcm_lab.Memory, own_folder: Path) -> None:
    assert memory.latest() == memory.turns().session_id == memory.turns(MAIN[:6]).session_id == MAIN
    with closing(memory_db.connect(file=str(own_folder / memory_db.FILE))) as con:
        memory_db.ensure_session(con, "3f-another")
    with pytest.raises(NotFound, match="2 sessions begin with 3f"):
        lcm_lab.open_memory(own_folder).turns("3f")
    assert lcm_lab.open_memory(own_folder).latest() == MAIN, "a session without turns is not the newest"
    with pytest.raises(NotFound, match="lcm-lab memory sessions"):
        memory.turns("nope")
    with pytest.raises(NotFound, match="no turn 99"):
        memory.turn(99)


def test_one_turn_whole_is_what_the_look_up_shows(memory: lcm_lab.Memory) -> None:
    view = memory.turn(3)
    with closing(sqlite3.connect(memory.file.path)) as con:
        text = lookup.answer(con, "detail", "3", MAIN, limit=10**6)
        con.rollback()
    assert view.details[0].kind == "user"
    assert view.turn.tool_calls == 4
    for one in view.details:
        assert one.input in text
        assert (one.output or "") in text
    assert all(f"#{one.id} {one.content}" in text for one in view.judgments)


def test_issues_are_the_open_ones(memory: lcm_lab.Memory) -> None:
    every = memory.issues(every=True)
    assert every.session_id is None
    assert {one.session_id for one in every.rows} == {MAIN, OTHER}
    assert all(one.category == "ISSUE" and one.resolved is False for one in every.rows)
    mix = memory.judgments(every=True).mix
    assert mix["ISSUE"][1] == len(every.rows)
    assert sum(count for count, _ in mix.values()) == len(memory.judgments(every=True).rows)
    assert [one.category for one in memory.judgments(category="decision").rows] == ["DECISION"] * mix["DECISION"][0]


def test_injections_say_what_arrived(memory: lcm_lab.Memory) -> None:
    rows = memory.injections().rows
    parts = [one.delivered for one in rows if one.event_type == "context_compaction"]
    assert parts == [True, False, True]
    assert [one.event_type for one in rows].count("fallback") == 1
    looks = [one for one in rows if one.event_type == "on_demand"]
    assert [one.layers_sent for one in looks] == ["L3:search", "L1+L2+L3:turn7", "L1+L2+L3:turn4-5"]
    stats = memory.stats()
    assert (stats.arrived, stats.not_arrived, stats.injections["on_demand"]) == (2, 1, 3)


def test_the_block_is_the_one_that_would_be_given(memory: lcm_lab.Memory) -> None:
    block = memory.block()
    assert block.parts[0].startswith("[session memory preview, part 1 of ")
    for one in memory.turns().rows:
        assert f"{one.turn_number}. {one.summary}" in "\n".join(block.parts)
    assert 0 < block.tokens < memory.turns().raw_tokens


def test_search_takes_words_and_phrases_in_any_script(memory: lcm_lab.Memory) -> None:
    assert {one.turn_number for one in memory.search("Mill Street").rows} == {1}
    assert memory.search('"Street Mill"').rows == ()
    assert [one.session_id for one in memory.search("開館").rows] == [OTHER, OTHER]
    assert memory.search("開館", session=MAIN).rows == ()
    assert len(memory.search("barcode", limit=2).rows) == 2
    assert memory.search("  ").rows == ()


def test_stats_of_one_session_and_of_all(memory: lcm_lab.Memory) -> None:
    whole, one, other = memory.stats(), memory.stats(MAIN), memory.stats(OTHER)
    assert whole.rows["sessions"] == 2
    assert whole.rows["details"] == one.rows["details"] + other.rows["details"]
    assert whole.raw_tokens == one.raw_tokens + other.raw_tokens
    assert one.raw_tokens == memory.turns(MAIN).raw_tokens


def test_every_result_shows_as_a_table_and_as_json(memory: lcm_lab.Memory) -> None:
    for result in (
        memory.stats(),
        memory.stats(MAIN),
        memory.sessions(),
        memory.turns(),
        memory.turn(2),
        memory.judgments(every=True),
        memory.issues(),
        memory.injections(),
        memory.block(),
        memory.search("port"),
    ):
        assert tables.of(result, memory.zone)
        assert as_json.text(result).startswith("{")
