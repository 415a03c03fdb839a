"""Where an installation goes and what runs it: folders, interpreter, client, versions.

Idea: everything the installer knows about the machine comes through one frozen :class:`Host`, so a test hands in a
whole machine of its own and nothing reads the real environment behind its back.

Invariant: the interpreter that hooks are registered with is never one inside a virtual environment.
Checked by ``tests/hooks/installer/test_install.py``.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

try:
    from .settings_file import InstallRefused
except ImportError:  # run as a script
    from settings_file import InstallRefused  # type: ignore[import-not-found,no-redef]

VERSION: Final = "0.1.0"
"""The version of the hooks, the same as the package's (a test compares them)."""

BATCH_SINCE: Final = (2, 1, 240)
"""The first client version on which the batch event was seen to fire after every batch."""

Scope = Literal["user", "project"]
ClientVersion = tuple[int, int, int]

_VERSION_FOLDER: Final = re.compile(r"\d+\.\d+\.\d+-[0-9a-f]{8}")


@dataclass(frozen=True)
class Host:
    """One machine as the installer sees it."""

    env: Mapping[str, str]
    cwd: Path
    source: Path
    python: str
    ask_version: Callable[[Mapping[str, str]], ClientVersion | None]

    @property
    def user_home(self) -> Path:
        """The user's home folder."""
        return Path(self.env.get("HOME") or self.env.get("USERPROFILE") or Path.home())

    @property
    def home(self) -> Path:
        """The folder of the memory, absolute."""
        given = self.env.get("THROUGHLINE_HOME", "").strip()  # spaces count as unset, for the hooks too
        return self._absolute(given) if given else self.user_home / ".throughline"

    @property
    def home_is_default(self) -> bool:
        """Whether the memory lies where hooks look without being told."""
        return self.home == self.user_home / ".throughline"

    @property
    def config(self) -> Path:
        """The client's own folder."""
        given = self.env.get("CLAUDE_CONFIG_DIR")
        return self._absolute(given) if given else self.user_home / ".claude"

    @property
    def hooks(self) -> Path:
        """The folder that holds one folder for each installed version."""
        return self.home / "hooks"

    def settings(self, scope: Scope) -> Path:
        """The settings file of a scope; the shared file of a project is never one of them."""
        return self.config / "settings.json" if scope == "user" else self.cwd / ".claude" / "settings.local.json"

    def all_settings(self) -> tuple[Path, ...]:
        """Every settings file that decides in this folder, strongest first."""
        project = self.cwd / ".claude"
        found = (project / "settings.local.json", project / "settings.json", self.config / "settings.json")
        return tuple(dict.fromkeys(found))

    def client(self) -> ClientVersion | None:
        """The version of the client on the path, or None."""
        return self.ask_version(self.env)

    def _absolute(self, given: str) -> Path:
        if given == "~" or given.startswith(("~/", "~\\")):
            return self.user_home / given[2:]
        return Path(os.path.abspath(self.cwd / given))


def this_host() -> Host:
    """The machine this program runs on."""
    return Host(os.environ, Path.cwd(), Path(__file__).resolve().parent, base_interpreter(), ask_client)


def base_interpreter() -> str:
    """The interpreter that runs now or, from inside a virtual environment, the one behind it.

    A link such as ``/usr/bin/python3`` is kept: the system moves it along when it updates Python.
    """
    names = (f"python{sys.version_info[0]}.{sys.version_info[1]}", "python3", "python.exe")
    behind = [str(Path(sys.base_prefix, *folder, name)) for folder in (("bin",), ()) for name in names]
    for path in (getattr(sys, "_base_executable", None), sys.executable, *behind):
        if path and os.path.isfile(path) and not in_virtual_environment(path):
            return os.path.abspath(path)
    raise InstallRefused(f"no interpreter was found in {sys.base_prefix}; run this with the system's own python3")


def in_virtual_environment(python: str) -> bool:
    """Whether an interpreter belongs to a virtual environment (which may go away with its project)."""
    folder = Path(os.path.abspath(python)).parent
    return any((place / "pyvenv.cfg").is_file() for place in (folder, folder.parent))


def check_interpreter(python: str) -> None:
    """InstallRefused unless this interpreter starts bare, is new enough and has SQLite."""
    if in_virtual_environment(python):
        raise InstallRefused(f"{python} is inside a virtual environment, which may go away")
    test = "import sys, json, sqlite3; print(sys.version_info >= (3, 11))"
    try:
        done = subprocess.run(  # noqa: S603 - the interpreter that runs this program
            [python, "-S", "-E", "-c", test], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallRefused(f"{python} does not start: {error}") from error
    if done.stdout.strip() != "True":
        why = done.stderr.strip().splitlines()[-1:] or ["it is older than Python 3.11"]
        raise InstallRefused(f"{python} cannot run the hooks: {why[0]}")


def ask_client(env: Mapping[str, str]) -> ClientVersion | None:
    """What ``claude --version`` says, None when there is no client, no answer, or no number in it."""
    program = shutil.which("claude", path=env.get("PATH", ""))
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - the user's own client, asked for its version
            [program, "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
            env=dict(env),
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def sends_batches(version: ClientVersion | None) -> bool:
    """Whether the batch event may be relied on: an unknown client counts as old."""
    return version is not None and version >= BATCH_SINCE


def source_files(source: Path) -> dict[str, bytes]:
    """What is copied: each module and each skill text, by its path below the folder."""
    found = [*source.glob("*.py"), *source.glob("skills/*/*.md")]
    return {path.relative_to(source).as_posix(): path.read_bytes() for path in sorted(found)}


def folder_version(files: Mapping[str, bytes]) -> str:
    """The name of the folder for these files: a folder, once made, never means anything else."""
    total = hashlib.sha256()
    for name, data in files.items():
        total.update(f"{name}\0{len(data)}\0".encode() + data)
    return f"{VERSION}-{total.hexdigest()[:8]}"


def version_folders(hooks: Path) -> list[Path]:
    """The folders that installations made, newest first."""
    if not hooks.is_dir():
        return []
    found = [path for path in hooks.iterdir() if path.is_dir() and _VERSION_FOLDER.fullmatch(path.name)]
    return sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)
