"""What the model sees in its next turn: every item in order, the totals, the budget line, and the texts as sent.

The numbers are those of :meth:`Lab.context`; a window given here draws the line and shows what assembly would drop.
Checked by ``tests/panels/test_browse_context.py``.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.analysis import rendered
from lcm_lab.analysis.budget import LEAVES_OUT
from lcm_lab.analysis.wording import counted
from lcm_lab.panels import keys, lists, reading
from lcm_lab.panels.base import Panel
from lcm_lab.views import blocks, measure, svg
from lcm_lab.views.browse import RULE
from lcm_lab.views.table import Table

if TYPE_CHECKING:
    from lcm_lab.analysis.context import Context, Item
    from lcm_lab.lab import Lab

PAGE: Final = 30
"""Items of a page of the view "as the model gets it"."""

_PICTURED: Final = 40
_LIST, _TEXT = "list of items", "as the model gets it"


class ContextPanel(Panel):
    """The context of a conversation. ``on_summary`` is called with the id of a summary to open in the DAG."""

    title = "Context"

    def __init__(self, lab: "Lab", conversation_id: int, *, on_summary: Callable[[str], None] | None = None) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.context: Context | None = None
        self.item: Item | None = None
        self._on_summary = on_summary
        self._start = 0
        self.window = window_input()
        self.window.observe(lambda _change: self.guard(self.reload), "value")
        self.view = w.ToggleButtons(options=[_LIST, _TEXT], style={"button_width": "auto"})
        self.view.observe(lambda _change: self.guard(self._show_view), "value")
        self.totals = w.HTML()
        head = lists.columns([("ordinal", -7), ("kind", 10), ("id", 22), ("tokens", -8), ("+ XML", -6), ("", 0)])
        self.items = lists.Listing("context items", self._picked, head=head, rows=16)
        self.detail = reading.Expandable()
        self.facts = w.HTML()
        self.open = self.button("Open in the DAG", self._open, hint="Show this summary among the others")
        right = w.VBox([self.facts, self.open, self.detail.widget])
        self.list_view = lists.side_by_side(self.items.widget, right)
        self.before = self.button("\u25b2 Items before", lambda: self._page(-PAGE))
        self.after = self.button("\u25bc Items after", lambda: self._page(PAGE))
        self.texts = w.VBox(layout=w.Layout(max_height="640px", overflow="auto", display="block"))
        self.where = w.HTML()
        self.text_view = w.VBox([lists.row(self.before, self.after, self.where), self.texts])
        bar = lists.row(self.window, self.view)
        self.body.children = (w.HTML(blocks.STYLE), bar, self.totals, self.list_view, self.text_view)
        self.guard(self.reload)
        moves = keys.moving(self.items) | keys.reading(right)
        more = {"Enter": self.open, "r": self.reload}
        keys.attach(self, {**moves, **more}, hint="j k move, g G ends, Enter open in the DAG, J K scroll, r reload")

    def reload(self) -> None:
        """Assemble the context again."""
        context = self.lab.context(self.conversation_id, window=self.window.value or None)
        self.context = context
        self.totals.value = _totals(context) + svg.strip(_parts(context), title="In the order the model reads it")
        self.items.fill([_row(at, one) for at, one in enumerate(context.items)])
        if self.items.picked is None and self.items.keys:
            self.items.pick(self.items.keys[0])
        self._picked(self.items.picked or "")
        self._start = 0
        self._show_view()

    def show_item(self, ordinal: int) -> None:
        """Select the item at this place of the context."""
        for at, one in enumerate(self.context.items if self.context else ()):
            if one.ordinal == ordinal:
                self.view.value = _LIST
                self.items.pick(str(at))
                self._picked(str(at))
                return

    def refresh(self) -> None:
        """Only the buttons that lead somewhere."""
        total = len(self.context.sent) if self.context else 0
        self.before.disabled = not self._start
        self.after.disabled = self._start + PAGE >= total
        item = self.item
        self.open.disabled = self._on_summary is None or item is None or not item.summary_id or item.kind == "missing"

    def tables(self) -> list[Table]:
        """The first items, with the totals of the whole."""
        if self.context is None:
            return []
        return measure.context_page(self.context.page(limit=_PICTURED, cursor=None), self.lab.zone)

    def drawing(self) -> str:
        """The strip."""
        title = f"Context of conversation {self.conversation_id} in the order the model reads it"
        return svg.strip(_parts(self.context), title=title) if self.context else ""

    def _picked(self, key: str) -> None:
        self.guard(lambda: self._show_item(key))

    def _show_item(self, key: str) -> None:
        self.item = self.context.items[int(key)] if self.context and key else None
        if self.item is None:
            self.facts.value = blocks.faint("No items: nothing is in this conversation's context.")
            self.detail.show(None)
        else:
            (text,) = rendered.render(self.lab.store, self.conversation_id, [self.item], self.lab.zone)
            self.facts.value = _facts(self.item, text.role, self.lab.zone.show(self.item.created_at))
            self.detail.show(partial(blocks.boxed, text.text, label="the item as the model gets it"), limit=12_000)
        self.refresh()

    def _show_view(self) -> None:
        as_text = self.view.value == _TEXT
        self.list_view.layout.display = "none" if as_text else "flex"
        self.text_view.layout.display = "" if as_text else "none"
        if as_text:
            self._page(0)

    def _page(self, by: int) -> None:
        if self.context is None:
            return
        self._start = max(0, self._start + by)
        sent = self.context.sent
        shown = rendered.render(
            self.lab.store, self.conversation_id, sent[self._start : self._start + PAGE], self.lab.zone
        )
        before = self.texts.children
        self.texts.children = reading.flow([partial(blocks.sent, one) for one in shown])
        for one in before:
            lists.close(one)
        last = self._start + len(shown)
        self.where.value = blocks.faint(
            f"Items {self._start + 1 if shown else 0:,} to {last:,} of {len(sent):,} that are sent, in order. "
            "How a provider wraps roles and tool calls is not shown."
        )
        self.refresh()

    def _open(self) -> None:
        if self._on_summary is not None and self.item is not None and self.item.summary_id:
            self._on_summary(self.item.summary_id)


def window_input() -> w.BoundedIntText:
    """Where the model's window is entered, here and in reviews; 0 where it is not known."""
    return w.BoundedIntText(
        value=0,
        min=0,
        max=100_000_000,
        step=1000,
        description="window",
        tooltip="The model's window in tokens, to see what fits; 0 where it is not known. Enter applies it.",
        continuous_update=False,
        layout=w.Layout(width="220px"),
    )


