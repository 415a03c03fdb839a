"""Look-ups: what they answer, what they refuse, that pages are whole and nothing is ever run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lcm_lab.hooks import block, hook_io, ingest, install, lookup, memory_db, numbering, prompt_submit

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

HOOKS = Path(__file__).resolve().parents[2] / "hooks"
PYTHON = getattr(sys, "_base_executable", sys.executable)


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """A session of two turns, the second with a long output."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    made = memory_db.connect()
    memory_db.ensure_session(made, "s", "/p")
    for number, output in ((1, "first needle\x1b[31m raw"), (2, LONG)):
        numbering.announce(made, "s", f"p{number}")
        ingest.put_text(made, "s", number, "user", 0, f"request {number}", 1.0)
        ingest.put_text(made, "s", number, "assistant", 0, f"answer {number}", 1.0)
        row = {
            "session_id": "s",
            "turn": number,
            "source_id": f"c{number}",
            "tool": "Bash",
            "input": '{"command": "x"}',
        }
        memory_db.put_detail(made, {**row, "output": output, "exit_code": 3, "status": "failed", "tokens": 7})
        made.execute("UPDATE turns SET state='complete' WHERE turn_number=?", (number,))
        made.execute(
            "INSERT INTO skeletons(session_id, turn_number, role, summary) VALUES ('s',?,'assistant','L1')", (number,)
        )
    made.execute(
        "INSERT INTO judgments(session_id, turn_number, category, content, confidence, content_hash) "
        "VALUES ('s',1,'ISSUE','broken',0.9,'h')"
    )
    yield made
    made.close()


LONG = (
    "\n".join(f"line {number} 漢字 \U0001f600 {'z' * (number % 90)}" for number in range(1_500))
    + "\nq" * 3
    + "w" * 30_000
)


def test_detail(con: sqlite3.Connection) -> None:
    """A turn with L1, L2, texts and calls, the output raw; logged as on demand."""
    text = lookup.answer(con, "detail", "1", "s")
    assert text.startswith("# Turn 1 (complete, ")
    for piece in (
        "[ISSUE] #1 broken",
        "## request\nrequest 1",
        "## answer\nanswer 1",
        "exit code 3",
        "first needle\x1b[31m raw",
    ):
        assert piece in text
    assert con.execute("SELECT event_type, layers_sent FROM injection_log").fetchall() == [
        ("on_demand", "L1+L2+L3:turn1")
    ]


@pytest.mark.parametrize("limit", [lookup.LONG, lookup.SHORT])
def test_pages_put_together_are_the_whole(con: sqlite3.Connection, limit: int) -> None:
    """Each below its limit, the output byte for byte in what they hold together."""
    pages, number = [], 1
    while True:
        page = lookup.answer(con, "detail", f"2 --page {number}", "s", limit)
        assert hook_io.units(page) <= limit
        head, body = page.split("\n", 1)
        pages.append(body)
        total = re.match(r"\[page (\d+) of (\d+)(; for more: detail 2 --page \d+)?\]$", head)
        assert total
        if number == int(total.group(2)):
            assert total.group(3) is None
            break
        number += 1
    assert LONG in "".join(pages)
    assert "is not one of them" in lookup.answer(con, "detail", f"2 --page {number + 1}", "s", limit)


@pytest.mark.parametrize(
    "given",
    [
        *("5; echo X", "$(id)", "`id`", "1 | cat", "-1", "1-", "1.5", "", "one", "1 2", "１;", "1\0", "9" * 40, "2-1"),
        *("1-99", "../../etc", "1' OR 1"),
    ],
)
def test_detail_refuses(con: sqlite3.Connection, given: str) -> None:
    """Anything but a number or a range gets a sentence, and no row."""
    text = lookup.answer(con, "detail", given, "s")
    assert "no turn number" in text or "A range" in text
    assert con.execute("SELECT count(*) FROM injection_log").fetchone() == (0,)


def test_search_and_turns_and_memory(con: sqlite3.Connection) -> None:
    """Words, the list of turns, the parts of the newest block."""
    assert "turn 1 [" in lookup.answer(con, "search", "needle", "s")
    assert "turn 2 [" in lookup.answer(con, "search", '"line 7" 漢字', "s")
    assert "holds all of" in lookup.answer(con, "search", "absent words", "s")
    assert lookup.answer(con, "search", "  ", "s") == "Give the words to look for."
    assert lookup.answer(con, "turns", "", "s") == "1. L1\n2. L1"
    assert lookup.answer(con, "turns", "2-9", "s") == "2. L1"
    assert lookup.answer(con, "memory", "", "s").startswith("[session memory now, part 1 of")
    assert "give a number from 1" in lookup.answer(con, "memory", "9", "s")
    assert lookup.answer(con, "nonsense", "", "s") == lookup.USAGE
    assert "Nothing is stored for session other" in lookup.answer(con, "detail", "1", "other")
    assert "Nothing is stored for turn 77" in lookup.answer(con, "detail", "77", "s")


