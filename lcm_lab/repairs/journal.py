"""What was applied to a store: a file beside it, one JSON object a line, never rewritten.

``<store>.lcm-lab-journal.jsonl`` holds for each repair a line ``plan`` with its edits; a line ``begin`` with those that
would undo it, written while the write lock is held and before the store commits; and a line ``done`` after. A process
killed between the two leaves a begin without an end; :func:`settle` then asks the store itself which of the two states
it is in. So a repair is never lost from the journal, and never in it without being in the store. The disk is waited for
with ``done``, not under the lock, which others wait for: a power cut within those milliseconds can leave a repair out
of the journal, and the backup still has the state before. Checked by ``tests/repairs/test_journal.py`` and by kills in
``tests/faults``.
"""

import errno
import json
import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from lcm_lab.errors import LcmLabError, NotFound, UsageError
from lcm_lab.repairs import edits as closed
from lcm_lab.repairs.edits import Edit
from lcm_lab.store.connect import StoreFile

SUFFIX: Final = ".lcm-lab-journal.jsonl"
BEGUN: Final = "begun"
DONE: Final = "done"
ROLLED_BACK: Final = "rolled back"
UNCLEAR: Final = "unclear"


@dataclass(frozen=True, slots=True)
class Entry:
    """One repair in the journal.

    ``state`` is ``done``, ``rolled back``, ``begun`` (no end was written yet) or ``unclear`` (the store has since been
    changed by others so that nobody can tell). ``undone_by`` names the undo that took it back, ``undoes`` what this
    one takes back. ``edits`` are those made, ``inverse`` those that undo them. Times are ISO 8601 in UTC.
    """

    journal_id: str
    plan_id: str
    operation: str
    conversation_id: int
    subject: str
    title: str
    at: str
    by: str
    batch: str | None
    model: str | None
    undoes: str | None
    tokens_before: int
    tokens_after: int
    edits: tuple[Edit, ...]
    inverse: tuple[Edit, ...]
    state: str = BEGUN
    undone_by: str | None = None
    backup: str | None = None
    before_restore: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """A repair that was made to ``store``; ``locked_seconds`` is how long its write lock was held."""

    journal_id: str
    plan_id: str
    operation: str
    conversation_id: int
    subject: str
    title: str
    backup: str | None
    tokens_before: int
    tokens_after: int
    store: str
    notes: tuple[str, ...] = ()
    locked_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Journal:
    """The journal of a store as it reads now: the entries, oldest first, and where it lies."""

    path: Path
    entries: tuple[Entry, ...]

    def open_ends(self) -> tuple[Entry, ...]:
        """Entries that began and have no end."""
        return tuple(one for one in self.entries if one.state == BEGUN)

    def undoable(self) -> tuple[Entry, ...]:
        """Repairs that are in the store and were not taken back, oldest first."""
        return tuple(
            one
            for one in self.entries
            if one.state == DONE and one.undone_by is None and one.undoes is None and not one.before_restore
        )

    def find(self, name: str | None) -> tuple[Entry, ...]:
        """The repairs a name stands for, newest first: a journal id, a plan id or a batch; without one the last.

        Raises:
            NotFound: there is nothing of that name, or nothing to undo at all.
        """
        candidates = self.undoable()
        if name is None:
            if not candidates:
                raise NotFound(
                    f"There is nothing to undo: {self.path.name} holds no repair that is still in the store."
                )
            return (candidates[-1],)
        found = [one for one in candidates if name in (one.journal_id, one.plan_id, one.batch)]
        if not found:
            raise NotFound(self._why_not(name))
        return tuple(reversed(found))

    def _why_not(self, name: str) -> str:
        for one in self.entries:
            if name in (one.journal_id, one.plan_id, one.batch):
                reason = f"was undone by {one.undone_by}" if one.undone_by else f"is {one.state}"
                if one.undoes and not one.undone_by:
                    reason = f"is itself an undo, of {one.undoes}; make that repair again instead"
                if one.before_restore:
                    reason = "was made before a backup was restored"
                return f"{name} cannot be undone: it {reason}."
        return f"There is no plan, batch or journal entry {name!r}; 'lcm-lab undo --list' shows those there are."


def path_of(store: StoreFile) -> Path:
    """Where the journal of a store lies."""
    return store.path.with_name(store.path.name + SUFFIX)


def read(store: StoreFile) -> Journal:
    """The journal of a store; empty where nothing was ever applied. A line cut off by a crash is left out."""
    path = path_of(store)
    found: dict[str, Entry] = {}
    plans: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        kind, key = line.get("line"), str(line.get("id", ""))
        if kind == "plan":
            plans[key] = line
        elif kind == "begin":
            # The line that names the plan comes before; a plan without a beginning was never begun.
            entry = _entry({**plans.pop(key, {}), **line}, path)
            found[entry.journal_id] = entry
        elif kind in ("done", "rolled back", "unclear") and key in found:
            if found[key].state == DONE:
                # Said by the process that made it; another one that looked meanwhile knows less.
                continue
            found[key] = replace(found[key], state=str(kind), backup=line.get("backup") or found[key].backup)
            undone = found[key].undoes
            if kind == "done" and undone in found:
                found[undone] = replace(found[undone], undone_by=key)
        elif kind == "restore":
            found = {key: replace(one, before_restore=True) for key, one in found.items()}
    return Journal(path, tuple(found.values()))


