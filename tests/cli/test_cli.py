"""The command as a user runs it: every command, every kind of store, exit codes, errors, JSON."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StoreMaker


def run(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """What ``lcm-lab`` does with these arguments, in a home of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LCM_", "OPENCLAW_", "TZ"))}
    return subprocess.run(
        [sys.executable, "-m", "lcm_lab", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**clean, "TZ": "UTC", **(env or {})},
    )


def output(*arguments: str, env: dict[str, str] | None = None) -> str:
    """Its standard output, after it ended with 0."""
    done = run(*arguments, env=env)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def answer(*arguments: str, env: dict[str, str] | None = None) -> Any:
    """Its JSON."""
    return json.loads(output(*arguments, "--json", env=env))


def test_global_options_stand_before_and_after_the_name(base_store: Path) -> None:
    before = output("--db", str(base_store), "--tz", "Asia/Tokyo", "--json", "context", "44")
    assert output("context", "44", "--db", str(base_store), "--tz", "Asia/Tokyo", "--json") == before
    assert json.loads(before)["zone"] == "Asia/Tokyo"


def test_what_stands_after_the_name_wins(base_store: Path) -> None:
    assert answer("--db", "/nowhere/lcm.db", "info", "--db", str(base_store))["rows"]["messages"] == 6


def test_info_says_what_the_store_holds(base_store: Path) -> None:
    told = answer("info", "--db", str(base_store))
    assert (told["rows"]["messages"], told["message_tokens"], told["summary_tokens"]) == (6, 30, 18)
    assert told["journal_mode"] == "wal"
    assert told["estimator"] == "stored count, else plugin estimate"
    assert "6, 30 tokens" in output("info", "--db", str(base_store))


def test_conversations_show_null_titles_as_a_dash_and_page(base_store: Path) -> None:
    first = answer("conversations", "--limit", "1", "--db", str(base_store))
    assert [one["conversation_id"] for one in first["rows"]] == [44]
    second = answer("conversations", "--limit", "1", "--cursor", first["next"], "--db", str(base_store))
    assert [(one["conversation_id"], one["title"]) for one in second["rows"]] == [(45, None)]
    assert second["next"] is None
    assert " \u2014 " in output("conversations", "--db", str(base_store))
    assert "nan" not in output("conversations", "--db", str(base_store)).lower()


def test_show_pages_back(base_store: Path) -> None:
    newest = answer("show", "44", "--limit", "4", "--db", str(base_store))
    assert [one["seq"] for one in newest["rows"]] == [2, 3, 4, 5]
    older = answer("show", "44", "--limit", "4", "--cursor", newest["next"], "--db", str(base_store))
    assert [one["seq"] for one in older["rows"]] == [0, 1]
    assert older["next"] is None


def test_times_are_shown_in_one_named_zone(base_store: Path) -> None:
    shown = output("show", "44", "--db", str(base_store), "--tz", "Asia/Tokyo")
    assert "time (Asia/Tokyo)" in shown
    assert "2026-03-31 08:11:15" in shown
    assert "2026-03-31 08:12:00" in shown


def test_the_dag_as_a_tree(base_store: Path) -> None:
    shown = output("dag", "44", "--db", str(base_store))
    assert re.search(r"v sum_c1 +\[d1, 7t\]", shown)
    assert re.search(r"  - sum_la +\[leaf, 7t\]", shown)


def test_one_summary_whole(base_store: Path) -> None:
    told = answer("dag", "44", "--summary", "sum_la", "--db", str(base_store))
    assert (told["content"], told["messages"], told["derived"]) == ("The firewall blocks 8080.", [1, 2], ["sum_c1"])
    assert "Which port, 8080?" in output("dag", "44", "--summary", "sum_la", "--db", str(base_store))


