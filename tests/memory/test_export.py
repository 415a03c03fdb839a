"""An export is whole, for its owner only, and replaces nothing but an earlier one."""

import csv
import json
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import Refused
from tests.memory.conftest import MAIN


def test_both_forms_hold_every_row(memory: lcm_lab.Memory, tmp_path: Path) -> None:
    report = memory.export(tmp_path / "out")
    for name, table, rows, size in report.files:
        path = report.folder / name
        assert path.stat().st_size == size
        assert path.stat().st_mode & 0o077 == 0
        text = path.read_text("utf-8")
        found = json.loads(text) if name.endswith("json") else list(csv.DictReader(text.splitlines()))
        assert len(found) == rows == memory.sql(f"SELECT count(*) AS n FROM {table}")["n"][0]
    manifest = json.loads((report.folder / "export.json").read_text("utf-8"))
    assert {one["name"] for one in manifest["files"]} == {one[0] for one in report.files}


def test_one_session_with_texts(memory: lcm_lab.Memory, tmp_path: Path) -> None:
    report = memory.export(tmp_path / "out", MAIN[:8], bodies=True)
    details = json.loads((report.folder / "details.json").read_text("utf-8"))
    assert {one["session_id"] for one in details} == {MAIN}
    assert any("would book 333 of 334" in (one["output"] or "") for one in details)
    assert json.loads((report.folder / "sessions.json").read_text("utf-8"))[0]["session_id"] == MAIN


def test_what_is_not_an_export_stays(memory: lcm_lab.Memory, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    memory.export(folder)
    with pytest.raises(Refused, match="earlier export"):
        memory.export(folder)
    memory.export(folder, overwrite=True)
    (folder / "mine.txt").write_text("mine")
    with pytest.raises(Refused, match=r"mine\.txt"):
        memory.export(folder, overwrite=True)
