"""The words of the installer: options in, plain lines out.

Idea: the other modules return what they found or did; only this one prints, so a second command line (click) can show
the same objects its own way, or these lines.

Invariant: exit code 0 when it worked or nothing was to do, 1 when something is wrong, 2 for unusable options.
Checked by ``tests/hooks/installer/test_install_cli.py``.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Final

try:
    from . import install
    from . import self_test as self_tests
    from . import status as statuses
    from .evidence import Compaction, HookRun
    from .host import Host, Scope, this_host
    from .settings_file import InstallRefused
except ImportError:  # run as a script
    import install  # type: ignore[import-not-found,no-redef]
    import self_test as self_tests  # type: ignore[import-not-found,no-redef]
    import status as statuses  # type: ignore[import-not-found,no-redef]
    from evidence import Compaction, HookRun  # type: ignore[import-not-found,no-redef]
    from host import Host, Scope, this_host  # type: ignore[import-not-found,no-redef]
    from settings_file import InstallRefused  # type: ignore[import-not-found,no-redef]

ABSENT: Final = "never before the limit"
OFFER: Final = """The model can fetch details by itself. Allow the one command it needs without asking you each time?
  {rules}
[y/N] """


def main(argv: Sequence[str] | None = None, *, host: Host | None = None, ask: Callable[[str], str] = input) -> int:
    """Run one command; the exit code."""
    given = parser().parse_args(argv)
    try:
        return _run(given, host or this_host(), ask)
    except InstallRefused as error:
        sys.stderr.write(f"refused: {error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"failed: {error}; nothing is lost, run this again when the cause is gone\n")
        return 1


def parser() -> argparse.ArgumentParser:
    """The options; ``lcm-lab hooks`` has the same."""
    top = argparse.ArgumentParser(prog="install.py", description="Session memory for Claude Code: install and look.")
    commands = top.add_subparsers(dest="command", required=True)
    put = commands.add_parser("install", help="register the hooks, or upgrade them")
    out = commands.add_parser("uninstall", help="take everything out of the settings again; the memory stays")
    for one in (put, out):
        scope = one.add_mutually_exclusive_group()
        scope.add_argument(
            "--user", dest="scope", action="store_const", const="user", help="for all projects (default)"
        )
        scope.add_argument(
            "--project", dest="scope", action="store_const", const="project", help="only for this folder"
        )
        one.set_defaults(scope="user")
        one.add_argument("--dry-run", action="store_true", help="show what would change, change nothing")
    put.add_argument("--threshold", metavar="PCT|auto", help="compact at this percentage of the window")
    put.add_argument("--window", metavar="N", type=int, help="compact as if the window had this many tokens")
    put.add_argument("--parts", metavar="N", type=int, help="in how many parts the memory may come back (2, up to 4)")
    allow = put.add_mutually_exclusive_group()
    allow.add_argument("--allow-lookup", dest="allow", action="store_const", const=True, help="let the model look up")
    allow.add_argument("--no-allow-lookup", dest="allow", action="store_const", const=False, help="ask each time")
    commands.add_parser("status", help="what is installed, and whether the memory arrived after each compaction")
    commands.add_parser("self-test", help="run every hook once on a small session that is thrown away")
    return top


def _run(given: argparse.Namespace, host: Host, ask: Callable[[str], str]) -> int:
    if given.command == "status":
        found = statuses.status(host)
        _say(*status_lines(found))
        return 1 if found.problems else 0
    if given.command == "self-test":
        tested = self_tests.self_test(host)
        _say(*self_test_lines(tested))
        return 0 if tested.passed else 1
    if given.command == "uninstall":
        plan = install.plan_uninstall(host, scope=given.scope)
    else:
        allow = word_on_rules(host, given.scope, ask) if given.allow is None and not given.dry_run else given.allow
        plan = install.plan_install(
            host,
            scope=given.scope,
            threshold=given.threshold,
            window=given.window,
            parts=given.parts,
            allow_lookup=allow,
        )
    if given.dry_run:
        _say(*plan_lines(plan))
        return 0
    _say(*result_lines(install.apply(plan)))
    return 0


def _say(*lines: str) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def word_on_rules(host: Host, scope: Scope, ask: Callable[[str], str] = input) -> bool | None:
    """The user's answer to the offer of the rules; None, as last time, without a terminal or when asked before."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()) or install.installed_before(host, scope):
        return None
    rules = "\n  ".join(install.lookup_rules(host.python, host.hooks / "<version>"))
    return ask(OFFER.format(rules=rules)).strip().lower() in {"y", "yes"}


