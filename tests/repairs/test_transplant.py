"""Transplant: against lcm-tui, refusals, duplicates, large files, contexts in every shape, random stores and undo."""

import json
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lcm_lab
from lcm_lab.errors import NotFound, NothingToDo, Refused, UsageError
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import plan as plans
from lcm_lab.repairs import preview, transplant, undo
from lcm_lab.repairs.journal import Applied
from lcm_lab.repairs.plan import Plan

StoreMaker = Callable[..., Path]
Rows = list[dict[str, Any]]
TABLES = ("messages", "message_parts", "large_files", "summaries", "summary_messages", "summary_parents")
NOT_COMPARED = ("sqlite_sequence",)
SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")


def planned(path: Path, source: int, target: int, **options: Any) -> Plan:
    """The plan of a transplant, after it went through JSON."""
    lab = lcm_lab.open(path, tz="UTC")
    made = lab.store.read(
        lambda reader: transplant.plan(reader, source, target, zone=lab.zone, options=transplant.Options(**options))
    )
    assert plans.from_json(json.loads(json.dumps(made.to_json()))) == made
    return made


def applied(path: Path, made: Plan) -> Applied:
    return writer.apply(lcm_lab.open(path, tz="UTC").store, made, backup="never")


def rows(path: Path, sql: str, *values: Any) -> Rows:
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "backslashreplace")
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]


def table(path: Path, name: str, conversation_id: int | None = None) -> Rows:
    where = "" if conversation_id is None else f" WHERE conversation_id = {conversation_id}"
    return rows(path, f"SELECT * FROM {name}{where} ORDER BY 1, 2")


