"""Commands that look at the session memory, and the two that change it: import and forget."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lcm_lab.cli.options import ALL, Settings, command, cursor, group, page_size, progress

if TYPE_CHECKING:
    from collections.abc import Callable

maybe_session = click.argument("session", metavar="[SESSION]", required=False)
session_option = click.option("--session", metavar="SESSION", help="This session, by its id or its beginning.")


@command("sessions")
@page_size
@cursor
def sessions(settings: Settings, limit: int, cursor: str | None) -> None:
    """Sessions with their turns, open issues and tokens, the newest first."""
    settings.show(settings.memory().sessions(limit=limit, cursor=cursor))


@command("turns")
@maybe_session
def turns(settings: Settings, session: str | None) -> None:
    """The turns of SESSION (default: the newest): one line each, and what L1 and L2 cost against the raw tokens."""
    settings.show(settings.memory().turns(session))


@command("show")
@click.argument("turn", metavar="[TURN]", type=int, required=False)
@session_option
@click.option("--issues", is_flag=True, help="What is unresolved, instead of a turn.")
@click.option("--given", is_flag=True, help="What was given to the model, when, and whether it arrived.")
@click.option("--block", is_flag=True, help="The text that a compaction now would be followed by.")
def show(settings: Settings, turn: int | None, session: str | None, **instead: bool) -> None:
    """TURN whole: its line, its judgments, every call and text; or, of a session, its issues, injections or block."""
    chosen = [name for name, wanted in instead.items() if wanted]
    if len(chosen) + (turn is not None) != 1:
        raise click.UsageError("Name one turn, or give one of --issues, --given and --block.")
    memory = settings.memory()
    if turn is not None:
        settings.show(memory.turn(turn, session))
        return
    look: dict[str, Callable[[str | None], Any]] = {
        "issues": memory.issues,
        "given": memory.injections,
        "block": memory.block,
    }
    settings.show(look[chosen[0]](session))


@command("search")
@click.argument("words", nargs=-1, required=True)
@session_option
@click.option("--limit", type=click.IntRange(1, ALL), default=50, show_default=True, help="Details shown at most.")
def search(settings: Settings, words: tuple[str, ...], session: str | None, limit: int) -> None:
    """Calls and texts that hold all the WORDS, in every session; words in quotes stay together."""
    text = " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)
    settings.show(settings.memory().search(text, session=session, limit=limit))


@command("stats")
@maybe_session
def stats(settings: Settings, session: str | None) -> None:
    """The memory in one look, or one SESSION of it: counts, tokens by layer, categories, what arrived."""
    settings.show(settings.memory().stats(session))


@command("export")
@maybe_session
@click.option("--to", "folder", required=True, type=click.Path(path_type=Path), help="A new or empty folder.")
@click.option("--bodies", is_flag=True, help="With the texts of details.")
@click.option("--overwrite", is_flag=True, help="Replace an earlier export in the folder.")
def export(settings: Settings, session: str | None, folder: Path, bodies: bool, overwrite: bool) -> None:  # noqa: FBT001
    """Every table, or the rows of one SESSION, as CSV and JSON."""
    settings.show(settings.memory().export(folder, session, bodies=bodies, overwrite=overwrite))


@command("forget")
@click.argument("session")
@click.option("--yes", is_flag=True, help="Do not ask.")
def forget(settings: Settings, session: str, yes: bool) -> None:  # noqa: FBT001
    """Delete SESSION with all its rows and overwrite their bytes; asks first."""
    memory = settings.memory()
    if not yes:
        held = memory.stats(session)
        click.echo(
            f"Session {held.session_id} in {memory.file.given}: {held.rows['turns']:,} turns, "
            f"{held.rows['details']:,} details.",
            err=True,
        )
        click.confirm("Delete it for good?", abort=True, err=True)
    settings.show(memory.forget(session))


@command("import")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Only count what is in the transcripts.")
def import_(settings: Settings, paths: tuple[Path, ...], dry_run: bool) -> None:  # noqa: FBT001
    """Take finished transcripts in: the files or folders PATHS, or all that Claude Code keeps on this machine.

    They go through the hooks' own code; importing one again adds nothing.
    """
    memory = settings.memory(may_be_new=True)
    settings.show(memory.import_transcripts(paths, dry_run=dry_run, progress=progress("B")))


GROUP = group(
    "memory",
    "The session memory of Claude Code: what it holds, what it saves, what arrived. --db names its folder "
    "(default: THROUGHLINE_HOME, ~/.throughline), --demo the made-up one.",
    sessions,
    turns,
    show,
    search,
    stats,
    export,
    forget,
    import_,
)
