"""The labels of public sessions: whole, in the agreed words, and split so that development and measuring share nothing."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

import labels
import public_labels

if TYPE_CHECKING:
    import pytest

KNOWN = {*labels.CATEGORIES, "NONE"}


def test_each_session_is_named_once_and_development_shares_no_repository() -> None:
    """The split is by repository, so no project's way of talking is on both sides."""
    rows = public_labels.rows_of("sessions")
    assert len({row["session"] for row in rows}) == len(rows)
    assert {row["side"] for row in rows} <= set(public_labels.SIDES)
    developed = {row["repository"] for row in rows if row["side"] == "development"}
    measured = {row["repository"] for row in rows if row["side"] != "development"}
    assert not developed & measured


def test_every_sentence_has_its_labels() -> None:
    """As many as the session says, each reader's word known; two readers wherever something is measured."""
    sides = {row["session"]: row["side"] for row in public_labels.rows_of("sessions")}
    counted = Counter(row["session"] for row in public_labels.rows_of("sentences"))
    for row in public_labels.rows_of("sessions"):
        assert counted[row["session"]] == int(row["sentences"])
    for row in public_labels.rows_of("sentences"):
        found = [row[f"reader{n}"].rstrip("?") for n in public_labels.READERS]
        assert found[0] in KNOWN
        assert found[1] in KNOWN or (found[1] == "" and sides[row["session"]] == "development")
        assert int(row["start"]) >= 0


def test_outcomes_belong_to_turns_of_their_session() -> None:
    """A result or a question has a place, an interruption has none."""
    turns = {row["session"]: int(row["turns"]) for row in public_labels.rows_of("sessions")}
    for row in public_labels.rows_of("outcomes"):
        assert 1 <= int(row["turn"]) <= turns[row["session"]]
        assert (row["kind"] == "interrupted") == (row["block"] == "")
        assert row["kind"] in {"result", "question", "interrupted"}


def test_lines_were_graded_for_turns_of_measured_sessions() -> None:
    """Each turn's line by rules, and where there was one the model's."""
    turns = {r["session"]: int(r["turns"]) for r in public_labels.rows_of("sessions") if r["side"] != "development"}
    rows = public_labels.rows_of("lines")
    assert {(r["session"], r["turn"]) for r in rows} == {(r["session"], r["turn"]) for r in rows if r["by"] == "rules"}
    for row in rows:
        assert 1 <= int(row["turn"]) <= turns[row["session"]]
        assert row["tells"] in {"yes", "part", "no"}


def test_without_the_sessions_nothing_is_measured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The texts are other people's and not part of this project."""
    monkeypatch.setattr(public_labels, "SESSIONS", tmp_path)
    assert public_labels.sessions("held-out") == []


def test_a_sentence_counts_only_where_its_text_was_labelled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A file of that name with another text gives nothing."""
    name = public_labels.rows_of("sessions")[0]["session"]
    monkeypatch.setattr(public_labels, "SESSIONS", tmp_path)
    line = '{"message": {"role": "user", "content": "Something else entirely. And one sentence more."}}\n'
    (tmp_path / f"{name}.jsonl").write_text(line)
    public_labels._blocks.cache_clear()
    assert public_labels.labelled(name) == []
    assert [turn.user_text for turn in public_labels.turns(name)] == ["Something else entirely. And one sentence more."]
    public_labels._blocks.cache_clear()
