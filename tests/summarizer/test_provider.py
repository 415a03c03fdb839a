"""Where a request goes, decided in one place: every rule of precedence, and every sentence of refusal."""

import json
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.errors import ModelRefused
from lcm_lab.summarizer.provider import DEFAULT_MODEL, DOCTOR_MODEL, Provider, bare_model, resolve

FIRST, SECOND, THIRD, FOURTH = (f"http://127.0.0.1:{port}" for port in (1001, 1002, 1003, 1004))


def config(folder: Path, **providers: dict[str, Any]) -> Path:
    """A state folder whose openclaw.json has these providers."""
    (folder / "openclaw.json").write_text(json.dumps({"models": {"providers": providers}}))
    return folder


def test_flag_then_first_variable_then_second_then_file_then_default(tmp_path: Path) -> None:
    """B59: each source is taken away in turn, and the next one speaks."""
    state = config(tmp_path, anthropic={"baseUrl": FOURTH})
    env = {"LCM_TUI_SUMMARY_BASE_URL": SECOND, "LCM_SUMMARY_BASE_URL": THIRD}
    seen = [resolve(base_url=FIRST, env=env, state_dir=state)]
    seen.append(resolve(env=env, state_dir=state))
    del env["LCM_TUI_SUMMARY_BASE_URL"]
    seen.append(resolve(env=env, state_dir=state))
    del env["LCM_SUMMARY_BASE_URL"]
    seen.append(resolve(env=env, state_dir=state))
    (state / "openclaw.json").unlink()
    seen.append(resolve(env=env, state_dir=state))
    assert [one.base_url for one in seen] == [FIRST, SECOND, THIRD, FOURTH, "https://api.anthropic.com"]
    assert [one.base_url_said_by for one in seen] == [
        "--base-url",
        "LCM_TUI_SUMMARY_BASE_URL",
        "LCM_SUMMARY_BASE_URL",
        str(state / "openclaw.json"),
        "the default",
    ]


def test_provider_and_model_have_the_same_precedence_each_on_its_own(tmp_path: Path) -> None:
    env = {
        "LCM_TUI_SUMMARY_PROVIDER": " MiniMax ",
        "LCM_SUMMARY_PROVIDER": "openai",
        "LCM_TUI_SUMMARY_MODEL": "  ",
        "LCM_SUMMARY_MODEL": "MiniMax-M2",
    }
    found = resolve(env=env, state_dir=tmp_path)
    assert (found.name, found.name_said_by) == ("minimax", "LCM_TUI_SUMMARY_PROVIDER")
    assert (found.model, found.model_said_by) == ("MiniMax-M2", "LCM_SUMMARY_MODEL")
    assert resolve(provider="anthropic", env=env, state_dir=tmp_path).name == "anthropic"


@pytest.mark.parametrize(
    ("provider", "model", "doctor", "expected"),
    [
        (None, None, False, ("anthropic", DEFAULT_MODEL)),
        (None, None, True, ("anthropic", DOCTOR_MODEL)),
        ("minimax", None, True, ("minimax", "MiniMax-M3")),
        (None, "MiniMax-M3", True, ("minimax", "MiniMax-M3")),
        (None, "claude-opus-5-5", True, ("anthropic", "claude-opus-5-5")),
        (None, "minimax/MiniMax-M3", False, ("minimax", "MiniMax-M3")),
        ("anthropic", "anthropic/claude-opus-5-5", False, ("anthropic", "claude-opus-5-5")),
        ("anthropic", "vendor/some-model", False, ("anthropic", "vendor/some-model")),
        (None, "some-model", False, ("anthropic", "some-model")),
        ("CLAUDE-CLI", None, False, ("claude-cli", DEFAULT_MODEL)),
        (None, "claude-cli/sonnet", False, ("claude-cli", "sonnet")),
        (None, "anthropic/", False, ("anthropic", "anthropic/")),
    ],
)
def test_which_provider_and_model(
    tmp_path: Path, provider: str | None, model: str | None, *, doctor: bool, expected: tuple[str, str]
) -> None:
    found = resolve(provider=provider, model=model, doctor=doctor, env={}, state_dir=tmp_path)
    assert (found.name, found.model) == expected


@pytest.mark.parametrize("doctor", [False, True])
def test_a_named_model_decides_against_the_default_provider(tmp_path: Path, *, doctor: bool) -> None:
    """The trap: a default provider won over what the model's name says, and Anthropic was asked for a GPT model."""
    with pytest.raises(ModelRefused, match=r"provider openai .* not supported.*--provider anthropic --base-url"):
        resolve(model="gpt-5.3-codex", doctor=doctor, env={}, state_dir=tmp_path)


def test_a_gateway_is_spoken_to_whatever_its_models_are_called(tmp_path: Path) -> None:
    found = resolve(model="gpt-5", base_url=FIRST, env={}, state_dir=tmp_path)
    assert (found.name, found.model, found.base_url) == ("anthropic", "gpt-5", FIRST)
    with pytest.raises(ModelRefused, match="said by --provider"):
        resolve(provider="openai", base_url=FIRST, env={}, state_dir=tmp_path)


@pytest.mark.parametrize(
    ("given", "base"),
    [
        ("http://x", "http://x"),
        ("http://x/", "http://x"),
        ("http://x/v1", "http://x"),
        ("http://x/v1//", "http://x"),
        ("http://x/v1/messages", "http://x"),
        ("http://x:8080/anthropic/v1/", "http://x:8080/anthropic"),
        ("https://[::1]:9/", "https://[::1]:9"),
    ],
)
def test_addresses_with_and_without_the_part_that_is_added(tmp_path: Path, given: str, base: str) -> None:
    assert resolve(base_url=given, env={}, state_dir=tmp_path).base_url == base


