"""What the tool calls of a turn show: which checks still fail, which failed command passed later, which files changed.

Idea: a check (tests, build, lint, a push) that fails and never passes in its turn is an open fault, whoever talks about
it; a search that finds nothing also ends with an error and is none. A later success of the same check closes it.
Invariant: two commands count as the same only when the later one asks for no less than the earlier one.
Checked in tests/hooks/test_classifier.py.
"""

from __future__ import annotations

import re

try:
    from .turns import REJECTED
except ImportError:  # run as a script: the folder of the script is on the path
    from turns import REJECTED  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

CHECK = re.compile(
    r"(?:\S*/)?(?:(?:python3?|uv run|poetry run|npx|bunx|sudo) (?:-m )?)?"
    r"(?:pytest|unittest|tox|nox|go (?:test|build|vet)|cargo (?:test|build|check|clippy|run)|"
    r"(?:npm|pnpm|yarn|bun) (?:test|ci|install|run)|jest|vitest|tsc|eslint|make|mvn|gradlew?|ruff|mypy|pyright|"
    r"golangci-lint|mise run|just|bazel|dotnet|rspec|bundle exec|phpunit|cmake|ctest|docker (?:build|compose)|"
    r"terraform|swift (?:test|build)|mix test|git (?:push|merge|rebase|commit|cherry-pick|pull|apply|gc))\b"
)
NOISE = re.compile(r"\s*(?:2>&1|\|\s*(?:tail|head|grep|less|cat|tee)\b[^|;&\n]*|2?>\s*/dev/null)")
SETUP = re.compile(r"^\s*(?:timeout\s+\S+|time\s|[A-Z_][A-Z0-9_]*=\S*|\()\s*")
EVERYTHING = frozenset({"./...", ".", "-v", "-q", "-x", "-race", "--verbose", "-count=1"})
ASIDE = re.compile(r"(?:cd|export|source|set|echo|sleep|mkdir|git (?:add|status|diff|stash|log))\b")
FAILED = re.compile(r"\b(?:FAIL(?:ED|URE)?|failed|Error|error:|fatal:|panic:)(?!\w)")
TAIL = 4000
PARTS = re.compile(r"\s*(?:&&|\|\||;|\n)\s*")
JOIN = " && "
LONGEST = 400  # a longer line is a script of its own, never run again in the same words
FAULT_LINE = re.compile(
    r"^.*(?:\berror\b|\bfail(?:ed|ure|s)?\b|\bfatal\b|\bpanic\b|exception|cannot |undefined|not found|assert).*$",
    re.IGNORECASE | re.MULTILINE,
)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
NOT_RUN = (*REJECTED, "<tool_use_error>")
FILES = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})


def checks(command: str) -> tuple[list[str], bool]:
    """(the checks in a shell line, whether nothing else in it could fail); environment and pagers are taken off."""
    found: list[str] = []
    if "<<" in command:
        return found, False
    alone = True
    for part in PARTS.split(NOISE.sub("", command.strip())):
        line = part.strip()
        while (shorter := SETUP.sub("", line)) != line:
            line = shorter
        if CHECK.match(line):
            found.append(" ".join(line.split()))
        elif line and not ASIDE.match(line):
            alone = False
    return found, alone


def covers(later: str, earlier: str) -> bool:
    """True where a success of `later` says that `earlier` would succeed too."""
    new, old = CHECK.match(later), CHECK.match(earlier)
    same = new is not None and old is not None and new.group() == old.group()
    return later == earlier or (same and set(later.split()) - EVERYTHING <= set(earlier.split()))


class _Run:
    """One finished shell call that held checks."""

    __slots__ = ("alone", "call", "checks", "failed")

    def __init__(self, call: Any, found: list[str], *, alone: bool) -> None:
        self.call = call
        self.checks = found
        self.alone = alone
        piped = "|" in call.input["command"].replace("||", "")
        # behind a pager the exit code is the pager's, so the output has to speak
        self.failed = call.is_error or (piped and FAILED.search(call.output[-TAIL:]) is not None)


def _runs(tools: Iterable[Any]) -> Iterator[_Run]:
    for call in tools:
        command = call.input.get("command")
        if call.name != "Bash" or call.output is None or call.sidechain or not isinstance(command, str):
            continue
        if call.output.lstrip().startswith(NOT_RUN) or call.input.get("run_in_background"):
            continue
        found, alone = checks(command)
        if found:
            yield _Run(call, found, alone=alone)


def passes(failed: str, tools: Iterable[Any]) -> bool:
    """True where the newest run of a failed line went well."""
    return _passed(failed, _runs(tools))


def _passed(failed: str, runs: Iterable[_Run]) -> bool:
    """The last check of the line decides: the ones before it had to pass for it to run."""
    last = failed.rsplit(JOIN, 1)[-1]
    verdict = False
    for run in runs:
        if any(covers(check, last) for check in run.checks):
            verdict = not run.failed
    return verdict


def still_failing(tools: Iterable[Any]) -> list[tuple[str, str]]:
    """(checks, what was said) of each line whose checks failed and did not all pass later, at most the last three."""
    runs = list(_runs(tools))
    open_now: dict[str, str] = {}
    for number, run in enumerate(runs):
        line = JOIN.join(run.checks)
        complaint = _complaint(run.call.output) if run.call.is_error and run.alone and len(line) <= LONGEST else ""
        if complaint and not _passed(line, runs[number + 1 :]):  # no complaint: a pager closed the pipe, or the like
            open_now[line] = complaint
    return list(open_now.items())[-3:]


def _complaint(output: str) -> str:
    """The first line of an output that speaks of a fault."""
    body = COLOUR.sub("", output[:20_000])
    start = body.find("\n") + 1 if body.startswith(("Exit code", "Error: Exit code")) else 0
    found = FAULT_LINE.search(body, start)
    return whole_words(" ".join(found.group().split()), 110) if found else ""


def whole_words(text: str, most: int) -> str:
    """At most so many characters, cut between words: half a secret would be no pattern any more."""
    return text if len(text) <= most else text[: most - 1].rpartition(" ")[0] + "…"


def changed_files(tools: Iterable[Any]) -> list[str]:
    """The names of the files that were written, each once, in order."""
    names: dict[str, None] = {}
    for call in tools:
        path = call.input.get("file_path") or call.input.get("notebook_path")
        if call.name in FILES and not call.is_error and call.output is not None and isinstance(path, str):
            names[re.split(r"[\\/]", path)[-1]] = None
    return list(names)
