"""Where the payload of a large file lies, looked for only inside the store's own folder.

``storage_uri`` is a plain path that the plugin wrote on the machine it ran on. It may point anywhere, so it is never
opened as it stands: a path outside ``<folder of the store>/lcm-files`` is reported and left alone, symbolic links are
followed before that is decided. A store that was moved still finds its payloads by conversation and file id.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from lcm_lab.store.rows import LargeFile

State = Literal["present", "missing", "outside"]
_FILE_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Payload:
    """The stored payload of a large file: ``path`` only where it is present and inside the store's folder."""

    file: LargeFile
    state: State
    path: Path | None

    @property
    def said(self) -> str:
        """The state in words."""
        return {
            "present": "stored",
            "missing": "payload missing",
            "outside": "outside the store's folder, not opened",
        }[self.state]


def locate(store: Path, file: LargeFile) -> Payload:
    """The payload of ``file``, which belongs to the store at ``store``."""
    folder = (store.parent / "lcm-files").resolve()
    stored = Path(file.storage_uri)
    if file.storage_uri and (stored.is_absolute() or ".." not in stored.parts):
        found = _inside(folder, stored if stored.is_absolute() else store.parent / stored)
        if found is not None:
            return Payload(file, "present", found)
    moved = _after_move(stored)
    if moved is not None:
        found = _inside(folder, folder / moved)
        if found is not None:
            return Payload(file, "present", found)
    if _FILE_ID.fullmatch(file.file_id):
        beside = folder / str(file.conversation_id)
        for candidate in [*sorted(beside.glob(f"{file.file_id}.*")), beside / file.file_id]:
            found = _inside(folder, candidate)
            if found is not None:
                return Payload(file, "present", found)
    return Payload(file, "outside" if _points_outside(folder, store, file.storage_uri) else "missing", None)


def _inside(folder: Path, candidate: Path) -> Path | None:
    """The real path of a regular file below ``folder``; None for anything else."""
    try:
        real = candidate.resolve(strict=True)
        return real if real.is_relative_to(folder) and real.is_file() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _after_move(stored: Path) -> Path | None:
    """The part of a path below its last ``lcm-files``: where it lies when the whole state folder was moved."""
    parts = stored.parts
    if "lcm-files" not in parts or ".." in parts:
        return None
    return Path(*parts[len(parts) - parts[::-1].index("lcm-files") :])


def _points_outside(folder: Path, store: Path, uri: str) -> bool:
    """Whether something is at the stored path that lies outside the store's folder (a link is followed)."""
    if "://" in uri:
        return True
    try:
        return bool(uri) and (store.parent / uri).exists() and not (store.parent / uri).resolve().is_relative_to(folder)
    except (OSError, ValueError, RuntimeError):
        return False
