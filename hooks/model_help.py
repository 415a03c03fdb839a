"""Lets a model judge what was said, before a compaction and only where the user switched that on.

Idea: the rules know wordings; a model that reads the sentences in their order knows what they mean. That costs tokens
and seconds, so it is off until `"model_help": true` stands in config.json, and it is asked once per compaction, when
the block is about to be built: about the turns that it has not seen, the newest first while the budget lasts. What it
says replaces the judgments of the rules on these turns and their L1 lines; what the tools showed stays.
Invariant: nothing is sent when the switch is off, inside a call of our own, or where our estimate is above what is left
of the session's budget; every request is booked in `model_requests`; whatever goes wrong, L1 and L2 stay as the rules
made them.
Checked in tests/hooks/test_model_help.py and, with the real client, in tests/e2e.
"""

from __future__ import annotations

import re
import time

try:
    from . import classifier, client_call, hook_io, layers, memory_db, model_prompt, skeleton, token_estimator
    from .turns import int_or_none
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]
    import client_call  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import layers  # type: ignore[import-not-found,no-redef]
    import memory_db  # type: ignore[import-not-found,no-redef]
    import model_prompt  # type: ignore[import-not-found,no-redef]
    import skeleton  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]
    from turns import int_or_none  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
    from typing import Any

    from .client_call import Reply
    from .model_prompt import Chunk, Verdicts

    Issues = dict[int, tuple[int, str]]  # by id: the turn and what is wrong

MODEL = "sonnet"
BUDGET = 100_000  # tokens of a session, in and out
PATIENCE = 40.0  # seconds for all requests of one compaction
HOOK = 52.0  # seconds for the hook as a whole: the client allows 60
NAME = re.compile(r"[\w.:@/\[\]-]{1,100}")  # of a model
SIDE_BY_SIDE = 4  # requests of one compaction
MOST_ISSUES = 30  # open issues of before that are asked about again
# How sure a judgment is: named by the model; doubted by it; made by the rules on a turn that the model has judged. The
# last two are below `classifier.SURE`: kept for search, not given back.
NAMED, DOUBTED, OVERRULED = 0.9, 0.5, 0.2


class Settings:
    """What config.json says: whether, which model, how many tokens a session."""

    __slots__ = ("budget", "model", "on")

    def __init__(self, config: dict[str, Any]) -> None:
        self.on = config.get("model_help") is True
        model, budget = config.get("model_help_model"), config.get("model_help_tokens")
        self.model = model.strip() if isinstance(model, str) and NAME.fullmatch(model.strip()) else MODEL
        self.budget = BUDGET if budget is None else max(int_or_none(budget) or 0, 0)  # what is no number allows nothing


def spent(con: sqlite3.Connection, session: str) -> int:
    """The tokens that a session's requests have cost so far, in and out."""
    row = con.execute(
        "SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM model_requests WHERE session_id=?", (session,)
    ).fetchone()
    return int(row[0])


def judge(
    con: sqlite3.Connection,
    session: str,
    ask: Callable[[str, str, float], Reply] | None = None,
    *,
    begun: float | None = None,
) -> tuple[int, int]:
    """Ask about the turns that no model has judged yet; (requests sent, requests that brought something).

    `begun` is when the hook started (`time.monotonic`): what it has used of its time is not there any more.
    """
    settings = Settings(hook_io.config())
    patience = PATIENCE if begun is None else min(PATIENCE, HOOK - (time.monotonic() - begun))
    if not settings.on or hook_io.off() or patience < 1:
        return 0, 0
    issues = _open_issues(con, session)
    con.execute("BEGIN IMMEDIATE")  # of two copies of the hook one asks
    try:
        chosen = _book(con, session, settings, issues)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise
    replies = client_call.side_by_side([r for _, r, _ in chosen], settings.model, patience, ask or client_call.ask)
    useful = 0
    for (number, _, chunk), reply in zip(chosen, replies, strict=True):
        text = memory_db.clean(reply.text)
        verdicts = model_prompt.read(text, chunk, _before(chunk, issues)) if text else None
        useful += verdicts is not None
        # each by itself: what one of them meets must not lose the others, which are paid for, too
        hook_io.attempt(lambda n=number, c=chunk, r=reply, v=verdicts: _store(con, session, n, c, r, v))  # type: ignore[misc]
        if verdicts is None:
            hook_io.log(
                f"model help brought nothing for turns up to {chunk.turns[-1]}: {reply.fault or 'not understood'}"
            )
    return len(chosen), useful