def test_resolve(con: sqlite3.Connection) -> None:
    """By the number in the list; what is not open is said."""
    assert "is no issue number" in lookup.answer(con, "resolve", "1; id", "s")
    assert lookup.answer(con, "resolve", "2", "s") == "There is no unresolved issue #2 in this session. Unresolved: #1."
    assert lookup.answer(con, "resolve", "#1", "s") == "Issue #1 is marked as resolved."
    assert lookup.answer(con, "resolve", "1", "s").endswith("Unresolved: none.")


def program(home: Path, *arguments: str, environ: dict[str, str] | None = None) -> str:
    """The look-up as the model runs it."""
    everything = {"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(home), **(environ or {})}
    command = [PYTHON, "-S", "-E", str(HOOKS / "lookup.py"), *arguments]
    done = subprocess.run(command, env=everything, capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout.decode()


def test_the_program(con: sqlite3.Connection, tmp_path: Path) -> None:
    """Always exit code 0 with something to read; an unfilled placeholder falls back to the client's variable."""
    assert "first needle" in program(tmp_path, "detail", "1", "--session", "s")
    assert "first needle" in program(
        tmp_path, "detail", "1", "--session", "${CLAUDE_SESSION_ID}", environ={"CLAUDE_CODE_SESSION_ID": "s"}
    )
    assert program(tmp_path, "detail", "2", "--page", "2", "--session", "s").startswith("[page 2 of ")
    assert "turn 1 [" in program(tmp_path, "search", "first needle", "--session", "s")
    assert "Give the session" in program(tmp_path, "detail", "1")
    assert "Give the session" in program(tmp_path, "detail", "1", "--session", "../x")
    assert program(tmp_path, "--session", "s").strip() == lookup.USAGE
    assert "Nothing is stored yet" in program(tmp_path / "empty", "detail", "1", "--session", "s")
    assert not (tmp_path / "empty").exists()
    for given in (
        ["detail", "1;id"],
        ["detail", "--page", "x"],
        ["search"],
        ["resolve", "x"],
        ["\udcff"],
        ["detail", "1", "--page"],
    ):
        assert program(tmp_path, *given, "--session", "s").strip()
    (tmp_path / "throughline.db").write_bytes(b"damaged " * 1000)
    assert "failed" in program(tmp_path, "detail", "1", "--session", "s")


def test_the_command_in_the_block_runs(con: sqlite3.Connection, tmp_path: Path) -> None:
    """As a shell runs it, from a folder with a space in its name."""
    import shlex
    import shutil

    odd = tmp_path / "odd folder's"
    shutil.copytree(HOOKS, odd, ignore=shutil.ignore_patterns("__pycache__"))
    code = f"import sys; sys.path.insert(0, {str(odd)!r}); import block; print(block.command('s', 'detail 1'))"
    command = subprocess.run([PYTHON, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert shlex.split(command)[-4:] == ["detail", "1", "--session", "s"]
    environ = {"PATH": os.environ["PATH"], "THROUGHLINE_HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", command], env=environ, capture_output=True, text=True, check=True)
    assert "first needle" in done.stdout
    assert block.command("s").endswith("--session s")


def test_typed_commands_are_answered_from_the_event(con: sqlite3.Connection) -> None:
    """Bare or with a plugin's name in front; others are left alone."""
    event = {
        "session_id": "s",
        "hook_event_name": "UserPromptExpansion",
        "command_name": "sc-detail",
        "command_args": "1",
    }
    said = prompt_submit.work(event)
    assert said is not None
    assert said["hookSpecificOutput"]["hookEventName"] == "UserPromptExpansion"
    assert "first needle" in said["hookSpecificOutput"]["additionalContext"]
    assert prompt_submit.work({**event, "command_name": "review"}) is None
    long = prompt_submit.work({**event, "command_name": "x:sc-detail", "command_args": "2"})
    assert long is not None
    assert hook_io.units(long["hookSpecificOutput"]["additionalContext"]) <= 10_000


def test_a_page_of_a_huge_output_comes_at_once(con: sqlite3.Connection) -> None:
    """Twenty megabytes, with and without wide letters and line ends: each page in well under a second."""
    for number, output in ((3, "x" * (20 << 20)), (4, "漢字\U0001f600 line\n" * (2 << 20))):
        row = {"session_id": "s", "turn": number, "source_id": f"big{number}", "tool": "Bash", "input": "{}"}
        memory_db.put_detail(con, {**row, "output": output})
        start = time.monotonic()
        assert lookup.answer(con, "detail", f"{number} --page 500", "s").startswith("[page 500 of ")
        assert time.monotonic() - start < 5


@pytest.mark.parametrize("folder", ["/usr/local/lib", "/home/a b/x", "/it's/here", "/back\\slash", "/漢字"])
def test_the_command_is_spelt_as_the_installers_rule(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The permission rule begins as the command in the block does, or the client would ask."""
    monkeypatch.setattr(sys, "executable", f"{folder}/python3")
    monkeypatch.setattr(block, "__file__", f"{folder}/block.py")
    assert block.command("s", "detail 1").startswith(
        install.lookup_command(f"{folder}/python3", Path(folder)) + " detail 1"
    )
