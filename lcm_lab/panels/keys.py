"""The keys of the terminal tool, in a panel that has the focus.

One small widget of our own, ``keys.js``, listens at the panel around it and sends the name of each key that
the panel has a use for. Invariants:

- what is typed into a field stays there, and so do keys with Ctrl, Alt or Meta;
- a key does what its button does, never more: a button that is disabled is not pressed;
- an error of a key is said in the panel;
- without the anywidget package panels work as ever, without keys.

Checked by ``tests/panels/test_keys.py`` and, in a browser, by ``tests/browser/test_keys.py``.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import ipywidgets as w
import traitlets as t

from lcm_lab.panels.base import Panel

if TYPE_CHECKING:
    from lcm_lab.panels.lists import Listing

try:
    import anywidget
except ImportError:  # panels do without
    anywidget = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Scroll:
    """Scrolls what is shown in ``widget`` by so many lines, pages or (``end``) to its beginning (-1) or end (1)."""

    widget: w.DOMWidget
    by: float
    unit: Literal["line", "page", "end"] = "page"


Action: TypeAlias = "Callable[[], None] | w.Button | Scroll"
"""What a key does: press a button, call something, or scroll, which the browser does by itself."""

NAMES: Final = (
    *("Up", "Down", "Left", "Right", "PgUp", "PgDn", "Enter", "Space", "Esc", "Backspace"),
    *"jkgGhlJKwWdrbcfynA",
)
"""The keys of lcm-tui's manual. An upper-case letter is one with Shift."""

_PAGE: Final = 10
_FAR: Final = 10**9
_ROOT: Final = "lcm-keys"
_STYLE: Final = """
.lcm-keys:focus { outline: 1px solid var(--jp-border-color1, #bdbdbd); outline-offset: 2px; }
.lcm-keys:focus-visible { outline: 2px solid var(--jp-brand-color1, #1976d2); outline-offset: 2px; }
.lcm-keys-hint { color: var(--jp-ui-font-color2, #6e7781); font-size: 12px; line-height: 18px; padding: 2px; }
.lcm-keys-hint:empty { display: none; }
"""


if anywidget is not None:

    class Listener(anywidget.AnyWidget):
        """The browser's half: it listens at the nearest element of class ``lcm-keys`` around it."""

        _esm = (Path(__file__).parent / "keys.js").read_text("utf-8")
        _css = _STYLE
        names = t.List(t.Unicode()).tag(sync=True)
        scrolls = t.Dict().tag(sync=True)
        label = t.Unicode().tag(sync=True)
        hint = t.Unicode().tag(sync=True)


class Keys:
    """Calls ``on_key`` with the name of each key pressed; ``widget`` belongs inside an element of class ``lcm-keys``.

    ``widget`` is None where anywidget is missing.
    """

    def __init__(
        self,
        on_key: Callable[[str], None],
        names: Iterable[str] = NAMES,
        *,
        scrolls: Mapping[str, tuple[str, str, float]] | None = None,
        label: str = "",
        hint: str = "",
    ) -> None:
        self._on_key = on_key
        self.widget: Any = None
        if anywidget is not None:
            self.widget = Listener(names=list(names), scrolls=dict(scrolls or {}), label=label, hint=hint)
            self.widget.on_msg(self._told)

    def press(self, name: str) -> None:
        """What happens when the key is pressed."""
        self._on_key(name)

    def _told(self, widget: Any, content: Any, _buffers: Any) -> None:
        try:
            if isinstance(content, dict) and content.get("key") in widget.names:
                self.press(content["key"])
        finally:
            widget.send({"done": True})


def attach(panel: Panel, mapping: Mapping[str, Action], *, hint: str = "") -> Keys:
    """Give a panel keys: what each name in ``mapping`` does, while the panel has the focus.

    ``hint`` is one line at the panel's end that says so. A panel inside may have keys of its own; those come first.

    Raises:
        ValueError: a name that is no key of the manual's.
    """
    unknown = [name for name in mapping if name not in NAMES]
    if unknown:
        raise ValueError(f"No such key: {', '.join(unknown)}.")

    def on_key(name: str) -> None:
        action = mapping.get(name)
        if action is None or panel.busy or isinstance(action, Scroll):
            return
        if not isinstance(action, w.Button):
            panel.guard(action)
        elif not action.disabled:
            action.click()

    scrolls = {name: _scrolled(one) for name, one in mapping.items() if isinstance(one, Scroll)}
    keys = Keys(on_key, mapping, scrolls=scrolls, label=panel.title or type(panel).__name__, hint=hint)
    if keys.widget is not None:
        panel.widget.add_class(_ROOT)
        panel.widget.children = (*panel.widget.children, keys.widget)
    return keys


def moving(listing: "Listing") -> dict[str, Action]:
    """The keys that go up and down in a list: arrows, j and k, g and G, PgUp and PgDn."""
    down, up = partial(listing.step, 1), partial(listing.step, -1)
    first, last = partial(listing.step, -_FAR), partial(listing.step, _FAR)
    pages = {"PgUp": partial(listing.step, -_PAGE), "PgDn": partial(listing.step, _PAGE)}
    return {"Down": down, "j": down, "Up": up, "k": up, "g": first, "G": last, **pages}


def scrolling(widget: w.DOMWidget) -> dict[str, Action]:
    """The keys that go up and down in a text: arrows, j and k by a line, PgUp and PgDn by half a page, g and G."""
    down, up = Scroll(widget, 1, "line"), Scroll(widget, -1, "line")
    ends: dict[str, Action] = {"g": Scroll(widget, -1, "end"), "G": Scroll(widget, 1, "end")}
    return {
        "Down": down,
        "j": down,
        "Up": up,
        "k": up,
        "PgDn": Scroll(widget, 0.5),
        "PgUp": Scroll(widget, -0.5),
        **ends,
    }


def reading(widget: w.DOMWidget) -> dict[str, Action]:
    """The keys that scroll a detail: J and K."""
    return {"J": Scroll(widget, 0.5), "K": Scroll(widget, -0.5)}


def _scrolled(one: Scroll) -> tuple[str, str, float]:
    """What the browser has to know: the class of the element, the unit and how far."""
    name = f"lcm-scroll-{one.widget.model_id}"
    one.widget.add_class(name)
    return name, one.unit, one.by