@pytest.mark.parametrize("given", ["localhost:8080", "ftp://x", "http://", "http://x:port", "http://x y", "/"])
def test_what_is_no_address(tmp_path: Path, given: str) -> None:
    with pytest.raises(ModelRefused, match="is no address"):
        resolve(base_url=given, env={}, state_dir=tmp_path)


def test_a_password_in_an_address_is_not_printed(tmp_path: Path) -> None:
    found = resolve(base_url="https://me:hunter2@x.example/v1", env={}, state_dir=tmp_path)
    assert (found.base_url, found.address) == ("https://me:hunter2@x.example", "https://x.example")
    with pytest.raises(ModelRefused) as caught:
        resolve(base_url="https://me:hunter2@", env={}, state_dir=tmp_path)
    assert "hunter2" not in str(caught.value)


def test_the_file_names_a_provider_exactly_or_in_another_case(tmp_path: Path) -> None:
    state = config(tmp_path, Anthropic={"baseUrl": FIRST}, anthropic={"baseUrl": SECOND}, MiniMax={"baseUrl": THIRD})
    assert resolve(env={}, state_dir=state).base_url == SECOND
    assert resolve(provider="minimax", env={}, state_dir=state).base_url == THIRD


def test_the_file_may_have_comments_and_variables(tmp_path: Path) -> None:
    (tmp_path / "openclaw.json").write_text(
        '\ufeff{ // ours\n "models": {"providers": {"anthropic": {"baseUrl": "${GATEWAY}/anthropic",},}}, /* all */ }'
    )
    assert resolve(env={"GATEWAY": "http://gw"}, state_dir=tmp_path).base_url == "http://gw/anthropic"
    assert resolve(env={}, state_dir=tmp_path).base_url == "https://api.anthropic.com"


@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_cannot_be_read_is_a_warning(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "openclaw.json").write_bytes(content)
    found = resolve(env={}, state_dir=tmp_path)
    assert found.base_url == "https://api.anthropic.com"
    assert [w for w in found.warnings if str(tmp_path) in w and "api.anthropic.com" in w]
    assert resolve(base_url=FIRST, env={}, state_dir=tmp_path).warnings == ()


@pytest.mark.parametrize("entry", [None, 7, "x", {"baseUrl": 3}, {"baseUrl": " "}])
def test_odd_entries_of_the_file_say_nothing(tmp_path: Path, entry: Any) -> None:
    state = config(tmp_path, anthropic=entry)
    assert resolve(env={}, state_dir=state).base_url == "https://api.anthropic.com"


def test_other_providers_need_an_address_and_our_interface(tmp_path: Path) -> None:
    with pytest.raises(ModelRefused, match="No address is known for the provider acme"):
        resolve(provider="acme", env={}, state_dir=tmp_path)
    assert resolve(provider="acme", base_url=FIRST, env={}, state_dir=tmp_path).name == "acme"
    state = config(tmp_path, acme={"baseUrl": FIRST, "api": "openai-completions"})
    with pytest.raises(ModelRefused, match="acme speaks openai-completions"):
        resolve(provider="acme", env={}, state_dir=state)
    state = config(tmp_path, acme={"baseUrl": FIRST, "api": "anthropic-messages"})
    assert resolve(provider="acme", env={}, state_dir=state).base_url == FIRST


@pytest.mark.parametrize(
    "model",
    [
        "claude-sonnet-4-20250514",
        "claude-sonnet-4-0",
        "claude-opus-4-20250514",
        "claude-opus-4-1-20250805",
        "claude-3-haiku-20240307",
        "claude-3-5-sonnet-latest",
        "claude-2.1",
        "claude-instant-1.2",
    ],
)
@pytest.mark.parametrize("provider", ["anthropic", "claude-cli"])
def test_retired_models_get_a_sentence(tmp_path: Path, model: str, provider: str) -> None:
    with pytest.raises(ModelRefused) as caught:
        resolve(provider=provider, model=model, env={}, state_dir=tmp_path)
    assert str(caught.value) == (
        f"The model {model} (said by --model) is retired: use --model {DEFAULT_MODEL}, or leave the model out."
    )


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "claude-opus-4-6", "claude-haiku-4-5-20251001", "claude-30-x"])
def test_living_models_pass(tmp_path: Path, model: str) -> None:
    assert resolve(model=model, env={}, state_dir=tmp_path).model == model


def test_a_gateway_decides_itself_which_models_live(tmp_path: Path) -> None:
    assert resolve(model="claude-3-haiku-20240307", base_url=FIRST, env={}, state_dir=tmp_path).base_url == FIRST


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1", True),
        ("http://127.8.0.1", True),
        ("http://[::1]:2", True),
        ("http://0.0.0.0:3", True),
        ("http://a.localhost", True),
        ("http://10.0.0.1", False),
        ("https://localhost.example.com", False),
        ("", False),
    ],
)
def test_what_is_this_machine(url: str, *, local: bool) -> None:
    assert Provider("anthropic", "m", url).is_local is local


def test_bare_names() -> None:
    assert bare_model("us.anthropic/claude-haiku-4-5@20251001") == "claude-haiku-4-5"
    assert bare_model("claude-sonnet-5-5") == "claude-sonnet-5-5"
