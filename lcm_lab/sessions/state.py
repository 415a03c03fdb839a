"""OpenClaw's state folder and the agents in it.

The folder is the one OpenClaw itself would use: ``OPENCLAW_STATE_DIR`` where it is set to something, else
``~/.openclaw``. An agent is a folder directly under ``agents/``, with sessions as JSONL files, in a SQLite store, or
both. Invariant: listing raises nothing because a folder is missing or closed to us; the row, or :func:`no_agents`,
says so.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lcm_lab.errors import NotFound, UsageError
from lcm_lab.sessions.discover import SessionFolder, folder
from lcm_lab.sessions.host_db import HostSessions, host_sessions

STATE_VARIABLE: Final = "OPENCLAW_STATE_DIR"


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent of a state folder.

    ``name`` is the folder's name, fit for printing. ``session_files`` counts the live ``*.jsonl`` files before
    deduplication, ``reset_files`` and ``deleted_files`` those OpenClaw set aside. ``database`` is what its SQLite store
    holds, None without one. ``problem`` says why the sessions folder could not be listed; None also when there is none.
    """

    name: str
    path: Path
    session_files: int
    reset_files: int
    deleted_files: int
    database: HostSessions | None
    problem: str | None = None


def state_dir(env: Mapping[str, str] | None = None) -> Path:
    """OpenClaw's state folder as an absolute path; it need not exist.

    ``OPENCLAW_STATE_DIR`` is trimmed, a blank value counts as unset, ``~`` is expanded, and a relative path starts at
    the current folder.

    Raises:
        UsageError: the variable is unset or starts with ``~``, and there is no home folder to start from.
    """
    value = (os.environ if env is None else env).get(STATE_VARIABLE, "").strip()
    try:
        return Path(value or "~/.openclaw").expanduser().absolute()
    except RuntimeError as error:
        raise UsageError(
            f"There is no home folder to look in: set {STATE_VARIABLE} to OpenClaw's state folder."
        ) from error


def agents(state: Path) -> list[Agent]:
    """The agents of the state folder, ordered by name without regard to case; empty when there is no agents folder.

    Hidden folders and links to folders count, files do not.
    """
    try:
        found = [one for one in (state / "agents").iterdir() if one.is_dir()]
    except (OSError, ValueError):
        return []
    return [_agent(one) for one in sorted(found, key=lambda one: (one.name.casefold(), one.name))]


def agent(state: Path, name: str) -> Agent:
    """The agent called ``name``.

    Raises:
        NotFound: no such agent; the message lists those there are.
    """
    everyone = agents(state)
    for one in everyone:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in everyone)
    raise NotFound(no_agents(state) or f"There is no agent {name!r} in {state}: there are {known}.")


def no_agents(state: Path) -> str | None:
    """The sentence that says why :func:`agents` is empty; None when it is not."""
    path = state / "agents"
    try:
        return None if any(one.is_dir() for one in path.iterdir()) else f"No agents in {path}."
    except FileNotFoundError:
        return f"No agents folder at {path}."
    except (OSError, ValueError) as error:
        return f"Cannot list {path}: {getattr(error, 'strerror', None) or error}."


def _agent(path: Path) -> Agent:
    listed: SessionFolder = folder(path)
    return Agent(
        name=os.fsencode(path.name).decode(errors="replace"),
        path=path,
        session_files=len(listed.live),
        reset_files=listed.reset_files,
        deleted_files=listed.deleted_files,
        database=host_sessions(path),
        problem=listed.problem,
    )
