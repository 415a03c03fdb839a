"""Commands that measure and check."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from lcm_lab.cli.options import Settings, command, conversation, cursor, maybe_conversation, progress


def window_tokens(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """A window in tokens: a whole number, with k or M if you like; 0, none or nothing is no budget."""
    text = (value or "").strip().replace(",", "").replace("_", "").lower()
    if text in ("", "0", "none"):
        return None
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1], 1)
    digits = text[:-1] if factor > 1 else text
    if not re.fullmatch("[0-9]{1,15}", digits):
        raise click.BadParameter(f"{value!r} is no number of tokens; write 128000, 128k or 1M, or 0 for none.")
    return int(digits) * factor or None


def with_budget(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the budget line."""
    for option in (
        click.option(
            "--fresh-tail", type=click.IntRange(0), default=64, show_default=True, help="Messages always kept."
        ),
        click.option(
            "--compact-at",
            type=click.FloatRange(0, 1, min_open=True),
            default=0.75,
            show_default=True,
            help="Share of the window at which the plugin compacts.",
        ),
        click.option(
            "--window", callback=window_tokens, metavar="N", help="The model's window in tokens; 0: no budget."
        ),
    ):
        function = option(function)
    return function


@command("context")
@conversation
@with_budget
@click.option("--limit", type=click.IntRange(0), default=500, show_default=True, help="Items on a page; 0: all.")
@cursor
def context(settings: Settings, conversation_id: int, limit: int, cursor: str | None, **line: Any) -> None:
    """What the model would get in its next turn, item by item. Totals are those of the whole context."""
    whole = settings.open().context(conversation_id, **line)
    settings.show(whole.page(limit=limit, cursor=cursor))


@command("budget")
@maybe_conversation
@with_budget
@click.option("--without-noise", is_flag=True, help="Leave heartbeats out of the numbers.")
def budget(settings: Settings, conversation_id: int | None, without_noise: bool, **line: Any) -> None:  # noqa: FBT001
    """Where the tokens of CONV go; without CONV, the largest conversations."""
    lab = settings.open()
    if conversation_id is None:
        settings.show(lab.store_budget())
        return
    settings.show(lab.budget(conversation_id, with_noise=not without_noise, **line))


@command("check")
@maybe_conversation
@click.pass_context
def check(ctx: click.Context, settings: Settings, conversation_id: int | None) -> None:
    """What is wrong or suspicious, and what to do. Exit code 1 when there is an error or a warning."""
    report = settings.open().check(conversation_id, progress=progress(" steps"))
    settings.show(report)
    if report.counts["error"] or report.counts["warning"]:
        ctx.exit(1)


@command("sql")
@click.argument("query")
@click.option("--bodies", is_flag=True, help="With the texts of messages and summaries.")
@click.option("--limit", type=click.IntRange(0), default=200, show_default=True, help="Rows on a page; 0: all.")
@click.option("--cursor", metavar="NEXT", help="Start where the page before ended: its 'next'.")
def sql(settings: Settings, query: str, bodies: bool, limit: int, cursor: str | None) -> None:  # noqa: FBT001
    """The result of a SELECT over the store's tables and views; nothing can be written."""
    from lcm_lab.store.page import slice_page

    frame = settings.open().sql(query, bodies=bodies)
    page = slice_page(list(frame.itertuples(index=False, name=None)), limit=limit, cursor=cursor)
    settings.show_rows([str(name) for name in frame.columns], page)


@command("export")
@maybe_conversation
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path), help="A new or empty folder.")
@click.option("--bodies", is_flag=True, help="With the texts of messages and summaries.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in the folder.")
def export(settings: Settings, conversation_id: int | None, folder: Path, bodies: bool, overwrite: bool) -> None:  # noqa: FBT001
    """The store's tables and views as CSV and Parquet."""
    settings.show(settings.open().export(folder, conversation_id, bodies=bodies, overwrite=overwrite))
