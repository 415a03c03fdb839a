"""What a look shows: installation, threshold, delivery by the transcript's own word, and when hooks last ran."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import evidence, install_cli
from lcm_lab.hooks.status import status

if TYPE_CHECKING:
    from pathlib import Path

    from tests.hooks.installer.conftest import Machine

HEAD = "[session memory 0a1b2c3d, part {} of {}] Notes recorded during this session."


def boundary(at: str = "2099-01-01T00:00:10.000Z", **more: Any) -> dict[str, Any]:
    """A compaction as the client writes it."""
    meta = {"trigger": "auto", "preTokens": 68_000, "postTokens": 3_000}
    return {"type": "system", "subtype": "compact_boundary", "timestamp": at, "compactMetadata": meta, **more}


def given(
    part: int, total: int, *, kind: str = "hook_additional_context", name: str = "SessionStart:compact"
) -> dict[str, Any]:
    """A part of the block as the client notes that it sent it."""
    text = HEAD.format(part, total)
    content = [text] if kind == "hook_additional_context" else text
    return {
        "type": "attachment",
        "attachment": {"type": kind, "hookName": name, "hookEvent": name.partition(":")[0], "content": content},
    }


def attached(kind: str, **more: str) -> dict[str, Any]:
    """Another hook attachment of the compaction's start event."""
    return {"type": "attachment", "attachment": {"type": kind, "hookEvent": "SessionStart", **more}}


TWO = {
    "type": "hook_additional_context",
    "hookEvent": "SessionStart",
    "content": [f"<persisted-output>\n{HEAD.format(1, 2)}", HEAD.format(2, 2)],
}
SUMMARY = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": HEAD.format(1, 2)}}


def transcript(machine: Machine, name: str, *lines: dict[str, Any]) -> Path:
    """A session file of these lines."""
    folder = machine.host.config / "projects" / "p"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("lines", "verdict", "parts"),
    [
        ([given(2, 2), given(1, 2)], "delivered", (1, 2)),
        (
            [given(1, 2, kind="hook_success"), given(1, 2), given(2, 2, kind="hook_success"), given(2, 2)],
            "delivered",
            (1, 2),
        ),
        ([given(1, 1, kind="hook_success")], "delivered", (1,)),
        ([given(1, 2)], "in part", (1,)),
        ([given(1, 2, name="UserPromptSubmit")], "late", (1,)),
        ([given(1, 2, name="PostToolBatch")], "late", (1,)),
        ([], "not delivered", ()),
        ([SUMMARY], "not delivered", ()),
        (
            [{"type": "attachment", "attachment": {"type": "hook_success", "content": "something else"}}],
            "not delivered",
            (),
        ),
        ([{**given(1, 1), "isSidechain": True}], "not delivered", ()),
        ([attached("hook_success", content="", stdout=HEAD.format(1, 1))], "not delivered", ()),  # a refused document
        ([attached("hook_success", content=f"<persisted-output>\n{HEAD.format(1, 1)}")], "not delivered", ()),
        ([{**given(1, 2), "attachment": TWO}], "in part", (2,)),
        ([attached("hook_success", content=f"other text\n{HEAD.format(1, 1)} <persisted-output>")], "delivered", (1,)),
    ],
)
def test_each_boundary_is_judged_by_what_follows_it(
    machine: Machine, lines: list[dict[str, Any]], verdict: str, parts: tuple[int, ...]
) -> None:
    """Only what a hook put before the model after this boundary counts."""
    path = transcript(machine, "s", given(1, 1), boundary(), *lines, boundary("2099-01-02T00:00:00Z"), given(1, 1))
    first, second = evidence.compactions(path)
    assert (first.verdict, first.parts) == (verdict, parts)
    assert (first.session, first.trigger, first.before, first.after) == ("s", "auto", 68_000, 3_000)
    assert second.verdict == "delivered"


def test_a_sub_agents_compaction_is_not_ours(machine: Machine) -> None:
    """Sidechains are passed over."""
    assert evidence.compactions(transcript(machine, "s", boundary(isSidechain=True))) == []


def database(machine: Machine, announced: list[tuple[str, str]], runs: list[tuple[str, str]]) -> None:
    """A memory that holds what a status reads."""
    machine.home.mkdir(exist_ok=True)
    connection = sqlite3.connect(machine.home / "throughline.db")
    with connection:
        connection.execute(
            "CREATE TABLE injection_log(id INTEGER PRIMARY KEY, session_id, event_type, injected_at, trigger)"
        )
        connection.execute("CREATE TABLE hook_runs(event TEXT PRIMARY KEY, last_at TEXT, runs INTEGER)")
        rows = [(session, "pre_compact", at, "manual") for session, at in announced]
        connection.executemany(
            "INSERT INTO injection_log(session_id, event_type, injected_at, trigger) VALUES (?,?,?,?)", rows
        )
        connection.executemany("INSERT INTO hook_runs VALUES (?, ?, 3)", runs)
    connection.close()


def test_an_announcement_that_nothing_followed_is_no_compaction(machine: Machine) -> None:
    """Judged per session, up to the next announcement, where the transcript is known."""
    machine.install()
    transcript(machine, "s", boundary("2099-01-01T00:05:00Z"), given(1, 1))
    database(
        machine,
        [
            ("s", "2099-01-01 00:00:00"),
            ("s", "2099-01-01 00:04:59"),
            ("s", "2099-01-01 00:09:00"),
            ("gone", "2099-01-01 00:00:00"),
        ],
        [],
    )
    found = [(one.at, one.verdict) for one in status(machine.host).compactions]
    assert found == [
        ("2099-01-01T00:00:00Z", "no compaction"),
        ("2099-01-01T00:05:00Z", "delivered"),
        ("2099-01-01T00:09:00Z", "no compaction"),
    ]


