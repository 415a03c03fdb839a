"""What a command that takes its time shows to a person at the terminal, and what it asks them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from lcm_lab.plain import safe

if TYPE_CHECKING:
    from lcm_lab.repairs.batch import Progress
    from lcm_lab.repairs.results import Outcome


def someone_is_there() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agrees(question: str) -> bool:
    """What the person answers now; what was typed before the question was there is no answer to it.

    Raises:
        click.Abort: Ctrl-C, or the end of the input.
    """
    _forget_what_was_typed()
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        # The cursor still stands behind the question.
        click.echo(err=True)
        raise


@contextmanager
def above_the_bar() -> Iterator[None]:
    """What is printed within stands above a progress bar, if one is shown, and not on its line."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    with tqdm.external_write_mode(file=sys.stderr):
        yield


@contextmanager
def progress(total: int, *, silent: bool) -> "Iterator[Progress | None]":
    """A bar on a terminal that someone looks at; elsewhere one line for each item, or with ``silent`` none."""
    if sys.stderr.isatty():
        from tqdm import tqdm

        bar: tqdm[Any]
        with tqdm(total=total, unit="summary", leave=False) as bar:

            def advance(outcome: "Outcome", done: int, _total: int) -> None:
                bar.set_postfix_str(f"{safe(outcome.summary_id)} {outcome.status}", refresh=False)
                bar.update(done - bar.n)

            yield advance
    else:
        yield None if silent else _line


def _line(outcome: "Outcome", done: int, total: int) -> None:
    after = "" if outcome.tokens_after is None else f", {outcome.tokens_before:,} -> {outcome.tokens_after:,} tokens"
    why = f": {outcome.reason}" if outcome.reason else ""
    click.echo(safe(f"[{done}/{total}] {outcome.summary_id} {outcome.status}{after}{why}"), err=True)


def _forget_what_was_typed() -> None:
    try:
        import termios
    except ImportError:
        return
    try:
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
    except (termios.error, OSError, ValueError):
        # The input is no terminal: then nothing was typed.
        return
