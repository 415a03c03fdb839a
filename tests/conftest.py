"""Stores to test on: small ones made here, and copies of real ones where those are at hand."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import settings

from lcm_lab.data import schema_files

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("LCM_LAB_SHARED", ROOT.parent / "shared"))

# A busy machine is no fault of the code: no test has a time limit.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

BASE_ROWS = """
INSERT INTO conversations(conversation_id, session_id, title, created_at, updated_at) VALUES
 (44, 's44', 'base', '2026-03-30 23:00:00', '2026-03-31 00:00:10'), (45, 's45', NULL, '2026-03-30 22:00:00', '2026-03-30 22:00:00');
INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES
 (1, 44, 0, 'user', 'Which port, 8080?', 5, '2026-03-30 23:11:15'),
 (2, 44, 1, 'assistant', 'Not that one: blocked by the firewall.', 10, '2026-03-30 23:11:40'),
 (3, 44, 2, 'user', 'Take 443 then.', 4, '2026-03-30T23:12:00Z'),
 (4, 44, 3, 'assistant', 'Port 443 answers.', 5, '2026-03-30T23:12:30Z'),
 (5, 44, 4, 'user', 'Roll it out.', 3, '2026-03-31 00:00:00'),
 (6, 44, 5, 'assistant', 'It is out.', 3, '2026-03-31 00:00:10');
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES
 ('sum_la', 44, 'leaf', 0, 'The firewall blocks 8080.', 7),
 ('sum_lb', 44, 'leaf', 0, 'They chose 443.', 4),
 ('sum_c1', 44, 'condensed', 1, 'Port 443; 8080 is blocked.', 7);
INSERT INTO summary_messages(summary_id, message_id, ordinal) VALUES
 ('sum_la', 1, 0), ('sum_la', 2, 1), ('sum_lb', 3, 0), ('sum_lb', 4, 1);
INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_c1', 'sum_la', 0), ('sum_c1', 'sum_lb', 1);
INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id) VALUES
 (44, 0, 'summary', NULL, 'sum_c1'), (44, 1, 'message', 5, NULL), (44, 2, 'message', 6, NULL);
"""

StoreMaker = Callable[..., Path]


@pytest.fixture
def make_store(tmp_path: Path) -> StoreMaker:
    """Make a store with the base rows (two conversations, six messages, three summaries), then run more SQL on it."""
    made = 0

    def make(*more: str, version: str = "0.15.3", journal_mode: str = "wal", base: bool = True) -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"store{made}" / "lcm.db"
        path.parent.mkdir()
        schema_files.create_store(path, version, journal_mode=journal_mode)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys=OFF")
            connection.execute("PRAGMA ignore_check_constraints=ON")
            connection.executescript(BASE_ROWS if base else "")
            for statement in more:
                connection.executescript(statement)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return path

    return make


@pytest.fixture
def base_store(make_store: StoreMaker) -> Path:
    """A closed WAL store with the base rows."""
    return make_store()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real inputs; a test that needs it is skipped where it is not."""
    if not (SHARED / "stores").is_dir():
        pytest.skip(f"the real inputs are not at {SHARED}")
    return SHARED


@pytest.fixture
def shared_store(shared: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A writable copy of a real store, by the name of its file."""

    def copy(name: str) -> Path:
        target = tmp_path / "shared-stores" / name
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(shared / "stores" / name, target)
        return target

    return copy


@pytest.fixture
def state_dir(shared: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A writable copy of a real OpenClaw state folder, by its name."""

    def copy(name: str) -> Path:
        target = tmp_path / name
        shutil.copytree(shared / "openclaw" / name, target)
        for path in [target, *target.rglob("*")]:
            path.chmod(0o700 if path.is_dir() else 0o600)
        return target

    return copy