def test_budget_in_every_form(base_store: Path) -> None:
    told = answer("budget", "44", "--window", "1k", "--db", str(base_store))
    assert sum(one["tokens"] for one in told["classes"].values()) == told["total"]
    assert (told["window"], told["compaction_line"], told["level"]) == (1000, 750, "ok")
    assert told["in_store"] == {"messages": 6, "tokens": 30}
    assert "system prompt" in told["leaves_out"]
    assert "no budget set" in output("budget", "44", "--window", "0", "--db", str(base_store))
    assert answer("budget", "--db", str(base_store))["stored_tokens"] == 30


def test_check_ends_with_one_where_something_is_wrong(base_store: Path, make_store: StoreMaker) -> None:
    broken = make_store(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 99)"
    )
    done = run("check", "--json", "--db", str(broken))
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert set(told) >= {"store", "findings", "counts"}
    assert [one["ids"] for one in told["findings"] if one["code"].startswith("C3")] == [["44:3"]]
    assert set(told["findings"][0]) == {"code", "severity", "table", "ids", "conversation_id", "message", "advice"}
    text = run("check", "44", "--db", str(broken))
    assert text.returncode == 1
    assert "44:3" in text.stdout


def test_check_json_and_text_agree(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET token_count = 0 WHERE message_id < 4", "DELETE FROM summary_messages")
    told = json.loads(run("check", "--json", "--db", str(path)).stdout)
    shown = run("check", "--db", str(path)).stdout
    for one in told["findings"]:
        assert one["code"] in shown
    assert f"{told['counts']['error']} error" in shown


def test_sql_reads_and_pages_and_nothing_else(base_store: Path) -> None:
    told = answer(
        "sql", "SELECT message_id, role FROM messages ORDER BY message_id", "--limit", "2", "--db", str(base_store)
    )
    assert told["rows"] == [[1, "user"], [2, "assistant"]]
    assert (told["columns"], told["next"], told["total"]) == (["message_id", "role"], "2", 6)
    bodies = answer("sql", "SELECT content FROM messages WHERE message_id = 6", "--bodies", "--db", str(base_store))
    assert bodies["rows"] == [["It is out."]]
    for query in (
        "DELETE FROM messages",
        "SELECT * FROM read_csv('/etc/hostname')",
        "INSTALL httpfs",
        "SELECT nonsense",
    ):
        done = run("sql", query, "--db", str(base_store))
        assert done.returncode == 3
        assert "Traceback" not in done.stderr


def test_export_writes_csv_and_parquet(base_store: Path, tmp_path: Path) -> None:
    output("export", "--to", str(tmp_path / "out"), "--db", str(base_store))
    names = {one.name for one in (tmp_path / "out").iterdir()}
    assert {"messages.csv", "messages.parquet"} <= names
    assert run("export", "--to", str(tmp_path / "out"), "--db", str(base_store)).returncode == 3


def test_search_says_how_it_looked(base_store: Path) -> None:
    told = answer("search", "firewall", "--db", str(base_store))
    assert [one["row_id"] for one in told["rows"]] == ["sum_la", "2"]
    assert told["modes"]["summaries"].startswith("literal scan")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["info", "--db", "/tmp/none/lcm.db"], 3, "no folder"),
        (["context", "999"], 3, "no conversation 999"),
        (["context", "abc"], 2, "not a valid number"),
        (["context"], 2, "Missing argument"),
        (["nonsense"], 2, "No such command"),
        (["info", "--tz", "Mars/Olympus"], 2, "Mars/Olympus"),
        (["dag", "44", "--summary", "sum_x"], 3, "no summary sum_x"),
        (["budget", "44", "--window", "many"], 2, "no number of tokens"),
        (["conversations", "--cursor", "x"], 2, "not a cursor"),
        (["show"], 2, "Name a conversation"),
        (["show", "44", "--before", "1", "--after", "1"], 2, "not both"),
        (["show", "--session", "/tmp/none.jsonl"], 3, "none.jsonl"),
        (["sessions", "nobody"], 3, "No agents folder"),
    ],
)
def test_errors_are_one_plain_sentence(base_store: Path, arguments: list[str], code: int, said: str) -> None:
    done = run("--db", str(base_store), *arguments)
    assert done.returncode == code
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    if code == 3:
        assert done.stderr.startswith("lcm-lab: ")
        assert done.stderr.count("\n") == 1


