"""Commands that have summaries written anew: rewrite, repair, doctor.

The bare command shows what would be done and what it would cost, and asks no model. ``--preview`` (also ``--diff`` and
``--dry-run``) asks it and shows the new texts; ``--apply`` writes them, one summary after the other.
"""

import threading
from typing import TYPE_CHECKING, Any

import click

from lcm_lab.cli import attended, flags
from lcm_lab.cli.change import one_of
from lcm_lab.cli.options import Settings, command, conversation, maybe_conversation
from lcm_lab.plain import safe

if TYPE_CHECKING:
    from lcm_lab.lab import Lab
    from lcm_lab.repairs.batch import Batch, Proposal
    from lcm_lab.repairs.results import BatchResult
    from lcm_lab.summarizer.chosen import Chosen

_shared = flags.added(
    click.option("--apply", "apply_it", is_flag=True, help="Have them written anew and write them into the store."),
    click.option("--preview", is_flag=True, help="Ask the model and show the new texts; write nothing."),
    click.option("--dry-run", is_flag=True, help="As --preview."),
    click.option("--provider", metavar="NAME", help="anthropic, claude-cli, or any with --base-url."),
    click.option("--model", metavar="NAME", help="The model to ask."),
    click.option("--base-url", metavar="URL", help="An Anthropic-compatible server, e.g. one of your own."),
    click.option("--prompt-dir", metavar="DIR", help="Prompt templates of your own; see lcm-lab prompts."),
    click.option(
        "--timestamps/--no-timestamps", default=True, show_default=True, help="Times in the source text (zone: --tz)."
    ),
    click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(1, 64),
        default=1,
        show_default=True,
        help="Requests at the same time.",
    ),
    flags.yes,
    flags.backup,
)


@command("rewrite", flags.GoFlags)
@conversation
@click.option("--summary", "summary_id", metavar="ID", help="Write one summary anew.")
@click.option("--depth", type=int, metavar="N", help="Write all summaries of depth N anew.")
@click.option("--all", "everything", is_flag=True, help="Write all summaries anew, by depth, then by time.")
@click.option("--subtree", metavar="ID", help="Write one anew with all it was made from, sources first.")
@click.option("--diff", is_flag=True, help="Show the new texts as a unified diff.")
@click.option("--resume", metavar="BATCH", help="Go on with an earlier batch: leave out what it has done.")
@_shared
@click.pass_context
def rewrite(
    ctx: click.Context,
    /,
    settings: Settings,
    conversation_id: int,
    summary_id: str | None,
    depth: int | None,
    everything: bool,  # noqa: FBT001
    subtree: str | None,
    **given: Any,
) -> None:
    """Have summaries of CONV written anew from what they were made from. Exactly one of the first four is needed."""
    lab = settings.open()
    batch = lab.rewrite(
        conversation_id,
        summary_id,
        depth=depth,
        everything=everything,
        subtree=subtree,
        resume=given["resume"],
        **_planning(lab, given, doctor=False),
    )
    _run(ctx, settings, lab, batch, given, doctor=False)


