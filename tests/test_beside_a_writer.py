"""A writer that never waits for a lock keeps writing while everything is looked at, and notices nothing.

Its checkpoints wait two seconds at most, a fifteenth of what the plugin would.

``LCM_LAB_WRITER_SECONDS`` makes the test longer than its few seconds.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lcm_lab
from lcm_lab.data import demo_store
from tests.beside import process

SECONDS = float(os.environ.get("LCM_LAB_WRITER_SECONDS", "4"))

WRITER = """
import json, sqlite3, sys, threading, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
seq = db.execute("SELECT max(seq) FROM messages WHERE conversation_id = 1").fetchone()[0]
ordinal = db.execute("SELECT max(ordinal) FROM context_items WHERE conversation_id = 1").fetchone()[0]
turns, errors, slowest, largest, checkpoints = 0, [], 0.0, 0, []
print("ready", flush=True)
while not stop.is_set():
    started = time.perf_counter()
    try:
        db.execute("BEGIN IMMEDIATE")
        for role in ("user", "assistant"):
            seq, ordinal = seq + 1, ordinal + 1
            db.execute("INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (1, ?, ?, ?, 25)", (seq, role, "word " * 20))
            db.execute("INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, ?, 'message', last_insert_rowid())", (ordinal,))
        db.execute("COMMIT")
    except sqlite3.Error as error:
        errors.append(str(error))
    slowest = max(slowest, time.perf_counter() - started)
    turns += 1
    if turns % 50 == 0:
        db.execute("PRAGMA busy_timeout=2000")
        busy, log, done = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        checkpoints.append(busy)
        db.execute("PRAGMA busy_timeout=0")
    time.sleep(0.004)
final = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
print(json.dumps({"turns": turns, "errors": errors, "slowest": slowest, "checkpoints": len(checkpoints), "refused": sum(checkpoints), "final": final}))
"""


def looks(lab: lcm_lab.Lab, folder: Path) -> list[Callable[[], object]]:
    """Every way to look at a store."""
    return [
        lab.info, lab.conversations, lab.store_budget, lab.agents, lab.check, lab.growth, lab.compression,
        lambda: lab.sessions("main"), lambda: lab.messages(1), lambda: lab.context(1, window=1000), lambda: lab.budget(1),
        lambda: lab.dag(1), lambda: lab.files(1), lambda: lab.briefs(2), lambda: lab.search("shop"),
        lambda: lab.search("\u304a"), lambda: lab.check(1), lambda: lab.sql("SELECT count(*) FROM messages"),
        lambda: lab.sql("SELECT sum(length(content)) FROM messages", bodies=True),
        lambda: lab.export(folder / f"export{time.monotonic_ns()}", 1),
    ]  # fmt: skip


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    """The demo store in a folder of its own."""
    return demo_store.build(tmp_path / "state")


def test_a_writer_notices_nothing(demo: Path, tmp_path: Path) -> None:
    lab = lcm_lab.open(demo)
    told: dict[str, Any] = {}
    done = 0
    with process(WRITER, demo, told):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            for look in looks(lab, tmp_path):
                look()
                done += 1
    print(f"\n{done} looks; the writer: {told}")
    assert told["errors"] == []
    assert told["turns"] > 20 * SECONDS
    assert told["refused"] == 0
    assert told["final"] == [0, 0, 0]
    assert lab.info().totals.rows["messages"] == 422 + 2 * told["turns"]


def test_a_closed_store_has_no_side_files_after_every_look(demo: Path, tmp_path: Path) -> None:
    before = demo.read_bytes()
    lab = lcm_lab.open(demo)
    for look in looks(lab, tmp_path):
        look()
        assert sorted(one.name for one in demo.parent.iterdir() if one.name.startswith("lcm.db")) == ["lcm.db"]
    assert demo.read_bytes() == before
