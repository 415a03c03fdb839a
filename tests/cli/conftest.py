"""A user at a command line, with a store that needs repair."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lcm_lab.analysis.health import markers
from tests.command import GOOD, User
from tests.conftest import StoreMaker
from tests.stand_in import StandIn, ok


@pytest.fixture
def user(make_store: StoreMaker, tmp_path: Path) -> Iterator[User]:
    """A user whose store has two broken leaves, and whose model answers well."""
    broken = f"UPDATE summaries SET content = 'cut short' || char(10) || '{markers.FALLBACK}' WHERE depth = 0;"
    with StandIn(ok(GOOD)) as server:
        yield User(make_store(broken), tmp_path / "home", server)
