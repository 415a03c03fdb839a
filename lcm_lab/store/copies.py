"""Whole copies of a store, made by SQLite itself.

Copying the file would miss what is still in its write-ahead log, and closing the copy's descriptor would drop this
process's locks on the store. SQLite's backup interface copies one consistent state; in WAL mode it stops nobody. A copy
is named ``<store>.lcm-lab-<UTC>.bak``, readable by its owner alone, and only the newest five are kept. Checked by
``tests/repairs/test_backups.py``.
"""

import os
import re
import shutil
import sqlite3
import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from lcm_lab.errors import LcmLabError, NotFound, Refused, StoreBusy, StoreDamaged, UsageError
from lcm_lab.store import writing
from lcm_lab.store.connect import StoreFile

KEPT: Final = 5
LIMIT_SECONDS: Final = 5.0
"""How long a backup may hold up the writers of a store in DELETE mode."""

_STEP: Final = 4096
_ROOM: Final = 1.1
_NAME: Final = re.compile(r"\.lcm-lab-(\d{8}T\d{6}(?:\.\d+)?)Z\.bak$")
_MOMENT: Final = "%Y%m%dT%H%M%S.%f"


@dataclass(frozen=True, slots=True)
class Copy:
    """A backup: where, how large in bytes, how long it took, and what was free on its disk before."""

    path: Path
    size_bytes: int
    seconds: float
    free_bytes: int


@dataclass(frozen=True, slots=True)
class Room:
    """What a backup will need, and what there is, in bytes."""

    needed: int
    free: int


def room(store: StoreFile) -> Room:
    """How much a backup of the store takes, and how much its disk has."""
    pages, size = store.read(lambda reader: (reader.value("PRAGMA page_count"), reader.value("PRAGMA page_size")))
    return Room(int(pages) * int(size), shutil.disk_usage(store.path.parent).free)


def must_fit(store: StoreFile) -> Room:
    """The room there is for a backup.

    Raises:
        Refused: it is not enough.
    """
    found = room(store)
    if found.free < found.needed * _ROOM:
        raise Refused(
            f"A backup of {store.given} needs {found.needed:,} bytes and {store.path.parent} has {found.free:,} free; "
            "make room; a repair can go without one (--backup never)."
        )
    return found


def backup(store: StoreFile, *, sound: bool = False) -> Copy:
    """Make a backup beside the store; with ``sound`` only one that reads well.

    Raises:
        Refused: the disk has no room for it. StoreBusy: a store in DELETE mode took longer than five seconds, in which
            nobody can write to it. StoreDamaged: SQLite cannot read the store.
    """
    found = must_fit(store)
    started = time.perf_counter()
    path, part = _claimed(store)
    try:
        _copy(store, part)
        if sound:
            _must_be_sound(store, part)
        part.replace(path)
    except sqlite3.Error as error:
        raise store.explain(error) from error
    except OSError as error:
        raise LcmLabError(f"The backup {path} cannot be written: {error.strerror or error}.") from error
    finally:
        for leftover in (part, *(part.with_name(part.name + end) for end in ("-wal", "-shm", "-journal"))):
            leftover.unlink(missing_ok=True)
    for old in backups(store)[KEPT:]:
        # One that cannot be taken away (somebody else's, in a shared folder) is no reason to fail.
        with suppress(OSError):
            old.unlink()
    return Copy(path, path.stat().st_size, time.perf_counter() - started, found.free)


def aside(store: StoreFile, folder: Path) -> Path:
    """Copy the store under its own name into an empty ``folder``; nothing beside the store is touched.

    Raises:
        Refused: the disk of ``folder`` has no room for it. StoreBusy: a store in DELETE mode took longer than five
            seconds, in which nobody can write to it.
    """
    needed, free = int(room(store).needed * _ROOM), shutil.disk_usage(folder).free
    if free < needed:
        raise Refused(f"A copy of {store.given} needs {needed:,} bytes and {folder} has {free:,} free; make room.")
    path = folder / store.path.name
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        if store.journal_mode == "wal":
            # A look of the usual kind: a closed store is opened so that no log appears beside it.
            store.read(lambda reader: _into(reader.connection, path))
        else:
            _copy(store, path)
    except sqlite3.Error as error:
        raise store.explain(error) from error
    return path