def dump(path: Path) -> dict[str, list[str]]:
    """Every row of every table as text, those of full-text tables by what they hold."""
    names = [one["name"] for one in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {
        name: sorted(map(repr, rows(path, f'SELECT * FROM "{name}"')))
        for name in names
        if name not in NOT_COMPARED and not name.endswith(SHADOWS)
    }


def context(path: Path, conversation_id: int) -> list[str]:
    """A context as ``ordinal:what stands there``."""
    return [
        f"{one['ordinal']}:{one['summary_id'] or one['message_id']}"
        for one in table(path, "context_items", conversation_id)
    ]


def twin_of(path: Path, summary_id: str) -> str:
    """The copy of a summary in conversation 45."""
    sql = """SELECT t.summary_id FROM summaries s JOIN summaries t ON t.content = s.content AND t.conversation_id = 45
             WHERE s.summary_id = ?"""
    return str(rows(path, sql, summary_id)[0]["summary_id"])


def refs(path: Path, conversation_id: int) -> list[Any]:
    return [one["summary_id"] or one["message_id"] for one in table(path, "context_items", conversation_id)]


def pairs(path: Path) -> set[tuple[str, str]]:
    """(code, row) of every error and warning; a context item by what stands there, since its ordinal may move."""
    stands = {
        f"{one['conversation_id']}:{one['ordinal']}": f"{one['conversation_id']}:{one['summary_id'] or one['message_id']}"
        for one in table(path, "context_items")
    }
    report = lcm_lab.open(path, tz="UTC").check()
    return {
        (one.code, stands.get(key, key))
        for one in report.findings
        if one.severity in ("error", "warning")
        for key in one.ids
    }


def assert_as_shown(path: Path, made: Plan) -> None:
    """The context reads exactly as the plan's preview said."""
    lab = lcm_lab.open(path, tz="UTC")
    shown = lab.store.read(lambda reader: preview.shown(reader, made.conversation_id, lab.zone))
    assert made.context is not None
    assert shown[: len(made.context.after)] == made.context.after
    rest = shown[len(made.context.after) :]
    assert (len(rest), sum(one.tokens for one in rest)) == (made.context.rest_items, made.context.rest_tokens)
    assert made.tokens_after == sum(one.tokens for one in shown)


def round_trip(path: Path, made: Plan) -> dict[str, list[str]]:
    """Apply, look at the context, undo and compare everything; then apply again. The state before."""
    before = dump(path)
    applied(path, made)
    assert_as_shown(path, made)
    undo.undo(lcm_lab.open(path, tz="UTC").store, backup="never")
    assert dump(path) == before
    applied(path, made)
    return before


# ---- against lcm-tui ------------------------------------------------------------------------------------------------


@pytest.fixture
def golden(shared: Path) -> dict[str, dict[str, Rows]]:
    """What lcm-tui changed when it transplanted 1 to 2 in small.db."""
    found: dict[str, dict[str, Rows]] = json.loads((shared / "golden" / "small-transplant-1-2.json").read_text())[
        "changes"
    ]
    return found


@pytest.fixture
def small(shared_store: Callable[[str], Path]) -> Path:
    return shared_store("small.db")


def said_by(changes: dict[str, Rows]) -> dict[Any, str]:
    """The text behind each new id."""
    texts: dict[Any, str] = {one["summary_id"]: one["content"] for one in changes["summaries"]}
    return {**texts, **{one["message_id"]: one["role"] + one["content"] for one in changes["messages"]}}


def changed(path: Path, before: dict[str, Rows]) -> dict[str, Rows]:
    return {name: [one for one in table(path, name) if one not in before[name]] for name in before}


def test_rows_and_context_are_those_of_lcm_tui(small: Path, golden: dict[str, dict[str, Rows]]) -> None:
    before = {name: table(small, name) for name in (*TABLES, "context_items")}
    applied(small, planned(small, 1, 2))
    ours = changed(small, before)
    theirs = {name: golden.get(name, {"added": []})["added"] for name in ours}
    texts, their_texts = said_by(ours), said_by(theirs)

    def listed(changes: dict[str, Rows], said: dict[Any, str], name: str, *columns: str) -> list[str]:
        own = ("summary_id", "parent_summary_id", "message_id")
        return sorted(repr([said.get(one[key], one[key]) if key in own else one[key] for key in columns])
                      for one in changes[name])  # fmt: skip

    parts = [key for key in theirs["message_parts"][0] if key != "part_id"]
    for name, columns in {
        "summaries": ("content", "kind", "depth", "token_count", "created_at", "conversation_id"),
        "messages": ("conversation_id", "seq", "role", "content", "token_count", "identity_hash", "created_at"),
        "message_parts": tuple(parts),
        "summary_messages": ("summary_id", "message_id", "ordinal"),
        "summary_parents": ("summary_id", "parent_summary_id", "ordinal"),
        "context_items": ("conversation_id", "ordinal", "item_type", "summary_id", "message_id"),
    }.items():
        assert listed(ours, texts, name, *columns) == listed(theirs, their_texts, name, *columns), name
    old = {one["summary_id"] or one["message_id"]: one["created_at"] for one in golden["context_items"]["removed"]}
    assert all(one["created_at"] == old.get(one["summary_id"] or one["message_id"], one["created_at"])
               for one in ours["context_items"])  # fmt: skip


def test_beyond_lcm_tui_times_counts_model_and_indexes_follow(small: Path) -> None:
    known = {one["content"]: one for one in table(small, "summaries", 1)}
    old_ids = {one["summary_id"] for one in table(small, "summaries")}
    before = pairs(small)
    applied(small, planned(small, 1, 2))
    kept = ("earliest_at", "latest_at", "descendant_count", "descendant_token_count", "source_message_token_count")
    copied = [one for one in table(small, "summaries") if one["summary_id"] not in old_ids]
    for one in copied:
        assert [one[name] for name in (*kept, "model")] == [known[one["content"]][name] for name in (*kept, "model")]
        assert rows(small, "SELECT content FROM summaries_fts WHERE summary_id = ?", one["summary_id"]) == [
            {"content": one["content"]}
        ]
    assert pairs(small) - before == set()


def test_large_files_get_rows_of_their_own_and_texts_stay(small: Path) -> None:
    own = {one["file_id"] for one in table(small, "large_files", 2)}
    files = {one["file_id"]: one for one in table(small, "large_files", 1)}
    made = planned(small, 1, 2)
    round_trip(small, made)
    assert len(table(small, "large_files", 1)) == len(files) == 5
    copied = {one["file_id"]: one for one in table(small, "large_files", 2) if one["file_id"] not in own}
    assert {one["storage_uri"] for one in copied.values()} < {one["storage_uri"] for one in files.values()}
    assert len(copied) == 4  # the fifth is named by a message that no summary covers yet
    named = {one for row in table(small, "summaries", 2) for one in json.loads(row["file_ids"])}
    assert named == {*copied, *(one for one in own if one in named)}
    assert any("[LCM Tool Output: file_3c2072f9b6ba4cce" in one["content"] for one in table(small, "messages", 2))


def test_there_and_back_leaves_nothing(small: Path) -> None:
    for order in transplant.ORDERS:
        made = planned(small, 1, 2, order=order, window=1000)
        round_trip(small, made)
        assert any("larger than the window" in one for one in made.warnings)
        undo.undo(lcm_lab.open(small, tz="UTC").store, backup="never")


# ---- B18 and refusals -----------------------------------------------------------------------------------------------


def test_a_second_run_is_refused_and_changes_nothing(base_store: Path) -> None:
    applied(base_store, planned(base_store, 44, 45))
    before = dump(base_store)
    with pytest.raises(
        Refused, match=r"3 of 3 summaries would be twice in conversation 45, text.*sha256.*--skip-duplicates"
    ):
        planned(base_store, 44, 45)
    with pytest.raises(NothingToDo, match=r"already \(1 summary\), so there is nothing") as end:
        planned(base_store, 44, 45, skip_duplicates=True)
    assert end.value.exit_code == 0
    assert dump(base_store) == before


def test_what_cannot_be_asked(base_store: Path) -> None:
    with pytest.raises(Refused, match="source and target at once"):
        planned(base_store, 44, 44)
    with pytest.raises(NotFound, match=r"no conversation 999 \(target\)"):
        planned(base_store, 44, 999)
    with pytest.raises(NotFound, match=r"no conversation 999 \(source\)"):
        planned(base_store, 999, 44)
    with pytest.raises(NothingToDo, match="conversation 45 holds no summaries, so nothing"):
        planned(base_store, 45, 44)
    with pytest.raises(UsageError, match="'age' is neither"):
        planned(base_store, 44, 45, order="age")
    with pytest.raises(NotFound, match="no summary sum_x"):
        planned(base_store, 44, 45, summary_ids=("sum_x",))
    with pytest.raises(Refused, match="Not of conversation 45: sum_la"):
        planned(base_store, 45, 44, summary_ids=("sum_la",))


SHARED_LEAF = """
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES
 ('sum_c2', 44, 'condensed', 1, 'Also about 443.', 5);
INSERT INTO summary_parents VALUES ('sum_c2', 'sum_lb', 0);
UPDATE context_items SET ordinal = ordinal + 1 WHERE conversation_id = 44 AND ordinal = 2;
UPDATE context_items SET ordinal = ordinal + 1 WHERE conversation_id = 44 AND ordinal = 1;
INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 1, 'summary', 'sum_c2');
INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, metadata) VALUES
 ('p1', 1, 's44', 'text', 0, 'Which port, 8080?', '{"raw":1}'), ('p2', 2, 's44', 'text', 1, 'blocked', NULL),
 ('p3', 2, 's44', 'reasoning', 0, 'Not', NULL), ('p5', 5, 's44', 'text', 0, 'Roll it out.', NULL);
"""


@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_a_shared_leaf_is_copied_once_and_all_of_it_belongs_to_the_target(make_store: StoreMaker, version: str) -> None:
    path = make_store(SHARED_LEAF, version=version)
    findings = pairs(path)
    made = planned(path, 44, 45)
    before = round_trip(path, made)
    assert {code for code, _ in pairs(path) - findings} <= {code for code, _ in findings}
    copied = table(path, "summaries", 45)
    assert Counter(one["content"] for one in copied) == Counter(one["content"] for one in table(path, "summaries", 44))
    ids = {one["summary_id"] for one in copied}
    messages = {one["message_id"]: one for one in table(path, "messages", 45)}
    assert [one["content"] for one in messages.values()] == [one["content"] for one in table(path, "messages", 44)[:4]]
    assert [one["seq"] for one in messages.values()] == [0, 1, 2, 3]
    assert [
        one for one in table(path, "summary_messages") if (one["summary_id"] in ids) != (one["message_id"] in messages)
    ] == []
    assert (
        sum(1 for one in table(path, "summary_parents") if one["summary_id"] in ids and one["parent_summary_id"] in ids)
        == 3
    )
    parts = [one for one in table(path, "message_parts") if one["message_id"] in messages]
    assert sorted((one["text_content"], one["ordinal"], one["session_id"], one["metadata"]) for one in parts) == [
        ("Not", 0, "s45", None), ("Which port, 8080?", 0, "s45", '{"raw":1}'), ("blocked", 1, "s45", None)
    ]  # fmt: skip
    assert set(before["summaries"]) < set(dump(path)["summaries"])


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("INSERT INTO summary_parents VALUES ('sum_c1', 'sum_gone', 2)", r"1 of the summaries .* missing \(sum_gone\)"),
        ("UPDATE summaries SET conversation_id = 45 WHERE summary_id = 'sum_la'", r"sum_la \(conversation 45\)"),
        ("INSERT INTO summary_messages VALUES ('sum_lb', 777, 2)", "sum_lb -> message 777"),
        ("INSERT INTO summary_parents VALUES ('sum_la', 'sum_c1', 0)", "in a circle: sum_"),
        ("UPDATE conversations SET session_id = ' ' WHERE conversation_id = 45", "no session id"),
    ],
)
def test_what_could_not_be_whole_is_refused(make_store: StoreMaker, damage: str, said: str) -> None:
    path = make_store(damage)
    with pytest.raises(Refused, match=said):
        planned(path, 44, 45)


