"""The command line in this process: as a user runs it, without the second a new interpreter takes."""

import io
import json
import os
import sqlite3
import sys
from collections.abc import Iterable
from contextlib import closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from lcm_lab.cli import main
from tests.stand_in import StandIn

GOOD = "The firewall blocks 8080, so they took 443.\nExpand for details about: ports"
"""A reply that is a good summary of any of the small stores' texts."""


@dataclass(frozen=True)
class Done:
    """What a command printed, and the exit code it ended with."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed as JSON."""
        return json.loads(self.out)


def lcm_lab(*arguments: object, home: Path, env: dict[str, str] | None = None) -> Done:
    """What ``lcm-lab`` does with these arguments, with ``home`` as its home and nothing else in its environment."""
    out, err = io.StringIO(), io.StringIO()
    home.mkdir(exist_ok=True)
    told = {"HOME": str(home), "PATH": "/nowhere", "LCM_LAB_TZ": "UTC", "COLUMNS": "200", **(env or {})}
    with (
        mock.patch.dict(os.environ, told, clear=True),
        mock.patch.object(sys, "argv", ["lcm-lab", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main.run()
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
    return Done(code, out.getvalue(), err.getvalue())


class User:
    """A user with a store, a home folder, and a stand-in for the model."""

    def __init__(self, path: Path, home: Path, server: StandIn) -> None:
        self.path, self.home, self.server = path, home, server
        self.env: dict[str, str] = {"LCM_SUMMARY_BASE_URL": server.url}

    def __call__(self, *words: object, **env: str) -> Done:
        """What a command does on the store."""
        return lcm_lab("--db", self.path, *words, home=self.home, env={**self.env, **env})

    def line(self, words: str, **env: str) -> Done:
        """As a call, of a line as it is typed."""
        return self(*words.split(), **env)

    @property
    def prompts(self) -> list[str]:
        """What was sent."""
        return [one.prompt for one in self.server.requests]


def dump(path: Path, *, leave_out: Iterable[str] = ()) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table of a store, but for these tables and those inside of full-text search."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        names = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        indexes = [one for one in names if f"{one}_content" in names or f"{one}_data" in names]
        inner = {one for one in names for index in indexes if one.startswith(f"{index}_")} - set(indexes)
        wanted = [one for one in names if one not in inner | set(leave_out) and one != "sqlite_sequence"]
        return {one: sorted(connection.execute(f'SELECT * FROM "{one}"'), key=repr) for one in wanted}


def rows(path: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query gives."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql, values).fetchall()


def change(path: Path, sql: str, *values: Any) -> None:
    """What another program does to a store meanwhile."""
    with closing(sqlite3.connect(path, timeout=5.0)) as connection, connection:
        connection.execute(sql, values)


def beside(path: Path) -> list[str]:
    """The files in the folder of a store that are neither it nor its log."""
    own = {path.name, f"{path.name}-wal", f"{path.name}-shm"}
    return sorted(one.name for one in path.parent.iterdir() if one.name not in own)
