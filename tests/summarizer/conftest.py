"""A claude command of our own for each test that asks for one."""

from pathlib import Path

import pytest

from tests.fake_claude import FakeClaude


@pytest.fixture
def fake_claude(tmp_path: Path) -> FakeClaude:
    """A claude command of our own; the real one is never run."""
    folder = tmp_path / "claude"
    folder.mkdir()
    return FakeClaude(folder)
