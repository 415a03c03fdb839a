"""The conversation of a session, the reason, and the others."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm_lab.sessions.discover import SessionFile
from lcm_lab.sessions.match import NOT_TRACKED, ConversationKey, Match, match


def session(stem: str, *, header: str | None = None) -> SessionFile:
    base, _, number = stem.partition("-topic-")
    return SessionFile(
        path=Path(f"{stem}.jsonl"),
        stem=stem,
        session_id=header or stem,
        modified=datetime(2026, 1, 1, tzinfo=UTC),
        modified_ns=0,
        size_bytes=0,
        topic_base=base if number else None,
        topic=number or None,
    )


def key(number: int, session_id: str | None, session_key: str | None = None, *, active: bool = True) -> ConversationKey:
    return ConversationKey(number, session_id, session_key, active)


@pytest.mark.parametrize(
    ("one", "keys", "expected"),
    [
        (session("s"), [], Match(None, None, (), NOT_TRACKED)),
        (session("s"), [key(1, "other", "k")], Match(None, None, (), NOT_TRACKED)),
        (session("s"), [key(1, "s", "k")], Match(1, "k", (), "session id is the file's stem")),
        (
            session("s"),
            [key(5, "s", "k", active=False), key(2, "s", "k"), key(3, "s", active=False)],
            Match(
                5, "k", (3, 2), "session id is the file's stem; 2 more with its session id or key; archived; active: 2"
            ),
        ),
        (
            session("s"),
            [key(1, "s", "k", active=False), key(4, "after-reset", "k")],
            Match(
                1, "k", (4,), "session id is the file's stem; 1 more with its session id or key; archived; active: 4"
            ),
        ),
        (session("s"), [key(1, "s", active=False)], Match(1, None, (), "session id is the file's stem; archived")),
        (
            session("b-topic-7"),
            [key(9, "b", "other"), key(2, "x", "b-topic-7")],
            Match(2, "b-topic-7", (9,), "session key is the file's stem; 1 more with its session id or key"),
        ),
        (
            session("b-topic-7"),
            [key(3, "b", "k"), key(4, "b-topic-7")],
            Match(3, "k", (4,), "session id is the stem without its topic; 1 more with its session id or key"),
        ),
        (
            session("renamed", header="h"),
            [key(3, "h", "k")],
            Match(3, "k", (), "session id is the one in the file's header"),
        ),
        (
            session("s", header="h"),
            [key(3, "h", "k"), key(1, "s")],
            Match(1, None, (3,), "session id is the file's stem; 1 more with its session id or key"),
        ),
        (session("s"), [key(1, "s"), key(2, "t"), key(3, None), key(4, "", "")], None),
    ],
)
def test_rule(one: SessionFile, keys: list[ConversationKey], expected: Match | None) -> None:
    # Rows without id or key share nothing with each other.
    assert match(one, keys) == (expected or Match(1, None, (), "session id is the file's stem"))


def test_order_of_the_keys_changes_nothing() -> None:
    keys = [key(number, "s", "k", active=number == 2) for number in range(1, 6)]
    assert match(session("s"), keys) == match(session("s"), keys[::-1])
    assert match(session("s"), keys).also == (4, 3, 2, 1)
