"""The largest messages and summaries of a conversation or of the store, by tokens."""

from dataclasses import dataclass

from lcm_lab.store import measure
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import kind_label, read_depth
from lcm_lab.store.text import octets, preview


@dataclass(frozen=True, slots=True)
class LargeItem:
    """A message or summary: ``kind`` is a role, ``leaf`` or ``dN``; ``tokens`` by ``rule``, size in bytes."""

    table: str
    row_id: str
    conversation_id: int
    kind: str
    tokens: int
    rule: str
    bytes: int
    created_at: str | None
    preview: str


def largest(reader: Reader, conversation_id: int | None, *, top: int) -> list[LargeItem]:
    """The ``top`` largest of both tables together, the largest first; reads each text once, keeps none."""
    where, parameters = ("WHERE t.conversation_id = ?", (conversation_id,)) if conversation_id is not None else ("", ())
    depth = reader.schema.column("summaries", "depth", alias="t")
    found: list[LargeItem] = []
    for table, key, kind, tokens, rule in (
        (
            "messages",
            "message_id",
            "t.role, NULL",
            measure.message_tokens(reader.schema, "t"),
            measure.message_rule("t"),
        ),
        ("summaries", "summary_id", f"t.kind, {depth}", measure.summary_tokens("t"), measure.summary_rule("t")),
    ):
        sql = f"""
            SELECT t.{key}, t.conversation_id, {kind}, {tokens} AS tokens, {rule}, {octets("t.content")}, t.created_at,
                   substr(t.content, 1, 480)
            FROM {table} t {where} ORDER BY tokens DESC, 1 LIMIT ?"""
        for row in reader.rows(sql, (*parameters, top)):
            of_message = table == "messages"
            label = str(row[2]) if of_message else kind_label(str(row[2]), read_depth(reader, row[0], row[3]))
            text = preview(str(row[8] or ""))
            found.append(LargeItem(table, str(row[0]), row[1], label, row[4], row[5], row[6] or 0, row[7], text))
    return sorted(found, key=lambda one: -one.tokens)[:top]
