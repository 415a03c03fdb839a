"""UserPromptSubmit and UserPromptExpansion: the turn gets its number, typed look-ups are answered.

Idea: the number must be known before the first tool call; a look-up that the user types is answered from the event
itself, so no text of the user's ever meets a shell.
Invariant: texts the client submits by itself (task notifications) and slash commands announce no turn; the hook never
blocks a prompt. Checked in tests/hooks/test_hooks_stdin.py, tests/hooks/test_lookup.py and tests/e2e.
"""

from __future__ import annotations

try:
    from . import calls, delivery, hook_io, ingest, memory_db, numbering, transcript
except ImportError:  # run as a script: the folder of the script is on the path
    import calls  # type: ignore[import-not-found,no-redef]
    import delivery  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import ingest  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import numbering  # type: ignore[import-not-found,no-redef]
    import transcript  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from typing import Any

COMMANDS = ("sc-detail", "sc-search", "sc-resolve")


def work(event: dict[str, Any]) -> dict[str, Any] | None:
    """Number the turn or answer the command."""
    if hook_io.text_of(event, "agent_id"):
        return None
    name = hook_io.text_of(event, "hook_event_name")
    session = hook_io.text_of(event, "session_id")
    path = hook_io.text_of(event, "transcript_path")
    con = memory_db.connect()
    memory_db.ensure_session(con, session, hook_io.text_of(event, "cwd"), path)
    memory_db.count_run(con, name)
    if name == "UserPromptExpansion":
        return _answer(con, event, session)
    prompt = hook_io.text_of(event, "prompt")
    if not prompt.lstrip().startswith((*transcript.NOT_A_REQUEST, "/")):
        _announce(con, session, path, hook_io.text_of(event, "prompt_id") or None, prompt)
    con.execute("BEGIN IMMEDIATE")
    try:
        due = delivery.watch(con, session, path, prompt=True)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    return hook_io.context(name, due.text) if due else None


def _announce(con: sqlite3.Connection, session: str, path: str, prompt_id: str | None, prompt: str) -> None:
    """Give the prompt its turn number, after every turn that came before it."""
    row = con.execute(
        "SELECT read_size, (SELECT count(*) FROM turns t WHERE t.session_id = s.session_id AND t.state = 'open') "
        "FROM sessions s WHERE session_id=?",
        (session,),
    ).fetchone()
    if row[1] or (not row[0] and hook_io.file_size(path)):
        hook_io.attempt(lambda: ingest.catch_up(con, session, path))
    masked = hook_io.config().get("redact", True) is not False
    con.execute("BEGIN IMMEDIATE")
    try:
        number = numbering.announce(con, session, prompt_id)
        known = con.execute("SELECT 1 FROM details WHERE session_id=? AND source_id=?", (session, f"user:{number}"))
        if known.fetchone() is None:  # text typed into a running turn comes with that turn's prompt id
            ingest.put_text(con, session, number, "user", 0, calls.mask(prompt, on=masked), 1.0)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _answer(con: sqlite3.Connection, event: dict[str, Any], session: str) -> dict[str, Any] | None:
    """What the typed command asks for, as context beside it."""
    command = hook_io.text_of(event, "command_name").lstrip("/").split(":")[-1]
    if command not in COMMANDS:
        return None
    try:
        from . import lookup
    except ImportError:
        import lookup  # type: ignore[import-not-found,no-redef]
    text = lookup.answer(
        con, command.removeprefix("sc-"), hook_io.text_of(event, "command_args"), session, lookup.SHORT
    )
    return hook_io.context("UserPromptExpansion", text)


if __name__ == "__main__":
    hook_io.run(work)
