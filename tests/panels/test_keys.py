"""A key does what its button does, and nothing where the panel is at work or the key means nothing."""

import builtins
import importlib
import sys
from typing import Any

import pytest

from lcm_lab.panels import keys
from lcm_lab.panels.base import Panel


class Counter(Panel):
    """One button, one method, one method that fails."""

    title = "Counter"

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.add = self.button("Add", self._add)
        self.body.children = (self.add,)

    def _add(self) -> None:
        self.count += 1

    def fail(self) -> None:
        """Fail as a callback may."""
        raise RuntimeError("no <b>luck</b>")


def told(given: keys.Keys, name: object) -> None:
    """What the browser sends when a key is pressed."""
    given.widget._handle_custom_msg({"key": name}, [])


@pytest.fixture
def panel() -> Counter:
    return Counter()


def test_a_key_presses_its_button(panel: Counter) -> None:
    given = keys.attach(panel, {"w": panel.add}, hint="w add")
    told(given, "w")
    assert panel.count == 1
    assert panel.widget.children[-1] is given.widget
    assert (given.widget.label, given.widget.hint, given.widget.names) == ("Counter", "w add", ["w"])


def test_a_disabled_button_is_not_pressed(panel: Counter) -> None:
    given = keys.attach(panel, {"w": panel.add})
    panel.add.disabled = True
    told(given, "w")
    assert panel.count == 0


def test_a_key_waits_for_nothing_while_the_panel_is_at_work(panel: Counter) -> None:
    given = keys.attach(panel, {"w": panel.add, "j": panel._add})
    panel.busy = True
    told(given, "w")
    told(given, "j")
    assert panel.count == 0


def test_an_error_is_said(panel: Counter) -> None:
    given = keys.attach(panel, {"j": panel.fail})
    told(given, "j")
    assert "Unexpected: RuntimeError: no &lt;b&gt;luck&lt;/b&gt;" in panel.said


@pytest.mark.parametrize("name", ["x", "", None, ["w"], 3])
def test_only_keys_that_were_asked_for_count(panel: Counter, name: object) -> None:
    given = keys.attach(panel, {"w": panel.add})
    told(given, name)
    assert panel.count == 0


def test_an_answer_goes_back_for_each_key(panel: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    given = keys.attach(panel, {"j": panel.fail})
    sent: list[Any] = []
    monkeypatch.setattr(given.widget, "send", sent.append)
    told(given, "j")
    assert sent == [{"done": True}]


def test_scrolling_is_left_to_the_browser(panel: Counter) -> None:
    given = keys.attach(panel, {"J": keys.Scroll(panel.body, 0.5), "g": keys.Scroll(panel.body, -1, "end")})
    (part, unit, by), ending = given.widget.scrolls["J"], given.widget.scrolls["g"]
    assert (unit, by) == ("page", 0.5)
    assert ending == (part, "end", -1)
    assert part in panel.body._dom_classes
    told(given, "J")
    assert panel.said == ""


def test_a_key_that_is_not_the_manuals_is_refused(panel: Counter) -> None:
    with pytest.raises(ValueError, match="No such key: Q"):
        keys.attach(panel, {"j": panel.add, "Q": panel.add})


def test_without_anywidget_a_panel_has_no_keys(panel: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "anywidget":
            raise ImportError(name)
        return real(name, *rest, **more)

    with monkeypatch.context() as without:
        without.delitem(sys.modules, "lcm_lab.panels.keys")
        without.setattr(builtins, "__import__", missing)
        bare = importlib.import_module("lcm_lab.panels.keys")
    before = panel.widget.children
    given = bare.attach(panel, {"j": panel.add})
    given.press("j")
    assert panel.count == 1
    assert given.widget is None
    assert panel.widget.children == before
