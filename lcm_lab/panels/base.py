"""What every panel is: widgets, a line that speaks, work that never freezes it, and a picture that outlives the kernel.

Panels hold no logic: they take results and plans from the Lab and call the same ``apply`` as everybody. Invariants:

- an action runs once, however often its button is clicked, and its buttons work again afterwards; a click that comes
  when its button has become disabled does nothing, so it does not wipe away what the click before it said;
- an error is said in the panel, never lost in a callback;
- work that takes long (a language model) runs in a thread that touches neither store nor widgets; what it found is
  delivered on the thread that started it: by the kernel's event loop, or by :meth:`Panel.settle` where there is none;
- a saved notebook shows tables and a drawing of what the panel held when it was displayed or :meth:`Panel.snapshot` was
  called, without a kernel.

Checked by ``tests/panels/test_base.py``.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final, TypeVar

import ipywidgets as w

from lcm_lab.errors import LcmLabError
from lcm_lab.views import blocks, notebook
from lcm_lab.views.escaping import literal
from lcm_lab.views.table import Table

__all__ = ["Panel", "literal"]

T = TypeVar("T")

DOUBLE_CLICK: Final = 0.5
"""Seconds within which a second click counts as the other half of a double click, where that matters."""

_SAID: Final = 2_000
"""Characters of a message or of a cell in the picture that stays; a provider's error may be a page of HTML."""

_TONES: Final = {"info": "#57606a", "good": "#1a7f37", "warning": "#9a6700", "error": "#cf222e"}


class Panel:
    """A part of the workbench. ``widget`` is what is displayed; a subclass fills ``body`` and says :meth:`tables`."""

    title = ""

    def __init__(self) -> None:
        self.message = w.HTML()
        self.message.add_class("lcm-message")
        self.body = w.VBox()
        self.widget = w.VBox([self.message, self.body])
        self.busy = False
        self.double_click = DOUBLE_CLICK
        self._buttons: list[w.Button] = []
        self._parked: dict[w.Button, bool] = {}
        self._deliveries: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._running = 0
        self._handle: Any = None

    def tables(self) -> list[Table]:
        """What the panel shows now, as tables for the picture that stays."""
        return []

    def drawing(self) -> str:
        """A small SVG of what the panel shows now; empty where there is nothing to draw."""
        return ""

    def say(self, text: str, tone: str = "info") -> None:
        """Say something in the panel; an empty text clears what was said."""
        colour = _TONES[tone]
        said = literal(blocks.short(text, _SAID))
        self.message.value = f'<div role="status" class="lcm-tone" style="color:{colour}">{said}</div>' if text else ""

    @property
    def said(self) -> str:
        """What the panel says now, as HTML."""
        return str(self.message.value)

    def button(
        self, label: str, action: Callable[[], None], *, style: str = "", hint: str = "", once: bool = False
    ) -> w.Button:
        """A button whose action is guarded: run once, errors said, usable again afterwards.

        With ``once`` the second half of a double click is ignored: for what would do the same to the next in line.
        """
        made = w.Button(description=label, button_style=style, tooltip=hint or label)
        over = float("-inf")

        def clicked(_button: w.Button) -> None:
            nonlocal over
            if made.disabled or (once and time.monotonic() - over < self.double_click):
                return
            self.act(action)
            over = time.monotonic()

        made.on_click(clicked)
        self._buttons.append(made)
        return made

    def act(self, action: Callable[[], None]) -> None:
        """Run an action of this panel, unless another one is still running."""
        if self.busy:
            return
        self._begin()
        try:
            self.say("")
            self.guard(action)
        finally:
            if not self._running:
                self._end()

    def guard(self, action: Callable[[], None]) -> None:
        """Run something small and quick, such as moving a cursor; an error is said."""
        try:
            action()
        except Exception as error:  # noqa: BLE001  (a callback's error is seen by nobody else)
            self._failed(error)

    def later(
        self,
        work: Callable[[], T],
        done: Callable[[T], None],
        *,
        failed: Callable[[Exception], None] | None = None,
    ) -> None:
        """Run ``work`` in a thread and hand what it gives to ``done``, on the thread that called; busy until then.

        ``work`` must not touch the store or a widget.
        """
        loop = running_loop()
        self._running += 1

        def deliver(action: Callable[[], None]) -> None:
            self._deliveries.put(action)
            if loop is not None:
                loop.call_soon_threadsafe(self._deliver)

        def run() -> None:
            try:
                found = work()
            except Exception as error:  # noqa: BLE001  (it is said in the panel)
                deliver(lambda error=error: self._finish(lambda: (failed or self._failed)(error)))  # type: ignore[misc]
            else:
                deliver(lambda: self._finish(lambda: done(found)))

        threading.Thread(target=run, daemon=True, name="lcm-lab panel").start()

    @property
    def working(self) -> bool:
        """Whether something of this panel is under way, such as a request to a model."""
        return self.busy

    def close(self) -> None:
        """Give up what is under way; called when the panel goes from the page for good."""

    def settle(self, timeout: float = 30.0) -> None:
        """Wait for work in threads and take what it found; for scripts and tests, where no event loop runs.

        Raises:
            TimeoutError: it took longer.
        """
        while self._running:
            try:
                action = self._deliveries.get(timeout=timeout)
            except queue.Empty:
                raise TimeoutError(f"still at work after {timeout:.0f} s") from None
            action()

    def snapshot(self) -> None:
        """Renew the picture that stays in a saved notebook."""
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(self.static()))  # type: ignore[no-untyped-call]

    def static(self) -> str:
        """What the panel shows now as plain HTML: tables and a drawing, readable anywhere."""
        shown = "".join(notebook.html(_cut(one)) for one in self.tables())
        title = literal(self.title or type(self).__name__)
        return (
            f'<details><summary style="color:#737d87">{title}, as it was when this was saved</summary>'
            f"{self.drawing()}{shown}</details>"
        )

    def _ipython_display_(self) -> None:
        from IPython.display import HTML, display

        display(self.widget)  # type: ignore[no-untyped-call]
        self._handle = display(HTML(self.static()), display_id=True)  # type: ignore[no-untyped-call]

    def _begin(self) -> None:
        self.busy = True
        self._parked = {one: bool(one.disabled) for one in self._buttons}
        for one in self._buttons:
            one.disabled = one not in self.always()

    def _end(self) -> None:
        self.busy = False
        for one, disabled in self._parked.items():
            one.disabled = disabled
        self._parked = {}
        self.refresh()

    def always(self) -> Iterable[w.Button]:
        """Buttons that stay usable while the panel is at work, such as one that cancels."""
        return ()

    def refresh(self) -> None:
        """Called when an action is over: enable what makes sense now."""

    def _failed(self, error: Exception) -> None:
        known = isinstance(error, LcmLabError)
        self.say(str(error) if known else f"Unexpected: {type(error).__name__}: {error}", "error")

    def _finish(self, action: Callable[[], None]) -> None:
        self._running -= 1
        try:
            action()
        except Exception as error:  # noqa: BLE001  (as in act)
            self._failed(error)
        finally:
            if not self._running:
                self._end()

    def _deliver(self) -> None:
        while True:
            try:
                action = self._deliveries.get_nowait()
            except queue.Empty:
                return
            action()


def _cut(table: Table) -> Table:
    rows = tuple(tuple(blocks.short(cell, _SAID) for cell in row) for row in table.rows)
    return replace(table, rows=rows)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of the kernel; None outside of one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
