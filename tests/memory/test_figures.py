"""Each figure draws its numbers, says when there is nothing, and shows stored text as text."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import lcm_lab
from lcm_lab import times
from lcm_lab.analysis.draw.memory_turns import turns_figure
from lcm_lab.hooks import memory_db
from lcm_lab.memory.results import Injections, Judgments, Turns


def test_turns_are_pairs_of_bars(memory: lcm_lab.Memory) -> None:
    turns = memory.turns()
    figure = turns.figure()
    raw, l1, l2 = figure.plotly.data
    assert list(raw.y) == [one.raw_tokens for one in turns.rows]
    assert [a + b for a, b in zip(l1.y, l2.y, strict=True)] == [one.layer_tokens for one in turns.rows]
    assert list(l2.base) == list(l1.y)
    assert figure.png().startswith(b"\x89PNG")
    assert f"{turns.raw_tokens:,} tokens raw" in str(figure.words)
    few = turns_figure(turns, limit=3)
    assert len(few.plotly.data[0].y) == 3
    assert "the newest 3" in few.words.title


def test_turns_without_an_estimate_and_with_markup(memory: lcm_lab.Memory) -> None:
    row = memory.turns().rows[0]
    odd = Turns("s", (replace(row, raw_tokens=None, summary="<b>$x$</b>\u202e"),))
    figure = odd.figure()
    hover = figure.plotly.data[0].hovertext[0]
    assert "not measured" in hover
    assert "&lt;b&gt;" in hover
    assert figure.png()
    assert Turns("s", ()).figure().png()


def test_the_mix_adds_up(memory: lcm_lab.Memory) -> None:
    judgments = memory.judgments(every=True)
    figure = judgments.figure()
    opened, others = figure.plotly.data
    assert sum(opened.x) + sum(others.x) == len(judgments.rows)
    assert figure.png()
    assert Judgments(None, ()).figure().png()
    strange = Judgments(None, (replace(judgments.rows[0], category="NEW"),))
    assert strange.mix["other"] == (1, 0)
    assert strange.figure().png()


def test_the_timeline_shows_what_arrived_in_the_zone(own_folder: Path) -> None:
    tokyo = lcm_lab.open_memory(own_folder, tz="Asia/Tokyo").injections()
    figure = tokyo.figure()
    by_name = {one.name: one for one in figure.plotly.data}
    assert set(by_name) == {"arrived", "did not arrive", "not known", "nothing to arrive"}
    assert sum(len(one.x) for one in figure.plotly.data) == len(tokyo.rows)
    assert str(by_name["arrived"].x[0]).startswith("2026-02-11 18:16:20")
    assert figure.png()
    assert "2 arrived, 1 did not; 3 look-ups" in str(figure.words)
    with closing(sqlite3.connect(own_folder / memory_db.FILE)) as con, con:
        con.execute("UPDATE injection_log SET injected_at='?' WHERE id=1")
    assert "time unreadable: 1" in str(lcm_lab.open_memory(own_folder).injections().figure().words)
    assert Injections("s", (), times.zone("UTC")).figure().png()
    assert Injections("s", tokyo.rows[:1], times.zone("UTC")).figure().png()
