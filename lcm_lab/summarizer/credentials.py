"""The key for a provider, and where it was found.

The places are searched in one fixed order: the environment, the claude command's token, OpenClaw's own files, the
shell's start file. Invariants: nothing is sent before the key is settled, a key is never printed (its repr hides it),
and a subscription token (``sk-ant-oat...``) is marked as one, because only the claude command may use it. Whoever finds
nothing is told every place that was searched. Checked by ``tests/summarizer/test_credentials.py``.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from lcm_lab.errors import NoCredentials
from lcm_lab.summarizer.key_files import Wanted, in_lines, in_text, looks_like_key, read_text
from lcm_lab.summarizer.openclaw_json import read_config
from lcm_lab.summarizer.provider import ANTHROPIC, BY_DEFAULT, Provider

PLACEHOLDER: Final = "no-key-needed"
"""Sent to a server on this machine when no key is known: the client library insists on one."""

TOKEN_VARIABLE: Final = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105  (a name)
SECRETS: Final = "secrets.json"
_SUBSCRIPTION: Final = "sk-ant-oat"
_ONLY_PRINTABLE: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Key:
    """A key and where it was found. ``for_command``: a subscription token, for the claude command alone."""

    secret: str = field(repr=False)
    where: str
    for_command: bool = False
    warnings: tuple[str, ...] = ()


def variable_of(provider: str) -> str:
    """The environment variable that holds a provider's key."""
    name = "minimax" if provider.startswith("minimax") else provider
    return re.sub(r"\W|-", "_", name).upper() + "_API_KEY"


def find_key(provider: Provider, *, env: Mapping[str, str], state_dir: Path, home: Path) -> Key:
    """The key for a provider; a placeholder for a server on this machine that has none.

    ``home`` is where ``.zshrc`` is looked for, wherever the state folder is.

    Raises:
        NoCredentials: no key, a login that cannot be used here, or a configuration that cannot be read.
    """
    wanted = Wanted(provider.name, variable_of(provider.name), "sk-ant-" if provider.name == ANTHROPIC else "")
    config = read_config(state_dir)
    key = _given(wanted, env, state_dir)
    if key is not None:
        # The file could only have said that some other login is meant; with a key at hand that is no reason to stop.
        return _checked(key, provider, (config.problem,) if config.problem else ())
    instead = f"set {wanted.variable} to an API key"
    other = ", or use the claude command with --provider claude-cli" if provider.name == ANTHROPIC else ""
    if config.problem:
        raise NoCredentials(f"{config.problem} It says which login {provider.name} uses: repair it, or {instead}.")
    profile = config.profile(provider.name)
    if profile is not None and profile.mode not in ("", "api_key"):
        raise NoCredentials(
            f"The login {profile.name} in {config.path} is of mode {profile.mode}, which cannot be used here:"
            f" {instead}{other}."
        )
    key = _in_files(wanted, state_dir, home)
    if key is not None:
        return _checked(key, provider, ())
    if provider.is_local:
        return Key(PLACEHOLDER, "none was found, a placeholder is sent")
    places = ", ".join(_places(wanted, state_dir, home))
    raise NoCredentials(f"No key for {provider.name} was found: {instead}{other}. Searched: {places}.")


def _given(wanted: Wanted, env: Mapping[str, str], state_dir: Path) -> Key | None:
    """A key that is taken whatever the login is said to be."""
    value = env.get(wanted.variable, "").strip()
    if value:
        return Key(value, wanted.variable)
    if wanted.provider != ANTHROPIC:
        return None
    value = env.get(TOKEN_VARIABLE, "").strip()
    if value:
        return Key(value, TOKEN_VARIABLE, for_command=True)
    token = _setup_token(state_dir / SECRETS)
    return Key(token, str(state_dir / SECRETS)) if token else None


def _setup_token(path: Path) -> str | None:
    try:
        data = json.loads(read_text(path) or "")
    except (ValueError, RecursionError):
        return None
    token = data.get("anthropic-setup-token") if isinstance(data, dict) else None
    return token.strip() if isinstance(token, str) and looks_like_key(token.strip()) else None


def _in_files(wanted: Wanted, state_dir: Path, home: Path) -> Key | None:
    for path in (state_dir / ".env", home / ".zshrc"):
        value = in_lines(read_text(path) or "", wanted.variable)
        if value:
            return Key(value, str(path))
    for path, shared in _key_files(wanted, state_dir):
        value = in_text(read_text(path) or "", wanted, shared=shared)
        if value:
            return Key(value, str(path))
    return None


def _key_files(wanted: Wanted, state_dir: Path) -> list[tuple[Path, bool]]:
    """The files of keys, and whether each is shared with other providers."""
    folder = state_dir / "credentials"
    shared = [(state_dir / "auth-tokens.json", True), (folder / "auth-tokens.json", True)]
    # A provider's name may be anything that was typed; only a plain one is part of a path.
    if not re.fullmatch(r"[\w-]+", wanted.provider):
        return shared
    own = f"{wanted.provider}.json"
    return [*shared, (folder / own, False), (folder / "providers" / own, False)]


def _places(wanted: Wanted, state_dir: Path, home: Path) -> list[str]:
    claude = [TOKEN_VARIABLE, str(state_dir / SECRETS)] if wanted.provider == ANTHROPIC else []
    files = [state_dir / ".env", home / ".zshrc", *(path for path, _ in _key_files(wanted, state_dir))]
    return [wanted.variable, *claude, *map(str, files)]


def _checked(key: Key, provider: Provider, warnings: tuple[str, ...]) -> Key:
    if not _ONLY_PRINTABLE.fullmatch(key.secret):
        raise NoCredentials(f"What {key.where} holds is no key: there are blanks or special characters in it.")
    for_command = key.for_command or key.secret.startswith(_SUBSCRIPTION)
    if for_command and (provider.name != ANTHROPIC or provider.base_url_said_by != BY_DEFAULT):
        # Taking the command instead would send the text somewhere else than the user said.
        raise NoCredentials(
            f"{key.where} holds a subscription token, which only the claude command may use and not"
            f" {provider.address} (said by {provider.base_url_said_by}): set {variable_of(provider.name)} to a key for"
            " that address, or leave the address out."
        )
    return Key(key.secret, key.where, for_command=for_command, warnings=warnings)
