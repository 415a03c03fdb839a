"""Install the session memory into Claude Code, and take it out again.

    python install.py install [--user|--project] [--threshold PCT|auto] [--window N] [--dry-run]
    python install.py uninstall | status | self-test

Idea: plan first, then apply. A plan holds the settings file as it was read and as it will be, so what ``--dry-run``
shows is what happens. Files go to a folder of their own version, which never changes once it is made; the settings
file, the one step that makes a client call us, is written last when installing and first when uninstalling.

Invariants: entries of others keep their bytes and their order; installing twice changes nothing; uninstalling gives the
file back byte for byte when nobody else changed it; dying between two steps loses nothing.
Checked by ``tests/hooks/installer/test_install.py``, ``test_install_foreign.py`` and ``test_install_faults.py``.

Standard library only; written for Linux, macOS and Windows, run on Linux.
"""

import difflib
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

try:
    from . import entries, settings_file, steps
    from . import host as hosts
    from . import record as records
    from . import threshold as thresholds
    from .host import Host, Scope
    from .settings_file import InstallRefused, SettingsFile
except ImportError:  # run as a script: the folder of the script is on the path
    import entries  # type: ignore[import-not-found,no-redef]
    import host as hosts  # type: ignore[import-not-found,no-redef]
    import record as records  # type: ignore[import-not-found,no-redef]
    import settings_file  # type: ignore[import-not-found,no-redef]
    import steps  # type: ignore[import-not-found,no-redef]
    import threshold as thresholds  # type: ignore[import-not-found,no-redef]
    from host import Host, Scope  # type: ignore[no-redef]
    from settings_file import InstallRefused, SettingsFile  # type: ignore[no-redef]


@dataclass(frozen=True)
class Registration:
    """One event and the module that answers it; ``when`` says with which clients, ``parts`` once for each part."""

    event: str
    module: str
    timeout: int
    matcher: str | None = None
    when: Literal["always", "batch", "single"] = "always"
    parts: bool = False


# Time limits are in seconds. Capturing waits for a locked database before it writes to the spool file, so it gets more
# than the wait; SessionEnd's raises the client's own budget for that event, so it stays small.
REGISTRATIONS: Final = (
    Registration("PostToolBatch", "detail_capture", 30, when="batch"),
    Registration("PostToolUse", "detail_capture", 30, when="single"),
    Registration("PostToolUseFailure", "detail_capture", 30, when="single"),
    Registration("Stop", "turn_processor", 30),
    Registration("SubagentStop", "turn_processor", 30),
    Registration("StopFailure", "turn_processor", 30),
    Registration("SessionEnd", "turn_processor", 10),
    Registration("PreCompact", "pre_compact", 60),
    Registration("SessionStart", "session_start", 30, matcher="compact", parts=True),
    Registration("UserPromptSubmit", "prompt_submit", 15),
    Registration("UserPromptExpansion", "prompt_submit", 15),
    Registration("PostCompact", "post_compact", 30),
)


def handlers(python: str, folder: Path, *, batch: bool, parts: int) -> tuple[entries.Handler, ...]:
    """The commands to register. Parts differ by an argument, since equal commands of one event run once."""
    found = []
    for one in REGISTRATIONS:
        if one.when != "always" and (one.when == "batch") != batch:
            continue
        base = ("-S", "-E", str(folder / f"{one.module}.py"))
        for part in range(1, parts + 1) if one.parts else (0,):
            args = (*base, "--part", str(part)) if part else base
            found.append(entries.Handler(one.event, one.matcher, python, args, one.timeout))
    return tuple(found)


def scripts() -> set[str]:
    """The files that registered commands run."""
    return {f"{one.module}.py" for one in REGISTRATIONS}


def lookup_command(python: str, folder: Path) -> str:
    """The command that the block and the skills name, quoted for the shell that runs it."""
    script = folder / "lookup.py"
    paths = [python, str(script)] if os.sep == "/" else [Path(python).as_posix(), script.as_posix()]
    return shlex.join([paths[0], "-S", "-E", paths[1]])


def lookup_rules(python: str, folder: Path) -> tuple[str, ...]:
    """The permission rules for the look-up. Each skill is named: the client takes no pattern in ``Skill(...)``."""
    names = ("sc-detail", "sc-search", "sc-resolve")
    return (f"Bash({lookup_command(python, folder)}:*)", *(f"Skill({name})" for name in names))


