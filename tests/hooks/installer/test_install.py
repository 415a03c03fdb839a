"""What an installation consists of: files, interpreter, events, scopes, skills, rules."""

from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import host as hosts
from lcm_lab.hooks import install, steps
from lcm_lab.hooks.settings_file import InstallRefused

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hooks.installer.conftest import Machine

ALWAYS = {
    "Stop", "SubagentStop", "StopFailure", "SessionEnd", "PreCompact", "SessionStart", "UserPromptSubmit",
    "UserPromptExpansion", "PostCompact",
}  # fmt: skip


def commands(machine: Machine, event: str) -> list[list[str]]:
    """Each command line that an event runs."""
    groups = machine.read()["hooks"][event]
    return [[one["command"], *one["args"]] for group in groups for one in group["hooks"]]


def test_every_registered_command_runs_and_is_in_exec_form(machine: Machine) -> None:
    """No shell is involved, site-packages are off, and each script exists and starts."""
    machine.install()
    for event in machine.read()["hooks"]:
        for command in commands(machine, event):
            assert command[0] == machine.host.python
            assert command[1:3] == ["-S", "-E"]
            assert command[3].startswith(f"{machine.home}/hooks/{hosts.VERSION}-")
            subprocess.run(command, input=b"{}", check=True, timeout=30)


def test_parts_differ_by_an_argument(machine: Machine) -> None:
    """The client runs equal commands of one event once."""
    machine.install()
    assert [command[4:] for command in commands(machine, "SessionStart")] == [["--part", str(k)] for k in (1, 2, 3, 4)]
    assert machine.read()["hooks"]["SessionStart"][0]["matcher"] == "compact"
    machine.install(parts=3)
    assert len(commands(machine, "SessionStart")) == 4
    assert json.loads((machine.home / "config.json").read_text()) == {"parts": 3}
    assert not machine.install().changed
    for parts in (0, 5):
        with pytest.raises(InstallRefused):
            machine.install(parts=parts)


@pytest.mark.parametrize(
    ("version", "batch"),
    [
        (None, False),
        ("2.1.239 (Claude Code)", False),
        ("2.1.240 (Claude Code)", True),
        ("2.1.332 (Claude Code)", True),
        ("10.0.0", True),
        ("something else", False),
    ],
)
def test_batch_event_or_the_two_single_ones_never_both(machine: Machine, version: str | None, *, batch: bool) -> None:
    """The version of the client decides; unknown counts as old."""
    if version is not None:
        machine.client(version)
    machine.install()
    tools = set(machine.read()["hooks"]) - ALWAYS
    assert tools == ({"PostToolBatch"} if batch else {"PostToolUse", "PostToolUseFailure"})
    assert set(machine.read()["hooks"]) - tools == ALWAYS


def test_an_update_of_the_client_swaps_the_events(machine: Machine) -> None:
    """The next installation after an update takes the single events out."""
    machine.client("2.1.100")
    machine.install()
    machine.client("2.1.332")
    machine.install()
    assert set(machine.read()["hooks"]) - ALWAYS == {"PostToolBatch"}


def test_a_client_that_hangs_or_fails_counts_as_unknown(machine: Machine) -> None:
    """A broken or unrunnable program gives no version and no error."""
    machine.client("2.1.332")
    (machine.bin / "claude").write_text("#!/nonexistent\n")
    assert machine.host.client() is None
    (machine.bin / "claude").chmod(0o644)
    assert machine.host.client() is None


