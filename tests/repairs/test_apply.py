"""Applying a plan to real stores: what follows, what is refused, what another process does meanwhile."""

import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import LcmLabError, Refused, StalePlan, StoreBusy, StoreDamaged, StoreError
from lcm_lab.repairs import apply_context, journal, undo
from lcm_lab.repairs.apply_index import Index
from lcm_lab.repairs.apply_rows import Rows
from lcm_lab.repairs.edits import DeleteRows, Edit, SetText, SwapItems, TextState
from lcm_lab.repairs.plan import Plan
from lcm_lab.store import images, writing
from lcm_lab.store.connect import StoreFile
from tests.repairs.making import another, dissolved, files, rows, run, set_text
from tests.repairs.random_stores import context_of, dump, indexes_are_sound

INDEXES = """
INSERT INTO summaries_fts(summary_id, content) SELECT summary_id, content FROM summaries;
INSERT INTO summaries_fts_cjk(summary_id, content) SELECT summary_id, content FROM summaries;
INSERT INTO messages_fts(rowid, content) SELECT message_id, content FROM messages;
"""
COUNTS = """
UPDATE summaries SET source_message_token_count = 15 WHERE summary_id = 'sum_la';
UPDATE summaries SET source_message_token_count = 9 WHERE summary_id = 'sum_lb';
UPDATE summaries SET descendant_count = 2, descendant_token_count = 11, source_message_token_count = 24 WHERE summary_id = 'sum_c1';
"""
ABOVE = """
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count, descendant_count, descendant_token_count)
 VALUES ('sum_d2', 44, 'condensed', 2, 'All of it, in short.', 5, 3, 18);
INSERT INTO summary_parents VALUES ('sum_d2', 'sum_c1', 0);
"""
Maker = Callable[..., Path]
PLANS: dict[str, Callable[[Path], Plan]] = {
    "set text": lambda path: set_text(path, "sum_la", "Nothing gets past the quokka."),
    "dissolve": lambda path: dissolved(path, "sum_c1"),
    "dissolve, keep": lambda path: dissolved(path, "sum_c1", purge=False),
}


def found(path: Path, table: str, word: str) -> list[str]:
    return [
        one for (one,) in rows(path, f"SELECT summary_id FROM {table} WHERE {table} MATCH ? ORDER BY 1", f'"{word}"')
    ]


def unchanged(path: Path, before: dict[str, list[str]]) -> None:
    """The store reads as before, and neither a backup nor a journal was made."""
    assert dump(path) == before
    assert not {"bak", "jsonl", "part"} & set(files(path))


# ---- what it does ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("live", [False, True], ids=["closed", "live"])
def test_apply_and_undo(name: str, mode: str, live: bool, make_store: Maker) -> None:  # noqa: FBT001
    path = make_store(INDEXES, COUNTS, journal_mode=mode)
    before = dump(path)
    company: AbstractContextManager[None] = another(path, "SELECT count(*) FROM messages") if live else nullcontext()
    with company:
        made = PLANS[name](path)
        applied = made.apply()
        after = dump(path)
        assert after != before
        assert applied.notes == ()
        assert applied.locked_seconds < 1
        assert undo.undo(StoreFile(path)).undone[0].journal_id == applied.journal_id
        assert dump(path) == before
    assert files(path) == ["bak", "jsonl"]
    indexes_are_sound(path)
    made.apply()
    assert {key: value for key, value in dump(path).items() if key != "context_items"} == {
        key: value for key, value in after.items() if key != "context_items"
    }


@pytest.mark.parametrize("version", ["0.1.0", "1.0.0-beta.4"])
@pytest.mark.parametrize("name", PLANS)
def test_other_schemas(name: str, version: str, make_store: Maker) -> None:
    path = make_store(INDEXES if version != "0.1.0" else "", version=version)
    before = dump(path)
    PLANS[name](path).apply()
    assert dump(path) != before
    undo.undo(StoreFile(path))
    assert dump(path) == before


