"""Which provider, model and address a request goes to: one function, asked by every command alike.

Each of the three is decided on its own, by the first of these that says something: the flag, ``LCM_TUI_SUMMARY_*``,
``LCM_SUMMARY_*``, for the address ``models.providers`` of openclaw.json, and last a default. The answer keeps what
decided each, so that it can be printed before anything is sent. Invariant: a default never decides against a model
that was named, and what comes out can be spoken to: everything else is a :class:`ModelRefused` with one sentence.
Checked by ``tests/summarizer/test_provider.py``.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from lcm_lab.errors import ModelRefused
from lcm_lab.summarizer.openclaw_json import Config, read_config

DEFAULT_MODEL: Final = "claude-sonnet-5-5"
DOCTOR_MODEL: Final = "claude-haiku-5-5"
ANTHROPIC: Final = "anthropic"
CLAUDE_CLI: Final = "claude-cli"
DEFAULT_ADDRESSES: Final[Mapping[str, str]] = {
    ANTHROPIC: "https://api.anthropic.com",
    "minimax": "https://api.minimax.io/anthropic",
    "minimax-cn": "https://api.minimaxi.com/anthropic",
}
BY_DEFAULT: Final = "the default"

_MINIMAX_MODEL: Final = "MiniMax-M3"
_OTHER_INTERFACE: Final = ("openai", "openai-codex", "github-copilot")
_OPENAI_MODELS: Final = re.compile(r"gpt-|o[134]|.*codex", re.IGNORECASE)
_RETIRED: Final = re.compile(
    r"claude-(?:instant|[123](?![\d])).*"
    r"|claude-(?:opus|sonnet)-4(?:-0|-latest|[-@]20250514)?"
    r"|claude-opus-4-1(?:[-@]20250805)?"
    r"|claude-4-(?:opus|sonnet).*",
    re.IGNORECASE,
)
"""Model ids that Anthropic's own API no longer answers to (published retirements up to November 2026)."""


