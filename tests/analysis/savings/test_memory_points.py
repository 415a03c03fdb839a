"""The hooks' own code makes the points; nothing outside the temporary folder is touched."""

import os
from itertools import pairwise
from pathlib import Path

from lcm_lab.analysis.savings import memory_points
from lcm_lab.analysis.savings.claude_code import Reading
from tests.analysis.savings.made_up import Made, coding


def test_the_hooks_say_what_they_would_have_said(tmp_path: Path) -> None:
    made = Made().user("Please use port 8443, never port 80.").answer("I decided to use port 8443. All tests pass.")
    made.user("Now the log.").answer("The log is written.").user("And the end?").answer("Done.")
    path = made.write(tmp_path / "s.jsonl")
    reading = Reading(path).run()
    before = dict(os.environ)
    points, known, layers = memory_points.build(path, reading.gathered.requests, reading.gathered.offsets)
    assert dict(os.environ) == before
    assert [one.request for one in points] == [1, 2]
    assert layers.turns == 3
    assert layers.l1 > 0
    assert "8443" in known.blocks[1]
    assert "8443" in known.details[1]
    assert [turn for turn, _, _ in points[1].lines][:2] == [1, 2]
    assert points[1].block > points[0].block > 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["s.jsonl"]


def test_long_turns_get_points_in_between(tmp_path: Path) -> None:
    path = coding(4, turns=2, calls=45, size=400).write(tmp_path / "s.jsonl")
    requests = Reading(path).run().gathered.requests
    at = memory_points.points_at(requests)
    assert at[0] <= memory_points.EVERY
    assert all(b - a <= memory_points.EVERY for a, b in pairwise(at))
