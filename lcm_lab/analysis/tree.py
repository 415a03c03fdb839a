"""The summary DAG as a text tree, the way lcm-tui shows it: marker, id, kind and tokens, how the text begins.

A DAG is not a tree: a summary that two others were made from stands under both, its own sources under the first only.
The invariant: the walk ends on every graph, and a row is never deeper than one below the row it hangs from. Checked by
``tests/analysis/test_dag.py``.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from lcm_lab import plain
from lcm_lab.store.summaries import Node
from lcm_lab.store.text import preview

SEE_ABOVE: Final = "see above"
CYCLE: Final = "cycle: it is above itself"


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One row: ``marker`` is ``>`` (closed, has sources), ``v`` (open) or ``-`` (made from no summary).

    ``note`` says why a row that has sources cannot be opened here: they stand further up, or the row is above itself.
    """

    indent: int
    marker: str
    summary_id: str
    label: str
    tokens: int
    preview: str
    in_context: bool
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        head = f"{'  ' * self.indent}{self.marker} {_line(self.summary_id)} [{self.label}, {self.tokens:,}t]{note}"
        return f"{head} {_line(self.preview)}".rstrip()


def tree_rows(
    nodes: Mapping[str, Node],
    sources: Callable[[str], Iterable[str]],
    starts: Iterable[str],
    expand: Literal["all"] | int | Collection[str],
) -> list[TreeRow]:
    """The rows under ``starts``, each row's sources right below it."""
    chosen = frozenset(expand) if isinstance(expand, Collection) and not isinstance(expand, str) else frozenset()
    rows: list[TreeRow] = []
    opened: set[str] = set()
    path: list[str] = []
    on_path: set[str] = set()
    begins: dict[str, str] = {}
    # Last in, first out: a row's sources go on top, so they come before its siblings; no recursion, chains can be long.
    waiting = [(start, 0) for start in reversed(list(starts))]
    while waiting:
        key, indent = waiting.pop()
        on_path.difference_update(path[indent:])
        del path[indent:]
        below = list(sources(key))
        wanted = expand == "all" or key in chosen or (isinstance(expand, int) and indent < expand)
        note = "" if not below or not wanted else CYCLE if key in on_path else SEE_ABOVE if key in opened else ""
        is_open = bool(below) and wanted and not note
        marker = "v" if is_open else ">" if below else "-"
        node = nodes[key]
        if key not in begins:
            begins[key] = preview(node.preview)
        rows.append(
            TreeRow(indent, marker, key, node.label, node.tokens, begins[key], node.in_context is not None, note)
        )
        if is_open:
            opened.add(key)
            path.append(key)
            on_path.add(key)
            waiting.extend((source, indent + 1) for source in reversed(below))
    return rows


def _line(text: str) -> str:
    return " ".join(plain.safe(text).split())
