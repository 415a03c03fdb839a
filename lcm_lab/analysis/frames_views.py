"""The views that analysts want, over the frames of one store.

``context``             what lies in each conversation's context, place by place, and whether a place points to anything
``message_tokens``      each message's token number with its rule, beside the stored count and the three estimates
``summary_tree``        each summary: tokens, sources, what it saves, whether it is in context, and its way to the top
``coverage``            each message: which summaries cover it, directly or through others, whether one is in context
``conversation_totals`` each conversation in numbers

The invariant: a view's token numbers are those of :mod:`lcm_lab.store.overview`, and no view can run for ever: edges
that form a circle are walked once (``UNION``, never ``UNION ALL``). Checked by ``tests/analysis/test_frames_views.py``.

*Sources* of a summary are what it was made from, *derived* summaries were made from it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lcm_lab.analysis.frames_plan import TablePlan, ours, utc
from lcm_lab.store.schema import quote

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class View:
    """A view: its name, the columns that order it, and its SQL with ``{message_tokens}`` and the like as names."""

    name: str
    order: tuple[str, ...]
    sql: str


# As rows.kind_label: a depth that is no whole number was left out when the frames were filled, and reads as 0.
_LABEL: Final = "CASE WHEN COALESCE({0}.depth, 0) = 0 OR {0}.kind = 'leaf' THEN 'leaf' ELSE concat('d', {0}.depth) END"

_CONTEXT: Final = f"""
    SELECT c.conversation_id, c.ordinal, c.item_type, c.message_id, c.summary_id,
           CASE WHEN s.summary_id IS NOT NULL THEN {_LABEL.format("s")} ELSE m.role END AS label,
           m.seq, s.depth,
           COALESCE(s.{{s_tokens}}, m.{{m_tokens}}, 0) AS tokens,
           COALESCE(s.{{s_token_rule}}, m.{{m_token_rule}}) AS token_rule,
           s.summary_id IS NOT NULL OR m.message_id IS NOT NULL AS resolves,
           COALESCE(s.created_at, m.created_at) AS created_at,
           COALESCE(s.{{s_created_at_utc}}, m.{{m_created_at_utc}}) AS created_at_utc
    FROM context_items c
    LEFT JOIN messages m ON c.item_type = 'message' AND m.message_id = c.message_id
    LEFT JOIN summaries s ON c.item_type = 'summary' AND s.summary_id = c.summary_id"""

_MESSAGE_TOKENS: Final = """
    SELECT m.message_id, m.conversation_id, m.seq, m.role, m.token_count,
           m.{m_tokens} AS tokens, m.{m_token_rule} AS token_rule,
           m.{m_est_plugin} AS est_plugin, m.{m_est_plugin_old} AS est_plugin_old, m.{m_est_lcm_tui} AS est_lcm_tui,
           m.{m_content_bytes} AS content_bytes, m.created_at, m.{m_created_at_utc} AS created_at_utc
    FROM messages m"""

# A node's way to the top goes by its first derived summary only, so that each node has one; a circle has no top and so
# no path. All tops are listed beside it.
_SUMMARY_TREE: Final = f"""
    WITH RECURSIVE edges AS (
        SELECT e.summary_id AS derived, e.parent_summary_id AS source FROM summary_parents e
        WHERE e.summary_id IN (SELECT summary_id FROM summaries)
    ),
    above AS (
        SELECT source AS node, min(derived) AS parent FROM edges GROUP BY source
    ),
    ways(node, path) AS (
        SELECT s.summary_id, s.summary_id FROM summaries s WHERE s.summary_id NOT IN (SELECT node FROM above)
        UNION SELECT a.node, concat(w.path, '/', a.node) FROM ways w JOIN above a ON a.parent = w.node
    ),
    reach(top, node) AS (
        SELECT s.summary_id, s.summary_id FROM summaries s WHERE s.summary_id NOT IN (SELECT node FROM above)
        UNION SELECT r.top, e.source FROM reach r JOIN edges e ON e.derived = r.node
    ),
    tops AS (SELECT node, string_agg(top, ' ' ORDER BY top) AS roots FROM reach GROUP BY node),
    from_messages AS (
        SELECT l.summary_id, count(*) AS links,
               CASE WHEN count(m.message_id) = count(*) THEN sum(m.{{m_tokens}})::BIGINT END AS tokens
        FROM summary_messages l JOIN summaries s ON s.summary_id = l.summary_id
        LEFT JOIN messages m ON m.message_id = l.message_id AND m.conversation_id = s.conversation_id
        GROUP BY l.summary_id
    ),
    from_sources AS (
        SELECT e.summary_id, count(*) AS links,
               CASE WHEN count(p.summary_id) = count(*) THEN sum(p.{{s_tokens}})::BIGINT END AS tokens
        FROM summary_parents e JOIN summaries s ON s.summary_id = e.summary_id
        LEFT JOIN summaries p ON p.summary_id = e.parent_summary_id AND p.conversation_id = s.conversation_id
        GROUP BY e.summary_id
    ),
    made AS (SELECT source, count(*) AS links FROM edges GROUP BY source),
    placed AS (
        SELECT conversation_id, summary_id, min(ordinal) AS ordinal FROM context_items
        WHERE item_type = 'summary' GROUP BY conversation_id, summary_id
    ),
    nodes AS (
        SELECT s.*, {_LABEL.format("s")} AS label,
               CASE WHEN s.kind = 'leaf' THEN fm.tokens ELSE fs.tokens END AS source_tokens,
               COALESCE(fs.links, 0) AS sources, COALESCE(fm.links, 0) AS message_links, COALESCE(d.links, 0) AS derived
        FROM summaries s
        LEFT JOIN from_messages fm ON fm.summary_id = s.summary_id
        LEFT JOIN from_sources fs ON fs.summary_id = s.summary_id
        LEFT JOIN made d ON d.source = s.summary_id
    )
    SELECT n.summary_id, n.conversation_id, n.label, n.depth,
           n.{{s_tokens}} AS tokens, n.{{s_token_rule}} AS token_rule,
           n.sources, n.message_links, n.derived, n.source_tokens,
           CASE WHEN n.source_tokens > 0 THEN 1 - n.{{s_tokens}} / n.source_tokens::DOUBLE END AS compression,
           c.ordinal IS NOT NULL AS in_context, c.ordinal AS context_ordinal,
           t.roots, w.path, n.{{s_earliest_at_utc}} AS earliest_at_utc, n.{{s_latest_at_utc}} AS latest_at_utc,
           n.created_at, n.{{s_created_at_utc}} AS created_at_utc
    FROM nodes n
    LEFT JOIN tops t ON t.node = n.summary_id
    LEFT JOIN ways w ON w.node = n.summary_id
    LEFT JOIN placed c ON c.summary_id = n.summary_id AND c.conversation_id = n.conversation_id"""

_COVERAGE: Final = """
    WITH RECURSIVE below(top, node) AS (
        SELECT s.summary_id, s.summary_id FROM summaries s
        UNION SELECT b.top, e.parent_summary_id FROM below b JOIN summary_parents e ON e.summary_id = b.node
    ),
    direct AS (
        SELECT l.message_id, list(DISTINCT l.summary_id ORDER BY l.summary_id) AS summaries
        FROM summary_messages l WHERE l.summary_id IN (SELECT summary_id FROM summaries) GROUP BY l.message_id
    ),
    covering AS (SELECT DISTINCT l.message_id, b.top FROM summary_messages l JOIN below b ON b.node = l.summary_id),
    everything AS (SELECT message_id, list(top ORDER BY top) AS summaries FROM covering GROUP BY message_id),
    placed AS (SELECT DISTINCT conversation_id, summary_id FROM context_items WHERE item_type = 'summary'),
    shown AS (
        SELECT c.message_id, list(c.top ORDER BY c.top) AS summaries
        FROM covering c JOIN messages m ON m.message_id = c.message_id
        JOIN placed p ON p.summary_id = c.top AND p.conversation_id = m.conversation_id GROUP BY c.message_id
    ),
    items AS (SELECT DISTINCT conversation_id, message_id FROM context_items WHERE item_type = 'message')
    SELECT m.message_id, m.conversation_id, m.seq, m.role, m.{m_tokens} AS tokens,
           e.message_id IS NOT NULL AS covered,
           i.message_id IS NOT NULL AS in_context,
           s.message_id IS NOT NULL AS covered_in_context,
           COALESCE(d.summaries, []) AS direct_summaries,
           COALESCE(e.summaries, []) AS all_summaries,
           COALESCE(s.summaries, []) AS context_summaries
    FROM messages m
    LEFT JOIN direct d ON d.message_id = m.message_id
    LEFT JOIN everything e ON e.message_id = m.message_id
    LEFT JOIN shown s ON s.message_id = m.message_id
    LEFT JOIN items i ON i.message_id = m.message_id AND i.conversation_id = m.conversation_id"""

# The first and the last message are those by seq, as in the list of conversations: times of messages may go back.
_TOTALS: Final = """
    WITH m AS (
        SELECT conversation_id, count(*) AS messages, sum({m_tokens})::BIGINT AS tokens,
               count(*) FILTER ({m_token_rule} = 'estimated') AS re_estimated,
               arg_min_null(created_at, seq) AS first_at, arg_max_null(created_at, seq) AS last_at
        FROM messages GROUP BY conversation_id
    ),
    s AS (
        SELECT conversation_id, count(*) AS summaries, sum({s_tokens})::BIGINT AS tokens,
               max(COALESCE(depth, 0)) AS max_depth
        FROM summaries GROUP BY conversation_id
    ),
    c AS (
        SELECT conversation_id, count(*) AS items, sum(tokens)::BIGINT AS tokens,
               count(*) FILTER (NOT resolves) AS unresolved
        FROM {context} GROUP BY conversation_id
    )
    SELECT v.conversation_id, v.title, v.active,
           COALESCE(m.messages, 0) AS messages, COALESCE(m.tokens, 0) AS message_tokens,
           COALESCE(m.re_estimated, 0) AS re_estimated,
           COALESCE(s.summaries, 0) AS summaries, COALESCE(s.tokens, 0) AS summary_tokens, s.max_depth,
           COALESCE(c.items, 0) AS context_items, COALESCE(c.tokens, 0) AS context_tokens,
           COALESCE(c.unresolved, 0) AS unresolved_items,
           {first_at_utc} AS first_message_at_utc, {last_at_utc} AS last_message_at_utc
    FROM conversations v
    LEFT JOIN m USING (conversation_id) LEFT JOIN s USING (conversation_id) LEFT JOIN c USING (conversation_id)"""

VIEWS: Final = (
    View("context", ("conversation_id", "ordinal"), _CONTEXT),
    View("message_tokens", ("message_id",), _MESSAGE_TOKENS),
    View("summary_tree", ("conversation_id", "summary_id"), _SUMMARY_TREE),
    View("coverage", ("message_id",), _COVERAGE),
    View("conversation_totals", ("conversation_id",), _TOTALS),
)


def create_views(connection: "DuckDBPyConnection", plans: Mapping[str, TablePlan]) -> dict[str, View]:
    """Make the views; by the name each one got (``lcm_`` in front where the store has a table of that name)."""
    names = {view.name: ours(view.name, plans) for view in VIEWS}
    words = {view: quote(name) for view, name in names.items()}
    # Every column that this package adds goes by the name it got: {m_tokens}, {s_created_at_utc}.
    for letter, table in (("m", "messages"), ("s", "summaries")):
        words |= {f"{letter}_{one.twin}": quote(one.name) for one in plans[table].fields if one.twin}
    words |= {f"{name}_utc": utc(f"m.{name}") for name in ("first_at", "last_at")}
    for view in VIEWS:
        connection.execute(f"CREATE VIEW main.{words[view.name]} AS {view.sql.format(**words)}").fetchall()
    return {names[view.name]: view for view in VIEWS}
