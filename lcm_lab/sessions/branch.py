"""Which lines of a session file are still part of the conversation.

Entries point to their parent, so a retry or a rewind leaves a branch behind that no longer counts. The rule is the
plugin's: from the last entry walk back to the root. Abandoned lines are marked, never dropped. Invariant: a parent
always comes before its child, so the walk ends however the ids are knotted; what names an unknown parent, or none,
continues where the conversation stood.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lcm_lab.sessions.jsonl import Entry


@dataclass(slots=True)
class _Node:
    line: int
    parent: "_Node | None"
    epoch: int  # number of resets before it
    tool_result: bool


def active_branch(entries: Iterable[Entry]) -> frozenset[int]:
    """Line numbers on the active branch, plus those of all lines that belong to no branch.

    A line without an id (a header, a snapshot, a bad line, a file of the first version) belongs to no branch. A record
    ``leaf`` moves the end of the conversation to its target; no branch reaches back over a ``reset``. Tool results that
    hang from the branch as its side twigs belong to it: a client that calls tools in parallel writes them that way.
    A repeated id stands with the line that had it first.
    """
    nodes: dict[str, _Node] = {}
    repeats: list[tuple[int, _Node]] = []
    free: set[int] = set()
    leaf: _Node | None = None
    epoch = 0
    for entry in entries:
        if entry.type == "leaf" and entry.target_id is not None:
            free.add(entry.line)
            target = nodes.get(entry.target_id)
            if target is not None and target.epoch == epoch:
                leaf = target
            if entry.entry_id is not None and leaf is not None:
                # What hangs from the leaf record continues at its target.
                nodes.setdefault(entry.entry_id, leaf)
            continue
        if entry.entry_id is None:
            free.add(entry.line)
            continue
        if entry.entry_id in nodes:
            repeats.append((entry.line, nodes[entry.entry_id]))
            continue
        parent = nodes.get(entry.parent_id) if entry.parent_id is not None else None
        if parent is None or parent.epoch != epoch:
            parent = leaf
        epoch += entry.type == "reset"
        leaf = nodes[entry.entry_id] = _Node(entry.line, parent, epoch, _is_tool_result(entry))
    return frozenset(free | _on_path(leaf, nodes, repeats))


def _on_path(leaf: _Node | None, nodes: dict[str, _Node], repeats: list[tuple[int, _Node]]) -> set[int]:
    path: set[int] = set()
    while leaf is not None:
        path.add(leaf.line)
        leaf = leaf.parent
    twigs = {one.line for one in nodes.values() if one.tool_result and one.parent and one.parent.line in path}
    path |= twigs
    return path | {line for line, original in repeats if original.line in path}


def _is_tool_result(entry: Entry) -> bool:
    return entry.kind == "message" and (entry.role in ("toolResult", "tool") or entry.text.startswith("[toolResult]"))