def test_a_dissolve_is_what_lcm_tui_leaves(make_store: Maker) -> None:
    path = make_store(
        "UPDATE context_items SET ordinal = -1 - ordinal; UPDATE context_items SET ordinal = -3 * ordinal - 1"
    )
    dissolved(path, "sum_c1").apply()
    assert context_of(path, 44) == [
        (2, "summary", "sum_la"), (3, "summary", "sum_lb"), (6, "message", 5), (9, "message", 6),
    ]  # fmt: skip
    assert rows(path, "SELECT * FROM summary_parents") == []


def test_undo_keeps_a_gap_where_nothing_was_put_back(make_store: Maker) -> None:
    """Sources that stand in the context already are not put in twice, so the run that comes back is put in anew."""
    path = make_store(
        "UPDATE context_items SET ordinal = ordinal + 10",
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 3, 'summary', 'sum_la'), (44, 5, 'summary', 'sum_lb')",
    )
    before = dump(path)
    dissolved(path, "sum_c1").apply()
    assert [one[0] for one in context_of(path, 44)] == [3, 5, 10, 11]
    undo.undo(StoreFile(path))
    assert dump(path) == before


# ---- full-text copies -----------------------------------------------------------------------------------------------


def test_search_follows_in_every_copy(make_store: Maker) -> None:
    path = make_store(INDEXES)
    set_text(path, "sum_la", "The quokka sleeps.").apply()
    for table in ("summaries_fts", "summaries_fts_cjk"):
        assert found(path, table, "quokka") == ["sum_la"]
        assert found(path, table, "firewall") == []
    undo.undo(StoreFile(path))
    for table in ("summaries_fts", "summaries_fts_cjk"):
        assert found(path, table, "quokka") == []
        assert found(path, table, "firewall") == ["sum_la"]


@pytest.mark.parametrize(
    "spoil",
    [
        "DELETE FROM summaries_fts",
        "DELETE FROM summaries_fts_cjk WHERE summary_id = 'sum_la'",
        "UPDATE summaries_fts SET content = 'stale words' WHERE summary_id = 'sum_la'",
        "INSERT INTO summaries_fts(summary_id, content) VALUES ('sum_la', 'a second row')",
    ],
)
def test_rows_that_were_missing_or_stale_are_so_again_after_undo(spoil: str, make_store: Maker) -> None:
    path = make_store(INDEXES, spoil)
    before = dump(path)
    for name in ("set text", "dissolve"):
        PLANS[name](path).apply()
        if name == "set text":
            assert rows(path, "SELECT content FROM summaries_fts WHERE summary_id = 'sum_la'") == [
                ("Nothing gets past the quokka.",)
            ]
        undo.undo(StoreFile(path))
        assert dump(path) == before


def test_an_index_made_anew_meanwhile_is_not_made_stale_by_undo(make_store: Maker) -> None:
    path = make_store(INDEXES, "DELETE FROM summaries_fts")
    set_text(path, "sum_la", "The quokka sleeps.").apply()
    run(
        path,
        "DELETE FROM summaries_fts",
        "INSERT INTO summaries_fts(summary_id, content) SELECT summary_id, content || ' ' FROM summaries",
    )
    undo.undo(StoreFile(path))
    assert found(path, "summaries_fts", "firewall") == ["sum_la"]


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM summaries_fts_data",
        "DELETE FROM summaries_fts_data WHERE id > 10",
        "DROP TABLE summaries_fts_content",
        "DROP TABLE summaries_fts_idx",
        "UPDATE summaries_fts_data SET block = zeroblob(3)",
    ],
)
@pytest.mark.parametrize("name", PLANS)
def test_a_damaged_index_blocks_nothing(damage: str, name: str, make_store: Maker) -> None:
    path = make_store(INDEXES)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        try:
            db.execute(damage)
        except sqlite3.OperationalError:
            pytest.skip("this SQLite guards the inner tables")
    before = dump_without_index(path)
    applied = PLANS[name](path).apply()
    if name != "dissolve, keep" and "id > 10" not in damage:
        assert any("summaries_fts " in note for note in applied.notes)
    assert dump_without_index(path) != before
    undo.undo(StoreFile(path))
    assert dump_without_index(path) == before


