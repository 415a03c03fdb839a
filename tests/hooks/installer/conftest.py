"""A machine of one's own: home, client, hooks and settings below the test's folder, nothing of the real one."""

import json
import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.hooks import host as hosts
from lcm_lab.hooks import install as installer

SOURCE = Path(installer.__file__).parent


class Machine:
    """A Host in a folder, with the moves that tests make on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.source = root / "source"
        self.project = root / "project"
        for folder in (self.bin, self.source, self.project, root / "home"):
            folder.mkdir(parents=True)
        for name in sorted({*installer.scripts(), "lookup.py", "install.py"}):
            (self.source / name).write_text(f'"""{name}"""\nimport sys\nsys.stdin.read()\n')
        for name in ("sc-detail", "sc-search", "sc-resolve"):
            (self.source / "skills" / name).mkdir(parents=True)
            text = (SOURCE / "skills" / name / "SKILL.md").read_text(encoding="utf-8")
            (self.source / "skills" / name / "SKILL.md").write_text(text, encoding="utf-8")
        env = {"HOME": str(root / "home"), "PATH": str(self.bin)}
        self.host = hosts.Host(env, self.project, self.source, hosts.base_interpreter(), hosts.ask_client)

    @property
    def home(self) -> Path:
        """The memory folder of this machine."""
        return self.host.home

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.host.settings("user")

    def set_env(self, **values: str) -> None:
        """Change the environment."""
        self.host = replace(self.host, env={**self.host.env, **values})

    def client(self, version: str) -> None:
        """A stand-in client that says this version and knows nothing else."""
        program = self.bin / "claude"
        program.write_text(
            f"#!{sys.executable}\nimport sys\nassert sys.argv[1:] == ['--version']\nprint({version!r})\n"
        )
        program.chmod(0o755)

    def write(self, data: bytes | str | dict[str, Any]) -> bytes:
        """Make the settings hold this; the bytes as written."""
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, dict):
            data = json.dumps(data, indent=2) + "\n"
        raw = data.encode() if isinstance(data, str) else data
        self.settings.write_bytes(raw)
        return raw

    def read(self) -> dict[str, Any]:
        """The settings as data."""
        return dict(json.loads(self.settings.read_bytes()))

    def install(self, **options: Any) -> installer.Result:
        """Plan and apply in one go."""
        return installer.apply(installer.plan_install(self.host, **options))

    def uninstall(self, **options: Any) -> installer.Result:
        """Plan and apply in one go."""
        return installer.apply(installer.plan_uninstall(self.host, **options))

    def upgrade(self) -> None:
        """A new release of the hooks."""
        with (self.source / "lookup.py").open("a") as file:
            file.write("# a later release\n")

    def session(self, name: str, model: str, loads: list[int], *, cwd: str = "p") -> Path:
        """A transcript whose requests had these prompt sizes; a None is a boundary."""
        folder = self.host.config / "projects" / cwd
        folder.mkdir(parents=True, exist_ok=True)
        lines: list[dict[str, Any]] = [{"type": "user", "message": {"role": "user", "content": "hello"}}]
        for number, load in enumerate(loads):
            if load < 0:
                lines.append({"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto"}})
                continue
            usage = {"input_tokens": 2, "cache_creation_input_tokens": load - 2, "cache_read_input_tokens": 0}
            message = {"id": f"m{number}", "model": model, "role": "assistant", "content": [], "usage": usage}
            lines.append({"type": "assistant", "isSidechain": False, "message": message})
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def tree(self) -> dict[str, tuple[int, bytes]]:
        """Every file outside the memory folder with its mode and bytes, and every folder."""
        found: dict[str, tuple[int, bytes]] = {}
        for where, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if Path(where, name) != self.home]
            for name in files:
                path = Path(where, name)
                data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                found[str(path)] = (stat.S_IMODE(path.lstat().st_mode), data)
            found[where] = (0, b"")
        return found


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A fresh machine."""
    return Machine(tmp_path / "machine")


@pytest.fixture
def make_machine(tmp_path: Path) -> Callable[[str], Machine]:
    """As many machines as a test needs."""
    return lambda name: Machine(tmp_path / name)
