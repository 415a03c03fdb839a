"""Findings in a panel: those of the Lab, filtered, each with the way to its place."""

import pytest

from lcm_lab.lab import Lab
from lcm_lab.panels import desk as desks
from lcm_lab.panels.health import HealthPanel
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]


def test_the_findings_are_those_of_the_lab(demo: Lab) -> None:
    panel = HealthPanel(demo, 2)
    assert panel.report == demo.check(2)
    counts = demo.check(2).counts
    assert len(panel.listing.keys) == sum(counts.values())
    panel.severity.value = "warning"
    assert len(panel.listing.keys) == counts["warning"]
    assert ">warning<" in panel.detail.value
    panel.severity.value = "all"
    assert "What to do" in panel.static() or "what to do" in panel.static()


def test_a_finding_leads_to_its_summary_and_its_context_item(demo: Lab) -> None:
    summaries: list[str] = []
    items: list[int] = []
    repaired: list[int] = []
    panel = HealthPanel(
        demo, 2, on_summary=summaries.append, on_item=items.append, on_repair=lambda: repaired.append(2)
    )
    codes = [one.code for one in panel.report.findings] if panel.report else []
    panel.listing.select.value = str(codes.index("C3-dangling-item"))
    panel.listing._on_pick(str(codes.index("C3-dangling-item")))
    panel.places.select.index = 0
    assert items == [55]
    panel.listing.select.value = str(next(i for i, code in enumerate(codes) if code.startswith("K1")))
    panel.places.select.index = 0
    assert summaries == list(panel.chosen.ids[:1]) if panel.chosen else False
    panel.repair.click()
    assert repaired == [2]


def test_a_large_conversation_is_checked_when_asked(demo: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(desks, "QUICK", 10)
    panel = HealthPanel(demo, 2)
    assert panel.report is None
    assert "Check now" in panel.totals.value
    said = []
    panel.message.observe(lambda change: said.append(change["new"]), "value")
    panel.check.click()
    assert panel.report == demo.check(2)
    assert any("Checking" in one for one in said)
    assert panel.said == ""


def test_a_sound_conversation_says_so(make_store: StoreMaker) -> None:
    panel = HealthPanel(browsing.opened(make_store()), 45)
    assert "0 errors" in panel.totals.value
    assert "No findings" in panel.detail.value
    assert panel.repair.disabled


def test_names_in_findings_are_literal(make_store: StoreMaker) -> None:
    """B97."""
    panel = HealthPanel(browsing.opened(make_store(browsing.NASTY_ROWS)), 50, on_summary=lambda _one: None)
    for key in panel.listing.keys:
        panel._show(key)
        assert "<i>x</i>" not in panel.detail.value
    assert "<i>x</i>" not in panel.static()