def test_the_interpreter_is_never_inside_a_virtual_environment(tmp_path: Path) -> None:
    """Asked from inside one, with and without the site module, the answer is the interpreter behind it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    inner = tmp_path / "venv" / "bin" / "python"
    folder = str(hosts.this_host().source)
    code = f"import sys; sys.path.insert(0, {folder!r}); import host; print(host.base_interpreter())"
    for options in ([], ["-S", "-E"]):
        done = subprocess.run([inner, *options, "-c", code], capture_output=True, text=True, check=True)
        found = done.stdout.strip()
        assert Path(found).is_file()
        assert not hosts.in_virtual_environment(found)
    assert hosts.in_virtual_environment(str(inner))
    assert not hosts.in_virtual_environment(hosts.base_interpreter())
    with pytest.raises(InstallRefused, match="virtual environment"):
        hosts.check_interpreter(str(inner))


def test_an_interpreter_that_cannot_run_hooks_is_refused(machine: Machine, tmp_path: Path) -> None:
    """Refused before anything is written."""
    fake = tmp_path / "python3"
    fake.write_text("#!/bin/sh\necho False\n")
    fake.chmod(0o755)
    for python in (str(fake), str(tmp_path / "gone")):
        machine.host = replace(machine.host, python=python)
        with pytest.raises(InstallRefused):
            machine.install()
    assert not machine.home.exists()


def test_an_incomplete_source_is_refused(machine: Machine) -> None:
    """Registering a script that is not there would block prompts."""
    (machine.source / "pre_compact.py").unlink()
    with pytest.raises(InstallRefused, match=r"lacks pre_compact\.py"):
        machine.install()
    assert not machine.home.exists()


def test_folders_are_private_and_complete(machine: Machine) -> None:
    """Backups may hold keys; no half-made folder is left."""
    machine.write({"env": {"SECRET": "x"}})
    result = machine.install()
    assert stat.S_IMODE(machine.home.stat().st_mode) == 0o700
    assert {p.name for p in result.plan.folder.glob("*.py")} == {p.name for p in machine.source.glob("*.py")}
    backups = list((machine.home / "backups").iterdir())
    assert backups
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in [*backups, machine.home / "install.json"])
    assert not list((machine.home / "hooks").glob(".new-*"))


def test_a_damaged_copy_is_repaired(machine: Machine) -> None:
    """Installing again puts a changed script right."""
    folder = machine.install().plan.folder
    (folder / "pre_compact.py").write_text("broken")
    assert machine.install().changed
    assert (folder / "pre_compact.py").read_bytes() == (machine.source / "pre_compact.py").read_bytes()


def test_open_sessions_survive_an_uninstall(machine: Machine) -> None:
    """A missing script makes the interpreter end with 2, which blocks prompts; a stub does nothing instead."""
    machine.install()
    registered = commands(machine, "UserPromptSubmit") + commands(machine, "PreCompact")
    machine.uninstall()
    for command in registered:
        done = subprocess.run(command, input=b"{}", capture_output=True, timeout=30, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    folder = machine.home / "hooks"
    assert {path.name for path in folder.rglob("*") if path.is_file()} == install.scripts()
    assert machine.install().changed
    assert (machine.home / "hooks").rglob("lookup.py")


def test_the_memory_stays_on_uninstall(machine: Machine) -> None:
    """Database and configuration are the user's."""
    machine.install()
    (machine.home / "throughline.db").write_bytes(b"memory")
    (machine.home / "config.json").write_text("{}")
    machine.uninstall()
    assert (machine.home / "throughline.db").read_bytes() == b"memory"
    assert not (machine.home / "install.json").exists()


def test_project_scope_writes_the_local_file_only(machine: Machine) -> None:
    """The shared file of the project is never touched."""
    shared = machine.project / ".claude" / "settings.json"
    shared.parent.mkdir()
    shared.write_text("{}")
    (machine.project / ".git").mkdir()
    result = machine.install(scope="project")
    assert any("version control" in text for text in result.plan.warnings)
    assert shared.read_text() == "{}"
    assert not machine.settings.exists()
    assert "PreCompact" in json.loads((shared.parent / "settings.local.json").read_text())["hooks"]
    machine.uninstall(scope="project")
    assert [path.name for path in shared.parent.iterdir()] == ["settings.json"]


