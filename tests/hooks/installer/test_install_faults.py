"""Dying between two steps: whatever the moment, the settings are whole and the next run finishes the work."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import entries, json_text
from lcm_lab.hooks import host as hosts

if TYPE_CHECKING:
    from tests.hooks.installer.conftest import Machine

ORIGINAL = b'{ "env": { }, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "bell"}]}]}, "n": 1.0 }\n'
STEPS = ("replace", "mkdir", "unlink", "rmdir", "utime", "chmod")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of plans are made here; the interpreter is the same in all of them."""
    monkeypatch.setattr(hosts, "check_interpreter", lambda _: None)
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Death(BaseException):
    """The process ends here."""


class Fuse:
    """Lets this many file operations through and dies at the next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, left: int) -> None:
        self.left = left
        self.blown = False
        for name in STEPS:
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))

    def wrap(self, real: Any) -> Any:
        """The operation with the fuse in front."""

        def step(*args: Any, **kwargs: Any) -> Any:
            if self.blown:  # cleaning up after the end of a process does not happen
                raise Death
            self.left -= 1
            if self.left < 0:
                self.blown = True
                raise Death
            return real(*args, **kwargs)

        return step


def dies_at(machine: Machine, number: int, *, uninstall: bool) -> bool:
    """Whether the process died at this operation; otherwise the work was done."""
    with pytest.MonkeyPatch.context() as patch:
        fuse = Fuse(patch, number)
        try:
            machine.uninstall() if uninstall else machine.install(allow_lookup=True, threshold="20")
        except Death:
            return True
        assert not fuse.blown
        return False


def whole(machine: Machine) -> None:
    """Their handler is there once, and every handler of ours can run."""
    root = json_text.parse(machine.settings.read_text())
    assert root.plain()["n"] == 1.0
    found = list(entries.handlers(root))
    assert [one.entry["command"] for one in found if one.entry["command"] == "bell"] == ["bell"]
    assert all(Path(one.script).is_file() for one in entries.own_handlers(root, machine.host.hooks))


def test_dying_while_installing_upgrading_and_uninstalling(machine: Machine) -> None:
    """Each operation in turn is the last one; then the same command again, and an uninstall from any state."""
    for phase in ("install", "upgrade", "uninstall"):
        number, alive = 0, False
        while not alive:
            machine.write(ORIGINAL)
            if phase != "install":
                machine.install()
                machine.upgrade()
            alive = not dies_at(machine, number, uninstall=phase == "uninstall")
            whole(machine)
            if number % 2 and phase != "uninstall":  # finish it first
                machine.install()
                whole(machine)
                assert not machine.install().changed
            machine.uninstall()
            assert machine.settings.read_bytes() == ORIGINAL, (phase, number)
            assert [path.name for path in machine.host.config.iterdir()] == ["settings.json"], (phase, number)
            shutil.rmtree(machine.home, ignore_errors=True)  # folders of old versions would add up
            number += 1
        assert number > 3


def test_a_rename_that_fails_leaves_the_old_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk, say: the settings are the old ones and no half-written file is left beside them."""
    machine.write(ORIGINAL)
    real = os.replace

    def refuse(source: str, target: Any) -> None:
        if str(target) == str(machine.settings):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="No space"):
        machine.install()
    monkeypatch.undo()
    assert machine.settings.read_bytes() == ORIGINAL
    assert sorted(path.name for path in machine.host.config.iterdir()) == ["settings.json", "skills"]
    machine.install()
    machine.uninstall()
    assert machine.settings.read_bytes() == ORIGINAL


def test_a_change_between_death_and_the_next_run_is_kept(machine: Machine) -> None:
    """Died after the record was written and before the settings were: the record knows both states."""
    machine.write(ORIGINAL)
    machine.install(threshold="20")
    machine.upgrade()
    number = 0
    while dies_at(machine, number, uninstall=False):
        number += 1
    machine.uninstall()
    for stop in range(number):
        machine.write(ORIGINAL)
        machine.install(threshold="30")
        machine.upgrade()
        dies_at(machine, stop, uninstall=False)
        text = json_text.put(machine.settings.read_text(), ("later",), True)
        machine.settings.write_text(text)
        machine.uninstall()
        assert machine.read() == {**json.loads(ORIGINAL), "later": True}, stop
