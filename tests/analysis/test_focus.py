"""Focus briefs: sources, what came later, and whether the context they were made from is still there."""

import hashlib
from pathlib import Path

import pytest

from lcm_lab.analysis import focus
from lcm_lab.analysis.health import check_store
from lcm_lab.store.connect import StoreFile
from tests.conftest import StoreMaker

BRIEF = """INSERT INTO focus_briefs(brief_id, conversation_id, prompt, content, status, token_count, target_tokens,
             covered_message_seq, covered_latest_at, source_context_hash, raw_result_json, created_at)
           VALUES ('focus_1', 44, 'ports', 'text', 'active', 5, 100, 3, '2026-03-30T23:12:30Z', '{hash}', '{raw}', '2026-03-30 23:30:00')"""
SOURCES = "INSERT INTO focus_brief_sources(brief_id, summary_id, ordinal, role) VALUES ('focus_1', 'sum_c1', 0, 'cited'), ('focus_1', 'sum_gone', 1, 'active_input')"
DATED = "UPDATE summaries SET latest_at = '2026-03-30T23:12:30Z'"
PRESENT = hashlib.sha256(b"0\x00sum_c1\x007\x002026-03-30T23:12:30Z\n").hexdigest()


def views(path: Path) -> list[focus.BriefView]:
    """The briefs of conversation 44."""
    return StoreFile(path).read(lambda reader: focus.briefs(reader, 44))


def test_delta_sources_and_marks(make_store: StoreMaker) -> None:
    (one,) = views(make_store(BRIEF.format(hash=PRESENT, raw='{"truncated": true}'), SOURCES, DATED))
    assert (one.delta_messages, one.delta_tokens, one.hash_changed, one.truncated, one.stale) == (
        2,
        6,
        False,
        True,
        True,
    )
    assert one.sources == {"active_input": 1, "cited": 1}
    assert one.missing_sources == ("sum_gone",)


def test_a_rewritten_source_makes_a_brief_stale(make_store: StoreMaker) -> None:
    path = make_store(
        BRIEF.format(hash=PRESENT, raw="").replace(", 3, '2026-03-30T23:12:30Z'", ", 5, '2026-04-01T00:00:00Z'"), DATED
    )
    assert [one.stale for one in views(path)] == [False]
    path = make_store(BRIEF.format(hash="0" * 64, raw="not json"))
    assert [(one.hash_changed, one.truncated) for one in views(path)] == [(True, False)]


@pytest.mark.parametrize(
    ("sql", "line"),
    [
        ("", "0\0sum_c1\0007\x002026-03-30T23:12:30Z\n"),
        ("UPDATE summaries SET token_count = ''", "0\0sum_c1\x000\x002026-03-30T23:12:30Z\n"),
        ("UPDATE summaries SET latest_at = NULL", "0\0sum_c1\0007\0\n"),
        ("UPDATE summaries SET conversation_id = 45", "0\0sum_c1\0007\x002026-03-30T23:12:30Z\n"),
    ],
    ids=["sound", "no count", "no time", "of another conversation"],
)
def test_the_check_and_the_view_know_the_same_briefs_as_obsolete(make_store: StoreMaker, sql: str, line: str) -> None:
    for given in (hashlib.sha256(line.encode()).hexdigest(), "0" * 64):
        path = make_store(DATED, sql, BRIEF.format(hash=given, raw=""))
        changed = given == "0" * 64
        assert [one.hash_changed for one in views(path)] == [changed]
        assert bool(check_store(StoreFile(path), 44).of("B2-brief-obsolete")) == changed


def test_summaries_made_later_count(make_store: StoreMaker) -> None:
    (one,) = views(make_store(BRIEF.format(hash="", raw="")))
    assert one.delta_summaries == 3


def test_newest_first(make_store: StoreMaker) -> None:
    older = BRIEF.format(hash="", raw="").replace("focus_1", "focus_0").replace("23:30:00", "22:30:00")
    assert [one.brief.brief_id for one in views(make_store(older, BRIEF.format(hash="", raw="")))] == [
        "focus_1",
        "focus_0",
    ]


@pytest.mark.parametrize("version", ["0.1.0"])
def test_a_store_without_briefs(make_store: StoreMaker, version: str) -> None:
    assert views(make_store(version=version)) == []


def test_the_real_briefs(shared_store: object) -> None:
    """The plugin's own hash of the sources is the one we compute."""
    path = shared_store("small.db")  # type: ignore[operator]
    for conversation_id in (1, 2):
        found = StoreFile(path).read(lambda reader, cid=conversation_id: focus.briefs(reader, cid))
        assert [one.hash_changed for one in found] == [False] * len(found)
