"""The views agree with the store layer, and circles end."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from lcm_lab import times
from lcm_lab.analysis.frames import Frames
from lcm_lab.store import context, overview, summaries
from lcm_lab.store.connect import StoreFile

StoreMaker = Callable[..., Path]
UTC = times.zone("UTC")
PICTURE = "x data:image/png;base64," + "A" * 9000


def frames_of(path: Path) -> Frames:
    return Frames(StoreFile(path), UTC)


def seconds(moment: object) -> float | None:
    """The seconds of a time, as a frame or the store gives it; None for none."""
    found = times.parse(None if moment is None else str(moment))
    return None if found is None else found.timestamp()


def agree(path: Path) -> None:
    store, frames = StoreFile(path), frames_of(path)
    totals = store.read(overview.store_totals)
    row = frames.sql(
        "SELECT sum(tokens) AS t, count(*) FILTER (token_rule = 'estimated') AS e, sum(content_bytes) AS b FROM messages"
    )
    assert row.iloc[0].tolist() == [totals.message_tokens, totals.re_estimated, totals.message_bytes]
    assert frames.sql("SELECT COALESCE(sum(tokens), 0) AS t FROM summary_tree")["t"].tolist() == [totals.summary_tokens]
    per = store.read(lambda reader: overview.with_totals(reader, overview.conversations(reader)))
    shown = frames.sql("SELECT * FROM conversation_totals").set_index("conversation_id")
    for one in per:
        mine = shown.loc[one.conversation.conversation_id]
        assert (mine["messages"], mine["message_tokens"], mine["re_estimated"]) == (
            one.messages,
            one.message_tokens,
            one.re_estimated,
        )
        assert (mine["summaries"], mine["summary_tokens"]) == (one.summaries, one.summary_tokens)
        assert (mine["context_items"], mine["context_tokens"]) == (one.context_items, one.context_tokens)
        assert seconds(mine["last_message_at_utc"]) == seconds(one.last_message_at)
    nodes = {one.summary_id: one for one in store.read(summaries.nodes)}
    for node in frames.sql("SELECT * FROM summary_tree").itertuples():
        theirs = nodes[node.summary_id]
        assert (node.tokens, node.token_rule, node.label) == (theirs.tokens, theirs.rule, theirs.label)
        assert node.message_links == theirs.message_links
        assert (None if pd.isna(node.source_tokens) else node.source_tokens) == theirs.source_tokens
        assert node.in_context == (theirs.in_context is not None)
    for one in per:
        key = one.conversation.conversation_id
        covered = {message for _, message in store.read(lambda reader, key=key: context.covered_messages(reader, key))}
        sql = f"SELECT message_id FROM coverage WHERE conversation_id = {key} AND in_context AND covered_in_context"
        assert set(frames.sql(sql)["message_id"]) == covered


@pytest.mark.parametrize("name", ["small.db", "corrupt.db", "mixed.db", "old-0.1.0.db"])
def test_real_stores_agree_with_the_store_layer(shared_store: Callable[[str], Path], name: str) -> None:
    agree(shared_store(name))


def test_bad_counts_and_pictures_agree_with_the_store_layer(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET token_count = '12 tokens' WHERE message_id = 1;"
        "UPDATE messages SET token_count = 3.7 WHERE message_id = 2; UPDATE messages SET token_count = 0 WHERE message_id = 3;"
        f"UPDATE messages SET content = '{PICTURE}', token_count = 23000 WHERE message_id = 4;"
        "UPDATE summaries SET token_count = -1 WHERE summary_id = 'sum_la';"
        "INSERT INTO message_parts(part_id, message_id, session_id, part_type, ordinal, tool_output) "
        "VALUES ('p1', 3, 's44', 'tool', 0, 'a long output of a tool, longer than the message');"
        "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id) VALUES (44, 9, 'message', 4), (44, 10, 'message', 777);"
    )
    agree(path)
    frames = frames_of(path)
    assert [(one.row, one.column) for one in frames.anomalies()] == [("1", "token_count"), ("2", "token_count")]
    assert frames.sql("SELECT token_rule AS r FROM message_tokens WHERE message_id = 4")["r"].tolist() == ["estimated"]
    assert frames.sql("SELECT tokens AS t FROM message_tokens WHERE message_id = 2")["t"].tolist() == [4]


def test_context_says_what_a_place_points_to(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id) VALUES (44, 7, 'summary', 'gone');"
    )
    frame = frames_of(path).sql("SELECT ordinal, label, tokens, resolves FROM context ORDER BY ordinal")
    assert frame["label"].fillna("-").tolist() == ["d1", "user", "assistant", "-"]
    assert frame["tokens"].tolist() == [7, 3, 3, 0]
    assert frame["resolves"].tolist() == [True, True, True, False]


def test_coverage_is_direct_and_through_others(base_store: Path) -> None:
    rows = frames_of(base_store).sql("SELECT * FROM coverage ORDER BY message_id").set_index("message_id")
    assert list(rows.loc[1, "direct_summaries"]) == ["sum_la"]
    assert list(rows.loc[1, "all_summaries"]) == ["sum_c1", "sum_la"]
    assert list(rows.loc[1, "context_summaries"]) == ["sum_c1"]
    assert rows["covered"].tolist() == [True] * 4 + [False] * 2
    assert rows["in_context"].tolist() == [False] * 4 + [True] * 2


def test_the_tree_says_what_a_summary_saves(base_store: Path) -> None:
    rows = frames_of(base_store).sql("SELECT * FROM summary_tree").set_index("summary_id")
    assert rows.loc["sum_la", "source_tokens"] == 15
    assert rows.loc["sum_la", "compression"] == pytest.approx(1 - 7 / 15)
    assert rows.loc["sum_la", ["path", "roots"]].tolist() == ["sum_c1/sum_la", "sum_c1"]
    assert rows.loc["sum_c1", ["sources", "derived", "message_links"]].tolist() == [2, 0, 0]


def test_a_summary_larger_than_its_source_saves_less_than_nothing(make_store: StoreMaker) -> None:
    path = make_store("UPDATE summaries SET token_count = 30 WHERE summary_id = 'sum_la';")
    frame = frames_of(path).sql("SELECT compression FROM summary_tree WHERE summary_id = 'sum_la'")
    assert frame["compression"].tolist() == [-1.0]


def test_the_last_message_is_the_one_with_the_highest_seq(make_store: StoreMaker) -> None:
    path = make_store(
        "UPDATE messages SET created_at = '2020-01-01 00:00:00' WHERE message_id = 6;"
        "UPDATE messages SET created_at = 'never' WHERE message_id = 1;"
    )
    agree(path)
    row = frames_of(path).sql("SELECT * FROM conversation_totals WHERE conversation_id = 44").iloc[0]
    assert str(row["last_message_at_utc"]) == "2020-01-01 00:00:00"
    assert str(row["first_message_at_utc"]) == "NaT"


def test_sources_of_which_one_is_gone_are_not_known(make_store: StoreMaker) -> None:
    path = make_store(
        "DELETE FROM messages WHERE message_id = 1; DELETE FROM summaries WHERE summary_id = 'sum_lb';"
        "UPDATE summaries SET depth = 0 WHERE summary_id = 'sum_c1';"
    )
    agree(path)
    frame = frames_of(path).sql("SELECT summary_id, source_tokens, compression FROM summary_tree ORDER BY 1")
    assert frame["summary_id"].tolist() == ["sum_c1", "sum_la"]
    assert frame["source_tokens"].isna().all()
    assert frame["compression"].isna().all()


def test_circles_end(make_store: StoreMaker) -> None:
    path = make_store(
        "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_la', 'sum_c1', 0), ('sum_lb', 'sum_lb', 0);"
    )
    frames = frames_of(path)
    tree = frames.sql("SELECT summary_id, path, roots FROM summary_tree ORDER BY 1")
    assert tree["path"].isna().tolist() == [True, True, True]
    coverage = frames.sql("SELECT all_summaries FROM coverage WHERE message_id = 1")
    assert list(coverage["all_summaries"][0]) == ["sum_c1", "sum_la"]


def test_a_shared_source_has_both_roots_and_one_path(make_store: StoreMaker) -> None:
    path = make_store()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) "
            "VALUES ('sum_c2', 44, 'condensed', 1, 'Again.', 2)"
        )
        connection.execute(
            "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_c2', 'sum_la', 0)"
        )
    row = frames_of(path).sql("SELECT path, roots, derived FROM summary_tree WHERE summary_id = 'sum_la'").iloc[0]
    assert row.tolist() == ["sum_c1/sum_la", "sum_c1 sum_c2", 2]
