"""A settings file on disk: read strictly, written in one step or not at all.

Idea: the file belongs to the user and a running client watches it, so a write is a complete new file beside it, flushed
to disk, renamed over it. A link stays a link: what it points to is replaced. Before the rename the file is read once
more; if anybody changed it meanwhile, nothing is written.

Invariant: at every moment the path holds either the old bytes or the new ones, with the old mode.
Checked by ``tests/hooks/installer/test_install_foreign.py`` and, with renames that fail, ``test_install_faults.py``.
"""

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

try:
    from . import json_text
except ImportError:  # run as a script
    import json_text  # type: ignore[import-not-found,no-redef]


TEMPORARY: Final = ".throughline"


class InstallRefused(Exception):
    """Nothing was written; the text says why and what to do next."""


@dataclass(frozen=True)
class SettingsFile:
    """One settings file as it was read: ``data`` is None when there is none."""

    path: Path
    target: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """The content as text; an absent file reads as an empty object."""
        return "{}\n" if self.data is None else self.data.decode("utf-8")

    def root(self) -> json_text.Node:
        """The content with positions."""
        return json_text.parse(self.text)


def digest(data: bytes) -> str:
    """The fingerprint by which a file is recognised as what an installation left."""
    return hashlib.sha256(data).hexdigest()


def read(path: Path) -> SettingsFile:
    """The file, checked to be strict JSON with an object at the top; InstallRefused otherwise."""
    target = Path(os.path.realpath(path))
    try:
        data = target.read_bytes()
    except FileNotFoundError:
        return SettingsFile(path, target, None)
    except OSError as error:
        raise InstallRefused(f"{path} cannot be read ({error.strerror}); nothing was written") from error
    found = SettingsFile(path, target, data)
    try:
        root = found.root()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InstallRefused(f"{path} line {line}: not UTF-8; nothing was written, mend it first") from error
    except json_text.NotStrict as error:
        raise InstallRefused(f"{path} {error}; nothing was written, mend it first") from error
    _expect(path, root, (), "object")
    for key in ("hooks", "env", "permissions"):
        _expect(path, root, (key,), "object")
    _expect(path, root, ("permissions", "allow"), "array")
    for event in (root.at(("hooks",)) or root).names if root.get("hooks") else ():
        _expect(path, root, ("hooks", event), "array")
    return found


def documents_of(paths: Iterable[Path]) -> list[tuple[str, dict[str, Any]]]:
    """The settings files that can be read, as data; this only looks, so a broken one counts as empty."""
    found = []
    for path in paths:
        try:
            found.append((str(path), read(path).root().plain()))
        except InstallRefused:
            continue
    return found


def _expect(path: Path, root: json_text.Node, where: tuple[str, ...], kind: str) -> None:
    node = root.at(where)
    if node is not None and node.kind != kind:
        name = ".".join(where) or "the top"
        wanted, seen = json_text.type_name[kind], json_text.type_name[node.kind]
        raise InstallRefused(f"{path}: {name} must be {wanted} and is {seen}; nothing was written, mend it first")


def check_writable(file: SettingsFile) -> None:
    """InstallRefused when the file or its folder is marked read-only, which root would not notice."""
    folder = file.target.parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise InstallRefused(f"{folder} is not a folder; nothing was written")
    for place in (folder, file.target):
        if not place.exists():
            continue
        mode = place.stat().st_mode
        if place == file.target and not stat.S_ISREG(mode):
            raise InstallRefused(f"{place} is not a file; nothing was written")
        if not mode & 0o222 or not os.access(place, os.W_OK):
            raise InstallRefused(f"{place} is read-only; nothing was written. Allow writing, then run this again")


def replace(file: SettingsFile, data: bytes | None) -> None:
    """The file holds ``data`` (None: is gone) afterwards, unless it is no longer what was read."""
    check_writable(file)
    if _bytes(file.target) != file.data:
        raise InstallRefused(f"{file.path} was changed by somebody else just now; nothing was written, run this again")
    if data is None:
        file.target.unlink(missing_ok=True)
    else:
        write_atomic(file.target, data)


def write_atomic(target: Path, data: bytes, *, mode: int = 0o600) -> None:
    """All of ``data`` or nothing; an existing file keeps its mode and owner, a new one gets ``mode``."""
    old = None
    with contextlib.suppress(FileNotFoundError):
        old = target.stat()
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=TEMPORARY, dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(name, mode if old is None else stat.S_IMODE(old.st_mode))
        if old is not None and hasattr(os, "chown"):
            with contextlib.suppress(PermissionError):
                os.chown(name, old.st_uid, old.st_gid)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    _sync_folder(target.parent)


def sweep(target: Path) -> None:
    """Remove what a process that died left beside this file."""
    for path in target.parent.glob(f".{target.name}.*{TEMPORARY}"):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """The rename itself reaches the disk, where the system can do that for folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