def test_summaries_without_messages_need_no_session(make_store: StoreMaker) -> None:
    path = make_store(
        "DELETE FROM summary_messages; UPDATE conversations SET session_id = '' WHERE conversation_id = 45"
    )
    round_trip(path, planned(path, 44, 45))
    assert len(table(path, "summaries", 45)) == 3


def test_an_item_that_leads_nowhere_is_passed_over(make_store: StoreMaker) -> None:
    lost = (
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 9, 'summary', 'sum_x')"
    )
    path = make_store(lost)
    made = planned(path, 44, 45)
    assert any("sum_x is in the context of conversation 44 and does not exist" in one for one in made.warnings)
    round_trip(path, made)
    assert len(table(path, "context_items", 45)) == 1
    path = make_store(lost, "DELETE FROM context_items WHERE summary_id = 'sum_c1'")
    with pytest.raises(NothingToDo, match=r"sum_x do not"):
        planned(path, 44, 45)


def test_a_message_of_another_conversation_is_copied_and_named(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO conversations(conversation_id, session_id) VALUES (46, 's46');"
        "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at)"
        " VALUES (60, 46, 0, 'user', 'From elsewhere.', 4, '2026-03-30 23:11:16');"
        "INSERT INTO summary_messages VALUES ('sum_la', 60, 2)"
    )
    made = planned(path, 44, 45)
    assert any(
        "of other conversations are copied, too, since leaves were made from them: 60." in one for one in made.warnings
    )
    round_trip(path, made)
    assert [one["content"] for one in table(path, "messages", 45)][1] == "From elsewhere."


