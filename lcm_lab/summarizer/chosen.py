"""From flags, environment and files to something that answers requests, the same way for every command.

Everything that can be known to be wrong is found here, before anything is sent. Invariant: a subscription token is only
ever handed to the claude command. Checked by ``tests/summarizer/test_chosen.py``.
"""

import threading
from collections.abc import Mapping
from pathlib import Path

from lcm_lab.errors import NoCredentials
from lcm_lab.summarizer.anthropic_api import AnthropicSummarizer, OnWait
from lcm_lab.summarizer.claude_cli import ClaudeCommand
from lcm_lab.summarizer.credentials import find_key
from lcm_lab.summarizer.patience import Patience
from lcm_lab.summarizer.provider import CLAUDE_CLI, resolve

Chosen = AnthropicSummarizer | ClaudeCommand
"""A summarizer that also has ``warnings``: sentences to print before the first request."""


def choose(  # noqa: PLR0913  (all by name, three are the flags)
    *,
    provider: str | None = None,
    model: str | None = None,
    base_url: str | None = None,
    env: Mapping[str, str],
    state_dir: Path,
    doctor: bool = False,
    patience: Patience | None = None,
    on_wait: OnWait | None = None,
    cancelled: threading.Event | None = None,
) -> Chosen:
    """The summarizer for the flags given (None or blank: not given); nothing is sent.

    ``env`` also says where home is and where the claude command is looked for.

    Raises:
        ModelRefused: no such provider, address or model.
        NoCredentials: no key, or no claude command for a subscription token.
    """
    patience = patience or Patience()
    to = resolve(provider=provider, model=model, base_url=base_url, env=env, state_dir=state_dir, doctor=doctor)
    if to.name == CLAUDE_CLI:
        return ClaudeCommand(to.model, env=env, timeout=patience.deadline, cancelled=cancelled, warnings=to.warnings)
    key = find_key(to, env=env, state_dir=state_dir, home=_home(env))
    if key.for_command:
        warnings = to.warnings + key.warnings
        return ClaudeCommand(
            to.model, env=env, token=key, timeout=patience.deadline, cancelled=cancelled, warnings=warnings
        )
    return AnthropicSummarizer(to, key, patience=patience, on_wait=on_wait, cancelled=cancelled)


def _home(env: Mapping[str, str]) -> Path:
    if env.get("HOME", "").strip():
        return Path(env["HOME"])
    try:
        return Path.home()
    except RuntimeError:
        raise NoCredentials("There is no home folder to look for a key in: set HOME.") from None
