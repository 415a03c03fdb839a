"""What is installed, what the client will do with it, and what really happened: one look, nothing changed.

Idea: each line of a status is either read from the settings as they are now, or proved by a transcript, or the time of
a hook's last run. What does not fit together becomes a problem with its cure, so an empty list of problems means that
everything that can be seen from outside is in order.

Invariant: looking writes nothing, not even a missing folder.
Checked by ``tests/hooks/installer/test_status.py``.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

try:
    from . import evidence, hook_io, install, model_help
    from . import record as records
    from . import threshold as thresholds
    from .entries import Found, other_copies, own_handlers
    from .host import ClientVersion, Host, folder_version, sends_batches, source_files
    from .settings_file import InstallRefused, documents_of, read
except ImportError:  # run as a script
    import evidence  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import install  # type: ignore[import-not-found,no-redef]
    import model_help  # type: ignore[import-not-found,no-redef]
    import record as records  # type: ignore[import-not-found,no-redef]
    import threshold as thresholds  # type: ignore[import-not-found,no-redef]
    from entries import Found, other_copies, own_handlers  # type: ignore[import-not-found,no-redef]
    from host import ClientVersion, Host, folder_version, sends_batches, source_files  # type: ignore[import-not-found,no-redef]
    from settings_file import InstallRefused, documents_of, read  # type: ignore[import-not-found,no-redef]

RECENT_COMPACTIONS: Final = 20
BATCH_EVENT: Final = "PostToolBatch"
SINGLE_EVENTS: Final = ("PostToolUse", "PostToolUseFailure")


@dataclass(frozen=True)
class Installed:
    """Our part of one settings file."""

    settings: Path
    scope: str
    version: str
    events: tuple[str, ...]
    parts: int
    lookup_allowed: bool


@dataclass(frozen=True)
class Threshold:
    """Where the client compacts by itself, on models with 200K and with 1M, and what decides it."""

    small: int | None
    big: int | None
    floor: int
    sessions: int
    load: int | None
    current: thresholds.Current


@dataclass(frozen=True)
class Status:
    """Everything one look shows."""

    home: Path
    version: str
    client: ClientVersion | None
    installed: tuple[Installed, ...]
    threshold: Threshold
    compactions: tuple[evidence.Compaction, ...]
    runs: tuple[evidence.HookRun, ...]
    model_help: str
    problems: tuple[str, ...]


def status(host: Host) -> Status:
    """Look at the settings, the memory and the recent transcripts."""
    record = records.load(host.home)
    client = host.client()
    version = folder_version(source_files(host.source))
    installed: list[Installed] = []
    problems: list[str] = []
    paths = dict.fromkeys((*host.all_settings(), *(Path(name) for name in record.installations)))
    for path in paths:
        one, wrong = _look(host, path, record)
        problems += wrong
        if one is not None:
            installed.append(one)
            problems += _check_version(one, client, version)
    problems += _check_config(host.home / "config.json")
    if not installed:
        problems.append("nothing is installed for this folder: run install")
    if len([one for one in installed if one.settings in host.all_settings()]) > 1:
        problems.append("installed for the user and for this project: equal commands run once, different ones twice")
    since = min((one.since for one in record.installations.values()), default="")
    happened = _compactions(host, since)
    limit = _threshold(host)
    problems += [f"automatic compaction is off: {limit.current.switched_off}"] if limit.current.switched_off else []
    problems += [f"{c.session} was compacted at {c.at} and the memory did not arrive" for c in happened if _failed(c)][
        :3
    ]
    runs = tuple(evidence.runs(host.home / "throughline.db"))
    if installed and not runs:
        problems.append("no hook has run yet: start a new session, or run self-test")
    return Status(
        host.home, version, client, tuple(installed), limit, happened, runs, _model_help(host), tuple(problems)
    )


def _model_help(host: Host) -> str:
    """Whether a model is asked before a compaction, and what that has cost."""
    settings = model_help.Settings(hook_io.config(str(host.home)))
    use = evidence.model_use(host.home / "throughline.db")
    how = f"on: {settings.model}, up to {settings.budget:,} tokens a session" if settings.on else "off"
    return f"{how}; {use}" if settings.on or use.requests else how


def _check_config(path: Path) -> list[str]:
    """What is wrong with the user's config.json: the hooks pass over it in silence."""
    try:
        given = json.loads(path.read_bytes())
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        return [f"{path} cannot be read, so none of its settings counts: {error}"]
    if not isinstance(given, dict):
        return [f"{path} is no JSON object, so none of its settings counts"]
    problems = [
        f"{name} in {path} is neither true nor false: it stays as it is without the line"
        for name in ("model_help", "redact")
        if not isinstance(given.get(name, True), bool)
    ]
    tokens = given.get("model_help_tokens")
    if tokens is not None and (not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0):
        problems.append(f"model_help_tokens in {path} is no whole number: nothing is sent to a model")
    return problems


