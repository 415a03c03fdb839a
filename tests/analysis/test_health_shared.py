"""Stores made by the plugin's own code: what is known of them is found, and nothing more."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lcm_lab.analysis.health import Report, check_store
from lcm_lab.store.connect import StoreFile

MARKED = [
    "sum_9c8aae1d0dd41d48",
    "sum_53584d9746163ca5",
    "sum_37a70735c2e1afc2",
    "sum_d781dcb955460746",
    "sum_e91686f0a1d36dd6",
    "sum_4f6aea8d10bb3dbd",
    "sum_9f1241327e09cbbe",
    "sum_nosource00000000",
]
QUOTED = "sum_4ae66c36048804ae"
CORRUPT = {
    ("C3", "1:29"),
    ("C3", "1:30"),
    ("L1", "sum_nosource00000000"),
    ("M1", "sum_nosource00000000"),
    ("L3", "sum_ff40e272941fe5fc->sum_missingparent000"),
    ("L3", "sum_missingchild0000->sum_0250cde08b9cc8b5"),
    ("L3", "sum_0250cde08b9cc8b5->888888"),
    *(("K1", one) for one in MARKED),
    *(("T1", one) for one in ("sum_0250cde08b9cc8b5", "sum_ff40e272941fe5fc", "sum_9f1241327e09cbbe")),
    *(("T1", str(one)) for one in (17, 34, 51, 68, 85, 102, 119)),
    *(("F1", one) for one in (*MARKED, QUOTED)),
}
OLD = {
    ("T1", one)
    for one in [
        "sum_2e4c6f56a5ed0505",
        "sum_872737ae8121bc1b",
        "sum_893a3cfd3912a125",
        "sum_3638b1871d9c86ac",
        "sum_22535bfa7eeaf3e6",
    ]
}
MIXED = {("T1", "sum_d781dcb955460746"), ("F1", "sum_d781dcb955460746")}


@pytest.fixture(params=["delete", "wal", "live"])
def report(request: pytest.FixtureRequest, shared_store: Callable[[str], Path]) -> Callable[[str], Report]:
    """The report on a copy of a shared store: in DELETE mode, in WAL closed, and in WAL while a writer has it open."""

    def make(name: str) -> Report:
        path = shared_store(name)
        if request.param == "delete":
            return check_store(StoreFile(path))
        with closing(sqlite3.connect(path, isolation_level=None)) as writer:
            writer.execute("PRAGMA journal_mode=WAL")
            if request.param == "live":
                writer.execute("UPDATE conversations SET title = 'looked at' WHERE conversation_id = 1")
                return check_store(StoreFile(path))
        return check_store(StoreFile(path))

    return make


@pytest.mark.parametrize(
    ("name", "expected"),
    [("corrupt.db", CORRUPT), ("small.db", set()), ("old-0.1.0.db", OLD), ("mixed.db", MIXED)],
)
def test_errors_and_warnings_are_exactly_these(
    report: Callable[[str], Report], name: str, expected: set[tuple[str, str]]
) -> None:
    found = report(name)
    assert found.pairs("error", "warning") == expected
    assert sum(found.counts[one] for one in ("error", "warning")) == len(expected), "one finding for each row"


def test_the_quoted_mark_is_healthy(shared_store: Callable[[str], Path]) -> None:
    found = check_store(StoreFile(shared_store("corrupt.db")))
    assert [one.summary_id for one in found.quoted] == [QUOTED]
    assert "25 bytes before it and 380 after it" in found.quoted[0].reason


def test_info_is_what_is_known_and_harmless(shared_store: Callable[[str], Path]) -> None:
    found = check_store(StoreFile(shared_store("corrupt.db")))
    assert {one.rule for one in found.findings if one.severity == "info"} == {"C2", "O1", "M2", "M3", "B2"}
    assert {one.code for one in found.of("M2")} == {"M2-descendant-tokens", "M2-source-tokens"}
    assert [one.ids for one in found.of("C2")] == [("1:23", "1:29")]


def test_each_conversation_alone_gives_the_same(shared_store: Callable[[str], Path]) -> None:
    file = StoreFile(shared_store("corrupt.db"))
    whole = check_store(file).pairs()
    assert check_store(file, 1).pairs() | check_store(file, 2).pairs() == whole


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "jsonl-0.15.3",
            {
                ("K1", one)
                for one in [
                    "sum_88178aff9248a23a",
                    "sum_9c9c78fa310f087a",
                    "sum_ba9a6d01054d3466",
                    "sum_ba69136946c586e9",
                ]
            },
        ),
        ("sqlite-1.0-beta", set()),
    ],
)
def test_states_of_a_real_client(state_dir: Callable[[str], Path], name: str, expected: set[tuple[str, str]]) -> None:
    found = check_store(StoreFile(state_dir(name) / "lcm.db"))
    assert found.pairs("error", "warning") == expected
    assert found.of("M3") == (), "the payloads lie beside the store, though their paths lead elsewhere"
    assert found.quoted == ()
