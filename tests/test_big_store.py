"""The generator of big stores and the schema files: totals as asked for, valid references, closed cleanly."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lcm_lab.data import big_store
from lcm_lab.data.big_plan import plan_store
from lcm_lab.data.schema_files import VERSIONS, create_store, ddl
from lcm_lab.errors import UsageError
from lcm_lab.tokens import plugin_tokens

SMALL = {
    "messages": 3000,
    "text_bytes": 2_000_000,
    "summaries": 200,
    "context_items": 1700,
    "conversations": 12,
    "parts": 4000,
    "largest": 1600,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small generated store with full-text tables, for all tests that only read."""
    path = tmp_path_factory.mktemp("big") / "big.db"
    big_store.generate(path, **SMALL, full_text=True)
    return path


@pytest.fixture
def db(store: Path) -> Iterator[sqlite3.Connection]:
    """A reading connection that leaves no side files."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as connection:
        yield connection


def count(db: sqlite3.Connection, what: str) -> int:
    """The number in the first row of a query's only column."""
    value = db.execute(f"SELECT {what}").fetchone()[0]
    return int(value)


def test_totals(db: sqlite3.Connection) -> None:
    """Every total is the one asked for; the text is within a hundredth."""
    for table, key in (
        ("messages", "messages"),
        ("summaries", "summaries"),
        ("context_items", "context_items"),
        ("conversations", "conversations"),
        ("message_parts", "parts"),
    ):
        assert count(db, f"count(*) FROM {table}") == SMALL[key]
    size = count(db, "sum(length(CAST(content AS BLOB))) FROM messages")
    assert abs(size - SMALL["text_bytes"]) < SMALL["text_bytes"] / 100
    assert count(db, "count(*) FROM messages WHERE conversation_id = 1") == SMALL["largest"]
    assert count(db, "count(*) FROM summaries WHERE conversation_id = 1") > 90


def test_closed_cleanly(store: Path) -> None:
    """One file in WAL mode, without side files, whole by SQLite's own check."""
    assert [file.name for file in store.parent.iterdir()] == ["big.db"]
    assert store.read_bytes()[18:20] == b"\x02\x02"
    with closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_references(db: sqlite3.Connection) -> None:
    """No dangling reference, nothing across conversations, contexts of summaries and then messages without a gap."""
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    mixed = "FROM context_items c JOIN messages m USING (message_id) WHERE m.conversation_id <> c.conversation_id"
    assert count(db, f"count(*) {mixed}") == 0
    for _, low, high, items, last_summary, first_message in db.execute(
        "SELECT conversation_id, min(ordinal), max(ordinal), count(*), max(iif(item_type = 'summary', ordinal, -1)), "
        "min(iif(item_type = 'message', ordinal, 1000000)) FROM context_items GROUP BY 1"
    ):
        assert (low, high) == (0, items - 1)
        assert last_summary < first_message
    shown_twice = "FROM context_items JOIN summary_messages USING (message_id)"
    assert count(db, f"count(*) {shown_twice}") == 0
    shown_above = "FROM context_items c JOIN summary_parents p ON p.parent_summary_id = c.summary_id"
    assert count(db, f"count(*) {shown_above}") == 0


def test_lineage(db: sqlite3.Connection) -> None:
    """Every leaf has messages and every condensed node sources; sums and depths follow from them."""
    for identity, depth, tokens, source, below in db.execute(
        "SELECT summary_id, depth, token_count, source_message_token_count, descendant_count FROM summaries"
    ).fetchall():
        linked = db.execute(
            "SELECT count(*), sum(token_count) FROM summary_messages JOIN messages USING (message_id) "
            "WHERE summary_id = ?",
            (identity,),
        ).fetchone()
        sources = db.execute(
            "SELECT count(*), min(s.depth), max(s.depth), sum(s.source_message_token_count), "
            "sum(s.descendant_count + 1) FROM summary_parents p JOIN summaries s ON s.summary_id = p.parent_summary_id "
            "WHERE p.summary_id = ?",
            (identity,),
        ).fetchone()
        assert linked == (linked[0], source) if depth == 0 else linked == (0, None)
        assert sources == ((0, *[None] * 4) if depth == 0 else (8, depth - 1, depth - 1, source, below))
        assert 0 < tokens <= source
    assert count(db, "count(DISTINCT depth) FROM summaries") == 3


def test_messages(db: sqlite3.Connection) -> None:
    """Roles are mixed, one row in twenty is not ASCII, and counts follow the plugin's rule."""
    rows = db.execute("SELECT role, content, token_count FROM messages").fetchall()
    assert {row[0] for row in rows} == {"user", "assistant", "tool"}
    assert 0.03 < sum(not row[1].isascii() for row in rows) / len(rows) < 0.08
    assert all(row[2] == plugin_tokens(row[1]) for row in rows)
    assert max(len(row[1]) for row in rows) > 20 * sum(len(row[1]) for row in rows) / len(rows)