def dump_without_index(path: Path) -> dict[str, list[str]]:
    names = [one for (one,) in rows(path, "SELECT name FROM sqlite_master WHERE type = 'table'") if "_fts" not in one]
    return {one: sorted(map(repr, rows(path, f'SELECT * FROM "{one}"'))) for one in names}


def test_a_store_without_an_index(make_store: Maker) -> None:
    path = make_store("DROP TABLE summaries_fts; DROP TABLE summaries_fts_cjk; DROP TABLE messages_fts")
    before = dump(path)
    for plan in PLANS.values():
        assert plan(path).apply().notes == ()
        undo.undo(StoreFile(path))
        assert dump(path) == before


def test_an_index_over_the_table_itself_is_named(make_store: Maker) -> None:
    """The form of the first days; the plugin makes it anew when it opens the store."""
    path = make_store(
        "DROP TABLE summaries_fts; CREATE VIRTUAL TABLE summaries_fts USING fts5(summary_id UNINDEXED, content, content='summaries')"
    )
    assert any("summaries_fts " in one for one in set_text(path, "sum_la", "Other words.").apply().notes)
    undo.undo(StoreFile(path))


# ---- counts ---------------------------------------------------------------------------------------------------------


def counts(path: Path, summary_id: str = "sum_c1") -> tuple[int, ...]:
    sql = "SELECT descendant_count, descendant_token_count, source_message_token_count FROM summaries WHERE summary_id = ?"
    return rows(path, sql, summary_id)[0]


def test_counts_above_follow_a_text(make_store: Maker) -> None:
    path = make_store(COUNTS, ABOVE)
    plan = set_text(path, "sum_la", "x" * 400)
    plan.apply()
    assert counts(path) == (2, 11 - 7 + 100, 24)
    assert counts(path, "sum_d2")[:2] == (3, 18 - 7 + 100)
    undo.undo(StoreFile(path))
    assert counts(path) == (2, 11, 24)


def test_counts_above_follow_a_splice(make_store: Maker) -> None:
    path = make_store(
        COUNTS,
        ABOVE,
        "UPDATE summaries SET depth = 1 WHERE summary_id = 'sum_d2'; UPDATE summaries SET source_message_token_count = 24 WHERE summary_id = 'sum_d2'",
    )
    before = dump(path)
    dissolved(path, "sum_c1", splice=True).apply()
    assert counts(path, "sum_d2") == (2, 11, 24)
    assert rows(path, "SELECT * FROM summary_parents ORDER BY 3") == [("sum_d2", "sum_la", 0), ("sum_d2", "sum_lb", 1)]
    undo.undo(StoreFile(path))
    assert dump(path) == before


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("stored", [(2, 11, 24), (2, 7, 0), (0, 0, 0), (2, 3, 1)])
def test_two_siblings_are_undone_in_either_order(first: int, stored: tuple[int, int, int], make_store: Maker) -> None:
    """Also where the number reaches 0 on the way, or was off before."""
    path = make_store(
        COUNTS,
        f"UPDATE summaries SET descendant_count = {stored[0]}, descendant_token_count = {stored[1]}, source_message_token_count = {stored[2]} WHERE summary_id = 'sum_c1'",
    )
    before = dump(path)
    made = [
        set_text(path, "sum_la", "").apply(),
        set_text(path, "sum_lb", "A text of nine tokens, or about that.").apply(),
    ]
    undo.undo(StoreFile(path), made[first].journal_id)
    undo.undo(StoreFile(path), made[1 - first].journal_id)
    assert dump(path) == before


def test_counts_in_a_circle_stay_as_they_are(make_store: Maker) -> None:
    path = make_store(COUNTS, ABOVE, "INSERT INTO summary_parents VALUES ('sum_c1', 'sum_d2', 2)")
    before = counts(path), counts(path, "sum_d2")
    set_text(path, "sum_la", "x" * 400).apply()
    assert (counts(path), counts(path, "sum_d2")) == before


# ---- stale plans ----------------------------------------------------------------------------------------------------

