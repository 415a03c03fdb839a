"""Commands that change a store's DAG or take a change back: dissolve, transplant, apply, undo, backup, restore.

Parse, make a plan, print it; with ``--apply`` make it real. Nothing is written without.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lcm_lab.cli import flags
from lcm_lab.cli.measure import window_tokens
from lcm_lab.cli.options import ROW_ID, Settings, command, conversation

if TYPE_CHECKING:
    from lcm_lab.repairs.plan import Plan

_apply = click.option("--apply", "apply_it", is_flag=True, help="Make the change.")
_window = click.option(
    "--window", callback=window_tokens, metavar="N", help="The model's window in tokens, for a warning; e.g. 200k."
)


@command("dissolve", flags.GoFlags)
@conversation
@click.option("--summary-id", required=True, metavar="ID", help="The condensed summary to dissolve.")
@flags.added(_apply, flags.dry_run)
@click.option("--purge/--no-purge", default=True, show_default=True, help="Delete the summary as well.")
@click.option("--splice", is_flag=True, help="Hand its sources to summaries that were made from it.")
@flags.added(_window, flags.backup)
def dissolve(settings: Settings, conversation_id: int, summary_id: str, **given: Any) -> None:
    """Put a condensed summary's sources back into the context of CONV in its place."""
    plan = settings.open().dissolve(
        conversation_id, summary_id, purge=given["purge"], splice=given["splice"], window=given["window"]
    )
    _show_or_apply(settings, plan, **given)


@command("transplant", flags.GoFlags)
@click.argument("source_id", metavar="FROM", type=ROW_ID)
@click.argument("target_id", metavar="TO", type=ROW_ID)
@flags.added(_apply, flags.dry_run)
@click.option(
    "--order",
    type=click.Choice(["depth", "source"]),
    default="depth",
    show_default=True,
    help="depth: all summaries of the context by depth, then age; source: put in front as they stand.",
)
@click.option("--summary-id", "summary_ids", multiple=True, metavar="ID", help="Only this one with all it rests on.")
@click.option("--skip-duplicates", is_flag=True, help="Use what TO has already instead of copying it again.")
@flags.added(_window, flags.backup)
def transplant(settings: Settings, source_id: int, target_id: int, **given: Any) -> None:
    """Copy the summaries of conversation FROM, with their messages, into conversation TO."""
    plan = settings.open().transplant(
        source_id,
        target_id,
        order=given["order"],
        summary_ids=given["summary_ids"],
        skip_duplicates=given["skip_duplicates"],
        window=given["window"],
    )
    _show_or_apply(settings, plan, **given)


@command("apply")
@click.argument("path", metavar="PLAN.json", type=click.Path(path_type=Path))
@flags.backup
@click.pass_context
def apply(ctx: click.Context, /, settings: Settings, path: Path, backup: str) -> None:
    """Make the repair (or the drafted ones of a batch) that a file holds, as --json printed or plan.save() wrote it."""
    from lcm_lab.repairs import filed

    result = filed.apply(settings.open().store, path, backup=backup)
    settings.show(result)
    if getattr(result, "complete", True) is False:
        ctx.exit(1)


@command("undo", flags.GoFlags)
@click.argument("name", metavar="[PLAN|BATCH|ENTRY]", required=False)
@click.option("--list", "listed", is_flag=True, help="Show the repairs made to this store.")
@flags.added(_apply, flags.dry_run)
@click.option("--yes", "apply_too", is_flag=True, help="As --apply.")
@flags.backup
@click.pass_context
def undo(  # noqa: PLR0917  (click hands them over by name)
    ctx: click.Context,
    /,
    settings: Settings,
    name: str | None,
    listed: bool,  # noqa: FBT001
    apply_it: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    apply_too: bool,  # noqa: FBT001
    backup: str,
) -> None:
    """Take back the last repair, or a plan, a batch or a journal entry by its name."""
    one_of(apply_it or apply_too, dry_run)
    lab = settings.open()
    if listed:
        settings.show(lab.history())
        return
    found = lab.undo_plan(name)
    if not (apply_it or apply_too):
        settings.show(found)
        _hint(settings)
        return
    result = found.apply(backup=backup)
    settings.show(result)
    if result.left:
        ctx.exit(1)


@command("backup")
def backup(settings: Settings) -> None:
    """Make a backup of the store beside it; the newest five are kept."""
    settings.show(settings.open().backup())


@command("restore", flags.GoFlags)
@click.argument("chosen", metavar="[BACKUP]", required=False)
@click.option("--list", "listed", is_flag=True, help="Show the backups beside the store.")
@flags.added(_apply, flags.dry_run)
@click.option("--yes", "apply_too", is_flag=True, help="As --apply.")
def restore(
    settings: Settings,
    chosen: str | None,
    listed: bool,  # noqa: FBT001
    apply_it: bool,  # noqa: FBT001
    dry_run: bool,  # noqa: FBT001
    apply_too: bool,  # noqa: FBT001
) -> None:
    """Put a backup (the newest without a name) in the place of the store; what is there is backed up before."""
    from lcm_lab.repairs import kept
    from lcm_lab.store import copies

    one_of(apply_it or apply_too, dry_run)
    lab = settings.open()
    if listed:
        settings.show(kept.of(lab.store))
        return
    found = copies.find(lab.store, chosen)
    copies.check(lab.store, found)
    if not (apply_it or apply_too):
        settings.show(kept.one(found))
        _hint(settings)
        return
    settings.show(lab.restore(found))


def _show_or_apply(
    settings: Settings, plan: "Plan", *, apply_it: bool, dry_run: bool, backup: str, **_given: Any
) -> None:
    one_of(apply_it, dry_run)
    if apply_it:
        settings.show(plan.apply(backup=backup))
        return
    settings.show(plan)
    _hint(settings)


def one_of(apply_it: bool, dry_run: bool) -> None:  # noqa: FBT001
    """Refuse what contradicts itself."""
    if apply_it and dry_run:
        raise click.UsageError("--apply writes, and --dry-run (or --preview) does not; give one of them.")


def _hint(settings: Settings) -> None:
    if not settings.as_json:
        click.echo("To do it, add --apply.")
