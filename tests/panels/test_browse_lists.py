"""A list shows part of its rows, says so, filters on Enter, and calls nobody unless somebody picks."""

from lcm_lab.panels.lists import SHOWN, Listing, Row, close, columns


def listing(count: int) -> tuple[Listing, list[str]]:
    """A list of so many rows, and what was picked in it."""
    picked: list[str] = []
    found = Listing("things", picked.append)
    found.fill([Row(str(i), f"thing {i}") for i in range(count)])
    return found, picked


def test_the_page_holds_a_bounded_number_of_rows_and_says_of_how_many() -> None:
    found, picked = listing(10_000)
    assert len(found.select.options) == SHOWN
    assert f"Showing {SHOWN:,} of 10,000" in found.status.value
    assert found.earlier.layout.display == "none"
    found.later.click()
    assert found.select.options[0][1] == str(SHOWN)
    assert f"from number {SHOWN + 1:,}" in found.status.value
    found.earlier.click()
    assert found.select.options[0][1] == "0"
    assert picked == []


def test_only_somebody_who_picks_is_told() -> None:
    found, picked = listing(1000)
    assert found.picked is None
    assert found.pick("700")
    assert found.picked == "700"
    assert picked == []
    found.select.value = "701"
    assert picked == ["701"]
    assert not found.pick("none such")
    assert found.picked is None


def test_the_filter_waits_for_enter_and_looks_at_all_rows() -> None:
    """B103."""
    found, _ = listing(1000)
    assert found.filter.continuous_update is False
    found.filter.value = " THING 99 "
    assert found.keys == ["99", *(str(i) for i in range(990, 1000))]
    found.fill([Row("a", "apart")], pool=lambda: [Row("b", "thing 99 of the pool")])
    assert found.keys == ["b"]
    found.filter.value = ""
    assert found.keys == ["a"]


def test_the_selected_row_stays_selected_when_the_rows_are_set_again() -> None:
    found, picked = listing(400)
    found.pick("350")
    found.fill([Row(str(i), f"thing {i}") for i in range(200, 400)])
    assert found.picked == "350"
    found.fill([Row("1", "thing 1")])
    assert found.picked is None
    assert picked == []


def test_columns_keep_their_places_whatever_is_in_them() -> None:
    assert columns([("a", 3), (5, -3), ("rest", 0)]) == "a      5  rest"
    assert columns([("\u4f60\u597d\u4e16\u754c", 5), ("|", 0)]) == "\u4f60\u597d\u2026  |"
    assert columns([("two\nlines\x1b[31m \u202ex", 0)]).count("\n") == 0
    assert "\x1b" not in columns([("\x1b[31mred", 0)])


def test_closing_takes_all_that_is_inside() -> None:
    found, _ = listing(3)
    close(found.widget)
    assert found.select.comm is None
    assert found.widget.comm is None
