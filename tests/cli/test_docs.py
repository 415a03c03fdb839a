"""The documents are what the code says."""

import re
from pathlib import Path

import click

from lcm_lab.cli.main import COMMANDS
from lcm_lab.cli.reference import reference
from lcm_lab.views import as_json

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


def test_every_json_shape_is_described() -> None:
    described = (ROOT / "docs" / "json.md").read_text("utf-8")
    for name, _ in every_command():
        if name != "lab":
            assert re.search(rf"[|,] `{name}\b", described), f"{name} is not in docs/json.md"
    assert as_json.SHAPES
