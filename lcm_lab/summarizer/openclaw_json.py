"""OpenClaw's configuration file, read for two things only: the address of a provider and the mode of its login.

A file that is missing is normal and says nothing; one that is there and cannot be read is a :attr:`Config.problem`, a
sentence that the caller either prints as a warning or raises. Comments and trailing commas are allowed, as OpenClaw
itself allows them. Checked by ``tests/summarizer/test_provider.py``.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

FILE: Final = "openclaw.json"
_COMMENT_OR_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_COMMA_OR_TEXT: Final = re.compile(r'"(?:\\.|[^"\\])*"|,(?=\s*[}\]])', re.DOTALL)
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class ProviderEntry:
    """What the file says of one provider; None where it says nothing. ``speaks`` is the kind of interface it names."""

    base_url: str | None = None
    speaks: str | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """One login of the file: its name and its mode, in lower case (empty: not said)."""

    name: str
    mode: str


@dataclass(frozen=True, slots=True)
class Config:
    """The file as read. ``data`` is empty when it is missing or unreadable; then ``problem`` tells the two apart."""

    path: Path
    data: Mapping[str, Any]
    problem: str | None = None

    def provider(self, name: str, env: Mapping[str, str]) -> ProviderEntry:
        """What is said of a provider: by its exact name, else by one that differs in case only."""
        providers = _mapping(_mapping(self.data.get("models")).get("providers"))
        same = [key for key in providers if key == name] or [key for key in providers if key.lower() == name.lower()]
        entry = _mapping(providers[same[0]]) if same else {}
        return ProviderEntry(_text(entry.get("baseUrl"), env), _text(entry.get("api"), env))

    def profile(self, provider: str) -> Profile | None:
        """The login that OpenClaw would take for a provider: ``:default``, ``:manual``, then the first that fits."""
        profiles = _mapping(_mapping(self.data.get("auth")).get("profiles"))
        fitting = [
            Profile(name, str(_mapping(one).get("mode") or "").strip().lower())
            for name, one in profiles.items()
            if str(_mapping(one).get("provider") or "").strip().lower() == provider
        ]
        preferred = (f"{provider}:default", f"{provider}:manual")
        return next((one for want in preferred for one in fitting if one.name == want), next(iter(fitting), None))


def read_config(state_dir: Path) -> Config:
    """The configuration in a state folder; raises nothing."""
    path = state_dir / FILE
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        return Config(path, {})
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        return Config(path, {}, f"{path} cannot be read: {why}.")
    try:
        data = _loads(text)
    except (ValueError, RecursionError) as error:
        where = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        return Config(path, {}, f"{path} is not valid JSON{where}.")
    if not isinstance(data, dict):
        return Config(path, {}, f"{path} holds no JSON object.")
    return Config(path, data)


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        # Line ends stay where they are, so that a line that is named is the file's own.
        bare = _COMMENT_OR_TEXT.sub(lambda found: _kept(found, "/"), text)
        return json.loads(_COMMA_OR_TEXT.sub(lambda found: _kept(found, ","), bare))


def _kept(found: re.Match[str], unwanted: str) -> str:
    return "\n" * found[0].count("\n") if found[0].startswith(unwanted) else found[0]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any, env: Mapping[str, str]) -> str | None:
    """A non-blank text with ``${NAME}`` filled in from the environment; None if it is none, or a name is unset."""
    if not isinstance(value, str) or not value.strip():
        return None
    if any(not env.get(name, "").strip() for name in _VARIABLE.findall(value)):
        return None
    return _VARIABLE.sub(lambda found: env[found[1]].strip(), value).strip()
