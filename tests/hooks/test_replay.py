"""Whole sessions through the hooks: every call once, pairs complete, one line per turn, blocks within their parts."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from lcm_lab.hooks import block, hook_io, memory_db, memory_read

sys.path.insert(0, str(Path(__file__).parent))

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
