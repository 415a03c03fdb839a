"""The files an installation makes besides the settings: hooks, skills, backups.

Idea: a folder of hooks is complete before it has its name, and nothing a session may still be calling is deleted: an
interpreter that finds no script ends with code 2, which the client takes as "block this prompt". So uninstalling leaves
one-line scripts behind that do nothing. A skill file that somebody wrote or changed by hand is never thrown away.

Invariant: running a step twice does what running it once does.
Checked by ``tests/hooks/installer/test_install.py`` and ``test_install_faults.py``.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

try:
    from . import json_text
    from .host import Host, version_folders
    from .record import Record, backup_name
    from .settings_file import InstallRefused, digest, documents_of, read, sweep, write_atomic
except ImportError:  # run as a script
    import json_text  # type: ignore[import-not-found,no-redef]
    from host import Host, version_folders  # type: ignore[import-not-found,no-redef]
    from record import Record, backup_name  # type: ignore[import-not-found,no-redef]
    from settings_file import (  # type: ignore[import-not-found,no-redef]
        InstallRefused,
        digest,
        documents_of,
        read,
        sweep,
        write_atomic,
    )

STUB: Final = b'"""Uninstalled. This file lets sessions that are still open go on; it does nothing."""\n'
KEEP_OLD: Final = 30 * 24 * 3600
"""Seconds an older version's folder stays after an upgrade: open sessions and earlier blocks still name it."""

KEEP_BACKUPS: Final = 10
MOST_PARTS: Final = 4


@dataclass(frozen=True)
class Skill:
    """One skill file: what it should hold, and what stands there that must be kept first."""

    path: Path
    data: bytes
    keep: bytes | None = None


def plan_parts(host: Host, asked: int | None) -> tuple[int, bytes | None]:
    """In how many parts the block comes back, and the new ``config.json`` that says so (None: it stays)."""
    path = host.home / "config.json"
    if asked is None:
        known = next((found.get("parts") for _, found in documents_of([path])), None)
        return (known if isinstance(known, int) and 1 <= known <= MOST_PARTS else 2), None
    if not 1 <= asked <= MOST_PARTS:
        raise InstallRefused(f"the block comes in 1 to {MOST_PARTS} parts, not {asked}")
    file = read(path)
    text = json_text.put(file.text, ("parts",), asked)
    return asked, None if text == file.text else text.encode("utf-8")


def write_hooks(host: Host, folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether anything had to be written so that ``folder`` holds exactly these files."""
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.is_dir():
        wrong = [name for name, data in files.items() if _read(folder / name) != data]
        for name in wrong:  # a stub of an earlier uninstall, or damage
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_atomic(folder / name, files[name])
        return bool(wrong)
    staged = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    try:
        for name, data in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_bytes(data)
        os.replace(staged, folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
    _remove_old(host, folder)
    return True


def _remove_old(host: Host, folder: Path) -> None:
    """Folders of versions that no session can be using any more go away."""
    for old in version_folders(host.hooks):
        if old != folder and old.resolve() != host.source and time.time() - old.stat().st_mtime > KEEP_OLD:
            shutil.rmtree(old, ignore_errors=True)


def remove_hooks(hooks: Path, registered: set[str]) -> bool:
    """Whether anything had to be removed so that only the registered scripts are left, and do nothing."""
    changed = False
    for staged in hooks.glob(".new-*"):
        shutil.rmtree(staged, ignore_errors=True)
    for folder in version_folders(hooks):
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.rmdir()
            elif path.parent == folder and path.name in registered:
                if _read(path) != STUB:
                    write_atomic(path, STUB)
                    changed = True
            else:
                path.unlink()
                changed = True
    return changed


def write_backup(backups: Path, settings: Path, data: bytes | None) -> None:
    """Keep these bytes, readable by the user alone; the same content is kept once."""
    if data is None:
        return
    backups.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = backups / backup_name(settings, data)
    if _read(path) != data:
        write_atomic(path, data)
    os.chmod(path, 0o600)
    os.utime(path)


def prune_backups(backups: Path, settings: Path, needed: set[str]) -> None:
    """The newest backups of one file stay, and those that an uninstall needs."""
    prefix = backup_name(settings, b"").rpartition("-")[0] + "-"
    found = [path for path in backups.glob("*") if path.name.startswith(prefix)] if backups.is_dir() else []
    for path in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[KEEP_BACKUPS:]:
        if path.name not in needed:
            path.unlink(missing_ok=True)


def plan_skills(host: Host, record: Record, lookup: str) -> tuple[tuple[Skill, ...], list[str]]:
    """The skill files to write, and what to say about those that are not ours to write."""
    found, said = [], []
    for template in sorted(host.source.glob("skills/*/SKILL.md")):
        path = host.config / "skills" / template.parent.name / "SKILL.md"
        data = template.read_text(encoding="utf-8").replace("{{LOOKUP}}", lookup).encode("utf-8")
        there = _read(path)
        if there in (None, data) or digest(there or b"") == record.skills.get(str(path)):
            found.append(Skill(path, data))
        elif _looks_ours(there or b"", host):
            found.append(Skill(path, data, there))
            said.append(f"{path} was changed by hand; the old text is kept in {host.home / 'backups'}")
        else:
            said.append(f"{path} is not ours and stays: /{template.parent.name} is answered for typed commands only")
    return tuple(found), said


def _looks_ours(data: bytes, host: Host) -> bool:
    return b"lookup.py" in data and str(host.hooks).encode() in data


def fingerprints(skills: tuple[Skill, ...]) -> dict[str, str]:
    """By which the skill files will be known as ours."""
    return {str(skill.path): digest(skill.data) for skill in skills}


def write_skills(host: Host, skills: tuple[Skill, ...]) -> bool:
    """Whether any skill file had to be written."""
    changed = False
    for skill in skills:
        if _read(skill.path) == skill.data:
            continue
        write_backup(host.home / "backups", skill.path, skill.keep)
        skill.path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(Path(os.path.realpath(skill.path)), skill.data, mode=0o644)
        changed = True
    return changed


def remove_skills(host: Host, record: Record) -> bool:
    """Whether a skill file of ours was there; one changed by hand goes to the backups, foreign ones stay."""
    changed = False
    for name, fingerprint in record.skills.items():
        path = Path(name)
        data = _read(path)
        if data is not None and digest(data) != fingerprint:
            if not _looks_ours(data, host):
                continue
            write_backup(host.home / "backups", path, data)
        if data is not None:
            path.unlink()
            changed = True
        sweep(path)
        with contextlib.suppress(OSError):
            path.parent.rmdir()
    return changed


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None
