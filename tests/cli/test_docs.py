"""The documents are what the code says."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lcm_lab.cli.main import COMMANDS
from lcm_lab.cli.reference import reference
from lcm_lab.store.schema import KNOWN_COLUMNS

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == reference(), "run 'make docs'"


def every_command() -> list[tuple[str, click.Command]]:
    """Each command by the words that call it, commands of a group by two."""
    found: list[tuple[str, click.Command]] = []
    for command in COMMANDS:
        inner = command.commands if isinstance(command, click.Group) else {}
        found += [(f"{command.name} {name}", one) for name, one in inner.items()] or [(str(command.name), command)]
    return found


def test_every_command_is_in_the_readme_and_has_help() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for name, command in every_command():
        assert command.help
        assert f"`{name}" in readme, f"{name} is not in the README"


def test_the_reference_has_every_command() -> None:
    for name, _ in every_command():
        assert f"\n## lcm-lab {name}\n" in reference()


SAMPLES = (
    ["info"], ["agents"], ["sessions", "main"], ["conversations"], ["show", "1", "--limit", "3"], ["dag", "1"],
    ["dag", "1", "--summary", "sum_1b9d717135c1d08d"], ["context", "1"], ["files", "1"], ["briefs", "2"], ["search", "shop"],
    ["budget"], ["budget", "1"], ["check", "1"], ["sql", "SELECT 1 AS one"],
    ["repair", "--all"], ["doctor"], ["rewrite", "1", "--depth", "1"], ["dissolve", "1", "--summary-id", "sum_59d770863c778305"],
    ["transplant", "3", "4"], ["undo", "--list"], ["restore", "--list"], ["backup"],
)  # fmt: skip


@pytest.mark.parametrize("command", SAMPLES, ids=" ".join)
def test_every_field_of_the_json_is_described(command: list[str], tmp_path: Path) -> None:
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "lcm_lab", "--demo", "--json", *command],
        capture_output=True,
        text=True,
        check=False,
        env=env,
    )
    told = json.loads(done.stdout)
    lists = (told.get(name) for name in ("rows", "findings", "items"))
    rows = [row for one in lists if isinstance(one, list) for row in one if isinstance(row, dict)]
    described = (ROOT / "docs" / "json.md").read_text("utf-8")
    columns = {name for names in KNOWN_COLUMNS.values() for name in names}
    unknown = [
        key
        for key in {*told, *(key for row in rows for key in row)}
        if key not in columns and not re.search(rf"\b{key}\b", described)
    ]
    assert unknown == []


def test_every_command_has_its_json_described() -> None:
    described = (ROOT / "docs" / "json.md").read_text("utf-8")
    for name, _ in every_command():
        if name != "lab":
            assert re.search(rf"[|,] `{name}\b", described), f"{name} is not in docs/json.md"
