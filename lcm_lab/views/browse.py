"""Tables for what is looked up: the store, its agents, sessions, conversations, messages, files and briefs."""

from typing import Final

from lcm_lab import tokens
from lcm_lab.results import AgentList, Briefs, Files, Info, SessionList, SummaryView
from lcm_lab.sessions.jsonl import EntryPage
from lcm_lab.store.messages import Window
from lcm_lab.store.overview import ConversationTotals
from lcm_lab.store.page import Page
from lcm_lab.store.search import Hits
from lcm_lab.store.text import preview
from lcm_lab.times import Zone
from lcm_lab.views.table import DASH, Column, Table, make, size

RULE: Final = f"Tokens: {tokens.STORED_OR_PLUGIN}."


def info(result: Info, zone: Zone) -> list[Table]:
    """The store in one look."""
    totals = result.totals
    rows = totals.rows
    depths = ", ".join(f"d{depth} {count:,}" for depth, count in totals.summaries_by_depth.items()) or "none"
    facts: list[tuple[str, object]] = [
        ("store", str(result.path)),
        ("chosen by", result.chosen_by),
        ("size", f"{size(result.size_bytes)}, {totals.free_pages:,} free pages of {size(totals.page_size)}"),
        ("journal mode", result.journal_mode.upper()),
        ("shaped by plugin", result.era),
        ("conversations", f"{rows.get('conversations', 0):,} ({totals.active_conversations:,} active)"),
        (
            "messages",
            f"{rows.get('messages', 0):,}, {totals.message_tokens:,} tokens, {size(totals.message_bytes)} of text",
        ),
        ("summaries", f"{rows.get('summaries', 0):,}, {totals.summary_tokens:,} tokens; by depth: {depths}"),
        ("context items", f"{rows.get('context_items', 0):,}"),
        ("large files", f"{rows.get('large_files', 0):,}"),
        ("focus briefs", f"{rows.get('focus_briefs', 0):,}" if "focus_briefs" in rows else "none in this schema"),
        ("first message", zone.show(totals.first_message_at)),
        ("last message", zone.show(totals.last_message_at)),
        ("full-text search", "; ".join(f"{name}: {state}" for name, state in result.full_text.items())),
    ]
    notes = [f"{RULE} {totals.re_estimated:,} messages without a valid stored count were re-estimated."]
    if result.missing_tables:
        notes.append(f"This store lacks: {', '.join(result.missing_tables)}; what rests on them is empty.")
    if result.missing_columns:
        notes.append(f"Written by an older plugin, without: {', '.join(result.missing_columns)}.")
    if result.unknown:
        notes.append(f"Kept and not interpreted: {', '.join(result.unknown)}.")
    return [make(f"Store (times in {zone.name})", ["", Column("", wrap=True)], facts, notes=notes)]