def test_one_scope_leaves_while_the_other_stays(machine: Machine) -> None:
    """Hooks and skills go with the last installation only."""
    machine.install()
    machine.install(scope="project")
    result = machine.uninstall(scope="project")
    assert any("also installed in" in note for note in result.plan.notes)
    assert (machine.host.config / "skills" / "sc-detail" / "SKILL.md").exists()
    for command in commands(machine, "Stop"):
        assert Path(command[3]).read_bytes() != steps.STUB
        assert Path(command[3]).with_name("lookup.py").exists()
    machine.uninstall()
    assert not (machine.host.config / "skills").exists()


def test_the_clients_own_folder_variable_is_honoured(machine: Machine) -> None:
    """CLAUDE_CONFIG_DIR takes the place of ~/.claude."""
    machine.set_env(CLAUDE_CONFIG_DIR=str(machine.root / "elsewhere"))
    machine.install()
    assert (machine.root / "elsewhere" / "settings.json").exists()
    assert not (machine.root / "home" / ".claude").exists()


def test_a_memory_elsewhere_is_told_to_the_client(machine: Machine) -> None:
    """Hooks find it whatever shell starts the client."""
    machine.set_env(THROUGHLINE_HOME=str(machine.root / "my memory"))
    original = machine.write({"env": {"A": "1"}})
    machine.install()
    assert machine.read()["env"] == {"A": "1", "THROUGHLINE_HOME": str(machine.root / "my memory")}
    assert machine.home == machine.root / "my memory"
    machine.uninstall()
    assert machine.settings.read_bytes() == original


def test_another_memorys_copy_is_named(machine: Machine) -> None:
    """Two memories would record everything twice."""
    machine.install()
    machine.set_env(THROUGHLINE_HOME=str(machine.root / "second"))
    result = machine.install()
    assert any("another copy" in text and ".throughline/hooks" in text for text in result.plan.warnings)


def test_rules_only_with_a_yes_and_kept_until_a_no(machine: Machine) -> None:
    """Rules come with the option, move along with an upgrade, and go with the opposite option."""
    original = machine.write({"permissions": {"allow": ["Bash(ls:*)"]}})
    machine.install()
    assert machine.read()["permissions"] == {"allow": ["Bash(ls:*)"]}
    folder = machine.install(allow_lookup=True).plan.folder
    command = f"{shlex.quote(machine.host.python)} -S -E {shlex.quote(str(folder / 'lookup.py'))}"
    rules = [f"Bash({command}:*)", "Skill(sc-detail)", "Skill(sc-search)", "Skill(sc-resolve)"]
    assert machine.read()["permissions"] == {"allow": ["Bash(ls:*)", *rules]}
    machine.upgrade()
    machine.install()
    assert len(machine.read()["permissions"]["allow"]) == 5
    machine.install(allow_lookup=False)
    assert machine.read()["permissions"] == {"allow": ["Bash(ls:*)"]}
    machine.uninstall()
    assert machine.settings.read_bytes() == original


def test_skills_name_the_real_command_and_run_nothing_by_themselves(machine: Machine) -> None:
    """No inline shell, no permission of their own, no placeholder left."""
    folder = machine.install().plan.folder
    for name, verb in (("sc-detail", "detail TURN"), ("sc-search", "search 'WORDS'"), ("sc-resolve", "resolve ID")):
        text = (machine.host.config / "skills" / name / "SKILL.md").read_text()
        command = install.lookup_command(machine.host.python, folder)
        assert f"    {command} {verb} --session ${{CLAUDE_SESSION_ID}}\n" in text
        assert text.startswith(f"---\nname: {name}\ndescription: ")
        assert "!`" not in text
        assert "```!" not in text
        assert "allowed-tools" not in text
        assert "{{" not in text