def _failed(one: evidence.Compaction) -> bool:
    return one.verdict in {"not delivered", "in part"}


def _look(host: Host, path: Path, record: records.Record) -> tuple[Installed | None, list[str]]:
    """Our part of one settings file, and what is wrong with it."""
    known = record.installations.get(str(path))
    try:
        root = read(path).root()
    except InstallRefused as error:
        return None, [str(error).replace("; nothing was written, mend it first", "")]
    problems = [f"{path} also runs hooks from {folder}" for folder in other_copies(root, host.hooks)]
    if (off := root.get("disableAllHooks")) is not None and off.value is True:
        problems.append(f"disableAllHooks is on in {path}: no hook runs")
    found = own_handlers(root, host.hooks)
    if not found:
        if known is not None:
            problems.append(f"our entries are gone from {path}: run install, or uninstall to clear up")
        return None, problems
    scripts = [Path(one.script) for one in found]
    version = max(script.parent.name for script in scripts)
    problems += _check_files(path, found)
    events = tuple(dict.fromkeys(one.event for one in found))
    parts = sum(1 for one in found if one.event == "SessionStart")
    missing = _missing(events)
    if missing:
        problems.append(f"{path} lacks {', '.join(missing)}: run install again")
    rules = [rule for rule in _allowed(root) if "lookup.py" in rule]
    allowed = any(f"{scripts[0].parent.as_posix()}/lookup.py" in rule for rule in rules)
    scope = known.scope if known is not None else ("user" if path == host.settings("user") else "project")
    return Installed(path, scope, version, events, parts, allowed), problems


def _allowed(root: Any) -> list[str]:
    node = root.at(("permissions", "allow"))
    return [item.value for item in node.children if item.kind == "string"] if node is not None else []


def _missing(events: tuple[str, ...]) -> list[str]:
    always = [one.event for one in install.REGISTRATIONS if one.when == "always"]
    tools = [] if BATCH_EVENT in events else list(SINGLE_EVENTS)
    return [event for event in dict.fromkeys((*always, *tools)) if event not in events]


def _check_files(path: Path, found: list[Found]) -> list[str]:
    """Interpreters and scripts that are registered and cannot run."""
    commands = sorted({str(one.entry.get("command")) for one in found})
    lost = [command for command in commands if not os.access(command, os.X_OK)]
    problems = [f"the interpreter {command} in {path} is gone: run install again" for command in lost]
    gone = sorted({one.script for one in found if not Path(one.script).is_file()})
    if gone:
        problems.append(f"{gone[0]} is gone, so the client blocks prompts: run install again, or uninstall")
    both = {one.event for one in found}
    if BATCH_EVENT in both and both & set(SINGLE_EVENTS):
        problems.append(f"{path} has the batch event and the single tool events: run install again")
    return problems


def _check_version(one: Installed, client: ClientVersion | None, version: str) -> list[str]:
    """What an update of the client or of the hooks has made out of date."""
    problems = []
    batch = BATCH_EVENT in one.events
    if client is not None and batch != sends_batches(client):
        name = ".".join(map(str, client))
        what = "does not send the batch event that is registered" if batch else "sends the batch event, which sees more"
        problems.append(f"client {name} {what}: run install again")
    if one.version != version:
        problems.append(f"{one.settings} runs hooks {one.version}, these are {version}: run install to upgrade")
    return problems


def _threshold(host: Host) -> Threshold:
    documents = documents_of(host.all_settings())
    now, measured = thresholds.current(documents, host.env), thresholds.measure(host.config)
    off = bool(now.switched_off)
    small = None if off else thresholds.fires_at(thresholds.SMALL_MODEL, now.window, now.percent)
    size = thresholds.SMALL_MODEL if now.only_small else thresholds.BIG_MODEL
    big = None if off else thresholds.fires_at(size, now.window, now.percent)
    return Threshold(small, big, measured.floor, measured.sessions, measured.load, now)


def _compactions(host: Host, since: str) -> tuple[evidence.Compaction, ...]:
    """What the recent transcripts show since the installation, and what was announced and never came."""
    seen: list[evidence.Compaction] = []
    stems: set[str] = set()
    for path in thresholds.recent_transcripts(host.config)[: thresholds.RECENT]:
        stems.add(path.stem)
        try:
            seen += evidence.compactions(path)
        except OSError:
            continue
    told = [row for row in evidence.announced(host.home / "throughline.db") if row[0] in stems]
    every = [one for one in (*seen, *evidence.never_came(seen, told)) if one.at[:19] >= since[:19]]
    return tuple(sorted(every, key=lambda one: one.at)[-RECENT_COMPACTIONS:])
