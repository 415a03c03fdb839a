"""Repairs as a user types them: lcm-tui's command lines, what is sent and what is not, JSON, exit codes."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.command import GOOD, User, beside, dump, lcm_lab, rows
from tests.stand_in import Received, Reply, ok

ITEM = {"id", "conversation_id", "status", "reason", "tokens_before", "tokens_after", "notes", "journal_id"}


# ---- lines of the manual --------------------------------------------------------------------------------------------

LINES = [
    # line, exit code, requests, whether the store changes
    ("repair 44", 0, 0, False),
    ("repair --all", 0, 0, False),
    ("repair 44 --apply", 0, 2, True),
    ("repair --all --apply", 0, 2, True),
    ("repair 44 --summary-id sum_la --apply", 0, 1, True),
    ("repair --summary-id sum_la 44", 0, 0, False),
    ("repair --verbose 44", 0, 0, False),
    ("repair 44 --apply --verbose", 0, 2, True),
    ("repair 44 --apply=true", 0, 2, True),
    ("repair 44 --apply=false", 0, 0, False),
    ("doctor 44", 0, 0, False),
    ("doctor", 0, 0, False),
    ("doctor --all", 0, 0, False),
    ("doctor 44 --summary", 0, 0, False),
    ("doctor 44 --apply --timestamps --show-diff", 0, 2, True),
    ("doctor 44 --show-diff", 0, 2, False),
    ("rewrite 44 --summary sum_la", 0, 0, False),
    ("rewrite 44 --summary sum_la --dry-run", 0, 1, False),
    ("rewrite 44 --summary=sum_la --preview", 0, 1, False),
    ("rewrite 44 --summary sum_la --diff", 0, 1, False),
    ("rewrite 44 --depth 0 --apply", 0, 2, True),
    ("rewrite --apply --depth 0 44", 0, 2, True),
    ("rewrite 44 --all --apply --diff", 0, 3, True),
    ("rewrite --all 44 --apply=true --diff=true", 0, 3, True),
    ("rewrite 44 --all --apply --prompt-dir PROMPTS", 0, 3, True),
    ("rewrite 44 --depth 7 --apply", 0, 0, False),
    ("rewrite 44 --subtree sum_c1 --apply", 0, 3, True),
    ("rewrite 44 --all --dry-run --model claude-opus-5 --timestamps=false --tz Europe/Berlin", 0, 3, False),
    ("rewrite 44 --all --apply --timestamps=true --tz=Asia/Tokyo --provider anthropic", 0, 3, True),
    ("dissolve 44 --summary-id sum_c1", 0, 0, False),
    ("dissolve 44 --summary-id sum_c1 --apply", 0, 0, True),
    ("dissolve --summary-id sum_c1 --apply 44", 0, 0, True),
    ("dissolve 44 --summary-id sum_c1 --apply --purge=false", 0, 0, True),
    ("dissolve 44 --summary-id sum_c1 --apply --no-purge", 0, 0, True),
    ("dissolve 44 --summary-id sum_c1 --apply --purge", 0, 0, True),
    ("dissolve 44 --summary-id sum_c1 --purge=true", 0, 0, False),
    ("transplant 44 45", 0, 0, False),
    ("transplant 44 45 --dry-run", 0, 0, False),
    ("transplant 44 45 --apply", 0, 0, True),
    ("transplant --apply=1 44 45", 0, 0, True),
    ("prompts --list", 0, 0, False),
    ("prompts --show leaf", 0, 0, False),
    ("prompts --render leaf --target-tokens 800", 0, 0, False),
]


@pytest.mark.parametrize(("line", "code", "requests", "changes"), LINES, ids=[one[0] for one in LINES])
@pytest.mark.parametrize("place", ["before", "after"])
def test_lines_of_the_manual(
    line: str,
    code: int,
    requests: int,
    changes: bool,  # noqa: FBT001
    place: str,
    user: User,
    tmp_path: Path,
) -> None:
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "leaf.tmpl").write_text("MINE {{.TargetTokens}} {{.SourceText}} Expand for details about:")
    words, before = line.replace("PROMPTS", str(prompts)).split(), dump(user.path)
    at = ["--db", str(user.path)]
    done = lcm_lab(*(at + words if place == "before" else words + at), home=user.home, env=user.env)
    assert done.code == code, done.err
    assert len(user.prompts) == requests
    assert (dump(user.path) != before) == changes
    assert any(name.endswith(".bak") for name in beside(user.path)) == changes
    assert ("MINE" in "".join(user.prompts)) == ("--prompt-dir" in line)
    if not changes:
        assert beside(user.path) == []


def test_timestamps_and_zone_reach_the_prompt(user: User) -> None:
    user.line("rewrite 44 --summary sum_la --preview --tz Asia/Tokyo")
    assert "[2026-03-31 08:11 JST] [user] Which port, 8080?" in user.prompts[-1]
    user.line("--tz Asia/Tokyo rewrite 44 --summary sum_la --preview --timestamps=false")
    assert "\n[user] Which port, 8080?" in user.prompts[-1]
    assert "JST" not in user.prompts[-1]
    assert user.line("rewrite 44 --all --tz Nowhere/Else").code == 2


def test_keeping_and_deleting_the_dissolved_one(user: User) -> None:
    left = user.line("dissolve 44 --summary-id sum_c1 --apply --purge=false")
    assert left.code == 0
    assert rows(user.path, "SELECT count(*) FROM summaries WHERE summary_id = 'sum_c1'") == [(1,)]
    assert user.line("undo --apply").code == 0
    assert user.line("dissolve 44 --summary-id sum_c1 --apply").code == 0
    assert rows(user.path, "SELECT count(*) FROM summaries WHERE summary_id = 'sum_c1'") == [(0,)]


# ---- nothing is sent unasked ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["rewrite 44 --all", "repair 44", "repair --all", "doctor", "doctor 44", "doctor --all"]
)
@pytest.mark.parametrize("more", ["", " --json"])
def test_the_bare_command_sends_nothing_and_needs_no_key(line: str, more: str, user: User) -> None:
    user.env = {}
    done = user.line(line + more)
    assert (done.code, done.err) == (0, "")
    assert "sum_la" in done.out
    if not more:
        assert "nothing was sent and nothing was changed" in done.out
        assert "--preview" in done.out
        assert "request" in done.out
    assert (beside(user.path), user.prompts) == ([], [])


def test_who_is_asked_is_said_before_anything_is_sent(user: User) -> None:
    said: list[str] = []

    def reply(_received: Received) -> Reply:
        said.append(sys.stderr.getvalue())  # type: ignore[attr-defined]
        return ok(GOOD)

    user.server.script(reply)
    done = user.line("rewrite 44 --summary sum_la --apply --json", ANTHROPIC_API_KEY="sk-ant-secret-key-0123456789")
    assert done.code == 0
    assert f"anthropic, model claude-sonnet-5-5, at {user.server.url} (key: ANTHROPIC_API_KEY); 1 request" in said[0]
    assert user.server.requests[0].headers["x-api-key"] == "sk-ant-secret-key-0123456789"
    assert "secret" not in done.out + done.err + "".join(beside(user.path))
    assert done.json["items"][0]["status"] == "applied"


def test_one_line_for_each_item(user: User) -> None:
    done = user.line("repair 44 --apply")
    assert "[1/2] sum_la applied" in done.err
    assert "[2/2] sum_lb applied" in done.err
    assert "Repair: 2 of 2 summaries applied" in done.out
    assert "Backup: " in done.out
    assert " undo b_" in done.out
    assert "Made from a text that was replaced, and not written anew themselves: sum_c1." in done.out


# ---- JSON -----------------------------------------------------------------------------------------------------------


def test_json_of_a_plan_and_of_what_became_of_it(user: User) -> None:
    told = user.line("repair 44 --json").json
    assert (told["operation"], told["applied"], told["requests"], told["impossible"]) == ("repair", False, 2, 0)
    assert [(one["id"], one["status"], one["reason"]) for one in told["items"]] == [
        ("sum_la", "planned", ""),
        ("sum_lb", "planned", ""),
    ]
    user.server.script(ok(GOOD), ok("HEARTBEAT_OK"))
    done = user.line("--json repair 44 --apply")
    told = done.json
    assert done.code == 1
    assert {"operation", "applied", "items", "backup", "journal_id"} <= set(told)
    assert (told["operation"], told["applied"]) == ("repair", True)
    assert [set(one) for one in told["items"]] == [ITEM, ITEM]
    assert [(one["id"], one["status"]) for one in told["items"]] == [("sum_la", "applied"), ("sum_lb", "failed")]
    assert (
        told["items"][0]["tokens_after"]
        == rows(user.path, "SELECT token_count FROM summaries WHERE summary_id = 'sum_la'")[0][0]
    )
    assert "acknowledgement" in told["items"][1]["reason"]
    assert Path(told["backup"]).is_file()
    assert told["journal_id"] == told["batch"]
    assert told["stale"] == ["sum_c1"]
    assert user("undo", told["journal_id"], "--apply", "--json").json["items"][0]["id"] == "sum_la"


@pytest.mark.parametrize(
    "line", ["repair 45 --apply", "rewrite 45 --all --apply", "doctor 45 --apply", "rewrite 44 --depth 5 --preview"]
)
def test_json_where_there_is_nothing_to_do(line: str, user: User) -> None:
    done = user.line(f"{line} --json")
    assert done.code == 0
    told = done.json
    assert {"operation", "applied", "items", "backup", "journal_id"} <= set(told)
    assert (told["items"], told["backup"], told["journal_id"]) == ([], None, None)
    assert told["applied"] == ("--apply" in line)
    assert told["notes"][0].startswith(("No summary", "Conversation"))
    assert user.prompts == []


@pytest.mark.parametrize("line", ["dissolve 44 --summary-id sum_c1", "transplant 44 45"])
def test_json_of_a_single_plan(line: str, user: User) -> None:
    told = user.line(f"{line} --json").json
    assert told["lcm_lab_plan"] == 1
    assert told["edits"]
    done = user.line(f"{line} --json --apply").json
    assert (done["operation"], done["applied"], len(done["items"])) == (told["operation"], True, 1)
    assert {"id", "status", "reason", "tokens_before", "tokens_after"} <= set(done["items"][0])
    assert done["items"][0]["status"] == "applied"
    assert Path(done["backup"]).is_file()
    assert done["journal_id"].startswith("j_")


# ---- exit codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "rewrite 44",
        "rewrite 44 --all --depth 0",
        "rewrite 44 --depth -1",
        "rewrite 44 --summary sum_la --subtree sum_c1",
        "rewrite 44 --all --apply --dry-run",
        "rewrite 44 --all --apply --preview",
        "rewrite 44 --all --apply=maybe",
        "rewrite 44 --all --jobs 0",
        "rewrite 44 --all --backup sometimes",
        "rewrite fortyfour --all",
        "repair",
        "repair 44 --all",
        "repair --all --summary-id sum_la",
        "repair 44 --apply --dry-run",
        "doctor 44 --all",
        "doctor --apply",
        "dissolve 44",
        "dissolve 44 --summary-id sum_c1 --apply --dry-run",
        "dissolve 44 --summary-id sum_c1 --purge=perhaps",
        "transplant 44",
        "transplant 44 45 --apply --dry-run",
        "transplant 44 45 --order random",
        "undo --apply --dry-run",
        "undo --yes --dry-run",
        "restore --apply --dry-run",
        "apply",
        "rewrite 99999999999999999999 --all",
    ],
)
def test_what_makes_no_sense_ends_with_two(line: str, user: User) -> None:
    before = dump(user.path)
    done = user.line(line)
    assert (done.code, done.out, user.prompts) == (2, "", []), done.err
    assert "Traceback" not in done.err
    assert (dump(user.path), beside(user.path)) == (before, [])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("rewrite 7 --all", "no conversation 7"),
        ("repair 7", "no conversation 7"),
        ("doctor 7", "no conversation 7"),
        ("dissolve 7 --summary-id sum_none", "sum_none"),
        ("transplant 7 44 --apply", "no conversation 7 (source)"),
        ("transplant 44 7", "no conversation 7 (target)"),
        ("transplant 44 44 --apply", "source and target at once"),
        ("rewrite 44 --summary sum_none --apply", "There is no summary sum_none in this store"),
        ("rewrite 45 --summary sum_la", "belongs to conversation 44, not to 45"),
        ("rewrite 45 --subtree sum_la --apply", "belongs to conversation 44, not to 45"),
        ("repair 44 --summary-id sum_none", "There is no summary sum_none in this store"),
        ("repair 45 --summary-id sum_la --apply", "belongs to conversation 44, not to 45"),
        ("dissolve 44 --summary-id sum_la --apply", "is not condensed"),
        ("dissolve 45 --summary-id sum_c1 --apply", "belongs to conversation 44, not to 45"),
        ("rewrite 44 --all --apply --prompt-dir /none", "There is no folder /none"),
        ("rewrite 44 --all --resume b_none", "There is no batch b_none"),
        ("rewrite 44 --all --apply --base-url ftp://x", "is no address"),
        ("rewrite 44 --all --apply --provider openai", "is not supported"),
        ("undo", "nothing to undo"),
        ("undo --apply", "nothing to undo"),
        ("undo j_none --apply", "There is no plan, batch or journal entry 'j_none'"),
        ("restore", "There is no backup"),
        ("restore none.bak --apply", "There is no backup none.bak"),
    ],
)
def test_what_cannot_be_done_ends_with_three(line: str, words: str, user: User) -> None:
    before = dump(user.path)
    done = user.line(line)
    assert (done.code, done.out, user.prompts) == (3, "", []), (done.out, done.err)
    assert words in done.err
    assert done.err.startswith("lcm-lab: ")
    assert done.err.count("\n") == 1
    assert (dump(user.path), beside(user.path)) == (before, [])


def test_a_healthy_one_is_nothing_to_repair(user: User) -> None:
    done = user.line("repair 44 --summary-id sum_c1 --apply")
    assert (done.code, user.prompts) == (0, [])
    assert "Summary sum_c1 is not broken: it holds no mark of a failed compaction." in done.out


def test_verbose_and_totals(user: User) -> None:
    shown = user.line("repair 44 --verbose").out
    assert "SHA-256" in shown
    assert "cut short" in shown
    shown = user.line("doctor --summary").out
    assert "2 broken summaries in 1 conversation" in shown
    assert "fallback mark at the end" in shown


def test_a_store_that_is_missing_or_no_store(user: User, tmp_path: Path) -> None:
    for line in ("repair --all --apply", "rewrite 44 --all", "undo", "backup", "restore", "dissolve 1 --summary-id x"):
        done = lcm_lab(*line.split(), "--db", tmp_path / "none.db", home=user.home)
        assert done.code == 3
        assert "none.db" in done.err
    assert not (tmp_path / "none.db").exists()


def test_a_store_in_use(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lcm_lab.store.writing.WAIT_SECONDS", 0.05)
    before = dump(user.path)
    with closing(sqlite3.connect(user.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        held = user.line("dissolve 44 --summary-id sum_c1 --apply")
        repaired = user.line("repair 44 --apply --json")
        other.execute("ROLLBACK")
    assert held.code == 3
    assert "locked by another program" in held.err
    assert repaired.code == 1
    assert [one["status"] for one in repaired.json["items"]] == ["failed", "skipped"]
    assert (repaired.json["backup"], repaired.json["journal_id"]) == (None, None)
    assert (dump(user.path), beside(user.path)) == (before, [])


def test_a_doubtful_reply_is_written_with_yes_only(user: User) -> None:
    user.server.script(ok("Here is the summary:\n" + GOOD))
    done = user.line("rewrite 44 --summary sum_la --apply --json")
    assert done.code == 1
    assert [one["status"] for one in done.json["items"]] == ["skipped"]
    assert beside(user.path) == []
    done = user.line("rewrite 44 --summary sum_la --apply --yes --json")
    assert done.code == 0
    assert rows(user.path, "SELECT content FROM summaries WHERE summary_id = 'sum_la'")[0][0].startswith("Here is")


def test_the_rest_of_a_batch_is_resumed(user: User) -> None:
    user.server.script(ok(GOOD), ok("OK"), ok(GOOD))
    first = user.line("rewrite 44 --all --apply")
    assert first.code == 1
    assert "--resume b_" in first.out
    batch = first.out.partition("--resume ")[2].split()[0]
    sent = len(user.prompts)
    rest = user.line(f"rewrite 44 --all --resume {batch}")
    assert (rest.code, "2 summaries of this batch were done before" in rest.out) == (0, True)
    assert user.line(f"rewrite 44 --all --apply --resume {batch}").code == 0
    assert len(user.prompts) == sent + 1
    done = user.line(f"rewrite 44 --all --apply --resume {batch}")
    assert (done.code, "3 summaries of this batch were done before." in done.out) == (0, True)


# ---- as a program of its own ----------------------------------------------------------------------------------------


def test_the_same_as_a_program(user: User) -> None:
    """One round without this process: the line before sending stands first, the result on standard output."""
    done = subprocess.run(
        [sys.executable, "-m", "lcm_lab", "repair", "44", "--apply", "--json", "--db", user.path],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
        env={**user.env, "HOME": str(user.home), "PATH": "/nowhere", "TZ": "UTC"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("lcm-lab: anthropic, model claude-sonnet-5-5, at http://127.0.0.1:")
    assert [one["status"] for one in json.loads(done.stdout)["items"]] == ["applied", "applied"]
