"""A few of the kills that ``make faults`` does by the hundred."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.killing import killed
from tests.repairs.test_apply import COUNTS, INDEXES


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_killed_while_repairing(mode: str, make_store: Callable[..., Path]) -> None:
    killed(make_store(INDEXES, COUNTS, journal_mode=mode), 5, random.Random())  # noqa: S311  (any moment will do)