def test_what_happened_before_the_installation_does_not_count(machine: Machine) -> None:
    """Older compactions could not be served."""
    machine.install()
    transcript(machine, "s", boundary("2020-01-01T00:00:00Z"), boundary(), given(1, 1))
    assert [one.verdict for one in status(machine.host).compactions] == ["delivered"]


def test_the_last_event_of_each_hook_and_its_age(machine: Machine) -> None:
    """The newest first; what is no time is passed over."""
    database(machine, [], [("Stop", "2026-11-29 10:00:00"), ("PreCompact", "2026-11-29 09:00:00"), ("odd", "x")])
    found = evidence.runs(machine.home / "throughline.db", datetime(2026, 11, 29, 10, 1, tzinfo=UTC))
    assert [(one.event, one.age, one.runs) for one in found] == [("Stop", 60, 3), ("PreCompact", 3_660, 3)]


def test_a_healthy_installation_has_no_problem(machine: Machine) -> None:
    """And looking at it changes nothing."""
    machine.client("2.1.332 (Claude Code)")
    machine.install(allow_lookup=True)
    database(machine, [], [("Stop", "2026-11-29 10:00:00")])
    before = machine.tree()
    found = status(machine.host)
    assert found.problems == ()
    assert machine.tree() == before
    (one,) = found.installed
    assert (one.scope, one.parts, one.lookup_allowed) == ("user", 4, True)
    assert one.version == found.version
    assert (found.threshold.small, found.threshold.big) == (67_000, 67_000)
    assert found.client == (2, 1, 332)


def test_events_that_never_came_are_listed(machine: Machine) -> None:
    """A hook that is registered and never called shows."""
    machine.install()
    database(machine, [], [("Stop", "2026-11-29 10:00:00")])
    lines = install_cli.status_lines(status(machine.host))
    (never,) = [line for line in lines if line.startswith("  not yet: ")]
    assert "PreCompact" in never
    assert " Stop," not in never


def test_looking_at_an_empty_machine_makes_nothing(machine: Machine) -> None:
    """No folder, no database."""
    before = machine.tree()
    found = status(machine.host)
    assert any("nothing is installed" in text for text in found.problems)
    assert machine.tree() == before
    assert not machine.home.exists()


@pytest.mark.parametrize(
    ("installed_with", "now", "said"),
    [
        ("2.1.100", "2.1.332", "sends the batch event, which sees more"),
        ("2.1.332", "2.1.100", "does not send the batch event"),
    ],
)
def test_an_update_of_the_client_is_named(machine: Machine, installed_with: str, now: str, said: str) -> None:
    """In both directions."""
    machine.client(installed_with)
    machine.install()
    machine.client(now)
    assert any(said in text for text in status(machine.host).problems)


def test_what_is_broken_is_named_with_its_cure(machine: Machine) -> None:
    """Each kind of damage in turn, on a machine that is well otherwise."""

    def problems() -> str:
        return "\n".join(status(machine.host).problems)

    folder = machine.install().plan.folder
    (folder / "pre_compact.py").rename(folder / "away")
    assert "pre_compact.py is gone, so the client blocks prompts" in problems()
    machine.install()

    machine.upgrade()
    assert "run install to upgrade" in problems()
    machine.install()

    data = machine.read()
    del data["hooks"]["PreCompact"]
    machine.write(data)
    assert "lacks PreCompact" in problems()

    machine.write({**data, "hooks": {}})
    assert "our entries are gone" in problems()

    machine.write("{ // }")
    assert "line 1: a comment" in problems()

    machine.write({"disableAllHooks": True, "autoCompactEnabled": False})
    assert "disableAllHooks is on" in problems()
    assert "automatic compaction is off" in problems()

    machine.install()
    data = machine.read()
    data["hooks"]["Stop"][0]["hooks"][0]["command"] = "/nowhere/python3"
    data["hooks"]["PostToolBatch"] = data["hooks"]["PostToolUse"]
    machine.write(data)
    assert "the interpreter /nowhere/python3" in problems()
    assert "has the batch event and the single tool events" in problems()


def test_a_block_that_did_not_arrive_is_a_problem(machine: Machine) -> None:
    """With session and time."""
    machine.install()
    transcript(machine, "s", boundary())
    assert any("the memory did not arrive" in text for text in status(machine.host).problems)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ('{"model_help": true,}', "cannot be read, so none of its settings counts"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "no JSON object"),
        ('{"model_help": "yes"}', "model_help in"),
        ('{"redact": 0}', "redact in"),
        ('{"model_help_tokens": "5000"}', "nothing is sent to a model"),
    ],
)
def test_a_config_that_the_hooks_pass_over_is_named(machine: Machine, config: str, said: str) -> None:
    """They are silent about it, so the look is where a typing error shows."""
    machine.home.mkdir(parents=True, exist_ok=True)
    (machine.home / "config.json").write_text(config)
    assert [problem for problem in status(machine.host).problems if said in problem]


def test_model_help_is_shown_with_what_it_has_cost(machine: Machine) -> None:
    """Off; on and never asked; and a config without a fault is no problem."""
    assert status(machine.host).model_help == "off"
    machine.home.mkdir(parents=True, exist_ok=True)
    config = {"model_help": True, "model_help_model": "haiku", "model_help_tokens": None, "redact": True}
    (machine.home / "config.json").write_text(json.dumps(config))
    found = status(machine.host)
    assert found.model_help == "on: haiku, up to 100,000 tokens a session; never asked"
    assert not [problem for problem in found.problems if "config.json" in problem]