def agents(result: AgentList, zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The agents of a state folder."""
    rows = []
    for one in result.agents:
        database = one.database.sentence() if one.database else DASH
        aside = f"{one.reset_files:,} reset, {one.deleted_files:,} deleted"
        rows.append((one.name, one.session_files, aside, database, one.problem or ""))
    heads: list[Column | str] = ["agent", "session files", "set aside", "OpenClaw's own store", "problem"]
    return [make(f"Agents in {result.state_dir}", heads, rows, notes=[result.problem or ""])]


def sessions(result: SessionList, zone: Zone) -> list[Table]:
    """The session files of an agent, newest first."""
    rows = []
    for one in result.rows:
        conversation = "not tracked" if one.match.conversation_id is None else str(one.match.conversation_id)
        also = f" (also {', '.join(map(str, one.match.also))})" if one.match.also else ""
        rows.append(
            (
                one.file.path.name,
                zone.show_moment(one.file.modified, zone=False),
                "?" if one.file.messages is None else one.file.messages,
                one.file.estimated_tokens,
                conversation + also,
                one.match.session_key,
                one.summaries,
                one.files,
            )
        )
    heads: list[Column | str] = [
        "session file",
        f"modified ({zone.name})",
        Column("messages", right=True),
        Column("tokens (size/4)", right=True),
        "conv_id",
        "session key",
        Column("summaries", right=True),
        Column("files", right=True),
    ]
    notes = []
    if result.duplicates or result.hidden:
        notes.append(
            f"{result.duplicates} duplicate files folded in, {result.hidden} sub-agent or warm-up files hidden."
        )
    if result.reset_files or result.deleted_files:
        notes.append(f"{result.reset_files} reset and {result.deleted_files} deleted files lie beside them.")
    if result.database:
        notes.append(result.database)
    if any(one.match.conversation_id is None for one in result.rows):
        notes.append(
            "Not tracked: the store has no conversation for this file; 'lcm-lab show --session FILE' reads it."
        )
    notes.append(result.problem or "")
    return [make(f"Sessions of {result.agent}: {len(result.rows)} of {result.total}", heads, rows, notes=notes)]


def conversations(result: Page[ConversationTotals], zone: Zone) -> list[Table]:
    """Conversations with their totals."""
    rows, tones = [], []
    for one in result.rows:
        mine = one.conversation
        rows.append(
            (
                str(mine.conversation_id),
                mine.state,
                mine.session_key or mine.session_id,
                mine.title,
                one.messages,
                one.message_tokens,
                one.summaries,
                DASH if one.max_depth is None else f"d{one.max_depth}",
                one.context_items,
                one.context_tokens,
                one.files,
                one.briefs,
                zone.show(one.last_message_at or mine.updated_at, zone=False),
            )
        )
        tones.append("muted" if mine.state != "active" else "")
    heads: list[Column | str] = [
        Column("conv_id", right=True),
        "state",
        "session key or id",
        "title",
        *(Column(name, right=True) for name in ("messages", "tokens stored", "summaries", "deepest", "in context")),
        *(Column(name, right=True) for name in ("tokens in context", "files", "briefs")),
        f"last message ({zone.name})",
    ]
    title = f"Conversations: {len(result.rows)} of {result.total}"
    return [make(title, heads, rows, tones=tones, notes=[RULE, _more(result.next)])]


def window(result: Window, zone: Zone) -> list[Table]:
    """Messages in order, texts cut to what fits a screen."""
    rows, tones = [], []
    for one in result.messages:
        message = one.message
        limit = 8_000 if message.role == "tool" else 32_000
        text = (
            one.text
            if len(one.text) <= limit
            else f"{one.text[:limit]}\u2026 (cut; {len(one.text):,} characters in all)"
        )
        counted = f"{one.tokens:,}" if one.rule == "stored" else f"~{one.tokens:,}"
        rows.append(
            (
                message.seq,
                f"#{message.message_id}",
                zone.show(message.created_at, zone=False),
                message.role,
                counted,
                text,
            )
        )
        tones.append(message.role)
    heads: list[Column | str] = [
        Column("seq", right=True),
        "id",
        f"time ({zone.name})",
        "role",
        Column("tokens", right=True),
        Column("text", wrap=True),
    ]
    said = [f"{RULE} ~ marks an estimate."]
    if result.has_older and result.messages:
        said.append(f"Older messages: --before {result.messages[0].message.seq}")
    if result.has_newer and result.messages:
        said.append(f"Newer messages: --after {result.messages[-1].message.seq}")
    return [make(f"{len(result.messages)} messages", heads, rows, tones=tones, notes=said)]


def entries(result: EntryPage, zone: Zone) -> list[Table]:
    """Lines of a session file, in the file's order."""
    rows, tones = [], []
    for one in result.entries:
        marks = [one.problem, one.note, "repeated" if one.duplicate else None]
        text = one.text if one.kind == "message" else f"({one.type or 'no type'}) {preview(one.text)}"
        moment = zone.show(one.timestamp, zone=False) if one.timestamp else ""
        rows.append((one.line, moment, one.role, text, "; ".join(mark for mark in marks if mark)))
        tones.append("error" if one.kind == "bad" else one.role or "muted")
    heads: list[Column | str] = [
        Column("line", right=True),
        f"time ({zone.name})",
        "role",
        Column("text", wrap=True),
        Column("remarks", wrap=True),
    ]
    said = [f"The file as it lies on disk: {result.total:,} lines, {result.messages:,} messages."]
    if result.problems:
        said.append(f"{result.problems:,} lines could not be read as they should be.")
    if result.has_older and result.entries:
        said.append(f"Older lines: --before {result.entries[0].line}")
    if result.has_newer and result.entries:
        said.append(f"Newer lines: --after {result.entries[-1].line}")
    return [make(f"{len(rows)} lines of a session file", heads, rows, tones=tones, notes=said)]


def hits(result: Hits, zone: Zone) -> list[Table]:
    """Where a text occurs."""
    rows = [
        (
            one.row_id if one.table == "summaries" else f"#{one.row_id}",
            one.kind,
            str(one.conversation_id),
            zone.show(one.created_at, zone=False),
            one.snippet,
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "id",
        "kind",
        Column("conv_id", right=True),
        f"time ({zone.name})",
        Column("text", wrap=True),
    ]
    modes = [f"{table}: {mode}" for table, mode in result.modes.items()]
    return [
        make(
            f"{len(rows)} hits",
            heads,
            rows,
            tones=[one.kind for one in result.rows],
            notes=[*modes, _more(result.next)],
        )
    ]


def summary(result: SummaryView, zone: Zone) -> list[Table]:
    """A summary whole, and what it was made from."""
    node = result.node
    facts = [
        ("id", node.summary_id),
        ("kind", node.label),
        ("tokens", f"{node.tokens:,} ({node.rule}), made from {node.source_tokens or 0:,}"),
        ("covers", f"{zone.show(node.earliest_at)} to {zone.show(node.latest_at)}"),
        ("created", zone.show(node.created_at)),
        ("model", node.model),
        ("in context", "no" if node.in_context is None else f"at {node.in_context}"),
        ("derived from it", ", ".join(result.derived)),
        ("missing sources", ", ".join(result.missing_sources)),
        ("text", result.content),
    ]
    shown = [make(f"Summary (times in {zone.name})", ["", Column("", wrap=True)], facts)]
    if result.sources:
        rows = [(one.summary_id, one.label, one.tokens, preview(one.preview)) for one in result.sources]
        shown.append(make("Made from these summaries", ["id", "kind", "tokens", "begins"], rows))
    if result.messages:
        linked = [
            (
                f"#{one.message.message_id}",
                zone.show(one.message.created_at, zone=False),
                one.message.role,
                one.tokens,
                preview(one.text),
            )
            for one in result.messages
        ]
        tones = [one.message.role for one in result.messages]
        heads: list[Column | str] = ["id", f"time ({zone.name})", "role", "tokens", "begins"]
        shown.append(make("Made from these messages", heads, linked, tones=tones))
    return shown


def files(result: Files, zone: Zone) -> list[Table]:
    """Large files, oldest first."""
    rows = [
        (
            one.file.file_id,
            one.file.file_name or "(unnamed)",
            one.file.mime_type,
            size(one.file.byte_size),
            one.file.line_count,
            zone.show(one.file.created_at, zone=False),
            one.said,
            preview(one.file.exploration_summary or ""),
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "file",
        "name",
        "type",
        Column("size", right=True),
        Column("lines", right=True),
        f"created ({zone.name})",
        "payload",
        "exploration summary",
    ]
    return [make(f"Large files of conversation {result.conversation_id}: {len(rows)}", heads, rows)]


def briefs(result: Briefs, zone: Zone) -> list[Table]:
    """Focus briefs, newest first."""
    rows, tones = [], []
    for one in result.rows:
        brief = one.brief
        delta = f"{one.delta_messages:,} messages, {one.delta_summaries:,} summaries, {one.delta_tokens:,} tokens"
        marks = [name for name, on in (("stale", one.stale), ("truncated", one.truncated)) if on]
        if one.missing_sources:
            marks.append(f"{len(one.missing_sources)} sources missing")
        rows.append(
            (
                brief.brief_id,
                brief.status,
                zone.show(brief.created_at, zone=False),
                f"{brief.token_count or 0:,} / {brief.target_tokens or 0:,}",
                preview(brief.prompt, size=60),
                ", ".join(f"{role} {count}" for role, count in one.sources.items()),
                delta,
                ", ".join(marks),
            )
        )
        tones.append("" if brief.status == "active" else "muted")
    heads: list[Column | str] = [
        "brief",
        "status",
        f"created ({zone.name})",
        Column("tokens / target", right=True),
        "prompt",
        "sources",
        "since then",
        "marks",
    ]
    return [make(f"Focus briefs of conversation {result.conversation_id}: {len(rows)}", heads, rows, tones=tones)]


def _more(cursor: str | None) -> str:
    return f"More: --cursor {cursor}" if cursor else ""
