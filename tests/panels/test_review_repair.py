"""A review of a repair through its widgets: what is broken, choosing, one by one, alone."""

from pathlib import Path
from typing import Any

from lcm_lab import lab as labs
from lcm_lab.errors import BadReply
from lcm_lab.panels.repair_review import RepairReview
from lcm_lab.summarizer.seam import Request, Scripted
from tests.command import dump, rows
from tests.conftest import StoreMaker
from tests.repairs.wide import wide

FOOTER = "\nExpand for details about: questions"


def reply(request: Request) -> str:
    """A good reply."""
    return f"new {request.summary_id}{FOOTER}"


def panel(path: Path, script: Any = reply, lane: int | None = None) -> RepairReview:
    """A review of the store's repair."""
    return RepairReview(labs.open(path, tz="UTC"), lane, Scripted(script))


def broken(path: Path) -> int:
    """How many summaries are still broken."""
    return int(rows(path, "SELECT count(*) FROM summaries WHERE content LIKE 'old text%'")[0][0])


def test_what_is_broken_is_counted_and_all_is_chosen(make_store: StoreMaker) -> None:
    path = make_store(wide(4, broken=True))
    before = dump(path)
    one = panel(path)
    assert "5 broken summaries in 1 conversation" in one.plan.value
    assert "5 requests" in one.head.value
    assert len(one.items.value) == 5
    assert [label for label, _ in one.where.options] == ["the whole store", "conversation 46"]
    assert (one.where.label, one.lane) == ("the whole store", None)
    one.items.value = ("w_001",)
    assert "1 request," in one.head.value
    one.items.value = ()
    assert one.start.disabled
    assert one.alone.disabled
    one.every.click()
    assert len(one.items.value) == 5
    one.where.value = 46
    assert len(one.items.value) == 5
    assert dump(path) == before


def test_alone_with_one_that_fails(make_store: StoreMaker) -> None:
    path = make_store(wide(4, broken=True))
    before = dump(path)
    failures = iter([BadReply("a bad moment")])
    told: list[int] = []
    script = Scripted(
        lambda request: next(failures, reply(request)) if request.summary_id == "w_002" else reply(request)
    )
    one = RepairReview(labs.open(path), None, script, on_change=lambda: told.append(1))
    one.alone.click()
    one.settle()
    assert one.review is not None
    assert "Paused: a bad moment" in one.review.said
    assert one.start.disabled
    assert one.again.disabled
    assert broken(path) == 3
    one.review.accept_all.click()
    one.settle()
    assert broken(path) == 0
    assert "5 of 5 summaries applied" in one.static()
    assert len(told) >= 5
    assert not one.again.disabled
    one.review.undo_all.click()
    assert dump(path) == before
    one.again.click()
    assert one.place.children == ()
    assert len(one.items.value) == 5


def test_some_of_them_one_by_one(make_store: StoreMaker) -> None:
    path = make_store(wide(4, broken=True))
    one = panel(path, lane=46)
    one.items.value = ("w_003", "w_001")
    one.start.click()
    one.start.click()
    review = one.review
    assert review is not None
    assert [step.summary_id for step in review.review.batch.steps] == ["w_001", "w_003"]
    review.double_click = 0
    review.send.click()
    one.settle()
    review.apply_button.click()
    review.skip.click()
    assert broken(path) == 4
    assert not one.again.disabled
    one.again.click()
    assert len(one.items.value) == 4


def test_a_reply_is_judged_as_repair_does(make_store: StoreMaker) -> None:
    path = make_store(wide(2, broken=True))
    one = panel(path, lambda request: f"no footer for {request.summary_id}")
    one.alone.click()
    one.settle()
    assert one.review is not None
    assert "The closing line" in one.review.said
    assert one.review.apply_button.disabled
    one.close()
    assert one.review.closed
    assert broken(path) == 3


def test_nothing_broken_is_said(base_store: Path) -> None:
    one = panel(base_store)
    assert "No summary in this store is broken" in one.plan.value
    assert "No summary in this store is broken" in one.static()
    assert one.start.disabled
    one.start.click()
    one.alone.click()
    assert one.review is None


def test_no_such_conversation_is_said(base_store: Path) -> None:
    one = panel(base_store, lane=99)
    assert "There is no conversation 99" in one.said
    assert one.start.disabled
    assert not one.again.disabled
