"""A row that is not as declared is still shown, and said which."""

from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.store import messages, overview, rows, summaries
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.rows import Message, Part
from lcm_lab.store.text import message_text, part_text, preview
from tests.conftest import StoreMaker


def notes_of(path: Path, row: type[rows.Row]) -> list[str]:
    """What was noted while all rows of a table were read."""
    return StoreFile(path).read(lambda reader: (rows.load(reader, row, ""), [str(note) for note in reader.notes])[1])


def test_sound_rows_leave_no_note(base_store: Path) -> None:
    for row in (rows.Conversation, rows.Message, rows.Summary, rows.Edge, rows.Link, rows.ContextItem):
        assert notes_of(base_store, row) == []


def test_a_text_in_a_number_column_is_left_out_and_named(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET token_count = '' WHERE message_id = 1",
        "UPDATE messages SET token_count = '12 tokens' WHERE message_id = 2",
        "UPDATE messages SET token_count = 3.7 WHERE message_id = 3",
    )
    assert notes_of(path, Message) == [
        "messages 1, token_count: '' in a column of whole numbers, left out",
        "messages 2, token_count: '12 tokens' in a column of whole numbers, left out",
        "messages 3, token_count: 3.7 in a column of whole numbers, read as 4",
    ]


def test_bad_counts_are_re_estimated_the_same_in_every_total(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET token_count = '' WHERE message_id = 1",
        "UPDATE messages SET token_count = '12 tokens' WHERE message_id = 2",
        "UPDATE messages SET token_count = -5 WHERE message_id = 3",
        "UPDATE messages SET token_count = 0 WHERE message_id = 4",
    )
    store = StoreFile(path)
    whole = store.read(overview.store_totals)
    listed = store.read(lambda reader: overview.with_totals(reader, overview.conversations(reader)))
    window = store.read(lambda reader: messages.window(reader, 44, size=100))
    assert whole.re_estimated == sum(one.re_estimated for one in listed) == 4
    assert whole.message_tokens == sum(one.message_tokens for one in listed)
    assert whole.message_tokens == sum(one.tokens for one in window.messages) == 30
    assert [one.rule for one in window.messages] == ["estimated"] * 4 + ["stored"] * 2


def test_null_where_a_value_must_be(make_store: StoreMaker) -> None:
    path = make_store(
        "CREATE TABLE loose AS SELECT * FROM messages; DROP TABLE messages; ALTER TABLE loose RENAME TO messages;"
        "UPDATE messages SET role = NULL, seq = NULL WHERE message_id = 2"
    )
    assert notes_of(path, Message) == [
        "messages 2, seq: NULL where a value must be",
        "messages 2, role: NULL where a value must be",
    ]


def test_invalid_utf8_is_shown_with_its_row(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = CAST(X'61FF62' AS TEXT) WHERE message_id = 5")
    found = StoreFile(path).read(lambda reader: (rows.load(reader, Message, ""), reader.notes))
    assert found[0][4].content == "a\ufffdb"
    assert [(note.row, note.column) for note in found[1]] == [("5", "content")]


def test_a_blob_in_a_text_column(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = X'6F6B' WHERE message_id = 5")
    found = StoreFile(path).read(lambda reader: (rows.load(reader, Message, ""), reader.notes))
    assert found[0][4].content == "ok"
    assert found[1][0].problem == "binary value in a text column"


def test_an_old_store_reads_missing_columns_as_nothing(make_store: StoreMaker) -> None:
    path = make_store(version="0.1.0")
    found = StoreFile(path).read(lambda reader: rows.load(reader, rows.Conversation, ""))
    assert {one.session_key for one in found} == {None}
    assert {one.state for one in found} == {"active"}
    assert notes_of(path, rows.Summary) == []


def test_a_store_without_a_table_reads_it_as_empty(make_store: StoreMaker) -> None:
    path = make_store("DROP TABLE large_files", "DROP TABLE summary_parents", "DROP TABLE focus_briefs")
    store = StoreFile(path)
    assert store.read(lambda reader: reader.schema.missing_tables) == ("summary_parents", "large_files")
    assert store.read(lambda reader: rows.load(reader, rows.LargeFile, "")) == []
    assert store.read(lambda reader: len(summaries.nodes(reader, 44))) == 3


@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_every_schema_version_opens(make_store: StoreMaker, version: str) -> None:
    store = StoreFile(make_store(version=version))
    era, unknown = store.read(lambda reader: (reader.schema.era, reader.schema.unknown))
    assert unknown == ()
    assert era == {"0.1.0": "0.1.0", "0.15.3": "0.15 or later", "1.0.0-beta.4": "1.0 line"}[version]


def test_text_comes_from_the_parts_where_content_is_blank(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = ' ', token_count = 0 WHERE message_id = 6",
        """INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, tool_name, tool_output)
           VALUES ('b', 6, 's', 'tool', 1, NULL, 'Bash', 'exit 0'), ('a', 6, 's', 'text', 0, 'deploy done', NULL, NULL)""",
    )
    view = StoreFile(path).read(lambda reader: messages.by_ids(reader, [6]))[6]
    assert view.text == "deploy done\n\nTool output: exit 0"
    assert (view.tokens, view.rule) == (3 + 2, "estimated")


def part(**given: object) -> Part:
    """A part with nothing in it but what is given."""
    empty: dict[str, object] = dict.fromkeys(one.name for one in fields(Part))
    return Part(**{**empty, "part_id": "p", "message_id": 1, "ordinal": 0, "part_type": "tool", **given})  # type: ignore[arg-type]


def test_a_part_says_all_it_carries() -> None:
    assert part_text(part(tool_input=' {"a":1} ', tool_error="no")) == 'Tool input: {"a":1}\nTool error: no'
    assert part_text(part(part_type="file", file_name="a.png", file_mime="image/png")) == "[file: a.png (image/png)]"
    assert part_text(part()) == ""


def test_content_wins_over_parts() -> None:
    message = Message(1, 1, 1, "user", "content", 1, None, None, "")
    assert message_text(message, [part(text_content="part")]) == "content"


@given(st.text(max_size=2000))
def test_a_preview_is_one_short_line(text: str) -> None:
    shown = preview(text, size=40)
    assert len(shown) <= 40
    assert "\n" not in shown