def now() -> str:
    """This moment as transcripts write it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class Plan:
    """Everything that one install or uninstall is about to do; nothing has been written."""

    kind: Literal["install", "uninstall"]
    host: Host
    settings: SettingsFile
    after: bytes | None
    original: bytes | None
    installation: records.Installation | None
    record: records.Record
    folder: Path
    files: Mapping[str, bytes]
    skills: tuple[steps.Skill, ...]
    config: bytes | None = None
    choice: thresholds.Choice | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def changes_settings(self) -> bool:
        """Whether the settings file will change."""
        return self.settings.data != self.after

    def diff(self) -> str:
        """The change of the settings file as a unified diff, empty where there is none."""
        old, new = (b"" if data is None else data for data in (self.settings.data, self.after))
        lines = difflib.unified_diff(
            old.decode().splitlines(), new.decode().splitlines(), str(self.settings.path), "after", lineterm=""
        )
        return "\n".join(lines)


@dataclass(frozen=True)
class Result:
    """What was done, and whether anything had to be."""

    plan: Plan
    changed: bool


def plan_install(
    host: Host,
    *,
    scope: Scope = "user",
    threshold: str | None = None,
    window: int | None = None,
    allow_lookup: bool | None = None,
    parts: int | None = None,
) -> Plan:
    """What installing would do. Options that are not given stay as they were at the last time."""
    hosts.check_interpreter(host.python)
    file = settings_file.read(host.settings(scope))
    settings_file.check_writable(file)
    record = records.load(host.home)
    before = record.installations.get(str(file.path))
    old = before.choices if before is not None else records.Choices()
    choices = old.changed(threshold, window, allow=allow_lookup)
    files = hosts.source_files(host.source)
    _complete(host, files)
    folder = host.hooks / hosts.folder_version(files)
    bare = records.original(file, before, host.hooks, host.home / "backups")
    bare_file = replace(file, data=bare)
    choice = _threshold(host, scope, choices, bare_file)
    batch = hosts.sends_batches(version := host.client())
    # The number of parts is what the block aims at; it opens more by itself when space is short, so all have a handler.
    config = steps.plan_parts(host, parts)[1]
    registered = handlers(host.python, folder, batch=batch, parts=steps.MOST_PARTS)
    wanted = _wanted(host, folder, choice, choices, registered)
    ours = before.states[-1].ours if before is not None and before.states else entries.Ours()
    if file.data is not None and entries.matches(file.root(), wanted, host.hooks, ours):
        after: bytes | None = file.data
    else:
        text, ours = entries.add(bare_file.text, wanted)
        after = text.encode("utf-8")
    known = before.states if before is not None else ()
    if after is None or settings_file.digest(after) not in {state.installed for state in known}:
        name = None if bare is None else records.backup_name(file.path, bare)
        known = (*known, records.State(settings_file.digest(after or b""), name, ours))
    made = before.made_folders if before is not None else ()
    made = tuple(dict.fromkeys((*made, *_new_folders(host.config / "skills"), *_new_folders(file.target.parent))))
    since = before.since if before is not None else now()
    installation = records.Installation(str(file.path), scope, folder.name, batch, since, choices, known, made)
    lookup = lookup_command(host.python, folder)
    skills, said = steps.plan_skills(host, record, lookup)
    client = "no client was found" if version is None else f"client {'.'.join(map(str, version))}"
    notes = (f"{client}: {'the batch event' if batch else 'the two single tool events'}", *said)
    warnings = (*choice.warnings, *_warnings(host, scope, file, record))
    return Plan(
        "install", host, file, after, bare, installation, record, folder, files, skills, config, choice, notes, warnings
    )


def _complete(host: Host, files: Mapping[str, bytes]) -> None:
    """InstallRefused when a module that would be registered is not there: its absence would block prompts."""
    missing = sorted(({"lookup.py"} | scripts()) - set(files))
    if missing:
        raise InstallRefused(f"{host.source} lacks {', '.join(missing)}; nothing was written")


def _threshold(host: Host, scope: Scope, choices: records.Choices, bare: SettingsFile) -> thresholds.Choice:
    """The threshold to set, from the recent sessions and from what the user set without us."""
    documents = [(bare.path.name, bare.root().plain())]
    if scope == "project":
        documents += settings_file.documents_of(path for path in host.all_settings() if path != bare.path)
    users = thresholds.current(documents, host.env)
    return thresholds.choose(thresholds.measure(host.config), users, percent=choices.threshold, window=choices.window)


def _wanted(
    host: Host, folder: Path, choice: thresholds.Choice, choices: records.Choices, commands: tuple[entries.Handler, ...]
) -> entries.Wanted:
    values = choice.values
    if not host.home_is_default:  # hooks and look-ups are told where the memory is, whatever shell starts the client
        values[("env", "THROUGHLINE_HOME")] = str(host.home)
    rules = lookup_rules(host.python, folder) if choices.allow_lookup else ()
    return entries.Wanted(commands, values, rules)


def _new_folders(folder: Path) -> tuple[str, ...]:
    """This folder and those above it that do not exist yet, innermost first."""
    found = []
    while not folder.exists():
        found.append(str(folder))
        folder = folder.parent
    return tuple(found)


def _warnings(host: Host, scope: Scope, file: SettingsFile, record: records.Record) -> list[str]:
    said = [
        f"another copy of these hooks is registered from {folder}; uninstall it there, or both will record"
        for folder in entries.other_copies(file.root(), host.hooks)
    ]
    for name, document in settings_file.documents_of(host.all_settings()):
        if document.get("disableAllHooks") is True:
            said.append(f"disableAllHooks is on in {name}: the client runs no hook at all")
    if record.broken:
        said.append(f"{records.record_path(host.home)} could not be understood; it is written anew")
    if scope == "project" and (host.cwd / ".git").exists():
        said.append(f"{file.path} holds paths of this machine: keep it out of version control")
    if file.target.exists() and file.target.stat().st_nlink > 1:
        said.append(f"{file.target} has other names (hard links); they keep the old content")
    return said


def plan_uninstall(host: Host, *, scope: Scope = "user") -> Plan:
    """What uninstalling would do: the settings as they were, and the files where no other installation needs them."""
    file = settings_file.read(host.settings(scope))
    settings_file.check_writable(file)
    record = records.load(host.home)
    before = record.installations.get(str(file.path))
    bare = records.original(file, before, host.hooks, host.home / "backups")
    left = record.without(str(file.path))
    notes = []
    if before is None and bare == file.data:
        notes.append(f"nothing of ours is in {file.path}")
    if left.installations:
        notes.append("hooks and skills stay: also installed in " + ", ".join(left.installations))
    return Plan("uninstall", host, file, bare, bare, before, left, host.hooks, {}, (), notes=tuple(notes))


def apply(plan: Plan) -> Result:
    """Carry the plan out; InstallRefused when the settings file is no longer the one the plan was made from."""
    return _install(plan) if plan.kind == "install" else _uninstall(plan)


def _install(plan: Plan) -> Result:
    one, home = plan.installation, plan.host.home
    if one is None or plan.after is None:
        raise InstallRefused("this plan installs nothing")
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    changed = steps.write_hooks(plan.host, plan.folder, plan.files)
    if plan.config is not None:
        settings_file.write_atomic(home / "config.json", plan.config)
    steps.write_backup(home / "backups", plan.settings.path, plan.original)
    if plan.changes_settings:
        steps.write_backup(home / "backups", plan.settings.path, plan.settings.data)
    skills = {**plan.record.skills, **steps.fingerprints(plan.skills)}
    records.save(home, replace(plan.record.with_installation(one), skills=skills))
    written = steps.write_skills(plan.host, plan.skills)
    if plan.changes_settings:
        plan.settings.target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings_file.replace(plan.settings, plan.after)
    settings_file.sweep(plan.settings.target)
    # From here on the file is in its new state, so the older ones need not be told apart any more.
    states = tuple(state for state in one.states if state.installed == settings_file.digest(plan.after)) or one.states
    records.save(home, replace(plan.record.with_installation(replace(one, states=states)), skills=skills))
    steps.prune_backups(home / "backups", plan.settings.path, {state.original for state in states if state.original})
    changed = changed or written or plan.changes_settings or plan.config is not None
    return Result(plan, changed=changed)


def _uninstall(plan: Plan) -> Result:
    home = plan.host.home
    changed = plan.changes_settings
    if changed:
        steps.write_backup(home / "backups", plan.settings.path, plan.settings.data)
        settings_file.replace(plan.settings, plan.after)
    settings_file.sweep(plan.settings.target)
    last = not plan.record.installations
    record = plan.record
    if last:
        changed = steps.remove_skills(plan.host, plan.record) or changed
        changed = steps.remove_hooks(plan.host.hooks, scripts()) or changed
        record = replace(record, skills={})
    for folder in plan.installation.made_folders if plan.installation is not None else ():
        if os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    if home.is_dir() and (plan.installation is not None or last):
        records.save(home, record)
    return Result(plan, changed=changed)


def installed_before(host: Host, scope: Scope) -> bool:
    """Whether this scope has been installed already, so that its choices are known."""
    return str(host.settings(scope)) in records.load(host.home).installations


if __name__ == "__main__":
    import sys

    from install_cli import main  # type: ignore[import-not-found]

    sys.exit(main())
