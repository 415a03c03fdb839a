"""From transcript to memory: turns get their lasting numbers, their texts, their L1 and L2, and complete L3.

Idea: the transcript is the truth and is read again from the start of its newest turn, so every reader of it (Stop,
PreCompact, the next prompt, an import) does the same and none has to finish. What was captured from events is
completed, not repeated.
Invariant: reading twice, or in any number of pieces, gives the rows that reading once gives; a turn's number never
changes once it is given. Checked in tests/hooks/test_replay.py.
"""

from __future__ import annotations

try:
    from . import calls, hook_io, layers, memory_db, numbering, token_estimator, transcript
except ImportError:  # run as a script: the folder of the script is on the path
    import calls  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import layers  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import numbering  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]
    import transcript  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

AT_ONCE = 20  # turns per transaction: an import must not hold the lock for long


class Session:
    """What `catch_up` learnt about the transcript as a whole."""

    __slots__ = ("boundaries", "context_tokens", "factor", "last_number", "last_state")

    def __init__(self) -> None:
        self.boundaries = 0
        self.context_tokens: int | None = None
        self.factor = 1.0
        self.last_number = 0
        self.last_state = "open"


def catch_up(
    con: sqlite3.Connection,
    session_id: str,
    path: str,
    *,
    last_message: str = "",
    stopped: bool = False,
    final: bool = False,
    prompt_id: str | None = None,
) -> Session:
    """Take in what the transcript holds beyond the last reading. A missing file is no error.

    `stopped` says that the newest turn has ended, `final` that the file will not grow any more.
    """
    found = Session()
    row = con.execute(
        "SELECT read_offset, read_size, real_tokens, estimated_tokens FROM sessions WHERE session_id=?", (session_id,)
    ).fetchone()
    if row is None:
        return found
    found.factor = token_estimator.factor(row[2], row[3])
    size = hook_io.file_size(path)
    masked = hook_io.config().get("redact", True) is not False
    offset = row[0] if size >= row[1] else 0  # a shorter file is another file
    reader = transcript.Reader(path)
    batch: list[transcript.Turn] = []
    if size:
        for turn in reader.turns(offset, final=final):
            batch.append(turn)
            if len(batch) > AT_ONCE:
                _store(con, session_id, batch[:-1], reader, found, masked=masked)
                del batch[:-1]
    shown = bool(batch) and _is_current(con, session_id, batch[-1], prompt_id, masked=masked)
    if shown and (stopped or last_message):
        _finish(batch[-1], last_message)
    _store(con, session_id, batch, reader, found, masked=masked)
    if last_message and not shown:
        _without_transcript(con, session_id, last_message, prompt_id, found, masked=masked)
    return found


def _without_transcript(
    con: sqlite3.Connection, session: str, last_message: str, prompt_id: str | None, found: Session, *, masked: bool
) -> None:
    """Keep the answer that Stop reports while the transcript is not there yet."""
    con.execute("BEGIN IMMEDIATE")
    try:
        found.last_number = number = calls.turn_at(con, session, prompt_id) or numbering.announce(
            con, session, prompt_id
        )
        row = con.execute(
            "SELECT input_text, input_packed FROM details WHERE session_id=? AND source_id=?",
            (session, f"user:{number}"),
        ).fetchone()
        turn = transcript.Turn(number, memory_db.unpack(*row) if row else "")
        _finish(turn, last_message)
        put_text(con, session, number, "assistant", 0, calls.mask(last_message, on=masked), found.factor)
        con.execute(
            "UPDATE turns SET state='complete', items=1, ended_at=datetime('now') WHERE session_id=? AND turn_number=?",
            (session, number),
        )
        layers.store(con, session, turn, mask=lambda text: calls.mask(text, on=masked))
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _is_current(
    con: sqlite3.Connection, session: str, turn: transcript.Turn, prompt_id: str | None, *, masked: bool
) -> bool:
    """Whether the newest turn of the transcript is the one that runs: even a prompt may not be on disk yet."""
    if prompt_id and turn.prompt_id:
        return prompt_id == turn.prompt_id
    row = con.execute(
        "SELECT d.input_text FROM turns t JOIN details d ON d.session_id = t.session_id "
        "AND d.source_id = 'user:' || t.turn_number WHERE t.session_id=? AND t.uuid IS NULL AND t.prompt_id IS NULL "
        "ORDER BY t.turn_number DESC",
        (session,),
    ).fetchone()
    return row is None or row[0] == memory_db.pack(calls.mask(turn.user_text, on=masked))[0]


