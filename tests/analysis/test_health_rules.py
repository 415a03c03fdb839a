"""One case per rule: a sound store shows nothing, and one fault shows up under its code and row, and nothing else."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest

from lcm_lab.analysis.health import Report, check, check_store
from lcm_lab.errors import NotFound
from lcm_lab.store.connect import StoreFile
from lcm_lab.tokens import plugin_tokens
from lcm_lab.views import as_json

StoreMaker = Callable[..., Path]

ROLES = ("user", "assistant", "tool", "assistant", "user", "assistant", "user", "assistant", "user", "assistant")
LEAVES = {"leaf_a": (1, 2, 3, 4), "leaf_b": (5, 6), "leaf_c": (7, 8)}


def at(minute: int) -> str:
    """The time of message ``minute`` as messages carry it."""
    return f"2026-05-01 10:{minute:02d}:00"


def body(number: int) -> str:
    """A text no other message has, long enough to be summarised."""
    return (
        f"Message {number} goes on about item {number * 7919} and about plan {number * 104729} for a good while. " * 4
    )


def story(name: str) -> str:
    """The text of a summary."""
    return f"Digest {name}: decisions kept, tasks open, and constraints noted for later."


def sound_sql() -> str:
    """A store without a fault: two conversations, ten messages with parts, three leaves and one condensed summary."""
    rows = [
        "INSERT INTO conversations(conversation_id, session_id, session_key) VALUES (1, 's1', 'k1'), (2, 's2', 'k2');"
    ]
    for number, role in enumerate(ROLES, 1):
        rows.append(message_sql(number, 1, number, role, body(number)))
        kind, call = ("tool", "'call-1'") if number in (2, 3) else ("text", "NULL")
        rows.append(
            "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, "
            "tool_call_id) "
            f"VALUES ('part-{number}', {number}, 's1', '{kind}', 0, '{body(number)}', {call});"
        )
    rows.append(message_sql(21, 2, 1, "user", body(21)))
    rows.append(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (2, 0, 'message', 21);"
    )
    tokens = {number: plugin_tokens(body(number)) for number in range(1, 11)}
    for name, numbers in LEAVES.items():
        total = sum(tokens[number] for number in numbers)
        rows.append(summary_sql(name, 0, (numbers[0], numbers[-1]), (0, 0), total))
        rows += [f"INSERT INTO summary_messages VALUES ('{name}', {number}, {i});" for i, number in enumerate(numbers)]
    below = sum(plugin_tokens(story(name)) for name in ("leaf_a", "leaf_b"))
    rows.append(summary_sql("top", 1, (1, 6), (2, below), sum(tokens[number] for number in range(1, 7))))
    rows.append("INSERT INTO summary_parents VALUES ('top', 'leaf_a', 0), ('top', 'leaf_b', 1);")
    rows.append(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id) VALUES "
        "(1, 0, 'summary', NULL, 'top'), (1, 1, 'summary', NULL, 'leaf_c'), (1, 2, 'message', 9, NULL), "
        "(1, 3, 'message', 10, NULL);"
    )
    return "\n".join(rows)


def message_sql(number: int, conversation: int, seq: int, role: str, text: str) -> str:
    """A message with its index row, as the plugin would write them."""
    mark = sha256(f"{role}\0{text}".encode()).hexdigest()
    return (
        "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) "
        f"VALUES ({number}, {conversation}, {seq}, '{role}', '{text}', {plugin_tokens(text)}, '{mark}', "
        f"'{at(number)}');"
        f"INSERT INTO messages_fts(rowid, content) VALUES ({number}, '{text}');"
    )


def summary_sql(name: str, depth: int, span: tuple[int, int], below: tuple[int, int], source: int) -> str:
    """A summary of conversation 1 with its index rows."""
    text = story(name)
    kind = "condensed" if depth else "leaf"
    index = "".join(
        f"INSERT INTO {table} VALUES ('{name}', '{text}');" for table in ("summaries_fts", "summaries_fts_cjk")
    )
    return (
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, "
        "descendant_count, descendant_token_count, source_message_token_count, model) VALUES "
        f"('{name}', 1, '{kind}', {depth}, '{text}', {plugin_tokens(text)}, '{at(span[0])}', '{at(span[1])}', "
        f"{below[0]}, {below[1]}, {source}, 'm');{index}"
    )


def rewrite_sql(name: str, text: str, tokens: int | None = None) -> str:
    """Give a summary another text, with its count and index rows."""
    count = plugin_tokens(text) if tokens is None else tokens
    quoted = text.replace("'", "''")
    return f"UPDATE summaries SET content = '{quoted}', token_count = {count} WHERE summary_id = '{name}';" + "".join(
        f"UPDATE {table} SET content = '{quoted}' WHERE summary_id = '{name}';"
        for table in ("summaries_fts", "summaries_fts_cjk")
    )


@pytest.fixture
def report(make_store: StoreMaker) -> Callable[..., Report]:
    """The report on a sound store after some SQL."""

    def make(*sql: str, conversation: int | None = None) -> Report:
        return check_store(StoreFile(make_store(sound_sql(), *sql, base=False)), conversation)

    return make


def test_a_sound_store_shows_nothing(report: Callable[..., Report]) -> None:
    found = report()
    assert found.findings == ()
    assert found.skipped == ()
    assert found.quoted == ()
    assert found.counts == {"error": 0, "warning": 0, "info": 0}


FALLBACK = "[LCM fallback summary; truncated for context management]"

WRONG = [
    ("C1 negative", "UPDATE context_items SET ordinal = -1 WHERE summary_id = 'top'", {("C1", "1:-1")}),
    ("C1 temporary", "UPDATE context_items SET ordinal = 10000003 WHERE message_id = 10", {("C1", "1:10000003")}),
    (
        "C3 gone",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, 4, 'message', 999)",
        {("C3", "1:4")},
    ),
    ("C3 shape", "UPDATE context_items SET summary_id = 'leaf_c' WHERE message_id = 10", {("C3", "1:3")}),
    (
        "C4",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, 4, 'message', 21)",
        {("C4", "1:4")},
    ),
    (
        "C5",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, 4, 'message', 9)",
        {("C5", "1:4")},
    ),
    (
        "C6 message",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, 4, 'message', 1)",
        {("C6", "1:4")},
    ),
    (
        "C6 summary",
        (
            "UPDATE context_items SET summary_id = 'leaf_b' WHERE summary_id = 'leaf_c'; "
            "INSERT INTO summary_parents VALUES ('top', 'leaf_c', 2); "
            "UPDATE summaries SET descendant_count = 3, latest_at = '2026-05-01 10:08:00' WHERE summary_id = 'top'"
        ),
        {("C6", "1:1")},
    ),
    (
        "C7",
        "UPDATE context_items SET ordinal = 9 WHERE summary_id = 'leaf_c'",
        {("C7", "1:9")},
    ),
    (
        "C8",
        (
            "UPDATE context_items SET ordinal = 99 WHERE ordinal = 0 AND conversation_id = 1; "
            "UPDATE context_items SET ordinal "
            "= 0 WHERE summary_id = 'leaf_c'; UPDATE context_items SET ordinal = 1 WHERE ordinal = 99"
        ),
        {("C8", "1:1")},
    ),
    (
        "L1 leaf",
        "DELETE FROM summary_messages WHERE summary_id = 'leaf_c'",
        {("L1", "leaf_c"), ("X1", "7"), ("X1", "8")},
    ),
    ("L1 condensed", "DELETE FROM summary_parents", {("L1", "top")}),
    ("L2 leaf", "INSERT INTO summary_parents VALUES ('leaf_c', 'leaf_b', 0)", {("L2", "leaf_c"), ("L6", "leaf_b")}),
    ("L2 condensed", "INSERT INTO summary_messages VALUES ('top', 7, 0)", {("L2", "top")}),
    ("L3 source", "INSERT INTO summary_parents VALUES ('top', 'gone', 2)", {("L3", "top->gone")}),
    ("L3 derived", "INSERT INTO summary_parents VALUES ('gone', 'leaf_c', 0)", {("L3", "gone->leaf_c")}),
    ("L3 both", "INSERT INTO summary_parents VALUES ('gone', 'lost', 0)", {("L3", "gone->lost")}),
    ("L3 message", "INSERT INTO summary_messages VALUES ('leaf_c', 999, 2)", {("L3", "leaf_c->999")}),
    ("L3 summary", "INSERT INTO summary_messages VALUES ('gone', 7, 0)", {("L3", "gone->7")}),
    ("L3 both of a link", "INSERT INTO summary_messages VALUES ('gone', 999, 0)", {("L3", "gone->999")}),
    ("L3 foreign link", "INSERT INTO summary_messages VALUES ('leaf_c', 21, 2)", {("L3", "leaf_c->21")}),
    (
        "L4",
        "INSERT INTO summary_parents VALUES ('leaf_a', 'top', 0)",
        {("L4", "leaf_a"), ("L4", "top"), ("L2", "leaf_a")},
    ),
    ("L5 hole", "UPDATE summary_messages SET ordinal = 5 WHERE message_id = 8", {("L5", "leaf_c")}),
    ("L5 twice", "UPDATE summary_parents SET ordinal = 0", {("L5", "top")}),
    ("L7", "INSERT INTO summary_messages VALUES ('leaf_c', 5, 2)", {("L7", "5"), ("M1", "leaf_c")}),
    ("D1", "UPDATE summaries SET depth = 2 WHERE summary_id = 'top'", {("D1", "top")}),
    (
        "D1 D2 of a leaf",
        "UPDATE summaries SET depth = 1 WHERE summary_id = 'leaf_c'",
        {("D1", "leaf_c"), ("D2", "leaf_c")},
    ),
    ("D2", "UPDATE summaries SET depth = 0 WHERE summary_id = 'top'", {("D1", "top"), ("D2", "top")}),
    ("T1 zero", "UPDATE summaries SET token_count = 0 WHERE summary_id = 'leaf_c'", {("T1", "leaf_c")}),
    ("T1 off", "UPDATE summaries SET token_count = 29 WHERE summary_id = 'leaf_c'", {("T1", "leaf_c")}),
    ("T1 negative", "UPDATE messages SET token_count = -5 WHERE message_id = 9", {("T1", "9")}),
    ("T1 empty text", "UPDATE messages SET token_count = '' WHERE message_id = 9", {("T1", "9")}),
    ("T1 text", "UPDATE messages SET token_count = '12 tokens' WHERE message_id = 9", {("T1", "9")}),
    ("T1 real", "UPDATE messages SET token_count = 3.7 WHERE message_id = 9", {("T1", "9")}),
    ("T1 too low", "UPDATE messages SET token_count = 3 WHERE message_id = 9", {("T1", "9")}),
    (
        "T1 from parts",
        "UPDATE messages SET content = '', token_count = 0 WHERE message_id = 9",
        {("T1", "9")},
    ),
    ("M1 null", "UPDATE summaries SET earliest_at = NULL WHERE summary_id = 'leaf_c'", {("M1", "leaf_c")}),
    ("M1 bad", "UPDATE summaries SET latest_at = 'yesterday' WHERE summary_id = 'leaf_c'", {("M1", "leaf_c")}),
    (
        "M1 reversed",
        "UPDATE summaries SET latest_at = '2020-01-01' || ' 00:00:00' WHERE summary_id = 'leaf_c'",
        {("M1", "leaf_c")},
    ),
    (
        "M1 drift",
        "UPDATE summaries SET latest_at = '2026-05-01 11:00:00' WHERE summary_id = 'leaf_c'",
        {("M1", "leaf_c")},
    ),
    ("M2", "UPDATE summaries SET descendant_count = 5 WHERE summary_id = 'top'", {("M2", "top")}),
    ("M2 text", "UPDATE summaries SET descendant_count = 'many' WHERE summary_id = 'top'", {("M2", "top")}),
    ("M3 no list", "UPDATE summaries SET file_ids = '{\"a\": 1}' WHERE summary_id = 'leaf_c'", {("M3", "leaf_c")}),
    ("M3 unknown", "UPDATE summaries SET file_ids = '[\"file_00\"]' WHERE summary_id = 'leaf_c'", {("M3", "leaf_c")}),
    ("Q2", "UPDATE messages SET created_at = '2026-05-01 09:00:00' WHERE message_id = 10", {("Q2", "10")}),
    ("F1 no row", "DELETE FROM summaries_fts WHERE summary_id = 'leaf_c'", {("F1", "leaf_c")}),
    ("F1 stale", "UPDATE summaries_fts_cjk SET content = 'old' WHERE summary_id = 'leaf_c'", {("F1", "leaf_c")}),
    ("F1 extra", "INSERT INTO summaries_fts VALUES ('gone', 'x')", {("F1", "gone")}),
    ("F1 twice", f"INSERT INTO summaries_fts VALUES ('leaf_c', '{story('leaf_c')}')", {("F1", "leaf_c")}),
    ("F1 message", "DELETE FROM messages_fts WHERE rowid IN (3, 5)", {("F1", "3"), ("F1", "5")}),
    ("F1 extra message", "INSERT INTO messages_fts(rowid, content) VALUES (77, 'x')", {("F1", "77")}),
    ("K1", rewrite_sql("leaf_c", f"Raw text.\n{FALLBACK}"), {("K1", "leaf_c")}),
    ("K1 model", "UPDATE summaries SET model = 'emergency-fallback' WHERE summary_id = 'leaf_c'", {("K1", "leaf_c")}),
    ("K2 blank", rewrite_sql("leaf_c", "  \n"), {("K2", "leaf_c")}),
    ("K2 copy", rewrite_sql("leaf_c", body(7)[:200]), {("K2", "leaf_c")}),
    ("K2 twin", rewrite_sql("leaf_c", story("leaf_b")), {("K2", "leaf_c")}),
    ("K2 reasoning", rewrite_sql("leaf_c", "<think>plan it first</think>Port is 443."), {("K2", "leaf_c")}),
    ("K2 size", rewrite_sql("leaf_c", "Much more than it was made from. " * 40), {("K2", "leaf_c")}),
    (
        "B1",
        "DROP INDEX conversations_active_session_key_idx; UPDATE conversations SET session_key = 'k1'",
        {("B1", "1"), ("B1", "2")},
    ),
    ("X1", "DELETE FROM summary_messages WHERE message_id = 8", {("X1", "8"), ("M1", "leaf_c")}),
    (
        "S2",
        (
            "DELETE FROM messages WHERE message_id = 21; DELETE FROM context_items WHERE conversation_id = 2; "
            "DELETE FROM messages_fts WHERE rowid = 21; "
            "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal) "
            "VALUES ('stray', 21, 's', 'text', 0)"
        ),
        {("S2", "stray")},
    ),
    ("S2 conversation", "DELETE FROM conversations WHERE conversation_id = 2", {("S2", "21"), ("S2", "2:0")}),
]


@pytest.mark.parametrize(("name", "sql", "expected"), WRONG, ids=[case[0] for case in WRONG])
def test_a_fault_shows_under_its_code_and_row(
    report: Callable[..., Report], name: str, sql: str, expected: set[tuple[str, str]]
) -> None:
    assert report(sql).pairs("error", "warning") == expected


LEGAL = [
    ("C2 gap", "UPDATE context_items SET ordinal = 9 WHERE message_id = 10", {("C2", "1:9")}),
    ("Q1 hole", "UPDATE messages SET seq = 30 WHERE message_id = 10", {("Q1", "10")}),
    ("first seq 0", "UPDATE messages SET seq = seq - 1", set()),
    (
        "first seq 7",
        "UPDATE messages SET seq = seq + 100; UPDATE messages SET seq = seq - 94",
        {("Q1", "1"), ("Q1", "21")},
    ),
    (
        "O1",
        "UPDATE context_items SET ordinal = 7 WHERE ordinal = 1; DELETE FROM context_items WHERE summary_id = 'leaf_c'",
        {("O1", "leaf_c"), ("C2", "1:2")},
    ),
    (
        "M2 sums",
        "UPDATE summaries SET source_message_token_count = 5000 WHERE summary_id = 'leaf_c'",
        {("M2", "leaf_c")},
    ),
    (
        "sender text",
        "UPDATE summaries SET source_message_token_count = source_message_token_count + 12 WHERE summary_id = 'leaf_c'",
        set(),
    ),
    ("M3 empty", "UPDATE summaries SET file_ids = '' WHERE summary_id = 'leaf_c'", {("M3", "leaf_c")}),
    (
        "M3 elsewhere",
        (
            "INSERT INTO large_files(file_id, conversation_id, storage_uri) VALUES ('file_1', 2, '/x/file_1'); "
            "UPDATE summaries SET file_ids = '[\"file_1\"]' WHERE summary_id = 'leaf_c'"
        ),
        {("M3", "leaf_c"), ("M3", "file_1")},
    ),
    (
        "P1 empty",
        (
            "UPDATE messages SET content = '', token_count = 0, identity_hash = NULL WHERE message_id = 10; "
            "DELETE FROM message_parts WHERE message_id = 10"
        ),
        {("P1", "10")},
    ),
    ("P1 users", "UPDATE messages SET role = 'user', identity_hash = NULL WHERE message_id = 10", {("P1", "10")}),
    ("P1 no call", "UPDATE message_parts SET tool_call_id = 'other' WHERE message_id = 3", {("P1", "3")}),
    ("P1 parts", "UPDATE message_parts SET ordinal = 4 WHERE message_id = 9", {("P1", "9")}),
    ("I1", "UPDATE messages SET identity_hash = 'x' WHERE message_id = 9", {("I1", "9")}),
    ("G1", "INSERT INTO conversation_compaction_maintenance(conversation_id, running) VALUES (1, 1)", {("G1", "1")}),
    ("B1 undated", "UPDATE conversations SET active = 0 WHERE conversation_id = 2", {("B1", "2")}),
    (
        "B1 lanes",
        (
            "INSERT INTO conversations(conversation_id, session_id, session_key, active, archived_at) "
            "VALUES (3, 's1', 'k1', 0, '2026-01-01T00:00:00Z'), (4, 's1', 'k1', 0, '2026-01-02T00:00:00Z')"
        ),
        set(),
    ),
    (
        "X1 after a reset",
        (
            "INSERT INTO conversation_bootstrap_state(conversation_id, session_file_path, last_seen_size, "
            "last_seen_mtime_ms, "
            "last_processed_offset, soft_reset_pruned_at) VALUES (1, 'x', 0, 0, 0, '2026-05-01 10:08:30'); "
            "DELETE FROM summary_messages WHERE message_id IN (7, 8); "
            "DELETE FROM context_items WHERE summary_id = 'leaf_c'; "
            "DELETE FROM summaries WHERE summary_id = 'leaf_c'; DELETE FROM summaries_fts WHERE summary_id = 'leaf_c'; "
            "DELETE FROM summaries_fts_cjk WHERE summary_id = 'leaf_c'"
        ),
        {("X1", "7"), ("X1", "8"), ("C2", "1:2")},
    ),
    (
        "B2",
        (
            "INSERT INTO focus_briefs(brief_id, conversation_id, prompt, content, status, source_context_hash) VALUES "
            "('f1', 1, 'p', 'c', 'active', 'old'), ('f2', 1, 'p', 'c', 'active', ''); "
            "INSERT INTO focus_brief_sources(brief_id, summary_id, role) VALUES ('f1', 'gone', 'cited')"
        ),
        {("B2", "f1"), ("B2", "f2")},
    ),
]


@pytest.mark.parametrize(("name", "sql", "expected"), LEGAL, ids=[case[0] for case in LEGAL])
def test_what_is_legal_is_info_at_most(
    report: Callable[..., Report], name: str, sql: str, expected: set[tuple[str, str]]
) -> None:
    found = report(sql)
    assert found.pairs("error", "warning") == set()
    assert found.pairs("info") == expected


def test_one_conversation_shows_its_own_only(report: Callable[..., Report]) -> None:
    sql = (
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (1, 4, 'message', 999), "
        "(2, 1, 'message', 998)"
    )
    assert report(sql).pairs("error") == {("C3", "1:4"), ("C3", "2:1")}
    alone = report(sql, conversation=2)
    assert alone.pairs("error") == {("C3", "2:1")}
    assert alone.scope == "conversation 2"
    assert [one.rule for one in alone.skipped] == ["S2"]


def test_a_conversation_nobody_knows_is_refused(report: Callable[..., Report]) -> None:
    with pytest.raises(NotFound, match="999"):
        report(conversation=999)


def test_rows_of_a_conversation_without_a_row(report: Callable[..., Report]) -> None:
    found = report("DELETE FROM conversations WHERE conversation_id = 2", conversation=2)
    assert found.pairs("error") == {("S2", "2")}


def test_an_item_behind_a_blank_message_is_usual(report: Callable[..., Report]) -> None:
    found = report(
        "DELETE FROM message_parts WHERE message_id = 9; DELETE FROM messages_fts WHERE rowid = 9; "
        "UPDATE messages SET content = '', token_count = 0 WHERE message_id = 9; "
        "UPDATE context_items SET ordinal = 20 WHERE message_id = 10; "
        "UPDATE context_items SET ordinal = 10 WHERE summary_id = 'leaf_c'"
    )
    assert found.pairs("error", "warning") == set()
    assert ("C7", "1:10") in found.pairs("info")


def test_no_compression_says_the_ratio(report: Callable[..., Report]) -> None:
    found = report(
        "UPDATE messages SET token_count = 4801 WHERE message_id IN (7, 8)", rewrite_sql("leaf_c", "word " * 7725)
    ).of("K2-no-compression")
    assert [one.ids for one in found] == [("leaf_c",)]
    assert "9,657 tokens" in found[0].message
    assert "9,602" in found[0].message
    assert "1.01" in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        f"[2026-05-01 10:07 UTC | user]\n{body(7)}\n\n[2026-05-01 10:08 UTC | assistant]\n{body(8)}",
        f"[user] {body(7)}\n[assistant] {body(8)[:60]}",
        body(7).strip()[:120] + "…",
    ],
    ids=["headers", "roles", "ellipsis"],
)
def test_a_copy_is_found_whatever_its_headers(report: Callable[..., Report], text: str) -> None:
    found = report(rewrite_sql("leaf_c", text))
    assert [one.ids for one in found.of("K2-verbatim-copy")] == [("leaf_c",)]


def test_a_quoted_mark_is_healthy_and_listed(report: Callable[..., Report]) -> None:
    found = report(
        rewrite_sql("leaf_c", f"The mark {FALLBACK} was seen in the log, and then it was taken out again for good.")
    )
    assert found.pairs("error", "warning") == set()
    assert [(one.summary_id, one.marker) for one in found.quoted] == [("leaf_c", FALLBACK)]
    assert "inside the text" in found.quoted[0].reason


def test_progress_ends_at_its_total(make_store: StoreMaker) -> None:
    steps: list[tuple[str, int, int]] = []
    file = StoreFile(make_store(sound_sql(), base=False))
    file.read(lambda reader: check(reader, store=file.path, progress=lambda *step: steps.append(step)))
    assert [done for _, done, _ in steps] == list(range(len(steps)))
    assert steps[-1][1] == steps[-1][2]
    assert ("conversation 1", 1, steps[-1][2]) in steps


def test_a_report_survives_json(report: Callable[..., Report]) -> None:
    found = json.loads(as_json.text(report("UPDATE summaries SET token_count = 0 WHERE summary_id = 'leaf_c'")))
    assert set(found) >= {"store", "findings", "counts"}
    assert found["counts"] == {"error": 0, "warning": 1, "info": 0}
    assert found["findings"][0]["ids"] == ["leaf_c"]
    assert found["findings"][0]["code"] == "T1-zero-count"


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("lcm-files/1/there.txt", set()),
        ("/home/elsewhere/lcm-files/1/there.txt", set()),
        ("lcm-files/1/gone.txt", {"M3-missing-payload"}),
        ("../../etc/nothing-of-the-kind", {"M3-missing-payload"}),
        ("/etc/hostname", {"M3-payload-outside"}),
        ("lcm-files/1/link.txt", {"M3-payload-outside"}),
    ],
)
def test_payloads_are_looked_for_inside_the_folder_only(make_store: StoreMaker, uri: str, expected: set[str]) -> None:
    path = make_store(
        sound_sql(),
        f"INSERT INTO large_files(file_id, conversation_id, storage_uri) VALUES ('file_1', 1, '{uri}')",
        base=False,
    )
    folder = path.parent / "lcm-files" / "1"
    folder.mkdir(parents=True)
    (folder / "there.txt").write_text("x")
    (folder / "link.txt").symlink_to("/etc/hostname")
    assert {one.code for one in check_store(StoreFile(path)).findings} == expected


def test_an_old_store_lacks_features_not_findings(make_store: StoreMaker) -> None:
    found = check_store(StoreFile(make_store(version="0.1.0")))
    assert found.pairs("error") == set()
    assert {"M1", "M2", "B2"} & {one.rule for one in found.findings} == set()


def test_a_store_without_the_optional_tables(make_store: StoreMaker) -> None:
    path = make_store(
        sound_sql(), "DROP TABLE summary_parents; DROP TABLE large_files; DROP TABLE message_parts", base=False
    )
    found = check_store(StoreFile(path))
    assert {("T1", None), ("C6", None)} & {(one.rule, one.conversation_id) for one in found.skipped} == {("C6", None)}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM messages").fetchone() == (11,)
