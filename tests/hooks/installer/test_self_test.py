"""The self-test: it runs what is registered, in a memory of its own, and says what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lcm_lab.hooks import host as hosts
from lcm_lab.hooks import install, install_cli, self_test

if TYPE_CHECKING:
    from tests.hooks.installer.conftest import Machine

BLOCK = """
import json, os, sys
event = json.load(sys.stdin)
assert os.environ["THROUGHLINE_HOME"] != os.path.expanduser("~/.throughline")
assert "SECRET" not in os.environ
part = sys.argv[sys.argv.index("--part") + 1]
text = f"[session memory 00, part {part} of 2] notes"
print(json.dumps({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}))
"""


def test_every_registered_command_is_run_once(machine: Machine) -> None:
    """From the settings, with a clean environment, leaving nothing behind."""
    machine.set_env(SECRET="x")  # noqa: S106 - it must not reach a hook
    (machine.source / "session_start.py").write_text(BLOCK)
    machine.install()
    before = machine.tree()
    found = self_test.self_test(machine.host)
    assert found.passed, install_cli.self_test_lines(found)
    assert found.source == str(machine.settings)
    assert found.parts == (1, 2, 3, 4)
    assert len(found.checks) == len(list(install.handlers("", machine.home, batch=False, parts=4)))
    assert machine.tree() == before
    assert not (machine.home / "throughline.db").exists()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import sys; sys.exit(2)", "exit code 2"),
        ("raise ValueError('broken')", "exit code 1: ValueError: broken"),
        ("print('{\"a\": 1}'); print('{}')", "not one document"),
        ("import os; open(os.environ['THROUGHLINE_HOME'] + '/hooks.log', 'w').write('oh')", "log: oh"),
    ],
)
def test_what_a_hook_does_wrong_is_said(machine: Machine, body: str, said: str) -> None:
    """Exit codes, faults, junk on stdout, and what the log holds."""
    (machine.source / "session_start.py").write_text(BLOCK)
    (machine.source / "turn_processor.py").write_text(body)
    machine.install()
    found = self_test.self_test(machine.host)
    assert not found.passed
    assert any(said in line for line in install_cli.self_test_lines(found))


def test_a_block_that_does_not_come_fails(machine: Machine) -> None:
    """Hooks that run and deliver nothing are no success."""
    machine.install()
    found = self_test.self_test(machine.host)
    assert not found.passed
    assert "  parts of the block: none came" in install_cli.self_test_lines(found)


def test_a_lost_interpreter_is_said(machine: Machine) -> None:
    """As after an update of Python."""
    (machine.source / "session_start.py").write_text(BLOCK)
    machine.install()
    machine.settings.write_text(machine.settings.read_text().replace(machine.host.python, "/nowhere/python3"))
    assert all("did not run" in check.problem for check in self_test.self_test(machine.host).checks)


def test_the_shipped_hooks_pass(machine: Machine) -> None:
    """The real hooks, installed on this machine of ours."""
    machine.host = hosts.Host(
        machine.host.env, machine.project, hosts.this_host().source, machine.host.python, machine.host.ask_version
    )
    try:
        machine.install()
    except hosts.InstallRefused as error:
        pytest.skip(str(error))
    found = self_test.self_test(machine.host)
    assert found.passed, "\n".join(install_cli.self_test_lines(found))
