"""On any summary graph the check ends without a crash, and depth and cycles agree with a naive look at the rows."""

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from lcm_lab.analysis.health import check_store
from lcm_lab.data.schema_files import create_store
from lcm_lab.store.connect import StoreFile

NAMES = [f"s{number}" for number in range(6)]
nodes = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(
        st.sampled_from(["leaf", "condensed"]),
        st.sampled_from([0, 1, 2, 3, "deep"]),
        st.sampled_from(["text", "", "<think>x</think>", "[Truncated from 3 tokens]"]),
        st.sampled_from([0, 1, -3, "many", 2.5]),
        st.integers(1, 2),
    ),
    max_size=6,
)
edges = st.sets(st.tuples(st.sampled_from([*NAMES, "gone"]), st.sampled_from([*NAMES, "gone"])), max_size=10)
links = st.sets(st.tuples(st.sampled_from([*NAMES, "gone"]), st.integers(1, 5)), max_size=8)
places = st.lists(
    st.tuples(st.integers(1, 2), st.integers(-2, 9), st.one_of(st.sampled_from([*NAMES, "gone"]), st.integers(1, 5))),
    max_size=8,
    unique_by=lambda one: one[:2],
)

Nodes = dict[str, tuple[str, int | str, str, float | str, int]]


def in_a_cycle(graph: set[tuple[str, str]]) -> set[str]:
    """Nodes that can be reached from themselves, by walking from each."""
    found = set()
    for start in {end for edge in graph for end in edge}:
        reached: set[str] = set()
        pending = [start]
        while pending:
            here = pending.pop()
            for derived, source in graph:
                if derived == here and source not in reached:
                    reached.add(source)
                    pending.append(source)
        if start in reached:
            found.add(start)
    return found


def wrong_depths(made: Nodes, graph: set[tuple[str, str]]) -> set[str]:
    """Nodes whose depth is not the one their rows ask for, by the rule as it is written."""
    found = set()
    for name, (kind, depth, _, _, owner) in made.items():
        if not isinstance(depth, int):
            continue
        if kind == "leaf":
            found |= {name} if depth != 0 else set()
            continue
        sources = [source for derived, source in graph if derived == name]
        known = [made[one][1] for one in sources if one in made and made[one][4] == owner]
        numbers = [one for one in known if isinstance(one, int)]
        if numbers and depth != max(numbers) + 1 and not (len(numbers) < len(sources) and depth > max(numbers) + 1):
            found.add(name)
    return found


def write(path: Path, made: Nodes, graph: set[tuple[str, str]], linked: object, context: object) -> None:
    """A store with these rows, checks and references switched off."""
    create_store(path, "0.15.3", journal_mode="delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.executemany("INSERT INTO conversations(conversation_id, session_id) VALUES (?, 's')", [(1,), (2,)])
        db.executemany(
            "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) "
            "VALUES (?, ?, ?, 'user', 'text', 1)",
            [(number, 1 + number % 2, number) for number in range(1, 5)],
        )
        db.executemany(
            "INSERT INTO summaries(summary_id, kind, depth, content, token_count, conversation_id) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(name, *values) for name, values in made.items()],
        )
        db.executemany("INSERT INTO summary_parents VALUES (?, ?, 0)", sorted(graph))
        db.executemany("INSERT INTO summary_messages VALUES (?, ?, 0)", linked)
        for conversation, ordinal, target in context:
            kind = "message" if isinstance(target, int) else "summary"
            db.execute(
                f"INSERT INTO context_items(conversation_id, ordinal, item_type, {kind}_id) VALUES (?, ?, ?, ?)",
                (conversation, ordinal, kind, target),
            )


@settings(max_examples=60, deadline=None)
@given(nodes, edges, links, places)
def test_any_graph_is_checked(made: Nodes, graph: set[tuple[str, str]], linked: object, context: object) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "lcm.db"
        write(path, made, graph, linked, context)
        found = check_store(StoreFile(path))
    seen = {(one.derived, one.source) for one in _within(made, graph)}
    assert {key for one in found.of("L4") for key in one.ids} == in_a_cycle(seen)
    assert {key for one in found.of("D1-depth") for key in one.ids} == wrong_depths(made, graph)
    dangling = {f"{derived}->{source}" for derived, source in graph if derived not in made or source not in made}
    assert {key for one in found.of("L3-dangling-edge") for key in one.ids} == dangling
    assert not [one for one in found.skipped if "SQLite says" in one.reason]


class _Pair:
    def __init__(self, derived: str, source: str) -> None:
        self.derived, self.source = derived, source


def _within(made: Nodes, graph: set[tuple[str, str]]) -> list[_Pair]:
    """Edges that a conversation's own look can see as part of a circle: all but those between two missing ends."""
    return [_Pair(derived, source) for derived, source in graph if derived in made or source in made]