def test_full_text(db: sqlite3.Connection) -> None:
    """Full-text tables are in step where they were asked for."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'messages_fts'").fetchone():
        pytest.skip("this SQLite has no FTS5")
    assert count(db, "count(*) FROM messages_fts") == SMALL["messages"]
    assert count(db, "count(*) FROM summaries_fts JOIN summaries USING (summary_id, content)") == SMALL["summaries"]


def test_same_seed_same_store(store: Path, tmp_path: Path) -> None:
    """One seed gives one store, another seed another text."""
    for seed in (1, 2):
        big_store.generate(tmp_path / f"{seed}.db", **SMALL, seed=seed)
    texts = []
    for path in (store, tmp_path / "1.db", tmp_path / "2.db"):
        with closing(sqlite3.connect(path)) as connection:
            texts.append(connection.execute("SELECT message_id, content, created_at FROM messages").fetchall())
    assert texts[0] == texts[1] != texts[2]
    with closing(sqlite3.connect(tmp_path / "1.db")) as connection:
        assert count(connection, "count(*) FROM sqlite_master WHERE name LIKE '%fts%'") == 0


@pytest.mark.parametrize(("items", "largest"), [(3050, 0), (3000, 0), (900, 1500), (30, 0), (0, 0)])
def test_odd_totals(tmp_path: Path, items: int, largest: int) -> None:
    """Many or few context items: the total holds, and no reference dangles."""
    path = tmp_path / "odd.db"
    sizes = {**SMALL, "context_items": items, "largest": largest, "parts": 0, "text_bytes": 300_000}
    big_store.generate(path, **sizes)
    with closing(sqlite3.connect(path)) as connection:
        assert count(connection, "count(*) FROM context_items") == items
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_every_small_plan_adds_up() -> None:
    """Totals hold for all small numbers of summaries, where trees are ragged."""
    for summaries in range(90):
        plan = plan_store(messages=90, summaries=summaries, context_items=80, conversations=3, largest=0)
        assert sum(len(one.nodes) for one in plan.conversations) == summaries
        assert sum(one.messages for one in plan.conversations) == 90
        assert sum(len(one.tops) + one.shown for one in plan.conversations) == 80
        for one in plan.conversations:
            fed = [place for node in one.nodes for place in node.sources]
            assert len(fed) == len(set(fed))
            assert all(node.messages if node.depth == 0 else node.sources for node in one.nodes)


def test_refusals(store: Path, tmp_path: Path) -> None:
    """A path that is taken, a missing folder, a full disk and impossible numbers are refused, and nothing is left."""
    before = store.read_bytes()
    with pytest.raises(UsageError, match="there already"):
        big_store.generate(store, **SMALL)
    assert store.read_bytes() == before
    for path, change, words in (
        (tmp_path / "no" / "x.db", {}, "no folder"),
        (tmp_path / "x.db", {"text_bytes": 10**16}, "GB are free"),
        (tmp_path / "x.db", {"summaries": 5000}, "at least as many messages"),
        (tmp_path / "x.db", {"context_items": 9000}, "At most"),
        (tmp_path / "x.db", {"largest": 9000}, "largest conversation"),
        (tmp_path / "x.db", {"conversations": 0}, "conversation"),
    ):
        with pytest.raises(UsageError, match=words):
            big_store.generate(path, **{**SMALL, **change})
    assert list(tmp_path.iterdir()) == []


def test_broken_off(tmp_path: Path) -> None:
    """A run that is broken off leaves nothing behind."""

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        big_store.generate(tmp_path / "x.db", **SMALL, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command makes a store with a bar on stderr, and says in one line why it does not."""
    path = tmp_path / "x.db"
    sizes = ["--messages", "300", "--text-mb", "0.1", "--summaries", "20", "--context-items", "150"]
    arguments = ["--to", str(path), *sizes, "--conversations", "4"]
    assert big_store.main(arguments) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "messages" in err
    assert big_store.main(arguments) == 2
    assert f"big_store: {path} is there already" in capsys.readouterr().err


@pytest.mark.parametrize("version", VERSIONS)
def test_schema_files(version: str, tmp_path: Path) -> None:
    """Every schema makes an empty database of one file, in the journal mode asked for."""
    for mode, mark in (("wal", b"\x02\x02"), ("delete", b"\x01\x01")):
        path = tmp_path / f"{mode}.db"
        create_store(path, version, journal_mode=mode)
        assert path.read_bytes()[18:20] == mark
    assert sorted(file.name for file in tmp_path.iterdir()) == ["delete.db", "wal.db"]
    assert ddl(version).startswith("-- ")
    with pytest.raises(FileExistsError):
        create_store(path, version)


def test_schema_names() -> None:
    """The prefix may be left out; an unknown version is named with those there are."""
    assert ddl("0.15.3") == ddl("lcm-0.15.3")
    with pytest.raises(ValueError, match=r"lcm-0\.15\.3"):
        ddl("9.9")
