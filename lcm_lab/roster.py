"""Agents and their session files, joined with the store they feed, if there is one.

Works without a store, too: a fresh machine has sessions before the plugin ever wrote anything.
"""

from pathlib import Path

from lcm_lab.errors import NotFound, UsageError
from lcm_lab.results import AgentList, SessionList, SessionRow
from lcm_lab.sessions import discover, jsonl, state
from lcm_lab.sessions.match import ConversationKey, match
from lcm_lab.store import overview
from lcm_lab.store.connect import Reader, StoreFile, is_sqlite


def agents(folder: Path) -> AgentList:
    """The agents of a state folder."""
    return AgentList(folder, tuple(state.agents(folder)), state.no_agents(folder))


def sessions(
    folder: Path,
    agent: str,
    store: StoreFile | None,
    *,
    limit: int = 50,
    cursor: str | None = None,
    show_hidden: bool = False,
) -> SessionList:
    """A page of the session files of ``agent``, newest first, with their conversations where a store is given.

    Raises:
        NotFound: no such agent. UsageError: ``cursor`` is no cursor of this list.
    """
    found = state.agent(folder, agent)
    page = discover.sessions(found, limit=limit, cursor=_cursor(cursor), show_hidden=show_hidden)
    rows = (
        store.read(lambda reader: _rows(reader, page.files))
        if store
        else [SessionRow(file, match(file, []), None, None) for file in page.files]
    )
    return SessionList(
        agent=found.name,
        rows=tuple(rows),
        total=page.total,
        hidden=page.hidden,
        duplicates=page.duplicates,
        reset_files=page.reset_files,
        deleted_files=page.deleted_files,
        next=f"{page.next.modified_ns}:{page.next.name}" if page.next else None,
        database=found.database.sentence() if found.database else None,
        problem=page.problem,
    )


def session_page(path: Path, *, before: int | None, after: int | None, size: int) -> jsonl.EntryPage:
    """A page of a session file.

    Raises:
        NotFound: no such file, or no line of it is a session's. UsageError: both ``before`` and ``after``.
    """
    if path.is_file() and is_sqlite(path):
        raise NotFound(f"{path} is an SQLite database, not a session file; open it with --db.")
    page = jsonl.page(path, before=before, after=after, size=size)
    if page.total and page.problems == page.total:
        raise NotFound(f"{path} is not a session file: none of its {page.total:,} lines could be read as one.")
    return page


def session_file(folder: Path, session_id: str | None, session_key: str | None) -> Path | None:
    """The live file named after a conversation's session, or else its newest topic; None where no agent has one.

    Only names are compared, as :func:`lcm_lab.sessions.match.match` does first: no file is read, and no text of a store
    becomes a part of a path.
    """
    live = [file for agent in state.agents(folder) for file in discover.folder(agent.path).live]
    exact = [file for name in (session_key, session_id) for file in live if file.stem == name]
    topics = [file for file in live if session_id and file.stem.startswith(f"{session_id}-topic-")]
    return exact[0].path if exact else max(topics, key=lambda file: file.modified_ns).path if topics else None


def _rows(reader: Reader, files: tuple[discover.SessionFile, ...]) -> list[SessionRow]:
    known = {one.conversation_id: one for one in overview.conversations(reader)}
    keys = [
        ConversationKey(one.conversation_id, one.session_id, one.session_key, one.state == "active")
        for one in known.values()
    ]
    matches = [match(file, keys) for file in files]
    wanted = {one.conversation_id for one in matches if one.conversation_id is not None}
    counts = overview.counts(reader, sorted(wanted))
    rows = []
    for file, found in zip(files, matches, strict=True):
        summaries, large = counts.get(found.conversation_id or -1, (None, None))
        rows.append(SessionRow(file, found, summaries, large))
    return rows


def _cursor(text: str | None) -> discover.Cursor | None:
    if text is None:
        return None
    modified, _, name = text.partition(":")
    if not (modified.lstrip("-").isdigit() and name):
        raise UsageError(f"{text!r} is not a cursor of a session list; take the 'next' of the page before.")
    return discover.Cursor(int(modified), name)
