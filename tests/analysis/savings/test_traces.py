"""Numbers out, the same sessions in; and no text of anybody in what is committed."""

import re
from pathlib import Path

import pytest

from lcm_lab import bench
from lcm_lab.analysis.savings import reading, traces
from lcm_lab.errors import NotFound
from tests.analysis.savings.made_up import coding


def test_what_is_written_reads_back_as_the_same_sessions(tmp_path: Path) -> None:
    made = coding(2, turns=4, calls=6, size=5_000).compaction("What was.", after=22_000).user("on").answer("yes")
    path = made.write(tmp_path / "one.jsonl")
    sessions = reading.read_all([path, coding(3).write(tmp_path / "two.jsonl")])
    traces.write(sessions, tmp_path / "traces")
    assert traces.read(tmp_path / "traces") == sessions


def test_a_report_writes_the_states_of_its_references(tmp_path: Path) -> None:
    found = bench.savings(coding(2, turns=6, calls=6, size=6_000).write(tmp_path / "one.jsonl"))
    bench.write_traces(found, tmp_path / "traces")
    rows = (tmp_path / "traces" / "references.csv").read_text("utf-8").splitlines()
    assert "under_plain" in rows[0]
    assert len(rows) - 1 == found.sessions[0].references > 0
    assert all(re.search(r",c(,[clx])+$", row) for row in rows[1:])
    again = bench.savings(tmp_path / "traces")
    assert again.lines == found.lines


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"sessions\.csv"):
        traces.read(tmp_path)


def test_the_committed_traces_hold_numbers_and_no_text() -> None:
    known = {"claude-opus-4-5-20251101", "claude-opus-4-6", "claude-haiku-4-5-20251001"}
    names = {one.split(",")[0] for one in (traces.SHIPPED / "sessions.csv").read_text("utf-8").splitlines()}
    for path in sorted(traces.SHIPPED.glob("*.csv")):
        for row in path.read_text("utf-8").splitlines()[1:]:
            for cell in row.split(","):
                plain = re.fullmatch(
                    r"-?[\d.: ]*|[clx]|user|assistant|thinking|tool (?:in|out)put|meta|image|summary", cell
                )
                assert plain or cell in known | names | {"path", "quoted", "identifier", "number", "name"}, (
                    path.name,
                    cell,
                )
    assert sum(path.stat().st_size for path in traces.SHIPPED.glob("*.csv")) < 500_000