def plan_lines(plan: install.Plan) -> list[str]:
    """What a plan would do."""
    lines = [f"would {plan.kind}: {plan.settings.path}"]
    lines += [plan.diff()] if plan.changes_settings else ["  the settings stay as they are"]
    if plan.kind == "install":
        lines.append(f"would make {plan.folder} ({len(plan.files)} files) and {len(plan.skills)} skills")
    return lines + _threshold_lines(plan) + _said(plan)


def result_lines(result: install.Result) -> list[str]:
    """What was done."""
    plan = result.plan
    if plan.kind == "uninstall":
        done = "taken out of" if plan.changes_settings else "nothing to take out of"
        kept = f"the memory in {plan.host.home} stays; delete that folder, with no session open, to forget everything"
        return [f"{done} {plan.settings.path}", kept, *_said(plan)]
    done = "installed in" if result.changed else "already installed in"
    lines = [f"{done} {plan.settings.path}", f"hooks: {plan.folder}"]
    lines += _threshold_lines(plan) + _said(plan)
    return [*lines, "a new session takes it all; `status` shows whether the memory arrives after a compaction"]


def _threshold_lines(plan: install.Plan) -> list[str]:
    choice = plan.choice
    if choice is None:
        return []
    return [f"compaction at: {_tokens(choice.small)} (200K models), {_tokens(choice.big)} (1M models)"]


def _said(plan: install.Plan) -> list[str]:
    return [f"note: {text}" for text in plan.notes] + [f"warning: {text}" for text in plan.warnings]


def _tokens(count: int | None) -> str:
    return ABSENT if count is None else f"{count:,} tokens"


def status_lines(found: statuses.Status) -> list[str]:
    """A status, the problems last so that they are seen."""
    client = "not found" if found.client is None else ".".join(map(str, found.client))
    lines = [f"memory: {found.home}", f"hooks: {found.version}   client: {client}"]
    for one in found.installed:
        rules = "allowed" if one.lookup_allowed else "asks each time"
        lines.append(f"{one.scope}: {one.settings} runs {one.version}, {one.parts} parts; look-up {rules}")
        lines.append(f"  events: {', '.join(one.events)}")
    limit = found.threshold
    load = "no sessions yet" if limit.load is None else f"fixed load {limit.load:,} in {limit.sessions} sessions"
    small, big = _tokens(limit.small), _tokens(limit.big)
    lines.append(f"compaction at: {small} (200K models), {big} (1M models); floor {limit.floor:,} ({load})")
    for value, where in (
        (limit.current.window, limit.current.window_from),
        (limit.current.percent, limit.current.percent_from),
    ):
        lines += [f"  set: {value:,g} by {where}"] if value is not None else []
    lines.append(f"model help: {found.model_help}")
    lines.append(f"compactions: {len(found.compactions) or 'none since the installation'}")
    lines += [f"  {_compaction(one)}" for one in found.compactions]
    lines.append("last event of each hook:" if found.runs else "last event of each hook: none")
    lines += [f"  {_run_line(one)}" for one in found.runs]
    ran = {one.event for one in found.runs}
    never = [event for event in dict.fromkeys(e for one in found.installed for e in one.events) if event not in ran]
    lines += [f"  not yet: {', '.join(never)}"] if never and found.runs else []
    return lines + [f"problem: {text}" for text in found.problems]


def _compaction(one: Compaction) -> str:
    sizes = "" if one.before is None else f" {one.before:,} to {'?' if one.after is None else f'{one.after:,}'} tokens"
    parts = f" (parts {', '.join(map(str, one.parts))} of {one.expected})" if one.parts else ""
    return f"{one.at} {one.session[:8]} {one.trigger or '-'}{sizes}: {one.verdict}{parts}"


def _run_line(one: HookRun) -> str:
    return f"{one.event}: {_age(one.age)} ago, {one.runs} times"


def _age(seconds: float) -> str:
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(seconds, 0):.0f} s"


def self_test_lines(tested: self_tests.SelfTest) -> list[str]:
    """A self-test: one line a hook, then the verdict."""
    lines = [f"commands from {tested.source}"]
    for check in tested.checks:
        verdict = check.problem or "ok"
        lines.append(f"  {check.event} {check.script} {check.seconds * 1000:.0f} ms: {verdict}")
    lines.append(f"  parts of the block: {', '.join(map(str, tested.parts)) or 'none came'}")
    lines += [f"  log: {line}" for line in tested.log.splitlines()[:10]]
    return [*lines, "passed" if tested.passed else "failed"]
