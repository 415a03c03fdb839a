"""A process that repairs a store without end, killed at a random moment; then the store and its journal are compared."""

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

from lcm_lab import tokens
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import journal, undo
from lcm_lab.repairs.edits import DeleteRows, InsertRows, SetText, SwapItems
from lcm_lab.store.connect import StoreFile
from tests.repairs.making import rows
from tests.repairs.random_stores import context_of, dump, indexes_are_sound

ROOT = Path(__file__).resolve().parents[2]
REPAIRER = """
import itertools, sys
from pathlib import Path
from lcm_lab.errors import LcmLabError
from lcm_lab.repairs import undo
from lcm_lab.store.connect import StoreFile
from tests.repairs.making import dissolved, rows, set_text
path, rounds = Path(sys.argv[1]), int(sys.argv[2])
print("ready", flush=True)
for i in itertools.count() if rounds == 0 else range(rounds):
    ids = [one for (one,) in rows(path, "SELECT summary_id FROM summaries ORDER BY 1")]
    for one in ids:
        set_text(path, one, f"Round {i} {sys.argv[3]} of {one}: " + "some more words. " * 40).apply()
    if "sum_c1" in ids and any(ref == "sum_c1" for (ref,) in rows(path, "SELECT summary_id FROM context_items")):
        done = dissolved(path, "sum_c1").apply()
        undo.undo(StoreFile(path), done.journal_id)
"""


def kill(path: Path, chance: random.Random, number: int) -> None:
    """Start the process, let it work for a moment, and end it without a warning."""
    process = subprocess.Popen(
        [sys.executable, "-c", REPAIRER, str(path), "0", str(number)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(chance.uniform(0.0, 0.25))
    process.send_signal(signal.SIGKILL)
    _, said = process.communicate()
    assert said == b"", said.decode()


def settled(path: Path) -> Counter[str]:
    """Settle what was left open, compare the store with its journal, and say how the open ends turned out."""
    store = StoreFile(path)
    left = {one.journal_id for one in journal.read(store).open_ends()}
    writer.settle(store)
    entries = journal.read(store).entries
    assert {one.state for one in entries} <= {journal.DONE, journal.ROLLED_BACK}
    texts: dict[str, object] = {}
    gone: set[str] = set()
    context: list[object] = []
    for edit in (edit for one in entries if one.state == journal.DONE for edit in one.edits):
        if isinstance(edit, SetText):
            texts[edit.summary_id] = edit.after.content
        elif isinstance(edit, SwapItems):
            context = [one.ref for one in edit.new]
        elif isinstance(edit, InsertRows | DeleteRows) and edit.table == "summaries":
            for row in edit.rows:
                change = gone.add if isinstance(edit, DeleteRows) else gone.discard
                change(str(row["summary_id"]))
    for name, text in texts.items():
        found = rows(path, "SELECT content, token_count FROM summaries WHERE summary_id = ?", name)
        assert found == ([] if name in gone else [(text, tokens.plugin_tokens(str(text)))])
        for index in ("summaries_fts", "summaries_fts_cjk"):
            found = rows(path, f"SELECT content FROM {index} WHERE summary_id = ?", name)
            assert found == ([] if name in gone else [(text,)])
    if context:
        assert [ref for _, kind, ref in context_of(path, 44) if kind == "summary"] == context
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    indexes_are_sound(path)
    return Counter(one.state for one in entries if one.journal_id in left)


def goes_on(path: Path) -> None:
    """A process that is left alone finishes."""
    done = subprocess.run(
        [sys.executable, "-c", REPAIRER, str(path), "2", "end"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def killed(path: Path, times: int, chance: random.Random) -> Counter[str]:
    """Kill so many times, compare after each, go on once, and take everything back; how open ends turned out."""
    before = dump(path)
    seen: Counter[str] = Counter()
    for number in range(times):
        kill(path, chance, number)
        seen.update(settled(path))
    goes_on(path)
    settled(path)
    for one in reversed(journal.read(StoreFile(path)).undoable()):
        undo.undo(StoreFile(path), one.journal_id)
    assert dump(path) == before
    return seen
