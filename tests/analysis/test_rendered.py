"""The texts of a context as they are sent are those whose tokens are counted."""

from pathlib import Path

import pytest

from lcm_lab import tokens
from lcm_lab.analysis import rendered
from lcm_lab.data import demo_store
from lcm_lab.lab import open as open_lab
from tests.conftest import StoreMaker


@pytest.mark.parametrize("conversation", [1, 2, 3, 4])
def test_the_texts_are_what_is_counted(tmp_path: Path, conversation: int) -> None:
    lab = open_lab(demo_store.build(tmp_path / "openclaw"), tz="Europe/Berlin")
    context = lab.context(conversation)
    found = rendered.render(lab.store, conversation, context.items, lab.zone)
    assert [one.item for one in found] == list(context.items)
    for one in found:
        assert bool(one.text) == (one.item.kind != "missing")
        if one.item.wrapper_tokens:
            assert one.role == "user"
            inside = (
                lab.summary(one.item.item_id).content
                if one.item.summary_id
                else lab.briefs(conversation).rows[0].brief.content
            )
            extra = tokens.plugin_tokens(one.text) - tokens.plugin_tokens(inside)
            assert extra == one.item.wrapper_tokens
        elif one.item.kind != "missing":
            assert one.role == one.item.kind


def test_what_is_gone_since_is_empty(make_store: StoreMaker) -> None:
    lab = open_lab(make_store(), tz="UTC")
    items = lab.context(44).items
    other = open_lab(make_store("DELETE FROM messages", "DELETE FROM summaries"), tz="UTC")
    assert {(one.role, one.text) for one in rendered.render(other.store, 44, items, lab.zone)} == {("", "")}
