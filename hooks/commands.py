"""What the tool calls of a turn show: which checks still fail, which failed command passed later, which files changed.

Idea: a check (tests, build, lint, a push) that fails and never passes in its turn is an open fault, whoever talks about it;
a search that finds nothing also ends with an error and is none. A later success of the same check closes it.
Invariant: two commands count as the same only when the later one asks for no less than the earlier one.
Checked in tests/hooks/test_classifier.py.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

CHECK = re.compile(
    r"\b(?:pytest|unittest|tox|nox|go (?:test|build|vet)|cargo (?:test|build|check|clippy|run)|(?:npm|pnpm|yarn|bun) (?:test|ci|install|run)|jest|vitest|"
    r"tsc|eslint|make|mvn|gradlew?|ruff|mypy|pyright|golangci-lint|mise run|just|bazel|dotnet|rspec|bundle exec|phpunit|cmake|"
    r"ctest|docker (?:build|compose)|terraform|swift (?:test|build)|mix test|git (?:push|merge|rebase|commit|cherry-pick|pull|apply|gc))\b"
)
NOISE = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head|grep|less|cat|tee)\b[^|;&]*|;\s*echo\b[^;&]*|>\s*/dev/null|2>/dev/null)")
SETUP = re.compile(r"^\s*(?:(?:cd|source|export|set)\s[^;&|]*(?:&&|;)|timeout\s+\S+|time\s|[A-Z_][A-Z0-9_]*=\S*)\s*")
EVERYTHING = frozenset({"./...", ".", "-v", "-q", "-x", "-race", "--verbose", "-count=1"})
FAULT_LINE = re.compile(
    r"^.*(?:\berror\b|\bfail(?:ed|ure|s)?\b|\bfatal\b|\bpanic\b|exception|cannot |undefined|not found|assert).*$", re.IGNORECASE | re.MULTILINE
)
REJECTED = ("The user doesn't want to proceed", "[Request interrupted", "Permission to use", "<tool_use_error>")
FILES = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def core(command: str) -> str:
    """The part of a shell line that does the work: without folder changes, environment, pipes to a pager."""
    line = NOISE.sub("", command.strip())
    while (shorter := SETUP.sub("", line)) != line:
        line = shorter
    return " ".join(line.split())


def covers(later: str, earlier: str) -> bool:
    """True where a success of `later` says that `earlier` would succeed too."""
    if later == earlier:
        return True
    new, old = later.split(), earlier.split()
    return bool(CHECK.search(later)) and new[:2] == old[:2] and set(new) - EVERYTHING <= set(old)


def _ran(tools: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    for call in tools:
        if call.name == "Bash" and call.output is not None and not call.sidechain:
            command = call.input.get("command")
            if isinstance(command, str) and not call.output.lstrip().startswith(REJECTED):
                yield core(command), call


def passes(failed: str, tools: Iterable[Any]) -> bool:
    """True where the newest run of a failed command, or of one that asks for more, went well."""
    verdict = False
    for command, call in _ran(tools):
        if covers(command, failed) and not call.input.get("run_in_background"):
            verdict = not call.is_error
    return verdict


def still_failing(tools: Iterable[Any]) -> list[tuple[str, str]]:
    """(command, what it said) of each check whose newest run in the turn failed, at most the last three."""
    open_now: dict[str, str] = {}
    for command, call in _ran(tools):
        if call.is_error and CHECK.search(command):
            open_now.pop(command, None)
            open_now[command] = _complaint(call.output)
        elif not call.is_error and not call.input.get("run_in_background"):
            for earlier in [known for known in open_now if covers(command, known)]:
                del open_now[earlier]
    return list(open_now.items())[-3:]


def _complaint(output: str) -> str:
    body = re.sub(r"\x1b\[[0-9;]*m", "", output[:20_000])
    found = FAULT_LINE.search(body, body.find("\n") + 1) if body.startswith(("Exit code", "Error: Exit code")) else FAULT_LINE.search(body)
    return " ".join(found.group().split())[:110] if found else ""


def changed_files(tools: Iterable[Any]) -> list[str]:
    """The names of the files that were written, each once, in order."""
    names: dict[str, None] = {}
    for call in tools:
        path = call.input.get("file_path") or call.input.get("notebook_path")
        if call.name in FILES and not call.is_error and call.output is not None and isinstance(path, str):
            names[re.split(r"[\\/]", path)[-1]] = None
    return list(names)
