"""Switches as people write them for lcm-tui: ``--purge=false`` beside ``--no-purge``, ``--apply=true``."""

import re
from collections.abc import Callable
from typing import Any, Final

import click

_TRUE: Final = ("1", "t", "true")
_FALSE: Final = ("0", "f", "false")
_GIVEN: Final = re.compile(r"(--[a-z][a-z-]*)=(.*)", re.DOTALL)


class GoFlags(click.Command):
    """A command whose switches may be given a value, as Go's flags are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Turn ``--name=true`` and ``--name=false`` of a switch into what click knows; the rest as it is."""
        switches = {
            name: one
            for one in self.params
            if isinstance(one, click.Option) and one.is_flag
            for name in (*one.opts, *one.secondary_opts)
        }
        plain = [word for arg in args for word in _plain(arg, switches)]
        return super().parse_args(ctx, plain)


def _plain(arg: str, switches: dict[str, click.Option]) -> list[str]:
    found = _GIVEN.fullmatch(arg)
    if found is None or found[1] not in switches:
        return [arg]
    option, value = switches[found[1]], found[2].strip().lower()
    if value not in _TRUE + _FALSE:
        raise click.BadParameter(f"{found[2]!r} is neither true nor false.", param_hint=found[1])
    if value in _TRUE:
        return [found[1]]
    # A switch that has no opposite is off when it is not there.
    return list(option.secondary_opts[:1]) if found[1] in option.opts else list(option.opts[:1])


def added(*options: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A decorator that adds these options, the first one first in the help."""

    def decorate(function: Any) -> Any:
        for one in reversed(options):
            function = one(function)
        return function

    return decorate


backup = click.option(
    "--backup",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="A backup before the first write; auto: unless the newest one is still of this state but for our own repairs.",
)
yes = click.option("--yes", is_flag=True, help="Do not ask; also writes replies that need a look.")
dry_run = click.option("--dry-run", is_flag=True, help="Show what would change, write nothing (the default).")
