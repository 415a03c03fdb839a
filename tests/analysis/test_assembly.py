"""What the model would get: order, wrapper, focus overlay, fresh tail, budget, and every anomaly said on its item."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lcm_lab import times, tokens
from lcm_lab.analysis import assembly, budget, xml
from lcm_lab.analysis.context import Context
from lcm_lab.data import schema_files
from lcm_lab.errors import UsageError
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.rows import FocusBrief, Summary
from tests.conftest import BASE_ROWS, StoreMaker

UTC = times.zone("UTC")


def context(path: Path, conversation_id: int = 44, **options: int | None) -> Context:
    """The assembled context of a conversation."""
    line = assembly.Line.of(**{"window": None, "compact_at": None, "fresh_tail": None, **options})  # type: ignore[arg-type]
    return StoreFile(path).read(lambda reader: assembly.assemble(reader, conversation_id, zone=UTC, line=line))


def test_items_in_order_with_wrapper_and_pieces(base_store: Path) -> None:
    found = context(base_store)
    assert [(one.ordinal, one.kind, one.item_id, one.tokens) for one in found.items] == [
        (0, "d1", "sum_c1", 7), (1, "user", "#5", 3), (2, "assistant", "#6", 3),
    ]  # fmt: skip
    assert found.items[0].wrapper_tokens > 0
    assert found.total_tokens == 13 + found.wrapper_tokens
    assert all(sum(piece.tokens for piece in one.pieces) == one.tokens for one in found.items)


def test_the_xml_a_model_reads() -> None:
    one = Summary(
        "sum_x", 1, "condensed", 1, "a < b & c", 5, "2026-02-17 15:37:00", None, 8, 0, 0, "2026-02-17", "[]", "m"
    )
    assert xml.summary(one, ["sum_a"], times.zone("Europe/Berlin")) == (
        '<summary id="sum_x" kind="condensed" depth="1" descendant_count="8" trust="untrusted" '
        'earliest_at="2026-02-17T16:37:00">\n  <parents>\n    <summary_ref id="sum_a" />\n  </parents>\n'
        "  <content>\na &lt; b &amp; c\n  </content>\n</summary>"
    )


def test_an_empty_conversation_has_an_empty_context(base_store: Path) -> None:
    found = context(base_store, 45)
    assert (found.items, found.total_tokens) == ((), 0)
    assert budget.budget(found, stored_messages=0, stored_tokens=0).lines == ()


def test_gaps_foreign_rows_repeats_and_missing_rows_are_said(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO summaries(summary_id, conversation_id, kind, content, token_count) VALUES ('sum_far', 45, 'leaf', 'far', 1)",
        """INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id) VALUES
           (44, 5, 'summary', NULL, 'sum_far'), (44, 6, 'message', 5, NULL), (44, 7, 'message', 999, NULL),
           (44, 8, 'summary', NULL, 'sum_gone')""",
    )
    said = {one.ordinal: one.anomalies for one in context(path).items}
    assert said[0] == said[1] == said[2] == ()
    assert said[5] == ("belongs to conversation 45", "gap: 5 follows 2", "summary behind a message")
    assert said[6] == ("is in the context twice",)
    assert said[7] == ("points to a message that does not exist",)
    dropped = {one.ordinal: one.dropped for one in context(path).items}
    assert (dropped[7], dropped[8], dropped[5]) == ("missing row", "missing row", None)


def test_a_covered_message_names_its_summary_and_counts_as_redundant(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 3, 'message', 1)"
    )
    found = context(path)
    assert found.items[3].covered_by == ("sum_c1",)
    spent = budget.budget(found, stored_messages=6, stored_tokens=30)
    assert [one.item_id for one in spent.redundant] == ["#1"]
    assert spent.redundant_tokens == 5


def test_a_source_beside_its_derived_summary_is_covered(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 3, 'summary', 'sum_la')"
    )
    assert context(path).items[3].covered_by == ("sum_c1",)


def test_a_cycle_ends(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_la', 'sum_c1', 0)"
    )
    assert [one.kind for one in context(path).items] == ["d1", "user", "assistant"]


BRIEF = """INSERT INTO focus_briefs(brief_id, conversation_id, prompt, content, status, token_count, covered_message_seq, created_at)
           VALUES ('focus_1', 44, 'ports', 'Only ports matter.', 'active', 5, {seq}, '2026-03-31 01:00:00')"""


def test_an_active_brief_stands_in_for_what_it_covers(make_store: StoreMaker) -> None:
    found = context(make_store(BRIEF.format(seq=3)))
    assert [(one.kind, one.dropped) for one in found.items] == [
        ("focus", None), ("d1", "covered by focus brief focus_1"), ("user", None), ("assistant", None),
    ]  # fmt: skip
    assert found.focus_brief == "focus_1"


def test_a_brief_that_covers_nothing_is_not_shown(make_store: StoreMaker) -> None:
    found = context(make_store(BRIEF.format(seq=1)))
    assert [one.kind for one in found.items] == ["d1", "user", "assistant"]
    assert found.focus_brief is None


def test_the_newest_active_brief_wins(make_store: StoreMaker) -> None:
    older = BRIEF.format(seq=3).replace("focus_1", "focus_0").replace("2026-03-31 01", "2026-03-30 01")
    assert context(make_store(BRIEF.format(seq=3), older)).focus_brief == "focus_1"


MANY = "".join(
    f"INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) VALUES ({100 + i}, 45, {i}, '{role}', 'text {i}', 10);"
    f"INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (45, {i}, 'message', {100 + i});"
    for i, role in enumerate(["user"] + ["assistant"] * 5 + ["user"] + ["assistant"] * 3)
)


@pytest.mark.parametrize(("tail", "first"), [(2, 6), (4, 6), (5, 5), (64, 0), (0, 6)])
def test_the_fresh_tail_reaches_back_to_the_newest_user_message(make_store: StoreMaker, tail: int, first: int) -> None:
    found = context(make_store(MANY), 45, fresh_tail=tail)
    assert [one.ordinal for one in found.items if one.in_tail] == list(range(first, 10))


@pytest.mark.parametrize(("window", "kept"), [(None, 10), (100, 10), (99, 9), (65, 6), (10, 4), (1, 4)])
def test_older_items_that_do_not_fit_are_marked_and_the_tail_is_kept(
    make_store: StoreMaker, window: int, kept: int
) -> None:
    found = context(make_store(MANY), 45, fresh_tail=4, window=window)
    assert len(found.sent) == kept
    assert [one.ordinal for one in found.sent] == list(range(10 - kept, 10))
    assert {one.dropped for one in found.items[: 10 - kept]} <= {"over the window"}


@pytest.mark.parametrize(
    ("window", "level", "said"),
    [
        (None, "none", "no budget set"),
        (0, "none", "no budget set"),
        (1_000_000, "ok", "0 % of 1,000,000 tokens"),
        (120, "warning", "over the compaction line at 90"),
        (41, "over", "over the window"),
    ],
)
def test_the_budget_line(make_store: StoreMaker, window: int | None, level: str, said: str) -> None:
    path = make_store(MANY.replace(", 10);INSERT", ", 10);INSERT"))
    spent = budget.budget(context(path, 45, window=window, fresh_tail=10), stored_messages=10, stored_tokens=100)
    assert (spent.level, said in spent.verdict) == (level, True)


def test_242_percent_is_said_as_such(make_store: StoreMaker) -> None:
    path = make_store(MANY, "UPDATE messages SET token_count = 310000 WHERE message_id = 109")
    spent = budget.budget(context(path, 45, window=128_000, fresh_tail=1), stored_messages=0, stored_tokens=0)
    assert spent.percent == 242
    assert spent.level == "over"


def test_an_empty_assistant_row_is_dropped_and_counts_nothing(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = '', token_count = 0 WHERE message_id = 6")
    item = context(path).items[2]
    assert (item.dropped, item.tokens) == ("empty assistant message", 0)


def test_tool_traffic_is_split_by_what_it_carries(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = '', token_count = 100 WHERE message_id = 6",
        """INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, tool_input) VALUES
           ('a', 6, 's', 'reasoning', 0, 'thinking about it', NULL), ('b', 6, 's', 'tool', 1, NULL, '{"cmd": "make deploy"}'),
           ('c', 6, 's', 'text', 2, 'Now', NULL)""",
    )
    pieces = {one.group: one.tokens for one in context(path).items[2].pieces}
    assert set(pieces) == {"reasoning", "tool input", "fresh tail: assistant"}
    assert sum(pieces.values()) == 100


def test_heartbeats_are_a_class_that_can_be_left_out(make_store: StoreMaker) -> None:
    beats = "".join(
        f"INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count) VALUES ({100 + i}, 45, {i}, '{role}', '{text}', 10);"
        f"INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (45, {i}, 'message', {100 + i});"
        for i, (role, text) in enumerate(
            [("user", "Read HEARTBEAT.md if it exists."), ("assistant", "HEARTBEAT_OK")] * 20
            + [("user", "What does HEARTBEAT_OK mean?"), ("assistant", "It answers a heartbeat.")]
        )
    )
    found = context(make_store(beats), 45)
    with_noise = budget.budget(found, stored_messages=42, stored_tokens=420)
    without = budget.budget(found, stored_messages=42, stored_tokens=420, with_noise=False)
    assert {line.group: line.tokens for line in with_noise.lines} == {
        "heartbeat": 400,
        "fresh tail: user": 10,
        "fresh tail: assistant": 10,
    }
    assert (with_noise.total, without.total) == (420, 20)


def test_a_picture_costs_flat(make_store: StoreMaker) -> None:
    url = "data:image/png;base64," + "A" * 4_000_000
    path = make_store()
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE messages SET content = ?, token_count = 1000000 WHERE message_id = 5", (f"see {url}",))
        db.commit()
    item = context(path).items[1]
    assert (item.tokens, item.rule) == (tokens.message_tokens(f"see {url}"), "estimated")
    assert item.tokens < 1700
    assert len(item.preview) < 200


def test_zero_negative_and_null_counts_are_re_estimated(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET content = hex(zeroblob(5000)), token_count = 0 WHERE message_id = 5",
        "UPDATE messages SET token_count = -5 WHERE message_id = 6",
    )
    found = context(path)
    assert [(one.tokens, one.rule) for one in found.items[1:]] == [(2500, "estimated"), (3, "estimated")]
    assert found.items[1].anomalies == ("stored tokens 0, re-estimated 2500",)


@pytest.mark.parametrize("version", ["0.1.0", "0.15.3", "1.0.0-beta.4"])
def test_every_schema_assembles(make_store: StoreMaker, version: str) -> None:
    assert [one.kind for one in context(make_store(version=version)).items] == ["d1", "user", "assistant"]


def test_tables_that_are_missing_leave_an_empty_context(make_store: StoreMaker) -> None:
    assert context(make_store("DROP TABLE context_items")).items == ()
    assert context(make_store("DROP TABLE summaries")).items[0].kind == "missing"


def test_a_brief_is_wrapped_with_its_own_attributes() -> None:
    brief = FocusBrief("f", 1, 'say "x"', "body", "active", 1, 2, None, 4, "", None, None, "2026-01-01 00:00:00")
    assert xml.brief(brief, UTC) == (
        '<focus_brief id="f" prompt="say &quot;x&quot;" token_count="1" target_tokens="2" created_at="2026-01-01T00:00:00" '
        'covered_message_seq="4">\n  <content>\nbody\n  </content>\n</focus_brief>'
    )


@given(
    st.lists(st.tuples(st.sampled_from(["message", "summary"]), st.integers(0, 12), st.integers(-3, 500)), max_size=30),
    st.integers(0, 40),
    st.one_of(st.none(), st.integers(0, 3000)),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
def test_classes_add_up_whatever_lies_in_the_context(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, int, int]], tail: int, window: int | None
) -> None:
    path = tmp_path_factory.mktemp("any") / "lcm.db"
    schema_files.create_store(path, "0.15.3", journal_mode="delete")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            BASE_ROWS.replace("INSERT INTO context_items", "-- INSERT INTO context_items").split("-- INSERT")[0]
        )
        for i, (kind, row, count) in enumerate(rows):
            message = kind == "message"
            summary = ["sum_la", "sum_lb", "sum_c1", "sum_gone"][row % 4]
            db.execute(
                "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id) VALUES (44, ?, ?, ?, ?)",
                (i * (1 + row % 2), kind, row if message else None, None if message else summary),
            ) if not db.execute(
                "SELECT 1 FROM context_items WHERE ordinal = ?", (i * (1 + row % 2),)
            ).fetchone() else None
            db.execute("UPDATE messages SET token_count = ? WHERE message_id = ?", (count, row))
        db.commit()
    found = context(path, fresh_tail=tail, window=window)
    spent = budget.budget(found, stored_messages=0, stored_tokens=0)
    assert sum(line.tokens for line in spent.lines) == spent.total == found.total_tokens
    assert len(found.sent) + len(spent.dropped) == len(found.items)
    assert all(line.tokens >= 0 for line in spent.lines)
    assert all(one.dropped is None for one in found.items if one.in_tail and one.kind != "missing")


@pytest.mark.parametrize("wrong", [{"window": -1}, {"fresh_tail": -1}, {"compact_at": 0.0}, {"compact_at": 1.5}])
def test_a_budget_line_that_makes_no_sense_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="compact_at"):
        assembly.Line.of(**{"window": None, "compact_at": None, "fresh_tail": None, **wrong})  # type: ignore[arg-type]


def test_a_split_follows_the_rule_in_any_script(make_store: StoreMaker) -> None:
    path = make_store("UPDATE messages SET content = '', token_count = 1000 WHERE message_id = 6")
    with closing(sqlite3.connect(path)) as db:
        part = "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, text_content, tool_input) VALUES (?, 6, 's', 'tool', ?, ?, ?)"
        db.execute(part.replace("'tool'", "'text'"), ("a", 0, "\u043f" * 400, None))
        db.execute(part, ("b", 1, None, "x" * 400))
        db.commit()
    assert [one.tokens for one in context(path).items[2].pieces] == [500, 500]