@command("repair", flags.GoFlags)
@maybe_conversation
@click.option("--all", "everything", is_flag=True, help="Look at all conversations.")
@click.option("--summary-id", metavar="ID", help="Repair this summary only.")
@click.option("--verbose", is_flag=True, help="Show hash and beginning of each broken text.")
@click.option("--diff", is_flag=True, help="Show the new texts as a unified diff.")
@_shared
@click.pass_context
def repair(
    ctx: click.Context,
    /,
    settings: Settings,
    conversation_id: int | None,
    everything: bool,  # noqa: FBT001
    summary_id: str | None,
    verbose: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """Find broken summaries, of CONV or of all conversations, and have them written anew."""
    if everything and (summary_id or conversation_id is not None):
        raise click.UsageError("--all looks at all conversations: give no conversation and no --summary-id with it.")
    if conversation_id is None and not everything:
        raise click.UsageError("Name a conversation, or --all.")
    lab = settings.open()
    batch = lab.repair(conversation_id, summary_id, **_planning(lab, given, doctor=False))
    _run(ctx, settings, lab, batch, given, doctor=False, verbose=verbose)


@command("doctor", flags.GoFlags)
@maybe_conversation
@click.option("--all", "everything", is_flag=True, help="Look at all conversations (as without CONV).")
@click.option("--summary", "only_totals", is_flag=True, help="Show the totals alone.")
@click.option("--show-diff", "diff", is_flag=True, help="Show the new texts as a unified diff.")
@_shared
@click.pass_context
def doctor(
    ctx: click.Context,
    /,
    settings: Settings,
    conversation_id: int | None,
    everything: bool,  # noqa: FBT001
    only_totals: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """As repair, by a cheaper model; without CONV it looks at all conversations."""
    if everything and conversation_id is not None:
        raise click.UsageError("--all looks at all conversations: give no conversation with it.")
    if conversation_id is None and given["apply_it"] and not everything:
        raise click.UsageError("Name a conversation to repair, or --all.")
    if only_totals and (given["apply_it"] or given["preview"] or given["dry_run"] or given["diff"]):
        raise click.UsageError("--summary only counts; leave it out to see or write new texts.")
    lab = settings.open()
    batch = lab.doctor(conversation_id, **_planning(lab, given, doctor=True))
    if only_totals and not settings.as_json:
        from lcm_lab.views import repairs, terminal

        click.echo(terminal.render(repairs.totals(batch)), nl=False)
        return
    _run(ctx, settings, lab, batch, given, doctor=True)


def _planning(lab: "Lab", given: dict[str, Any], *, doctor: bool) -> dict[str, Any]:
    return {
        "timestamps": given["timestamps"],
        "prompt_dir": given["prompt_dir"],
        "model": lab.model(given["provider"], given["model"], given["base_url"], doctor=doctor),
    }


def _run(
    ctx: click.Context,
    settings: Settings,
    lab: "Lab",
    batch: "Batch",
    given: dict[str, Any],
    *,
    doctor: bool,
    verbose: bool = False,
) -> None:
    """Show the plan; or ask the model and show what it wrote; or write it."""
    one_of(given["apply_it"], given["dry_run"] or given["preview"])
    asked = given["apply_it"] or given["preview"] or given["dry_run"] or given["diff"]
    if asked and not batch.steps and settings.as_json:
        settings.show(batch.nothing(applied=given["apply_it"]))
        return
    if not batch.steps or not asked:
        settings.show(batch)
        if verbose and batch.steps and not settings.as_json:
            _show_broken(batch)
        if batch.steps and not settings.as_json:
            click.echo("To see the new texts, add --preview; to write them, --apply. Both send the requests.")
        return
    cancelled = threading.Event()
    summarizer = _summarizer(lab, given, cancelled, doctor=doctor)
    _say_who(summarizer.described, summarizer.warnings, batch)
    asks = given["apply_it"] and not given["yes"] and attended.someone_is_there()
    if asks and not attended.agrees("Send them and write what comes back?"):
        raise click.Abort
    with attended.progress(len(batch.steps), silent=settings.as_json) as progress:
        if given["apply_it"]:
            result = batch.apply(
                summarizer,
                jobs=given["jobs"],
                backup=given["backup"],
                confirm=_confirm(given["yes"]),
                progress=progress,
                cancelled=cancelled,
            )
        else:
            result = batch.preview(summarizer, jobs=given["jobs"], progress=progress, cancelled=cancelled)
    _show(settings, result, diff=given["diff"])
    if not result.complete:
        ctx.exit(1)


def _show(settings: Settings, result: "BatchResult", *, diff: bool) -> None:
    if settings.as_json:
        settings.show(result)
        return
    from lcm_lab.cli.options import page
    from lcm_lab.views import repairs, terminal

    shown = repairs.batch_result(result, settings.zone)
    texts = repairs.drafts(result, unified=diff) if diff or not result.applied else []
    page(terminal.render([*texts, *shown]))


def _show_broken(batch: "Batch") -> None:
    from lcm_lab.views import repairs, terminal

    texts = batch.store.read(lambda reader: repairs.broken_texts(reader, batch))
    click.echo(terminal.render([texts]), nl=False)


def _summarizer(lab: "Lab", given: dict[str, Any], cancelled: threading.Event, *, doctor: bool) -> "Chosen":
    def wait(seconds: float, reason: str) -> None:
        with attended.above_the_bar():
            click.echo(safe(f"lcm-lab: waiting {seconds:.0f} s: {reason}"), err=True)

    return lab.summarizer(
        provider=given["provider"],
        model=given["model"],
        base_url=given["base_url"],
        doctor=doctor,
        on_wait=wait,
        cancelled=cancelled,
    )


def _say_who(described: str, warnings: tuple[str, ...], batch: "Batch") -> None:
    from lcm_lab.analysis.wording import counted
    from lcm_lab.views.repairs import about_usd

    totals = batch.totals
    cost = "" if batch.cost_usd is None else f", {about_usd(batch.cost_usd)}"
    # First, because it may find that a prompt cannot be used.
    said = (*warnings, *batch.warnings)
    click.echo(f"lcm-lab: {safe(described)}; {counted(totals.requests, 'request')}{cost}.", err=True)
    for one in said:
        click.echo(f"lcm-lab: {safe(one)}", err=True)


def _confirm(yes: bool) -> "Any":  # noqa: FBT001
    """Who decides on a doubtful reply: --yes, or the person at the terminal, or nobody."""
    if yes:
        return lambda _proposal: True
    if not attended.someone_is_there():
        return None

    def ask(proposal: "Proposal") -> bool:
        from lcm_lab.views import repairs, terminal

        with attended.above_the_bar():
            if proposal.plan is not None and proposal.plan.text is not None:
                click.echo(terminal.render([repairs.text_change(proposal.plan.text)]), err=True)
            click.echo(safe(" ".join(proposal.verdict.reasons)), err=True)
            try:
                return attended.agrees("Write it all the same?")
            except click.Abort:
                # As Ctrl-C anywhere else in a batch: it ends, and what was done is still told.
                raise KeyboardInterrupt from None

    return ask