def _finish(turn: transcript.Turn, last_message: str) -> None:
    """The answer that Stop reports stands for the line that is not on disk yet."""
    if last_message.strip() and turn.final_text.strip() != last_message.strip():
        turn.assistant_texts.append(last_message)
        turn.final_text = last_message
    if turn.state == "open":
        turn.state = "complete"


def _store(
    con: sqlite3.Connection,
    session: str,
    turns: list[transcript.Turn],
    reader: transcript.Reader,
    found: Session,
    *,
    masked: bool,
) -> None:
    con.execute("BEGIN IMMEDIATE")
    try:
        shared = numbering.shared_prompts(turns)
        for turn in turns:
            shown = memory_db.pack(calls.mask(turn.user_text, on=masked))[0]
            found.last_number = number = numbering.number_of(
                con, session, turn, shown, alone=turn.prompt_id not in shared
            )
            found.last_state = turn.state
            _store_turn(con, session, number, turn, found.factor, masked=masked)
        # A prompt that never got into the transcript before a later one did was taken back: it is no turn.
        con.execute(
            "DELETE FROM turns WHERE session_id=? AND uuid IS NULL AND state='open' AND items=0 AND turn_number < ?",
            (session, found.last_number),
        )
        for call in reader.late:
            _complete_late(con, session, call, found.factor, masked=masked)
        real, estimated = reader.growth
        con.execute(
            "UPDATE sessions SET read_offset = coalesce(?, read_offset), read_size = max(?, 0), "
            "total_turns = (SELECT count(*) FROM turns t WHERE t.session_id = sessions.session_id), "
            "context_tokens = coalesce(?, context_tokens), real_tokens = real_tokens + ?, "
            "estimated_tokens = estimated_tokens + ?, model = coalesce(nullif(?, ''), model), "
            "client_version = coalesce(nullif(?, ''), client_version) WHERE session_id = ?",
            (
                *(turns[-1].start if turns else None, reader.end, reader.context_tokens, real, estimated),
                *(reader.model, reader.version, session),
            ),
        )
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    reader.growth = (0, 0)
    reader.late = []
    found.boundaries += len(reader.boundaries)
    found.context_tokens = reader.context_tokens


def put_text(con: sqlite3.Connection, session: str, turn: int, kind: str, place: int, text: str, factor: float) -> None:
    """Store one text of the user or the model under its place in the turn; `text` is masked already."""
    source = f"{kind}:{turn}" + (f":{place}" if place else "")
    old = con.execute(
        "SELECT input_text, input_packed FROM details WHERE session_id=? AND source_id=?", (session, source)
    ).fetchone()
    if old is None or memory_db.unpack(*old) != text:
        memory_db.put_detail(
            con,
            {
                "session_id": session,
                "turn": turn,
                "kind": kind,
                "source_id": source,
                "input": text,
                "tokens": token_estimator.estimate(text, factor),
            },
        )


