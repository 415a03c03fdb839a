"""``lcm-lab memory``: every command, in text and JSON, in a home of its own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.data import memory_demo
from tests.hooks import own_session

MAIN = "3f0c6a52-8d1e-4b7a-9c55-2a61d7b0e914"
OTHER = "b81e77d0-40c2-4e0b-8f36-6b1f0f9a2c08"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The folder of a demo memory."""
    return str(memory_demo.build(tmp_path_factory.mktemp("memory") / "demo").parent)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """``lcm-lab memory`` in a home of its own; what a person would type may be given."""
    kept = {
        k: v for k, v in os.environ.items() if not k.startswith(("LCM_", "OPENCLAW_", "CLAUDE", "THROUGHLINE", "TZ"))
    }
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "XDG_CACHE_HOME": str(tmp_path / "c")}

    def command(*arguments: str, typed: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "lcm_lab", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            input=typed,
            env={**kept, **home, "TZ": "UTC", **env},
        )

    return command


def answer(done: subprocess.CompletedProcess[str]) -> Any:
    """Its JSON, after it ended with 0."""
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return json.loads(done.stdout)


def test_global_options_stand_at_all_three_places(run: Run, demo: str) -> None:
    first = run("--db", demo, "--tz", "Asia/Tokyo", "memory", "turns")
    assert run("memory", "--db", demo, "--tz", "Asia/Tokyo", "turns").stdout == first.stdout
    assert run("memory", "turns", "--db", demo, "--tz", "Asia/Tokyo").stdout == first.stdout
    assert "time (Asia/Tokyo)" in first.stdout
    assert "2026-02-11 17:42:20" in first.stdout
    assert run("memory", "turns", THROUGHLINE_HOME=demo, LCM_LAB_TZ="Asia/Tokyo").stdout == first.stdout
    assert run("--db", "/nowhere", "memory", "stats", "--db", demo).returncode == 0


def test_sessions_page(run: Run, demo: str) -> None:
    first = answer(run("memory", "sessions", "--limit", "1", "--db", demo, "--json"))
    assert [one["session_id"] for one in first["rows"]] == [MAIN]
    second = answer(run("memory", "sessions", "--limit", "1", "--cursor", first["next"], "--db", demo, "--json"))
    assert ([one["session_id"] for one in second["rows"]], second["next"]) == ([OTHER], None)
    assert OTHER in run("memory", "sessions", "--db", demo).stdout


def test_turns_with_their_tokens(run: Run, demo: str) -> None:
    told = answer(run("memory", "turns", OTHER[:4], "--db", demo, "--json"))
    assert [one["turn_number"] for one in told["rows"]] == [1, 2, 3]
    assert told["raw_tokens"] == sum(one["raw_tokens"] for one in told["rows"])
    assert told["layer_tokens"] == sum(one["layer_tokens"] for one in told["rows"])
    assert told["estimator"] == "hooks' estimate"


def test_show_is_one_turn_or_one_list(run: Run, demo: str) -> None:
    told = answer(run("memory", "show", "4", "--db", demo, "--json"))
    assert told["turn_number"] == 4
    assert any("would book 333 of 334" in (one["output"] or "") for one in told["details"])
    assert "1,500 more characters" not in run("memory", "show", "1", "--db", demo).stdout
    assert re.search(r"more characters; --json has all", run("memory", "show", "4", "--db", demo).stdout)
    issues = answer(run("memory", "show", "--issues", "--db", demo, "--json"))["rows"]
    assert {one["resolved"] for one in issues} == {False}
    given = answer(run("memory", "show", "--given", "--db", demo, "--json"))["rows"]
    assert [one["delivered"] for one in given if one["event_type"] == "context_compaction"] == [True, False, True]
    assert "[session memory preview, part 1 of 1]" in run("memory", "show", "--block", "--db", demo).stdout
    for wrong in ((), ("4", "--issues"), ("--issues", "--block"), ("x",)):
        assert run("memory", "show", *wrong, "--db", demo).returncode == 2
    assert run("memory", "show", "99", "--db", demo).returncode == 3