SPOILED = [
    ("set text", "UPDATE summaries SET content = 'changed' WHERE summary_id = 'sum_la'"),
    ("set text", "UPDATE summaries SET token_count = 99 WHERE summary_id = 'sum_la'"),
    ("set text", "UPDATE summaries SET model = 'another' WHERE summary_id = 'sum_la'"),
    ("set text", "UPDATE summaries SET content = CAST(content AS BLOB) WHERE summary_id = 'sum_la'"),
    ("set text", "DELETE FROM summaries WHERE summary_id = 'sum_la'"),
    ("dissolve", "UPDATE summaries SET content = 'changed' WHERE summary_id = 'sum_c1'"),
    ("dissolve", "UPDATE summaries SET token_count = 99 WHERE summary_id = 'sum_c1'"),
    ("dissolve", "DELETE FROM context_items WHERE ordinal = 0"),
    ("dissolve", "UPDATE context_items SET message_id = 4 WHERE ordinal = 1"),
    ("dissolve", "DELETE FROM context_items WHERE ordinal = 1"),
    ("dissolve", "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, -1, 'message', 1)"),
    ("dissolve", "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 7, 'summary', 'sum_la')"),
    ("dissolve", "DELETE FROM summaries WHERE summary_id = 'sum_la'"),
    ("dissolve", "DELETE FROM summary_parents WHERE parent_summary_id = 'sum_la'"),
    ("dissolve", "UPDATE summary_parents SET ordinal = 5 WHERE parent_summary_id = 'sum_la'"),
    ("dissolve", "INSERT INTO summary_parents VALUES ('sum_c1', 'sum_c1', 2)"),
    ("dissolve", "INSERT INTO summary_messages VALUES ('sum_c1', 5, 0)"),
    ("dissolve", "INSERT INTO summary_parents VALUES ('sum_lb', 'sum_c1', 0)"),
    ("dissolve, keep", "DELETE FROM summaries WHERE summary_id = 'sum_la'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "change"), SPOILED)
def test_a_change_of_what_it_rests_on_makes_a_plan_stale(name: str, change: str, make_store: Maker) -> None:
    path = make_store(INDEXES)
    plan = PLANS[name](path)
    run(path, change)
    before = dump(path)
    with pytest.raises(StalePlan, match="make the plan again"):
        plan.apply()
    unchanged(path, before)


HARMLESS = [
    "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 1), (44, 9, 'message', 2)",
    "UPDATE context_items SET ordinal = ordinal + 100",
    "INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (44, 6, 'user', 'More.', 2)",
    "UPDATE conversations SET title = 'another'",
    "UPDATE summaries SET created_at = '2020-01-01' WHERE summary_id = 'sum_la'",
    "UPDATE summaries SET content = 'improved', token_count = 3 WHERE summary_id = 'sum_lb'",
]


@pytest.mark.parametrize("change", HARMLESS)
@pytest.mark.parametrize("name", PLANS)
def test_other_changes_do_not(name: str, change: str, make_store: Maker) -> None:
    path = make_store()
    plan = PLANS[name](path)
    run(path, change)
    before = dump(path)
    plan.apply()
    undo.undo(StoreFile(path))
    assert dump(path) == before
    plan.apply()
    run(
        path,
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 500, 'message', 3)",
    )
    undo.undo(StoreFile(path))


def test_a_renumbered_context_is_undone_where_it_stands(make_store: Maker) -> None:
    path = make_store()
    dissolved(path, "sum_c1").apply()
    run(path, "UPDATE context_items SET ordinal = ordinal + 40")
    undo.undo(StoreFile(path))
    assert context_of(path, 44) == [(40, "summary", "sum_c1"), (41, "message", 5), (42, "message", 6)]


# ---- references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action", ["", "ON DELETE RESTRICT", "ON DELETE CASCADE", "ON DELETE SET NULL", "DEFERRABLE INITIALLY DEFERRED"]
)
def test_a_row_that_an_unknown_table_needs_is_not_deleted(action: str, make_store: Maker) -> None:
    path = make_store(
        f"CREATE TABLE pins (id INTEGER PRIMARY KEY, which TEXT REFERENCES summaries(summary_id) {action}); INSERT INTO pins VALUES (1, 'sum_c1')"
    )
    before = dump(path)
    with pytest.raises(Refused, match="pins"):
        dissolved(path, "sum_c1").apply()
    unchanged(path, before)
    dissolved(path, "sum_c1", purge=False).apply()
    undo.undo(StoreFile(path))
    assert dump(path) == before


