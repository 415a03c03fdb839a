"""Keys in files: lines like ``NAME=value``, and JSON searched through in a fixed order.

Invariant: what is returned looks like a key (16 characters up, nothing but printable ASCII, no blank), and a file that
several providers share never gives one provider the key of another. Checked by
``tests/summarizer/test_credentials.py``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SHORTEST_KEY: Final = 16
_LARGEST_FILE: Final = 4 * 1024 * 1024
_ONLY_PRINTABLE: Final = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """The key that is looked for: whose, the variable it would be in, and how it begins ('' where nobody knows)."""

    provider: str
    variable: str
    prefix: str


def looks_like_key(text: str) -> bool:
    """Whether a text can be a key at all."""
    return len(text) >= SHORTEST_KEY and bool(_ONLY_PRINTABLE.fullmatch(text))


def read_text(path: Path) -> str | None:
    """The text of a regular file of a sensible size; None for everything else."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        return path.read_text("utf-8-sig", "replace")
    except (OSError, ValueError):
        return None


def in_lines(text: str, variable: str) -> str | None:
    """The last value that lines like ``export NAME="value"`` give a variable, as a shell would have it."""
    found = None
    pattern = re.compile(rf"\s*(?:export\s+)?{re.escape(variable)}\s*=\s*(\"[^\"]*\"|'[^']*'|\S*)")
    for line in text.splitlines():
        if match := pattern.match(line):
            value = match[1].strip("\"'").strip()
            # $NAME and $(command) are for a shell to fill in.
            found = value if looks_like_key(value) and not value.startswith("$") else found
    return found


def in_text(text: str, wanted: Wanted, *, shared: bool) -> str | None:
    """The key in a file of credentials: JSON, else lines. ``shared``: the file holds more providers than one."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return in_lines(text, wanted.variable)
    own = f"{wanted.provider}_api_key".replace("-", "_")
    strong = (wanted.variable.lower(), own)
    candidates = list(_texts(data, ()))
    for path, value in candidates:
        if path and _plain(path[-1]) in strong and _fits(value, wanted):
            return value
    for path, value in candidates:
        named = bool(path) and (_plain(path[-1]) in ("key", "token") or "api_key" in _plain(path[-1]))
        ours = not shared or bool(wanted.prefix) or any(wanted.provider in part.lower() for part in path)
        if named and ours and _fits(value, wanted):
            return value
    # A bare text can only be told by how it begins.
    return next((value for _, value in candidates if wanted.prefix and _fits(value, wanted)), None)


def _fits(value: str, wanted: Wanted) -> bool:
    # The key of another provider, in a file that has one for each, begins in a way that is known for Anthropic only.
    foreign = not wanted.prefix and value.startswith("sk-ant-")
    return looks_like_key(value) and value.startswith(wanted.prefix) and not foreign


def _plain(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", name).replace("-", "_").lower()


def _texts(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every text of a JSON value with the names that lead to it, in the order of the file."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(inner, (*path, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, path)
    elif isinstance(value, str):
        yield path, value.strip()
