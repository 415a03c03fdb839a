"""Commands that look things up."""

from pathlib import Path

import click

from lcm_lab.cli.options import ALL, ROW_ID, Settings, command, conversation, cursor, page_size


@command("info")
def info(settings: Settings) -> None:
    """The store in one look: size, age, counts, tokens, what could not be read."""
    settings.show(settings.open().info())


@command("agents")
def agents(settings: Settings) -> None:
    """The agents on this machine and how many sessions each has."""
    from lcm_lab import roster
    from lcm_lab.cli.work import lab_or_none

    lab, folder = lab_or_none(settings)
    settings.show(lab.agents() if lab else roster.agents(folder))


@command("sessions")
@click.argument("agent")
@page_size
@cursor
@click.option("--all", "show_hidden", is_flag=True, help="Sub-agent files and warm-ups, too.")
def sessions(settings: Settings, agent: str, limit: int, cursor: str | None, show_hidden: bool) -> None:  # noqa: FBT001
    """The session files of AGENT, newest first, and their conversations."""
    from lcm_lab import roster
    from lcm_lab.cli.work import lab_or_none

    lab, folder = lab_or_none(settings)
    store = lab.store if lab else None
    settings.show(roster.sessions(folder, agent, store, limit=limit or ALL, cursor=cursor, show_hidden=show_hidden))


@command("conversations")
@page_size
@cursor
def conversations(settings: Settings, limit: int, cursor: str | None) -> None:
    """Conversations in the store with their totals, the newest message first."""
    settings.show(settings.open().conversations(limit=limit, cursor=cursor))


@command("show")
@click.argument("conversation_id", metavar="[CONV]", type=ROW_ID, required=False)
@click.option("--limit", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Messages on a page.")
@click.option("--before", type=ROW_ID, help="The page before this seq (of a file: line).")
@click.option("--after", type=ROW_ID, help="The page after this seq (of a file: line).")
@click.option("--cursor", metavar="NEXT", type=ROW_ID, help="As --before: the 'next' of a JSON page.")
@click.option("--session", "file", type=click.Path(path_type=Path), help="Read this session file instead.")
def show(
    settings: Settings,
    conversation_id: int | None,
    limit: int,
    before: int | None,
    after: int | None,
    cursor: int | None,
    file: Path | None,
) -> None:
    """The messages of CONV, newest page first; or a session file that has no conversation."""
    if (conversation_id is None) == (file is None):
        raise click.UsageError("Name a conversation, or a session file with --session FILE.")
    before = cursor if before is None else before
    if before is not None and after is not None:
        raise click.UsageError("Give --before or --after, not both.")
    if file is not None:
        from lcm_lab import places, roster

        settings.show(roster.session_page(places.expanded(file), before=before, after=after, size=limit))
        return
    assert conversation_id is not None  # noqa: S101  (one of the two is there)
    settings.show(settings.open().messages(conversation_id, size=limit, before=before, after=after))


@command("dag")
@conversation
@click.option("--summary", "summary_id", metavar="ID", help="One summary whole: text, sources, what came of it.")
def dag(settings: Settings, conversation_id: int, summary_id: str | None) -> None:
    """The summary DAG of CONV as a tree."""
    lab = settings.open()
    if summary_id is None:
        settings.show(lab.dag(conversation_id))
        return
    lab.conversation(conversation_id)
    settings.show(lab.summary(summary_id))


@command("files")
@conversation
def files(settings: Settings, conversation_id: int) -> None:
    """The large files of CONV and whether their payloads are still there."""
    settings.show(settings.open().files(conversation_id))


@command("briefs")
@conversation
def briefs(settings: Settings, conversation_id: int) -> None:
    """The focus briefs of CONV and what changed since."""
    settings.show(settings.open().briefs(conversation_id))


@command("search")
@click.argument("text")
@click.option("--conversation", "conversation_id", metavar="CONV", type=ROW_ID, help="Only in this conversation.")
@click.option("--scan", is_flag=True, help="Look through every text for exactly these characters; slower.")
@page_size
@cursor
def search(
    settings: Settings, text: str, conversation_id: int | None, limit: int, cursor: str | None, *, scan: bool
) -> None:
    """Messages and summaries that hold TEXT; no character of it is an operator.

    Messages are looked up by words and their inflections where the store has an index that works, else by a scan.
    """
    found = settings.open().search(text, conversation_id=conversation_id, limit=limit or ALL, cursor=cursor, scan=scan)
    settings.show(found)
