"""The reference of the command line as Markdown, made from the commands themselves: ``make docs`` writes docs/cli.md.

A test compares the file with what this makes, so the two cannot drift apart.
"""

import sys

import click

from lcm_lab.cli.main import COMMANDS, cli

_HEAD = """# Command reference

Made by `make docs` from the commands themselves. Exit codes: 0 fine, or nothing to do; 1 `check`, `hooks status` or
`hooks self-test` found something wrong, or a repair left some items undone; 2 wrong usage; 3 could not do it or
refused. Errors are one sentence on standard error. JSON shapes: [json.md](json.md). Repairs: [repairs.md](repairs.md).
"""


def reference() -> str:
    """The whole reference."""
    parts = [_HEAD, _section("lcm-lab", cli)]
    for command in COMMANDS:
        parts.append(_section(f"lcm-lab {command.name}", command))
        if isinstance(command, click.Group):
            parts += [_section(f"lcm-lab {command.name} {name}", one) for name, one in command.commands.items()]
    return "\n".join(parts)


def _section(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    return f"## {name}\n\n```text\n{command.get_help(context)}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