def test_the_path_is_chosen_in_order(make_store: StoreMaker, tmp_path: Path) -> None:
    one, two, three = (make_store() for _ in range(3))
    state = tmp_path / "state"
    state.mkdir()
    (state / "lcm.db").write_bytes(three.read_bytes())
    env = {"LCM_LAB_DB": str(one), "LCM_DATABASE_PATH": str(two), "OPENCLAW_STATE_DIR": f"  {state} "}
    assert answer("info", env=env)["chosen_by"] == "LCM_LAB_DB"
    assert answer("info", env={**env, "LCM_LAB_DB": " "})["store"] == str(two)
    assert answer("info", env={"OPENCLAW_STATE_DIR": env["OPENCLAW_STATE_DIR"]})["store"] == str(state / "lcm.db")
    (tmp_path / ".openclaw").mkdir()
    (tmp_path / ".openclaw" / "lcm.db").write_bytes(three.read_bytes())
    assert answer("info", env={"OPENCLAW_STATE_DIR": "  ", "HOME": str(tmp_path)})["chosen_by"] == "the default place"


def test_without_arguments_it_says_what_was_found_and_what_to_do(base_store: Path, tmp_path: Path) -> None:
    assert f"lcm-lab --db {base_store} budget 44" in output("--db", str(base_store))
    fresh = output(env={"HOME": str(tmp_path / "nobody")})
    assert "No LCM store at" in fresh
    assert "--demo" in fresh
    assert not (tmp_path / "nobody").exists()


def test_agents_and_sessions_without_a_store(tmp_path: Path) -> None:
    folder = tmp_path / "agents" / "main" / "sessions"
    folder.mkdir(parents=True)
    (folder / "s1.jsonl").write_text(
        '{"type":"session","id":"s1"}\n{"type":"message","id":"a","message":{"role":"user","content":"hi"}}\n'
    )
    env = {"OPENCLAW_STATE_DIR": str(tmp_path)}
    assert [one["agent"] for one in answer("agents", env=env)["rows"]] == ["main"]
    row = answer("sessions", "main", env=env)["rows"][0]
    assert (row["messages"], row["tracked"], row["conversation_id"]) == (1, False, None)
    assert "not tracked" in output("sessions", "main", env=env)
    assert "hi" in output("show", "--session", str(folder / "s1.jsonl"), env=env)


def test_a_terminal_cannot_be_driven_by_stored_text(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = 'a' || char(27) || '[31mred' || char(7) || char(8238) || 'x' WHERE message_id = 6"
    )
    for command in (["show", "44"], ["context", "44"], ["search", "red"]):
        shown = output(*command, "--db", str(path))
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert "\u202e" not in shown


