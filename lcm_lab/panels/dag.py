"""The summaries of a conversation: a tree to open and close, the picture of the same DAG, and one summary whole.

Tree, picture and detail show one selection, whichever of them it was made in. The invariant: the page holds a bounded
number of rows and marks however many summaries there are, and says how many it leaves out. Checked by
``tests/panels/test_browse_dag.py``.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.analysis.wording import counted
from lcm_lab.errors import Refused
from lcm_lab.panels import keys, lists
from lcm_lab.panels.base import Panel
from lcm_lab.panels.desk import Desk
from lcm_lab.panels.detail import SummaryDetail
from lcm_lab.panels.live import Live
from lcm_lab.views import blocks, svg, tables
from lcm_lab.views.table import Column, Table, make

if TYPE_CHECKING:
    from lcm_lab.analysis.dag import Dag
    from lcm_lab.analysis.draw.dag_layout import Layout
    from lcm_lab.analysis.health import Finding
    from lcm_lab.analysis.tree import TreeRow
    from lcm_lab.lab import Lab

MARKS: Final = 600
"""Marks in the picture; above, neighbours in time share one."""

_OPEN_AT_ONCE: Final = 60
_PICTURED: Final = 60

Hook = Callable[[str], None]
"""What happens to a summary; called with its id."""


class DagPanel(Panel):
    """The DAG of a conversation. The three hooks are called by the buttons under the detail; without one it is off."""

    title = "Summary DAG"

    def __init__(
        self,
        lab: "Lab",
        conversation_id: int,
        *,
        desk: Desk | None = None,
        on_rewrite: Hook | None = None,
        on_subtree: Hook | None = None,
        on_dissolve: Hook | None = None,
    ) -> None:
        super().__init__()
        self.lab, self.conversation_id = lab, conversation_id
        self.desk = desk or Desk(lab)
        self.dag: Dag | None = None
        self.selected: str | None = None
        self._hooks = (on_rewrite, on_subtree, on_dissolve)
        self._layout: Layout | None = None
        self._open: set[str] = set()
        self._history: list[str] = []
        head = "> closed, v open, - made from no summary; [kind, tokens] how it begins"
        self.tree = lists.Listing("summaries", self._picked, head=head, rows=18, fixed=True)
        self.toggle = self.button("Open / close", self.toggle_selected, hint="Open or close the selected summary")
        self.open_all = self.button("Open all", self._open_everything, hint="Open every summary that has sources")
        self.close_all = self.button("Close all", self._close_everything, hint="Show only the roots")
        self.back = self.button("\u25c0 Previous", self._back, hint="The summary selected before this one")
        self.rewrite = self.button("Rewrite\u2026", self._hook(0), hint="Write this summary anew; you review it first")
        self.subtree = self.button("Rewrite subtree\u2026", self._hook(1), hint="This one and all it was made from")
        self.dissolve = self.button("Dissolve\u2026", self._hook(2), hint="Put its sources into the context instead")
        self.live = Live(description="the summary DAG")
        self.detail = SummaryDetail(lab.zone, self.go)
        self.totals = w.HTML()
        tree = w.VBox([self.tree.widget, lists.row(self.toggle, self.open_all, self.close_all)])
        actions = lists.row(self.back, self.rewrite, self.subtree, self.dissolve)
        both = lists.side_by_side(tree, self.live.widget)
        self.body.children = (w.HTML(blocks.STYLE), self.totals, both, actions, self.detail.widget)
        self.guard(self.reload)
        keys.attach(
            self,
            keys.moving(self.tree)
            | keys.reading(self.detail.widget)
            | dict.fromkeys(("Enter", "Space", "l", "Right"), self.toggle)
            | dict.fromkeys(("h", "Left"), self.close_selected)
            | {"w": self.rewrite, "W": self.subtree, "d": self.dissolve, "r": self.reload},
            hint="j k move, Enter open or close, h close, J K scroll, w rewrite, W subtree, d dissolve, r reload",
        )

    def reload(self) -> None:
        """Read the DAG again; what was open and selected stays so as far as it still exists."""
        first = self.dag is None
        dag = self.desk.dag(self.conversation_id)
        self.dag = dag
        self._open &= dag.nodes.keys()
        if first:
            self._open = set(dag.nodes if len(dag.nodes) <= _OPEN_AT_ONCE else dag.roots)
        self._say_totals(dag)
        self._draw(dag)
        if self.selected not in dag.nodes:
            self.selected = None
        self._fill()
        if self.selected is not None:
            self.show(self.selected)
        elif dag.nodes:
            self.show(dag.roots[0])
        else:
            self.detail.hide()
        self.refresh()

    def show(self, summary_id: str) -> None:
        """Select a summary of this conversation in tree, picture and detail.

        Raises:
            Refused: it is not in this conversation.
        """
        dag = self.dag
        if dag is None or summary_id not in dag.nodes:
            raise Refused(f"{summary_id} is not a summary of conversation {self.conversation_id}.")
        if _id(self.tree.picked or "") != summary_id and not self.tree.pick(summary_id):
            self._open.update(_path_to(dag, summary_id))
            self.tree.filter.value = ""
            self._fill()
            self.tree.pick(summary_id)
        if self.selected not in (None, summary_id):
            self._history = [*self._history[-50:], str(self.selected)]
        self.selected = summary_id
        self.detail.show(self.lab.summary(summary_id), self._findings(summary_id))
        self._ring(summary_id)
        self.refresh()

    def go(self, summary_id: str) -> None:
        """As :meth:`show`, an error said in the panel; for picking."""
        self.guard(lambda: self.show(summary_id))

    def toggle_selected(self) -> None:
        """Open the selected summary, or close it."""
        if self.selected is not None:
            self._open ^= {self.selected}
            self._fill()

    def close_selected(self) -> None:
        """Close the selected summary."""
        if self.selected in self._open:
            self.toggle_selected()

    def refresh(self) -> None:
        """Only the buttons that can do something."""
        node = self.dag.nodes.get(self.selected or "") if self.dag else None
        self.back.disabled = not self._history
        for button, hook in zip((self.rewrite, self.subtree, self.dissolve), self._hooks, strict=True):
            button.disabled = hook is None or node is None
        if node is not None and self.dag is not None:
            below = bool(self.dag.sources(node.summary_id))
            self.toggle.disabled = not below
            self.subtree.disabled = self.subtree.disabled or not below
            self.dissolve.disabled = self.dissolve.disabled or node.depth == 0

    def tables(self) -> list[Table]:
        """The top of the tree as it is open, and the selected summary."""
        if self.dag is None:
            return []
        rows = self.dag.tree_rows(expand=self._open)
        cells = [(f"{'  ' * min(one.indent, 20)}{_head(one)}", one.preview) for one in rows[:_PICTURED]]
        more = (
            f"Showing {len(cells):,} of {len(self.dag.nodes):,} summaries." if len(cells) < len(self.dag.nodes) else ""
        )
        heads: list[Column | str] = ["summary [kind, tokens]", Column("begins", cut=True)]
        found = [make(f"Summary DAG of conversation {self.conversation_id}", heads, cells, notes=[more])]
        if self.detail.view is not None:
            view = replace(self.detail.view, content=blocks.short(self.detail.view.content, 2_000))
            found += tables.of(view, self.lab.zone)[:1]
        return found

    def drawing(self) -> str:
        """The levels of the DAG."""
        if self.dag is None:
            return ""
        counts = {depth: len(ids) for depth, ids in self.dag.levels.items()}
        held = set(self.dag.in_context)
        marked = {depth: len(held.intersection(ids)) for depth, ids in self.dag.levels.items()}
        return svg.levels(counts, marked, title=f"Levels of the summaries of conversation {self.conversation_id}")

    def _say_totals(self, dag: "Dag") -> None:
        cover = dag.coverage
        if not dag.nodes:
            self.totals.value = blocks.faint("No summaries: the plugin has not compacted this conversation yet.")
            return
        doubtful = f", {len(dag.problems):,} doubtful (ringed)" if dag.problems else ""
        context = f"{len(dag.in_context):,} in context (*)"
        self.totals.value = blocks.faint(
            f"{counted(len(dag.nodes), 'summary', 'summaries')} in {counted(len(dag.levels), 'level')}, {context}"
            f"{doubtful}. {cover.by_any:,} of {counted(cover.messages, 'message')} covered. Tokens: {dag.estimator}."
        )

    def _draw(self, dag: "Dag") -> None:
        from lcm_lab.analysis.draw import dag_layout

        if not dag.nodes:
            self._layout = None
            self.live.show(None)
            return
        figure = dag.figure(limit=MARKS)
        self._layout = dag_layout.layout(dag, limit=MARKS, keep={*dag.in_context, *dag.problems})
        self.live.show(figure, clickable=1, on_point=self._clicked)

    def _clicked(self, place: int) -> None:
        if self._layout is None or not 0 <= place < len(self._layout.marks):
            return
        ids = self._layout.marks[place].ids
        self.go(ids[0])
        if len(ids) > 1:
            self.say(f"This mark stands for {len(ids):,} summaries; the first of them is selected.")

    def _ring(self, summary_id: str) -> None:
        marks = self._layout.marks if self._layout else ()
        mark = next((one for one in marks if summary_id in one.ids), None)
        self.live.ring(mark.x if mark else None, mark.row if mark else None)

    def _findings(self, summary_id: str) -> "tuple[Finding, ...] | None":
        from lcm_lab.analysis.health.about import about

        dag = self.dag
        report = self.desk.findings(dag) if dag else None
        return None if report is None or dag is None else about(report, dag.nodes[summary_id])

    def _fill(self) -> None:
        if self.dag is not None:
            dag = self.dag
            rows = _rows(dag.tree_rows(expand=self._open))
            self.tree.fill(
                rows,
                pool=lambda: _rows(dag.tree_rows()),
                note=f"In all: {counted(len(dag.nodes), 'summary', 'summaries')}.",
            )

    def _picked(self, key: str) -> None:
        self.go(_id(key))

    def _open_everything(self) -> None:
        if self.dag is not None:
            self._open = set(self.dag.nodes)
            self._fill()

    def _close_everything(self) -> None:
        self._open = set()
        self._fill()

    def _back(self) -> None:
        if self._history:
            target = self._history.pop()
            self.show(target)
            self._history.pop()

    def _hook(self, place: int) -> Callable[[], None]:
        def run() -> None:
            hook = self._hooks[place]
            if hook is not None and self.selected is not None:
                hook(self.selected)

        return run


def _rows(rows: "Iterable[TreeRow]") -> list[lists.Row]:
    """Rows of a list; a summary that stands in several places has a key for each."""
    seen: dict[str, int] = {}
    found = []
    for one in rows:
        times = seen[one.summary_id] = seen.get(one.summary_id, 0) + 1
        key = one.summary_id if times == 1 else f"{one.summary_id}\0{times}"
        context = " *" if one.in_context else ""
        note = f" ({one.note})" if one.note else ""
        label = f"{_head(one)}{context}{note} {one.preview}"
        found.append(lists.Row(key, label, indent=min(one.indent, 30)))
    return found


def _head(one: "TreeRow") -> str:
    return f"{one.marker} {one.summary_id} [{one.label}, {one.tokens:,}t]"


def _id(key: str) -> str:
    return key.partition("\0")[0]


def _path_to(dag: "Dag", summary_id: str) -> set[str]:
    """What has to be open for a summary to show: one way up from it to where the tree begins."""
    found: set[str] = set()
    here = summary_id
    while True:
        above = next((one for one in dag.derived(here) if one not in found), None)
        if above is None:
            return found
        found.add(above)
        here = above