# ---- what a copy keeps ----------------------------------------------------------------------------------------------


def test_unknown_columns_bytes_sender_and_keys_are_kept(make_store: StoreMaker) -> None:
    path = make_store(
        "ALTER TABLE summaries ADD COLUMN mood TEXT; ALTER TABLE messages ADD COLUMN weight REAL;"
        "UPDATE summaries SET mood = 'calm', model = 'm-1', content = CAST(x'C3286F' AS TEXT)"
        " WHERE summary_id = 'sum_la'; UPDATE messages SET weight = 1.5, openclaw_sender_metadata = '{\"senderId\":7}';"
        "UPDATE messages SET transcript_entry_id = 'e' || message_id, stable_event_key = 'k' || message_id;"
        "UPDATE messages SET identity_hash = 'kept' WHERE message_id = 2;"
        "INSERT INTO messages(conversation_id, seq, role, content, token_count, transcript_entry_id)"
        " VALUES (45, 3, 'user', 'Mine.', 2, 'e1')"
    )
    made = planned(path, 44, 45)
    assert any("1 transcript or event key of copied messages stay empty" in one for one in made.warnings)
    round_trip(path, made)
    found = table(path, "messages", 45)[1:]
    assert [one["weight"] for one in found] == [1.5] * 4
    assert {one["openclaw_sender_metadata"] for one in found} == {'{"senderId":7}'}
    assert [one["transcript_entry_id"] for one in found] == [None, "e2", "e3", "e4"]
    assert [one["stable_event_key"] for one in found] == ["k1", "k2", "k3", "k4"]
    assert [one["seq"] for one in found] == [4, 5, 6, 7]
    assert [one["identity_hash"] for one in found][:2] == [sha256(b"user\0Which port, 8080?").hexdigest(), "kept"]
    hexes = rows(
        path, "SELECT hex(content) AS h, mood, model FROM summaries WHERE conversation_id = 45 AND mood = 'calm'"
    )
    assert hexes == [{"h": "C3286F", "mood": "calm", "model": "m-1"}]


FILES = """
INSERT INTO large_files(file_id, conversation_id, file_name, byte_size, storage_uri, exploration_summary) VALUES
 ('file_00000000000000aa', 44, 'a.txt', NULL, '/lcm-files/44/a.txt', 'A text.'),
 ('file_00000000000000bb', 44, 'b.txt', 5, '../../etc/passwd', NULL),
 ('file_00000000000000cc', 45, 'c.txt', 5, '/lcm-files/45/c.txt', NULL),
 ('file_00000000000000dd', 44, 'd.txt', 5, '/lcm-files/44/d.txt', NULL);
UPDATE summaries SET file_ids = '["file_00000000000000aa","file_00000000000000CC","file_00000000000000ee"]'
 WHERE summary_id = 'sum_la';
UPDATE summaries SET file_ids = 'broken file_00000000000000aa' WHERE summary_id = 'sum_lb';
UPDATE messages SET large_content = 'file_00000000000000bb' WHERE message_id = 1;
UPDATE messages SET content = 'See file_00000000000000AA.' WHERE message_id = 2;
"""


