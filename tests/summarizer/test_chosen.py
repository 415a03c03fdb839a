"""From flags and environment to a summarizer, and what is refused before anything is sent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lcm_lab.errors import NoCredentials
from lcm_lab.summarizer.anthropic_api import AnthropicSummarizer
from lcm_lab.summarizer.chosen import choose
from lcm_lab.summarizer.claude_cli import ClaudeCommand
from lcm_lab.summarizer.seam import Request
from tests.fake_claude import FakeClaude
from tests.stand_in import StandIn, ok

ASK = Request("Sum this up.", 100)
OAT = "sk-ant-oat01-test"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """An environment with an empty home and no claude command."""
    return {"HOME": str(tmp_path), "PATH": str(tmp_path / "nothing")}


def test_a_key_goes_to_the_address_and_is_not_shown(tmp_path: Path, env: dict[str, str]) -> None:
    env["ANTHROPIC_API_KEY"] = "sk-ant-api03-very-secret"
    with StandIn(ok()) as server:
        found = choose(base_url=server.url + "/v1/", env=env, state_dir=tmp_path)
        assert isinstance(found, AnthropicSummarizer)
        assert found.described == (f"anthropic, model claude-sonnet-5-5, at {server.url} (key: ANTHROPIC_API_KEY)")
        assert found.complete(ASK).text == "A summary."
        found.close()
    assert server.requests[0].path == "/v1/messages"


def test_a_server_on_this_machine_is_asked_without_a_key(tmp_path: Path, env: dict[str, str]) -> None:
    with StandIn(ok()) as server:
        found = choose(base_url=server.url, env=env, state_dir=tmp_path)
        assert found.complete(ASK).text == "A summary."
        assert isinstance(found, AnthropicSummarizer)
        found.close()


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"])
def test_a_subscription_token_never_meets_the_api(
    tmp_path: Path, env: dict[str, str], fake_claude: FakeClaude, variable: str
) -> None:
    """B60: the command takes it; without the command there is one sentence, and nothing was sent anywhere."""
    env[variable] = OAT
    with pytest.raises(NoCredentials) as caught:
        choose(env=env, state_dir=tmp_path)
    assert str(caught.value).startswith(f"{variable} holds a subscription token, which only the claude command may use")
    assert OAT not in str(caught.value)
    found = choose(env={**env, **fake_claude.env}, state_dir=tmp_path)
    assert isinstance(found, ClaudeCommand)
    assert found.complete(ASK).text == "Port is 443."
    assert OAT not in found.described
    seen = fake_claude.calls[0]
    assert seen["env"]["CLAUDE_CODE_OAUTH_TOKEN"] == OAT
    assert OAT not in " ".join(seen["argv"])
    with StandIn(ok()) as server:
        with pytest.raises(NoCredentials, match="only the claude command may use and not http://127"):
            choose(base_url=server.url, env={**env, **fake_claude.env}, state_dir=tmp_path)
        assert server.requests == []


def test_a_login_without_a_key_is_refused_before_any_request(tmp_path: Path, env: dict[str, str]) -> None:
    """B60."""
    profile = {"anthropic:default": {"provider": "anthropic", "mode": "oauth"}}
    (tmp_path / "openclaw.json").write_text(json.dumps({"auth": {"profiles": profile}}))
    with StandIn(ok()) as server:
        with pytest.raises(NoCredentials, match="of mode oauth"):
            choose(base_url=server.url, env=env, state_dir=tmp_path)
        assert server.requests == []


def test_the_command_by_name_needs_no_key(tmp_path: Path, env: dict[str, str], fake_claude: FakeClaude) -> None:
    found = choose(provider="claude-cli", doctor=True, env={**env, **fake_claude.env}, state_dir=tmp_path)
    assert isinstance(found, ClaudeCommand)
    assert found.model == "claude-haiku-5-5"
    assert "its own login" in found.described


def test_no_key_stops_and_lists_the_places(tmp_path: Path, env: dict[str, str]) -> None:
    """B61."""
    with pytest.raises(NoCredentials, match=r"Searched: ANTHROPIC_API_KEY, .*\.zshrc"):
        choose(env=env, state_dir=tmp_path)


def test_warnings_are_handed_on(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / "openclaw.json").write_text("{")
    env["ANTHROPIC_API_KEY"] = "sk-ant-api03-very-secret"
    found = choose(env=env, state_dir=tmp_path)
    assert any("openclaw.json is not valid JSON (line 1)" in warning for warning in found.warnings)


def test_home_is_that_of_the_environment_wherever_the_state_is(tmp_path: Path, env: dict[str, str]) -> None:
    (tmp_path / ".zshrc").write_text("export ANTHROPIC_API_KEY=sk-ant-api03-from-the-shell\n")
    found = choose(env=env, state_dir=tmp_path / "elsewhere")
    assert f"(key: {tmp_path}/.zshrc)" in found.described


def test_choosing_does_not_load_the_client_library(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom lcm_lab.summarizer.chosen import choose\n"
        f"choose(env={{'ANTHROPIC_API_KEY': 'k' * 20, 'HOME': '/'}}, state_dir=Path({str(tmp_path)!r}))\n"
        "print(sorted({'anthropic', 'httpx2', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