def test_what_undo_could_not_put_back_is_not_deleted(make_store: Maker) -> None:
    path = make_store("DELETE FROM conversations WHERE conversation_id = 44")
    before = dump(path)
    plan = Plan(
        "p1", "dissolve", 44, "sum_lb", "by hand", (
            DeleteRows("summary_messages", tuple({"summary_id": "sum_lb", "message_id": one, "ordinal": one - 3} for one in (3, 4))),
            DeleteRows("summary_parents", ({"summary_id": "sum_c1", "parent_summary_id": "sum_lb", "ordinal": 1},)),
            DeleteRows("summaries", ({"summary_id": "sum_lb"},)),
        ), "", "", "", store=StoreFile(path),
    )  # fmt: skip
    with pytest.raises(Refused, match="no undo could put it back"):
        plan.apply()
    unchanged(path, before)


def test_context_items_may_not_lead_nowhere(make_store: Maker) -> None:
    path = make_store()
    plan = dissolved(path, "sum_c1")
    swap = plan.edits[0]
    assert isinstance(swap, SwapItems)
    run(path, "DELETE FROM summaries WHERE summary_id = 'sum_la'")
    before = dump(path)
    with pytest.raises(StalePlan):
        plan.apply()
    unchanged(path, before)


def test_columns_and_tables_we_do_not_know_come_back(make_store: Maker) -> None:
    path = make_store(
        "ALTER TABLE summaries ADD COLUMN mood TEXT DEFAULT 'calm'; ALTER TABLE summaries ADD COLUMN weight REAL; ALTER TABLE summaries ADD COLUMN raw BLOB",
        "UPDATE summaries SET mood = 'eager', weight = 9e999, raw = x'00ff'; ALTER TABLE summary_parents ADD COLUMN why TEXT DEFAULT 'because'",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT); INSERT INTO notes VALUES (1, 'kept')",
    )
    before = dump(path)
    dissolved(path, "sum_c1").apply()
    undo.undo(StoreFile(path))
    assert dump(path) == before


@pytest.mark.parametrize("value", ["CAST(x'63616ae9' AS TEXT)", "x'00ff10'", "'a' || char(0) || 'b'", "''"])
def test_odd_texts_survive(value: str, make_store: Maker) -> None:
    path = make_store(f"UPDATE summaries SET content = {value} WHERE summary_id IN ('sum_la', 'sum_c1')", INDEXES)
    before = dump(path)
    for plan in PLANS.values():
        plan(path).apply()
        undo.undo(StoreFile(path))
        assert dump(path) == before


# ---- locks and failures ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_lock_is_waited_for(mode: str, make_store: Maker) -> None:
    path = make_store(journal_mode=mode)
    plan = set_text(path, "sum_la", "Other words.")
    with another(path, "BEGIN IMMEDIATE", 3):
        started = time.monotonic()
        plan.apply()
        assert time.monotonic() - started > 2


