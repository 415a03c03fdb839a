"""The summary DAG as stored: nodes without their texts, edges, links, and one node whole."""

from collections.abc import Iterable
from dataclasses import dataclass

from lcm_lab.store import measure
from lcm_lab.store.connect import Reader
from lcm_lab.store.messages import batches, marks
from lcm_lab.store.rows import Edge, Summary, kind_label, load, read_depth
from lcm_lab.store.text import octets


@dataclass(frozen=True, slots=True)
class Node:
    """A summary without its text: ``tokens`` by ``rule``, size in bytes, how it begins, and what it rests on.

    ``message_links`` counts the messages a leaf was made from; ``source_tokens`` are the tokens of what a node was made
    from directly (messages of a leaf, sources of a condensed one), None where nothing is linked, or where one of the
    sources is missing or in another conversation.
    """

    summary_id: str
    conversation_id: int
    kind: str
    depth: int
    tokens: int
    rule: str
    bytes: int
    preview: str
    earliest_at: str | None
    latest_at: str | None
    created_at: str
    model: str | None
    message_links: int
    source_tokens: int | None
    in_context: int | None

    @property
    def label(self) -> str:
        """``leaf`` or ``dN``."""
        return kind_label(self.kind, self.depth)


def nodes(reader: Reader, conversation_id: int | None = None, *, ids: Iterable[str] | None = None) -> list[Node]:
    """The summaries of a conversation (of the store without one, or those with ``ids``) without their texts."""
    if ids is not None:
        return [
            node
            for batch in batches(ids)
            for node in _nodes(reader, f"WHERE t.summary_id IN ({marks(batch)})", tuple(batch))
        ]
    if conversation_id is None:
        return _nodes(reader, "", ())
    return _nodes(reader, "WHERE t.conversation_id = ?", (conversation_id,))


def edges(reader: Reader, conversation_id: int | None = None) -> list[Edge]:
    """Edges whose derived or source end lies in the conversation (all without one), dangling ones included."""
    if conversation_id is None:
        return load(reader, Edge, "ORDER BY t.summary_id, t.ordinal")
    mine = "(SELECT summary_id FROM summaries WHERE conversation_id = ?)"
    derived = load(reader, Edge, f"WHERE t.summary_id IN {mine} ORDER BY t.summary_id, t.ordinal", (conversation_id,))
    source = load(
        reader, Edge, f"WHERE t.parent_summary_id IN {mine} ORDER BY t.summary_id, t.ordinal", (conversation_id,)
    )
    return list(dict.fromkeys([*derived, *source]))


def leaf_messages(reader: Reader, conversation_id: int) -> dict[str, tuple[int, ...]]:
    """Message ids by leaf, in link order, for the summaries of a conversation."""
    sql = (
        "SELECT l.summary_id, l.message_id FROM summaries s JOIN summary_messages l ON l.summary_id = s.summary_id "
        "WHERE s.conversation_id = ? ORDER BY l.summary_id, l.ordinal"
    )
    found: dict[str, list[int]] = {}
    for summary_id, message_id in reader.rows(sql, (conversation_id,)):
        found.setdefault(summary_id, []).append(message_id)
    return {summary_id: tuple(ids) for summary_id, ids in found.items()}


def summary(reader: Reader, summary_id: str) -> Summary | None:
    """One summary with its text; None where there is none."""
    found = load(reader, Summary, "WHERE t.summary_id = ?", (summary_id,))
    return found[0] if found else None


def sources(reader: Reader, summary_id: str) -> list[str]:
    """Ids of the summaries a node was made from, in their order."""
    return [
        one.parent_summary_id for one in load(reader, Edge, "WHERE t.summary_id = ? ORDER BY t.ordinal", (summary_id,))
    ]


def derived(reader: Reader, summary_id: str) -> list[str]:
    """Ids of the summaries made from a node."""
    return [one.summary_id for one in load(reader, Edge, "WHERE t.parent_summary_id = ? ORDER BY 1", (summary_id,))]


def _nodes(reader: Reader, where: str, parameters: tuple[object, ...]) -> list[Node]:
    def read(name: str) -> str:
        return reader.schema.column("summaries", name, alias="t")

    links = "(SELECT count(*) FROM summary_messages l WHERE l.summary_id = t.summary_id)"
    # A sum over what is left of the sources would be a number of something else: one gone, and there is none.
    from_messages = (
        f"(SELECT CASE WHEN count(m.message_id) = count(*) THEN sum({measure.message_tokens(reader.schema, 'm')}) END "
        "FROM summary_messages l LEFT JOIN messages m ON m.message_id = l.message_id "
        "AND m.conversation_id = t.conversation_id WHERE l.summary_id = t.summary_id)"
    )
    from_sources = (
        f"(SELECT CASE WHEN count(p.summary_id) = count(*) THEN sum({measure.summary_tokens('p')}) END "
        "FROM summary_parents e LEFT JOIN summaries p ON p.summary_id = e.parent_summary_id "
        "AND p.conversation_id = t.conversation_id WHERE e.summary_id = t.summary_id)"
    )
    # In one pass: no index leads from a summary to its place, and a context may be as long as the conversation.
    in_context = (
        "SELECT c.conversation_id, c.summary_id, min(c.ordinal) FROM context_items c WHERE c.item_type = 'summary' "
        f"AND c.conversation_id IN (SELECT t.conversation_id FROM summaries t {where}) GROUP BY 1, 2"
    )
    places = {(row[0], row[1]): row[2] for row in reader.rows(in_context, parameters)}
    sql = f"""
        SELECT t.summary_id, t.conversation_id, t.kind, {read("depth")}, {measure.summary_tokens("t")},
               {measure.summary_rule("t")}, {octets("t.content")}, substr(t.content, 1, 480),
               {read("earliest_at")}, {read("latest_at")}, t.created_at, {read("model")},
               {links}, CASE WHEN t.kind = 'leaf' THEN {from_messages} ELSE {from_sources} END
        FROM summaries t {where}"""
    return [
        Node(
            summary_id=str(row[0]),
            conversation_id=row[1],
            kind=str(row[2]),
            depth=read_depth(reader, row[0], row[3]),
            tokens=row[4],
            rule=row[5],
            bytes=row[6] or 0,
            preview=" ".join(str(row[7] or "").split()),
            earliest_at=row[8],
            latest_at=row[9],
            created_at=row[10],
            model=row[11],
            message_links=row[12],
            source_tokens=row[13],
            in_context=places.get((row[1], row[0])),
        )
        for row in reader.rows(sql, parameters)
    ]
