"""Summaries without their texts: their place in the context is found however long that is."""

import time

from lcm_lab.store import summaries
from lcm_lab.store.connect import StoreFile
from tests.conftest import StoreMaker

LONG = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
 INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
 SELECT 'many_' || i, 45, 'leaf', 0, 'text', 1 FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40000)
 INSERT INTO context_items(conversation_id, ordinal, item_type, summary_id)
 SELECT 45, i, 'summary', 'many_' || (1 + i % 1000) FROM n;
"""


def test_the_place_in_a_long_context(make_store: StoreMaker) -> None:
    """Looked for one by one this took a minute where a conversation had 100,000 items in its context."""
    store = StoreFile(make_store(LONG))
    begun = time.perf_counter()
    found = {one.summary_id: one.in_context for one in store.read(lambda reader: summaries.nodes(reader, 45))}
    assert time.perf_counter() - begun < 1.5
    assert len(found) == 2000
    assert (found["many_1"], found["many_2"], found["many_1000"], found["many_1001"]) == (1000, 1, 999, None)
    some = store.read(lambda reader: summaries.nodes(reader, ids=["many_2", "many_2000", "sum_la"]))
    assert {one.summary_id: one.in_context for one in some}["many_2"] == 1
