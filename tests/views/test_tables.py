"""Tables show stored text literally, in HTML and on a terminal; NULL is a dash; JSON is always valid."""

import json
import math
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lcm_lab
from lcm_lab import times
from lcm_lab.views import as_json, notebook, table, tables, terminal
from tests.conftest import StoreMaker

HOSTILE = "</script><img src=x onerror=alert(1)> <b>x</b> $\\alpha$ &amp;"


def html_of(result: object) -> str:
    """A result as a notebook shows it."""
    return "".join(notebook.html(one) for one in tables.of(result, times.zone("UTC")))


def test_stored_html_is_shown_and_not_run(make_store: StoreMaker) -> None:
    quoted = HOSTILE.replace("'", "''")
    path = make_store(
        f"UPDATE messages SET content = '{quoted}' WHERE message_id = 6",
        f"UPDATE conversations SET title = '{quoted}', session_id = '{quoted}'",
        f"UPDATE summaries SET content = '{quoted}'",
    )
    lab = lcm_lab.open(path)
    results = [
        lab.info(),
        lab.conversations(),
        lab.messages(44),
        lab.context(44),
        lab.dag(44),
        lab.summary("sum_c1"),
        lab.search("alert"),
        lab.check(),
        lab.budget(44),
        lab.store_budget(),
    ]
    for result in results:
        shown = html_of(result)
        assert "<img" not in shown
        assert "<script" not in shown
        assert "<b>x" not in shown
        assert "$" not in shown
    assert "&lt;img src=x" in html_of(lab.messages(44))


def test_a_line_of_200_kb_is_cut_with_its_size(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = hex(zeroblob(100000)) WHERE message_id = 6")
    shown = html_of(lcm_lab.open(path).messages(44))
    assert len(shown) < 60_000
    assert "200,000 characters in all" in shown


@given(st.text(max_size=200))
def test_nothing_printed_can_act(text: str) -> None:
    shown = terminal.render([table.make("t", ["a"], [[text]])], color=False, width=100)
    assert not any(character < " " and character not in "\n\t" for character in shown)
    assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068") & set(shown)


def test_columns_stay_aligned_with_wide_characters() -> None:
    shown = terminal.render([table.make("", ["a", "b"], [["\u4f60\u597d", "x"], ["abcd", "x"]])], color=False, width=80)
    first, second = shown.splitlines()[1:3]
    assert first.index("x") + 2 == second.index("x")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "\u2014"),
        ("", ""),
        (0, "0"),
        (1234567, "1,234,567"),
        (True, "yes"),
        (1.5, "1.50"),
        ("x\x1b[0m", "x\ufffd[0m"),
    ],
)
def test_cells(value: object, shown: str) -> None:
    assert table.cell(value) == shown


@pytest.mark.parametrize(
    ("count", "shown"), [(None, "\u2014"), (0, "0 B"), (1023, "1,023 B"), (1024, "1.0 KB"), (5 * 1024**3, "5.0 GB")]
)
def test_sizes(count: int | None, shown: str) -> None:
    assert table.size(count) == shown


@dataclass(frozen=True)
class Anything:
    """A value with what JSON cannot hold."""

    path: Path
    names: frozenset[str]
    number: float
    text: str


def test_anything_becomes_valid_json() -> None:
    told = json.loads(as_json.text(Anything(Path("a/b"), frozenset({"y", "x"}), math.nan, "\ud800 \u4f60")))
    assert told == {"path": "a/b", "names": ["x", "y"], "number": None, "text": "? \u4f60"}


def test_every_kind_of_result_has_a_table_and_json(base_store: Path, tmp_path: Path) -> None:
    lab = lcm_lab.open(base_store)
    for result in (lab.info(), lab.conversations(), lab.messages(44), lab.context(44), lab.budget(44), lab.dag(44), lab.summary("sum_la"),
                   lab.files(44), lab.briefs(44), lab.search("443"), lab.check(), lab.store_budget(), lab.compression(44), lab.agents()):  # fmt: skip
        made = tables.of(result, lab.zone)
        assert made
        assert all(len(row) == len(one.columns) for one in made for row in one.rows)
        json.loads(as_json.text(result))


def test_a_notebook_shows_results_without_being_told(base_store: Path) -> None:
    from IPython.testing.globalipapp import start_ipython

    shell = start_ipython()
    shell.display_formatter.active_types = shell.display_formatter.format_types
    lab = lcm_lab.open(base_store, tz="Asia/Tokyo")
    data, _ = shell.display_formatter.format(lab.budget(44))
    assert "<table" in data["text/html"]
    assert "Asia/Tokyo" in data["text/html"]
    assert "summaries d1" in data["text/plain"]


BROKEN = (
    "UPDATE summaries SET content = content || char(10) || '[Truncated from 900 tokens]' WHERE summary_id = 'sum_la'"
)
TEXT = "The firewall blocks 8080.\nExpand for details about: the port"


def test_check_names_the_command_that_repairs(make_store: StoreMaker) -> None:
    shown = html_of(lcm_lab.open(make_store(BROKEN)).check())
    assert "lcm-lab repair 44&#x27; shows what it takes to make 1 broken summary again" in shown
    assert "lcm-lab repair" not in html_of(lcm_lab.open(make_store()).check())


def test_every_result_of_a_repair_is_a_table(make_store: StoreMaker) -> None:
    lab = lcm_lab.open(make_store(BROKEN), tz="UTC")
    script = lcm_lab.Scripted(lambda _request: TEXT)
    assert "1 truncation mark at the end" in html_of(lab.repair())
    preview = lab.repair().preview(script)
    assert "A preview: nothing was changed." in html_of(preview)
    assert "+Expand for details about: the port" in html_of(preview.items[0].plan)
    done = lab.repair().apply(script)
    assert f" undo {done.batch} --apply" in html_of(done)
    assert "No summary in this store is broken." in html_of(lab.repair())
    plan = lab.dissolve(44, "sum_c1")
    assert "Context of conversation 44:" in html_of(plan)
    applied = plan.apply()
    assert f" undo {applied.journal_id} --apply" in html_of(applied)
    assert "Nothing was changed." in html_of(lab.undo_plan())
    assert "Undone: 1 repair" in html_of(lab.undo())
    assert "3 repairs in " in html_of(lab.history())
    assert "were free before" in html_of(lab.backup())
    assert "What was there before is kept in" in html_of(lab.restore())
