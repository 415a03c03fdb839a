"""The command ``lcm-lab``: parse, call the Lab, print. Commands stand in one explicit list.

Nothing heavy is imported here; a test looks at ``sys.modules`` after ``lcm-lab --help``.
"""

import sys
from typing import Any

import click

from lcm_lab.cli import browse, change, hooks, measure, memory, prompts, rewrite, savings, work
from lcm_lab.cli.options import InOrder, Settings, with_globals

COMMANDS = (
    work.lab,
    browse.info,
    browse.agents,
    browse.sessions,
    browse.conversations,
    browse.show,
    browse.dag,
    measure.context,
    browse.files,
    browse.briefs,
    browse.search,
    measure.budget,
    measure.check,
    measure.sql,
    measure.export,
    rewrite.rewrite,
    rewrite.repair,
    rewrite.doctor,
    change.dissolve,
    change.transplant,
    prompts.prompts,
    change.apply,
    change.undo,
    change.backup,
    change.restore,
    hooks.GROUP,
    memory.GROUP,
    savings.GROUP,
    savings.advise,
)


@click.group(cls=InOrder, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@with_globals
@click.version_option(package_name="lcm-lab", message="lcm-lab %(version)s")
@click.pass_context
def cli(ctx: click.Context, /, **given: Any) -> None:
    """See what an AI agent remembers: open its LCM store, see where the tokens go and what is wrong.

    A store is only read, until a command is given --apply, or 'apply' a plan. 'hooks install', 'memory import' and
    'memory forget' write what their names say.
    --db, --tz, --demo and --json are accepted before and after the command's name.
    """
    ctx.obj = Settings(**given)
    if ctx.invoked_subcommand is None:
        work.greet(ctx.obj)


for _command in COMMANDS:
    cli.add_command(_command)


def run() -> None:
    """Entry point: run the command line, turn our errors into one sentence and their exit code."""
    from lcm_lab.errors import LcmLabError
    from lcm_lab.plain import safe

    # Stored text holds every script; a terminal's code page must not stop it (B80).
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="replace")
    try:
        code = cli.main(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except LcmLabError as error:
        click.echo(f"lcm-lab: {safe(str(error))}", err=True)
        sys.exit(error.exit_code)
    except UnicodeEncodeError as error:
        # A name in another encoding reaches us in pieces that no store can hold.
        click.echo(f"lcm-lab: {safe(str(error.object))!r} is not valid text in UTF-8.", err=True)
        sys.exit(2)
    except BrokenPipeError:
        _close_quietly()
        sys.exit(0)
    except (KeyboardInterrupt, click.Abort):
        click.echo("lcm-lab: stopped.", err=True)
        sys.exit(130)


def _close_quietly() -> None:
    """The reader of our output went away: keep the interpreter from complaining about it at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
