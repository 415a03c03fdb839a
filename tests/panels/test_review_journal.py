"""The journal through its widgets: what was applied, what an undo takes back, how to restore."""

from pathlib import Path

import pytest

from lcm_lab import lab as labs
from lcm_lab.panels import journal_panel
from lcm_lab.panels.journal_panel import JournalPanel
from lcm_lab.summarizer.seam import Scripted
from tests.command import GOOD, change, dump, rows


def test_an_empty_journal_says_so(base_store: Path) -> None:
    one = JournalPanel(labs.open(base_store))
    assert "Nothing was ever applied" in one.shown.value
    assert "no backup beside this store" in one.backups.value
    assert one.undo_one.disabled
    assert one.undo_batch.disabled
    one.undo_one.click()
    one.undo_batch.click()
    assert one.said == ""


def test_one_repair_or_its_batch_is_undone(base_store: Path) -> None:
    lab = labs.open(base_store, tz="UTC")
    before = dump(base_store)
    lab.rewrite(44, everything=True).apply(Scripted(lambda _request: GOOD))
    after = dump(base_store)
    told: list[int] = []
    one = JournalPanel(lab, on_change=lambda: told.append(1))
    assert len(one.entries.options) == 3
    assert "sum_c1" in one.entries.options[0][0], "the newest first"
    assert "1 repair" in one.shown.value
    assert "lcm-lab restore --db" in one.backups.value
    one.undo_one.click()
    assert "Taken back" in one.said
    assert rows(base_store, "SELECT content FROM summaries WHERE summary_id = 'sum_c1'") == [
        ("Port 443; 8080 is blocked.",)
    ]
    assert dump(base_store) != after
    assert told == [1]
    newest = one.entries.options[0][1]
    one.entries.value = newest
    assert one.undo_one.disabled, "an undo is no repair"
    assert "is itself an undo" in one.shown.value
    one.entries.value = one.entries.options[-1][1]
    one.undo_batch.click()
    assert dump(base_store) == before
    assert one.undo_batch.disabled
    assert "undone by" in one.static()


def test_an_undo_that_is_not_possible_any_more_is_said(base_store: Path) -> None:
    lab = labs.open(base_store)
    lab.rewrite(44, "sum_la").apply(Scripted([GOOD]))
    one = JournalPanel(lab)
    change(base_store, "UPDATE summaries SET content = 'other' WHERE summary_id = 'sum_la'")
    one.undo_one.click()
    assert "cannot be undone" in one.said
    assert not one.undo_one.disabled
    assert rows(base_store, "SELECT content FROM summaries WHERE summary_id = 'sum_la'") == [("other",)]


def test_what_others_apply_shows_after_a_reload(base_store: Path) -> None:
    lab = labs.open(base_store)
    one = JournalPanel(lab)
    lab.rewrite(44, "sum_la").apply(Scripted([GOOD]))
    one.reload.click()
    assert one.chosen is not None
    assert one.chosen.subject == "sum_la"
    assert "1 backup" in one.backups.value


def test_a_long_journal_shows_its_end(base_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_panel, "SHOWN", 2)
    lab = labs.open(base_store)
    lab.rewrite(44, everything=True).apply(Scripted(lambda _request: GOOD))
    one = JournalPanel(lab)
    assert len(one.entries.options) == 2
    assert "The newest 2 of 3 entries" in one.said