def backups(store: StoreFile) -> list[Path]:
    """The backups of a store, the newest first.

    Raises:
        LcmLabError: its folder cannot be listed.
    """
    name = store.path.name
    try:
        found = [
            one
            for one in store.path.parent.iterdir()
            if one.name.startswith(name + ".") and _NAME.fullmatch(one.name[len(name) :]) and one.is_file()
        ]
    except OSError as error:
        raise LcmLabError(f"The folder {store.path.parent} cannot be listed: {error.strerror or error}.") from error
    return sorted(found, key=lambda one: one.name, reverse=True)


def find(store: StoreFile, given: str | Path | None) -> Path:
    """The backup that is meant: a path, the name of a file beside the store, or the newest without one.

    Raises:
        NotFound: there is none.
    """
    if given is None:
        kept = backups(store)
        if not kept:
            raise NotFound(f"There is no backup of {store.given} beside it; name one.")
        return kept[0]
    for path in (Path(given).expanduser(), store.path.parent / Path(given).name):
        if path.is_file():
            return path
    raise NotFound(f"There is no backup {given}; {store.path.parent} holds {len(backups(store))}.")


def restore(store: StoreFile, source: Path) -> Copy:
    """Put ``source`` in the place of the store, after a backup of what is there.

    Raises:
        Refused: somebody has the store open. StoreDamaged: the backup itself is not sound. StoreError: the store may
            not be written to.
    """
    check(store, source)
    writing.must_be_allowed(store)
    source = source.resolve()
    _must_take(store, source)
    target = sqlite3.connect(store.path.as_uri() + "?mode=rw", uri=True, timeout=1.0, isolation_level=None)
    try:
        target.execute("PRAGMA locking_mode=EXCLUSIVE")
        try:
            # In DELETE mode an IMMEDIATE one would let readers be, and the copy would wait for them for ever.
            target.execute("BEGIN EXCLUSIVE")
            target.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise
            raise Refused(
                f"Somebody has {store.given} open ({error}); stop the gateway and close other programs first."
            ) from error
        saved = _saved(store, target)
        # A log beside it (somebody's copy of three files) belongs to it.
        frozen = "" if source.with_name(source.name + "-wal").exists() else "&immutable=1"
        origin = sqlite3.connect(f"{source.as_uri()}?mode=ro{frozen}", uri=True)
        try:
            origin.backup(target)
        finally:
            origin.close()
        if target.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise StoreDamaged(f"{store.given} does not read well after the restore; {saved.path} is what it was.")
    except sqlite3.Error as error:
        raise writing.explained(store, error) from error
    else:
        return saved
    finally:
        target.close()


def check(store: StoreFile, source: Path) -> None:
    """Make sure that a backup can take the store's place; nothing is touched.

    Raises:
        UsageError: it is the store itself. NotAStore, StoreDamaged: it is none, or none that reads well.
    """
    if source.exists() and store.path.exists() and source.samefile(store.path):
        raise UsageError(f"{source} is the store itself; name a backup of it.")
    found = StoreFile(source).read(lambda reader: reader.value("PRAGMA quick_check(1)"))
    if found != "ok":
        raise StoreDamaged(f"{source} is damaged itself ({found}); choose another backup.")


def _copy(store: StoreFile, path: Path) -> None:
    # Nobody has a store without a log open; a read-only connection would make one and could not take it away again.
    mode = "ro" if store.journal_mode != "wal" or store.wal.exists() else "rw"
    uri = f"{store.path.as_uri()}?mode={mode}"
    source = sqlite3.connect(uri, uri=True, timeout=LIMIT_SECONDS, isolation_level=None)
    target = sqlite3.connect(path, isolation_level=None)
    try:
        if store.journal_mode == "wal":
            source.backup(target)
        else:
            _copy_within(source, target, store)
    finally:
        target.close()
        source.close()