def test_file_references_lead_to_the_targets_own_rows(make_store: StoreMaker) -> None:
    path = make_store(FILES)
    before = pairs(path)
    made = planned(path, 44, 45)
    round_trip(path, made)
    assert {one for one in pairs(path) - before if one[0].startswith("M3")} == {
        ("M3-bad-file-ids", twin_of(path, "sum_lb")),
        ("M3-unknown-file", twin_of(path, "sum_la")),
    }
    own = {one["file_name"]: one for one in table(path, "large_files", 45)}
    assert sorted(own) == ["a.txt", "b.txt", "c.txt"]
    assert (own["b.txt"]["storage_uri"], own["a.txt"]["exploration_summary"]) == ("../../etc/passwd", "A text.")
    lists = {one["content"]: one["file_ids"] for one in table(path, "summaries", 45)}
    assert json.loads(lists["The firewall blocks 8080."]) == [
        own["a.txt"]["file_id"],
        "file_00000000000000CC",
        "file_00000000000000ee",
    ]
    assert lists["They chose 443."] == "broken file_00000000000000aa"
    first, second = table(path, "messages", 45)[:2]
    assert first["large_content"] == own["b.txt"]["file_id"]
    assert second["content"] == "See file_00000000000000AA."
    assert len(table(path, "large_files", 44)) == 3


def test_a_file_the_target_got_before_keeps_its_row(make_store: StoreMaker) -> None:
    path = make_store(FILES)
    applied(path, planned(path, 44, 45, summary_ids=("sum_la",)))
    files = table(path, "large_files")
    applied(path, planned(path, 44, 45, skip_duplicates=True))
    assert table(path, "large_files") == files


# ---- duplicates linked ----------------------------------------------------------------------------------------------


def test_linking_copies_only_the_rest_and_says_nothing_twice(base_store: Path) -> None:
    applied(base_store, planned(base_store, 44, 45, summary_ids=("sum_la",)))
    (leaf,) = refs(base_store, 45)
    findings = pairs(base_store)
    made = planned(base_store, 44, 45, skip_duplicates=True)
    assert any(f"summary {leaf} leaves the context of the target" in one for one in made.warnings)
    assert ("linked", "1 that the target has already, in the place of copies") in made.facts
    round_trip(base_store, made)
    assert len(table(base_store, "summaries", 45)) == 3
    assert len(table(base_store, "messages", 45)) == 4
    (top,) = refs(base_store, 45)
    edges = {one["parent_summary_id"] for one in table(base_store, "summary_parents") if one["summary_id"] == top}
    assert leaf in edges
    assert not {code for code, _ in pairs(base_store) - findings} & {"C5-item-twice", "C6-covered-item"}


def test_a_twin_that_left_the_context_comes_back_in(base_store: Path) -> None:
    applied(base_store, planned(base_store, 44, 45))
    with closing(sqlite3.connect(base_store)) as connection, connection:
        connection.execute("DELETE FROM context_items WHERE conversation_id = 45")
        connection.execute("UPDATE summaries SET token_count = 99 WHERE conversation_id = 45 AND depth = 1")
    made = planned(base_store, 44, 45, skip_duplicates=True)
    assert [type(one).__name__ for one in made.edits] == ["SwapItems"]
    round_trip(base_store, made)
    assert len(refs(base_store, 45)) == 1
    assert made.tokens_after == 99


def test_a_twin_whose_sources_are_seen_stays_out(base_store: Path) -> None:
    applied(base_store, planned(base_store, 44, 45))
    with closing(sqlite3.connect(base_store)) as connection, connection:
        connection.execute("UPDATE context_items SET summary_id = (SELECT summary_id FROM summaries WHERE "
                           "conversation_id = 45 AND content LIKE 'They%') WHERE conversation_id = 45")  # fmt: skip
    with pytest.raises(NothingToDo, match="what it was made from is in it already"):
        planned(base_store, 44, 45, skip_duplicates=True)


def test_a_twin_inside_another_summary_stays_out(base_store: Path) -> None:
    applied(base_store, planned(base_store, 44, 45))
    with pytest.raises(NothingToDo, match="as part of another summary"):
        planned(base_store, 44, 45, skip_duplicates=True, summary_ids=("sum_la",))


def test_equal_texts_of_another_kind_or_none_are_no_twins(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE summaries SET content = '' WHERE summary_id = 'sum_lb';"
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES"
        " ('sum_x', 45, 'condensed', 1, 'The firewall blocks 8080.', 7), ('sum_y', 45, 'leaf', 0, '', 0)"
    )
    with pytest.raises(Refused, match="2 of 3 summaries"):
        planned(path, 44, 45)
    round_trip(path, planned(path, 44, 45, skip_duplicates=True))
    assert len(table(path, "summaries", 45)) == 5


# ---- which summaries, and where they go -----------------------------------------------------------------------------


