"""A message or a summary has one token number and one label, whichever view shows it."""

import re

import pytest

from lcm_lab import times, tokens
from lcm_lab.analysis import assembly, compression, dag
from lcm_lab.analysis.frames import Frames
from lcm_lab.analysis.health import check_store
from lcm_lab.store import checks_text, largest, messages, overview, search
from lcm_lab.store.connect import Reader, StoreFile
from tests.conftest import StoreMaker

UTC = times.zone("UTC")
PICTURE = "see data:image/png;base64," + "A" * 9000
TALK = "a picture begins with ;base64, and then its letters"
OUTPUT = "a long output of a tool, longer than the message itself, which says: done"
# Conversation 45 holds this one message or summary, so that every total of it is the number of that row.
ALONE = (
    (
        "UPDATE messages SET conversation_id = 45 WHERE message_id = 6; "
        "UPDATE context_items SET conversation_id = 45, ordinal = 0 WHERE message_id = 6;"
    ),
    (
        "UPDATE summaries SET conversation_id = 45 WHERE summary_id = 'sum_c1'; "
        "UPDATE context_items SET conversation_id = 45, ordinal = 0 WHERE summary_id = 'sum_c1';"
    ),
)


def parts(*outputs: tuple[str, int]) -> str:
    """SQL: parts of message 6 with these outputs, each ignored or not."""
    return "".join(
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, tool_output, is_ignored) "
        f"VALUES ('p{i}', 6, 's', 'tool', {i}, '{text}', {ignored});"
        for i, (text, ignored) in enumerate(outputs)
    )


MESSAGES = [
    ("zero", "token_count = 0", "", 3),
    ("negative", "token_count = -4", "", 3),
    ("a text", "token_count = '12 tokens'", "", 3),
    ("an empty text", "token_count = ''", "", 3),
    ("binary", "token_count = X'07'", "", 3),
    ("a fraction", "token_count = 3.7", "", 4),
    ("rounds to nothing", "token_count = 0.2", "", 3),
    ("absurd", "token_count = 1000000000000", "", 3),
    ("stored", "token_count = 77", "", 77),
    ("a picture counted as letters", f"content = '{PICTURE}', token_count = 23000", "", tokens.IMAGE_TOKENS + 1),
    ("a picture counted as one", f"content = '{PICTURE}', token_count = 1700", "", 1700),
    ("talk of a picture", f"content = '{TALK}', token_count = 9000", "", 9000),
    ("other script", "content = '你好世界', token_count = 0", "", 6),
    ("blank", "content = '', token_count = 0", "", 0),
    ("parts beside a content", "token_count = 0", parts((OUTPUT, 0)), 19),
    ("parts, one ignored", "content = ' ', token_count = 0", parts((OUTPUT, 0), (OUTPUT * 9, 1)), 19),
    ("parts in another script", "content = '', token_count = 'x'", parts(("你好世界", 0)), 6),
    ("parts and a count", "content = '', token_count = 5", parts((OUTPUT, 0)), 5),
]
SUMMARIES = [
    ("zero", "token_count = 0", 7),
    ("a text", "token_count = 'many'", 7),
    ("a fraction", "token_count = 3.7", 4),
    ("rounds to nothing", "token_count = 0.2", 7),
    ("absurd", "token_count = 1e300", 7),
    ("stored", "token_count = 77", 77),
    ("other script", "content = '你好世界', token_count = -1", 6),
]


@pytest.mark.parametrize(("update", "more", "number"), [one[1:] for one in MESSAGES], ids=[one[0] for one in MESSAGES])
def test_a_message_has_one_number(make_store: StoreMaker, update: str, more: str, number: int) -> None:
    file = StoreFile(make_store(ALONE[0], f"UPDATE messages SET {update} WHERE message_id = 6;", more))

    def look(reader: Reader) -> dict[str, list[int]]:
        (totals,) = overview.with_totals(reader, overview.conversations(reader, 45))
        return {
            "context": [one.tokens for one in assembly.assemble(reader, 45, zone=UTC).items],
            "conversations": [totals.message_tokens, totals.context_tokens],
            "messages": [one.tokens for one in messages.window(reader, 45, size=9).messages],
            "largest": [one.tokens for one in largest.largest(reader, 45, top=9)],
            "check": [one.tokens for one in checks_text.messages(reader, 45)],
        }

    found = file.read(look)
    for bodies in (False, True):
        for view in ("messages", "message_tokens", "context", "coverage"):
            rows = Frames(file, UTC).sql(f"SELECT tokens FROM {view} WHERE conversation_id = 45", bodies=bodies)
            found[f"sql {view} {bodies}"] = rows["tokens"].tolist()
    for view, numbers in found.items():
        assert set(numbers) == {number}, view
    said = [re.search(r"(?:re-estimated|read as) (\d+)$", one.message) for one in check_store(file, 45).of("T1")]
    assert {int(one[1]) for one in said if one} <= {number}


