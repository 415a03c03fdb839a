"""The demo store: the same every time, sound by the plugin's rules, with exactly the faults its README names."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.data import demo_store
from lcm_lab.data.demo_fill import fill, picture
from lcm_lab.errors import UsageError
from lcm_lab.tokens import plugin_tokens

README = Path(demo_store.__file__).parent / "demo" / "README.md"
MARK = "[LCM fallback summary; truncated for context management]"
TABLE = README.read_text(encoding="utf-8").split("## Planted")[1]
FAULTS = {match[1]: match[0] for match in re.finditer(r"^\| (\w+) \| .*\|$", TABLE, re.MULTILINE)}
"""The README's table of faults: name to line. Words of its other tables do no harm."""


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One built demo for all tests that only read."""
    return demo_store.build(tmp_path_factory.mktemp("demo") / "state").parent


@pytest.fixture
def db(state: Path) -> Iterator[sqlite3.Connection]:
    """A reading connection that leaves no side files."""
    with closing(sqlite3.connect(f"file:{state / 'lcm.db'}?mode=ro&immutable=1", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def dump(store: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, with the folder's own name taken out."""
    with closing(sqlite3.connect(f"file:{store}?mode=ro&immutable=1", uri=True)) as connection:
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: sorted(
                (
                    tuple(cell.replace(str(store.parent), "") if isinstance(cell, str) else cell for cell in row)
                    for row in connection.execute(f"SELECT * FROM {name}")
                ),
                key=repr,
            )
            for name in names
        }


def ids(fault: str) -> list[str]:
    """The summary ids the README names for a fault."""
    return re.findall(r"sum_[0-9a-f]{16}", FAULTS[fault])


def numbers(fault: str) -> list[int]:
    """The message ids the README names for a fault, in the column of rows."""
    return [int(one) for one in re.findall(r"\d+", re.findall(r"messages? ([\d ]+)", FAULTS[fault].split("|")[2])[0])]


def test_two_builds_are_equal(state: Path, tmp_path: Path) -> None:
    """Another folder gets the same rows in every table, full-text tables included, and the same files."""
    other = demo_store.build(tmp_path / "other").parent
    assert dump(other / "lcm.db") == dump(state / "lcm.db")
    for file in state.rglob("*"):
        if file.is_file() and file.name != "lcm.db":
            assert (other / file.relative_to(state)).read_bytes() == file.read_bytes()


def test_same_in_another_process(state: Path, tmp_path: Path) -> None:
    """Nothing hangs on the hash seed or on the time zone."""
    code = "import sys; from lcm_lab.data.demo_store import build; build(sys.argv[1])"
    env = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "other")], check=True, env=env)
    assert dump(tmp_path / "other" / "lcm.db") == dump(state / "lcm.db")


def test_one_private_file_in_wal_mode(state: Path) -> None:
    """The store is closed cleanly, in WAL mode, readable for its owner alone, and whole."""
    store = state / "lcm.db"
    assert [file.name for file in state.glob("lcm.db*")] == ["lcm.db"]
    assert store.read_bytes()[18:20] == b"\x02\x02"
    assert stat.S_IMODE(store.stat().st_mode) == 0o600
    assert list(state.parent.glob(".*")) == []


def test_counts(db: sqlite3.Connection) -> None:
    """Six conversations, about four hundred messages, three depths in the first, two in the second."""
    rows = db.execute("SELECT conversation_id, active, session_key FROM conversations ORDER BY 1").fetchall()
    assert [row[0] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row[1] for row in rows] == [1, 1, 0, 1, 1, 1]
    assert rows[2]["session_key"] == rows[3]["session_key"]
    assert 380 <= db.execute("SELECT count(*) FROM messages").fetchone()[0] <= 450
    depths = db.execute("SELECT conversation_id, depth, count(*) FROM summaries GROUP BY 1, 2").fetchall()
    assert [tuple(row) for row in depths] == [
        (1, 0, 16),
        (1, 1, 3),
        (1, 2, 1),
        (2, 0, 10),
        (2, 1, 2),
        (3, 0, 2),
        (4, 0, 1),
    ]
    assert db.execute("SELECT count(*) FROM messages WHERE conversation_id = 6").fetchone()[0] == 0
    assert db.execute("SELECT count(*) FROM messages WHERE content = 'HEARTBEAT_OK'").fetchone()[0] >= 5
    assert db.execute("SELECT count(*) FROM message_parts WHERE part_type = 'reasoning'").fetchone()[0] >= 20
    assert db.execute("SELECT count(*) FROM messages WHERE content = ''").fetchone()[0] >= 20


