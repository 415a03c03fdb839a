"""The context panel shows each item once, in order, with the numbers of every other view; the budget panel the classes."""

import pytest

from lcm_lab.lab import Lab
from lcm_lab.panels.budget import BudgetPanel
from lcm_lab.panels.context import PAGE, ContextPanel
from tests.conftest import StoreMaker
from tests.panels import browsing
from tests.panels.browsing import demo

__all__ = ["demo"]


def labels(panel: ContextPanel) -> list[str]:
    """The rows of the list."""
    return [label.replace("\xa0", " ") for label, _ in panel.items.select.options]


def test_every_item_in_order_and_the_totals_of_the_context(demo: Lab) -> None:
    panel = ContextPanel(demo, 2)
    context = demo.context(2)
    assert len(labels(panel)) == len(context.items)
    assert [int(one.split()[0]) for one in labels(panel)] == [one.ordinal for one in context.items]
    assert f"= {context.total_tokens:,} tokens" in panel.totals.value
    assert f"{context.wrapper_tokens:,} of XML" in panel.totals.value
    assert "No budget set" in panel.totals.value


@pytest.mark.parametrize(("window", "said"), [(1_000, "314 % of the window"), (1_000_000, "0 % of the window")])
def test_a_window_draws_the_line(demo: Lab, window: int, said: str) -> None:
    """B25."""
    panel = ContextPanel(demo, 2)
    before = len(labels(panel))
    panel.window.value = window
    assert said in panel.totals.value or "% of the window" in panel.totals.value
    assert f"compaction at {int(window * 0.75):,}" in panel.totals.value
    assert len(labels(panel)) == before
    panel.window.value = 0
    assert "No budget set" in panel.totals.value


def test_the_text_is_what_the_model_gets(make_store: StoreMaker) -> None:
    lab = browsing.opened(make_store())
    went: list[str] = []
    panel = ContextPanel(lab, 44, on_summary=went.append)
    shown = panel.detail.html.value
    assert "&lt;summary id=&quot;sum_c1&quot;" in shown
    assert "&lt;summary_ref id=&quot;sum_la&quot; /&gt;" in shown
    panel.open.click()
    assert went == ["sum_c1"]
    panel.items.select.value = "1"
    assert "Roll it out." in panel.detail.html.value
    assert panel.open.disabled
    panel.view.value = "as the model gets it"
    text = "".join(one.value for one in panel.texts.children)
    assert text.index("sum_c1") < text.index("Roll it out.") < text.index("It is out.")
    assert panel.list_view.layout.display == "none"
    assert panel.after.disabled


def test_the_texts_come_in_pages(demo: Lab) -> None:
    panel = ContextPanel(demo, 1)
    panel.view.value = "as the model gets it"
    total = len(demo.context(1).sent)
    assert f"Items 1 to {PAGE} of {total}" in panel.where.value
    panel.after.click()
    assert f"Items {PAGE + 1} to " in panel.where.value
    panel.before.click()
    assert panel.before.disabled


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE context_items SET ordinal = 7 WHERE ordinal = 2", "gap: 7 follows 1"),
        ("UPDATE context_items SET message_id = 999 WHERE ordinal = 1", "points to a message that does not exist"),
        ("UPDATE context_items SET ordinal = -1 - ordinal WHERE conversation_id = 44", "summary behind a message"),
        ("UPDATE summaries SET conversation_id = 45 WHERE summary_id = 'sum_c1'", "belongs to conversation 45"),
        ("UPDATE messages SET token_count = -5 WHERE message_id = 5", "re-estimated"),
    ],
)
def test_what_is_odd_is_marked(make_store: StoreMaker, damage: str, said: str) -> None:
    """B29, B30."""
    panel = ContextPanel(browsing.opened(make_store(damage)), 44)
    facts = []
    for key in panel.items.keys:
        panel.items.select.value = key
        panel._picked(key)
        facts.append(panel.facts.value)
    assert said in "".join(facts)
    assert any(" ! " in one or " x " in one for one in labels(panel))
    assert panel.said == ""


def test_everything_is_literal(make_store: StoreMaker) -> None:
    """B97."""
    panel = ContextPanel(browsing.opened(make_store(browsing.NASTY_ROWS)), 50)
    assert "<img src=x" not in panel.detail.html.value + panel.facts.value
    assert len(panel.detail.html.value) < 20_000
    panel.view.value = "as the model gets it"
    assert len(panel.static()) < 20_000


def test_an_empty_context_says_so(make_store: StoreMaker) -> None:
    panel = ContextPanel(browsing.opened(make_store()), 45)
    assert "No items" in panel.facts.value
    assert "0 items sent of 0" in panel.totals.value
    panel.view.value = "as the model gets it"
    assert panel.said == ""


def test_the_budget_is_that_of_the_lab(demo: Lab) -> None:
    panel = BudgetPanel(demo, 2)
    assert panel.budget == demo.budget(2)
    assert f"{demo.budget(2).total:,}" in panel.table.value
    panel.window.value = 128_000
    assert demo.budget(2, window=128_000).verdict in panel.table.value
    panel.noise.value = False
    assert panel.budget == demo.budget(2, window=128_000, with_noise=False)
    panel.shape.value = "areas"
    assert panel.live.figure.data[0].type == "treemap"
    assert "data:image/svg+xml" in panel.static()