@dataclass(frozen=True, slots=True)
class Provider:
    """Where requests go. ``base_url`` has no trailing slash and no ``/v1``; it is empty for the claude command.

    The ``..._said_by`` fields name the flag, variable or file that decided; ``warnings`` are sentences to print.
    """

    name: str
    model: str
    base_url: str
    name_said_by: str = BY_DEFAULT
    model_said_by: str = BY_DEFAULT
    base_url_said_by: str = BY_DEFAULT
    warnings: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """The base URL as it may be printed: without a user name or password in it."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))

    @property
    def is_official(self) -> bool:
        """Whether this is Anthropic's own API."""
        return (urlsplit(self.base_url).hostname or "") == "api.anthropic.com"

    @property
    def is_local(self) -> bool:
        """Whether the address is this machine, where servers usually want no key."""
        host = urlsplit(self.base_url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        try:
            number = ipaddress.ip_address(host)
        except ValueError:
            return False
        return number.is_loopback or number.is_unspecified


@dataclass(frozen=True, slots=True)
class _Said:
    """A value and what said it; the value is empty where nobody said anything."""

    value: str
    by: str


def resolve(
    *,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    env: Mapping[str, str],
    state_dir: Path,
    doctor: bool = False,
) -> Provider:
    """Provider, model and address for the flags given (None or blank: not given).

    ``prefix/name`` as model names the provider when nothing else does; the provider's own prefix is dropped, and any
    other one belongs to the model's name. ``doctor`` only changes the default model.

    Raises:
        ModelRefused: a provider we cannot speak to, no usable address, or a model that was retired.
    """
    config = read_config(state_dir)
    name, model_said = _name_and_model(
        _said(provider, "--provider", "PROVIDER", env), _said(model, "--model", "MODEL", env)
    )
    url = _said(base_url, "--base-url", "BASE_URL", env)
    if name.value in _OTHER_INTERFACE and name.by.startswith("the name of the model") and url.value:
        # A gateway was named: whatever its models are called, it is spoken to in Anthropic's way.
        name = _Said(ANTHROPIC, url.by)
    if name.value in _OTHER_INTERFACE:
        raise ModelRefused(
            f"The provider {name.value} (said by {name.by}) is not supported, only Anthropic's Messages API is: give"
            " the address of a gateway that speaks it, with --provider anthropic --base-url ADDRESS."
        )
    if not model_said.value:
        model_said = _Said(_default_model(name.value, doctor=doctor), BY_DEFAULT)
    if name.value == CLAUDE_CLI:
        found = Provider(CLAUDE_CLI, model_said.value, "", name.by, model_said.by)
    else:
        url, warnings = _address(name.value, url, config, env)
        found = Provider(name.value, model_said.value, _base(url), name.by, model_said.by, url.by, warnings)
    if (found.is_official or found.name == CLAUDE_CLI) and _RETIRED.fullmatch(found.model):
        raise ModelRefused(unusable_model(found.model, found.model_said_by, "is retired"))
    return found


def unusable_model(model: str, said_by: str, why: str, provider: str = ANTHROPIC) -> str:
    """The sentence for a model that will not answer, with the one to use instead."""
    instead = _default_model(provider, doctor=model == DEFAULT_MODEL)
    other = f"use --model {instead}, or leave the model out" if instead != model else "name another with --model"
    return f"The model {model} (said by {said_by}) {why}: {other}."


def bare_model(model: str) -> str:
    """The name of a model without a gateway's prefix, the date of its release and the size of its window.

    >>> bare_model("anthropic/claude-haiku-4-5-20251001"), bare_model("claude-sonnet-5-5[1m]")
    ('claude-haiku-4-5', 'claude-sonnet-5-5')
    """
    return re.sub(r"(?:[-@]\d{8}|-latest)?(?:\[1m\])?$", "", model.strip().rpartition("/")[2].lower())


def _said(flag: str | None, flag_name: str, what: str, env: Mapping[str, str]) -> _Said:
    if flag is not None and flag.strip():
        return _Said(flag.strip(), flag_name)
    for variable in (f"LCM_TUI_SUMMARY_{what}", f"LCM_SUMMARY_{what}"):
        if env.get(variable, "").strip():
            return _Said(env[variable].strip(), variable)
    return _Said("", BY_DEFAULT)


def _name_and_model(name: _Said, model: _Said) -> tuple[_Said, _Said]:
    name = _Said(name.value.lower(), name.by)
    prefix, slash, rest = model.value.partition("/")
    prefix, rest = prefix.strip().lower(), rest.strip()
    if slash and prefix and rest and prefix == (name.value or prefix):
        return (name if name.value else _Said(prefix, model.by)), _Said(rest, model.by)
    if name.value:
        return name, model
    if not model.value:
        return _Said(ANTHROPIC, BY_DEFAULT), model
    return _Said(_inferred(model.value), f"the name of the model, {model.by}"), model


def _inferred(model: str) -> str:
    if model.lower().startswith("minimax-"):
        return "minimax"
    if not model.lower().startswith("claude") and _OPENAI_MODELS.match(model):
        return "openai"
    return ANTHROPIC


def _default_model(provider: str, *, doctor: bool) -> str:
    if provider in ("minimax", "minimax-cn"):
        return _MINIMAX_MODEL
    return DOCTOR_MODEL if doctor else DEFAULT_MODEL


def _address(name: str, said: _Said, config: Config, env: Mapping[str, str]) -> tuple[_Said, tuple[str, ...]]:
    if said.value:
        return said, ()
    entry = config.provider(name, env)
    if entry.base_url:
        if entry.speaks and "anthropic" not in entry.speaks.lower():
            raise ModelRefused(
                f"The provider {name} speaks {entry.speaks} according to {config.path}, and only Anthropic's Messages"
                " API is supported: give the address of a gateway that speaks it with --base-url."
            )
        return _Said(entry.base_url, str(config.path)), ()
    if name in DEFAULT_ADDRESSES:
        default = DEFAULT_ADDRESSES[name]
        warnings = (f"{config.problem} An address in it is not used; requests go to {default}.",)
        return _Said(default, BY_DEFAULT), warnings if config.problem else ()
    raise ModelRefused(
        f"No address is known for the provider {name}: give that of a server that speaks Anthropic's Messages API with"
        f" --base-url, or use --provider {ANTHROPIC}." + (f" {config.problem}" if config.problem else "")
    )


def _base(url: _Said) -> str:
    """The address without trailing slashes and without the part of the path that the client library adds itself."""
    base = url.value.rstrip("/")
    base = base.removesuffix("/messages").rstrip("/").removesuffix("/v1").rstrip("/")
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f]", base):
        shown = base.rpartition("@")[2]
        raise ModelRefused(
            f"{shown!r} (said by {url.by}) is no address: it has to be like {DEFAULT_ADDRESSES[ANTHROPIC]} or"
            " http://localhost:8080."
        )
    return base
