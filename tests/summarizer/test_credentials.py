"""Where a key is found, in which order, and that it is never shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.errors import NoCredentials
from lcm_lab.summarizer.credentials import PLACEHOLDER, Key, find_key, variable_of
from lcm_lab.summarizer.provider import Provider

OFFICIAL = Provider("anthropic", "m", "https://api.anthropic.com")
MINIMAX = Provider("minimax-cn", "m", "https://api.minimaxi.com/anthropic")
LOCAL = Provider("anthropic", "m", "http://localhost:8080", base_url_said_by="--base-url")
NAME = "ANTHROPIC_API_KEY"


def key(number: int) -> str:
    """A key that looks like one."""
    return f"sk-ant-api03-number-{number}"


class Place:
    """A state folder and a home to put files in."""

    def __init__(self, root: Path) -> None:
        self.state, self.home, self.env = root / "state", root / "home", dict[str, str]()
        self.state.mkdir()
        self.home.mkdir()

    def put(self, name: str, content: Any) -> None:
        """A file of the state folder; anything but a text as JSON."""
        path = self.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))

    def find(self, provider: Provider = OFFICIAL) -> Key:
        """The key that is found."""
        return find_key(provider, env=self.env, state_dir=self.state, home=self.home)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_the_order_of_the_places(place: Place) -> None:
    """All places hold a key; each is emptied in turn, and the next one answers."""
    place.env = {NAME: key(1), "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-number-2"}
    place.put("secrets.json", {"anthropic-setup-token": "sk-ant-oat01-number-3", "anthropic": key(99)})
    place.put(".env", f"OTHER=1\nexport {NAME}='{key(4)}'\n")
    (place.home / ".zshrc").write_text(f'# export {NAME}=old\n{NAME}="{key(5)}" # mine\n')
    files = ("auth-tokens.json", "credentials/auth-tokens.json", "credentials/anthropic.json",
             "credentials/providers/anthropic.json")  # fmt: skip
    for number, name in enumerate(files, 6):
        place.put(name, {"api_key": key(number)})

    def drop(number: int) -> None:
        if number <= 2:
            place.env.pop((NAME, "CLAUDE_CODE_OAUTH_TOKEN")[number - 1])
        else:
            at = {3: place.state / "secrets.json", 4: place.state / ".env", 5: place.home / ".zshrc"}
            at.get(number, place.state / files[number - 6]).unlink()

    for number in range(1, 10):
        found = place.find()
        assert found.secret.endswith(f"number-{number}"), found.where
        assert found.for_command is (number in (2, 3))
        drop(number)
    with pytest.raises(NoCredentials):
        place.find()


def test_every_place_that_was_searched_is_listed(place: Place) -> None:
    """B61."""
    with pytest.raises(NoCredentials) as caught:
        place.find()
    said = str(caught.value)
    for part in (
        NAME, "CLAUDE_CODE_OAUTH_TOKEN", "secrets.json", str(place.state / ".env"), str(place.home / ".zshrc"),
        "auth-tokens.json", "credentials/anthropic.json", "credentials/providers/anthropic.json",
    ):  # fmt: skip
        assert part in said
    with pytest.raises(NoCredentials, match="MINIMAX_API_KEY") as caught:
        place.find(MINIMAX)
    assert "CLAUDE" not in str(caught.value)


def test_the_key_is_never_shown() -> None:
    found = Key("sk-ant-api03-secret", "ANTHROPIC_API_KEY")
    assert "secret" not in repr(found) + str(found)


@pytest.mark.parametrize("mode", ["oauth", "token", " OAuth "])
@pytest.mark.parametrize("provider", [OFFICIAL, LOCAL])
def test_a_login_of_another_mode_is_found_before_any_request(place: Place, mode: str, provider: Provider) -> None:
    """B60: the profile says that there is no key to be had."""
    place.put("openclaw.json", {"auth": {"profiles": {"anthropic:default": {"provider": "anthropic", "mode": mode}}}})
    place.put(".env", f"{NAME}={key(1)}")
    with pytest.raises(NoCredentials, match=r"anthropic:default .* is of mode (oauth|token).*set ANTHROPIC_API_KEY"):
        place.find(provider)
    place.env[NAME] = key(2)
    assert place.find(provider).secret == key(2)


def test_which_profile_counts(place: Place) -> None:
    def profiles(**modes: tuple[str, str]) -> None:
        entries = {name.replace("_", ":"): {"provider": who, "mode": mode} for name, (who, mode) in modes.items()}
        place.put("openclaw.json", {"auth": {"profiles": entries}})

    place.put(".env", f"{NAME}={key(1)}")
    profiles(anthropic_other=("anthropic", "oauth"), anthropic_default=("anthropic", "api_key"))
    assert place.find().secret == key(1)
    profiles(anthropic_default=("openai", "oauth"), anthropic_manual=("anthropic", ""))
    assert place.find().secret == key(1)
    profiles(anthropic_work=("anthropic", "oauth"))
    with pytest.raises(NoCredentials, match="anthropic:work"):
        place.find()


@pytest.mark.parametrize("token", ["sk-ant-oat01-test", "sk-ant-oat02-something-long"])
def test_a_subscription_token_is_for_the_command(place: Place, token: str) -> None:
    """B60."""
    place.env[NAME] = token
    found = place.find()
    assert (found.for_command, found.where) == (True, NAME)
    with pytest.raises(NoCredentials) as caught:
        place.find(LOCAL)
    assert "only the claude command may use" in str(caught.value)
    assert "http://localhost:8080 (said by --base-url)" in str(caught.value)
    assert token not in str(caught.value)


@pytest.mark.parametrize("content", ["{", "[1]"])
def test_an_unreadable_configuration(place: Place, content: str) -> None:
    place.put("openclaw.json", content)
    place.put(".env", f"{NAME}={key(1)}")
    with pytest.raises(
        NoCredentials, match=r"openclaw\.json (is not valid JSON|holds no JSON object).*repair it, or set"
    ):
        place.find()
    place.env[NAME] = key(2)
    found = place.find()
    assert found.secret == key(2)
    assert "openclaw.json" in found.warnings[0]


def test_a_server_on_this_machine_needs_no_key(place: Place) -> None:
    assert place.find(LOCAL).secret == PLACEHOLDER
    place.put(".env", f"{NAME}={key(1)}")
    assert place.find(LOCAL).secret == key(1)


@pytest.mark.parametrize("value", ["two words here and there", "sk-ant-ключ-1234567890", "a\x1bb"])
def test_what_is_no_key(place: Place, value: str) -> None:
    place.env[NAME] = value
    with pytest.raises(NoCredentials, match="is no key") as caught:
        place.find()
    assert value not in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "ANTHROPIC_API_KEY=short",
        "ANTHROPIC_API_KEY=$SOME_OTHER_VARIABLE",
        'ANTHROPIC_API_KEY="$(cat ~/.key/of-mine)"',
        "MY_ANTHROPIC_API_KEY=sk-ant-api03-not-this-one",
        "#ANTHROPIC_API_KEY=sk-ant-api03-not-this-one",
        "",
    ],
)
def test_lines_without_a_key(place: Place, line: str) -> None:
    (place.home / ".zshrc").write_text(line + "\n")
    with pytest.raises(NoCredentials):
        place.find()


def test_the_last_line_counts_as_in_a_shell(place: Place) -> None:
    place.put(".env", f"{NAME}={key(1)}\r\n  export  {NAME} = {key(2)}\r\n")
    assert place.find().secret == key(2)


@pytest.mark.parametrize(
    ("content", "number"),
    [
        ({"anthropic": {"key": key(1)}, "b": {"api_key": key(2)}}, 1),
        ({"token": key(1), "anthropic_api_key": key(2)}, 2),
        ({"deep": [{"list": [{"ANTHROPIC_API_KEY": f" {key(3)} "}]}]}, 3),
        ({"anthropicApiKey": key(4)}, 4),
        ({"openai": {"api_key": "sk-other-provider-key"}, "anthropic": {"api_key": key(5)}}, 5),
        (["nothing", key(6)], 6),
        (key(7), 7),
        ({"note": key(8), "key": key(9)}, 9),
        (f"{NAME}={key(10)}\n", 10),
    ],
)
def test_files_are_searched_in_a_fixed_order(place: Place, content: Any, number: int) -> None:
    place.put("auth-tokens.json", content if isinstance(content, str) and "=" in content else json.dumps(content))
    assert place.find().secret == key(number)


def test_no_provider_gets_the_key_of_another(place: Place) -> None:
    place.put("auth-tokens.json", {"openai": {"api_key": "sk-openai-1234567890"}, "anthropic": {"key": key(1)}})
    with pytest.raises(NoCredentials):
        place.find(MINIMAX)
    place.put("credentials/minimax-cn.json", {"token": key(2)})
    with pytest.raises(NoCredentials):
        place.find(MINIMAX)
    place.put("credentials/minimax-cn.json", {"token": "mm-1234567890123456"})
    assert place.find(MINIMAX).secret == "mm-1234567890123456"  # noqa: S105  (a made-up one)


@pytest.mark.parametrize("name", ["auth-tokens.json", "secrets.json", ".env"])
def test_odd_files_hold_nothing(place: Place, name: str) -> None:
    (place.state / name).mkdir()
    with pytest.raises(NoCredentials):
        place.find()
    (place.state / name).rmdir()
    (place.state / name).write_bytes(b"\xff\xfe\x00[[[" + b"[" * 100_000)
    with pytest.raises(NoCredentials):
        place.find()


def test_names_of_variables() -> None:
    assert [variable_of(name) for name in ("anthropic", "minimax-cn", "my-gate.way", "../x")] == [
        "ANTHROPIC_API_KEY",
        "MINIMAX_API_KEY",
        "MY_GATE_WAY_API_KEY",
        "___X_API_KEY",
    ]
