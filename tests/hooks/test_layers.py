"""L1 and L2 in their tables: said twice, no longer said, solved, open again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lcm_lab.hooks import layers, memory_db, memory_read
from lcm_lab.hooks.transcript import Turn

if TYPE_CHECKING:
    import sqlite3

    import pytest


class Made:
    """A judgment as the rules make it."""

    def __init__(self, category: str, content: str, *, resolved: bool = False, command: str | None = None) -> None:
        self.category, self.content, self.resolved, self.command = category, content, resolved, command
        self.confidence, self.source = 0.9, "rule"


class TestLayers:
    """L1 and L2 follow the newest reading of their turn."""

    def store(
        self,
        con: sqlite3.Connection,
        monkeypatch: pytest.MonkeyPatch,
        number: int,
        made: list[Made],
        solved: list[int] | None = None,
    ) -> None:
        """One turn whose rules say this."""
        monkeypatch.setattr(layers.classifier, "classify", lambda _turn: made)
        monkeypatch.setattr(layers.classifier, "resolutions", lambda _issues, _turn: solved or [])
        turn = Turn(number, f"request {number}")
        turn.state, turn.final_text = "complete", f"outcome {number}"
        layers.store(con, "s", turn, mask=lambda text: text)

    def rows(self, con: sqlite3.Connection) -> list[tuple[int, str, int]]:
        """(turn, content, resolved)."""
        return [(row.turn_number, row.content, row.resolved) for row in memory_read.judgments(con, "s")]

    def test_said_twice_is_stored_once(self, con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whatever the case and the spacing; the first turn keeps it."""
        self.store(con, monkeypatch, 1, [Made("DECISION", "Use WebSocket."), Made("DECISION", "use  websocket")])
        self.store(con, monkeypatch, 2, [Made("DECISION", "USE WEBSOCKET")])
        assert self.rows(con) == [(1, "Use WebSocket.", 0)]

    def test_what_is_no_longer_said_goes(self, con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        """A turn that is read again as it grew keeps only what its newest reading says."""
        self.store(con, monkeypatch, 1, [Made("ISSUE", "a"), Made("ISSUE", "b")])
        self.store(con, monkeypatch, 1, [Made("ISSUE", "b"), Made("ISSUE", "c")])
        assert [content for _, content, _ in self.rows(con)] == ["b", "c"]
        assert con.execute("SELECT count(*) FROM skeletons").fetchone() == (1,)

    def test_issues_are_solved_and_come_back(self, con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        """Solved by a later turn; said again after that, open again; solved by the user, it stays when read again."""
        self.store(con, monkeypatch, 1, [Made("ISSUE", "tests fail", command="pytest")])
        issue = memory_read.open_issues(con, "s")[0]
        self.store(con, monkeypatch, 2, [], solved=[issue.id, 999])
        assert self.rows(con) == [(1, "tests fail", 1)]
        self.store(con, monkeypatch, 1, [Made("ISSUE", "tests fail", command="pytest")])
        assert self.rows(con) == [(1, "tests fail", 1)]
        self.store(con, monkeypatch, 3, [Made("ISSUE", "tests fail")])
        assert self.rows(con) == [(1, "tests fail", 0)]
        assert layers.resolve(con, "s", issue.id)
        assert not layers.resolve(con, "s", issue.id)
        self.store(con, monkeypatch, 3, [])
        assert self.rows(con) == [(1, "tests fail", 1)]

    def test_a_fault_in_a_rule_costs_one_line(self, con: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        """The turn is stored, the log says what happened."""
        monkeypatch.setattr(layers.classifier, "classify", lambda _turn: 1 / 0)
        monkeypatch.setattr(layers.skeleton, "line", lambda _turn: 1 / 0)
        turn = Turn(1, "request")
        turn.state = "complete"
        layers.store(con, "s", turn, mask=lambda text: text)
        assert con.execute("SELECT summary FROM skeletons").fetchone() == ("request → complete",)
        assert "ZeroDivisionError" in Path(memory_db.path()).with_name("hooks.log").read_text()