def _into(source: sqlite3.Connection, path: Path) -> None:
    target = sqlite3.connect(path, isolation_level=None)
    try:
        source.backup(target)
    finally:
        target.close()


def _copy_within(source: sqlite3.Connection, target: sqlite3.Connection, store: StoreFile) -> None:
    """Copy a store in DELETE mode, whose writers wait meanwhile, and give up in time."""
    started = time.perf_counter()

    def watch(_status: int, remaining: int, _total: int) -> None:
        if remaining and time.perf_counter() - started > LIMIT_SECONDS:
            raise StoreBusy(
                f"The backup of {store.given} took longer than {LIMIT_SECONDS:.0f} s, in which nobody could write to "
                "it (it is in DELETE mode); stop the gateway first."
            )

    # A read lock of our own keeps writers from starting the copy over.
    source.execute("BEGIN")
    source.execute("PRAGMA schema_version").fetchone()
    source.execute("SELECT count(*) FROM sqlite_master").fetchone()
    source.backup(target, pages=_STEP, progress=watch)
    source.rollback()


def _saved(store: StoreFile, open_store: sqlite3.Connection) -> Copy:
    """A backup of a store that this process holds exclusively."""
    path = _named(store, _moment(store))
    started = time.perf_counter()
    free = shutil.disk_usage(path.parent).free
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    target = sqlite3.connect(path, isolation_level=None)
    try:
        open_store.backup(target)
    finally:
        target.close()
    return Copy(path, path.stat().st_size, time.perf_counter() - started, free)


def _must_take(store: StoreFile, source: Path) -> None:
    """Make sure that the disk takes a copy of what is there, and the growth to the backup's size."""
    now, then = store.path.stat().st_size, source.stat().st_size
    needed, free = int((now + max(then - now, 0)) * _ROOM), shutil.disk_usage(store.path.parent).free
    if free < needed:
        raise Refused(
            f"To restore {store.given}, what is there is copied first: that takes {needed:,} bytes, and "
            f"{store.path.parent} has {free:,} free; make room."
        )


def _must_be_sound(store: StoreFile, part: Path) -> None:
    """Make sure that a copy, and so the store it was made of, reads well; search indexes are derived data."""
    copy = sqlite3.connect(part.as_uri() + "?mode=ro&immutable=1", uri=True)
    try:
        found = [str(row[0]) for row in copy.execute("PRAGMA quick_check(20)")]
    finally:
        copy.close()
    problems = [one for one in found if one != "ok" and "inverted index" not in one]
    if problems:
        raise StoreDamaged(
            f"{store.given} is damaged ({problems[0]}); nothing was changed. See 'lcm-lab check' for what can still be "
            "read, and put a backup back with 'lcm-lab restore'."
        )


def _claimed(store: StoreFile) -> tuple[Path, Path]:
    """A name for a new backup, and an empty file of ours beside it to fill first."""
    moment = _moment(store)
    while True:
        path = _named(store, moment)
        part = path.with_name(path.name + ".part")
        try:
            if not path.exists():
                # Made by us with the right mode before SQLite opens it, so that it is never readable by others.
                os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                return path, part
        except FileExistsError:
            # Another program makes a backup in the same millisecond: its file is its own.
            pass
        except OSError as error:
            raise LcmLabError(f"The backup {path} cannot be written: {error.strerror or error}.") from error
        moment += timedelta(milliseconds=1)


def _moment(store: StoreFile) -> datetime:
    """Now; behind the newest backup where the clock went back, since names are what tells which one is the newest."""
    now = datetime.now(UTC)
    for newest in backups(store)[:1]:
        named = _NAME.search(newest.name)
        with suppress(ValueError, OverflowError):
            written = f"{named[1]}.0"[: len("20261130T033019.596")] if named else ""
            return max(now, datetime.strptime(written, _MOMENT).replace(tzinfo=UTC) + timedelta(milliseconds=1))
    return now


def _named(store: StoreFile, moment: datetime) -> Path:
    return store.path.with_name(f"{store.path.name}.lcm-lab-{moment.strftime(_MOMENT)[:-3]}Z.bak")