@pytest.mark.parametrize("mode", ["wal", "delete"])
@pytest.mark.parametrize("how", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
def test_a_lock_that_stays_is_named(mode: str, how: str, make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store(journal_mode=mode)
    plan = set_text(path, "sum_la", "Other words.")
    before = dump(path)
    monkeypatch.setattr(writing, "WAIT_SECONDS", 0.2)
    with another(path, how), pytest.raises(StoreBusy, match="nothing was changed"):
        plan.apply()
    unchanged(path, before)


def test_a_reader_that_stays_stops_a_commit_in_delete_mode(make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store(journal_mode="delete")
    plan = set_text(path, "sum_la", "Other words.")
    before = dump(path)
    monkeypatch.setattr(writing, "WAIT_SECONDS", 0.2)
    with another(path, "BEGIN; SELECT count(*) FROM messages"), pytest.raises(StoreBusy):
        plan.apply()
    assert dump(path) == before
    plan.apply()
    assert [one.state for one in journal.read(StoreFile(path)).entries] == ["rolled back", "done"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to everything")
@pytest.mark.parametrize("what", ["file", "folder"])
def test_read_only(what: str, make_store: Maker) -> None:
    path = make_store()
    plan = set_text(path, "sum_la", "Other words.")
    before = dump(path)
    place = path if what == "file" else path.parent
    place.chmod(0o500)
    try:
        with pytest.raises(LcmLabError):
            plan.apply()
    finally:
        place.chmod(0o700)
    unchanged(path, before)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 4 MB of its own, where this machine lets us make one."""
    place = tmp_path / "small"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("backup", ["auto", "never"])
@pytest.mark.parametrize("free", [0, 2, 300])
def test_a_full_disk(free: int, backup: str, small_disk: Path, make_store: Maker) -> None:
    path = small_disk / "lcm.db"
    shutil.copyfile(make_store(), path)
    plan = set_text(path, "sum_la", "Other words. " * 10_000)
    before = dump(path)
    filler = small_disk / "filler"
    with filler.open("wb") as out:
        room = os.statvfs(small_disk)
        out.write(b"\0" * max(room.f_bavail * room.f_frsize - free * 1024, 0))
    with pytest.raises(LcmLabError):
        plan.apply(backup=backup)
    filler.unlink()
    assert dump(path) == before
    plan.apply()
    assert [one.state for one in journal.read(StoreFile(path)).undoable()] == ["done"]


def test_a_disk_that_is_full_at_the_search_index(make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store()

    def full(index: Index, *_: object) -> None:
        # As SQLite does it: all is taken back, savepoints included, before the error is told.
        index._rows.connection.execute("ROLLBACK")
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorname = "SQLITE_FULL"
        raise error

    monkeypatch.setattr(Index, "_put", full)
    before = dump(path)
    with pytest.raises(StoreError, match="is full; nothing was changed"):
        set_text(path, "sum_la", "Other words.").apply()
    assert dump(path) == before
    assert journal.read(StoreFile(path)).undoable() == ()


def test_a_journal_that_cannot_be_written_stops_it(make_store: Maker) -> None:
    path = make_store()
    journal.path_of(StoreFile(path)).mkdir()
    plan = set_text(path, "sum_la", "Other words.")
    before = dump(path)
    with pytest.raises(LcmLabError, match="journal"):
        plan.apply(backup="never")
    assert dump(path) == before


def test_an_end_that_cannot_be_written_is_said_and_made_up_for(
    make_store: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_store()
    kept = journal.end

    def full(*_: object, **__: object) -> None:
        raise LcmLabError("the disk is full")

    monkeypatch.setattr(journal, "end", full)
    applied = set_text(path, "sum_la", "Other words.").apply()
    assert "was made" in applied.notes[0]
    monkeypatch.setattr(journal, "end", kept)
    undo.undo(StoreFile(path), applied.journal_id)


# ---- damage ---------------------------------------------------------------------------------------------------------


def pages_of(path: Path, table: str) -> list[int]:
    try:
        return [one for (one,) in rows(path, "SELECT pageno FROM dbstat WHERE name = ?", table)]
    except sqlite3.OperationalError:
        return [one for (one,) in rows(path, "SELECT rootpage FROM sqlite_master WHERE name = ?", table)]


@pytest.mark.parametrize(
    "table", ["summaries", "summary_parents", "context_items", "messages", "message_parts", "large_files"]
)
def test_a_damaged_page_stops_it(table: str, make_store: Maker) -> None:
    path = make_store(INDEXES)
    plan = dissolved(path, "sum_c1")
    page = pages_of(path, table)[-1]
    with path.open("r+b") as out:
        out.seek((page - 1) * 4096)
        out.write(b"\xff" * 100)
    before = path.read_bytes()
    with pytest.raises((StoreDamaged, StoreError)):
        plan.apply()
    assert path.read_bytes() == before
    assert files(path) == []


def test_a_store_that_was_cut_off_stops_it(make_store: Maker) -> None:
    path = make_store(INDEXES)
    plan = dissolved(path, "sum_c1")
    os.truncate(path, path.stat().st_size * 6 // 10 // 4096 * 4096)
    before = path.read_bytes()
    with pytest.raises(StoreError):
        plan.apply()
    assert path.read_bytes() == before
    assert files(path) == []


@pytest.mark.parametrize("what", ["missing", "folder", "text", "empty", "another database"])
def test_what_is_no_store_is_refused_and_not_made(what: str, make_store: Maker, tmp_path: Path) -> None:
    plan = set_text(make_store(), "sum_la", "Other words.")
    path = tmp_path / "odd" / "lcm.db"
    path.parent.mkdir()
    if what == "folder":
        path.mkdir()
    elif what == "another database":
        run(path, "CREATE TABLE t (x)")
    elif what != "missing":
        path.write_bytes(b"" if what == "empty" else b"hello " * 50)
    with pytest.raises(LcmLabError):
        plan.on(StoreFile(path)).apply()
    assert files(path) == []
    assert path.exists() == (what != "missing")


# ---- the shapes of plans --------------------------------------------------------------------------------------------


def test_a_value_of_another_type_is_another_value(make_store: Maker) -> None:
    path = make_store()
    plan = set_text(path, "sum_la", "Other words.")
    edit = plan.text
    assert edit is not None
    odd = SetText(
        edit.summary_id, TextState(edit.before.content, float(str(edit.before.token_count)), None), edit.after
    )
    with pytest.raises(StalePlan):
        Plan("p", "rewrite", 44, "sum_la", "t", (odd,), "", "", "", store=StoreFile(path)).apply()


def test_the_lab_sees_what_was_written(base_store: Path) -> None:
    lab = lcm_lab.open(base_store, tz="UTC")
    assert lab.context(44).items[0].kind == "d1"
    dissolved(base_store, "sum_c1").apply()
    assert [one.kind for one in lab.context(44).items][:2] == ["leaf", "leaf"]
    row = lab.store.read(lambda reader: images.image(reader, "summaries", "sum_la"))
    assert row is not None


# ---- the order of a context -----------------------------------------------------------------------------------------


def test_what_leads_nowhere_behind_a_swap_moves_along(make_store: Maker) -> None:
    """The quick way to make room puts rows in anew, which foreign keys refuse for these."""
    path = make_store(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 99), (44, 5, 'message', 1)"
    )
    before = dump(path)
    dissolved(path, "sum_c1").apply()
    assert [one[::2] for one in context_of(path, 44)] == [(0, "sum_la"), (1, "sum_lb"), (2, 5), (3, 6), (4, 99), (6, 1)]
    undo.undo(StoreFile(path))
    assert dump(path) == before


def test_rows_in_any_order_move(make_store: Maker) -> None:
    """One pass over the numbers works only where rows lie in their order."""
    path = make_store(
        "DELETE FROM context_items WHERE ordinal > 0",
        *(
            f"INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, {one}, 'message', {one})"
            for one in (4, 2, 6, 1, 5, 3)
        ),
        "ALTER TABLE context_items ADD COLUMN why TEXT DEFAULT 'because'; UPDATE context_items SET why = ordinal",
    )
    before = dump(path)
    dissolved(path, "sum_c1").apply()
    assert rows(path, "SELECT ordinal, why FROM context_items WHERE ordinal > 1 ORDER BY 1") == [
        (one + 1, str(one)) for one in range(1, 7)
    ]
    undo.undo(StoreFile(path))
    assert dump(path) == before


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_items_that_come_at_the_last_moment_stay(mode: str, make_store: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before the lock is not used where somebody wrote in between."""
    path = make_store(journal_mode=mode)
    plan = dissolved(path, "sum_c1")
    kept = apply_context.prepare

    def prepare(mine: Rows, edits: tuple[Edit, ...]) -> None:
        kept(mine, edits)
        run(
            path,
            "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) SELECT 44, max(ordinal) + 1, 'message', 1 FROM context_items",
        )

    monkeypatch.setattr(apply_context, "prepare", prepare)
    plan.apply(backup="never")
    assert len(context_of(path, 44)) == 5
    assert [one[0] for one in context_of(path, 44)] == [0, 1, 2, 3, 4]
