"""Exports: what is in the files, whose they are, and what is never touched."""

import csv
import json
import stat
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from lcm_lab import times
from lcm_lab.analysis.export import export
from lcm_lab.analysis.frames import Frames
from lcm_lab.errors import NotFound, Refused, UsageError
from lcm_lab.store.connect import StoreFile

StoreMaker = Callable[..., Path]


@pytest.fixture
def frames(base_store: Path) -> Frames:
    return Frames(StoreFile(base_store), times.zone("UTC"))


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_frame_becomes_a_csv_and_a_parquet_file(frames: Frames, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    report = export(frames, tmp_path / "out", progress=lambda *step: steps.append(step))
    names = {one.name for one in frames.tables()}
    assert {one.table for one in report.files} == names
    assert {one.name for one in report.files} == {f"{name}.{form}" for name in names for form in ("csv", "parquet")}
    assert len(steps) == steps[-1][1] == steps[-1][2] == len(report.files)
    for one in report.files:
        path = tmp_path / "out" / one.name
        assert path.stat().st_size == one.bytes
        if one.name.endswith(".csv"):
            assert len(rows_of(path)) == one.rows
        else:
            assert duckdb.execute(f"SELECT count(*) FROM read_parquet('{path}')").fetchall() == [(one.rows,)]


def test_files_are_for_their_owner_only(frames: Frames, tmp_path: Path) -> None:
    export(frames, tmp_path / "a" / "out")
    assert stat.S_IMODE((tmp_path / "a" / "out").stat().st_mode) == 0o700
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "a" / "out").iterdir()} == {0o600}


def test_rows_stand_in_order_and_times_in_the_zone(frames: Frames, tmp_path: Path) -> None:
    export(frames, tmp_path / "out", zone=times.zone("Asia/Tokyo"), formats=["csv"], bodies=True)
    rows = rows_of(tmp_path / "out" / "messages.csv")
    assert [row["message_id"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert rows[2]["created_at"] == "2026-03-30T23:12:00Z"
    assert rows[2]["created_at_utc"] == "2026-03-30 23:12:00"
    assert rows[2]["created_at_local"] == "2026-03-31 08:12:00"
    assert rows[2]["content"] == "Take 443 then."
    manifest = json.loads((tmp_path / "out" / "export.json").read_text())
    assert (manifest["store"], manifest["zone"], manifest["bodies"]) == ("lcm.db", "Asia/Tokyo", True)
    assert str(tmp_path) not in (tmp_path / "out" / "export.json").read_text()
    assert "Asia/Tokyo" in (tmp_path / "out" / "README.txt").read_text()


def test_two_exports_of_one_store_are_the_same(frames: Frames, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(frames, tmp_path / name, formats=["csv"])
    for path in (tmp_path / "one").glob("*.csv"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


def test_texts_survive_csv(make_store: StoreMaker, tmp_path: Path) -> None:
    text = 'a "quote", a comma,\na line; \u4f60\u597d \U0001f525'
    path = make_store(
        f"UPDATE messages SET content = '{text}' WHERE message_id = 1; UPDATE messages SET content = '' WHERE message_id = 2;"
    )
    export(Frames(StoreFile(path), times.zone("UTC")), tmp_path / "out", bodies=True)
    assert rows_of(tmp_path / "out" / "messages.csv")[0]["content"] == text
    sql = (
        f"SELECT content FROM read_parquet('{tmp_path}/out/messages.parquet') WHERE message_id < 3 ORDER BY message_id"
    )
    assert duckdb.execute(sql).fetchall() == [(text,), ("",)]


def test_one_conversation_takes_only_what_is_its_own(shared_store: Callable[[str], Path], tmp_path: Path) -> None:
    frames = Frames(StoreFile(shared_store("corrupt.db")), times.zone("UTC"))
    report = export(frames, tmp_path / "out", conversation_id=2, formats=["csv"])
    rows = {one.table: one.rows for one in report.files}
    assert (rows["conversations"], rows["messages"], rows["summaries"], rows["message_parts"]) == (1, 48, 18, 72)
    assert (rows["context_items"], rows["context"], rows["coverage"]) == (11, 11, 48)
    assert rows["focus_briefs"] == 2
    assert rows["focus_brief_sources"] == 10
    mine = {row["summary_id"] for row in rows_of(tmp_path / "out" / "summaries.csv")}
    edges = rows_of(tmp_path / "out" / "summary_parents.csv")
    assert edges
    assert all({row["summary_id"], row["parent_summary_id"]} & mine for row in edges)
    assert report.left_out == ("lcm_migration_state",)


def test_anomalies_of_another_conversation_stay_away(make_store: StoreMaker, tmp_path: Path) -> None:
    path = make_store(
        "UPDATE messages SET token_count = 'bad' WHERE message_id = 1; UPDATE conversations SET active = 'bad' WHERE conversation_id = 45;"
    )
    frames = Frames(StoreFile(path), times.zone("UTC"))
    for key, table in ((44, "messages"), (45, "conversations")):
        export(frames, tmp_path / str(key), conversation_id=key, formats=["csv"])
        assert [row["table_name"] for row in rows_of(tmp_path / str(key) / "lcm_anomalies.csv")] == [table]


def test_a_folder_with_other_files_is_refused(frames: Frames, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(Refused, match=r"other files \(mine\.txt\)"):
            export(frames, tmp_path / "out", overwrite=overwrite)
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["mine.txt"]
    with pytest.raises(Refused, match="is a file"):
        export(frames, tmp_path / "out" / "mine.txt")


def test_an_earlier_export_is_replaced_whole_and_only_when_asked(frames: Frames, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    export(frames, out)
    with pytest.raises(Refused, match="earlier export"):
        export(frames, out)
    export(frames, out, formats=["csv"], overwrite=True)
    assert not list(out.glob("*.parquet"))
    (out / "notes.txt").write_text("mine")
    with pytest.raises(Refused, match=r"notes\.txt"):
        export(frames, out, overwrite=True)


def test_a_manifest_cannot_name_files_elsewhere(frames: Frames, tmp_path: Path) -> None:
    out, precious = tmp_path / "out", tmp_path / "precious.txt"
    precious.write_text("mine")
    export(frames, out, formats=["csv"])
    manifest = json.loads((out / "export.json").read_text())
    manifest["files"].append({"name": "../precious.txt"})
    (out / "export.json").write_text(json.dumps(manifest))
    export(frames, out, formats=["csv"], overwrite=True)
    assert precious.read_text() == "mine"


def test_unknown_words_are_refused(frames: Frames, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="csv and parquet"):
        export(frames, tmp_path / "out", formats=["xlsx"])
    with pytest.raises(NotFound, match="no conversation 7"):
        export(frames, tmp_path / "out", conversation_id=7)
    assert not list((tmp_path / "out").iterdir())
