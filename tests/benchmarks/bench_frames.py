"""How fast and how small: the frames against pandas, on a store of 200,000 messages.

``python tests/benchmarks/bench_frames.py [--store PATH]``. Each run is a process of its own; ours and the baseline take
turns, so that a busy machine is unfair to both alike; the median of three counts. What each run does:

- *ours, metadata*: ``take_snapshot(bodies=False)``: every table and view, type guards, sizes, token numbers with their
  rule, three estimates, the list of anomalies.
- *ours, full*: the same with ``bodies=True``.
- *baseline, full*: for each table (full-text tables aside) ``pandas.read_sql("SELECT * FROM t")``, ``register``,
  ``CREATE TABLE t AS SELECT * FROM frame``; the frame is let go before the next table. No guard, no estimate.
- *baseline, metadata*: the same, with ``length(CAST(c AS BLOB)) AS c_bytes`` for each column of texts that ours leaves
  out. No guard, no estimate.

Measured inside each process: wall and CPU time from after the imports to the last table, and the peak resident size of
the process, the imports included. The file is read once before, so the page cache is warm for both.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from report import Row, median, show, write

RUNS = 3
TITLE = "Frames: 200,000 messages, 300 MB of text"


def ours(path: str, *, bodies: bool) -> None:
    """Load the store as the product does."""
    from lcm_lab import times
    from lcm_lab.analysis.frames import take_snapshot
    from lcm_lab.store.connect import StoreFile

    take_snapshot(StoreFile(path), times.zone("UTC"), bodies=bodies)


def baseline(path: str, *, bodies: bool) -> None:
    """Load the store as one would in a notebook without us."""
    import sqlite3

    import duckdb
    import pandas as pd

    from lcm_lab.analysis.frames_plan import BODIES
    from lcm_lab.store.schema import FULL_TEXT_TABLES

    source, target = sqlite3.connect(f"file:{path}?mode=ro", uri=True), duckdb.connect()
    names = [row[0] for row in source.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for name in names:
        if name.startswith(("sqlite_", *FULL_TEXT_TABLES)):
            continue
        columns = [row[1] for row in source.execute(f'PRAGMA table_info("{name}")')]
        sizes = [f"length(CAST({one} AS BLOB)) AS {one}_bytes" if one in BODIES else one for one in columns]
        frame = pd.read_sql(f'SELECT {"*" if bodies else ", ".join(sizes)} FROM "{name}"', source)
        target.register("frame", frame)
        target.execute(f'CREATE TABLE "{name}" AS SELECT * FROM frame').fetchall()
        target.unregister("frame")
        del frame


def measured(who: str, what: str, path: str) -> None:
    """One run, in this process; its numbers go to standard output."""
    import duckdb  # noqa: F401  (imports are not what is compared)
    import numpy as np  # noqa: F401
    import pandas as pd  # noqa: F401

    import lcm_lab.analysis.frames  # noqa: F401

    wall, cpu = time.perf_counter(), time.process_time()
    (ours if who == "ours" else baseline)(path, bodies=what == "full")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(json.dumps({"wall": wall, "cpu": cpu, "peak": peak}))


def run(who: str, what: str, path: Path) -> dict[str, float]:
    """One run in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--run", who, what, "--store", str(path)], capture_output=True, text=True, check=True
    )
    numbers: dict[str, float] = json.loads(done.stdout)
    return numbers


def compare(path: Path) -> list[Row]:
    """The rows of the report."""
    rows = []
    for what in ("metadata", "full"):
        found: dict[str, list[dict[str, float]]] = {"ours": [], "baseline": []}
        for _ in range(RUNS):
            for who, numbers in found.items():
                numbers.append(run(who, what, path))
        middle = {
            who: {key: median([one[key] for one in numbers]) for key in numbers[0]} for who, numbers in found.items()
        }
        mine, theirs = middle["ours"], middle["baseline"]
        rows += [
            Row(f"{what}: wall", mine["wall"], theirs["wall"], 2.0 if what == "metadata" else 1.5),
            Row(f"{what}: CPU", mine["cpu"], theirs["cpu"], None),
            Row(f"{what}: peak memory", mine["peak"], theirs["peak"], None if what == "metadata" else 0.85, "MB"),
        ]
        if what == "metadata":
            rows.append(Row("metadata: peak memory against 200 MB", mine["peak"], 200.0, 1.0, "MB"))
    return rows


def main() -> int:
    """Measure, print, keep; 1 where a limit is broken."""
    parser = argparse.ArgumentParser(description="Frames against pandas.")
    parser.add_argument("--store", type=Path, help="a store made by lcm_lab.data.big_store; made anew without it")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        measured(*arguments.run, str(arguments.store))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.store
        if path is None:
            from lcm_lab.data.big_store import generate

            path = Path(folder) / "big.db"
            generate(path)
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass
        rows = compare(path)
    note = f"Median of {RUNS} runs, each in a process of its own, by turns."
    show(TITLE, rows, note=note)
    write(TITLE, rows, note=note)
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
