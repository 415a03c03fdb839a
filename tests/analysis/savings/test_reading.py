"""Transcripts as numbers: every text once, with the request that first holds it; usage once."""

import json
from pathlib import Path

from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.seen import as_seen, was_cut
from tests.analysis.savings.made_up import BASE, Made, coding


def test_items_enter_with_the_request_that_first_holds_them(tmp_path: Path) -> None:
    made = Made(factor=1.0)
    made.user("a" * 400).answer("b" * 80, ("Read", {"file_path": "/x"}, "c" * 4000), thinking="d" * 40)
    made.answer("e" * 40).user("f" * 40).answer("g" * 4)
    session = Reading(made.write(tmp_path / "s.jsonl")).run().gathered.session()
    shown = [(one.kind, one.estimate, one.entry, one.made) for one in session.items]
    assert shown == [
        ("user", 100, 0, -1),
        ("thinking", 10, 1, 0),
        ("assistant", 20, 1, 0),
        ("tool input", 5, 1, 0),
        ("tool output", 1000, 1, -1),
        ("assistant", 10, 2, 1),
        ("user", 10, 2, -1),
        ("assistant", 1, 3, 2),
    ]
    assert [one.prompt for one in session.requests] == [BASE + 100, BASE + 1135, BASE + 1155]
    assert [one.turn for one in session.requests] == [1, 1, 2]
    assert session.items[4].reads == session.items[3].reads == 0


def test_streamed_lines_repeat_their_usage_and_are_one_request(tmp_path: Path) -> None:
    made = Made().user("x" * 40).answer("y" * 40, ("Bash", {"command": "ls"}, "z"), thinking="t" * 40)
    path = made.write(tmp_path / "s.jsonl")
    lines = path.read_text("utf-8").splitlines()
    again = json.loads(lines[2])
    again["uuid"] = "again"
    path.write_text("\n".join([*lines[:3], json.dumps(again, separators=(",", ":")), *lines[3:]]) + "\n", "utf-8")
    session = Reading(path).run().gathered.session()
    assert len(session.requests) == 1
    assert [one.kind for one in session.items] == ["user", "thinking", "assistant", "tool input", "tool output"]


def test_boundaries_new_roots_and_resumed_clients_are_marked(tmp_path: Path) -> None:
    made = Made().user("one").answer("two").compaction("what was", after=9_000).user("three").answer("four")
    made.lines.append({**made.lines[-1], "uuid": "root", "parentUuid": None, "type": "user"})
    made.lines[-1]["message"] = {"role": "user", "content": "Implement the plan"}
    made.answer("five")
    note = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "No response requested."}],
    }
    made._line("assistant", {**note, "id": "local"})
    made.user("six").answer("seven")
    session = Reading(made.write(tmp_path / "s.jsonl")).run().gathered.session()
    assert [(r.boundary, r.fresh, r.resumed) for r in session.requests] == [
        (False, False, False),
        (True, False, False),
        (False, True, False),
        (False, False, True),
    ]
    assert [one.kind for one in session.items].count("summary") == 1


def test_what_the_client_would_cut_is_cut_only_where_it_was_not(tmp_path: Path) -> None:
    assert len(as_seen("Bash", "x" * 29_000)) == 29_000
    assert len(as_seen("Bash", "x" * 31_000)) < 2_100
    assert len(as_seen("Bash", "x" * 20_000, failed=True)) < 10_100
    assert was_cut("<persisted-output> /p/out.txt")
    made = Made().user("x").answer("", ("Bash", {"command": "cat"}, "y" * 40_000))
    session = Reading(made.write(tmp_path / "s.jsonl")).run().gathered.session()
    assert session.cut_by_client == 1
    assert session.items[-1].estimate < 600


def test_a_damaged_file_gives_what_is_readable(tmp_path: Path) -> None:
    path = coding(3, turns=2).write(tmp_path / "s.jsonl")
    path.write_bytes(b'{"type":"user", broken\n\xff\xfe\n' + path.read_bytes() + b'{"type":"assistant","message":')
    reading = Reading(path).run()
    assert len(reading.gathered.session().requests) == 14
    assert reading.bad_lines
