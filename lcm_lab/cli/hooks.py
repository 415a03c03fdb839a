"""Commands that put the session memory into Claude Code, look at it there, and take it out again."""

import sys
from typing import TYPE_CHECKING, Any

import click

from lcm_lab.cli.options import Settings, command, group

if TYPE_CHECKING:
    from collections.abc import Callable

scope = click.option("--user", "scope", flag_value="user", default="user", help="For all projects (the default).")
project = click.option("--project", "scope", flag_value="project", help="Only for this folder, in settings.local.json.")
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, change nothing.")


@command("install")
@scope
@project
@click.option("--threshold", metavar="PCT|auto", help="Compact at this percentage of the window.")
@click.option("--window", metavar="N", type=int, help="Compact as if the window had this many tokens.")
@click.option("--parts", metavar="N", type=int, help="In how many parts the memory may come back: 2, up to 4.")
@click.option("--allow-lookup/--no-allow-lookup", "allow", default=None, help="Let the model look up without asking.")
@dry_run
def install(settings: Settings, scope: str, allow: bool | None, dry_run: bool, **options: Any) -> None:  # noqa: FBT001
    """Register the hooks, or upgrade them; a user's own settings stay as they are."""
    from lcm_lab.hooks import install as installer
    from lcm_lab.hooks import install_cli

    def work() -> None:
        host = _host()
        chosen: Any = scope
        if allow is None and not dry_run and not settings.as_json:
            options["allow_lookup"] = install_cli.word_on_rules(host, chosen, _ask)
        else:
            options["allow_lookup"] = allow
        plan = installer.plan_install(host, scope=chosen, **options)
        _show(settings, plan if dry_run else installer.apply(plan))

    _refusing(work)


@command("uninstall")
@scope
@project
@dry_run
def uninstall(settings: Settings, scope: str, dry_run: bool) -> None:  # noqa: FBT001
    """Take everything out of the client's settings again; the memory stays."""
    from lcm_lab.hooks import install as installer

    def work() -> None:
        chosen: Any = scope
        plan = installer.plan_uninstall(_host(), scope=chosen)
        _show(settings, plan if dry_run else installer.apply(plan))

    _refusing(work)


@command("status")
@click.pass_context
def status(ctx: click.Context, settings: Settings) -> None:
    """What is installed, and whether the memory arrived after each compaction. Exit code 1 when there is a problem."""
    from lcm_lab.hooks import status as statuses

    def work() -> bool:
        found = statuses.status(_host())
        settings.show(found)
        return bool(found.problems)

    ctx.exit(1 if _refusing(work) else 0)


@command("self-test")
@click.pass_context
def self_test(ctx: click.Context, settings: Settings) -> None:
    """Run every registered hook once on a small session that is thrown away. Exit code 1 when one fails."""
    from lcm_lab.hooks import self_test as self_tests

    def work() -> bool:
        tested = self_tests.self_test(_host())
        settings.show(tested)
        return not tested.passed

    ctx.exit(1 if _refusing(work) else 0)


def _host() -> Any:
    from lcm_lab.hooks.host import this_host

    return this_host()


def _ask(text: str) -> str:
    click.echo(text, nl=False, err=True)
    return sys.stdin.readline()


def _show(settings: Settings, result: Any) -> None:
    """A plan or what was done, in the installer's own lines."""
    if settings.as_json:
        settings.show(result)
        return
    from lcm_lab.hooks import install, install_cli

    lines = install_cli.plan_lines if isinstance(result, install.Plan) else install_cli.result_lines
    for line in lines(result):
        click.echo(line)


def _refusing(work: "Callable[[], Any]") -> Any:
    """What ``work`` returns; a refusal of the installer becomes one of ours, so that it ends with our exit code."""
    from lcm_lab.errors import LcmLabError, Refused
    from lcm_lab.hooks.settings_file import InstallRefused

    try:
        return work()
    except InstallRefused as error:
        raise Refused(f"refused: {error}.") from error
    except OSError as error:
        raise LcmLabError(f"{error}; nothing is lost, run this again when the cause is gone.") from error


GROUP = group(
    "hooks",
    "The session memory in Claude Code: install it, see that it works, take it out.",
    install,
    uninstall,
    status,
    self_test,
)