def test_seq_and_time(db: sqlite3.Connection) -> None:
    """In each conversation seq counts from 1 and time never goes back; parts are numbered from 0."""
    for (conversation,) in db.execute("SELECT conversation_id FROM conversations").fetchall():
        rows = db.execute(
            "SELECT seq, created_at FROM messages WHERE conversation_id = ? ORDER BY seq", (conversation,)
        )
        messages = rows.fetchall()
        assert [row["seq"] for row in messages] == list(range(1, len(messages) + 1))
        assert [row["created_at"] for row in messages] == sorted(row["created_at"] for row in messages)
    parts = db.execute("SELECT message_id, min(ordinal), max(ordinal), count(*) FROM message_parts GROUP BY 1")
    assert all(low == 0 and high == count - 1 for _, low, high, count in parts)


def test_hashes_and_tokens_of_messages(db: sqlite3.Connection) -> None:
    """Hashes follow the rule; counts are those of the text, or of the blocks that the parts carry as raw."""
    for row in db.execute("SELECT * FROM messages").fetchall():
        assert row["identity_hash"] == sha256(f"{row['role']}\0{row['content']}".encode()).hexdigest()
        parts = db.execute(
            "SELECT metadata FROM message_parts WHERE message_id = ? ORDER BY ordinal", (row["message_id"],)
        )
        raws = [json.loads(part["metadata"]).get("raw") for part in parts]
        blocks = json.dumps(raws, ensure_ascii=False, separators=(",", ":"))
        expected = plugin_tokens(row["content"] if None in raws else blocks)
        assert row["token_count"] == (0 if row["message_id"] in numbers("uncounted") else expected)


def test_lineage(db: sqlite3.Connection) -> None:
    """Times, counts, token sums and files of every summary follow from what lies below it."""
    for row in db.execute("SELECT * FROM summaries").fetchall():
        below = list(_below(db, row["summary_id"], set()))
        messages = _messages_below(db, row["summary_id"])
        assert row["token_count"] == plugin_tokens(row["content"])
        assert row["descendant_count"] == len(below)
        assert row["descendant_token_count"] == sum(one["token_count"] for one in below)
        assert row["source_message_token_count"] == sum(one["token_count"] for one in messages)
        times = sorted(datetime.fromisoformat(one["created_at"]) for one in messages)
        assert (row["earliest_at"], row["latest_at"]) == tuple(
            f"{at:%Y-%m-%dT%H:%M:%S}.000Z" for at in (times[0], times[-1])
        )
        files = re.findall(r"\bfile_[0-9a-f]{16}\b", "\n".join(one["content"] for one in messages))
        assert json.loads(row["file_ids"]) == list(dict.fromkeys(files))
        depths = {one["depth"] for one in _sources(db, row["summary_id"])}
        assert row["depth"] == (1 + max(depths) if depths else 0)
        assert (row["kind"] == "leaf") == (row["depth"] == 0)
        assert len(depths) <= 1


def _sources(db: sqlite3.Connection, summary: str) -> list[sqlite3.Row]:
    return db.execute(
        "SELECT s.* FROM summary_parents p JOIN summaries s ON s.summary_id = p.parent_summary_id "
        "WHERE p.summary_id = ? ORDER BY p.ordinal",
        (summary,),
    ).fetchall()


def _below(db: sqlite3.Connection, summary: str, seen: set[str]) -> Iterator[sqlite3.Row]:
    for source in _sources(db, summary):
        assert source["summary_id"] not in seen
        seen.add(source["summary_id"])
        yield source
        yield from _below(db, source["summary_id"], seen)


