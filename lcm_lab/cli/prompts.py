"""The command that looks at the prompts summaries are made with, and gets them out to be edited."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from lcm_lab.cli.options import Settings, command, page

if TYPE_CHECKING:
    from lcm_lab.summarizer.prompting import Template
    from lcm_lab.views.table import Table

_HOME: Final = "~/.config/lcm-tui/prompts"
_BELONGS: Final = {
    **dict.fromkeys(
        ("target_tokens", "previous_context", "child_count", "time_range", "depth", "source_text"), ("render",)
    ),
    "overwrite": ("export",),
    "prompt_dir": ("list", "show", "diff", "render"),
}
"""Which actions an option goes with; beside another it is refused, not passed over."""

SAMPLE: Final = """\
[2026-03-30 09:11 UTC] [user] The nightly backup stopped on Friday. Find out why.
[2026-03-30 09:12 UTC] [assistant] backup.sh ends with "No space left on device": /var is full, 38 GB of it old logs.
[2026-03-30 09:14 UTC] [user] Keep the logs of the last 14 days, nothing older.
[2026-03-30 09:16 UTC] [assistant] Set "rotate 14" in /etc/logrotate.d/app; 31 GB are free again, the backup runs."""
"""What ``--render`` fills in as the source where no text is given."""


def _filling(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the values that ``--render`` fills in."""
    for option in (
        click.option("--source-text", metavar="TEXT", default=SAMPLE, help="Text to summarise. Default: a sample."),
        click.option("--depth", type=click.IntRange(0), help="Depth. Default: that of the prompt's name."),
        click.option("--time-range", metavar="TEXT", default="", help="Time range. Default: none."),
        click.option("--child-count", type=click.IntRange(0), default=4, show_default=True, help="Source items."),
        click.option("--previous-context", metavar="TEXT", default="", help="Summary before this one. Default: none."),
        click.option(
            "--target-tokens", type=click.IntRange(1), default=2000, show_default=True, help="Length to ask for."
        ),
    ):
        function = option(function)
    return function


@command("prompts")
@click.option("--list", "list_", is_flag=True, help="Which file counts for each prompt, and what is wrong with it.")
@click.option(
    "--export",
    metavar="[DIR]",
    is_flag=False,
    flag_value=_HOME,
    help=f"Write the defaults into DIR, to be edited there; without DIR into {_HOME}, where they count at once.",
)
@click.option("--show", metavar="NAME", help="The prompt that counts.")
@click.option("--diff", metavar="NAME", help="What your file changes in the default.")
@click.option("--render", metavar="NAME", help="The prompt as a model would get it.")
@_filling
@click.option("--prompt-dir", metavar="DIR", help=f"Look here first, then in {_HOME}.")
@click.option("--overwrite", is_flag=True, help="Let --export replace files that you changed.")
def prompts(settings: Settings, list_: bool, overwrite: bool, prompt_dir: str | None, **given: Any) -> None:  # noqa: FBT001
    """The prompts that summaries are made with: which count, how yours differ, what a model gets.

    Give exactly one of --list, --export, --show, --diff and --render. The names are leaf, condensed-d1, condensed-d2
    and condensed-d3; docs/prompts.md says what a prompt can hold.
    """
    wanted = {name: given.pop(name) for name in ("export", "show", "diff", "render")}
    actions = [f"--{name}" for name, value in wanted.items() if value is not None] + ["--list"] * list_
    if len(actions) != 1:
        raise click.UsageError("Give exactly one of --list, --export, --show, --diff and --render.")
    _refuse_idle_options(actions[0])
    if list_:
        from lcm_lab.summarizer import prompt_files
        from lcm_lab.views import prompts as views

        rows = prompt_files.sources(_folder(prompt_dir))
        _show(settings, views.sources_json(rows), lambda: views.sources(rows))
    elif wanted["export"] is not None:
        _export(settings, wanted["export"], overwrite=overwrite)
    elif wanted["diff"] is not None:
        _diff(settings, wanted["diff"], _folder(prompt_dir))
    elif wanted["show"] is not None:
        from lcm_lab.summarizer import prompting

        one = prompting.find(wanted["show"], _folder(prompt_dir))
        _text(settings, one, text=one.text)
    else:
        _render(settings, wanted["render"], _folder(prompt_dir), given)


def _refuse_idle_options(action: str) -> None:
    context = click.get_current_context()
    for name, actions in _BELONGS.items():
        if action.removeprefix("--") not in actions and context.get_parameter_source(name) != ParameterSource.DEFAULT:
            option, beside = f"--{name.replace('_', '-')}", ", ".join(f"--{one}" for one in actions)
            raise click.UsageError(f"{option} says nothing beside {action}; it goes with {beside}.")


def _folder(given: str | None) -> Path | None:
    from lcm_lab import places

    return None if given is None else places.expanded(given)


def _export(settings: Settings, folder: str, *, overwrite: bool) -> None:
    from lcm_lab.summarizer import prompt_files
    from lcm_lab.views import prompts as views

    if not folder.strip():
        raise click.UsageError("The name of the folder for --export is empty.")
    done = prompt_files.export(_folder(folder), overwrite=overwrite)
    _show(settings, done, lambda: views.exported(done))


def _diff(settings: Settings, name: str, folder: Path | None) -> None:
    from lcm_lab.errors import PromptError
    from lcm_lab.summarizer import prompt_files
    from lcm_lab.views import prompts as views

    found = prompt_files.diff(name, folder)
    if settings.as_json:
        _json(views.difference_json(found))
    else:
        _print(found.text or f"{found.name}: {found.note} ({found.path})\n")
    if found.problem:
        raise PromptError(found.problem)


def _render(settings: Settings, name: str, folder: Path | None, given: dict[str, Any]) -> None:
    from lcm_lab.summarizer import prompting

    template = prompting.find(name, folder)
    if given["depth"] is None:
        given["depth"] = prompting.NAMES.index(template.name)
    _text(settings, template, prompt=prompting.render(template, prompting.Variables(**given)))


def _text(settings: Settings, template: "Template", **shown: str) -> None:
    """A template's text or what became of it; warnings do not go where the text goes."""
    from lcm_lab.views import prompts as views

    if settings.as_json:
        _json(views.template_json(template, **shown))
        return
    (text,) = shown.values()
    _print(text)
    for warning in template.warnings:
        click.echo(f"{template.parsed.file}: {warning}.", err=True)


def _print(text: str) -> None:
    """Text as it is into a pipe or file; on a terminal without what would act there."""
    from lcm_lab.plain import safe

    text = text if text.endswith("\n") else f"{text}\n"
    page(safe(text) if sys.stdout.isatty() else text)


def _show(settings: Settings, result: Any, tables: "Callable[[], list[Table]]") -> None:
    if settings.as_json:
        _json(result)
        return
    from lcm_lab.views import terminal

    page(terminal.render(tables()))


def _json(result: Any) -> None:
    from lcm_lab.views import as_json

    click.echo(as_json.text(result))