@pytest.mark.parametrize(("update", "number"), [one[1:] for one in SUMMARIES], ids=[one[0] for one in SUMMARIES])
def test_a_summary_has_one_number(make_store: StoreMaker, update: str, number: int) -> None:
    file = StoreFile(make_store(ALONE[1], f"UPDATE summaries SET {update} WHERE summary_id = 'sum_c1';"))

    def look(reader: Reader) -> dict[str, list[int]]:
        (totals,) = overview.with_totals(reader, overview.conversations(reader, 45))
        return {
            "context": [one.tokens for one in assembly.assemble(reader, 45, zone=UTC).items],
            "conversations": [totals.summary_tokens, totals.context_tokens],
            "dag": [one.tokens for one in dag.load(reader, 45).tree_rows()],
            "compression": [one.tokens for one in compression.load(reader, 45).rows],
            "largest": [one.tokens for one in largest.largest(reader, 45, top=9)],
            "check": [one.tokens for one in checks_text.summaries(reader, 45)],
        }

    found = file.read(look)
    for view in ("summaries", "summary_tree", "context"):
        rows = Frames(file, UTC).sql(f"SELECT tokens FROM {view} WHERE conversation_id = 45")
        found[f"sql {view}"] = rows["tokens"].tolist()
    for view, numbers in found.items():
        assert set(numbers) == {number}, view
    unused = check_store(StoreFile(make_store(ALONE[1], *_unused(update))), 45).of("O1-unused-summary")
    assert [f"({number:,} tokens)" in one.message for one in unused] == [True], "check's words"


def _unused(update: str) -> tuple[str, str]:
    return f"UPDATE summaries SET {update} WHERE summary_id = 'sum_c1';", "DELETE FROM context_items;"


@pytest.mark.parametrize(
    ("kind", "depth", "label"),
    [
        ("condensed", "2", "d2"),
        ("condensed", "'deep'", "leaf"),
        ("condensed", "''", "leaf"),
        ("condensed", "1.5", "leaf"),
        ("condensed", "X'02'", "leaf"),
        ("condensed", "0", "leaf"),
        ("leaf", "3", "leaf"),
        ("leaf", "'deep'", "leaf"),
    ],
)
def test_a_summary_has_one_label(make_store: StoreMaker, kind: str, depth: str, label: str) -> None:
    sql = f"UPDATE summaries SET kind = '{kind}', depth = {depth} WHERE summary_id = 'sum_c1';"
    file = StoreFile(make_store(ALONE[1], sql))

    def noted(look: object) -> tuple[set[str], bool]:
        def both(reader: Reader) -> tuple[set[str], bool]:
            labels = look(reader)  # type: ignore[operator]
            return labels, any((one.row, one.column) == ("sum_c1", "depth") for one in reader.notes)

        return file.read(both)

    odd = not depth.isdecimal()
    assert noted(lambda reader: {one.kind for one in assembly.assemble(reader, 45, zone=UTC).items}) == ({label}, odd)
    assert noted(lambda reader: {one.label for one in dag.load(reader, 45).tree_rows()}) == ({label}, odd)
    assert noted(lambda reader: {one.label for one in compression.load(reader, 45).rows}) == ({label}, odd)
    assert noted(lambda reader: {one.kind for one in largest.largest(reader, 45, top=9)}) == ({label}, odd)
    assert noted(lambda reader: {one.kind for one in search.search(reader, "8080", conversation_id=45).rows}) == (
        {label},
        odd,
    )
    frames = Frames(file, UTC)
    for view in ("summary_tree", "context"):
        assert frames.sql(f"SELECT label FROM {view} WHERE conversation_id = 45")["label"].tolist() == [label]
    assert [one.column for one in frames.anomalies() if one.row == "sum_c1"] == (["depth"] if odd else [])
    deepest = file.read(lambda reader: overview.with_totals(reader, overview.conversations(reader, 45)))[0].max_depth
    assert [deepest] == frames.sql("SELECT max_depth FROM conversation_totals WHERE conversation_id = 45")[
        "max_depth"
    ].tolist()


@pytest.mark.parametrize("content", ["", "Seen."])
def test_an_ignored_part_is_shown_nowhere(make_store: StoreMaker, content: str) -> None:
    sql = f"UPDATE messages SET content = '{content}', token_count = 0 WHERE message_id = 6;"
    file = StoreFile(make_store(ALONE[0], sql, parts(("loud words", 0), ("hushed words", 1))))

    def look(reader: Reader) -> tuple[str, str]:
        (one,) = messages.window(reader, 45, size=9).messages
        return one.text, assembly.assemble(reader, 45, zone=UTC).items[0].preview

    assert file.read(look) == ((content,) * 2 if content else ("Tool output: loud words",) * 2)
    hits = {word: file.read(lambda reader, word=word: search.search(reader, word)).rows for word in ("loud", "hushed")}
    assert [one.snippet for one in hits["loud"]] == ["Tool output: loud words"]
    assert hits["hushed"] == ()
