"""Events that found the database locked, each in a file of its own, until a later hook takes them in.

Idea: a hook must neither wait for a minute nor lose an event. A file per event needs no lock, and taking one in twice
is harmless because every row has a key.
Invariant: an event is in the database or in the spool folder, and a file goes only after its rows are committed.
Checked in tests/hooks/test_memory_db.py and in the lock test of tests/hooks/test_replay.py.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time

try:
    from . import hook_io
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_FILES = 20_000
BRIEF = 0.1  # seconds to wait for the lock while others are spooling
AT_ONCE = 200


def folder() -> str:
    """Where waiting events lie."""
    return os.path.join(hook_io.home(), "spool")


def waiting() -> list[str]:
    """The files of waiting events, oldest first."""
    try:
        names = os.listdir(folder())
    except OSError:
        return []
    return sorted(name for name in names if name.endswith(".json"))


def put(kind: str, payload: Any) -> None:
    """Keep one event; readable by its owner only."""
    where = folder()
    os.makedirs(where, mode=0o700, exist_ok=True)
    if len(waiting()) >= MOST_FILES:
        hook_io.log(f"spool folder is full ({MOST_FILES} files): one event of kind {kind} is lost")
        return
    name = os.path.join(where, f"{time.time_ns():020d}-{os.getpid()}")
    handle = os.open(name + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(json.dumps({"kind": kind, "payload": payload}).encode())
    os.replace(name + ".tmp", name + ".json")


def drain(con: sqlite3.Connection, take: Callable[[sqlite3.Connection, str, Any], None], most: int = AT_ONCE) -> int:
    """Take waiting events into the database, oldest first; the number taken in."""
    names = waiting()[:most]
    if not names:
        return 0
    done = []
    con.execute("BEGIN IMMEDIATE")
    try:
        for name in names:
            full = os.path.join(folder(), name)
            con.execute("SAVEPOINT one")
            try:
                with open(full, "rb") as file:
                    event = json.loads(file.read())
                take(con, event["kind"], event["payload"])
                done.append(full)
            except sqlite3.OperationalError:  # locked, disk full: the event may wait
                raise
            except FileNotFoundError:  # another hook was faster
                pass
            except (KeyError, TypeError, ValueError, AttributeError, sqlite3.Error) as error:
                con.execute("ROLLBACK TO one")
                hook_io.log(f"set aside a spool file that cannot be taken in, {name}: {error!r}")
                os.replace(full, full + ".bad")
            con.execute("RELEASE one")
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    for full in done:
        try:
            os.unlink(full)
        except FileNotFoundError:  # another hook was faster
            continue
    return len(done)


def locked(error: sqlite3.Error) -> bool:
    """Whether the database is only busy."""
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))
