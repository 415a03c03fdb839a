"""When a backup is made before a write, and putting one back.

One rule for every operation: before the first write of a batch, or of a single repair unless the newest backup is
still of this state but for our own journalled repairs. Nothing is written, no backup is made. Copies and their limits
are :mod:`lcm_lab.store.copies`. Checked by ``tests/repairs/test_backups.py``.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lcm_lab.errors import UsageError
from lcm_lab.repairs import journal
from lcm_lab.store import copies, writing
from lcm_lab.store.connect import StoreFile

POLICIES: Final = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that took the place of a store, and the backup that was made of the state before."""

    backup: str
    saved: str
    size_bytes: int


class Session:
    """One batch, one review or one repair: it makes at most one backup, and that before its first write.

    ``settled`` is set once it is known how repairs ended whose process was killed.
    """

    def __init__(self, store: StoreFile, policy: str = "auto") -> None:
        if policy not in POLICIES:
            raise UsageError(f"A backup is made {', '.join(POLICIES)}; {policy!r} is none of them.")
        self._store = store
        self._policy = policy
        self._saved: Path | None = None
        self.settled = False

    @property
    def saved(self) -> Path | None:
        """The backup, once it was made or found."""
        return self._saved

    def makes_one(self) -> bool:
        """Whether :meth:`ensure` would make a backup now, instead of using one or none."""
        if self._policy == "never" or self._saved is not None:
            return False
        return self._policy == "always" or journal.fresh_backup(self._store) is None

    def must_work(self) -> None:
        """Look, before anybody is asked for a text, whether it could be written.

        Raises:
            Refused: there is no room for a backup. LcmLabError: the store, its folder or the journal cannot be used.
        """
        writing.must_be_allowed(self._store)
        journal.must_be_usable(self._store)
        if self.makes_one():
            copies.must_fit(self._store)

    def ensure(self) -> Path | None:
        """The backup of the state before the first write; None where none is wanted.

        Raises:
            Refused: there is no room for one. StoreDamaged: what was copied does not read well.
        """
        if self._policy == "never" or self._saved is not None:
            return self._saved
        reused = journal.fresh_backup(self._store) if self._policy == "auto" else None
        if reused is None:
            reused = make(self._store, sound=True).path
        self._saved = reused
        return reused


def make(store: StoreFile, *, sound: bool = False) -> copies.Copy:
    """Make a backup now, keep the newest five, and write it down; with ``sound`` only of a store that reads well."""
    made = copies.backup(store, sound=sound)
    journal.backed_up(store, made.path)
    return made


def restore(store: StoreFile, backup: str | Path | None = None) -> Restored:
    """Put a backup (the newest without one) in the place of the store; its present state is backed up before.

    Raises:
        Refused: somebody has the store open. NotFound: there is no such backup.
    """
    chosen = copies.find(store, backup)
    journal.must_be_usable(store)
    saved = copies.restore(store, chosen)
    journal.restored(store, chosen)
    return Restored(str(chosen), str(saved.path), chosen.stat().st_size)
