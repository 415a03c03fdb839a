"""How fast a repair is planned and made, and whether it holds up an agent that keeps writing.

``python tests/benchmarks/bench_repairs.py [--quick]``; the store is made anew. What is compared:

- *plan*: ``lcm-lab repair 1`` on 300 broken summaries in a conversation of 16,000 messages, the whole command, against 3 s.
- *jobs*: the same repair with ``--jobs 8`` against ``--jobs 1``, both with a model that answers in 200 ms.
- *beside a writer*: while another process appends a turn every 100 ms, a repair of 50 summaries with a model that
  takes 1 s, a dissolve, a transplant and undos; how long the store's write lock was held at a time, and how long the
  other process waited for it, each against 50 ms. A transplant of 400 messages is told beside it: its full-text rows
  alone take longer.

``--quick`` takes 60 broken summaries and a model five times as fast.
"""

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2]))
from report import Row, median, show, write

from lcm_lab.data.big_store import generate
from lcm_lab.repairs.edits import InsertRows
from lcm_lab.repairs.plan import Plan
from tests.beside import process
from tests.stand_in import Received, Reply, StandIn, ok

TITLE = "Repairs: plan, jobs, beside a writer"
BROKEN, MESSAGES = 300, 16_000
FOOTER = "Expand for details about: the exact commands."

WRITER = """
import json, sqlite3, sys, threading, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
turns, waited = 0, []
print("ready", flush=True)
while not stop.is_set():
    started = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    waited.append(time.perf_counter() - started)
    for role in ("user", "assistant"):
        db.execute("INSERT INTO messages(conversation_id, seq, role, content, token_count) SELECT 1, max(seq) + 1, ?, ?, 25 FROM messages WHERE conversation_id = 1", (role, "word " * 20))
        db.execute("INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) SELECT 1, max(ordinal) + 1, 'message', last_insert_rowid() FROM context_items WHERE conversation_id = 1")
    db.execute("COMMIT")
    turns += 1
    stop.wait(0.1)
print(json.dumps({"turns": turns, "slowest": max(waited), "median": sorted(waited)[len(waited) // 2]}))
"""


def make(path: Path, broken: int) -> None:
    """A store with one long conversation, some of whose leaves are broken, and a short one."""
    generate(
        path,
        messages=MESSAGES + 400,
        text_bytes=12_000_000,
        summaries=900,
        context_items=900,
        conversations=2,
        largest=MESSAGES,
        full_text=True,
    )
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        leaves = [
            row[0]
            for row in db.execute(
                "SELECT summary_id FROM summaries WHERE conversation_id = 1 AND kind = 'leaf' ORDER BY created_at LIMIT ?",
                (broken,),
            )
        ]
        for i, one in enumerate(leaves):
            mark = (
                "[Truncated from 9000 tokens]"
                if i % 7 == 0
                else "[LCM fallback summary; truncated for context management]"
            )
            db.execute(
                "UPDATE summaries SET content = substr(content, 1, 600) || char(10) || ? WHERE summary_id = ?",
                (mark, one),
            )
        assert len(leaves) == broken, f"only {len(leaves)} leaves to break"
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def model(delay: float) -> StandIn:
    """A model that always answers, ``delay`` seconds later."""

    def answer(request: Received) -> Reply:
        text = f"They worked through {len(request.prompt)} letters of it and agreed.\n{FOOTER}"
        return replace(ok(text), delay=delay)

    return StandIn(answer)


def timed(*arguments: str) -> float:
    """Seconds of a whole command."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-m", "lcm_lab", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    return time.perf_counter() - start


def planned_and_repaired(folder: Path, broken: int, delay: float) -> list[Row]:
    """The plan of a large repair, then the repair itself in turn and side by side."""
    first, second = folder / "one.db", folder / "two.db"
    make(first, broken)
    with closing(sqlite3.connect(first)) as source, closing(sqlite3.connect(second)) as target:
        source.backup(target)
    plan = median([timed("--db", str(first), "repair", "1", "--json") for _ in range(3)])
    with model(delay) as server:
        repair = ["repair", "1", "--apply", "--json", "--base-url", server.url]
        alone = timed("--db", str(first), *repair, "--jobs", "1")
        beside = timed("--db", str(second), *repair, "--jobs", "8")
    return [
        Row(f"plan for {broken} of {MESSAGES:,} messages, against 3 s", plan, 3.0, 1.0),
        Row(f"repair of {broken}, 8 jobs against 1", beside, alone, 0.25),
    ]


def copied(plan: Plan) -> int:
    """How many messages a transplant brings along."""
    return sum(len(edit.rows) for edit in plan.edits if isinstance(edit, InsertRows) and edit.table == "messages")


def beside_a_writer(folder: Path, broken: int, delay: float) -> list[Row]:
    """Everything that writes, while an agent goes on working."""
    import lcm_lab
    from lcm_lab.summarizer.seam import Request, Scripted

    def slow(_request: Request) -> str:
        time.sleep(delay)
        return f"They agreed on the plan and moved on.\n{FOOTER}"

    store = folder / "live.db"
    make(store, broken)
    lab = lcm_lab.open(store, tz="UTC")
    told: dict[str, Any] = {}
    held: dict[str, float] = {}
    with process(WRITER, store, told):
        result = lab.repair(1).apply(Scripted(slow))
        assert result.complete, [one.reason for one in result.items if one.status != "applied"][:3]
        held[f"repair of {broken}"] = max(one.locked_seconds for one in result.items)
        top = next(one for one in lab.context(1).items if one.depth)
        held["dissolve"] = lab.dissolve(1, str(top.summary_id)).apply().locked_seconds
        held["undo of it"] = lab.undo().applied[0].locked_seconds
        leaves = [one.summary_id for one in lab.dag(2).nodes.values() if one.depth == 0][:4]
        small = lab.transplant(2, 1, summary_ids=leaves)
        held[f"transplant of {copied(small)} messages"] = small.apply().locked_seconds
        held["undo of the transplant"] = lab.undo().applied[0].locked_seconds
    large = lab.transplant(2, 1)
    told_only = {f"transplant of {copied(large)} messages": large.apply().locked_seconds}
    told_only["undo of that"] = lab.undo().applied[0].locked_seconds
    rows = [Row(f"write lock held, {name}, against 50 ms", seconds, 0.05, 1.0) for name, seconds in held.items()]
    rows += [Row(f"write lock held, {name}", seconds, 0.05, None) for name, seconds in told_only.items()]
    rows.append(
        Row(f"longest wait of the other process in {told['turns']} turns, against 50 ms", told["slowest"], 0.05, 1.0)
    )
    return rows


def main() -> int:
    """Measure and print; 1 where a limit was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        rows = planned_and_repaired(Path(folder), 60 if quick else BROKEN, 0.04 if quick else 0.2)
        rows += beside_a_writer(Path(folder), 10 if quick else 50, 0.2 if quick else 1.0)
    show(TITLE, rows)
    write(TITLE, rows)
    return int(not all(row.passed for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
