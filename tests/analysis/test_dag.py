"""The DAG of summaries: what it says about sound, broken and random graphs, and that it always ends."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcm_lab.analysis import dag as dags
from lcm_lab.analysis import graphs
from lcm_lab.analysis.dag import Coverage, Dag, DepthConflict
from lcm_lab.analysis.health import check_store
from lcm_lab.analysis.tree import CYCLE, SEE_ABOVE
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.rows import Edge
from lcm_lab.store.summaries import Node


def node(
    key: str,
    depth: int = 0,
    *,
    at: str = "2026-01-01 00:00:00",
    conversation: int = 1,
    kind: str = "",
    place: int | None = None,
) -> Node:
    """A summary; a leaf at depth 0 unless ``kind`` says otherwise."""
    kind = kind or ("condensed" if depth else "leaf")
    return Node(key, conversation, kind, depth, 10, "stored", 40, f"text of {key}", at, at, at, "m", 0, 100, place)


def edges(*pairs: str) -> list[Edge]:
    """Edges from pairs such as ``ba``: b was made from a."""
    return [Edge(pair[0], pair[1], i) for i, pair in enumerate(pairs)]


def build(nodes: Iterable[Node], found: Iterable[Edge], links: dict[str, tuple[int, ...]] | None = None) -> Dag:
    """The DAG of conversation 1, which has the messages 1 to 9."""
    return dags.build(nodes, found, links or {}, 1, message_ids=range(1, 10))


def test_roots_levels_and_both_directions() -> None:
    found = build([node("c", 1), node("b"), node("a"), node("d")], edges("ca", "cb"))
    assert found.roots == ("c", "d")
    assert found.levels == {0: ("a", "b", "d"), 1: ("c",)}
    assert found.sources("c") == ("a", "b")
    assert found.derived("a") == ("c",)
    assert found.below("c") == {"a", "b"}
    assert found.graph.nodes["c"]["label"] == "d1"


def test_siblings_stand_in_order_of_the_moment_not_of_the_text() -> None:
    late, early = "2026-01-01 10:00:00", "2026-01-01T09:00:00.000Z"
    offset = "2026-01-01T08:30:00-02:00"  # 10:30 UTC
    found = build(
        [node("p", 1), node("x", at=late), node("y", at=early), node("a", at=offset), node("z", at="nonsense")],
        edges("pz", "px", "pa", "py"),
    )
    assert found.levels[0] == ("y", "x", "a", "z")
    assert found.sources("p") == ("y", "x", "a", "z")


def test_coverage_counts_each_message_of_the_conversation_once() -> None:
    nodes = [node("a"), node("b"), node("c", 1, place=0), node("d")]
    links = {"a": (1, 2), "b": (2, 3, 77), "d": (4,), "elsewhere": (9,)}
    found = build(nodes, edges("ca", "cb"), links)
    assert found.coverage == Coverage(messages=9, by_any=4, by_context=3, linked_elsewhere=1)
    assert found.coverage.uncovered == 5
    assert found.covered_messages("c") == {1, 2, 3, 77}
    assert found.graph.nodes["c"]["messages"] == 3
    assert found.in_context == ("c",)


def test_dangling_and_foreign_edges_are_listed_and_not_in_the_graph() -> None:
    nodes = [node("a"), node("b", 1), node("f", conversation=2)]
    found = build(nodes, edges("ba", "bf", "bm", "na"))
    assert [(one.summary_id, one.parent_summary_id) for one in found.foreign] == [("b", "f")]
    assert [(one.summary_id, one.parent_summary_id) for one in found.dangling] == [("b", "m"), ("n", "a")]
    assert list(found.graph.edges) == [("b", "a")]
    assert "f" not in found.nodes
    assert found.problems == {
        "b": ("its source m does not exist", "its source f is in another conversation"),
        "a": ("n, made from it, does not exist",),
    }


def test_depths_that_contradict_the_sources_are_flagged() -> None:
    nodes = [
        node("a"),
        node("b", 1),
        node("c", 3),
        node("l", 2, kind="leaf"),
        node("k", 0, kind="condensed"),
        node("o", 1),
    ]
    found = build(nodes, edges("ba", "cb"))
    assert {one.summary_id: (one.depth, one.expected) for one in found.depth_conflicts} == {
        "c": (3, 2),
        "l": (2, 0),
        "k": (0, None),
    }


@pytest.mark.parametrize(
    ("sql", "wrong"),
    [
        ("", set()),
        ("UPDATE summaries SET depth = 2 WHERE summary_id = 'sum_c1'", {"sum_c1"}),
        ("UPDATE summaries SET depth = 2 WHERE summary_id = 'sum_la'", {"sum_la", "sum_c1"}),
        ("UPDATE summaries SET depth = 0 WHERE summary_id = 'sum_c1'", {"sum_c1"}),
        ("DELETE FROM summaries WHERE summary_id = 'sum_lb'; UPDATE summaries SET depth = 4 WHERE depth = 1", set()),
        (
            (
                "UPDATE summaries SET conversation_id = 45 WHERE summary_id = 'sum_lb'; "
                "UPDATE summaries SET depth = 4 WHERE depth = 1"
            ),
            set(),
        ),
        ("DELETE FROM summaries WHERE summary_id = 'sum_lb'; UPDATE summaries SET depth = 1", {"sum_la", "sum_c1"}),
        ("INSERT INTO summary_parents VALUES ('sum_la', 'sum_lb', 0)", set()),
    ],
    ids=["sound", "deep", "leaf", "flat", "source gone", "source elsewhere", "gone, not deep", "leaf with a source"],
)
def test_the_graph_and_the_check_know_the_same_wrong_depths(
    make_store: Callable[..., Path], sql: str, wrong: set[str]
) -> None:
    """A source that is gone, or in another conversation, may have been the deepest."""
    file = StoreFile(make_store(sql))
    conflicts = file.read(lambda reader: dags.load(reader, 44)).depth_conflicts
    assert {one.summary_id for one in conflicts} == wrong
    found = check_store(file, 44)
    errors = [one for one in (*found.of("D1"), *found.of("D2")) if one.severity == "error"]
    assert {key for one in errors for key in one.ids} == wrong


def test_cycles_are_named_from_their_oldest_summary() -> None:
    nodes = [node(key, 1, at=f"2026-01-01 00:00:0{i}") for i, key in enumerate("dcbas")]
    found = build(nodes, edges("ab", "bc", "ca", "ss", "da"))
    assert found.cycles == (("c", "a", "b"), ("s",))
    assert found.cyclic == {"a", "b", "c", "s"}
    assert found.roots == ("d",)
    assert DepthConflict("s", 1, None, "is in a cycle, so no depth can be right") in found.depth_conflicts


def test_every_summary_is_a_root_where_all_are_in_a_cycle() -> None:
    found = build([node("a", 1), node("b", 1)], edges("ab", "ba"))
    assert found.roots == ("a", "b")
    assert [(row.indent, row.marker, row.summary_id, row.note) for row in found.tree_rows()] == [
        (0, "v", "a", ""),
        (1, "v", "b", ""),
        (2, ">", "a", CYCLE),
        (0, ">", "b", SEE_ABOVE),
    ]


def test_so_many_cycles_that_only_some_are_named() -> None:
    keys = [f"s{i:03}" for i in range(250)]
    found = build([node(key, 1) for key in keys], [Edge(key, key, 0) for key in keys])
    assert len(found.cycles) == graphs.CYCLES_NAMED
    assert found.cyclic == set(keys)


def test_a_shared_source_stands_under_both_and_opens_once() -> None:
    found = build([node("a"), node("s", 1), node("x", 2), node("y", 2)], edges("sa", "xs", "ys"))
    assert [str(row) for row in found.tree_rows()] == [
        "v x [d2, 10t] text of x",
        "  v s [d1, 10t] text of s",
        "    - a [leaf, 10t] text of a",
        "v y [d2, 10t] text of y",
        "  > s [d1, 10t] (see above) text of s",
    ]


@pytest.mark.parametrize(
    ("expand", "rows"),
    [
        (0, ["> x"]),
        (1, ["v x", "  > s"]),
        ((), ["> x"]),
        ({"x"}, ["v x", "  > s"]),
        ("all", ["v x", "  v s", "    - a"]),
    ],
)
def test_rows_open_as_far_as_asked(expand: object, rows: list[str]) -> None:
    found = build([node("a"), node("s", 1), node("x", 2)], edges("sa", "xs"))
    assert [str(row).split(" [")[0] for row in found.tree_rows(expand=expand)] == rows  # type: ignore[arg-type]


def test_a_cycle_no_root_reaches_still_has_rows() -> None:
    found = build([node("a"), node("x", 1), node("y", 1)], edges("xy", "yx"))
    assert {row.summary_id for row in found.tree_rows()} == {"a", "x", "y"}


def test_a_row_is_one_line_without_control_characters() -> None:
    hostile = replace(node("a"), summary_id="\x1b[2Ja\u202e", preview="b\x07\nc\x1b[31m")
    assert str(build([hostile], []).tree_rows()[0]) == "- \ufffd[2Ja\ufffd [leaf, 10t] b\ufffd c\ufffd[31m"


def test_a_long_chain_is_no_matter_of_recursion() -> None:
    keys = [f"s{i:05}" for i in range(5000)]
    nodes = [node(key, i) for i, key in enumerate(keys)]
    found = build(nodes, [Edge(upper, lower, 0) for lower, upper in pairwise(keys)], {"s00000": (1,)})
    assert found.covered_messages(keys[-1]) == {1}
    assert found.tree_rows()[-1].indent == 4999


@pytest.mark.parametrize(
    ("name", "conversation", "summaries", "roots", "coverage", "dangling"),
    [
        ("small.db", 1, 27, 5, Coverage(72, 57, 57, 0), 0),
        ("small.db", 2, 17, 5, Coverage(48, 42, 42, 0), 0),
        ("corrupt.db", 1, 27, 5, Coverage(72, 57, 57, 1), 2),
    ],
)
def test_stores_of_the_plugin(
    shared_store: Callable[[str], Path],
    name: str,
    conversation: int,
    summaries: int,
    roots: int,
    coverage: Coverage,
    dangling: int,
) -> None:
    path = shared_store(name)
    found = StoreFile(path).read(lambda reader: dags.load(reader, conversation))
    assert (len(found.nodes), len(found.roots), found.coverage, len(found.dangling)) == (
        summaries,
        roots,
        coverage,
        dangling,
    )
    assert not found.cycles
    assert not found.depth_conflicts


def test_a_conversation_that_does_not_exist_is_an_empty_dag(make_store: Callable[..., Path]) -> None:
    path = make_store()
    found = StoreFile(path).read(lambda reader: dags.load(reader, 999))
    assert (found.nodes, found.roots, found.levels, found.tree_rows()) == ({}, (), {}, [])


def test_a_source_in_another_conversation_is_foreign_when_loaded(make_store: Callable[..., Path]) -> None:
    path = make_store(
        "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) "
        "VALUES ('sum_far', 45, 'leaf', 0, 'x', 1);"
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_c1', 'sum_far', 2);"
    )
    found = StoreFile(path).read(lambda reader: dags.load(reader, 44))
    assert [one.parent_summary_id for one in found.foreign] == ["sum_far"]
    assert found.dangling == ()
    assert found.coverage == Coverage(6, 4, 4, 0)


KEYS = st.sampled_from("abcdefgh")


@settings(deadline=None)
@given(
    present=st.sets(KEYS),
    pairs=st.lists(st.tuples(KEYS, KEYS), max_size=24),
    depths=st.dictionaries(KEYS, st.integers(-1, 4)),
    links=st.dictionaries(KEYS, st.lists(st.integers(1, 12), max_size=4).map(tuple)),
)
def test_any_graph_at_all(
    present: set[str], pairs: list[tuple[str, str]], depths: dict[str, int], links: dict[str, tuple[int, ...]]
) -> None:
    found = build([node(key, depths.get(key, 0)) for key in present], [Edge(a, b, 0) for a, b in pairs], links)
    inside = {(a, b) for a, b in pairs if {a, b} <= present}
    assert set(found.graph.edges) == inside
    assert len(found.dangling) == sum(not {a, b} <= present for a, b in pairs)
    assert sorted(key for level in found.levels.values() for key in level) == sorted(present)
    assert set(found.roots) == ({key for key in present if all(b != key for _, b in inside)} or present)
    for key in present:
        closure, size = {key}, 0
        while len(closure) != size:
            size = len(closure)
            closure |= {b for a, b in inside if a in closure}
        covered = {message for one in closure for message in links.get(one, ())}
        assert found.covered_messages(key) == covered
        assert found.graph.nodes[key]["messages"] == len(covered & set(range(1, 10)))
        assert (key in found.cyclic) == any(b in closure and a in closure and b == key for a, b in inside)
    rows = found.tree_rows()
    assert {row.summary_id for row in rows} == present
    assert sum(row.marker == "v" for row in rows) == len({a for a, _ in inside})
    for cycle in found.cycles:
        assert {*zip(cycle, (*cycle[1:], cycle[0]), strict=True)} <= inside
    assert {key for cycle in found.cycles for key in cycle} == found.cyclic