def test_a_sub_dag_and_what_is_inside_another(make_store: StoreMaker) -> None:
    path = make_store(SHARED_LEAF)
    made = planned(path, 44, 45, summary_ids=("sum_lb", "sum_c2", "sum_lb"))
    assert any("sum_lb is part of sum_c2, which is copied as well" in one for one in made.warnings)
    round_trip(path, made)
    assert [one["content"] for one in table(path, "summaries", 45)] != []
    assert sorted(one["content"] for one in table(path, "summaries", 45)) == ["Also about 443.", "They chose 443."]
    assert len(table(path, "messages", 45)) == 2


TARGET = """
INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES
 (20, 45, 1, 'user', 'Mine.', 2, '2026-03-30 22:00:01'), (21, 45, 2, 'assistant', 'Yours.', 2, '2026-03-30 22:00:02'),
 (22, 45, 3, 'user', 'Ours.', 2, '2026-03-30 22:00:03'), (23, 45, 4, 'assistant', 'Theirs.', 2, '2026-03-30 22:00:04');
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at) VALUES
 ('sum_t0', 45, 'leaf', 0, 'A leaf there.', 4, '2026-01-01 00:00:00'),
 ('sum_t1', 45, 'condensed', 1, 'A d1 there.', 4, '2026-01-01 00:00:00'),
 ('sum_t2', 45, 'condensed', 2, 'A d2 there.', 4, '2026-01-01 00:00:00');
UPDATE summaries SET created_at = '2026-02-02 00:00:00' WHERE conversation_id = 44;
"""


def laid(*refs: str | int) -> str:
    """SQL for the context of conversation 45: ids one after the other, ``'-'`` leaves a gap."""
    values = [
        f"(45, {i}, 'message', {one}, NULL, '2026-01-0{i + 1}')"
        if isinstance(one, int)
        else f"(45, {i}, 'summary', NULL, '{one}', '2026-01-0{i + 1}')"
        for i, one in enumerate(refs)
        if one != "-"
    ]
    columns = "conversation_id, ordinal, item_type, message_id, summary_id, created_at"
    return f"INSERT INTO context_items({columns}) VALUES {', '.join(values)};" if values else ""


@pytest.mark.parametrize(
    ("laid_out", "order", "expected"),
    [
        ((), "depth", "0:new"),
        ((20, 21), "depth", "0:new 1:20 2:21"),
        (("sum_t0", 20, "sum_t2", 21, "sum_t1", 22), "depth", "0:sum_t2 1:sum_t1 2:new 3:sum_t0 4:20 5:21 6:22"),
        (("sum_t0", 20, "sum_t2", 21), "source", "0:new 1:sum_t0 2:20 3:sum_t2 4:21"),
        (("-", "sum_t0", "-", "sum_t2", "-", 20, "-", 21), "depth", "1:sum_t2 2:new 3:sum_t0 5:20 7:21"),
        (("-", "-", 20, "-", 21), "depth", "2:new 3:20 5:21"),
        (("sum_t0", "sum_gone", "sum_t2", 20), "depth", "0:new 1:sum_t0 2:sum_gone 3:sum_t2 4:20"),
        (("sum_gone", "sum_t2", 20), "depth", "0:new 1:sum_gone 2:sum_t2 3:20"),
        (("sum_t2", 20, 999), "depth", "0:sum_t2 1:new 2:20 3:999"),
        ((20, "sum_t2", 21, 20, 22), "depth", "0:sum_t2 1:new 2:20 3:21 4:20 5:22"),
        (("sum_t2", 20, "sum_t1", 999, 20), "depth", "0:sum_t2 1:new 2:20 3:sum_t1 4:999 5:20"),
        (("sum_t2", "sum_t2", 20), "depth", "0:sum_t2 1:sum_t2 2:new 3:20"),
    ],
)  # fmt: skip
def test_every_shape_of_a_context(
    make_store: StoreMaker, laid_out: tuple[str | int, ...], order: str, expected: str
) -> None:
    path = make_store(TARGET, laid(*laid_out))
    made = planned(path, 44, 45, order=order)
    round_trip(path, made)
    known = {one["summary_id"] for one in table(path, "summaries") if one["summary_id"].startswith("sum_t")}
    found = [
        one if not one.partition(":")[2].startswith("sum_") or one.partition(":")[2] in {*known, "sum_gone"}
        else f"{one.partition(':')[0]}:new"
        for one in context(path, 45)
    ]  # fmt: skip
    assert " ".join(found) == expected


def test_what_cannot_be_moved_and_what_is_moved_is_said(make_store: StoreMaker) -> None:
    made = planned(make_store(TARGET, laid("sum_t0", "sum_gone", "sum_t2", 20)), 44, 45)
    assert any("sum_t2 stay where they are" in one for one in made.warnings)
    made = planned(make_store(TARGET, laid("sum_t2", 20, "sum_t1")), 44, 45)
    assert any("are put in order, too" in one for one in made.warnings)
    made = planned(make_store(TARGET, laid("sum_t2", "sum_t1", 20)), 44, 45)
    assert not any("put in order" in one for one in made.warnings)


