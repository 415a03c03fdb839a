"""A review by a person: each step from looking to writing, and what is left when it is given up."""

from dataclasses import replace
from pathlib import Path

import pytest

from lcm_lab import lab as labs
from lcm_lab.errors import Refused, StalePlan
from lcm_lab.lab import Lab
from lcm_lab.repairs import review as reviews
from lcm_lab.repairs.review import Review
from lcm_lab.store import copies
from lcm_lab.summarizer.seam import Draft
from tests.command import GOOD, beside, change, dump, rows
from tests.conftest import StoreMaker
from tests.repairs.wide import wide

REFUSED = "Sure! What would you like me to do?"


def lab(path: Path) -> Lab:
    """A Lab in UTC."""
    return labs.open(path, tz="UTC")


def draft(text: str = GOOD, *, stop: str = "end_turn") -> Draft:
    """A reply."""
    return Draft(text, "m-1", "somebody", stop_reason=stop)


def content(path: Path, key: str) -> str:
    """The text of a summary."""
    return str(rows(path, "SELECT content FROM summaries WHERE summary_id = ?", key)[0][0])


def test_a_review_writes_one_summary_after_the_other(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, everything=True))
    assert (review.number, review.total, review.step and review.step.summary_id) == (1, 3, "sum_la")
    review.propose(draft(GOOD))
    applied = review.apply()
    assert content(base_store, "sum_la") == GOOD
    assert review.request is not None
    assert GOOD in review.request.prompt, "the next one reads what was accepted"
    review.skip()
    review.propose(draft("Port 443, not 8080.\nExpand for details about: ports"))
    review.apply()
    assert review.step is None
    assert review.decided == 3
    result = review.result()
    assert [one.status for one in result.items] == ["applied", "skipped", "applied"]
    assert result.items[0].journal_id == applied.journal_id
    assert result.items[1].reason == "left as it is"
    assert result.stale == ()
    assert len(copies.backups(lab(base_store).store)) == 1


def test_stale_derived_nodes_are_named(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_la"))
    review.propose(draft())
    review.apply()
    assert review.result().stale == ("sum_c1",)


def test_giving_up_leaves_the_store_alone(base_store: Path) -> None:
    before = dump(base_store)
    review = Review(lab(base_store).rewrite(44, everything=True))
    review.propose(draft())
    review.stop()
    assert review.step is None
    assert review.result().stopped == "it was given up"
    assert {one.status for one in review.result().items} == {"skipped"}
    assert (dump(base_store), beside(base_store)) == (before, [])


def test_a_refused_reply_is_not_written_and_an_edited_one_is(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_la"))
    assert review.propose(draft(REFUSED)).plan is None
    with pytest.raises(Refused, match="The reply was refused"):
        review.apply()
    assert review.edit(REFUSED).plan is None
    assert review.edit(GOOD).verdict.level == "good"
    review.apply()
    assert rows(base_store, "SELECT content, model FROM summaries WHERE summary_id = 'sum_la'") == [(GOOD, "m-1")]


def test_a_reply_that_was_cut_off_counts_as_whole_once_a_person_ended_it(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_la"))
    assert review.propose(draft(GOOD, stop="max_tokens")).plan is None
    assert review.edit(f" {GOOD}\n").plan is None, "nothing was changed"
    proposal = review.edit(f"8080 is blocked. {GOOD}")
    assert proposal.verdict.level == "good"
    assert proposal.draft.provider == "somebody, edited by hand"


def test_without_a_reply_there_is_nothing_to_edit_or_apply(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_la"))
    with pytest.raises(Refused, match="no reply to edit"):
        review.edit("x")
    with pytest.raises(Refused, match="no reply to apply"):
        review.apply()
    review.skip()
    with pytest.raises(Refused, match="nothing left to do"):
        review.ready()
    with pytest.raises(Refused, match="no summary"):
        review.propose(draft())
    assert review.again() is None


def test_a_change_by_others_is_refused_and_looked_at_again(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_la"))
    review.propose(draft())
    change(base_store, "UPDATE summaries SET content = 'somebody was here' WHERE summary_id = 'sum_la'")
    with pytest.raises(StalePlan):
        review.apply()
    assert [one.status for one in review.result().items] == ["planned"]
    proposal = review.again()
    assert proposal is not None
    assert proposal.material.old_content == "somebody was here"
    review.apply()
    assert content(base_store, "sum_la") == GOOD


def test_a_summary_that_is_gone(base_store: Path) -> None:
    review = Review(lab(base_store).rewrite(44, "sum_c1"))
    change(base_store, "DELETE FROM summaries WHERE summary_id = 'sum_c1'")
    with pytest.raises(StalePlan, match="not there any more"):
        review.propose(draft())
    assert review.again() is None
    assert "no summary sum_c1" in str(review.problem)
    with pytest.raises(Refused, match="cannot be written anew"):
        review.ready()
    review.stop()
    assert review.result().items[0].status == "failed"


def test_what_cannot_be_done_is_said_and_skipped_as_failed(make_store: StoreMaker) -> None:
    path = make_store("DELETE FROM summary_messages WHERE summary_id = 'sum_lb';")
    review = Review(lab(path).rewrite(44, "sum_lb"))
    assert review.problem == "0 of 0 sources found: no message is linked to it"
    review.skip()
    assert review.result().items[0].status == "failed"


def test_broken_sources_come_first_in_a_repair(make_store: StoreMaker) -> None:
    batch = lab(make_store(wide(2, broken=True))).repair(46)
    review = Review(reviews.chosen(batch, ["w_top"]))
    assert review.total == 1
    assert "still broken: repair them first" in str(review.problem)


def test_undone_repairs_are_not_offered_again(base_store: Path) -> None:
    one = lab(base_store)
    review = Review(one.rewrite(44, everything=True))
    for _ in range(3):
        review.propose(draft())
        review.apply()
    assert len(review.written) == 3
    done = one.undo(review.written[-1])
    review.undone(entry.journal_id for entry in done.undone)
    assert len(review.written) == 2
    assert review.result().items[-1].reason == "applied and undone"


def test_no_room_for_the_backup_is_found_out_before_anything_is_sent(
    base_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_store: object) -> None:
        raise Refused("no room")

    review = Review(lab(base_store).rewrite(44, "sum_la"))
    monkeypatch.setattr(copies, "must_fit", full)
    with pytest.raises(Refused, match="no room"):
        review.ready()


def test_the_cost_follows_the_choice(make_store: StoreMaker) -> None:
    batch = replace(lab(make_store(wide(4, broken=True))).repair(46), model="claude-sonnet-5-5")
    part = reviews.chosen(batch, ["w_002", "w_000"])
    whole = reviews.chosen(batch, [one.summary_id for one in batch.steps])
    assert [one.summary_id for one in part.steps] == ["w_000", "w_002"]
    assert part.cost_usd is not None
    assert whole.cost_usd is not None
    assert 0 < part.cost_usd < whole.cost_usd
    assert reviews.chosen(replace(batch, model="nobody"), ["w_000"]).cost_usd is None
    assert (Review(part).cost_usd("claude-sonnet-5-5") or 0) > 0
    assert Review(part).cost_usd("nobody") is None
