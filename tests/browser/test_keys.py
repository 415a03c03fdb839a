"""The keys reach a panel that has the focus, and nobody else."""

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

PANEL = """
import ipywidgets as w
from lcm_lab.panels import keys
from lcm_lab.panels.base import Panel

class Probe(Panel):
    title = "Probe"
    def __init__(self):
        super().__init__()
        self.log = w.HTML("log:")
        self.clicked = w.HTML("clicks:")
        self.list = w.Select(options=["alpha", "jot", "kappa", "wolf"], description="List")
        self.drop = w.Dropdown(options=["one", "jot"], description="Drop")
        self.text = w.Text(description="Text")
        self.area = w.Textarea(description="Area")
        self.number = w.IntText(description="Number")
        self.tick = w.Checkbox(description="Tick")
        self.go = self.button("Go", self.count)
        self.gone = self.button("Leave", self.leave)
        self.clear = self.button("Clear", self.anew)
        self.long = w.HTML('<div style="height:2000px">long</div>', layout=w.Layout(height="120px", overflow="auto"))
        self.body.children = (self.log, self.clicked, self.list, self.drop, self.text, self.area, self.number,
                              self.tick, self.go, self.clear, self.long, self.gone)
    def count(self):
        self.clicked.value += " go"
    def anew(self):
        self.log.value, self.clicked.value = "log:", "clicks:"
    def leave(self):
        self.body.children = self.body.children[:-1]
    def note(self, name):
        self.log.value += " " + name

probe = Probe()
inner = Probe()
inner.title = "Inner"
inner_keys = {"n": lambda: inner.note("inner"), "r": keys.Scroll(inner.long, 0.5), "c": keys.Scroll(inner.long, 1, "end")}
keys.attach(inner, inner_keys)
probe.body.children += (inner.widget,)
names = [name for name in keys.NAMES]
keys.attach(probe, {name: (lambda name=name: probe.note(name)) for name in names}, hint="all keys")
probe
"""
AFTER = "print('a cell behind')"


@pytest.fixture(scope="module")
def shared(server: Any, open_shared: Callable[..., Any]) -> Any:
    from tests.browser.lab_page import write_notebook

    write_notebook(server.root / "probe.ipynb", [PANEL, AFTER])
    book = open_shared("probe.ipynb")
    book.run_all()
    return book


@pytest.fixture
def book(shared: Any) -> Any:
    """The notebook, its panel with the focus and an empty log."""
    panel(shared).get_by_role("button", name="Clear").first.click()
    logged(shared)
    panel(shared).locator(".widget-html-content", has_text="log:").first.click()
    return shared


def panel(book: Any) -> Any:
    """The outer panel."""
    return book.page.get_by_role("group", name="Probe")


def shown(book: Any, text: str) -> None:
    """Wait until one of the panels shows exactly this line."""
    book.page.locator(".widget-html-content").get_by_text(text, exact=True).first.wait_for(timeout=5000)


def logged(book: Any, *names: str) -> None:
    """The outer panel heard exactly these keys since the log was cleared."""
    log = panel(book).locator(".widget-html-content", has_text="log:").first
    expected = " ".join(["log:", *names])
    for _ in range(50):
        if log.inner_text() == expected:
            return
        book.page.wait_for_timeout(100)
    assert log.inner_text() == expected


def test_every_key_arrives_once_and_in_order(book: Any) -> None:
    assert panel(book).get_attribute("aria-keyshortcuts").startswith("ArrowUp ArrowDown")
    book.press("ArrowUp", "ArrowDown", "PageUp", "PageDown", "Enter", "Space", "Escape", "Backspace")
    book.press("j", "Shift+G", "d", "d")
    logged(book, "Up", "Down", "PgUp", "PgDn", "Enter", "Space", "Esc", "Backspace", "j", "G", "d", "d")


def test_no_key_for_the_panel_is_a_command_of_the_notebook(book: Any) -> None:
    cells = book.cells()
    book.press("x", "x", "m", "z", "b", "a", "Shift+M", "d", "d")
    book.press("Control+j", "Alt+j")
    logged(book, "b", "d", "d")
    assert book.cells() == cells
    assert book.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.type") == "code"


def test_keys_with_ctrl_are_the_notebooks(book: Any) -> None:
    panel(book).locator("select").first.focus()
    book.page.evaluate(
        "() => window.jupyterapp.commands.commandExecuted.connect((_, e) => (window.ran = [...(window.ran ?? []), e.id]))"
    )
    book.press("Control+s", "w")
    logged(book, "w")
    assert "docmanager:save" in book.page.evaluate("() => window.ran")


def test_letters_in_a_list_are_keys_and_search_for_no_entry(book: Any) -> None:
    panel(book).get_by_role("listbox").first.focus()
    book.press("w", "Shift+W", "W")
    logged(book, "w", "W", "w")  # the last one is Caps Lock: no Shift, no capital
    assert panel(book).locator("select").first.input_value() == "alpha"


@pytest.mark.parametrize("label", ["Text", "Area"])
def test_typing_stays_typing_and_esc_leads_out_of_the_field(book: Any, label: str) -> None:
    field = panel(book).get_by_label(label).first
    field.click()
    book.page.keyboard.type("jkW dAy")
    assert field.input_value() == "jkW dAy"
    logged(book)
    book.press("Escape", "k")
    logged(book, "k")


def test_a_number_and_a_closed_list_take_their_own_keys(book: Any) -> None:
    panel(book).get_by_label("Number").first.click()
    book.press("ArrowUp", "Backspace")
    drop = panel(book).locator("select").nth(1)
    drop.focus()
    book.press("j")
    assert drop.input_value() == "jot"
    logged(book)


def test_a_button_takes_enter_and_space_itself(book: Any) -> None:
    go = panel(book).get_by_role("button", name="Go").first
    go.focus()
    book.press("Enter")
    shown(book, "clicks: go")
    # A button that is at work cannot keep the focus; the panel takes it meanwhile.
    go.focus()
    book.press("Space")
    shown(book, "clicks: go go")
    book.press("h")
    logged(book, "h")
    tick = panel(book).get_by_label("Tick").first
    tick.focus()
    book.press("Space", "l")
    logged(book, "h", "l")
    assert tick.is_checked()


def test_a_panel_inside_answers_first(book: Any) -> None:
    book.page.get_by_role("group", name="Inner").get_by_text("log:").click()
    book.press("n", "k")
    logged(book, "k")
    shown(book, "log: inner")
    panel(book).focus()
    book.press("n", "k")
    logged(book, "k", "k")
    shown(book, "log: inner inner")


def test_scrolling_happens_in_the_page(book: Any) -> None:
    part = book.page.get_by_role("group", name="Inner").locator("[class*=lcm-scroll-]")
    part.click()
    book.press("r", "r")
    assert 60 <= part.evaluate("e => e.scrollTop") <= 200
    book.press("c")
    assert part.evaluate("e => e.scrollTop") > 1500
    logged(book)


def test_the_focus_stays_in_the_panel_when_a_button_goes(book: Any) -> None:
    gone = panel(book).get_by_role("button", name="Leave")
    assert gone.count() == 2
    gone.first.click()
    gone.nth(1).wait_for(state="detached")
    book.press("y")
    logged(book, "y")


def test_outside_the_panel_the_notebook_has_its_keys(book: Any) -> None:
    cells = book.cells()
    book.page.locator(".jp-Cell").last.locator(".jp-InputPrompt").click()
    book.press("Escape", "b")
    book.page.wait_for_function(
        "n => window.jupyterapp.shell.currentWidget.content.widgets.length === n", arg=cells + 1
    )
    logged(book)