def _totals(context: "Context") -> str:
    sent = context.sent
    summaries = sum(one.summary_id is not None for one in sent)
    messages = sum(one.message_id is not None for one in sent)
    brief = f" + focus brief {context.focus_brief}" if context.focus_brief else ""
    text = (
        f"{summaries:,} summaries + {messages:,} messages{brief} = {len(sent):,} items sent of {len(context.items):,}; "
        f"{context.content_tokens:,} tokens of text + {context.wrapper_tokens:,} of XML around it "
        f"= {context.total_tokens:,} tokens"
    )
    if context.window:
        share = 100 * context.total_tokens // context.window
        line = int(context.window * context.compact_at)
        tone = "over" if share > 100 else "warning" if context.total_tokens > line else "good"
        said = blocks.toned(f"{share:,} % of the window {context.window:,}; compaction at {line:,} tokens", tone)
    else:
        said = blocks.inline("No budget set.")
    marked = sum(bool(one.anomalies) for one in context.items)
    more = f" {counted(marked, 'odd item')}, marked with !." if marked else ""
    return f"<div>{blocks.inline(text)}. {said}{more}</div>" + blocks.faint(f"{RULE} Not counted: {LEAVES_OUT}.")


def _parts(context: "Context") -> list[tuple[str, int]]:
    return [(one.kind, one.tokens + one.wrapper_tokens) for one in context.sent]


def _row(at: int, one: "Item") -> lists.Row:
    about = "" if one.rule == "stored" else "~"
    mark = "x " if one.dropped else "! " if one.anomalies or one.covered_by else ""
    cells = [(one.ordinal, -7), (one.kind, 10), (one.item_id, 22), (f"{about}{one.tokens:,}", -8)]
    return lists.Row(str(at), cells=(*cells, (one.wrapper_tokens or "", -6), (mark + one.preview, 0)))


def _facts(one: "Item", role: str, when: str) -> str:
    covered = f"already covered by {', '.join(one.covered_by)}" if one.covered_by else ""
    return blocks.headline(f"{one.ordinal}: {one.kind} {one.item_id}") + blocks.facts(
        [
            ("sent as", f"{role} message" if role and not one.dropped else ""),
            ("not sent (x)", one.dropped),
            ("odd (!)", "; ".join(filter(None, [*one.anomalies, covered]))),
            ("tokens", f"{one.tokens:,} ({one.rule}) + {one.wrapper_tokens:,} of XML"),
            ("counted as", ", ".join(f"{piece.group} {piece.tokens:,}" for piece in one.pieces)),
            ("in the fresh tail", "yes" if one.in_tail else "no"),
            ("noise", one.noise),
            ("time", when),
        ]
    )
