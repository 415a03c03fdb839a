"""What the health checks read of a store: rows as they lie there, and who owns what they point to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lcm_lab.store import checks, checks_file, checks_text
from lcm_lab.store.checks import EdgeFact, Item
from lcm_lab.store.connect import StoreFile

StoreMaker = Callable[..., Path]


def test_items_know_the_owner_of_what_they_point_to(make_store: StoreMaker) -> None:
    more = (
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (45, 0, 'message', 5), "
        "(45, 1, 'message', 999)"
    )
    found = StoreFile(make_store(more)).read(lambda reader: checks.items(reader, 45))
    assert found == [
        Item(45, 0, "message", 5, None, 44, 4, None, None),
        Item(45, 1, "message", 999, None, None, None, None, None),
    ]
    assert [one.key for one in found] == ["45:0", "45:1"]
    assert [one.resolves for one in found] == [True, False]


def test_edges_are_seen_from_both_ends(make_store: StoreMaker) -> None:
    more = (
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) "
        "VALUES ('far', 45, 'condensed', 1, 'x', 1); INSERT INTO summary_parents VALUES ('far', 'sum_lb', 0), "
        "('gone', 'sum_lb', 0), ('gone', 'lost', 0)"
    )
    file = StoreFile(make_store(more))
    far = EdgeFact("far", "sum_lb", 0, 45, 44)
    assert far in file.read(lambda reader: checks.edges(reader, 44))
    assert far in file.read(lambda reader: checks.edges(reader, 45))
    assert EdgeFact("gone", "sum_lb", 0, None, 44) in file.read(lambda reader: checks.edges(reader, 44))
    assert [one.key for one in file.read(checks.lost_edges)] == ["gone->lost"]
    assert len(file.read(checks.all_edges)) == 4


def test_links_of_other_summaries_are_found(make_store: StoreMaker) -> None:
    file = StoreFile(make_store("INSERT INTO summary_messages VALUES ('gone', 5, 0), ('gone', 999, 1)"))
    assert [one.key for one in file.read(lambda reader: checks.links_from_elsewhere(reader, 44))] == ["gone->5"]
    assert [one.key for one in file.read(checks.lost_links)] == ["gone->999"]
    assert len(file.read(lambda reader: list(checks.links(reader, 44)))) == 4


def test_conversations_without_a_row_count_too(make_store: StoreMaker) -> None:
    file = StoreFile(make_store("DELETE FROM conversations WHERE conversation_id = 44"))
    assert file.read(checks.conversation_ids) == [44, 45]
    assert file.read(lambda reader: checks.belongs(reader, 44))
    assert not file.read(lambda reader: checks.belongs(reader, 46))


def test_orphans_are_named_by_reference(make_store: StoreMaker) -> None:
    more = (
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal) "
        "VALUES ('p', 999, 's', 'text', 0);"
        "CREATE TABLE later(note TEXT, conversation_id INTEGER REFERENCES conversations(conversation_id));"
        "INSERT INTO later VALUES ('x', 7), ('y', 44), ('z', NULL)"
    )
    found = StoreFile(make_store(more)).read(lambda reader: list(checks_file.orphans(reader)))
    assert {(one.table, one.column, one.parent, one.ids) for one in found} == {
        ("message_parts", "message_id", "messages", ("p",)),
        ("later", "conversation_id", "conversations", ("1",)),
    }


@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_every_version_can_be_read(make_store: StoreMaker, version: str) -> None:
    file = StoreFile(make_store(version=version))
    assert [one.conversation_id for one in file.read(checks.lanes)] == [44, 45]
    messages = file.read(lambda reader: list(checks_text.messages(reader, 44)))
    assert [one.seq for one in messages] == [0, 1, 2, 3, 4, 5]
    summaries = file.read(lambda reader: list(checks_text.summaries(reader, 44)))
    assert {one.summary_id for one in summaries} == {"sum_la", "sum_lb", "sum_c1"}
    assert file.read(lambda reader: checks.maintenance(reader, 44)) == []


def test_texts_come_as_they_lie_there(make_store: StoreMaker) -> None:
    more = (
        "UPDATE messages SET content = CAST(x'ff41' AS TEXT) WHERE message_id = 1; "
        "UPDATE messages SET content = x'4142', token_count = '' WHERE message_id = 2; "
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, tool_output, "
        "is_ignored) VALUES ('a', 3, 's', 'text', 0, 'abc', '  ', NULL), ('b', 3, 's', 'tool', 1, NULL, 'defg', 0), "
        "('c', 3, 's', 'text', 2, 'ignored', NULL, 1)"
    )
    file = StoreFile(make_store(more))
    rows = file.read(lambda reader: list(checks_text.messages(reader, 44)))
    assert (rows[0].content, rows[0].whole) == ("\ufffdA", False)
    assert (rows[1].content, rows[1].stored, rows[1].whole) == ("AB", "", True)
    assert file.read(lambda reader: checks_text.part_texts(reader, 3)) == ["abc", "defg"]
    assert file.read(lambda reader: checks_text.part_sizes(reader, [3, 4])) == {3: 9}
    assert file.read(lambda reader: checks_text.messages_with_parts(reader, [3, 4])) == {3}
    assert file.read(lambda reader: checks.blank_messages(reader, [3, 4])) == set()


def test_quick_check_of_a_sound_store_is_silent(base_store: Path) -> None:
    assert StoreFile(base_store).read(lambda reader: list(checks_file.quick_check(reader))) == []
    assert StoreFile(base_store).read(checks_file.size) > 0