def _messages_below(db: sqlite3.Connection, summary: str) -> list[sqlite3.Row]:
    found = db.execute(
        "SELECT m.* FROM summary_messages l JOIN messages m USING (message_id) WHERE l.summary_id = ? "
        "ORDER BY l.ordinal",
        (summary,),
    ).fetchall()
    return [*found, *(one for source in _sources(db, summary) for one in _messages_below(db, source["summary_id"]))]


def test_links(db: sqlite3.Connection) -> None:
    """Every leaf has messages, every condensed node sources; nothing feeds two nodes or crosses a conversation."""
    for table, column in (("summary_messages", "message_id"), ("summary_parents", "parent_summary_id")):
        assert (
            db.execute(f"SELECT max(n) FROM (SELECT count(*) AS n FROM {table} GROUP BY {column})").fetchone()[0] == 1
        )
        rows = db.execute(f"SELECT max(ordinal) - count(*) FROM {table} GROUP BY summary_id").fetchall()
        assert {row[0] for row in rows} == {-1}
    linked = {row[0] for row in db.execute("SELECT summary_id FROM summary_messages")}
    assert linked == {row[0] for row in db.execute("SELECT summary_id FROM summaries WHERE kind = 'leaf'")}
    crossing = db.execute(
        "SELECT count(*) FROM summary_messages l JOIN messages m USING (message_id) "
        "JOIN summaries s USING (summary_id) WHERE m.conversation_id <> s.conversation_id"
    )
    assert crossing.fetchone()[0] == 0
    used = db.execute(
        "SELECT count(*) FROM summaries WHERE summary_id NOT IN (SELECT summary_id FROM context_items WHERE summary_id "
        "IS NOT NULL) AND summary_id NOT IN (SELECT parent_summary_id FROM summary_parents)"
    )
    assert used.fetchone()[0] == 0


def test_marks(db: sqlite3.Connection) -> None:
    """Marks stand at the end of exactly the two summaries named, and in the middle of the one that quotes."""
    rows = db.execute("SELECT summary_id, content FROM summaries").fetchall()
    assert [row[0] for row in rows if row["content"].endswith("\n" + MARK)] == ids("fallback")
    assert [row[0] for row in rows if MARK in row["content"] and not row["content"].endswith(MARK)] == ids("quoted")
    cut = [row for row in rows if "[Truncated from" in row["content"]]
    assert [row[0] for row in cut] == ids("truncated")
    assert cut[0]["content"].splitlines()[-1] in FAULTS["truncated"]
    plain = {*ids("fallback"), *ids("truncated"), *ids("copied")}
    assert all("\nExpand for details about: " in row["content"] for row in rows if row[0] not in plain)


def test_sizes(db: sqlite3.Connection) -> None:
    """Exactly one summary is larger than its source, and exactly one unmarked leaf copies it."""
    larger = db.execute("SELECT summary_id FROM summaries WHERE token_count > source_message_token_count").fetchall()
    assert [row[0] for row in larger] == ids("larger")
    copies = []
    for row in db.execute("SELECT * FROM summaries WHERE kind = 'leaf'").fetchall():
        source = "\n\n".join(
            f"[{one['created_at'][:16]} UTC | {one['role']}]\n{one['content'].strip()}"
            for one in _messages_below(db, row["summary_id"])
        )
        if source.startswith(row["content"][:400]):
            copies.append((row["summary_id"], source.startswith(row["content"])))
    assert dict(copies) == {ids("copied")[0]: True, ids("fallback")[0]: False}


