"""When the client compacts by itself, and which setting makes it do so early enough but not too early.

Idea: with a window W the client works in E = W - 20,000 and compacts at T = min(E * p %, E - 13,000). Two knobs move
T: ``autoCompactWindow`` (W) and ``CLAUDE_AUTOCOMPACT_PCT_OVERRIDE`` (p). The percentage alone works on models with a
window of one million and does nothing on those with 200,000, which never compact early by themselves.

Too low is worse than too high: what a session carries anyway (system prompt, tools, instructions) comes back after each
compaction, and three refills in a row end the turn. So T stays above a floor, 60,000 or 1.5 times that fixed load,
measured: in each of the 20 newest sessions the smallest prompt among the first request of the file and the first one
after each compaction (input, cache writes and cache reads together; side requests below 2,000 are no sessions), then
the median over the sessions. The first request holds the first question too, so this errs on the safe side.

Invariant: what ``choose`` sets by itself never puts T below the floor, and never beside a setting of the user's own.
Checked by ``tests/hooks/installer/test_threshold.py``.
"""

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

try:
    from . import transcript
except ImportError:  # run as a script
    import transcript  # type: ignore[import-not-found,no-redef]

LOWEST_FLOOR: Final = 60_000
LOAD_FACTOR: Final = 1.5
RECENT: Final = 20
SIDE_REQUEST: Final = 2_000
READ_LIMIT: Final = 64 << 20
"""How much of one transcript is read; the first 64 MB hold the first request and the models of any session."""

