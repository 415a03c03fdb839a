"""What a hook costs, side by side with the bare interpreter of the same installation.

    python tests/benchmarks/bench_hooks.py

Each figure is the median of 20 runs; baseline and hook take turns, so that a busy machine slows both. Nothing here is a
test: the ratios are printed with the limits that the project has set itself, and the exit code says whether they hold.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
PYTHON = getattr(sys, "_base_executable", sys.executable)
RUNS = 20
WORDS = [f"w{number:05d}" for number in range(20_000)]


def timed(command: list[str], given: bytes, environ: dict[str, str]) -> float:
    """Seconds of one process."""
    start = time.perf_counter()
    done = subprocess.run(command, input=given, env=environ, capture_output=True, check=True)
    assert not done.stderr, done.stderr
    return time.perf_counter() - start


def hook(folder: Path, name: str) -> list[str]:
    """The command of one hook, as it is registered."""
    return [PYTHON, "-S", "-E", str(folder / f"{name}.py")]


def big_database(memory: Path, folder: Path, size: int) -> None:
    """A memory of that many bytes, filled through the hooks' own code."""
    sys.path.insert(0, str(folder))
    os.environ["THROUGHLINE_HOME"] = str(memory)
    import memory_db  # type: ignore[import-not-found]

    chance = random.Random(7)  # noqa: S311 - filling
    con = memory_db.connect()
    memory_db.ensure_session(con, "bench", "/project", "")
    number = 0
    while (memory / memory_db.FILE).stat().st_size < size:
        con.execute("BEGIN IMMEDIATE")
        for _ in range(200):
            number += 1
            text = " ".join(chance.choices(WORDS, k=1_500))
            row = {"session_id": "bench", "turn": number // 10, "source_id": f"toolu_fill{number}", "tool": "Bash"}
            memory_db.put_detail(con, {**row, "input": '{"command": "make"}', "output": text, "tokens": 2_000})
        con.execute("COMMIT")
        con.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    con.close()


def turn_lines(number: int, size: int) -> bytes:
    """One turn of a transcript with about `size` bytes of tool output."""
    stamp = f"2026-01-01T00:00:{number % 60:02d}.000Z"
    call = {"type": "tool_use", "id": f"toolu_t{number}", "name": "Bash", "input": {"command": "cat big"}}
    result = {
        "type": "tool_result",
        "tool_use_id": f"toolu_t{number}",
        "content": "some words of output " * (size // 21),
    }
    answer = {"type": "text", "text": f"All tests pass after change {number}."}
    common = {"isSidechain": False, "sessionId": "bench", "timestamp": stamp, "version": "2.1.332"}
    lines: list[dict[str, Any]] = [
        {
            "type": "user",
            "promptId": f"p{number}",
            "message": {"role": "user", "content": f"Please make change {number}"},
        },
        {
            "type": "assistant",
            "message": {"id": f"m{number}a", "role": "assistant", "content": [call], "stop_reason": "tool_use"},
        },
        {"type": "user", "promptId": f"p{number}", "message": {"role": "user", "content": [result]}},
        {
            "type": "assistant",
            "message": {"id": f"m{number}b", "role": "assistant", "content": [answer], "stop_reason": "end_turn"},
        },
    ]
    full = [{**common, "uuid": f"u{number}-{place}", **line} for place, line in enumerate(lines)]
    return b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in full)


def event(name: str, **more: Any) -> bytes:
    """The stdin of one event."""
    return json.dumps({"session_id": "bench", "cwd": "/project", "hook_event_name": name, **more}).encode() + b"\n"


def batch(number: int, output: str, **more: Any) -> bytes:
    """One PostToolBatch event with one call."""
    call = {
        "tool_name": "Bash",
        "tool_input": {"command": "make test"},
        "tool_use_id": f"toolu_n{number}",
        "tool_response": output,
    }
    return event("PostToolBatch", tool_calls=[call], **more)


def main() -> int:
    """Run all, print the table, 1 where a limit is broken."""
    root = Path(tempfile.mkdtemp(prefix="bench-hooks-"))
    folder = root / "hooks"
    shutil.copytree(HOOKS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    memory = root / "memory"
    memory.mkdir()
    environ = {"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(memory)}
    bare = [PYTHON, "-I", "-S", "-c", "import sqlite3, json"]
    big_database(memory, folder, 100 << 20)
    rows: list[tuple[str, float, str, bool]] = []

    transcript = root / "bench.jsonl"
    with transcript.open("wb") as file:
        number = 0
        while file.tell() < 50 << 20:
            number += 1
            file.write(turn_lines(number, 100_000))
    path = {"transcript_path": str(transcript)}
    base, capture = [], []
    text = "collected 12 items\n" + "tests/test_x.py::test_y PASSED\n" * 60
    for more in range(RUNS + 3):
        with transcript.open("ab") as file:
            file.write(turn_lines(100_000 + more, 2_000))
        base.append(timed(bare, b"", environ))
        capture.append(timed(hook(folder, "detail_capture"), batch(more, text, **path), environ))
    first, second = statistics.median(base[3:]), statistics.median(capture[3:])
    rows.append(("bare interpreter", first, "", True))
    rows.append(
        ("detail_capture, database of 100 MB", second, f"{second / first:.2f} x, limit 1.5 x", second <= 1.5 * first)
    )

    cold = timed(hook(folder, "turn_processor"), event("Stop", **path), environ)
    rows.append(("turn_processor, first sight of a 50 MB transcript", cold, "no limit: once per session", True))
    warm = []
    for more in range(number + 1, number + RUNS + 1):
        with transcript.open("ab") as file:
            file.write(turn_lines(more, 2_000))
        warm.append(timed(hook(folder, "turn_processor"), event("Stop", last_assistant_message="x", **path), environ))
    third = statistics.median(warm)
    rows.append(("turn_processor, one new turn behind 50 MB", third, "limit 0.100 s", third < 0.1))

    huge = []
    chance = random.Random(3)  # noqa: S311 - filling
    for number in range(5):
        lines = (
            f"2026-01-01 00:00:{n % 60:02d} INFO worker-{n % 7} request {chance.random()} took {n % 97} ms\n"
            for n in range(40_000)
        )
        output = f"{number} " + "".join(lines) * 8
        huge.append(timed(hook(folder, "detail_capture"), batch(10_000 + number, output[: 20 << 20]), environ))
    fourth = statistics.median(huge)
    rows.append(("detail_capture, one output of 20 MB", fourth, "limit 1 s", fourth < 1.0))

    for name, seconds, limit, holds in rows:
        print(f"{name:52} {seconds * 1000:8.1f} ms  {limit}{'' if holds else '  BROKEN'}")
    shutil.rmtree(root)
    return 0 if all(holds for *_, holds in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
