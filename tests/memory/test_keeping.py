"""Import and forget, through the hooks' own code."""

import os
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.errors import NotFound, Refused
from lcm_lab.hooks import memory_db
from lcm_lab.recall import closed_memory
from tests.hooks import own_session
from tests.memory.conftest import MAIN, OTHER


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A session of our own with a sub-agent beside it."""
    return own_session.write(tmp_path / "project" / "own-session.jsonl", prompt_ids=True)


def test_an_import_makes_the_memory_and_says_what_it_gained(tmp_path: Path, transcript: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    memory = closed_memory(tmp_path / "new")
    report = memory.import_transcripts([transcript], progress=lambda *step: seen.append(step))
    (row,) = report.rows
    assert (row.session_id, row.agents, row.compactions, row.bad_lines, row.problem) == ("own-session", 1, 1, 1, None)
    assert row.turns == len(memory.turns("own-session").rows)
    assert row.raw_tokens == memory.turns().raw_tokens > row.layer_tokens == memory.turns().layer_tokens
    assert memory.stats().rows["details"] == row.new_details
    assert seen[0][1:] == (0, transcript.stat().st_size)
    assert seen[-1][1] == seen[-1][2] == transcript.stat().st_size
    assert (tmp_path / "new" / memory_db.FILE).stat().st_mode & 0o077 == 0
    assert [one.new_details for one in memory.import_transcripts([transcript]).rows] == [0]


def test_a_dry_run_writes_nothing(tmp_path: Path, transcript: Path) -> None:
    report = closed_memory(tmp_path / "new").import_transcripts([transcript.parent], dry_run=True)
    assert [(one.session_id, one.new_details) for one in report.rows] == [("own-session", 0)]
    assert report.rows[0].calls > 0
    assert not (tmp_path / "new").exists()


def test_a_folder_gives_its_main_transcripts(tmp_path: Path, transcript: Path) -> None:
    (transcript.parent / "agent-x.jsonl").write_text("{}\n")
    (transcript.parent / "empty.jsonl").write_text("")
    report = closed_memory(tmp_path / "new").import_transcripts([transcript.parent])
    assert [one.session_id for one in report.rows] == ["empty", "own-session"]
    assert report.rows[0].problem == "no request of a user in it"


def test_without_paths_all_that_the_client_keeps(
    tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    with pytest.raises(NotFound, match="no transcript below"):
        closed_memory(tmp_path / "new").import_transcripts()
    kept = tmp_path / "config" / "projects" / "-srv-x" / "s1.jsonl"
    kept.parent.mkdir(parents=True)
    kept.write_bytes(transcript.read_bytes())
    assert [one.session_id for one in closed_memory(tmp_path / "new").import_transcripts().rows] == ["s1"]
    with pytest.raises(NotFound, match="no transcript at"):
        closed_memory(tmp_path / "new").import_transcripts([tmp_path / "absent.jsonl"])


def test_masking_follows_the_settings_beside_the_memory(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    w = own_session.Writer(prompt_ids=True)
    w.ask(f"Use the token {secret} for it.")
    w.say("Done.", stop="end_turn")
    file = tmp_path / "s.jsonl"
    file.write_bytes(b"".join(w.lines))
    masked, plain = closed_memory(tmp_path / "masked"), closed_memory(tmp_path / "plain")
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "config.json").write_text('{"redact": false}')
    before = dict(os.environ)
    for one in (masked, plain):
        one.import_transcripts([file])
    assert dict(os.environ) == before
    assert secret not in masked.turn(1).details[0].input
    assert secret in plain.turn(1).details[0].input


def test_forgetting_takes_one_session_out(own_folder: Path) -> None:
    memory = lcm_lab.open_memory(own_folder)
    gone = memory.forget(OTHER[:5])
    assert (gone.session_id, gone.details) == (OTHER, 9)
    assert [one.session_id for one in memory.sessions().rows] == [MAIN]
    assert memory.search("開館").rows == ()
    data = b"".join(one.read_bytes() for one in own_folder.iterdir() if one.is_file())
    assert "開館".encode() not in data
    with pytest.raises(NotFound):
        memory.forget(OTHER)
    with pytest.raises(NotFound):
        memory.forget(" ")


def test_the_demo_is_only_looked_at(monkeypatch: pytest.MonkeyPatch, demo_folder: Path) -> None:
    monkeypatch.setattr("lcm_lab.places.demo_memory", lambda: demo_folder / memory_db.FILE)
    demo = lcm_lab.open_memory(demo=True)
    with pytest.raises(Refused):
        demo.forget(MAIN)
    with pytest.raises(Refused):
        demo.import_transcripts()


def test_a_file_of_another_name_is_not_written_to(own_folder: Path, transcript: Path) -> None:
    other = own_folder / "copy.db"
    (own_folder / memory_db.FILE).rename(other)
    with pytest.raises(Refused, match="Name its folder"):
        lcm_lab.open_memory(other).import_transcripts([transcript])
