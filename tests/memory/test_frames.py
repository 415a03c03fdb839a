"""The frames hold what the lists hold; a query reads and nothing else."""

from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import QueryError
from lcm_lab.hooks import memory_db, upkeep
from tests.memory.conftest import MAIN, OTHER


def test_every_list_has_its_table(memory: lcm_lab.Memory) -> None:
    names = [one.name for one in memory.frames.tables()]
    assert names == ["sessions", "turns", "judgments", "details", "injections"]
    turns = memory.sql("SELECT * FROM turns ORDER BY session_id, turn_number")
    listed = [*memory.turns(MAIN).rows, *memory.turns(OTHER).rows]
    assert turns["raw_tokens"].tolist() == [one.raw_tokens for one in listed]
    assert turns["layer_tokens"].tolist() == [one.layer_tokens for one in listed]
    assert turns["summary"].tolist() == [one.summary for one in listed]
    sums = memory.sql("SELECT sum(raw_tokens) AS raw FROM sessions")["raw"][0]
    assert sums == memory.stats().raw_tokens
    assert memory.sql("SELECT delivered FROM injections WHERE event_type='context_compaction'")[
        "delivered"
    ].tolist() == [1, 0, 1]
    assert memory.sql("SELECT count(*) AS n FROM judgments WHERE resolved = 0")["n"][0] == 4


def test_times_have_a_twin_and_texts_come_on_request(memory: lcm_lab.Memory) -> None:
    frame = memory.sql("SELECT started_at, started_at_utc FROM turns WHERE turn_number = 1 AND session_id LIKE '3f%'")
    assert str(frame["started_at_utc"][0]) == frame["started_at"][0] == "2026-02-11 08:42:20"
    with pytest.raises(QueryError, match="output_size"):
        memory.sql("SELECT output FROM details")
    outputs = memory.sql("SELECT output FROM details WHERE turn_number = 4 AND kind = 'tool'", bodies=True)["output"]
    assert "would book 333 of 334" in outputs[0]


def test_a_query_cannot_write_or_reach_a_file(memory: lcm_lab.Memory) -> None:
    for query in ("DELETE FROM turns", "SELECT * FROM read_csv('/etc/hostname')", "COPY turns TO 'x.csv'"):
        with pytest.raises(QueryError):
            memory.sql(query)
    with pytest.raises(QueryError, match="There are details, injections"):
        memory.sql("SELECT * FROM messages")


def test_a_changed_memory_is_loaded_again(own_folder: Path) -> None:
    memory = lcm_lab.open_memory(own_folder)
    assert memory.sql("SELECT count(*) AS n FROM sessions")["n"][0] == 2
    con = memory_db.connect(file=str(own_folder / memory_db.FILE))
    upkeep.forget(con, OTHER)
    con.close()
    assert memory.sql("SELECT count(*) AS n FROM sessions")["n"][0] == 1


def test_an_empty_memory_has_empty_tables(tmp_path: Path) -> None:
    memory_db.connect(file=str(tmp_path / memory_db.FILE)).close()
    memory = lcm_lab.open_memory(tmp_path)
    for one in memory.frames.tables():
        assert memory.frames.frame(one.name).empty
    assert memory.stats().rows["turns"] == 0
