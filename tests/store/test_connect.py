"""Opening: every kind of path, every state of the file, real writers beside us, and never a trace."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lcm_lab.errors import LcmLabError, NotAStore, StoreBusy, StoreDamaged, StoreError, StoreMissing, StoreUnfinished
from lcm_lab.store import connect
from lcm_lab.store.connect import Reader, StoreFile
from tests.conftest import StoreMaker


def count(reader: Reader) -> int:
    """How many messages the store holds."""
    return int(reader.value("SELECT count(*) FROM messages"))


def side_files(path: Path) -> list[str]:
    """What lies beside a store."""
    return sorted(one.name for one in path.parent.iterdir() if one != path)


@contextmanager
def writer(path: Path, code: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs ``code`` with ``db`` open on the store, says ready, and ends when its input does."""
    program = f"""
import sqlite3, sys, time
db = sqlite3.connect({str(path)!r}, isolation_level=None, timeout=5)
def ready():
    print("ready", flush=True)
    sys.stdin.read()
{textwrap.dedent(code)}
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    try:
        yield process
    finally:
        process.communicate(timeout=20)


def test_a_closed_wal_store_is_read_without_a_trace(base_store: Path) -> None:
    before = base_store.read_bytes()
    assert StoreFile(base_store).read(lambda reader: (count(reader), reader.live)) == (6, False)
    assert side_files(base_store) == []
    assert base_store.read_bytes() == before


def test_a_store_in_delete_mode_is_read_without_a_trace(make_store: StoreMaker) -> None:
    path = make_store(journal_mode="delete")
    assert StoreFile(path).journal_mode == "delete"
    assert StoreFile(path).read(count) == 6
    assert side_files(path) == []


def test_a_live_wal_store_shows_what_is_only_in_the_log(base_store: Path) -> None:
    code = "db.execute(\"INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (44, 6, 'user', 'x', 1)\"); ready()"
    with writer(base_store, "db.execute('PRAGMA wal_autocheckpoint=0')\n" + code):
        assert side_files(base_store) == ["lcm.db-shm", "lcm.db-wal"]
        assert StoreFile(base_store).read(lambda reader: (count(reader), reader.live)) == (7, True)


def test_a_log_of_no_bytes_is_read_live(base_store: Path) -> None:
    with writer(base_store, "db.execute('SELECT count(*) FROM messages').fetchall(); ready()"):
        assert (base_store.parent / "lcm.db-wal").stat().st_size == 0
        assert StoreFile(base_store).read(lambda reader: reader.live) is True


def test_a_writer_that_comes_during_a_frozen_look_makes_it_run_again(base_store: Path) -> None:
    looks: list[bool] = []

    def look(reader: Reader) -> int:
        looks.append(reader.live)
        if len(looks) == 1:
            other = 'import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute("DELETE FROM context_items"); db.commit()'
            subprocess.run([sys.executable, "-c", other, str(base_store)], check=True)
        return int(reader.value("SELECT count(*) FROM context_items"))

    assert StoreFile(base_store).read(look) == 0
    assert len(looks) == 2


def test_one_look_is_one_state(base_store: Path) -> None:
    insert = "INSERT INTO messages(conversation_id, seq, role, content, token_count) VALUES (45, ?, 'user', 'x', 1)"
    code = f"""
    import threading
    db.execute("SELECT 1 FROM messages").fetchall()
    threading.Thread(target=lambda: (sys.stdin.read(), None), daemon=True)
    print("ready", flush=True)
    end = time.time() + 2
    n = 0
    while time.time() < end:
        db.execute("BEGIN IMMEDIATE")
        db.execute({insert!r}, (n,))
        db.execute("INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (45, ?, 'message', last_insert_rowid())", (n,))
        db.execute("COMMIT")
        n += 1
    """

    def both(reader: Reader) -> tuple[int, int]:
        first = int(reader.value("SELECT count(*) FROM messages WHERE conversation_id = 45"))
        time.sleep(0.05)
        return first, int(reader.value("SELECT count(*) FROM context_items WHERE conversation_id = 45"))

    with writer(base_store, code):
        seen = [StoreFile(base_store).read(both) for _ in range(15)]
    assert all(first == second for first, second in seen)
    assert seen[-1][0] > seen[0][0]


def test_nothing_stays_open_so_a_checkpoint_empties_the_log(base_store: Path) -> None:
    code = """
    db.execute("INSERT INTO conversations(session_id) VALUES ('x')")
    print("ready", flush=True)
    sys.stdin.readline()
    print(db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone(), flush=True)
    """
    store = StoreFile(base_store)
    with writer(base_store, code) as process:
        assert store.read(count) == 6
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        # Not refused, and no frame left in the log.
        assert process.stdout.readline().strip() == "(0, 0, 0)"


def test_our_own_write_lock_survives_our_looks(base_store: Path) -> None:
    """Closing any descriptor of the file would drop this process's locks, and a second writer would get in."""
    with closing(sqlite3.connect(base_store, isolation_level=None)) as mine:
        mine.execute("BEGIN IMMEDIATE")
        mine.execute("INSERT INTO conversations(session_id) VALUES ('mine')")
        for _ in range(3):
            StoreFile(base_store).read(count)
            StoreFile(base_store).stamp()
        other = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0).execute('BEGIN IMMEDIATE')"
        blocked = subprocess.run(
            [sys.executable, "-c", other, str(base_store)], capture_output=True, text=True, check=False
        )
        assert "database is locked" in blocked.stderr
        mine.execute("COMMIT")
    assert StoreFile(base_store).read(lambda reader: reader.value("SELECT count(*) FROM conversations")) == 3


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that anybody can enter; pytest's own are for their owner only."""
    with tempfile.TemporaryDirectory(prefix="lcm-lab-test-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_read_only_folder(base_store: Path, public_folder: Path) -> None:
    frozen = public_folder / "lcm.db"
    shutil.copyfile(base_store, frozen)
    public_folder.chmod(0o555)
    assert as_nobody("StoreFile(path).read(lambda r: r.value('SELECT count(*) FROM messages'))", frozen) == "6"
    assert side_files(frozen) == []


def test_a_log_in_a_read_only_folder_is_refused_with_advice(base_store: Path, public_folder: Path) -> None:
    frozen = public_folder / "lcm.db"
    with writer(base_store, "db.execute(\"INSERT INTO conversations(session_id) VALUES ('x')\"); ready()"):
        shutil.copyfile(base_store, frozen)
        shutil.copyfile(f"{base_store}-wal", f"{frozen}-wal")
    public_folder.chmod(0o555)
    assert "copy both files to a folder you can write to" in as_nobody("StoreFile(path).read(lambda r: 0)", frozen)


def as_nobody(expression: str, path: Path) -> str:
    """What an expression gives, or the message of its error, in a process without rights on the folder."""
    program = f"""
import os
from pathlib import Path
from lcm_lab.store.connect import StoreFile
from lcm_lab.errors import LcmLabError
import lcm_lab.tokens
path = Path({str(path)!r})
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    print({expression})
except LcmLabError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() or done.stderr


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("none/lcm.db", StoreMissing, "no folder"),
        ("typo.db", StoreMissing, "no store at"),
        ("folder", NotAStore, "is a folder"),
        ("text.db", NotAStore, "is not an SQLite database"),
        ("empty.db", NotAStore, "0 bytes"),
        ("other.db", NotAStore, "no table conversations and no table messages"),
        ("short.db", StoreDamaged, "cut off after 50 bytes"),
        ("dangling.db", StoreMissing, "is a link to"),
        ("pipe.db", NotAStore, "not a regular file"),
    ],
)
def test_every_bad_path_has_its_own_sentence(
    tmp_path: Path, base_store: Path, name: str, kind: type[LcmLabError], said: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.db").write_text("hello, this is a text\n" * 20)
    (tmp_path / "empty.db").touch()
    (tmp_path / "short.db").write_bytes(base_store.read_bytes()[:50])
    (tmp_path / "dangling.db").symlink_to(tmp_path / "gone.db")
    os.mkfifo(tmp_path / "pipe.db")
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE songs (title)")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(kind, match=said):
        StoreFile(tmp_path / name).read(count)
    assert sorted(tmp_path.iterdir()) == before


def test_the_home_folder_is_expanded(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(base_store.parent))
    assert StoreFile("~/lcm.db").read(count) == 6


def test_a_link_finds_the_log_of_what_it_points_to(base_store: Path, tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(base_store)
    with writer(base_store, 'db.execute("DELETE FROM messages WHERE message_id = 1"); ready()'):
        assert StoreFile(tmp_path / "link.db").read(count) == 5


def test_a_hot_journal_is_refused_with_a_sentence(make_store: StoreMaker) -> None:
    path = make_store(journal_mode="delete")
    code = """
    db.execute("PRAGMA cache_size=1")
    db.execute("BEGIN IMMEDIATE")
    db.execute("UPDATE messages SET content = content || hex(randomblob(50000))")
    import os
    print("ready", flush=True)
    os.kill(os.getpid(), 9)
    """
    with writer(path, code):
        pass
    assert (path.parent / "lcm.db-journal").stat().st_size > 0
    before = path.read_bytes()
    with pytest.raises(StoreUnfinished, match="start OpenClaw once"):
        StoreFile(path).read(count)
    assert path.read_bytes() == before


def test_a_locked_store_in_delete_mode_says_so(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connect, "BUSY_SECONDS", 0.2)
    path = make_store(journal_mode="delete")
    with writer(path, "db.execute('BEGIN EXCLUSIVE'); ready()"), pytest.raises(StoreBusy, match="locked by another"):
        StoreFile(path).read(count)


def test_damage_is_named_and_what_can_be_read_is_read(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = hex(zeroblob(9000)) WHERE message_id = 3")
    raw = bytearray(path.read_bytes())
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as look:
        page = look.execute("SELECT rootpage FROM sqlite_master WHERE name = 'summaries'").fetchone()[0]
    raw[(page - 1) * 4096 : (page - 1) * 4096 + 200] = b"\xff" * 200
    path.write_bytes(bytes(raw))
    store = StoreFile(path)
    assert store.read(count) == 6
    with pytest.raises(StoreDamaged, match="is damaged"):
        store.read(lambda reader: reader.all("SELECT * FROM summaries"))


def test_a_store_cut_to_sixty_percent(base_store: Path) -> None:
    raw = base_store.read_bytes()
    base_store.write_bytes(raw[: len(raw) * 6 // 10])
    with pytest.raises(StoreError):
        StoreFile(base_store).read(
            lambda reader: [reader.all(f'SELECT * FROM "{name}"') for name in reader.schema.tables]
        )


def test_the_stamp_changes_when_the_store_does(base_store: Path) -> None:
    store = StoreFile(base_store)
    before = store.stamp()
    assert store.stamp() == before
    with writer(base_store, "db.execute(\"INSERT INTO conversations(session_id) VALUES ('x')\"); ready()"):
        assert store.stamp() != before


def test_a_schema_change_is_seen(base_store: Path) -> None:
    store = StoreFile(base_store)
    assert not store.read(lambda reader: reader.schema.has("messages", "mood"))
    with closing(sqlite3.connect(base_store)) as other:
        other.execute("ALTER TABLE messages ADD COLUMN mood TEXT")
    assert store.read(lambda reader: reader.schema.has("messages", "mood"))
    assert "messages.mood" in store.read(lambda reader: reader.schema.unknown)


def test_nothing_can_be_written_through_a_reader(base_store: Path) -> None:
    for sql in (
        "DELETE FROM messages",
        "CREATE TABLE x (y)",
        "PRAGMA journal_mode=DELETE",
        "ATTACH ':memory:' AS other",
    ):
        try:
            StoreFile(base_store).read(lambda reader, sql=sql: reader.all(sql))
        except StoreError:
            continue
    assert StoreFile(base_store).journal_mode == "wal"
    assert StoreFile(base_store).read(count) == 6
    assert side_files(base_store) == []