def test_items_that_come_in_meanwhile_do_not_matter(make_store: StoreMaker) -> None:
    path = make_store(TARGET, laid("sum_t2", "sum_t1", 20))
    made = planned(path, 44, 45)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (45, 3, 'message', 21)"
        )
        connection.execute(
            "INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (45, 9, 'user', 'New.', 2)"
        )
    applied(path, made)
    assert refs(path, 45)[-2:] == [20, 21]
    assert {one["seq"] for one in table(path, "messages", 45)} == {1, 2, 3, 4, 9, 10, 11, 12, 13}


def test_facts_say_what_the_manual_says(make_store: StoreMaker) -> None:
    made = planned(make_store(SHARED_LEAF, TARGET, laid("sum_t2", 20)), 44, 45)
    facts = dict(made.facts)
    assert facts["item 0"] == "sum_c1 [d1, 7 tokens] Port 443; 8080 is blocked."
    assert facts["summaries to copy"] == "4: 2 from the context, 2 that they were made from"
    assert facts["by depth"] == "d1 2, leaf 2"
    assert facts["messages to copy"] == "4 with 3 parts"
    assert facts["target"] == "conversation 45: 3 summaries (1 in the context) and 4 messages"
    assert (facts["added tokens"], facts["tokens of the context"]) == ("12", "6 -> 18")
    assert (made.subject, made.conversation_id, made.tokens_before, made.tokens_after) == ("44", 45, 6, 18)


# ---- random stores --------------------------------------------------------------------------------------------------

VERSIONS = st.sampled_from(["0.1.0", "0.15.3", "1.0.0-beta.4"])
TIME = st.integers(0, 10**6).map(
    lambda n: (
        f"2026-03-{1 + n % 28:02}{'T' if n % 3 == 0 else ' '}{n % 24:02}:{n % 60:02}:{n % 59:02}{'.5Z' if n % 3 == 0 else ''}"
    )
)


@st.composite
def half(draw: st.DrawFn, conversation_id: int) -> list[str]:
    """SQL for one conversation: messages with parts, leaves and condensed summaries that share, a context."""
    base = conversation_id * 100
    count = draw(st.integers(1, 7))
    statements = []
    for i in range(count):
        text = draw(st.sampled_from(["", "hello", "Où ça ? 你好", "see file_00000000000000aa", "x" * 50]))
        statements.append(f"INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at)"
                          f" VALUES ({base + i}, {conversation_id}, {i}, '{draw(st.sampled_from(['user', 'assistant']))}',"
                          f" '{text}', {len(text)}, '{draw(TIME)}')")  # fmt: skip
        part = "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content) VALUES"
        statements += [
            f"{part} ('p{base}_{i}_{k}', {base + i}, 'old', 'text', {k}, 'part {k} of {i}')"
            for k in range(draw(st.integers(0, 2)))
        ]
    levels: list[list[str]] = [[]]
    for depth in range(draw(st.integers(0, 3))):
        below = [base + i for i in range(count)] if depth == 0 else levels[-1]
        names = [f"sum_{conversation_id}_{depth}_{k}" for k in range(draw(st.integers(1, 3)))]
        for name in names:
            files = draw(st.sampled_from(["[]", '["file_00000000000000aa"]', '["file_00000000000000bb"]', ""]))
            statements.append("INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, created_at,"
                              f" file_ids) VALUES ('{name}', {conversation_id}, '{'condensed' if depth else 'leaf'}', {depth},"
                              f" 'text of {name}', {draw(st.integers(0, 9))}, '{draw(TIME)}', '{files}')")  # fmt: skip
            chosen = draw(st.lists(st.sampled_from(below), unique=True, max_size=3))
            link = "summary_parents" if depth else "summary_messages"
            statements += [f"INSERT INTO {link} VALUES ('{name}', '{one}', {i})" for i, one in enumerate(chosen)]
        levels.append(names)
    everything = [*[base + i for i in range(count)], *[one for level in levels for one in level]]
    ordinal = 0
    for one in draw(st.lists(st.sampled_from(everything), unique=True, max_size=6)):
        ordinal += draw(st.integers(1, 2))
        kind, column = ("message", "message_id") if isinstance(one, int) else ("summary", "summary_id")
        statements.append(f"INSERT INTO context_items(conversation_id, ordinal, item_type, {column}, created_at)"
                          f" VALUES ({conversation_id}, {ordinal}, '{kind}', '{one}', '2026-01-01')")  # fmt: skip
    return statements


