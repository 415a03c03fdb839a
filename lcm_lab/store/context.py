"""What lies in a conversation's context, row by row, with what each row points to."""

from dataclasses import dataclass
from typing import Final

from lcm_lab import tokens
from lcm_lab.store import measure
from lcm_lab.store.connect import Reader
from lcm_lab.store.messages import parts_of
from lcm_lab.store.rows import ContextItem, FocusBrief, FocusSource, LargeFile, Summary, load
from lcm_lab.store.text import estimate, octets, parts_text, preview

_BELOW: Final = """
    WITH RECURSIVE below(root, node) AS (
        SELECT DISTINCT summary_id, summary_id FROM context_items WHERE conversation_id = ?1 AND item_type = 'summary'
        UNION SELECT below.root, e.parent_summary_id FROM below JOIN summary_parents e ON e.summary_id = below.node
    )"""
"""SQL: each summary in context (?1 is the conversation) with itself and all below it.

UNION, not UNION ALL: a cycle ends, and a shared source is visited once.
"""


@dataclass(frozen=True, slots=True)
class MessageInContext:
    """A message that a context item points to: its tokens by ``rule``, how it begins, its size in bytes."""

    message_id: int
    conversation_id: int
    seq: int
    role: str
    tokens: int
    rule: str
    stored: int | None
    bytes: int
    preview: str
    created_at: str | None


@dataclass(frozen=True, slots=True)
class PartSize:
    """A part of a message in context: tokens of what it carries, by rule ``plugin``."""

    message_id: int
    part_type: str
    text: int
    tool_input: int
    tool_output: int


def items(reader: Reader, conversation_id: int) -> list[ContextItem]:
    """The context of a conversation in stored order."""
    return load(reader, ContextItem, "WHERE t.conversation_id = ? ORDER BY t.ordinal", (conversation_id,))


def messages(reader: Reader, conversation_id: int) -> dict[int, MessageInContext]:
    """The messages that the context of a conversation points to, by id."""
    sql = f"""
        SELECT m.message_id, m.conversation_id, m.seq, m.role, {measure.message_tokens(reader.schema, "m")},
               {measure.message_rule("m")}, m.token_count, {octets("m.content")},
               substr(m.content, 1, 480), m.created_at
        FROM context_items c JOIN messages m ON m.message_id = c.message_id
        WHERE c.conversation_id = ? AND c.item_type = 'message'"""
    found = {}
    for row in reader.rows(sql, (conversation_id,)):
        broken = reader.take_broken_text()
        if broken:
            reader.note("messages", row[0], "content", "invalid UTF-8, bad bytes shown as \ufffd")
        stored = row[6]
        if not isinstance(stored, int):
            done = "re-estimated" if row[5] == "estimated" else f"read as {row[4]}"
            reader.note("messages", row[0], "token_count", f"{stored!r} in a column of whole numbers, {done}")
            stored = None
        found[row[0]] = MessageInContext(
            message_id=row[0],
            conversation_id=row[1],
            seq=row[2],
            role=str(row[3]),
            tokens=row[4],
            rule=row[5],
            stored=stored,
            bytes=row[7] or 0,
            preview=str(row[8] or ""),
            created_at=row[9] if isinstance(row[9], str) else None,
        )
    return found


def part_sizes(reader: Reader, conversation_id: int) -> dict[int, list[PartSize]]:
    """The parts of the messages in context, measured, by message id in part order; ignored parts are left out."""

    def column(name: str) -> str:
        return reader.schema.column("message_parts", name, alias="mp")

    def weight(name: str) -> str:
        return estimate(column(name))

    picture = f"{tokens.IMAGE_TOKENS} * (mp.part_type = 'file' AND {column('text_content')} IS NULL)"
    sql = f"""
        SELECT mp.message_id, mp.part_type, {weight("text_content")} + {picture}, {weight("tool_input")},
               {weight("tool_output")} + {weight("tool_error")}
        FROM context_items c JOIN message_parts mp ON mp.message_id = c.message_id
        WHERE c.conversation_id = ? AND c.item_type = 'message' AND {column("is_ignored")} IS NOT 1
        ORDER BY mp.message_id, mp.ordinal"""
    found: dict[int, list[PartSize]] = {}
    for message_id, part_type, text, given, output in reader.rows(sql, (conversation_id,)):
        found.setdefault(message_id, []).append(PartSize(message_id, str(part_type), text, given, output))
    return found


