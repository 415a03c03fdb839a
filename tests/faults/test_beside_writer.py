"""Repairs beside an agent that appends a turn ten times a second: neither of the two notices the other.

The long context is the largest one we design for; a dissolve in front of it gives every item behind another number. ``LCM_LAB_WAIT_MS`` (50) is what a writer may wait at most.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.repairs import undo
from lcm_lab.store.connect import StoreFile
from tests.beside import process
from tests.repairs.making import dissolved, rows, set_text
from tests.repairs.random_stores import dump
from tests.repairs.test_apply import COUNTS, INDEXES

LONGEST_MS = float(os.environ.get("LCM_LAB_WAIT_MS", "50"))
ROUNDS = 12
Maker = Callable[..., Path]

AGENT = """
import json, sqlite3, sys, threading, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
db.execute("PRAGMA journal_mode=WAL")
db.execute("PRAGMA synchronous=NORMAL")
db.execute("PRAGMA foreign_keys=ON")
stop = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
waits, ids = [], []
print("ready", flush=True)
while not stop.wait(0.1):
    started = time.perf_counter()
    db.execute("BEGIN IMMEDIATE")
    waits.append(time.perf_counter() - started)
    for role in ("user", "assistant"):
        seq = db.execute("SELECT max(seq) + 1 FROM messages WHERE conversation_id = 44").fetchone()[0]
        made = db.execute("INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (44, ?, ?, 'A few words.', 3)", (seq, role)).lastrowid
        ordinal = db.execute("SELECT max(ordinal) + 1 FROM context_items WHERE conversation_id = 44").fetchone()[0]
        db.execute("INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, ?, 'message', ?)", (ordinal, made))
        db.execute("INSERT INTO messages_fts(rowid, content) VALUES (?, 'A few words.')", (made,))
        ids.append(made)
    db.execute("COMMIT")
found = [one for (one,) in db.execute("SELECT message_id FROM context_items WHERE conversation_id = 44 AND item_type = 'message' ORDER BY ordinal")]
print(json.dumps({"turns": len(waits), "waits": waits, "kept": found[-len(ids):] == ids}))
"""


def long_context(items: int) -> str:
    """So many messages behind the summary in front."""
    return f"""
    WITH RECURSIVE n(i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n WHERE i < {items} + 6)
     INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) SELECT i, 44, i, 'user', 'Words.', 2 FROM n;
    WITH RECURSIVE n(i) AS (SELECT 7 UNION ALL SELECT i + 1 FROM n WHERE i < {items} + 6)
     INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) SELECT 44, i, 'message', i FROM n;
    """


@pytest.mark.parametrize("items", [0, 16_000])
def test_neither_notices_the_other(items: int, make_store: Maker, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_store(INDEXES, COUNTS, long_context(items) if items else "")
    before = dump(path)
    told: dict[str, Any] = {}
    held: dict[str, list[float]] = {"set text": [], "dissolve": [], "undo": []}
    with process(AGENT, path, told):
        for i in range(ROUNDS):
            for name, plan in (
                ("set text", set_text(path, "sum_la", f"Text {i}. " + "Some words. " * 100)),
                ("dissolve", dissolved(path, "sum_c1")),
            ):
                time.sleep(0.11)
                applied = plan.apply()
                held[name].append(applied.locked_seconds)
                time.sleep(0.11)
                held["undo"] += [one.locked_seconds for one in undo.undo(StoreFile(path), applied.journal_id).applied]
    after = dump(path)
    report = {
        name: f"{1000 * statistics.median(one):.1f} ms, at most {1000 * max(one):.1f}" for name, one in held.items()
    }
    with capsys.disabled():
        print(
            f"\n{items} items: lock held {report}; the agent waited at most {1000 * max(told['waits']):.1f} ms in {told['turns']} turns"
        )
    assert told["kept"]
    assert told["turns"] >= ROUNDS
    assert {key: one for key, one in after.items() if key.startswith("summar")} == {
        key: one for key, one in before.items() if key.startswith("summar")
    }
    assert len(rows(path, "SELECT 1 FROM context_items")) == 3 + items + 2 * told["turns"]
    if items:
        # Every item of the context moves; what other processes of a busy machine add is not ours: the shortest counts.
        assert max(min(one) for one in held.values()) < LONGEST_MS / 1000
    else:
        assert max(max(one) for one in held.values()) < LONGEST_MS / 1000
        assert max(told["waits"]) < LONGEST_MS / 1000