LOWEST_WINDOW: Final = 100_000  # the client ignores less
SMALL_MODEL: Final = 200_000
BIG_MODEL: Final = 1_000_000
PCT: Final = ("env", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE")
WINDOW: Final = ("autoCompactWindow",)
WINDOW_ENV: Final = ("env", "CLAUDE_CODE_AUTO_COMPACT_WINDOW")

# Models that were seen to work in a window of one million without being asked to. Others count as big only where a
# session proves it: which older models get the large window depends on the user's plan.
_BIG: Final = re.compile(r"(?:^|[-./])(?:opus-5|sonnet-5|fable)(?:$|[-@.:\[])|\[1m\]")


def fires_at(model: int, window: int | None, percent: float | None) -> int | None:
    """T for a model's window and the two settings; None when the client never compacts before its limit."""
    chosen = window if window is not None and window >= LOWEST_WINDOW else None
    if chosen is None and model < BIG_MODEL:
        return None
    room = min(chosen or model, model) - 20_000
    highest = room - 13_000
    return highest if percent is None else min(math.floor(room * percent / 100), highest)


@dataclass(frozen=True)
class Session:
    """What one transcript tells about a session: its fixed load and whether every model in it was a big one."""

    path: Path
    load: int
    models: tuple[str, ...]
    big: bool


@dataclass(frozen=True)
class Measured:
    """The recent sessions together; ``load`` is None when there were none."""

    sessions: int
    load: int | None
    all_big: bool

    @property
    def floor(self) -> int:
        """The lowest T that is worth having."""
        return max(LOWEST_FLOOR, math.ceil(LOAD_FACTOR * (self.load or 0)))


@dataclass(frozen=True)
class Current:
    """What is set already, by whom: the value and the place it comes from."""

    percent: float | None = None
    percent_from: str = ""
    window: int | None = None
    window_from: str = ""
    window_is_variable: bool = False
    only_small: bool = False
    switched_off: str = ""


@dataclass(frozen=True)
class Choice:
    """What to write, what comes of it on both kinds of model, and what the user should know."""

    percent: str | None
    window: int | None
    small: int | None
    big: int | None
    floor: int
    warnings: tuple[str, ...]

    @property
    def values(self) -> dict[tuple[str, ...], Any]:
        """The settings to write, by their path in the file."""
        found: dict[tuple[str, ...], Any] = {}
        if self.percent is not None:
            found[PCT] = self.percent
        if self.window is not None:
            found[WINDOW] = self.window
        return found


def recent_transcripts(config: Path) -> list[Path]:
    """The main transcripts below the client's folder, the newest first; sub-agents lie deeper or are named for it."""
    files: list[tuple[float, Path]] = []
    for path in config.glob("projects/*/*.jsonl"):
        if not path.name.startswith("agent-"):
            try:
                files.append((path.stat().st_mtime, path))
            except OSError:
                continue
    return [path for _, path in sorted(files, reverse=True)]


def measure(config: Path) -> Measured:
    """The fixed load and the models of the newest sessions below the client's folder."""
    found: list[Session] = []
    for path in recent_transcripts(config):
        if (session := read_session(path)) is not None:
            found.append(session)
        if len(found) == RECENT:
            break
    if not found:
        return Measured(0, None, False)
    return Measured(len(found), round(median(s.load for s in found)), all(s.big for s in found))


def read_session(path: Path) -> Session | None:
    """One session's load and models; None when the file holds no request worth the name."""
    load: int | None = None
    largest: dict[str, int] = {}
    fresh = True
    try:
        for kind, record in _marks(path):
            if kind == "boundary":
                fresh = True
                continue
            message = record.get("message") or {}
            model, prompt = str(message.get("model") or ""), _prompt(message.get("usage"))
            if prompt < SIDE_REQUEST or model in {"", "<synthetic>"}:
                continue
            largest[model] = max(largest.get(model, 0), prompt)
            if fresh:
                load = prompt if load is None else min(load, prompt)
                fresh = False
    except OSError:
        return None
    if load is None:
        return None
    big = all(_BIG.search(model) or most > SMALL_MODEL for model, most in largest.items())
    return Session(path, load, tuple(sorted(largest)), big)


def _marks(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    """The main conversation's replies and boundaries, in order."""
    for start, _, line in transcript.raw_lines(os.fspath(path)):
        if start > READ_LIMIT:
            return
        boundary = b"compact_boundary" in line
        if not boundary and b'"usage"' not in line:
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if not isinstance(record, dict) or record.get("isSidechain"):
            continue
        if record.get("type") == "system" and record.get("subtype") == "compact_boundary":
            yield "boundary", record
        elif record.get("type") == "assistant" and isinstance(record.get("message"), dict):
            yield "reply", record


def _prompt(usage: Any) -> int:
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return sum(n for name in names if isinstance(usage, dict) and isinstance(n := usage.get(name), int))


def current(documents: Iterable[tuple[str, Mapping[str, Any]]], env: Mapping[str, str]) -> Current:
    """What the settings say, strongest first; a variable of the shell or of an ``env`` block beats the window key."""
    documents = list(documents)
    blocks = [(f"env in {name}", d["env"]) for name, d in documents if isinstance(d.get("env"), dict)]
    places = [("the environment", env), *blocks]

    def first(key: str) -> tuple[float | None, str]:
        return next(((n, place) for place, block in places if (n := _number(block.get(key))) is not None), (None, ""))

    percent, percent_from = first(PCT[-1])
    window, window_from = next(
        ((n, at) for at, block in places if (n := _variable(block.get(WINDOW_ENV[-1])))), (None, "")
    )
    variable = window is not None
    for name, document in documents:
        if window is None and (given := _number(document.get(WINDOW[0]))) is not None:
            window = int(given)
            window_from = f"{WINDOW[0]} in {name}"
    off = next((f"autoCompactEnabled in {name}" for name, d in documents if d.get("autoCompactEnabled") is False), "")
    for key in ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT"):
        off = off or next((f"{key} ({place})" for place, block in places if _on(block.get(key))), "")
    small = any(_on(block.get("CLAUDE_CODE_DISABLE_1M_CONTEXT")) for _, block in places)
    return Current(percent, percent_from, window, window_from, variable, small, off)


def _number(value: Any) -> float | None:
    try:
        number = float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _variable(value: Any) -> int | None:
    """The window as the client reads its variable: leading digits only, and never below the lowest."""
    digits = re.match(r"\s*(\d{1,9})", str(value))
    return max(int(digits[1]), LOWEST_WINDOW) if digits else None


def _on(value: Any) -> bool:
    return str(value).strip().lower() in {"1", "true", "yes", "on"}


def choose(measured: Measured, users: Current, *, percent: str | None = None, window: int | None = None) -> Choice:
    """What to set. Numbers that were asked for are obeyed; otherwise the rule in this module's text decides."""
    all_big = measured.all_big and not users.only_small
    warnings: list[str] = []
    if percent is None and window is None:
        percent, window, warnings = _automatic(measured, users, all_big=all_big)
    else:
        warnings += _asked(users, percent, window)
    used_percent = users.percent if percent is None else float(percent)
    # The client's variable for the window beats the key that is written here.
    fixed = window is None or (users.window_is_variable and users.window is not None)
    used_window = users.window if fixed else window
    small = fires_at(SMALL_MODEL, used_window, used_percent)
    big = None if users.only_small else fires_at(BIG_MODEL, used_window, used_percent)
    for name, at in (("200K", small), ("1M", big)):
        if at is not None and at < measured.floor and not (name == "200K" and all_big):
            warnings.append(
                f"models with {name} compact at {at:,} tokens, below the floor of {measured.floor:,}: "
                "the context may be full again at once, and three refills in a row end the turn"
            )
    if small is None and not all_big:
        warnings.append("models with 200K never compact early: a percentage alone does nothing there, add --window")
    if users.switched_off:
        warnings.append(f"automatic compaction is switched off by {users.switched_off}")
    return Choice(percent, window, small, big, measured.floor, tuple(warnings))


def _automatic(measured: Measured, users: Current, *, all_big: bool) -> tuple[str | None, int | None, list[str]]:
    """The percentage, the window and what to say about it when no number was asked for."""
    floor = measured.floor
    if users.window is not None:
        kept = [f"your own window of {users.window:,} ({users.window_from}) stays as it is"]
        if users.window >= LOWEST_WINDOW:
            return None, None, kept
        kept.append(f"the client ignores windows below {LOWEST_WINDOW:,}; --window replaces it")
        if not all_big or users.percent is not None:
            return None, None, kept
        return _percent(floor), None, kept
    if users.percent is not None:
        kept = [f"your own percentage of {users.percent:g} ({users.percent_from}) stays as it is"]
        if all_big:
            return None, None, kept
        window = _window(floor, users.percent)
        if window is None:
            return None, None, [*kept, "no window keeps it above the floor on models with 200K, so none is set"]
        return None, window, kept
    if all_big:
        return _percent(floor), None, []
    return None, _window(floor, None) or SMALL_MODEL, []


def _percent(floor: int) -> str:
    """The smallest percentage from 10 on whose T on a big model is not below the floor."""
    return str(next((p for p in range(10, 101) if (fires_at(BIG_MODEL, None, p) or 0) >= floor), 100))


def _window(floor: int, percent: float | None) -> int | None:
    """The smallest window, in steps of 10,000 up to a whole small model, whose T is not below the floor."""
    steps = range(LOWEST_WINDOW, SMALL_MODEL + 1, 10_000)
    return next((w for w in steps if (fires_at(SMALL_MODEL, w, percent) or 0) >= floor), None)


def _asked(users: Current, percent: str | None, window: int | None) -> list[str]:
    """What to say about numbers the user gave."""
    said = []
    if percent is not None:
        if users.percent is not None and users.percent != float(percent):
            said.append(f"the percentage of {users.percent:g} ({users.percent_from}) is replaced, as asked")
        if float(percent) < 1:
            said.append(f"{percent} is read as {percent} percent, not as a share: that compacts at every chance")
    if window is not None:
        if users.window_is_variable:
            said.append(f"the window of {users.window:,} in {users.window_from} beats the setting; remove it there")
        elif users.window is not None and users.window != window:
            said.append(f"the window of {users.window:,} ({users.window_from}) is replaced, as asked")
        if not LOWEST_WINDOW <= window <= BIG_MODEL:
            said.append(f"the client takes windows from {LOWEST_WINDOW:,} to {BIG_MODEL:,}; {window:,} has no effect")
    return said
