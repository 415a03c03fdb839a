"""Open a store for one short write, and hold its write lock for as little as possible.

Everything that takes time (reading, a language model, a backup) happens before. Invariants: foreign keys are on,
nothing in the store runs code of its own (``trusted_schema`` off), a lock is waited for and then given up with a
sentence, a failure inside rolls everything back. Checked by ``tests/repairs/test_apply.py``.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lcm_lab.errors import StoreBusy, StoreError
from lcm_lab.store.connect import StoreFile

WAIT_SECONDS: Final = 15.0
"""How long another writer is waited for; the plugin itself waits 30 s for us."""


class Lock:
    """How long the write lock was held, in seconds; known after :func:`locked` is over."""

    def __init__(self) -> None:
        self.seconds = 0.0


@contextmanager
def opened(store: StoreFile) -> Iterator[sqlite3.Connection]:
    """A connection that may write, without a transaction.

    Raises:
        StoreError and its kin: the store cannot be opened, is damaged, or is locked for longer than we wait.
    """
    store.stamp()
    wait = WAIT_SECONDS
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(store.path.as_uri() + "?mode=rw", uri=True, timeout=wait, isolation_level=None)
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute("PRAGMA temp_store=MEMORY")
        # A checkpoint is the agent's business; the last one to close the store makes it anyway.
        connection.execute("PRAGMA wal_autocheckpoint=0")
        yield connection
    except sqlite3.Error as error:
        raise explained(store, error, wait) from error
    finally:
        if connection is not None:
            connection.close()


@contextmanager
def locked(connection: sqlite3.Connection) -> Iterator[Lock]:
    """One write transaction: committed at the end, rolled back whole when anything is raised."""
    lock = Lock()
    connection.execute("BEGIN IMMEDIATE")
    started = time.perf_counter()
    try:
        yield lock
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    finally:
        lock.seconds = time.perf_counter() - started


@contextmanager
def rehearsed(connection: sqlite3.Connection) -> Iterator[None]:
    """One write transaction that is always rolled back: whatever would fail, fails here."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def must_be_allowed(store: StoreFile) -> None:
    """Look whether the store and its folder may be written to, before anything is asked or copied for that.

    Raises:
        StoreError: they may not.
    """
    folder = store.path.parent
    for path, how in ((store.path, os.W_OK), (folder, os.W_OK | os.X_OK)):
        if not os.access(path, how):
            raise StoreError(f"{store.given} may not be written to ({path} is read-only); nothing was changed.")


def explained(store: StoreFile, error: sqlite3.Error, wait: float = WAIT_SECONDS) -> StoreError:
    """Our error for one of SQLite that came up while writing."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreBusy(
            f"{store.given} was locked by another program for {wait:.0f} s; nothing was changed, try again in a moment."
        )
    if name.startswith("SQLITE_READONLY"):
        return StoreError(f"{store.given} may not be written to (file or folder is read-only); nothing was changed.")
    if name.startswith("SQLITE_FULL"):
        return StoreError(f"The disk of {store.given} is full; nothing was changed.")
    return store.explain(error)
