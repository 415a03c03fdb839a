"""Options that every command takes, before or after its name, and how results are printed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.recall import Memory
    from lcm_lab.store.page import Page
    from lcm_lab.times import Zone


@dataclass(frozen=True, slots=True)
class Settings:
    """What the global options say; what stands after the command's name wins."""

    db: str | None = None
    tz: str | None = None
    as_json: bool = False
    demo: bool = False

    def open(self) -> "Lab":
        """The Lab these settings ask for."""
        from lcm_lab import lab

        return lab.open(self.db, tz=self.tz, demo=self.demo)

    def memory(self, *, may_be_new: bool = False) -> "Memory":
        """The session memory these settings ask for; with ``may_be_new`` it need not be there yet."""
        from lcm_lab import recall

        choose = recall.closed_memory if may_be_new else recall.open_memory
        return choose(self.db, tz=self.tz, demo=self.demo)

    @property
    def zone(self) -> "Zone":
        """The zone times are shown in."""
        import os

        from lcm_lab import times

        return times.zone(self.tz or os.environ.get("LCM_LAB_TZ"))

    def show(self, result: Any) -> None:
        """Print a result: as JSON where asked for, else as tables, through a pager where a person looks."""
        if self.as_json:
            from lcm_lab.views import as_json

            click.echo(as_json.text(result))
            return
        from lcm_lab.views import tables, terminal

        page(terminal.render(tables.of(result, self.zone)))

    def show_rows(self, columns: list[str], found: "Page[tuple[Any, ...]]") -> None:
        """Print rows of any query."""
        if self.as_json:
            from lcm_lab.views import as_json

            click.echo(as_json.text({"columns": columns, "rows": found.rows, "next": found.next, "total": found.total}))
            return
        from lcm_lab.views import table, terminal

        more = f"More: --cursor {found.next}" if found.next else ""
        page(
            terminal.render(
                [table.frame(columns, found.rows, notes=[f"{len(found.rows)} of {found.total} rows", more])]
            )
        )


def page(text: str) -> None:
    """Print ``text``; through the pager when it does not fit the terminal."""
    import shutil
    import sys

    if sys.stdout.isatty() and text.count("\n") > shutil.get_terminal_size().lines:
        click.echo_via_pager(text)
    else:
        click.echo(text, nl=False)


def progress(unit: str) -> Callable[[str, int, int], None] | None:
    """A progress bar on a terminal that someone looks at; none elsewhere."""
    import sys

    if not sys.stderr.isatty():
        return None
    from tqdm import tqdm

    bar: tqdm[Any] = tqdm(total=0, leave=False, unit=unit, unit_scale=unit == "B")

    def advance(step: str, done: int, total: int) -> None:
        bar.set_description(step)
        bar.total, bar.n = total, done
        bar.refresh()
        if done >= total:
            bar.clear()

    return advance


def with_globals(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the global options to a click function."""
    for option in (
        click.option("--demo", is_flag=True, default=False, help="Use the demo store that comes with lcm-lab."),
        click.option("--json", "as_json", is_flag=True, default=False, help="Print JSON for scripts."),
        click.option(
            "--tz", metavar="ZONE", help="Show times in this zone, e.g. Europe/Berlin. Default: the machine's."
        ),
        click.option(
            "--db", metavar="PATH", help="The store. Default: LCM_LAB_DB, LCM_DATABASE_PATH, ~/.openclaw/lcm.db."
        ),
    ):
        command = option(command)
    return command


def command(name: str, cls: type[click.Command] = click.Command) -> Callable[[Callable[..., None]], click.Command]:
    """A command that takes the global options, too, and gets the merged settings as its first argument."""

    def decorate(function: Callable[..., None]) -> click.Command:
        @click.command(name, cls=cls)
        @with_globals
        @click.pass_context
        @wraps(function)
        def wrapped(ctx: click.Context, /, **given: Any) -> None:
            ours = {key: given.pop(key) for key in ("db", "tz", "as_json", "demo")}
            base = ctx.obj or Settings()
            function(replace(base, **{key: value for key, value in ours.items() if value}), **given)

        return wrapped

    return decorate


class InOrder(click.Group):
    """Lists commands in the order they are needed, not by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """The names, in the order the commands were added."""
        return list(self.commands)


def group(name: str, help_text: str, *commands: click.Command) -> click.Group:
    """Commands under a common name; the global options stand before that name, after it, or after the command's."""

    @click.group(name, cls=InOrder, help=help_text)
    @with_globals
    @click.pass_context
    def made(ctx: click.Context, /, **given: Any) -> None:
        ctx.obj = replace(ctx.obj or Settings(), **{key: value for key, value in given.items() if value})

    for one in commands:
        made.add_command(one)
    return made


ALL: Final = 2**31
"""More rows than any list has: what ``--limit 0`` means."""

page_size = click.option(
    "--limit", type=click.IntRange(0, ALL), default=50, show_default=True, help="Rows on a page; 0: all."
)
cursor = click.option("--cursor", metavar="NEXT", help="Start where the page before ended: its 'next'.")


class _RowId(click.IntRange):
    name = "number"


ROW_ID: Final = _RowId(-(2**63), 2**63 - 1)
"""What SQLite can hold as a number of a row."""

conversation = click.argument("conversation_id", metavar="CONV", type=ROW_ID)
maybe_conversation = click.argument("conversation_id", metavar="[CONV]", type=ROW_ID, required=False)