HEADS = """
INSERT INTO conversations(conversation_id, session_id) VALUES (1, 'one'), (2, 'two');
INSERT INTO large_files(file_id, conversation_id, storage_uri) VALUES ('file_00000000000000aa', 1, '/a'), ('file_00000000000000bb', 2, '/b');
"""


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=half(1), second=half(2), version=VERSIONS, order=st.sampled_from(transplant.ORDERS))
def test_any_store(make_store: StoreMaker, first: list[str], second: list[str], version: str, order: str) -> None:
    path = make_store(HEADS, *(f"{one};" for one in [*first, *second]), version=version, base=False)
    old_messages = {one["message_id"]: one for one in table(path, "messages")}
    old_summaries = {one["summary_id"]: one for one in table(path, "summaries")}
    findings = pairs(path)
    try:
        made = planned(path, 1, 2, order=order)
    except NothingToDo:
        return
    before = round_trip(path, made)
    for name, held in before.items():
        if name != "context_items":
            assert not Counter(held) - Counter(dump(path)[name])
    new = {one["summary_id"]: one for one in table(path, "summaries", 2) if one["summary_id"] not in old_summaries}
    texts = Counter(one["content"] for one in new.values())
    assert set(texts.values()) == {1}
    twins = {one["content"]: key for key, one in old_summaries.items()}
    origin = {key: twins[one["content"]] for key, one in new.items()}
    messages = {one["message_id"]: one for one in table(path, "messages", 2) if one["message_id"] not in old_messages}
    edges = Counter(
        (one["summary_id"], one["parent_summary_id"], one["ordinal"]) for one in table(path, "summary_parents")
    )
    for derived, source, ordinal in [one for one in edges if one[0] in new]:
        assert edges[origin[derived], origin[source], ordinal]
    copied = [one for one in edges if one[0] in origin.values()]
    assert len([one for one in edges if one[0] in new]) == len(copied)
    links = table(path, "summary_messages")
    ours = [one for one in links if one["summary_id"] in new]
    assert {one["message_id"] for one in ours} == set(messages)
    theirs = [one for one in links if one["summary_id"] in origin.values()]
    assert Counter((origin[one["summary_id"]], messages[one["message_id"]]["content"]) for one in ours) == Counter(
        (one["summary_id"], old_messages[one["message_id"]]["content"]) for one in theirs
    )
    assert len(messages) == len({one["message_id"] for one in theirs})
    parts = [one for one in table(path, "message_parts") if one["message_id"] in messages]
    assert {one["session_id"] for one in parts} <= {"two"}
    assert len(parts) == len([one for one in table(path, "message_parts")
                              if one["message_id"] in {link["message_id"] for link in theirs}])  # fmt: skip
    placed = [one for one in refs(path, 2) if one in new]
    assert placed
    known = {*map(str, old_messages), *old_summaries}
    known |= {f"2:{one}" for one in known}
    moved = {"C7-summary-behind", "C8-depth-rises"} if order == "source" else set()
    found = {(code, key) for code, key in pairs(path) - findings if code not in moved}
    assert {code for code, key in found if key in known} == set()
    if order == "depth":
        context_of = [one for one in table(path, "context_items", 2) if one["summary_id"]]
        rank = {
            one["summary_id"]: (-one["depth"], one["created_at"], one["summary_id"]) for one in table(path, "summaries")
        }
        sorted_by_rule = sorted((one["summary_id"] for one in context_of), key=lambda one: rank[one])
        assert [one["summary_id"] for one in context_of] == sorted_by_rule


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    first=half(1),
    second=half(2),
    picks=st.lists(st.integers(0, 8), max_size=3),
    order=st.sampled_from(transplant.ORDERS),
)
def test_any_store_again_with_links(
    make_store: StoreMaker, first: list[str], second: list[str], picks: list[int], order: str
) -> None:
    path = make_store(HEADS, *(f"{one};" for one in [*first, *second]), base=False)
    known = [one["summary_id"] for one in table(path, "summaries", 1)]
    chosen = tuple(known[one % len(known)] for one in picks) if known else ()
    repeats = {"C5-item-twice", "C6-covered-item"}
    before = {one for one in pairs(path) if one[0] in repeats}
    for options in ({"summary_ids": chosen, "order": order}, {"skip_duplicates": True, "order": order}):
        try:
            round_trip(path, planned(path, 1, 2, **options))
        except NothingToDo:
            continue
        texts = Counter(one["content"] for one in table(path, "summaries", 2))
        assert set(texts.values()) == {1}
        found = {code for code, key in pairs(path) if code in repeats and not key.startswith("1:")}
        assert found <= {code for code, key in before if key.startswith("2:")}
    with pytest.raises(NothingToDo):
        planned(path, 1, 2, skip_duplicates=True)
