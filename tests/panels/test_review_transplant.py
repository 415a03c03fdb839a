"""A review of a transplant through its widgets."""

from pathlib import Path

from lcm_lab import lab as labs
from lcm_lab.panels.transplant_review import TransplantReview
from tests.command import change, dump, rows
from tests.conftest import StoreMaker


def panel(path: Path) -> TransplantReview:
    """A review in UTC."""
    return TransplantReview(labs.open(path, tz="UTC"))


def test_source_and_target_are_chosen_and_the_context_is_shown(base_store: Path) -> None:
    before = dump(base_store)
    one = panel(base_store)
    assert "Choose the conversation" in one.said
    assert one.apply_button.disabled
    assert [value for _, value in one.source.options] == ["", 44], "what has no summaries gives none"
    assert [value for _, value in one.target.options] == ["", 44, 45]
    one.source.value, one.target.value = 44, 44
    assert "source and target at once" in one.said
    one.target.value = 45
    assert one.said == ""
    assert "Copy 3 summaries and 4 messages" in one.shown.value
    assert "Context of conversation 45" in one.shown.value
    assert "data:image/svg+xml" in one.static()
    assert dump(base_store) == before
    one.apply_button.click()
    assert rows(base_store, "SELECT count(*) FROM summaries WHERE conversation_id = 45") == [(3,)]
    assert rows(base_store, "SELECT count(*) FROM context_items WHERE conversation_id = 45") == [(1,)]
    one.undo.click()
    assert dump(base_store) == before


def test_a_second_time_is_refused_and_skip_duplicates_is_a_choice(base_store: Path) -> None:
    one = TransplantReview(labs.open(base_store), 44, 45)
    one.apply_button.click()
    again = TransplantReview(labs.open(base_store), 44, 45)
    assert "would be twice in conversation 45" in again.said
    again.skip_duplicates.value = True
    assert "nothing to do" in again.said
    assert again.apply_button.disabled
    assert not again.skip_duplicates.disabled


def test_the_order_is_a_choice(make_store: StoreMaker) -> None:
    path = make_store(
        """INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
        VALUES ('own', 45, 'condensed', 3, 'Their own.', 3);
        INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (45, 0, 'summary', 'own');"""
    )
    one = TransplantReview(labs.open(path), 44, 45)
    assert one.plan is not None
    assert one.plan.context is not None
    assert [item.label for item in one.plan.context.after] == ["d3", "d1"]
    one.order.value = "source"
    assert [item.label for item in one.plan.context.after] == ["d1", "d3"]


def test_a_plan_gone_stale(make_store: StoreMaker) -> None:
    path = make_store(
        """INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
        VALUES ('own', 45, 'condensed', 3, 'Their own.', 3);
        INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (45, 0, 'summary', 'own');"""
    )
    one = TransplantReview(labs.open(path), 44, 45)
    change(path, "DELETE FROM context_items WHERE summary_id = 'own'")
    before = dump(path)
    one.apply_button.click()
    assert "Nothing was changed" in one.said
    assert dump(path) == before
    assert one.apply_button.disabled
    one.again.click()
    one.apply_button.click()
    assert "Applied" in one.said
    assert rows(path, "SELECT count(*) FROM context_items WHERE conversation_id = 45") == [(1,)]


def test_titles_are_shown_as_they_are(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE conversations SET title = '<b>x</b>' || char(10) || printf('%300s', 'y') WHERE conversation_id = 44;"
    )
    label = panel(path).source.options[1][0]
    assert "<b>x</b>" in label, "an option is text"
    assert "\n" not in label
    assert len(label) < 140
