"""A rehearsal is a copy of the store that repairs may be tried on; the store itself stays as it is."""

import os
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import Refused
from lcm_lab.store import copies
from tests.conftest import StoreMaker


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_rehearsal_reads_as_the_store_and_leaves_it_alone(make_store: StoreMaker, mode: str) -> None:
    path = make_store(journal_mode=mode)
    before = path.read_bytes()
    lab = lcm_lab.open(path, tz="UTC")
    copy = lab.rehearsal()
    assert copy.store.path.parent != path.parent
    assert stat.S_IMODE(copy.store.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(copy.state_dir.stat().st_mode) == 0o700
    assert copy.zone == lab.zone
    assert copy.agents().agents == ()
    assert copy.dag(44).nodes.keys() == lab.dag(44).nodes.keys()
    copy.dissolve(44, "sum_c1").apply()
    assert "sum_c1" not in copy.dag(44).nodes
    assert path.read_bytes() == before
    assert [one.name for one in path.parent.iterdir()] == ["lcm.db"]


def test_a_rehearsal_has_what_is_only_in_the_log_yet(base_store: Path) -> None:
    with closing(sqlite3.connect(base_store, isolation_level=None)) as agent:
        agent.execute("UPDATE summaries SET content = 'Only in the log.' WHERE summary_id = 'sum_la'")
        copy = lcm_lab.open(base_store).rehearsal()
        assert copy.summary("sum_la").content == "Only in the log."


def test_a_rehearsal_without_room_is_refused(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab = lcm_lab.open(base_store)
    usage = copies.shutil.disk_usage(base_store.parent)
    monkeypatch.setattr(copies.shutil, "disk_usage", lambda _: usage._replace(free=1000))
    with pytest.raises(Refused, match="1,000 free"):
        lab.rehearsal()


def test_a_rehearsal_is_gone_when_python_ends(base_store: Path, tmp_path: Path) -> None:
    code = (
        f"import lcm_lab; copy = lcm_lab.open({str(base_store)!r}).rehearsal(); copy.backup(); print(copy.store.path)"
    )
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    folder = Path(done.stdout.strip()).parent
    assert folder.parent == tmp_path
    assert not folder.exists()