def test_full_text(db: sqlite3.Connection) -> None:
    """Full-text rows are in step with their texts, apart from the planted one."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'summaries_fts'").fetchone():
        pytest.skip("this SQLite has no FTS5")
    texts = dict(db.execute("SELECT summary_id, content FROM summaries").fetchall())
    indexed = dict(db.execute("SELECT summary_id, content FROM summaries_fts").fetchall())
    assert indexed.keys() == texts.keys()
    assert [key for key in texts if texts[key] != indexed[key]] == ids("stale")
    blank = {row[0] for row in db.execute("SELECT message_id FROM messages WHERE trim(content) <> ''")}
    assert {row[0] for row in db.execute("SELECT rowid FROM messages_fts")} == blank


def test_context(db: sqlite3.Connection) -> None:
    """Contexts are summaries, then messages; one item twice covered, one dangling, one gap, all as planted."""
    items = db.execute("SELECT * FROM context_items ORDER BY conversation_id, ordinal").fetchall()
    known = {row[0] for row in db.execute("SELECT message_id FROM messages")}
    covered = {row[0] for row in db.execute("SELECT message_id FROM summary_messages")}
    shown = [(row["conversation_id"], row["ordinal"], row["message_id"]) for row in items if row["message_id"]]
    lost = [one for one in shown if one[2] not in known]
    assert [
        f"context item {ordinal} of conversation {number}, message {message}" for number, ordinal, message in lost
    ] == [FAULTS["dangling"].split("|")[2].strip()]
    twice = [f"context item {one[1]} of conversation {one[0]}, message {one[2]}" for one in shown if one[2] in covered]
    assert twice == [FAULTS["kept"].split("|")[2].strip()]
    for conversation in (1, 2, 3, 4, 5):
        mine = [row for row in items if row["conversation_id"] == conversation]
        kinds = [row["item_type"] for row in mine]
        assert kinds == sorted(kinds, reverse=True)
        missing = sorted(set(range(mine[-1]["ordinal"] + 1)) - {row["ordinal"] for row in mine})
        assert missing == ([8, 9, 10] if conversation == 2 else [])
    broken = db.execute("PRAGMA foreign_key_check").fetchall()
    assert [(row["table"], row["parent"]) for row in broken] == [("context_items", "messages")]
    assert db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_depths_in_context(db: sqlite3.Connection) -> None:
    """The first conversation's context shows depth 2, then 1, then 0."""
    rows = db.execute(
        "SELECT depth FROM context_items JOIN summaries USING (summary_id) WHERE context_items.conversation_id = 1 "
        "ORDER BY ordinal"
    )
    assert [row[0] for row in rows] == [2, 1, 0, 0, 0, 0]


def test_repeated_run(db: sqlite3.Connection) -> None:
    """Four messages lie in the store twice, in one second; their session file has them once."""
    rows = db.execute(
        "SELECT max(message_id), count(*) FROM messages WHERE conversation_id = 2 "
        "GROUP BY role, content, created_at HAVING count(*) > 1 ORDER BY 1"
    ).fetchall()
    assert [row[0] for row in rows] == numbers("repeated")
    assert {row[1] for row in rows} == {2}


def test_uncounted(db: sqlite3.Connection) -> None:
    """One long message has lost its count, and no other."""
    rows = db.execute("SELECT message_id, length(content) FROM messages WHERE token_count = 0").fetchall()
    assert [row[0] for row in rows] == numbers("uncounted")
    assert rows[0][1] > 500


def test_large_files(state: Path, db: sqlite3.Connection) -> None:
    """Payloads lie where the store says, in the size it says, and their placeholder is in a message."""
    rows = db.execute("SELECT * FROM large_files").fetchall()
    assert len(rows) == 3
    for row in rows:
        payload = Path(row["storage_uri"])
        assert payload.is_relative_to(state / "lcm-files" / str(row["conversation_id"]))
        assert len(payload.read_bytes()) == row["byte_size"]
        like = f"[LCM %{row['file_id']}%{row['byte_size']:,} bytes]%Exploration Summary:%"
        assert db.execute("SELECT count(*) FROM messages WHERE content LIKE ?", (like,)).fetchone()[0] == 1


def test_picture(db: sqlite3.Connection) -> None:
    """One message embeds a picture of about six thousand characters, made and not stored as text."""
    texts = db.execute("SELECT content FROM messages WHERE content LIKE '%data:image/png;base64,%'").fetchall()
    assert len(texts) == 1
    assert 5500 < len(re.findall(r"base64,([A-Za-z0-9+/=]+)", texts[0][0])[0]) < 6500
    assert picture()[:8] == b"\x89PNG\r\n\x1a\n"
    assert fill("{{picture 38}}") == fill("{{picture}}")