def must_be_usable(store: StoreFile) -> None:
    """Look whether a repair could be written down.

    Raises:
        LcmLabError: the journal cannot be read, or not be written.
    """
    read(store)
    path = path_of(store)
    if path.exists() and not os.access(path, os.W_OK):
        raise LcmLabError(f"The journal {path} may not be written to; nothing was changed.")


def announce(store: StoreFile, entry: Entry) -> None:
    """Write down what is going to be tried; outside of the write lock, since it may be much."""
    line = {name: getattr(entry, name) for name in _PLAIN}
    line["edits"] = [closed.to_json(one) for one in entry.edits]
    _append(store, {**line, "line": "plan", "id": entry.journal_id}, but=", so nothing was changed", wait=False)


def begin(store: StoreFile, journal_id: str, inverse: Iterable[Edit]) -> None:
    """Write down what would undo that which is about to be committed; :func:`end` waits until it is on the disk."""
    line = {"line": "begin", "id": journal_id, "inverse": [closed.to_json(one) for one in inverse]}
    _append(store, line, but=", so nothing was changed", wait=False)


def end(store: StoreFile, journal_id: str, state: str, *, backup: str | None = None) -> None:
    """Write down how it ended."""
    _append(store, {"line": state, "id": journal_id, "at": now(), "backup": backup, "stamp": _stamp(store)})


def restored(store: StoreFile, backup: Path) -> None:
    """Write down that a backup took the place of the store."""
    _append(
        store, {"line": "restore", "at": now(), "backup": backup.name}, but="; the backup was restored all the same"
    )


def backed_up(store: StoreFile, backup: Path) -> None:
    """Write down that a backup was made, and of which state."""
    line = {"line": "backup", "at": now(), "backup": backup.name, "stamp": _stamp(store)}
    _append(store, line, but="; the store was not changed")


def fresh_backup(store: StoreFile) -> Path | None:
    """The newest backup, if nothing but our own journalled writes came after it."""
    lines = [
        line for line in _lines(path_of(store)) if line.get("line") in ("backup", "done", "restore", "rolled back")
    ]
    newest = next((i for i in range(len(lines) - 1, -1, -1) if lines[i]["line"] == "backup"), None)
    if newest is None or lines[-1].get("stamp") != _stamp(store):
        return None
    if any(line["line"] == "restore" for line in lines[newest:]):
        return None
    path = store.path.with_name(str(lines[newest]["backup"]))
    return path if path.is_file() else None


def now() -> str:
    """This moment as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_PLAIN: Final = (
    "plan_id",
    "operation",
    "conversation_id",
    "subject",
    "title",
    "at",
    "by",
    "batch",
    "model",
    "undoes",
    "tokens_before",
    "tokens_after",
    "backup",
)


def _entry(line: dict[str, Any], path: Path) -> Entry:
    try:
        return Entry(
            journal_id=str(line["id"]),
            edits=tuple(closed.from_json(one) for one in line["edits"]),
            inverse=tuple(closed.from_json(one) for one in line["inverse"]),
            **{name: line.get(name) for name in _PLAIN},  # type: ignore[arg-type]
        )
    except (KeyError, TypeError, UsageError) as error:
        raise LcmLabError(
            f"{path}: the entry {line.get('id')!r} cannot be read ({error}); move the file away."
        ) from error


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    try:
        # A pipe or a device in its place would keep us waiting, or never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise LcmLabError(f"The journal {path} is no file; move what stands there away.")
        raw = path.read_bytes()
    except FileNotFoundError:
        return
    except OSError as error:
        raise LcmLabError(f"The journal {path} cannot be read: {error.strerror or error}.") from error
    for line in raw.split(b"\n"):
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found


def _append(store: StoreFile, line: dict[str, Any], *, but: str = "", wait: bool = True) -> None:
    path = path_of(store)
    raw = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            # The leading line feed ends a line that a crash cut off; an empty line means nothing.
            whole = b"\n" + raw + b"\n"
            if os.write(descriptor, whole) < len(whole):
                raise OSError(errno.ENOSPC, "the disk is full")
            if wait:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise LcmLabError(f"The journal {path} cannot be written ({error.strerror or error}){but}.") from error


def _stamp(store: StoreFile) -> list[Any]:
    """Size and time of the store and of its log; an empty log, which whoever opens a store makes, is none."""
    found = store.stamp()
    return [list(found.store[2:]), list(found.wal[2:]) if found.wal and found.wal[2] else None]
