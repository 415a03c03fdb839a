"""Bad arguments, paths, settings and cells: one sentence and a code, never a traceback, and the other rows are shown."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lcm_lab.analysis.frames_plan import ours
from lcm_lab.analysis.health.facts import EdgeFact
from lcm_lab.analysis.health.lineage_rules import circles
from tests.cli.test_cli import answer, output, run
from tests.conftest import StoreMaker

VIEWS = (
    "message_tokens",
    "context",
    "summary_tree",
    "coverage",
    "conversation_totals",
    "context_items",
    "lcm_anomalies",
)


def refused(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the sentence of a run that must fail."""
    done = run(*arguments, env=env)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("context", "9" * 30),
        ("show", "44", "--limit", "-1"),
        ("show", "44", "--cursor", "9" * 30),
        ("conversations", "--cursor", "\u00b2"),
        ("search", "port", "--cursor", "index:\u00b2"),
        ("search", "port", "--cursor", "index:--5"),
        ("search", "port", "--cursor", "index:" + "9" * 40),
        ("search", "x" * 10_001),
        ("budget", "44", "--window", "\u00b2k"),
    ],
)
def test_a_bad_argument_is_a_usage_error(base_store: Path, arguments: tuple[str, ...]) -> None:
    assert refused(*arguments, "--db", str(base_store))[0] == 2


def test_a_zone_that_is_none_is_named(base_store: Path) -> None:
    assert "nope/nope" in refused("show", "44", "--db", str(base_store), env={"TZ": "nope/nope"})[1].lower()


def test_a_path_that_leads_nowhere_is_named(tmp_path: Path) -> None:
    loop = tmp_path / "loop.db"
    loop.symlink_to(loop)
    for path in (str(loop), "~nobody-of-this-name/lcm.db"):
        assert path.rpartition("/")[2] in refused("info", "--db", path)[1]


def test_a_user_that_is_none_is_named(base_store: Path) -> None:
    for arguments in (("show", "--session", "~nobody-here/a.jsonl"), ("export", "--to", "~nobody-here/out")):
        assert "nobody-here" in refused(*arguments, "--db", str(base_store))[1]


def test_what_an_error_quotes_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    assert "\x1b" not in refused("info", "--db", str(tmp_path / "a\x1b[31m.db"))[1]


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_can_be_selected_whole(make_store: StoreMaker, view: str) -> None:
    path = str(make_store("INSERT INTO summary_parents VALUES ('sum_c1', 'gone', 2)"))
    text = output("sql", f"SELECT * FROM {view}", "--db", path)
    rows = answer("sql", f"SELECT * FROM {view}", "--db", path)
    assert "NaT" not in text
    assert "<NA>" not in text
    json.dumps(rows, allow_nan=False)


def test_lists_and_nulls_and_days_of_a_query(base_store: Path) -> None:
    query = "SELECT [1, NULL] AS list, NULL::INTEGER AS nothing, DATE '2026-05-01' AS day, {'a': 1} AS record"
    shown = output("sql", query, "--db", str(base_store))
    assert "2026-05-01" in shown
    assert "00:00:00" not in shown
    (row,) = answer("sql", query, "--db", str(base_store))["rows"]
    values = list(row.values()) if isinstance(row, dict) else row
    assert values[:2] == [[1, None], None]


def test_message_0_is_a_message(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) "
        "VALUES (0, 44, 6, 'user', 'The zeroth.', 3, '2026-03-31 00:00:20');"
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 0)"
    )
    assert "The zeroth." in output("context", "44", "--db", str(path))


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE messages SET conversation_id = 'x' WHERE message_id = 3",
        "UPDATE summaries SET conversation_id = x'00' WHERE summary_id = 'sum_la'",
        "UPDATE context_items SET ordinal = 'first' WHERE ordinal = 1",
        "UPDATE messages SET seq = 'x', token_count = 'many' WHERE message_id = 2",
        "UPDATE summaries SET depth = 'deep', content = x'ff' WHERE summary_id = 'sum_c1'",
        "UPDATE conversations SET created_at = 5, title = x'ff' WHERE conversation_id = 45",
    ],
)
def test_odd_cells_stop_no_command(make_store: StoreMaker, damage: str) -> None:
    path = make_store()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        connection.execute(damage)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for arguments in (
        ["info"], ["conversations"], ["check"], ["context", "44"], ["budget", "44"], ["dag", "44"], ["show", "44"],
        ["sql", "SELECT * FROM conversation_totals"],
    ):  # fmt: skip
        done = run(*arguments, "--db", str(path))
        assert "Traceback" not in done.stderr, (arguments, done.stderr)
        assert done.returncode in (0, 1), (arguments, done.stderr)


def test_an_edge_without_an_end_is_part_of_no_circle() -> None:
    def edge(derived: str | None, source: str | None) -> EdgeFact:
        return EdgeFact(derived, source, 0, None, None)  # type: ignore[arg-type]

    assert list(circles([edge(None, "a"), edge("a", None), edge(None, None)], 1)) == []
    assert [one.ids for one in circles([edge("a", "b"), edge("b", "a")], 1)] == [("a", "b")]


def test_a_name_of_ours_gives_way_until_it_is_free() -> None:
    assert ours("timeline", ["Timeline", "lcm_timeline"]) == "lcm_lcm_timeline"