def test_briefs(db: sqlite3.Connection) -> None:
    """One active brief whose source hash is current, and one superseded by it; their sources exist."""
    briefs = db.execute("SELECT * FROM focus_briefs ORDER BY created_at").fetchall()
    assert [row["status"] for row in briefs] == ["superseded", "active"]
    assert briefs[0]["superseded_at"] == briefs[1]["created_at"]
    lines = db.execute(
        "SELECT c.ordinal, s.summary_id, s.token_count, s.latest_at FROM context_items c JOIN summaries s "
        "USING (summary_id) WHERE c.conversation_id = 2 ORDER BY c.ordinal"
    )
    text = "".join("\0".join(map(str, row)) + "\n" for row in lines)
    assert briefs[1]["source_context_hash"] == sha256(text.encode()).hexdigest()
    assert briefs[1]["token_count"] == plugin_tokens(briefs[1]["content"])
    lost = "SELECT count(*) FROM focus_brief_sources WHERE summary_id NOT IN (SELECT summary_id FROM summaries)"
    assert db.execute(lost).fetchone()[0] == 0


def test_session_files(state: Path, db: sqlite3.Connection) -> None:
    """Each file is a chain of lines; its messages are those of its conversation, without the replayed run."""
    files = sorted((state / "agents").glob("*/sessions/*"))
    assert len(files) == 7
    replayed = len(numbers("repeated"))
    seen: dict[str, list[int]] = {}
    for file in files:
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        assert lines[0]["type"] == "session"
        chained = lines[1:]
        assert [line["parentId"] for line in chained] == [None, *(line["id"] for line in chained[:-1])]
        messages = [line for line in lines if line["type"] == "message"]
        seen.setdefault(lines[0]["id"], []).append(len(messages))
        calls = [
            b["id"]
            for m in messages
            for b in m["message"]["content"]
            if isinstance(b, dict) and b["type"] == "toolCall"
        ]
        answers = [m["message"]["toolCallId"] for m in messages if m["message"]["role"] == "toolResult"]
        assert answers == calls
    for row in db.execute("SELECT * FROM conversations").fetchall():
        count = db.execute("SELECT count(*) FROM messages WHERE conversation_id = ?", (row[0],)).fetchone()[0]
        expected = {2: [count - replayed], 4: [count, 8], 5: []}.get(row[0], [count])
        assert sorted(seen.pop(row["session_id"], []), reverse=True) == expected
    assert list(seen.values()) == [[6]]
    names = [file.name for file in files]
    assert sum("-topic-7.jsonl" in name for name in names) == 2
    assert sum(".jsonl.reset." in name for name in names) == 1


def test_finished_demo_is_left_alone(state: Path, tmp_path: Path) -> None:
    """Building again does nothing; another stamp builds anew and leaves nothing beside it."""
    store = demo_store.build(tmp_path / "state")
    before = store.stat().st_ino
    assert demo_store.build(tmp_path / "state") == store
    assert store.stat().st_ino == before
    (store.parent / demo_store.STAMP).write_text("older")
    (store.parent / "leftover").write_text("x")
    demo_store.build(tmp_path / "state")
    assert not (store.parent / "leftover").exists()
    assert dump(store) == dump(state / "lcm.db")
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_other_folders_are_refused(tmp_path: Path) -> None:
    """A folder that holds something else is not touched."""
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(UsageError, match="neither empty nor a demo"):
        demo_store.build(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["mine.txt"]


def test_failed_build_leaves_the_old_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a build breaks, the demo that was there stays, and no half folder is left."""
    store = demo_store.build(tmp_path / "state")
    (store.parent / demo_store.STAMP).write_text("older")

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(demo_store, "plant", broken)
    with pytest.raises(RuntimeError, match="broken"):
        demo_store.build(tmp_path / "state")
    assert store.is_file()
    assert [one.name for one in tmp_path.iterdir()] == ["state"]


def test_readme_lists_every_fault() -> None:
    """The README's table names the planted faults, no more and no fewer."""
    planted = "fallback truncated quoted copied larger stale uncounted kept dangling gap repeated"
    assert [name for name in FAULTS if name in planted.split()] == planted.split()
