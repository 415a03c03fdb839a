"""Windows of a conversation."""

from pathlib import Path

import pytest

from lcm_lab.store import messages
from lcm_lab.store.connect import StoreFile
from tests.conftest import StoreMaker

SEVEN = "".join(
    f"INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (45, {seq}, 'user', 'm{seq}', 1);"
    for seq in range(1, 8)
)


@pytest.mark.parametrize(
    ("where", "seqs", "older", "newer"),
    [
        ({}, [5, 6, 7], True, False),
        ({"before": 5}, [2, 3, 4], True, True),
        ({"before": 2}, [1], False, True),
        ({"after": 4}, [5, 6, 7], True, False),
        ({"after": 2}, [3, 4, 5], True, True),
        ({"before": 1}, [], False, True),
        ({"after": 7}, [], True, False),
    ],
)
def test_windows(make_store: StoreMaker, where: dict[str, int], seqs: list[int], older: bool, newer: bool) -> None:  # noqa: FBT001
    found = StoreFile(make_store(SEVEN)).read(lambda reader: messages.window(reader, 45, size=3, **where))
    assert [one.message.seq for one in found.messages] == seqs
    assert (found.has_older, found.has_newer) == (older, newer)


def test_an_empty_conversation(base_store: Path) -> None:
    found = StoreFile(base_store).read(lambda reader: messages.window(reader, 45, size=3))
    assert (found.messages, found.has_older, found.has_newer) == ((), False, False)


def test_linked_messages_keep_their_order_and_skip_missing_ones(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE summary_messages SET ordinal = 1 - ordinal WHERE summary_id = 'sum_la'",
        "DELETE FROM messages WHERE message_id = 1",
    )
    found = StoreFile(path).read(lambda reader: messages.linked(reader, "sum_la"))
    assert [one.message_id for one in found] == [2]


def test_many_ids_go_in_batches(make_store: StoreMaker) -> None:
    many = "WITH RECURSIVE n(i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 2100) INSERT INTO messages(conversation_id, seq, role, content, token_count) SELECT 45, i, 'user', 'x', 1 FROM n"
    found = StoreFile(make_store(many)).read(lambda reader: messages.by_ids(reader, range(1, 3000)))
    assert len(found) == 2007
