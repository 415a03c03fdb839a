"""Look-up into the session memory: what the commands and the model run, in pages that fit the output limits.

Idea: one function, `answer`, for the typed command (arguments from the hook's stdin) and for the program (arguments
from the command line). Arguments are numbers, a range or plain words; they are checked, never run, never part of SQL.
Invariant: always exit code 0 with a readable text; a page stays under its limit; the pages put together are the whole
text, byte for byte. Checked in tests/hooks/test_lookup.py.

    lookup.py detail TURN|FROM-TO | search WORDS | resolve ISSUE | memory [PART] | turns   [--page N] --session ID
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys

try:
    from . import block, hook_io, layers, memory_db, memory_read, token_estimator
except ImportError:  # run as a script: the folder of the script is on the path
    import block  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import layers  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import memory_read  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]

LONG = 19_000  # units a page through Bash, which shows 30,000 but not more than 20,000 everywhere
SHORT = 9_300  # units of a page through a hook, which takes 10,000
FRAME = 400  # kept free for the first and last line of a page
WIDEST_RANGE = 50
MOST_WORDS = 20
SESSION = re.compile(r"[A-Za-z0-9_-]{1,80}")
TURNS = re.compile(r"\s*(\d{1,6})(?:\s*-\s*(\d{1,6}))?\s*")
PAGE = re.compile(r"\s*(?:--page\s+|page\s+)(\d{1,5})\s*$")
WORD = re.compile(r'"([^"]*)"|(\S+)')
USAGE = "usage: detail TURN or FROM-TO · search WORDS · resolve ISSUE · memory [PART] · turns; with --page N for more"


def answer(con: sqlite3.Connection, what: str, given: str, session: str, limit: int = LONG) -> str:
    """The text for one request, at most `limit` units; what is wrong with it, where something is."""
    page = PAGE.search(given)
    number = int(page.group(1)) if page else 1
    rest = given[: page.start()] if page else given
    if memory_read.session(con, session) is None:
        return f"Nothing is stored for session {session or '(none)'}."
    if what == "detail":
        layers_sent, text = _detail(con, rest, session)
    elif what == "search":
        layers_sent, text = _search(con, rest, session)
    elif what == "resolve":
        layers_sent, text = "", _resolve(con, rest, session)
    elif what == "memory":
        layers_sent, text = "L1+L2", _memory(con, rest, session)
    elif what == "turns":
        layers_sent, text = "L1", _turns(con, rest, session)
    else:
        layers_sent, text = "", USAGE
    shown = _page(text, number, limit, f"{what} {' '.join(rest.split())[:100]}".strip())
    if layers_sent:
        _log(con, session, layers_sent, shown)
    return shown


def _range(given: str) -> tuple[int, int] | None:
    found = TURNS.fullmatch(given)
    if not found:
        return None
    first = int(found.group(1))
    return first, int(found.group(2) or first)


def _detail(con: sqlite3.Connection, given: str, session: str) -> tuple[str, str]:
    span = _range(given)
    if span is None:
        return "", f"{_shown(given)} is no turn number. Give a number such as 7 or a range such as 3-5."
    first, last = span
    if last < first or last - first >= WIDEST_RANGE:
        return "", f"A range goes upwards and holds at most {WIDEST_RANGE} turns."
    lines = []
    for turn in memory_read.turns(con, session):
        if first <= turn.number <= last:
            lines.append(f"# Turn {turn.number} ({turn.state}, {turn.started_at or 'time unknown'})\n{turn.summary}")
            lines += [
                f"[{row.category}{' resolved' if row.resolved else ''}] #{row.id} {row.content}"
                for row in memory_read.judgments(con, session)
                if row.turn_number == turn.number
            ]
            lines += [_entry(row) for row in memory_read.details(con, session, turn.number)]
    loose = [] if lines else memory_read.details(con, session, first, last)
    lines += [_entry(row) for row in loose]
    if not lines:
        return "", f"Nothing is stored for turn {given.strip()} of this session."
    return f"L1+L2+L3:turn{first}" + (f"-{last}" if last != first else ""), "\n".join(lines)


def _entry(row: memory_read.DetailRow) -> str:
    """One detail with its texts exactly as they were stored."""
    if row.kind in {"user", "assistant"}:
        return f"## {'request' if row.kind == 'user' else 'answer'}\n{row.input}"
    facts = [row.tool_name or row.kind, row.status]
    facts += [f"exit code {row.exit_code}"] if row.exit_code is not None else []
    facts += [f"sub-agent {row.agent_id}"] if row.agent_id else []
    facts += [f"about {row.token_count} tokens"] if row.token_count else []
    output = "(no result known)" if row.output is None else row.output
    return f"## [{row.id}] {', '.join(facts)}\ninput: {row.input}\noutput:\n{output}"


def _search(con: sqlite3.Connection, given: str, session: str) -> tuple[str, str]:
    words = [(quoted or plain).strip() for quoted, plain in WORD.findall(given)]
    words = [word[:200] for word in words if word][:MOST_WORDS]
    if not words:
        return "", "Give the words to look for."
    hits = memory_read.search(con, words, session)
    if not hits:
        return "L3:search", f"Nothing in this session holds all of: {' '.join(words)}"
    lines = [f"{len(hits)} found, newest first (`detail TURN` shows all of a turn):"]
    lines += [
        f"turn {hit.turn_number} [{hit.id}] {hit.tool_name or hit.kind}: {' '.join(hit.snippet.split())}"
        for hit in hits
    ]
    return "L3:search", "\n".join(lines)


def _resolve(con: sqlite3.Connection, given: str, session: str) -> str:
    found = re.fullmatch(r"\s*#?(\d{1,9})\s*", given)
    if not found:
        return f"{_shown(given)} is no issue number. The number stands after # in the list of issues."
    con.execute("BEGIN IMMEDIATE")
    done = layers.resolve(con, session, int(found.group(1)))
    con.execute("COMMIT")
    if done:
        return f"Issue #{found.group(1)} is marked as resolved."
    open_now = ", ".join(f"#{row.id}" for row in memory_read.open_issues(con, session)) or "none"
    return f"There is no unresolved issue #{found.group(1)} in this session. Unresolved: {open_now}."


def _memory(con: sqlite3.Connection, given: str, session: str) -> str:
    rows = con.execute(
        "SELECT p.part, p.text FROM pending_parts p WHERE p.block_id = "
        "(SELECT block_id FROM pending WHERE session_id=? ORDER BY created_at DESC LIMIT 1) ORDER BY p.part",
        (session,),
    ).fetchall()
    made = dict(rows) or dict(enumerate(block.lay_out(block.gather(con, session), session, "now").parts, 1))
    wanted = given.strip() or "1"
    if not wanted.isdigit() or int(wanted) not in made:
        return f"There are {len(made)} parts: give a number from 1 to {len(made)}."
    return str(made[int(wanted)])


def _turns(con: sqlite3.Connection, given: str, session: str) -> str:
    span = _range(given) if given.strip() else (0, 10**6)
    if span is None:
        return f"{_shown(given)} is no turn number and no range."
    rows = [row for row in memory_read.turns(con, session) if span[0] <= row.number <= span[1]]
    return "\n".join(f"{row.number}. {row.summary or '(running)'}" for row in rows) or "No such turns."


def _shown(given: str) -> str:
    return "“" + hook_io.cut(" ".join(given.split()), 60) + "”"


def _page(text: str, number: int, limit: int, asked: str) -> str:
    """One page, cut behind a line's end where there is one near; the text itself is not changed."""
    room = limit - FRAME
    pieces: list[str] = []
    start = 0
    while start < len(text) or not pieces:
        end = min(len(text), start + room)
        while (over := hook_io.units(text[start:end]) - room) > 0:
            end -= max(1, (over + 1) // 2)
        if end < len(text):
            end = text.rfind("\n", start + (end - start) * 3 // 4, end) + 1 or end
        pieces.append(text[start:end])
        start = end
    if len(pieces) == 1:
        return text
    if not 1 <= number <= len(pieces):
        return f"There are {len(pieces)} pages; page {number} is not one of them."
    more = f"; for more: {asked} --page {number + 1}" if number < len(pieces) else ""
    return f"[page {number} of {len(pieces)}{more}]\n{pieces[number - 1]}"


def _log(con: sqlite3.Connection, session: str, layers_sent: str, shown: str) -> None:
    try:
        tokens = token_estimator.estimate(shown)
        memory_db.log_injection(con, session, "on_demand", layers_sent, token_after=tokens, units=hook_io.units(shown))
    except sqlite3.Error as error:  # the answer matters more than its record
        hook_io.log(f"look-up not recorded: {error}")


def run(arguments: list[str]) -> str:
    """The text for a command line."""
    words: list[str] = []
    session = page = ""
    rest = iter(arguments)
    for word in rest:
        if word == "--session":
            session = next(rest, "")
        elif word == "--page":
            page = next(rest, "")
        else:
            words.append(word)
    if not SESSION.fullmatch(session):  # a skill body may come with its placeholder unfilled
        session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not SESSION.fullmatch(session):
        return "Give the session with --session ID."
    if not words:
        return USAGE
    con = memory_read.open_existing()
    if con is None:
        return "Nothing is stored yet."
    quoted = [f'"{word}"' if " " in word and '"' not in word else word for word in words[1:]]
    given = " ".join(quoted if words[0] == "search" else words[1:])
    if page:
        given += f" --page {page}" if page.isdigit() else ""
    return answer(con, words[0], given, session)


def main() -> None:
    """Print the answer; never fail."""
    try:
        text = run(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - a failing command would stop the whole skill
        hook_io.log(f"look-up failed: {error!r}")
        text = f"The look-up failed: {error}. The log is {os.path.join(hook_io.home(), 'hooks.log')}."
    sys.stdout.buffer.write(memory_db.clean(text).encode() + b"\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
