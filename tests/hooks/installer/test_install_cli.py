"""The command line: exit codes, words, questions, and the script started by itself."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import host as hosts
from lcm_lab.hooks import install, install_cli

if TYPE_CHECKING:
    from tests.hooks.installer.conftest import Machine

SCRIPT = hosts.this_host().source / "install.py"


def test_the_usual_life(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """Preview, install, look, preview, uninstall: words and exit codes."""
    machine.client("2.1.332")

    def run(*words: str) -> tuple[int, str]:
        code = install_cli.main(words, host=machine.host)
        return code, capsys.readouterr().out

    code, text = run("install", "--dry-run")
    assert code == 0
    assert "would install" in text
    assert '+    "PostToolBatch": [' in text
    assert not machine.home.exists()
    code, text = run("install", "--allow-lookup")
    assert code == 0
    assert text.startswith("installed in")
    assert "67,000 tokens (200K models)" in text
    assert run("install")[1].startswith("already installed")
    code, text = run("status")
    assert code == 1
    assert "problem: no hook has run yet" in text
    assert "look-up allowed" in text
    code, text = run("uninstall", "--dry-run")
    assert code == 0
    assert '-    "PostToolBatch": [' in text
    code, text = run("uninstall")
    assert code == 0
    assert text.startswith("taken out of")
    assert "the memory in" in text
    assert run("uninstall")[1].startswith("nothing to take out of")


def test_refusals_go_to_stderr_with_code_one(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    """Stdout stays empty."""
    machine.write("{ // }")
    assert install_cli.main(["install"], host=machine.host) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("refused: ")
    assert "line 1: a comment" in said.err


def test_a_disk_that_fails_is_said(
    machine: Machine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback reaches the user."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert install_cli.main(["install"], host=machine.host) == 1
    assert "No space left" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["fly"], ["install", "--user", "--project"], ["install", "--window", "x"]])
def test_unusable_words_end_with_two(words: list[str], machine: Machine) -> None:
    """As command lines do."""
    with pytest.raises(SystemExit) as caught:
        install_cli.main(words, host=machine.host)
    assert caught.value.code == 2


@pytest.mark.parametrize(("answer", "rules"), [("y", 4), ("Yes", 4), ("", 0), ("n", 0), ("nonsense", 0)])
def test_the_rules_are_offered_at_a_terminal(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, answer: str, rules: int
) -> None:
    """Only there, only the first time, and no answer means no."""
    asked: list[str] = []

    def reply(question: str) -> str:
        asked.append(question)
        return answer

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    install_cli.main(["install"], host=machine.host, ask=reply)
    install_cli.main(["install"], host=machine.host, ask=reply)
    assert len(asked) == 1
    assert "lookup.py" in asked[0]
    assert len(machine.read().get("permissions", {}).get("allow", [])) == rules


def test_the_script_runs_by_itself_with_the_standard_library_alone(machine: Machine) -> None:
    """From the checkout and from the installed copy, without site-packages."""

    def run(script: Any, *words: str) -> subprocess.CompletedProcess[str]:
        command = [machine.host.python, "-S", "-E", str(script), *words]
        return subprocess.run(
            command,
            env=dict(machine.host.env),
            cwd=machine.project,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    try:
        install._complete(hosts.this_host(), hosts.source_files(SCRIPT.parent))
    except hosts.InstallRefused as error:
        pytest.skip(str(error))
    before = machine.tree()
    done = run(SCRIPT, "install")
    assert (done.returncode, done.stderr) == (0, "")
    copy = next((machine.home / "hooks").glob("*/install.py"))
    assert run(copy, "install").stdout.startswith("already installed")
    assert run(copy, "status").returncode == 1
    done = run(copy, "uninstall")
    assert (done.returncode, done.stderr) == (0, "")
    assert machine.tree() == before