def test_paths_with_spaces_are_quoted_for_the_shell(make_machine: Callable[[str], Machine]) -> None:
    """Quotes, spaces and brackets in the folder change nothing."""
    machine = make_machine("it's a (test)")
    folder = machine.install(allow_lookup=True).plan.folder
    assert shlex.split(install.lookup_command(machine.host.python, folder))[-1] == str(folder / "lookup.py")
    for command in commands(machine, "Stop"):
        subprocess.run(command, input=b"{}", check=True, timeout=30)


def test_foreign_and_edited_skills_are_kept(machine: Machine) -> None:
    """A user's own skill stays; an edited one of ours goes to the backups first."""
    foreign = machine.host.config / "skills" / "sc-search" / "SKILL.md"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("mine")
    result = machine.install()
    assert any("is not ours" in note for note in result.plan.notes)
    edited = machine.host.config / "skills" / "sc-detail" / "SKILL.md"
    edited.write_text(edited.read_text() + "my words\n")
    machine.upgrade()
    assert any("changed by hand" in note for note in machine.install().plan.notes)
    kept = [path.read_text() for path in (machine.home / "backups").iterdir()]
    assert any("my words" in text for text in kept)
    edited.write_text(edited.read_text() + "again\n")
    machine.uninstall()
    assert foreign.read_text() == "mine"
    assert not edited.exists()
    assert any("again" in path.read_text() for path in (machine.home / "backups").iterdir())


def test_a_plan_writes_nothing_and_shows_what_happens(machine: Machine) -> None:
    """The preview is the plan that is applied."""
    machine.write({"model": "opus"})
    before = machine.tree()
    plan = install.plan_install(machine.host)
    assert machine.tree() == before
    assert not machine.home.exists()
    assert '+    "PreCompact": [' in plan.diff().splitlines()
    install.apply(plan)
    assert machine.settings.read_bytes() == plan.after


def test_a_plan_made_from_an_older_file_is_refused(machine: Machine) -> None:
    """Somebody wrote between plan and apply: their text stays."""
    machine.write({"model": "opus"})
    plan = install.plan_install(machine.host)
    later = machine.write({"model": "sonnet"})
    with pytest.raises(InstallRefused, match="somebody else"):
        install.apply(plan)
    assert machine.settings.read_bytes() == later


def test_hooks_that_are_off_are_named(machine: Machine) -> None:
    """Installing where hooks are switched off is allowed, with a word about it."""
    machine.write({"disableAllHooks": True})
    assert any("disableAllHooks" in text for text in machine.install().plan.warnings)


def test_old_folders_stay_for_open_sessions_and_go_in_time(machine: Machine) -> None:
    """An upgrade leaves the folder that open sessions call for thirty days."""
    old = machine.install().plan.folder
    machine.upgrade()
    machine.install()
    assert old.is_dir()
    os.utime(old, (0, 0))
    machine.upgrade()
    machine.install()
    assert not old.exists()


def test_the_shipped_files_are_the_ones_that_get_copied() -> None:
    """Modules and skill texts, no compiled leftovers."""
    files = hosts.source_files(hosts.this_host().source)
    assert {
        "install.py",
        "skills/sc-detail/SKILL.md",
        "skills/sc-search/SKILL.md",
        "skills/sc-resolve/SKILL.md",
    } <= set(files)
    assert not [name for name in files if "__pycache__" in name]


def test_the_versions_agree() -> None:
    """The hooks carry the version of the package."""
    text = (hosts.this_host().source.parent / "pyproject.toml").read_text()
    assert f'\nversion = "{hosts.VERSION}"\n' in text


def test_the_block_names_the_command_that_is_allowed(machine: Machine) -> None:
    """The rule is a prefix of what the model is told to run."""
    block: Any = pytest.importorskip("lcm_lab.hooks.block")
    command = install.lookup_command(sys.executable, Path(block.__file__).parent)
    assert block.command("abc-1", "detail 12") == f"{command} detail 12 --session abc-1"
