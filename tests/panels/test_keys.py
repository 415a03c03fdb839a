"""A key does what its button does, and nothing where the panel is at work or the key means nothing."""

import asyncio
import builtins
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest

from lcm_lab import lab as labs
from lcm_lab.data import demo_store
from lcm_lab.lab import Lab
from lcm_lab.panels import keys, lists
from lcm_lab.panels.base import Panel
from lcm_lab.panels.dag import DagPanel
from lcm_lab.panels.workbench import Workbench


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


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """The demo store; nothing here writes to it."""
    return labs.open(demo_store.build(tmp_path_factory.mktemp("demo")), tz="UTC")


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


def test_a_list_is_walked_with_keys() -> None:
    picked: list[str] = []
    listing = lists.Listing("letters", picked.append)
    listing.fill([lists.Row(one, one) for one in "abcdefghijklmnopqrstuvwxyz"])
    panel = Counter()
    given = keys.attach(panel, keys.moving(listing))
    for name in ("j", "Down", "k", "PgDn", "G", "j", "Up", "g", "k"):
        told(given, name)
    assert picked == ["a", "b", "a", "k", "z", "y", "a"]


def test_an_empty_list_is_not_walked() -> None:
    listing = lists.Listing("nothing", [].append)
    keys.moving(listing)["G"]()  # type: ignore[operator]


def test_the_manuals_keys_are_there(demo: Lab) -> None:
    """Every screen of the manual has its keys, on top of those of the workbench around it."""
    bench = Workbench(demo)
    place = bench.open_conversation(1, "Summary DAG")

    def of(panel: Panel) -> set[str]:
        return set(panel.widget.children[-1].names)

    move = {"Up", "Down", "j", "k"}
    assert of(bench) == {"b", "Backspace", "r"}
    assert of(place) == {"l", "c", "f", "n", "Esc"}
    assert of(bench.path[0][1]) >= {*move, "Enter", "r"}
    dag = place.panel
    assert dag is not None
    assert of(dag) >= {*move, "Enter", "l", "Space", "h", "g", "G", "J", "K", "w", "W", "d", "r"}
    for tab, own in (("Conversation", {"PgUp", "PgDn", "g", "G", "r"}), ("Context", {"g", "G", "J", "K", "r"})):
        shown = place.open(tab)
        assert shown is not None
        assert of(shown) >= {*move, *own}
    files = place.open("Large files")
    assert files is not None
    assert of(files) >= {*move, "g", "G", "r"}


def test_back_leads_up_one_screen_at_a_time(demo: Lab) -> None:
    bench = Workbench(demo)
    place = bench.open_conversation(1, "Summary DAG")
    place.review(Counter)
    assert place.tab == "Review"
    keys_of(place)({"key": "Esc"})
    assert place.tab == "Summary DAG"
    back = keys_of(bench)
    back({"key": "b"})
    assert (place.tab, len(bench.path)) == ("Conversation", 2)
    back({"key": "Backspace"})
    assert len(bench.path) == 1
    back({"key": "b"})
    assert len(bench.path) == 1


def test_h_closes_and_l_opens(demo: Lab) -> None:
    panel = DagPanel(demo, 1)
    send = keys_of(panel)
    every = len(panel.tree.keys)
    send({"key": "h"})
    closed = len(panel.tree.keys)
    assert closed < every
    send({"key": "h"})
    assert len(panel.tree.keys) == closed
    send({"key": "l"})
    assert len(panel.tree.keys) == every


def keys_of(panel: Panel) -> Callable[[dict[str, str]], None]:
    """What the browser calls when a key is pressed in a panel."""
    listener = panel.widget.children[-1]
    return lambda content: listener._handle_custom_msg(content, [])


def test_a_widget_is_closed_once_the_page_had_time_to_load_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser's console has a complaint of anywidget's about one that goes before."""
    monkeypatch.setattr(lists, "_PATIENCE", 0.01)

    async def kernel() -> tuple[bool, bool]:
        panel = Counter()
        given = keys.attach(panel, {"w": panel.add})
        lists.close(panel.widget)
        at_once = given.widget.comm is not None and panel.widget.comm is None
        await asyncio.sleep(0.1)
        return at_once, given.widget.comm is None

    assert asyncio.run(kernel()) == (True, True)