def _store_turn(
    con: sqlite3.Connection, session: str, number: int, turn: transcript.Turn, factor: float, *, masked: bool
) -> None:
    state, end, items = con.execute(
        "SELECT state, end_offset, items FROM turns WHERE session_id=? AND turn_number=?", (session, number)
    ).fetchone()
    grown = len(turn.tools) + len(turn.assistant_texts)
    if state != "open" and grown < items:  # the file lags behind what Stop reported
        con.execute(
            "UPDATE turns SET uuid=coalesce(uuid, ?), prompt_id=coalesce(prompt_id, ?), start_offset=? "
            "WHERE session_id=? AND turn_number=?",
            (turn.uuid, turn.prompt_id, turn.start, session, number),
        )
        return
    if turn.state == "open" and state != "open" and grown <= items:
        turn.state = state  # it was reported to have ended, and nothing has come since
    if (state, end, items) == (turn.state, turn.end, grown) and state != "open":
        return
    tokens = _store_texts(con, session, number, turn, factor, masked=masked)
    known = _known(con, session, [call.id for call in turn.tools])
    for call in turn.tools:
        if calls.is_lookup(call.name, call.input):
            continue
        row = calls.tool_row(session, number, call, factor, masked=masked)
        tokens += row["tokens"] if not call.sidechain else 0
        rank, at, status = known.get(call.id, (-1, number, ""))
        if rank < row["rank"]:
            memory_db.put_detail(con, row)
        elif at != number or (row["output"] is not None and status != row["status"]):
            con.execute(
                "UPDATE details SET turn_number=?, status=?, exit_code=coalesce(exit_code, ?) "
                "WHERE session_id=? AND source_id=?",
                (number, row["status"] if row["output"] is not None else status, call.exit_code, session, call.id),
            )
    con.execute(
        "UPDATE turns SET uuid=coalesce(uuid, ?), prompt_id=coalesce(prompt_id, ?), state=?, "
        "started_at=coalesce(?, started_at), ended_at=?, start_offset=?, end_offset=?, raw_tokens=?, items=? "
        "WHERE session_id=? AND turn_number=?",
        (
            *(turn.uuid, turn.prompt_id, turn.state, calls.stamp(turn.started_at), calls.stamp(turn.ended_at)),
            *(turn.start, turn.end, tokens, grown, session, number),
        ),
    )
    turn.number = number
    layers.store(con, session, turn, mask=lambda text: calls.mask(text, on=masked))


def _store_texts(
    con: sqlite3.Connection, session: str, number: int, turn: transcript.Turn, factor: float, *, masked: bool
) -> int:
    """Keep what both sides said; about how many tokens it is."""
    typed = [turn.user_text, *turn.followups]
    user_texts = [*typed, *turn.refusals]
    for kind, texts in (("user", user_texts), ("assistant", turn.assistant_texts)):
        for place, text in enumerate(texts):
            shown = calls.mask(text, on=masked)
            put_text(con, session, number, kind, place, shown, factor)
            if kind == "user" and 0 < place < len(typed):
                numbering.drop_announced(con, session, number, shown)
    return sum(token_estimator.estimate(text, factor) for text in (*user_texts, *turn.assistant_texts))


def _known(con: sqlite3.Connection, session: str, ids: list[str]) -> dict[str, tuple[int, int, str]]:
    found = {}
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        for source, rank, at, status in con.execute(
            "SELECT source_id, rank, turn_number, status FROM details WHERE session_id=? "
            f"AND source_id IN ({','.join('?' * len(some))})",
            (session, *some),
        ):
            found[source] = (rank, at, status)
    return found


def _complete_late(
    con: sqlite3.Connection, session: str, call: transcript.ToolCall, factor: float, *, masked: bool
) -> None:
    """A result whose call was read earlier."""
    row = con.execute(
        "SELECT turn_number, tool_name, input_text FROM details WHERE session_id=? AND source_id=? AND rank < ?",
        (session, call.id, memory_db.RANK_SEEN),
    ).fetchone()
    if row is not None:
        new = calls.tool_row(session, row[0], call, factor, masked=masked)
        memory_db.put_detail(con, {**new, "input": "", "tool": row[1]})


def store_agent(con: sqlite3.Connection, session: str, path: str, prompt_id: str | None = None) -> int:
    """Every call of one sub-agent's transcript, in the turn that asked for it; the number of calls."""
    masked = hook_io.config().get("redact", True) is not False
    made = transcript.agent_calls(path)
    con.execute("BEGIN IMMEDIATE")
    try:
        for call in made:
            number = calls.turn_at(con, session, prompt_id, call.started_at)
            known = _known(con, session, [call.id]).get(call.id, (-1, number, ""))
            row = calls.tool_row(session, known[1], call, 1.0, masked=masked)
            if known[0] < row["rank"] and not calls.is_lookup(call.name, call.input):
                memory_db.put_detail(con, row)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    return len(made)
