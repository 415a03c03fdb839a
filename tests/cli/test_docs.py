"""The documents are what the code says."""

import re
from pathlib import Path

from lcm_lab.cli.main import COMMANDS
from lcm_lab.cli.reference import reference
from lcm_lab.views import as_json

ROOT = Path(__file__).resolve().parents[2]


def test_the_reference_is_up_to_date() -> None:
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == reference(), "run 'make docs'"


def test_every_command_is_in_the_readme_and_has_help() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for command in COMMANDS:
        assert command.help
        assert f"`{command.name}" in readme, f"{command.name} is not in the README"


def test_every_json_shape_is_described() -> None:
    described = (ROOT / "docs" / "json.md").read_text("utf-8")
    for command in COMMANDS:
        if command.name != "lab":
            assert re.search(rf"\| `{command.name}\b", described), f"{command.name} is not in docs/json.md"
    assert as_json.SHAPES
