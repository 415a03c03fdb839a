"""Whole sessions through the hooks: every call once, pairs complete, one line per turn, blocks within their parts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from lcm_lab.hooks import block, hook_io, ingest, memory_db, memory_read

sys.path.insert(0, str(Path(__file__).parent))

import own_session
from replayer import Replay, sources

SHARED = Path(os.environ.get("LCM_LAB_SHARED") or Path(__file__).resolve().parents[3] / "shared")
NAMES = [str(path.relative_to(SHARED)) for path in sources(SHARED) if path.exists()]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty memory folder with masking off."""
    where = tmp_path / "memory"
    where.mkdir()
    (where / "config.json").write_text('{"redact": false}')
    monkeypatch.setenv("THROUGHLINE_HOME", str(where))
    return where


def check(replay: Replay) -> dict[str, int]:
    """Compare the memory with the independent count; the figures."""
    con = memory_db.connect()
    try:
        stored = dict(
            con.execute("SELECT source_id, count(*) FROM details WHERE kind='tool' GROUP BY source_id").fetchall()
        )
        assert set(stored) == replay.calls
        assert set(stored.values()) <= {1}
        for call, output in replay.results.items():
            assert memory_read.tool_output(con, replay.session, call) == memory_db.clean(output), call
        numbers = dict(con.execute("SELECT source_id, turn_number FROM details WHERE kind='tool'").fetchall())
        assert {call: numbers[call] for call in replay.turn_of} == replay.turn_of
        unpaired = con.execute("SELECT count(*) FROM details WHERE kind='tool' AND output_text IS NULL").fetchone()[0]
        assert unpaired == len(replay.calls) - len(replay.results)
        lines = con.execute("SELECT turn_number, count(*) FROM skeletons GROUP BY turn_number").fetchall()
        assert [number for number, _ in lines] == list(range(1, replay.turns + 1))
        assert {count for _, count in lines} <= {1}
        for parts, unresolved in zip(replay.blocks, replay.open_at_boundary, strict=True):
            text = "\n".join(parts)
            assert 1 <= len(parts) <= block.MOST_PARTS
            assert all(hook_io.units(part) <= block.LIMIT for part in parts)
            missing = [issue for issue, _ in unresolved if f") #{issue} " not in text]
            assert (
                not missing
                or f"{len(missing)} issues, constraints" in text
                or "issues, constraints and decisions" in text
            )
        (turns, status) = con.execute("SELECT total_turns, status FROM sessions").fetchone()
        assert (turns, status) == (replay.turns, "closed")
        delivered = con.execute("SELECT count(*) FROM injection_log WHERE event_type='fallback'").fetchone()[0]
        assert delivered == 0
        agents = con.execute("SELECT count(*) FROM details WHERE kind='tool' AND agent_id IS NOT NULL").fetchone()[0]
        failed = con.execute("SELECT count(*) FROM details WHERE kind='tool' AND status<>'ok'").fetchone()[0]
        judged = con.execute("SELECT count(*) FROM judgments").fetchone()[0]
        return {
            "turns": replay.turns,
            "calls": len(replay.calls),
            "of sub-agents": agents,
            "not ok": failed,
            "refused": replay.refused,
            "unpaired": unpaired,
            "judgments": judged,
            "events": replay.events,
            "compactions": len(replay.blocks),
            "parts": sum(len(parts) for parts in replay.blocks),
            "open at boundaries": sum(len(some) for some in replay.open_at_boundary),
        }
    finally:
        con.close()


@pytest.mark.skipif(not NAMES, reason="the handed transcripts are not beside the checkout (LCM_LAB_SHARED)")
@pytest.mark.parametrize("name", NAMES)
def test_a_real_session_is_stored_once_and_whole(name: str, home: Path, tmp_path: Path) -> None:
    """As the client would have sent it, each event twice, the file growing line by line."""
    replay = Replay(SHARED / name, tmp_path / "project")
    replay.run()
    figures = check(replay)
    assert not replay.said, "a hook spoke although the block was delivered"
    log = home / "hooks.log"
    assert not log.exists(), log.read_text()
    if where := os.environ.get("LCM_LAB_FIGURES"):
        with Path(where).open("a") as file:
            file.write(json.dumps({"session": name, **figures}) + "\n")


@pytest.mark.parametrize("prompt_ids", [True, False])
def test_a_session_of_our_own(prompt_ids: bool, home: Path, tmp_path: Path) -> None:  # noqa: FBT001
    """The same on data that is always there, with and without the prompt ids of newer clients."""
    replay = Replay(own_session.write(tmp_path / "source" / "own.jsonl", prompt_ids=prompt_ids), tmp_path / "project")
    replay.run()
    figures = check(replay)
    assert (figures["turns"], figures["calls"], figures["refused"], figures["unpaired"]) == (4, 14, 3, 1)
    assert not replay.said
    assert not (home / "hooks.log").exists()


def everything(session: str) -> dict[str, list[tuple[object, ...]]]:
    """The rows of a session, without ids and times."""
    con = memory_db.connect()
    try:
        wanted = {
            "turns": "turn_number, uuid, state, items, start_offset, end_offset",
            "skeletons": "turn_number, summary",
            "judgments": "turn_number, category, content, resolved",
            "details": "turn_number, kind, source_id, tool_name, input_text, output_text, status, exit_code, agent_id",
        }
        return {
            table: sorted(
                con.execute(f"SELECT {columns} FROM {table} WHERE session_id=?", (session,)).fetchall(), key=repr
            )
            for table, columns in wanted.items()
        }
    finally:
        con.close()


@pytest.mark.parametrize("prompt_ids", [True, False])
@pytest.mark.parametrize("step", [1, 37, 1_000, 20_000])
def test_reading_in_pieces_is_reading_once(step: int, prompt_ids: bool, home: Path, tmp_path: Path) -> None:  # noqa: FBT001
    """The file may be caught up with at any byte, as often as one likes: the rows are the same in the end."""
    source = own_session.write(tmp_path / "own.jsonl", prompt_ids=prompt_ids).read_bytes()
    cuts = range(0, len(source), step) if step > 1 else [n + k for n in _line_ends(source) for k in (-1, 0)]
    con = memory_db.connect()
    for name, places in (("once", []), ("pieces", cuts)):
        memory_db.ensure_session(con, name, "/p")
        for place in (*places, len(source)):
            (tmp_path / f"{name}.jsonl").write_bytes(source[:place])
            ingest.catch_up(con, name, str(tmp_path / f"{name}.jsonl"), final=place == len(source))
    con.close()
    assert everything("pieces") == everything("once")


def _line_ends(data: bytes) -> list[int]:
    return [place + 1 for place, byte in enumerate(data) if byte == 10]
