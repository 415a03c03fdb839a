"""Abandoned branches are known by their lines."""

from collections.abc import Callable
from pathlib import Path

from lcm_lab.sessions.branch import active_branch
from lcm_lab.sessions.jsonl import read

Write = Callable[..., Path]


def said(name: str, parent: str | None, role: str = "assistant") -> dict[str, object]:
    return {"type": "message", "id": name, "parentId": parent, "message": {"role": role, "content": name}}


def off(path: Path) -> list[int]:
    entries = list(read(path))
    active = active_branch(entries)
    return [entry.line for entry in entries if entry.line not in active]


def test_a_retry_leaves_its_first_try_behind(write: Write) -> None:
    path = write(
        {"type": "session", "id": "s"},
        said("e1", None, "user"),
        said("e2", "e1"),
        said("e3", "e2", "toolResult"),
        said("e4", "e3"),
        said("e4b", "e3"),
        {"type": "compaction", "id": "k1", "parentId": "e4b", "summary": "so far"},
        said("e5", "e4b", "user"),
        "not JSON",
    )
    assert off(path) == [5, 7]


def test_lines_without_ids_belong_to_no_branch(write: Write) -> None:
    path = write(*[{"type": "message", "message": {"role": "user", "content": str(n)}} for n in range(5)])
    assert off(path) == []


def test_unknown_and_missing_parents_continue_where_the_conversation_stood(write: Write) -> None:
    assert (
        off(write(said("e1", None), said("e2", "lost"), said("e3", None), said("e4", "later"), said("e5", "e4"))) == []
    )


def test_knotted_parents_end(write: Write) -> None:
    assert off(write(said("a", "b"), said("b", "a"), said("c", "c"))) == []


def test_a_leaf_record_moves_the_end(write: Write) -> None:
    path = write(
        said("e1", None),
        said("e2", "e1"),
        said("e3", "e2"),
        {"type": "leaf", "id": "l1", "parentId": "e3", "targetId": "e1"},
        said("e4", "l1"),
    )
    assert off(path) == [2, 3]
    assert off(write(said("e1", None), said("e2", "e1"), {"type": "leaf", "id": "l", "targetId": "e1"})) == [2]
    assert off(write(said("e1", None), said("e2", "e1"), {"type": "leaf", "id": "l", "targetId": "nowhere"})) == []


def test_no_branch_reaches_over_a_reset(write: Write) -> None:
    path = write(
        said("e1", None),
        said("e2", "e1"),
        {"type": "reset", "id": "r", "parentId": "e2", "reason": "new"},
        said("e3", "e1"),
        {"type": "leaf", "id": "l", "targetId": "e1"},
        said("e4", "e3"),
    )
    assert off(path) == []


def test_results_of_parallel_tools_hang_from_the_branch(write: Write) -> None:
    path = write(
        said("a1", None),
        said("a2", "a1"),
        said("r1", "a1", "toolResult"),
        said("r2", "a2", "toolResult"),
        said("a3", "r2"),
    )
    assert off(path) == []


def test_a_repeated_id_stands_with_the_first(write: Write) -> None:
    path = write(said("e1", None), said("x", "e1"), said("e2", "e1"), said("e2", "e1"), said("x", "e1"))
    assert off(path) == [2, 5]


def test_a_long_chain(write: Write) -> None:
    path = write(*[said(f"e{n}", f"e{n - 1}" if n else None) for n in range(20_000)])
    assert off(path) == []
