"""``lcm-lab bench savings`` and ``lcm-lab advise``, from the outside."""

import csv
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from lcm_lab.analysis.savings.policies import Plugin
from tests.analysis.savings.made_up import coding
from tests.command import Done, lcm_lab

Run = Callable[..., Done]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """The command, with a home of its own."""
    return lambda *arguments: lcm_lab(*arguments, home=tmp_path / "home")


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A made-up transcript."""
    return coding(1, turns=6, calls=5, size=5_000).write(tmp_path / "one.jsonl")


def test_the_tables_the_csv_and_the_json_agree(run: Run, session: Path, tmp_path: Path) -> None:
    shown = run("bench", "savings", str(session), "--csv", str(tmp_path / "out.csv"))
    assert shown.code == 0, shown.out
    assert "What is still known" in shown.out
    assert "API-equivalent" in shown.out
    given = run("bench", "savings", session, "--json").json
    with (tmp_path / "out.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["policy"] for row in rows] == [one["policy"]["name"] for one in given["policies"]]
    assert [int(row["prompt_tokens"]) for row in rows] == [one["prompt_tokens"] for one in given["policies"]]
    assert given["growth"]["target"] == 0.15


def test_one_page_needs_nothing_else(run: Run, session: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("bench", "savings", str(session), "--html", str(page)).code == 0
    text = page.read_text("utf-8")
    assert text.count("data:image/png;base64,") == 6
    assert "<script" not in text
    assert "http" not in text.replace("http-equiv", "")


def test_traces_are_written_and_replayed(run: Run, session: Path, tmp_path: Path) -> None:
    first = run("bench", "savings", str(session), "--traces", str(tmp_path / "t"), "--markdown", str(tmp_path / "a.md"))
    assert first.code == 0
    assert run("bench", "savings", str(tmp_path / "t"), "--markdown", str(tmp_path / "b.md")).code == 0
    a, b = ((tmp_path / name).read_text("utf-8").split("\n", 1)[1] for name in ("a.md", "b.md"))
    assert a == b


def test_advise_names_a_setting_or_says_that_there_is_none(run: Run, session: Path) -> None:
    shown = run("advise", str(session))
    assert shown.code == 0, shown.out
    assert "nothing to gain" in shown.out.lower()
    given = run("advise", session, "--json").json
    assert given["chosen"] is None
    assert given["candidates"]


def test_wrong_paths_and_models_are_sentences(run: Run, tmp_path: Path) -> None:
    assert run("bench", "savings", str(tmp_path / "no")).code == 3
    assert run("advise", str(tmp_path)).code == 3
    assert run("bench", "savings", "--model", "nobody-knows-it").code == 2


@pytest.mark.parametrize("command", ["bench savings", "advise"])
def test_every_field_of_the_json_is_described(run: Run, session: Path, command: str) -> None:
    def keys(value: object) -> set[str]:
        if isinstance(value, dict):
            return set(value) | {key for one in value.values() for key in keys(one)}
        return {key for one in value for key in keys(one)} if isinstance(value, list) else set()

    described = (Path(__file__).resolve().parents[2] / "docs" / "json.md").read_text("utf-8")
    given = run(*command.split(), session, "--json").json
    plugin = {one.name for one in fields(Plugin)}
    left = {key for key in keys(given) if not re.search(rf"\b{re.escape(key)}\b", described)}
    assert left - plugin == set()
