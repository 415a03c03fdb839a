"""What an installation remembers about itself, in ``install.json`` beside the database.

Idea: two things cannot be read back from a settings file: its bytes before we came (a backup, named here) and which
plain values are ours. The record is written *before* the settings change, with the state that was and the state that
will be, and reduced to the one that is afterwards; so whichever moment a process dies at, one of the states recorded is
the one on disk.

Invariant: a file whose fingerprint is recorded goes back to exactly the bytes it came from.
Checked by ``tests/hooks/installer/test_install_faults.py``.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

try:
    from .entries import Ours, strip
    from .settings_file import InstallRefused, SettingsFile, digest, write_atomic
except ImportError:  # run as a script
    from entries import Ours, strip  # type: ignore[import-not-found,no-redef]
    from settings_file import InstallRefused, SettingsFile, digest, write_atomic  # type: ignore[import-not-found,no-redef]

FORMAT: Final = 1


@dataclass(frozen=True)
class State:
    """One content of a settings file: fingerprint, the backup of what it came from (None: no file), and ours in it."""

    installed: str
    original: str | None
    ours: Ours = field(default_factory=Ours)


@dataclass(frozen=True)
class Choices:
    """What the user asked for; an upgrade without options keeps it."""

    threshold: str | None = None
    window: int | None = None
    allow_lookup: bool = False

    def changed(self, threshold: str | None, window: int | None, *, allow: bool | None) -> "Choices":
        """These choices with what is asked for now; InstallRefused for a number that means nothing."""
        if threshold is None and window is None:
            percent, width = self.threshold, self.window
        else:
            percent, width = (None if threshold == "auto" else threshold), window
        if percent is not None:
            try:
                number = float(percent)
            except ValueError as error:
                raise InstallRefused(f"the threshold must be a percentage or auto, not {percent!r}") from error
            if not 0 < number <= 100:
                raise InstallRefused(f"the threshold must be above 0 and at most 100 percent, not {percent}")
        if width is not None and width <= 0:
            raise InstallRefused(f"the window must be a number of tokens, not {width}")
        return Choices(percent, width, self.allow_lookup if allow is None else allow)


@dataclass(frozen=True)
class Installation:
    """One settings file that we are in."""

    settings: str
    scope: str
    version: str
    batch: bool
    since: str
    choices: Choices = field(default_factory=Choices)
    states: tuple[State, ...] = ()
    made_folders: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """All installations of one memory folder, and the skill files with their fingerprints."""

    installations: Mapping[str, Installation] = field(default_factory=dict)
    skills: Mapping[str, str] = field(default_factory=dict)
    broken: bool = False

    def with_installation(self, one: Installation) -> "Record":
        """The record with this installation in place of an earlier one of the same file."""
        return replace(self, installations={**self.installations, one.settings: one})

    def without(self, settings: str) -> "Record":
        """The record without the installation in this file."""
        return replace(self, installations={k: v for k, v in self.installations.items() if k != settings})


def record_path(home: Path) -> Path:
    """Where the record lies."""
    return home / "install.json"


def load(home: Path) -> Record:
    """The record; an empty one where there is none or it cannot be understood (then ``broken`` says so)."""
    try:
        data = json.loads(record_path(home).read_bytes())
        if data["format"] != FORMAT:
            return Record(broken=True)
        found = [_installation(one) for one in data["installations"]]
        return Record({one.settings: one for one in found}, {str(k): str(v) for k, v in data["skills"].items()})
    except FileNotFoundError:
        return Record()
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return Record(broken=True)


def save(home: Path, record: Record) -> None:
    """Write the record in one step; an empty one is removed."""
    path = record_path(home)
    if not record.installations and not record.skills:
        path.unlink(missing_ok=True)
        return
    data = {
        "format": FORMAT,
        "installations": [_plain(one) for one in record.installations.values()],
        "skills": dict(record.skills),
    }
    text = (json.dumps(data, indent=2) + "\n").encode()
    if not path.is_file() or path.read_bytes() != text:
        write_atomic(path, text)


def _plain(one: Installation) -> dict[str, Any]:
    states = [
        {
            "installed": state.installed,
            "original": state.original,
            "values": [[list(path), value] for path, value in state.ours.values.items()],
            "before": [[list(path), raw] for path, raw in state.ours.before.items()],
            "rules": list(state.ours.rules),
            "made": [list(path) for path in state.ours.made],
        }
        for state in one.states
    ]
    return {**vars(one), "choices": vars(one.choices), "states": states, "made_folders": list(one.made_folders)}


def _installation(data: dict[str, Any]) -> Installation:
    states = tuple(
        State(
            state["installed"],
            state["original"],
            Ours(
                {tuple(path): value for path, value in state["values"]},
                {tuple(path): raw for path, raw in state["before"]},
                tuple(state["rules"]),
                tuple(tuple(path) for path in state["made"]),
            ),
        )
        for state in data["states"]
    )
    made = tuple(data["made_folders"])
    return Installation(**{**data, "choices": Choices(**data["choices"]), "states": states, "made_folders": made})


def backup_name(settings: Path, data: bytes) -> str:
    """A name that the file's path and content decide, so the same content is kept once."""
    return f"{settings.name}-{digest(os.fsencode(settings))[:8]}-{digest(data)[:12]}"


def original(file: SettingsFile, one: Installation | None, hooks: Path, backups: Path) -> bytes | None:
    """The settings without us: byte for byte where a state is recorded, else with our entries cut out of the text."""
    if file.data is None:
        return None
    states = one.states if one is not None else ()
    mark = digest(file.data)
    for state in states:
        if state.installed != mark:
            continue
        if state.original is None:
            return None
        try:
            data = (backups / state.original).read_bytes()
        except OSError:
            break
        if state.original == backup_name(file.path, data):
            return data
    text = file.text
    for state in reversed(states or (State("", ""),)):
        text = strip(text, hooks, state.ours)
    made_by_us = any(state.original is None for state in states)
    return None if made_by_us and text.strip() in {"{}", ""} else text.encode("utf-8")
