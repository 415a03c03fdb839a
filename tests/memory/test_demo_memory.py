"""The demo is what the hooks store, the same each time."""

from pathlib import Path

import lcm_lab
from lcm_lab.data import memory_demo
from tests.memory.conftest import MAIN, OTHER


def test_the_same_story_gives_the_same_memory(demo_folder: Path, tmp_path: Path) -> None:
    again = lcm_lab.open_memory(memory_demo.build(tmp_path / "again"), tz="UTC")
    first = lcm_lab.open_memory(demo_folder, tz="UTC")
    assert list(memory_demo.stories()) == [MAIN, OTHER]
    for session in (MAIN, OTHER):
        assert again.turns(session) == first.turns(session)
        assert again.judgments(session) == first.judgments(session)
        assert [again.turn(n, session).details for n in (1, 2)] == [first.turn(n, session).details for n in (1, 2)]
    times = [one.injected_at for one in again.injections().rows]
    assert times == [one.injected_at for one in first.injections().rows]
    assert all(at.startswith("2026-02-11 ") for at in times)


def test_a_finished_demo_is_left_alone_and_nothing_lies_beside_it(demo_folder: Path) -> None:
    before = {one.name: one.stat().st_mtime_ns for one in demo_folder.iterdir()}
    assert memory_demo.build(demo_folder) == demo_folder / memory_demo.FILE
    assert {one.name: one.stat().st_mtime_ns for one in demo_folder.iterdir()} == before
    assert [one.name for one in demo_folder.parent.iterdir()] == [demo_folder.name]
    assert set(before) == {memory_demo.FILE, ".lcm-lab-demo", "transcripts"}


def test_it_shows_what_a_memory_can_show(memory: lcm_lab.Memory) -> None:
    stats = memory.stats()
    assert stats.rows["tool calls"] == 24
    assert all(count for count, _ in stats.categories.values())
    assert {one.delivered for one in memory.injections().rows} == {True, False, None}
    for session in memory.sessions().rows:
        assert Path(session.transcript_path or "").is_file()
