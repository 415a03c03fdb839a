"""Eight sessions capture at once while somebody holds the write lock: nothing lost, nothing doubled, exit code 0.

The full size (500 events each, the lock for 3 and for 60 seconds) takes minutes: LCM_LAB_LOCK_EVENTS=500
LCM_LAB_LOCK_SECONDS=3,60. By default a small round of it runs.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
PYTHON = getattr(sys, "_base_executable", sys.executable)
EVENTS = int(os.environ.get("LCM_LAB_LOCK_EVENTS", "20"))
SECONDS = [float(given) for given in os.environ.get("LCM_LAB_LOCK_SECONDS", "3").split(",")]
WRITERS = 8


def send(name: str, home: Path, **more: object) -> tuple[int, bytes]:
    """One hook; (exit code, stdout)."""
    event = {"session_id": "s", "cwd": "/p", "transcript_path": "", **more}
    done = subprocess.run(
        [PYTHON, "-S", "-E", str(HOOKS / f"{name}.py")],
        check=False,
        input=json.dumps(event).encode(),
        env={"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(home)},
        capture_output=True,
        timeout=120,
    )
    return done.returncode, done.stdout


def hold(file: Path, seconds: float, held: threading.Event) -> None:
    """Keep the write lock from another connection."""
    con = sqlite3.connect(file, isolation_level=None, timeout=30)
    con.execute("BEGIN IMMEDIATE")
    held.set()
    time.sleep(seconds)
    con.execute("COMMIT")
    con.close()


@pytest.mark.parametrize("seconds", SECONDS)
def test_parallel_captures_under_a_held_lock(seconds: float, tmp_path: Path) -> None:
    """Every event is in the database exactly once in the end."""
    send("prompt_submit", tmp_path, hook_event_name="UserPromptSubmit", prompt="go")
    held = threading.Event()
    holder = threading.Thread(target=hold, args=(tmp_path / "throughline.db", seconds, held))
    holder.start()
    held.wait()

    def write(writer: int) -> list[tuple[int, bytes]]:
        results = []
        for number in range(EVENTS):
            call = {
                "tool_name": "Bash",
                "tool_input": {"command": f"step {number}"},
                "tool_use_id": f"toolu_{writer}_{number}",
            }
            results.append(
                send(
                    "detail_capture",
                    tmp_path,
                    hook_event_name="PostToolBatch",
                    tool_calls=[{**call, "tool_response": f"result {writer} {number}"}],
                )
            )
        return results

    with ThreadPoolExecutor(WRITERS) as pool:
        outcomes = [result for results in pool.map(write, range(WRITERS)) for result in results]
    holder.join()
    assert set(outcomes) == {(0, b"")}
    spooled = len(list((tmp_path / "spool").glob("*.json"))) if (tmp_path / "spool").exists() else 0
    assert send("turn_processor", tmp_path, hook_event_name="Stop", last_assistant_message="done")[0] == 0
    con = sqlite3.connect(tmp_path / "throughline.db")
    count, distinct = con.execute(
        "SELECT count(*), count(DISTINCT source_id) FROM details WHERE kind='tool'"
    ).fetchone()
    con.close()
    assert (count, distinct) == (WRITERS * EVENTS, WRITERS * EVENTS), f"{spooled} were still spooled"
    assert not list((tmp_path / "spool").glob("*"))
    log = tmp_path / "hooks.log"
    assert not log.exists() or "lost" not in log.read_text()