def _book(con: sqlite3.Connection, session: str, settings: Settings, issues: Issues) -> list[tuple[int, str, Chunk]]:
    """(row, request, chunk) of what the budget allows, noted before it is sent: a hook that is killed has paid, too."""
    real, estimated = con.execute(
        "SELECT real_tokens, estimated_tokens FROM sessions WHERE session_id=?", (session,)
    ).fetchone() or (0, 0)
    factor = token_estimator.factor(real, estimated)
    left = settings.budget - spent(con, session)
    booked = []
    for chunk in model_prompt.chunks(_unseen(con, session))[:SIDE_BY_SIDE]:
        request = model_prompt.request(chunk, _before(chunk, issues))
        tokens = token_estimator.estimate(request, factor)
        left -= tokens + model_prompt.answer_tokens(chunk)
        if left < 0:
            break
        row = con.execute(
            "INSERT INTO model_requests(session_id, model, first_turn, last_turn, sentences, input_tokens, "
            "output_tokens, seconds, outcome) VALUES (?,?,?,?,?,?,0,0,'asked')",
            (session, settings.model, chunk.turns[0], chunk.turns[-1], len(chunk.sentences), tokens),
        )
        booked.append((int(row.lastrowid or 0), request, chunk))
    return booked


def _unseen(con: sqlite3.Connection, session: str) -> list[model_prompt.Said]:
    """What was said in the turns that no model has judged in their present length, oldest first."""
    rows = con.execute(
        "SELECT d.turn_number, d.kind, d.input_text, d.input_packed, t.items FROM details d JOIN turns t "
        "USING (session_id, turn_number) WHERE d.session_id=? AND d.kind IN ('user', 'assistant') "
        "AND coalesce(t.model_items, -1) < t.items AND NOT EXISTS (SELECT 1 FROM model_requests r "
        "WHERE r.session_id = d.session_id AND r.outcome = 'asked' AND r.at > datetime('now', ?) "
        "AND d.turn_number BETWEEN r.first_turn AND r.last_turn) "
        "ORDER BY d.turn_number, d.kind = 'assistant', d.id",
        (session, f"-{PATIENCE + 5:.0f} seconds"),
    )
    return [
        model_prompt.Said(turn, kind, memory_db.unpack(text, packed), items) for turn, kind, text, packed, items in rows
    ]


def _before(chunk: Chunk, issues: Issues) -> dict[int, str]:
    """The issues of earlier turns: only what comes after an issue can settle it."""
    return {number: text for number, (turn, text) in issues.items() if turn < chunk.turns[0]}


def _open_issues(con: sqlite3.Connection, session: str) -> Issues:
    rows = con.execute(
        "SELECT j.id, j.turn_number, j.content FROM judgments j JOIN turns t USING (session_id, turn_number) "
        "WHERE j.session_id=? AND j.category='ISSUE' AND j.resolved=0 AND j.confidence >= ? "
        "AND t.model_items >= t.items ORDER BY j.id DESC LIMIT ?",
        (session, classifier.SURE, MOST_ISSUES),
    )
    return {int(issue): (int(turn), str(content)) for issue, turn, content in rows}


def _store(
    con: sqlite3.Connection, session: str, number: int, chunk: Chunk, reply: Reply, verdicts: Verdicts | None
) -> None:
    con.execute("BEGIN IMMEDIATE")
    try:
        there = con.execute(
            "UPDATE model_requests SET input_tokens=coalesce(?, input_tokens), output_tokens=?, cost_usd=?, seconds=?, "
            "outcome=? WHERE id=?",
            (
                reply.input_tokens if reply.counted or not reply.sent else None,
                *(reply.output_tokens, reply.cost, round(reply.seconds, 2)),
                *("judged" if verdicts is not None else memory_db.clean(reply.fault or "not understood"), number),
            ),
        ).rowcount
        if verdicts is not None and there:  # the session may have been forgotten meanwhile
            _apply(con, session, chunk, verdicts)
        con.execute("COMMIT")
    except BaseException:
        con.execute("ROLLBACK")
        raise


def _apply(con: sqlite3.Connection, session: str, chunk: Chunk, verdicts: Verdicts) -> None:
    for turn in chunk.turns:
        con.execute(
            "UPDATE judgments SET confidence=? WHERE session_id=? AND turn_number=? AND source='rule'",
            (OVERRULED, session, turn),
        )
        con.execute(
            "UPDATE turns SET model_items=? WHERE session_id=? AND turn_number=?", (chunk.items[turn], session, turn)
        )
    for number, verdict in sorted(verdicts.labels.items()):
        sentence = chunk.sentences[number]
        sure = NAMED if verdict.sure else DOUBTED
        made = classifier.Judgment(verdict.category, classifier.cut(sentence.text), sure, role=sentence.role)
        made.resolved, made.source = verdict.settled, "model"
        layers.put_by_model(con, session, sentence.turn, made)
    for issue in verdicts.fixed:
        layers.settle(con, session, issue, chunk.turns[-1])
    for turn, outcome in verdicts.outcomes.items():
        con.execute(
            "UPDATE skeletons SET summary=?1 WHERE session_id=?2 AND turn_number=?3 AND 'complete' = "
            "(SELECT state FROM turns t WHERE t.session_id=?2 AND t.turn_number=?3)",
            (skeleton.together(chunk.asked[turn], outcome), session, turn),
        )