def first_part_previews(reader: Reader, ids: list[int]) -> dict[int, str]:
    """How the first telling part of each message begins, for messages whose content is blank."""
    return {key: preview(parts_text(parts, between=" ")) for key, parts in parts_of(reader, ids).items()}


def summaries(reader: Reader, conversation_id: int) -> dict[str, Summary]:
    """The summaries that the context of a conversation points to, texts included, by id."""
    where = "(SELECT summary_id FROM context_items WHERE conversation_id = ? AND item_type = 'summary')"
    found = load(reader, Summary, f"WHERE t.summary_id IN {where}", (conversation_id,))
    return {one.summary_id: one for one in found}


def sources_of_context(reader: Reader, conversation_id: int) -> dict[str, list[str]]:
    """The direct sources of each summary in context, in their order, existing or not."""
    sql = """
        SELECT DISTINCT e.summary_id, e.parent_summary_id, e.ordinal FROM context_items c
        JOIN summary_parents e ON e.summary_id = c.summary_id
        WHERE c.conversation_id = ? AND c.item_type = 'summary' ORDER BY e.summary_id, e.ordinal"""
    found: dict[str, list[str]] = {}
    for derived, source, _ in reader.rows(sql, (conversation_id,)):
        if source is not None:
            found.setdefault(derived, []).append(str(source))
    return found


def covered_summaries(reader: Reader, conversation_id: int) -> dict[str, set[str]]:
    """For each summary in context, every summary below it (cycles end); itself left out."""
    sql = f"{_BELOW} SELECT root, node FROM below WHERE root <> node"
    found: dict[str, set[str]] = {}
    for root, node in reader.rows(sql, (conversation_id,)):
        found.setdefault(root, set()).add(node)
    return found


def covered_messages(reader: Reader, conversation_id: int) -> list[tuple[str, int]]:
    """(summary in context, message id) for each message in context that a summary in context covers by a leaf."""
    sql = f"""
        {_BELOW} SELECT DISTINCT below.root, l.message_id
        FROM below JOIN summary_messages l ON l.summary_id = below.node
        WHERE l.message_id IN (
            SELECT message_id FROM context_items WHERE conversation_id = ?1 AND item_type = 'message'
        ) ORDER BY l.message_id"""
    return [(row[0], row[1]) for row in reader.rows(sql, (conversation_id,))]


def last_covered_seq(reader: Reader, conversation_id: int) -> dict[str, int]:
    """For each summary in context, the highest ``seq`` of a message below it; summaries without any are left out."""
    sql = f"""
        {_BELOW} SELECT below.root, max(m.seq) FROM below
        JOIN summary_messages l ON l.summary_id = below.node
        JOIN messages m ON m.message_id = l.message_id GROUP BY below.root"""
    return {row[0]: row[1] for row in reader.rows(sql, (conversation_id,)) if isinstance(row[1], int)}


def files(reader: Reader, conversation_id: int) -> list[LargeFile]:
    """The large files of a conversation, oldest first."""
    return load(reader, LargeFile, "WHERE t.conversation_id = ? ORDER BY t.created_at, t.file_id", (conversation_id,))


def briefs(reader: Reader, conversation_id: int) -> list[FocusBrief]:
    """The focus briefs of a conversation, newest first."""
    return load(
        reader, FocusBrief, "WHERE t.conversation_id = ? ORDER BY t.created_at DESC, t.rowid DESC", (conversation_id,)
    )


def brief_sources(reader: Reader, brief_id: str) -> list[FocusSource]:
    """The summaries a focus brief was made with."""
    return load(reader, FocusSource, "WHERE t.brief_id = ? ORDER BY t.role, t.ordinal, t.summary_id", (brief_id,))