def test_search_takes_words_and_phrases(run: Run, demo: str) -> None:
    told = answer(run("memory", "search", "Mill Street", "--db", demo, "--json"))
    assert (told["words"], [one["turn_number"] for one in told["rows"]]) == (["Mill Street"], [1])
    assert len(answer(run("memory", "search", "開館", "--db", demo, "--json"))["rows"]) == 2
    assert answer(run("memory", "search", "開館", "--session", MAIN, "--db", demo, "--json"))["rows"] == []
    assert run("memory", "search", "--db", demo).returncode == 2


def test_stats_in_text_and_json(run: Run, demo: str) -> None:
    told = answer(run("memory", "stats", "--db", demo, "--json"))
    assert (told["arrived"], told["not_arrived"], told["rows"]["sessions"]) == (2, 1, 2)
    assert told["categories"]["ISSUE"]["open"] == 4
    assert told["layer_tokens"] == told["l1_tokens"] + told["l2_tokens"]
    text = run("memory", "stats", MAIN, "--db", demo).stdout
    assert MAIN in text
    assert f"{answer(run('memory', 'stats', MAIN, '--db', demo, '--json'))['raw_tokens']:,}" in text


def test_export_to_a_folder(run: Run, demo: str, tmp_path: Path) -> None:
    told = answer(run("memory", "export", "--to", str(tmp_path / "out"), "--db", demo, "--json"))
    assert {one["name"] for one in told["files"]} >= {"turns.csv", "turns.json", "details.csv", "injections.json"}
    assert json.loads((tmp_path / "out" / "turns.json").read_text("utf-8"))
    again = run("memory", "export", "--to", str(tmp_path / "out"), "--db", demo)
    assert again.returncode == 3
    assert "Traceback" not in again.stderr


def test_import_shows_what_is_gained_and_forget_asks(run: Run, tmp_path: Path) -> None:
    file = own_session.write(tmp_path / "config" / "projects" / "-x" / "own.jsonl", prompt_ids=True)
    dry = answer(run("memory", "import", "--dry-run", "--json"))
    assert (dry["dry_run"], dry["rows"][0]["session_id"], dry["new_details"]) == (True, "own", 0)
    assert not (tmp_path / ".throughline").exists()
    text = run("memory", "import", str(file)).stdout
    told = answer(run("memory", "import", str(file), "--json"))
    assert told["new_details"] == 0
    assert f"{told['raw_tokens']:,} tokens of turns, as L1+L2 {told['layer_tokens']:,}" in text
    assert re.search(r"\d+ new details, each found by 'lcm-lab memory search'", text)
    assert answer(run("memory", "sessions", "--json"))["total"] == 1
    no = run("memory", "forget", "own", typed="n\n")
    assert no.returncode == 130
    assert "own in " in no.stderr
    assert answer(run("memory", "sessions", "--json"))["total"] == 1
    assert run("memory", "forget", "own", typed="y\n").returncode == 0
    assert answer(run("memory", "sessions", "--json"))["total"] == 0
    run("memory", "import", str(file))
    assert answer(run("memory", "forget", "own", "--yes", "--json"))["session_id"] == "own"
    assert file.is_file()


def test_what_cannot_be_done_is_one_sentence(run: Run, tmp_path: Path) -> None:
    for arguments in (
        ("memory", "stats"),
        ("memory", "import"),
        ("memory", "forget", "x", "--yes"),
        ("memory", "import", str(tmp_path / "absent")),
    ):
        done = run(*arguments)
        assert done.returncode == 3
        assert done.stderr.startswith("lcm-lab: ")
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / ".throughline").exists()
    assert run("memory", "turns", "--nonsense").returncode == 2


def test_the_demo_memory_comes_with_the_command(run: Run) -> None:
    assert answer(run("--demo", "memory", "sessions", "--json"))["total"] == 2
    assert run("--demo", "memory", "forget", MAIN, "--yes").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--db", "~nobody-of-this-name/x", "stats"), "~nobody-of-this-name/x"),
        (("--demo", "export", "--to", "~nobody-of-this-name/x"), "~nobody-of-this-name/x"),
        (("--demo", "search", "job", "--limit", "9" * 20), "9" * 20),
        (("--demo", "sessions", "--cursor", "\u00b2"), "\u00b2"),
    ],
)
def test_odd_arguments_end_in_a_sentence(run: Run, arguments: tuple[str, ...], named: str) -> None:
    done = run("memory", *arguments)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    assert named in done.stderr
