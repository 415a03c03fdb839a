"""What recorded compactions left, and the steps after them."""

from pathlib import Path

from lcm_lab.analysis.savings import calibration, typical
from lcm_lab.analysis.savings.claude_code import Reading
from tests.analysis.savings.made_up import BASE, Made


def test_sizes_around_a_boundary_are_taken_apart(tmp_path: Path) -> None:
    made = Made(factor=1.0).user("x" * 400).answer("y" * 400, ("Read", {"file_path": "/a"}, "z" * 40_000))
    made.compaction("s" * 800, after=BASE + 700).user("go" * 20).answer("done")
    session = Reading(made.write(tmp_path / "s.jsonl")).run().gathered.session()
    (found,) = typical.boundaries(session, calibration.PLAIN)
    assert typical.base(session, calibration.PLAIN) == BASE
    assert (found.summary, found.kept) == (200, 700)
    assert found.after == BASE + 700 + 200 + 10
    known = typical.typical([session], [calibration.PLAIN])
    assert (known.summary, known.kept, known.boundaries) == (200, 700, 1)


def test_steps_until_the_next_edit_are_counted_and_compared_with_other_turns(tmp_path: Path) -> None:
    edit = ("Edit", {"file_path": "/a", "old_string": "x", "new_string": "y"}, "ok")
    read = ("Read", {"file_path": "/a"}, "z" * 400)
    made = Made(factor=1.0).user("one").answer("", read).answer("", edit).answer("done")
    made.user("two").answer("", ("Bash", {"command": "ls"}, "a")).answer("", edit).answer("done")
    made.compaction("s" * 80, after=BASE)
    made.user("three").answer("", read).answer("", ("Bash", {"command": "ls"}, "a")).answer("", edit).answer("done")
    session = Reading(made.write(tmp_path / "s.jsonl")).run().gathered.session()
    found = typical.reorientation([session], [calibration.PLAIN])
    assert [(one.actions, one.rereads, one.tokens) for one in found.after] == [(2, 1, 100)]
    assert [(one.actions, one.rereads) for one in found.usual] == [(1, 0)]
    assert (found.extra_actions, found.extra_tokens) == (1.0, 100.0)


def test_without_compactions_the_published_figures_count(tmp_path: Path) -> None:
    session = Reading(Made().user("a").answer("b").write(tmp_path / "s.jsonl")).run().gathered.session()
    assert typical.typical([session], [calibration.PLAIN]).boundaries == 0
    assert typical.reorientation([session], [calibration.PLAIN]).extra_actions == 0
