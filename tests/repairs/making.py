"""Plans made by hand, other processes on a store, and what tests of repairs look at again and again."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import lcm_lab
from lcm_lab import tokens
from lcm_lab.repairs import dissolve
from lcm_lab.repairs.edits import SetText, TextState
from lcm_lab.repairs.plan import Plan, new_id
from lcm_lab.store import images
from lcm_lab.store.connect import StoreFile

HOLDER = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
for statement in sys.argv[2].split(";"):
    db.execute(statement).fetchall()
print("ready", flush=True)
if len(sys.argv) > 3:
    time.sleep(float(sys.argv[3]))
    db.execute("COMMIT")
else:
    sys.stdin.read()
"""


def run(path: Path, *statements: str) -> None:
    """Another writer's statements, foreign keys off, committed."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for one in statements:
            db.execute(one)


def rows(path: Path, sql: str, *values: object) -> list[tuple[Any, ...]]:
    """What a query gives."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(sql, values).fetchall()


@contextmanager
def another(path: Path, statements: str, seconds: float | None = None) -> Iterator[None]:
    """Another process that has run these statements and keeps the store open (or commits after so many seconds)."""
    more = [] if seconds is None else [str(seconds)]
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), statements, *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    try:
        yield
    finally:
        process.communicate(timeout=60)


def set_text(path: Path, summary_id: str, text: str, *, model: str | None = None, **more: Any) -> Plan:
    """A plan that gives a summary another text."""
    store = StoreFile(path)
    row = store.read(lambda reader: images.image(reader, "summaries", summary_id))
    assert row is not None
    before = TextState(row["content"], row["token_count"], row.get("model"))  # type: ignore[arg-type]
    after = TextState(text, tokens.plugin_tokens(text), model)
    edit = SetText(summary_id, before, after)
    return Plan(
        new_id(), "rewrite", int(str(row["conversation_id"])), summary_id, f"Rewrite {summary_id}", (edit,),
        "2026-03-31T00:00:00.000Z", "a test", "a better text", store=store, **more,
    )  # fmt: skip


def dissolved(path: Path, summary_id: str, conversation_id: int = 44, **options: Any) -> Plan:
    """A plan that dissolves a summary."""
    lab = lcm_lab.open(path, tz="UTC")
    chosen = dissolve.Options(**options)
    return lab.store.read(
        lambda reader: dissolve.plan(reader, conversation_id, summary_id, zone=lab.zone, options=chosen)
    ).on(lab.store)


def files(path: Path) -> list[str]:
    """What lies beside a store: ``bak``, ``jsonl`` and so on, without the times in the names."""
    return sorted(one.name.rpartition(".")[2] for one in path.parent.iterdir() if one.name != path.name)
