"""The strip: order and widths are those of the context, and what is dropped, covered or odd is marked."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.analysis.context import Context, Item
from lcm_lab.analysis.draw import palette
from lcm_lab.analysis.draw.context_strip import context_strip
from lcm_lab.analysis.draw.slots import lay, place, ticks

HOSTILE = r"</script><img src=x onerror=alert(1)> $\alpha$" + "x" * 200_000


def item(ordinal: int, kind: str, size: int, *, wrapper: int = 0, dropped: str | None = None, **more: object) -> Item:
    """A context item."""
    summary = f"sum_{ordinal:016x}" if kind == "leaf" or kind[:1] == "d" else None
    return Item(
        ordinal=ordinal,
        kind=kind,
        item_id=summary or f"#{ordinal}",
        message_id=None if summary else ordinal,
        summary_id=summary,
        depth=None,
        tokens=size,
        rule="stored",
        wrapper_tokens=wrapper,
        dropped=dropped,
        created_at=None,
        **{"preview": "text", **more},  # type: ignore[arg-type]
    )


def context(*items: Item, window: int | None = None) -> Context:
    """A context of these items."""
    return Context(7, items, 64, window, 0.75, "UTC", None)


def bars(figure: object) -> dict[str, list[tuple[float, float]]]:
    """Start and width of each bar, by name."""
    found = figure.plotly.data  # type: ignore[attr-defined]
    return {one.name: list(zip(one.base, one.x, strict=True)) for one in found if one.type == "bar"}


def test_items_stand_in_order_as_wide_as_their_tokens() -> None:
    figure = context_strip(context(item(0, "d1", 500, wrapper=100), item(1, "user", 300), item(2, "user", 100)))
    assert bars(figure) == {"d1": [(0, 500)], "user": [(600, 300), (900, 100)], "XML wrapper": [(500, 100)]}
    colours = {one.name: one.marker.color for one in figure.plotly.data if one.type == "bar"}
    assert colours["user"] == palette.USER
    assert colours["d1"] == palette.DEPTHS[1]
    assert "1,000 tokens" in figure.words.title
    assert figure.plotly.layout.xaxis.title.text == (
        "tokens (stored count, else plugin estimate), wrappers included, in assembly order"
    )


def test_a_tiny_item_among_large_ones_can_be_seen_and_the_ticks_stay_exact() -> None:
    items = [item(0, "tool", 100_000), item(1, "user", 1), item(2, "tool", 100_000)]
    slots = lay(items, limit=100)
    assert slots[1].end - slots[1].start == pytest.approx(800, rel=0.01)
    assert place(slots, 100_001) == pytest.approx(slots[2].start)
    assert place(slots, 200_001) == pytest.approx(slots[2].end)
    assert place(slots, 300_001) == pytest.approx(slots[2].end + 100_000)


def test_dropped_and_odd_items_are_marked_and_cost_nothing() -> None:
    figure = context_strip(
        context(
            item(0, "leaf", 50),
            item(1, "missing", 0, dropped="missing row"),
            item(2, "user", 50, dropped="over the window"),
            item(3, "user", 50, anomalies=("gap: 3 follows 1",)),
            item(4, "tool", 50, covered_by=("sum_x",)),
        )
    )
    marks = {one.name: len(one.x) for one in figure.plotly.data if one.type == "scatter" and one.hovertext}
    assert marks == {"dropped": 2, "anomaly": 1, "already covered": 1}
    hovers = [text for one in figure.plotly.data if one.hovertext for text in one.hovertext]
    assert any("dropped: over the window" in text for text in hovers)
    assert any("covered by sum_x" in text for text in hovers)
    assert figure.words.detail.startswith("3 items sent, 0 tokens of them XML wrapper; 2 dropped; 1 anomaly")


def test_the_lines_of_the_budget_and_the_bracket_of_the_tail() -> None:
    tail = context(item(0, "leaf", 500), item(1, "user", 500, in_tail=True), window=4000)
    said = [one.text for one in context_strip(tail).plotly.layout.annotations]
    assert said[1:] == ["compaction line 3,000", "window 4,000", "fresh tail: 1 item, 500 tokens"]
    lines = [(one.x0, one.x1) for one in context_strip(tail).plotly.layout.shapes]
    assert lines[:2] == [(3000, 3000), (4000, 4000)]
    assert lines[2] == (500, 1000)
    assert "25 % of 4,000 tokens" in context_strip(tail).words.detail


def test_five_hundred_items_and_thousands() -> None:
    items = [item(i, ("user", "assistant", "tool")[i % 3], 1 + 997 * i % 4000, in_tail=i > 440) for i in range(500)]
    figure = context_strip(context(*items, window=200_000))
    assert sum(len(found) for found in bars(figure).values()) == 500
    assert len(figure.png()) < 150_000
    many = context_strip(context(*(item(i, "user", 10, preview=HOSTILE) for i in range(9000))))
    assert "showing 2,250 stretches for 9,000 items" in many.words.title
    assert sum(width for _, width in bars(many)["user"]) == 90_000
    assert len(json.dumps(many.to_json())) < 2_000_000


def test_stored_text_is_literal() -> None:
    figure = context_strip(context(item(0, HOSTILE[:40], 5, preview=HOSTILE, anomalies=(HOSTILE,))))
    text = figure.plotly.data[0].hovertext[0]
    assert "<img" not in text
    assert "$" not in text
    assert len(text) < 3000
    assert figure.png()


def test_an_empty_context_and_one_without_tokens() -> None:
    assert str(context_strip(context()).words) == "Context of conversation 7: nothing in context"
    empty = context_strip(context(item(0, "user", 0), item(1, "missing", 0, dropped="missing row"), window=10))
    assert len(bars(empty)) == 2
    assert empty.png()


@given(
    sizes=st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 200), st.booleans()), min_size=1, max_size=60),
    limit=st.integers(1, 80),
)
def test_places_grow_with_tokens(sizes: list[tuple[int, int, bool]], limit: int) -> None:
    items = [
        item(i, "user", size, wrapper=wrapper, dropped="x" if dropped else None)
        for i, (size, wrapper, dropped) in enumerate(sizes)
    ]
    slots = lay(items, limit=limit)
    assert [one for slot in slots for one in slot.items] == items
    assert all(slot.start <= slot.wrapper <= slot.end > slot.start for slot in slots)
    assert all(left.end == right.start for left, right in pairwise(slots))
    total = sum(slot.tokens for slot in slots)
    places = [place(slots, at) for at in range(0, total + 50, max(1, total // 20))]
    assert places == sorted(places)
    assert slots[-1].before + slots[-1].tokens == total
    marks = ticks(slots, slots[-1].end)
    assert marks == sorted(set(marks))
    assert 1 <= len(marks) <= 17
