"""The state folder and its agents."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lcm_lab.errors import NotFound, UsageError
from lcm_lab.sessions.state import agent, agents, no_agents, state_dir


def test_the_variable_is_trimmed_and_blank_means_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    default = tmp_path / ".openclaw"
    assert state_dir({"OPENCLAW_STATE_DIR": "  /srv/x \n"}) == Path("/srv/x")
    assert state_dir({"OPENCLAW_STATE_DIR": "   "}) == default
    assert state_dir({"OPENCLAW_STATE_DIR": ""}) == default
    assert state_dir({}) == default
    assert state_dir({"OPENCLAW_STATE_DIR": "~/elsewhere"}) == tmp_path / "elsewhere"
    monkeypatch.chdir(tmp_path)
    assert state_dir({"OPENCLAW_STATE_DIR": "here"}) == tmp_path / "here"
    monkeypatch.setenv("OPENCLAW_STATE_DIR", " /srv/y ")
    assert state_dir() == Path("/srv/y")


def test_no_home_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="OPENCLAW_STATE_DIR"):
        state_dir({"OPENCLAW_STATE_DIR": "~nobody-of-that-name/x"})


def test_agents_are_folders_in_order_of_their_names(tmp_path: Path) -> None:
    for name in ("beta", "Alpha", ".hidden", "alpha"):
        (tmp_path / "agents" / name / "sessions").mkdir(parents=True)
    (tmp_path / "agents" / "file").write_text("")
    (tmp_path / "agents" / "Alpha" / "sessions" / "a.jsonl").write_text("")
    (tmp_path / "agents" / "Alpha" / "sessions" / "a.jsonl.reset.1").write_text("")
    found = agents(tmp_path)
    assert [one.name for one in found] == [".hidden", "Alpha", "alpha", "beta"]
    assert [(one.session_files, one.reset_files, one.deleted_files, one.database) for one in found[:2]] == [
        (0, 0, 0, None),
        (1, 1, 0, None),
    ]
    assert no_agents(tmp_path) is None


def test_why_there_are_none(tmp_path: Path) -> None:
    assert agents(tmp_path) == []
    assert no_agents(tmp_path) == f"No agents folder at {tmp_path / 'agents'}."
    (tmp_path / "agents").mkdir()
    assert agents(tmp_path) == []
    assert no_agents(tmp_path) == f"No agents in {tmp_path / 'agents'}."
    (tmp_path / "agents").rmdir()
    (tmp_path / "agents").write_text("")
    assert agents(tmp_path) == []
    assert str(no_agents(tmp_path)).startswith("Cannot list")


def test_an_agent_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="No agents folder"):
        agent(tmp_path, "main")
    (tmp_path / "agents" / "main").mkdir(parents=True)
    (tmp_path / "agents" / "work").mkdir()
    assert agent(tmp_path, "main").path == tmp_path / "agents" / "main"
    with pytest.raises(NotFound, match="there are main, work"):
        agent(tmp_path, "Main")


def test_an_agent_without_sessions_folder(tmp_path: Path) -> None:
    (tmp_path / "agents" / "a").mkdir(parents=True)
    (tmp_path / "agents" / "b").mkdir()
    (tmp_path / "agents" / "b" / "sessions").write_text("in the way")
    first, second = agents(tmp_path)
    assert (first.session_files, first.problem) == (0, None)
    assert str(second.problem).startswith("Cannot list")


def test_the_real_states(state_copy: Callable[[str], Path]) -> None:
    (main,) = agents(state_copy("jsonl-0.15.3"))
    assert (main.name, main.session_files, main.reset_files, main.database) == ("main", 2, 2, None)
    (main,) = agents(state_copy("sqlite-1.0-beta"))
    assert (main.session_files, main.database is not None) == (0, True)
    assert main.database is not None
    assert main.database.sentence() == "2 sessions in a SQLite store, schema 23: not read yet"
