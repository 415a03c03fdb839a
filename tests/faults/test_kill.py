"""A hundred kills at random moments: each repair is in the store whole or not at all, and the journal says which."""

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.killing import killed
from tests.repairs.test_apply import COUNTS, INDEXES

KILLS = int(os.environ.get("LCM_LAB_KILLS", "100"))
TOGETHER = 10
"""Kills of one store, whose journal grows with every repair."""


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_killed_while_repairing(mode: str, make_store: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    seed = random.SystemRandom().randrange(10**6)
    chance = random.Random(seed)  # noqa: S311  (the seed is printed)
    seen: dict[str, int] = {}
    for _ in range(KILLS // 2 // TOGETHER):
        for state, count in killed(make_store(INDEXES, COUNTS, journal_mode=mode), TOGETHER, chance).items():
            seen[state] = seen.get(state, 0) + count
    with capsys.disabled():
        print(f"\n{KILLS // 2} kills in {mode} mode (seed {seed}); repairs that were open: {seen}")
