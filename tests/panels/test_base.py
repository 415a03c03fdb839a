"""A panel runs an action once, says its errors, waits for threads, and leaves a picture behind."""

import asyncio
import threading

from lcm_lab.errors import Refused
from lcm_lab.panels.base import Panel, literal
from lcm_lab.views.table import Table, make


class Small(Panel):
    """One button that counts, one that fails, one that takes long."""

    title = "Small <panel>"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.found: list[str] = []
        self.where: list[threading.Thread] = []
        self.gate = threading.Event()
        self.add = self.button("Add", self._add)
        self.fail = self.button("Fail", self._fail)
        self.slow = self.button("Slow", self._slow)
        self.body.children = (self.add, self.fail, self.slow)

    def _add(self) -> None:
        self.count += 1
        self.add.click()  # a second click while the first one runs

    def _fail(self) -> None:
        raise Refused("not <b>this</b> for $5")

    def _slow(self) -> None:
        def work() -> str:
            self.gate.wait(5)
            self.where.append(threading.current_thread())
            return "done"

        self.later(work, self._found)

    def _found(self, text: str) -> None:
        self.where.append(threading.current_thread())
        self.found.append(text)

    def tables(self) -> list[Table]:
        """How often it was clicked."""
        return [make("Counts", ["count"], [(self.count,)])]


def test_two_quick_clicks_do_one_thing() -> None:
    panel = Small()
    panel.add.click()
    assert panel.count == 1
    assert not panel.busy
    assert not panel.add.disabled


def test_a_click_on_a_disabled_button_wipes_nothing_away() -> None:
    """A browser sends the second half of a double click before it hears that the button is disabled."""
    panel = Small()
    panel.say("Applied.", "good")
    panel.add.disabled = True
    panel.add.click()
    assert (panel.count, "Applied." in panel.said) == (0, True)


def test_the_second_half_of_a_double_click_is_not_for_the_next_in_line() -> None:
    panel = Small()
    one = panel.button("Next", panel._add, once=True)
    one.click()
    one.click()
    assert panel.count == 1
    panel.double_click = 0
    one.click()
    assert panel.count == 2


def test_an_error_is_said_and_the_buttons_work_again() -> None:
    panel = Small()
    panel.fail.click()
    assert "not &lt;b&gt;this&lt;/b&gt; for &#36;5" in panel.said
    assert not panel.fail.disabled
    panel.add.click()
    assert panel.said == ""


def test_long_work_leaves_the_thread_and_comes_back_to_it() -> None:
    panel = Small()
    panel.slow.click()
    assert panel.busy
    assert panel.add.disabled
    panel.add.click()
    panel.slow.click()
    assert panel.count == 0
    panel.gate.set()
    panel.settle()
    assert panel.found == ["done"]
    assert panel.where[0] is not panel.where[1] is threading.current_thread()
    assert not panel.add.disabled


def test_the_loop_of_a_kernel_delivers_by_itself() -> None:
    async def kernel() -> list[str]:
        panel = Small()
        panel.slow.click()
        panel.gate.set()
        for _ in range(500):
            if panel.found:
                break
            await asyncio.sleep(0.01)
        return panel.found

    assert asyncio.run(kernel()) == ["done"]


def test_a_text_of_any_length_takes_little_room() -> None:
    panel = Small()
    panel.say("x" * 200_000, "error")
    panel.tables = lambda: [make("Long", ["text"], [("y" * 200_000,)])]  # type: ignore[method-assign]
    assert "cut; 200,000 characters in all" in panel.said
    assert "cut; 200,000 characters in all" in panel.static()
    assert len(panel.said) + len(panel.static()) < 6_000


def test_the_picture_needs_no_kernel_and_shows_texts_literally() -> None:
    panel = Small()
    panel.add.click()
    assert "Small &lt;panel&gt;" in panel.static()
    assert "<table" in panel.static()
    assert literal("<i>$x$</i>\u05d0").endswith('">&lt;i&gt;&#36;x&#36;&lt;/i&gt;\u05d0</bdi>')
