"""A repair of many is killed at random moments and started again: it finishes, and nothing is ever between."""

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import journal
from lcm_lab.tokens import plugin_tokens
from tests.repairs.making import rows
from tests.repairs.random_stores import indexes_are_sound

ROOT = Path(__file__).resolve().parents[2]
KILLS = 100
LEAVES = 30
MARK = "[LCM fallback summary; truncated for context management]"
NEW = "They agreed on port 443 because the firewall blocks 8080.\nExpand for details about: the firewall"
REPAIRER = """
import sys, time
import lcm_lab
def slow(request):
    time.sleep(0.01)
    return sys.argv[2]
lab = lcm_lab.open(sys.argv[1], tz="UTC")
batch = lab.repair(44)
print("ready", flush=True)
result = batch.apply(lcm_lab.Scripted(slow), jobs=int(sys.argv[3]))
print(result.count("applied"), len(result.items), flush=True)
"""


def many(path: Path) -> list[str]:
    """Break as many leaves as the test wants, each with a message of its own to be made from."""
    import sqlite3

    names = [f"sum_{i:03}" for i in range(LEAVES)]
    with sqlite3.connect(path) as db:
        for i, one in enumerate(names):
            db.execute(
                "INSERT OR REPLACE INTO messages(message_id, conversation_id, seq, role, content, token_count) VALUES (?, 44, ?, 'user', ?, 300)",
                (1000 + i, 1000 + i, f"Message {i}. " + "What was said about the ports and the firewall. " * 25),
            )
            db.execute(
                "INSERT OR REPLACE INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES (?, 44, 'leaf', 0, ?, 40)",
                (one, f"Raw text {i}\n{MARK}"),
            )
            db.execute(
                "INSERT OR REPLACE INTO summary_messages(summary_id, message_id, ordinal) VALUES (?, ?, 0)",
                (one, 1000 + i),
            )
            db.execute("DELETE FROM summaries_fts WHERE summary_id = ?", (one,))
            db.execute("INSERT INTO summaries_fts(summary_id, content) VALUES (?, ?)", (one, f"Raw text {i}\n{MARK}"))
    db.close()
    return names


def states(path: Path, names: list[str]) -> dict[str, bool]:
    """Whether each summary was repaired; neither text, count nor index may say two different things."""
    lab = lcm_lab.open(path, tz="UTC")
    writer.settle(lab.store)
    done = {one.subject for one in journal.read(lab.store).entries if one.state == journal.DONE}
    found = {}
    for i, one in enumerate(names):
        content, tokens = rows(path, "SELECT content, token_count FROM summaries WHERE summary_id = ?", one)[0]
        assert (content, tokens) in ((f"Raw text {i}\n{MARK}", 40), (NEW, plugin_tokens(NEW)))
        assert rows(path, "SELECT content FROM summaries_fts WHERE summary_id = ?", one) == [(content,)]
        found[one] = content == NEW
        assert found[one] == (one in done)
    indexes_are_sound(path)
    return found


@pytest.mark.parametrize("jobs", [1, 4])
@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_batch_is_killed_and_finishes(
    jobs: int, mode: str, make_store: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random()  # noqa: S311
    kills = stores = 0
    while kills < KILLS // 4:
        path = make_store(journal_mode=mode)
        names = many(path)
        stores += 1
        repaired = 0
        while repaired < LEAVES:
            process = subprocess.Popen(
                [sys.executable, "-c", REPAIRER, str(path), NEW, str(jobs)],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            if kills < KILLS // 4:
                time.sleep(chance.uniform(0.0, 0.4))
                process.send_signal(signal.SIGKILL)
                kills += 1
            _, said = process.communicate()
            assert said == b"", said.decode()
            now = sum(states(path, names).values())
            assert now >= repaired
            repaired = now
    with capsys.disabled():
        print(f"\n{kills} kills, {stores} stores of {LEAVES}, {mode}, {jobs} jobs: each finished")
