"""How fast the views answer: overview, budget, help, and a store of 4 GB.

``python tests/benchmarks/bench_views.py [--store PATH] [--huge PATH]``; stores are made anew without the options. What is
compared:

- *overview*: ``Lab.info`` and ``Lab.conversations`` on 200,000 messages against what SQLite alone needs for
  ``sum(length(CAST(content AS BLOB)))`` over the messages of the same store, in one warm process. A page of
  conversations has the limit; all of them at once are told beside it.
- *budget, context*: of the conversation with the most context items up to 500, against 50 ms, in a warm process.
- *help*: ``lcm-lab --help`` against ``python -c pass``, both from the same interpreter.
- *huge*: whole commands on 350,000 messages with 4 GB of text against 2 s and 300 MB, page cache warm; and the first page
  of ``conversations`` with the page cache emptied for the store.
"""

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from report import Row, median, show, write

RUNS = 5
TITLE = "Views: overview, budget, help, and a store of 4 GB"


def seconds(work: Callable[[], object], *, runs: int = RUNS) -> float:
    """The median time of some runs, after one that is not counted."""
    work()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def overview(path: Path) -> list[Row]:
    """The whole store in one process."""
    import lcm_lab

    lab = lcm_lab.open(path, tz="UTC")

    def sizes() -> None:
        with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as plain:
            plain.execute("SELECT sum(length(CAST(content AS BLOB))) FROM messages").fetchone()
        plain.close()

    by_size = {one.conversation.conversation_id: one.context_items for one in lab.conversations(limit=0).rows}
    chosen = max((one for one in by_size if by_size[one] <= 500), key=by_size.__getitem__)
    alone = seconds(sizes)
    return [
        Row("info", seconds(lab.info), alone, 3.0),
        Row("conversations, first page with totals", seconds(lab.conversations), alone, 3.0),
        Row("conversations, all 1,000 with totals", seconds(lambda: lab.conversations(limit=0)), alone, None),
        Row(f"context, {by_size[chosen]} items, against 50 ms", seconds(lambda: lab.context(chosen)), 0.05, 1.0),
        Row(f"budget, {by_size[chosen]} items, against 50 ms", seconds(lambda: lab.budget(chosen)), 0.05, 1.0),
    ]


def command_help() -> list[Row]:
    """How long the command takes to say what it can do."""
    script = Path(sys.executable).with_name("lcm-lab")

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL)

    nothing = seconds(run(sys.executable, "-c", "pass"), runs=20)
    return [Row("lcm-lab --help", seconds(run(str(script), "--help"), runs=20), nothing, 6.0)]


def measured(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of one command."""
    code = (
        "import resource, subprocess, sys, time; start = time.perf_counter();"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
        "assert done.returncode in (0, 1), done.returncode;"
        "print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    wall, peak = done.stdout.split()
    return float(wall), float(peak)


def forget(path: Path) -> None:
    """Empty the page cache for one file."""
    os.sync()
    with path.open("rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def huge(path: Path) -> list[Row]:
    """Commands on a store that is larger than memory should have to hold."""
    program = [sys.executable, "-m", "lcm_lab", "--db", str(path)]
    with sqlite3.connect(f"file:{path}?immutable=1", uri=True) as plain:
        largest = plain.execute(
            "SELECT conversation_id FROM messages GROUP BY 1 ORDER BY count(*) DESC LIMIT 1"
        ).fetchone()[0]
    plain.close()
    rows = []
    forget(path)
    wall, peak = measured([*program, "conversations"])
    rows.append(Row("huge, cold: conversations, against 2 s", wall, 2.0, 1.0))
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass
    for name in ("conversations", f"context {largest}", f"check {largest}", f"budget {largest}", f"dag {largest}"):
        found = [measured([*program, *name.split()]) for _ in range(3)]
        wall, peak = median([one[0] for one in found]), max(one[1] for one in found)
        limit = 1.0 if name.split()[0] in ("conversations", "context", "check") else None
        label = name.replace(str(largest), "CONV")
        rows.append(Row(f"huge: {label}, against 2 s", wall, 2.0, limit))
        rows.append(Row(f"huge: {label}, against 300 MB", peak, 300.0, limit, "MB"))
    return rows


def main() -> int:
    """Measure, print, keep; 1 where a limit is broken."""
    from lcm_lab.data.big_store import generate

    parser = argparse.ArgumentParser(description="Views on large stores.")
    parser.add_argument("--store", type=Path, help="a store of 200,000 messages")
    parser.add_argument("--huge", type=Path, help="a store of 350,000 messages with 4 GB of text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store, large = arguments.store or Path(folder) / "big.db", arguments.huge or Path(folder) / "huge.db"
        if not arguments.store:
            generate(store)
        rows = [*overview(store), *command_help()]
        if not arguments.huge:
            generate(
                large, messages=350_000, text_bytes=4_000_000_000, summaries=10_000, context_items=350_000,
                conversations=4_000, parts=460_000, largest=16_000,
            )  # fmt: skip
        rows += huge(large)
    note = f"Median of {RUNS} runs (commands on the huge store: 3) after one that is not counted."
    show(TITLE, rows, note=note)
    write(TITLE, rows, note=note)
    return 0 if all(row.passed for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
