"""Who is asked by rewrite, repair and doctor, with which key, and that no key is ever printed."""

import json
from contextlib import ExitStack

import pytest

from tests.command import GOOD, User, beside, dump, lcm_lab
from tests.stand_in import StandIn, bad_request, ok, unknown_model

COMMANDS = ["rewrite 44 --summary sum_la", "repair 44 --summary-id sum_la", "doctor 44"]


@pytest.mark.parametrize("line", COMMANDS)
def test_b59_the_address_is_decided_in_one_order(line: str, user: User) -> None:
    """Flag, LCM_TUI_SUMMARY_*, LCM_SUMMARY_*, openclaw.json: taken away one by one."""
    with ExitStack() as stack:
        servers = [stack.enter_context(StandIn(ok(GOOD))) for _ in range(4)]
        flag, first, second, config = servers
        told = {"models": {"providers": {"anthropic": {"baseUrl": f"{config.url}/v1/"}}}}
        (user.path.parent / "openclaw.json").write_text(json.dumps(told))
        env = {"LCM_TUI_SUMMARY_BASE_URL": first.url, "LCM_SUMMARY_BASE_URL": f"{second.url}/v1"}
        env |= {"LCM_TUI_SUMMARY_MODEL": "first-model", "LCM_SUMMARY_MODEL": "second-model"}
        words = [*line.split(), "--preview", "--db", user.path]
        flags = ["--base-url", flag.url, "--model", "flag-model"]
        seen = []
        for used in servers:
            before = [len(one.requests) for one in servers]
            done = lcm_lab(*words, *flags, home=user.home, env=env)
            assert done.code == 0, done.err
            assert used.url in done.err
            sent = [len(one.requests) - was for one, was in zip(servers, before, strict=True)]
            assert [one > 0 for one in sent] == [one is used for one in servers]
            assert used.requests[-1].path == "/v1/messages"
            seen.append(used.requests[-1].body["model"])
            flags = []
            if used is not flag:
                gone = "LCM_TUI_" if used is first else "LCM_SUMMARY_"
                env = {key: value for key, value in env.items() if not key.startswith(gone)}
    default = "claude-haiku-5-5" if line.startswith("doctor") else "claude-sonnet-5-5"
    assert seen == ["flag-model", "first-model", "second-model", default]


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("what", ["--apply", "--preview", "--apply --json"])
def test_b61_without_a_key_nothing_is_sent_or_written(line: str, what: str, user: User) -> None:
    user.env = {}
    before = dump(user.path)
    done = user.line(f"{line} {what}")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith("lcm-lab: No key for anthropic was found: set ANTHROPIC_API_KEY")
    for place in ("CLAUDE_CODE_OAUTH_TOKEN", "secrets.json", "/.env", ".zshrc", "auth-tokens.json", "anthropic.json"):
        assert place in done.err
    assert done.err.count("\n") == 1
    assert (dump(user.path), beside(user.path)) == (before, [])


@pytest.mark.parametrize("line", COMMANDS)
def test_b60_a_subscription_token_goes_to_no_address(line: str, user: User) -> None:
    for env in (
        {"ANTHROPIC_API_KEY": "sk-ant-oat01-test-token-0123456789"},
        {"CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-test-token-0123456789"},
    ):
        done = user.line(f"{line} --apply", **env)
        assert (done.code, user.prompts) == (3, [])
        assert f"{next(iter(env))} holds a subscription token" in done.err
        assert "test-token" not in done.err + done.out


def test_b60_a_login_that_cannot_be_used(user: User) -> None:
    told = {"auth": {"profiles": {"anthropic:default": {"provider": "anthropic", "mode": "oauth"}}}}
    (user.path.parent / "openclaw.json").write_text(json.dumps(told))
    done = user.line("repair 44 --apply")
    assert (done.code, user.prompts) == (3, [])
    assert "anthropic:default" in done.err
    assert "mode oauth" in done.err


def test_a_broken_configuration_is_a_warning_where_a_key_is_known(user: User) -> None:
    (user.path.parent / "openclaw.json").write_text("{ no json")
    done = user.line("repair 44 --apply", ANTHROPIC_API_KEY="sk-ant-api03-0123456789")
    assert done.code == 0
    assert "openclaw.json is not valid JSON (line 1)" in done.err
    assert user.line("rewrite 44 --all").code == 0


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("model", ["claude-sonnet-4-20250514", "claude-3-5-haiku-20241022"])
def test_a_retired_model_is_one_sentence(line: str, model: str, user: User) -> None:
    user.env = {"ANTHROPIC_API_KEY": "sk-ant-api03-0123456789"}
    done = user.line(f"{line} --apply --model {model}")
    assert (done.code, done.out) == (3, "")
    assert done.err.startswith(f"lcm-lab: The model {model} (said by --model) is retired: use --model claude-")
    assert done.err.count("\n") == 1


def test_a_model_the_server_does_not_know_stops_the_batch(user: User) -> None:
    user.server.script(unknown_model("claude-none"))
    done = user.line("repair 44 --apply --model claude-none --json")
    assert (done.code, len(user.prompts)) == (1, 1)
    assert [one["status"] for one in done.json["items"]] == ["failed", "skipped"]
    assert "is not known to anthropic" in done.json["stopped"]
    assert beside(user.path) == []


def test_a_key_is_printed_nowhere(user: User) -> None:
    key = "sk-ant-api03-not-to-be-seen-0123456789"
    user.server.script(
        lambda received: bad_request(f"no such thing for {received.headers['x-api-key']}"),
    )
    told = ""
    for line in (
        "rewrite 44 --all --apply --json",
        "rewrite 44 --all --apply",
        "repair 44 --preview",
        "doctor 44 --apply",
    ):
        done = user.line(line, ANTHROPIC_API_KEY=key)
        told += done.out + done.err
    user.server.script(ok(GOOD))
    for line in ("repair 44 --apply --json", "undo --list --json", "undo --list", "undo --apply --json"):
        done = user.line(line, ANTHROPIC_API_KEY=key)
        assert done.code == 0
        told += done.out + done.err
    told += "".join(beside(user.path)) + (user.path.parent / "lcm.db.lcm-lab-journal.jsonl").read_text()
    assert "[the key]" in told
    assert "not-to-be-seen" not in told
