"""What several tests of the hooks start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lcm_lab.hooks import memory_db

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def con(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[sqlite3.Connection]:
    """An empty memory with one session."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path / "memory"))
    made = memory_db.connect()
    memory_db.ensure_session(made, "s", "/project")
    yield made
    made.close()
