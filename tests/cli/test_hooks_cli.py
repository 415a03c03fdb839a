"""``lcm-lab hooks``: installed into a home of its own, looked at, taken out again."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.hooks import install

GIVEN = b'{\n  "model": "opus",\n  "hooks": {}\n}\n'


class Home:
    """A home with a client folder, and the command in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / "config"
        self.settings = self.config / "settings.json"
        self.project = root / "project"
        self.project.mkdir()

    def run(self, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """What the command does here; no client is on the path."""
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("LCM_", "CLAUDE", "THROUGHLINE", "TZ", "PATH"))
        }
        return subprocess.run(
            [sys.executable, "-m", "lcm_lab", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            input=typed,
            cwd=self.project,
            env={
                **kept,
                "HOME": str(self.root),
                "CLAUDE_CONFIG_DIR": str(self.config),
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(Path(install.__file__).parents[2]),
            },
        )

    def answer(self, *arguments: str, code: int = 0) -> Any:
        """Its JSON."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of its own, with settings in it."""
    made = Home(tmp_path)
    made.config.mkdir()
    made.settings.write_bytes(GIVEN)
    return made


def test_a_dry_run_shows_the_change_and_makes_none(home: Home) -> None:
    text = home.run("hooks", "install", "--dry-run")
    assert text.returncode == 0
    assert f"would install: {home.settings}" in text.stdout
    assert '+    "PreCompact": [' in text.stdout
    plan = home.answer("hooks", "install", "--dry-run")
    assert (plan["kind"], plan["changes_settings"]) == ("install", True)
    assert '"PreCompact"' in plan["diff"]
    assert home.settings.read_bytes() == GIVEN
    assert not (home.root / ".throughline").exists()


def test_install_look_and_uninstall(home: Home) -> None:
    done = home.run("hooks", "install", "--threshold", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"installed in {home.settings}" in done.stdout
    assert json.loads(home.settings.read_bytes())["env"]["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] == "20"
    assert home.answer("hooks", "install")["changed"] is False
    status = home.answer("hooks", "status", code=1)
    assert status["installed"][0]["settings"] == str(home.settings)
    assert status["problems"] == ["no hook has run yet: start a new session, or run self-test"]
    text = home.run("hooks", "status", "--tz", "Asia/Tokyo")
    assert text.returncode == 1
    assert "Problems: 1" in text.stdout
    tested = home.answer("hooks", "self-test")
    assert tested["passed"]
    assert {one["event"] for one in tested["checks"]} >= {"PreCompact", "SessionStart", "Stop"}
    gone = home.run("hooks", "uninstall", "--dry-run")
    assert "would uninstall" in gone.stdout
    assert home.run("hooks", "uninstall").returncode == 0
    assert home.settings.read_bytes() == GIVEN
    assert home.answer("hooks", "uninstall")["changed"] is False


def test_allow_rules_are_added_when_asked_for(home: Home) -> None:
    home.answer("hooks", "install", "--allow-lookup")
    rules = json.loads(home.settings.read_bytes())["permissions"]["allow"]
    assert any("lookup.py" in rule for rule in rules)
    assert home.answer("hooks", "status", code=1)["installed"][0]["lookup_allowed"]
    home.answer("hooks", "install", "--no-allow-lookup")
    assert "permissions" not in json.loads(home.settings.read_bytes())


def test_project_settings_are_the_local_file(home: Home) -> None:
    told = home.answer("hooks", "install", "--project", "--window", "200000", "--parts", "3")
    local = home.project / ".claude" / "settings.local.json"
    assert told["settings"] == str(local)
    assert json.loads(local.read_bytes())["autoCompactWindow"] == 200000
    assert home.settings.read_bytes() == GIVEN
    home.answer("hooks", "uninstall", "--project")
    assert not local.exists()


@pytest.mark.parametrize(
    "arguments", [["--window", "many"], ["--nonsense"], ["--threshold"], ["extra"]], ids=lambda given: given[0]
)
def test_unusable_options_end_with_two(home: Home, arguments: list[str]) -> None:
    assert home.run("hooks", "install", *arguments).returncode == 2
    assert home.settings.read_bytes() == GIVEN


@pytest.mark.parametrize("text", [b'{ // mine\n  "a": 1\n}', b'{"a": 1, "a": 2}', b"\xef\xbb\xbf{}"], ids=str)
def test_a_refusal_ends_with_three_and_one_sentence(home: Home, text: bytes) -> None:
    home.settings.write_bytes(text)
    for name in ("install", "uninstall"):
        done = home.run("hooks", name)
        assert done.returncode == 3
        assert done.stderr.startswith("lcm-lab: refused: ")
        assert "Traceback" not in done.stderr
    assert home.settings.read_bytes() == text


def test_the_numbers_are_those_of_the_plain_installer(home: Home) -> None:
    """The same plan, whichever command line makes it."""
    plain = subprocess.run(
        [sys.executable, "-S", "-E", str(Path(install.__file__).parent / "install.py"), "install", "--dry-run"],
        capture_output=True,
        text=True,
        check=True,
        cwd=home.project,
        env={"HOME": str(home.root), "CLAUDE_CONFIG_DIR": str(home.config), "PATH": "/usr/bin:/bin"},
    )
    assert home.run("hooks", "install", "--dry-run").stdout == plain.stdout
