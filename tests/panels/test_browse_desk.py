"""What was read is kept for as long as the store is what it was read from."""

import pytest

from lcm_lab.panels import desk as desks
from lcm_lab.panels.desk import Desk
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.test_browse_dag import change


def test_a_look_is_kept_until_the_store_changes(make_store: StoreMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_store()
    desk = Desk(browsing.opened(path))
    first = desk.dag(44)
    assert desk.dag(44) is first
    assert desk.known_report(44) is None
    found = desk.findings(first)
    assert found is not None
    assert desk.known_report(44) is found
    change(path, "UPDATE summaries SET content = 'x', token_count = 0 WHERE summary_id = 'sum_la'")
    assert desk.known_report(44) is None
    assert desk.dag(44) is not first
    monkeypatch.setattr(desks, "QUICK", 3)
    assert desk.findings(first) is None
    assert desk.report(44) is desk.findings(first)


def test_few_looks_are_kept(make_store: StoreMaker) -> None:
    desk = Desk(browsing.opened(make_store()))
    for _ in range(3):
        for conversation in (44, 45):
            desk.dag(conversation)
            desk.report(conversation)
    assert len(desk._looks) == 4