def test_emoji_survive_a_narrow_code_page(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = '\U0001f525 \u4f60\u597d' WHERE message_id = 6")
    assert "\U0001f525 \u4f60\u597d" in output("show", "44", "--db", str(path), env={"PYTHONIOENCODING": "cp1252"})


def test_a_closed_pipe_is_no_error(base_store: Path) -> None:
    command = f"{sys.executable} -m lcm_lab show 44 --db {base_store} --json | head -c 10"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr


EVERY = (
    ["info"], ["agents"], ["conversations"], ["show", "CONV"], ["dag", "CONV"], ["context", "CONV"], ["files", "CONV"],
    ["briefs", "CONV"], ["search", "the"], ["budget"], ["budget", "CONV"], ["check"], ["check", "CONV"],
    ["sql", "SELECT count(*) AS n FROM messages"],
)  # fmt: skip


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_every_command_on_every_schema(make_store: StoreMaker, version: str, command: list[str]) -> None:
    path = make_store(version=version)
    before = path.read_bytes()
    arguments = [one.replace("CONV", "44") for one in command]
    done = run(*arguments, "--db", str(path))
    assert done.returncode in ((0, 1) if command[0] == "check" else (0,)), done.stderr
    json.loads(run(*arguments, "--json", "--db", str(path)).stdout)
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["lcm.db"]


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
@pytest.mark.parametrize("name", ["small.db", "mixed.db", "corrupt.db", "old-0.1.0.db"])
def test_every_command_on_the_real_stores(shared_store: Callable[[str], Path], name: str, command: list[str]) -> None:
    done = run(*(one.replace("CONV", "1") for one in command), "--json", "--db", str(shared_store(name)))
    assert done.returncode in ((0, 1) if command[0] == "check" else (0,)), done.stderr
    json.loads(done.stdout)


def test_the_jsonl_era_as_its_readme_says(state_dir: Callable[[str], Path]) -> None:
    env = {"OPENCLAW_STATE_DIR": str(state_dir("jsonl-0.15.3"))}
    agent = answer("agents", env=env)["rows"][0]
    assert (agent["agent"], agent["session_files"], agent["reset_files"], agent["host_store"]) == ("main", 2, 2, None)
    found = answer("conversations", env=env)
    assert sum(one["messages"] for one in found["rows"]) == 59
    assert sorted((one["session_key"], one["state"]) for one in found["rows"]) == [
        ("agent:main:main", "active"), ("agent:main:main", "archived (manual-reset)"), ("agent:main:paste", "active"),
    ]  # fmt: skip
    told = answer("info", env=env)
    assert (told["summaries_by_depth"], told["rows"]["large_files"]) == ({"0": 21, "1": 1}, 3)
    sessions = answer("sessions", "main", env=env)["rows"]
    assert {one["conversation_id"]: (one["messages"], one["also"]) for one in sessions} == {2: (4, []), 3: (4, [1])}
    assert {one["payload"] for conv in "12" for one in answer("files", conv, env=env)["rows"]} == {"present"}


def test_the_sqlite_era_says_what_it_does_not_read(state_dir: Callable[[str], Path]) -> None:
    folder = state_dir("sqlite-1.0-beta")
    env = {"OPENCLAW_STATE_DIR": str(folder)}
    line = "2 sessions in a SQLite store, schema 23: not read yet"
    assert line in output("agents", env=env)
    assert line in output("sessions", "main", env=env)
    told = answer("info", env=env)
    assert (told["rows"]["conversations"], told["rows"]["messages"]) == (6, 93)
    assert told["summaries_by_depth"] == {"0": 18, "1": 3, "2": 1}
    assert "auth" not in json.dumps(answer("agents", env=env))
    assert sorted(one.name for one in (folder / "agents/main/agent").iterdir()) == ["openclaw-agent.sqlite"]


@pytest.mark.parametrize("command", [["show", "44"], ["context", "44"], ["dag", "44", "--summary", "sum_la"]])
def test_a_view_says_which_row_could_not_be_read_as_declared(make_store: StoreMaker, command: list[str]) -> None:
    path = make_store(
        "UPDATE messages SET token_count = '12 tokens' WHERE message_id IN (1, 5)",
        "UPDATE messages SET content = CAST(X'61FF62' AS TEXT) WHERE message_id IN (2, 6)",
    )
    shown = output(*command, "--db", str(path))
    bad, broken = ("1", "2") if command[0] == "dag" else ("5", "6")
    assert f"Read with care: messages {bad}, token_count: '12 tokens' in a column of whole numbers" in shown
    assert f"messages {broken}, content: invalid UTF-8" in shown
    notes = answer(*command, "--db", str(path))["notes"]
    assert {(one["table"], one["row"], one["column"]) for one in notes} >= {
        ("messages", bad, "token_count"),
        ("messages", broken, "content"),
    }
