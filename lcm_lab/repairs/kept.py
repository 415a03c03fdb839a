"""The backups beside a store, as a list to choose from."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lcm_lab.store import copies
from lcm_lab.store.connect import StoreFile


@dataclass(frozen=True, slots=True)
class KeptBackup:
    """A backup: where it lies, its size in bytes, when it was last written (ISO 8601 in UTC)."""

    path: Path
    size_bytes: int
    written_at: str


@dataclass(frozen=True, slots=True)
class Kept:
    """Backups, the newest first; ``chosen`` is the one a restore would take, where it is about one."""

    rows: tuple[KeptBackup, ...]
    chosen: bool = False


def of(store: StoreFile) -> Kept:
    """The backups beside a store."""
    return Kept(_rows(copies.backups(store)))


def one(path: Path) -> Kept:
    """The backup that a restore would take."""
    return Kept(_rows([path]), chosen=True)


def _rows(paths: Iterable[Path]) -> tuple[KeptBackup, ...]:
    found = []
    for path in paths:
        stat = path.stat()
        written = datetime.fromtimestamp(stat.st_mtime, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        found.append(KeptBackup(path, stat.st_size, written))
    return tuple(found)
