"""The claude command as a summarizer, with a small program in its place."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.errors import BadReply, ModelBusy, ModelError, NoCredentials
from lcm_lab.summarizer.claude_cli import ClaudeCommand
from lcm_lab.summarizer.credentials import Key
from lcm_lab.summarizer.seam import Request, Summarizer
from tests.fake_claude import RESULT, FakeClaude

TOKEN = Key("sk-ant-oat01-very-secret", "CLAUDE_CODE_OAUTH_TOKEN", for_command=True)
ASK = Request("Sum this up.", 100)


def test_a_reply(fake_claude: FakeClaude) -> None:
    command: Summarizer = ClaudeCommand("claude-sonnet-5-5", env=fake_claude.env, token=TOKEN)
    found = command.complete(ASK)
    assert (found.text, found.model, found.provider) == ("Port is 443.", "claude-sonnet-5-5", "claude-cli")
    assert (found.stop_reason, found.input_tokens, found.output_tokens) == ("end_turn", 43, 9)
    assert found.seconds > 0
    assert command.model == "claude-sonnet-5-5"
    assert command.described == (
        f"the claude command {fake_claude.folder}/claude, model claude-sonnet-5-5"
        " (subscription token: CLAUDE_CODE_OAUTH_TOKEN)"
    )
    assert "secret" not in repr(command) + command.described


def test_nothing_of_the_users_set_up_takes_part(fake_claude: FakeClaude) -> None:
    """B15: no workspace, hooks, settings, tools or servers; an empty folder that is gone afterwards."""
    ClaudeCommand("m", env=fake_claude.env).complete(ASK)
    (call,) = fake_claude.calls
    pairs = dict(zip(call["argv"], call["argv"][1:], strict=False))
    assert "--print" in call["argv"]
    assert (pairs["--input-format"], pairs["--output-format"], pairs["--model"]) == ("text", "json", "m")
    assert (pairs["--setting-sources"], pairs["--tools"]) == ("", "")
    assert json.loads(pairs["--settings"]) == {"disableAllHooks": True}
    assert {"--strict-mcp-config", "--no-session-persistence"} <= set(call["argv"])
    assert call["argv"].count("--settings") == 1
    assert call["files"] == []
    assert not Path(call["cwd"]).exists()
    assert call["env"]["THROUGHLINE_OFF"] == "1"


def test_the_account_it_uses(fake_claude: FakeClaude) -> None:
    outer = {"ANTHROPIC_API_KEY": "k", "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s", "CLAUDE_CONFIG_DIR": "/c"}
    other = {"ANTHROPIC_BASE_URL": "http://me:pw@gw.example", "ANTHROPIC_AUTH_TOKEN": "t"}
    env = {**fake_claude.env, **outer, **other}
    ClaudeCommand("m", env=env, token=TOKEN).complete(ASK)
    own = ClaudeCommand("m", env=env)
    own.complete(ASK)
    with_token, with_login = (call["env"] for call in fake_claude.calls)
    for seen in (with_token, with_login):
        assert not {"ANTHROPIC_API_KEY", "CLAUDECODE", "CLAUDE_CODE_SESSION_ID"} & set(seen)
        assert seen["CLAUDE_CONFIG_DIR"] == "/c"
    assert with_token["CLAUDE_CODE_OAUTH_TOKEN"] == TOKEN.secret
    assert not set(other) & set(with_token)
    # Without a token of ours the command's own set-up of an account counts, and is named.
    assert "CLAUDE_CODE_OAUTH_TOKEN" not in with_login
    assert set(other) <= set(with_login)
    assert "at gw.example (said by ANTHROPIC_BASE_URL) (its own login)" in own.described


def test_a_large_prompt_goes_in_by_stdin(fake_claude: FakeClaude) -> None:
    """B68: 3 MB, more than a command line takes, and a client that takes its time before it reads."""
    prompt = "东" * 1_000_000 + "the end \ud83d"
    env = {**fake_claude.env, "FAKE_CLAUDE_STARTS_SLOWLY": "0.5"}
    assert ClaudeCommand("m", env=env).complete(Request(prompt, 100)).text == "Port is 443."
    (call,) = fake_claude.calls
    assert call["bytes"] == 3_000_000 + len("the end \ufffd".encode())
    assert call["end"].endswith("the end \ufffd")
    assert all(len(argument) < 1000 for argument in call["argv"])


def test_plain_output_is_taken_too(fake_claude: FakeClaude) -> None:
    fake_claude.prints("<think>hm</think>\nPort is 443.\n")
    found = ClaudeCommand("m", env=fake_claude.env).complete(ASK)
    assert (found.text, found.input_tokens, found.stop_reason) == ("Port is 443.", None, None)


@pytest.mark.parametrize("result", ["", " \n", {**RESULT, "result": ""}, {**RESULT, "result": None}])
def test_an_empty_reply(fake_claude: FakeClaude, result: Any) -> None:
    """B12."""
    fake_claude.prints(result)
    with pytest.raises(BadReply, match="empty reply"):
        ClaudeCommand("m", env=fake_claude.env).complete(ASK)


def test_a_missing_command(tmp_path: Path) -> None:
    """B60: found before any request, with advice."""
    for env in ({"PATH": str(tmp_path)}, {}):
        with pytest.raises(NoCredentials, match=r"CLAUDE_CODE_OAUTH_TOKEN holds a subscription token.*not on the PATH"):
            ClaudeCommand("m", env=env, token=TOKEN)
        with pytest.raises(NoCredentials, match=r"^The claude command is not on the PATH: install"):
            ClaudeCommand("m", env=env)


@pytest.mark.parametrize(
    ("result", "code", "err", "kind", "sentence"),
    [
        ("", 3, "one\ntwo\n", ModelError, "The claude command ended with code 3: one two."),
        ("", 1, "", ModelError, "ended with code 1: it said nothing."),
        ("", 1, "x" * 999 + "the end", ModelError, "xthe end."),
        ("", 1, "error: unknown option '--tools'", NoCredentials, "too old to be kept apart"),
        ("", 1, "Invalid API key · Please run /login", NoCredentials, "does not get in with the token found in CLAUDE"),
        ({**RESULT, "is_error": True, "result": "Prompt is too long"}, 1, "", ModelError, "Prompt is too long."),
        (
            {**RESULT, "is_error": True, "result": "API Error: 500"},
            0,
            "",
            ModelError,
            "reports an error: API Error: 500.",
        ),
        ("", 1, f"bad token {TOKEN.secret}\x1b[2J", ModelError, "bad token [the token]"),
    ],
)
def test_what_it_complains_about(
    fake_claude: FakeClaude, result: Any, code: int, err: str, kind: type[ModelError], sentence: str
) -> None:
    fake_claude.prints(result, code=code, err=err)
    with pytest.raises(ModelError) as caught:
        ClaudeCommand("m", env=fake_claude.env, token=TOKEN).complete(ASK)
    assert type(caught.value) is kind
    assert sentence in str(caught.value)
    assert TOKEN.secret not in str(caught.value)
    assert len(fake_claude.calls) == 1


def test_it_is_ended_after_its_time_with_all_it_started(fake_claude: FakeClaude, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    fake_claude.does(
        f"import subprocess\nsubprocess.Popen(['/bin/sh', '-c', 'sleep 0.8; echo late > {mark}'])\ntime.sleep(60)"
    )
    begun = time.monotonic()
    with pytest.raises(ModelBusy, match=r"no reply within 0\.4 seconds"):
        ClaudeCommand(
            "m", env={**fake_claude.env, "PATH": f"{fake_claude.folder}:/bin:/usr/bin"}, timeout=0.4
        ).complete(ASK)
    assert time.monotonic() - begun < 5
    time.sleep(0.9)
    assert not mark.exists()


def test_it_can_be_cancelled(fake_claude: FakeClaude) -> None:
    fake_claude.does("time.sleep(60)")
    cancelled = threading.Event()
    threading.Timer(0.1, cancelled.set).start()
    begun = time.monotonic()
    with pytest.raises(ModelError, match="Cancelled"):
        ClaudeCommand("m", env=fake_claude.env, cancelled=cancelled).complete(ASK)
    assert time.monotonic() - begun < 5


def test_a_command_that_cannot_be_started(fake_claude: FakeClaude) -> None:
    command = ClaudeCommand("m", env=fake_claude.env)
    (fake_claude.folder / "claude").write_text("#!/no/such/program\n")
    with pytest.raises(ModelError, match="cannot be started"):
        command.complete(ASK)


def test_a_command_that_does_not_read_its_prompt(fake_claude: FakeClaude) -> None:
    (fake_claude.folder / "claude").write_text("#!/bin/sh\necho no thanks >&2\nexit 7\n")
    with pytest.raises(ModelError, match="ended with code 7: no thanks"):
        ClaudeCommand("m", env=fake_claude.env).complete(Request("m" * 3_000_000, 100))
