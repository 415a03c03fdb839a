"""Tables for what is looked up: the store, its agents, sessions, conversations, messages, files and briefs."""

from typing import Final

from lcm_lab import tokens
from lcm_lab.analysis.wording import counted
from lcm_lab.results import AgentList, Briefs, Files, Info, SessionList, SummaryView
from lcm_lab.store.overview import ConversationTotals
from lcm_lab.store.page import Page
from lcm_lab.store.rows import kind_label
from lcm_lab.store.text import preview
from lcm_lab.times import Zone
from lcm_lab.views.table import DASH, Column, Table, make, size

RULE: Final = f"Tokens: {tokens.STORED_OR_PLUGIN}."


def info(result: Info, zone: Zone) -> list[Table]:
    """The store in one look."""
    totals = result.totals
    rows = totals.rows
    depths = (
        ", ".join(f"{kind_label('', depth)} {count:,}" for depth, count in totals.summaries_by_depth.items()) or "none"
    )
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
    notes = [f"{RULE} Re-estimated: {counted(totals.re_estimated, 'message')}."]
    if result.missing_tables:
        notes.append(f"This store lacks: {', '.join(result.missing_tables)}; what rests on them is empty.")
    if result.missing_columns:
        notes.append(f"Columns this store does not have: {', '.join(result.missing_columns)}.")
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
    heads: list[Column | str] = [
        "agent",
        "session files",
        "set aside",
        "OpenClaw's own store",
        Column("problem", cut=True),
    ]
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
        Column("session key", cut=True),
        Column("summaries", right=True),
        Column("files", right=True),
    ]
    notes = []
    if result.duplicates or result.hidden:
        notes.append(f"Duplicates folded in: {result.duplicates}; sub-agent and warm-up files hidden: {result.hidden}.")
    if result.reset_files or result.deleted_files:
        notes.append(f"Set aside beside them: {result.reset_files} reset, {result.deleted_files} deleted.")
    if result.database:
        notes.append(result.database)
    if any(one.match.conversation_id is None for one in result.rows):
        notes.append(
            "Not tracked: the store has no conversation for this file; 'lcm-lab show --session FILE' reads it."
        )
    notes += [result.problem or "", more(result.next)]
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
                DASH if one.max_depth is None else kind_label("", one.max_depth),
                one.context_items,
                one.context_tokens,
                one.files,
                one.briefs,
                zone.show(one.last_message_at, zone=False) if one.last_message_at else None,
            )
        )
        tones.append("muted" if mine.state != "active" else "")
    heads: list[Column | str] = [
        Column("conv_id", right=True),
        "state",
        Column("session key or id", cut=True),
        Column("title", cut=True),
        *(
            Column(name, right=True)
            for name in ("messages", "tokens\nstored", "summaries", "deepest", "items in\ncontext")
        ),
        *(Column(name, right=True) for name in ("tokens in\ncontext", "files", "briefs")),
        f"last message\n({zone.name})",
    ]
    title = f"Conversations: {len(result.rows)} of {result.total}"
    return [make(title, heads, rows, tones=tones, notes=[RULE, more(result.next)])]


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
        ("in context", "no" if node.in_context is None else f"yes, at ordinal {node.in_context}"),
        ("derived from it", ", ".join(result.derived) or "none"),
        ("missing sources", ", ".join(result.missing_sources) or "none"),
        ("text", result.content),
    ]
    shown = [make(f"Summary (times in {zone.name})", ["", Column("", wrap=True)], facts)]
    if result.sources:
        rows = [(one.summary_id, one.label, one.tokens, preview(one.preview)) for one in result.sources]
        shown.append(make("Made from these summaries", ["id", "kind", "tokens", Column("begins", cut=True)], rows))
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
        heads: list[Column | str] = ["id", f"time ({zone.name})", "role", "tokens", Column("begins", cut=True)]
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
        Column("name", cut=True),
        "type",
        Column("size", right=True),
        Column("lines", right=True),
        f"created ({zone.name})",
        "payload",
        Column("exploration summary", cut=True),
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
        Column("prompt", cut=True),
        Column("sources", cut=True),
        Column("since then", cut=True),
        "marks",
    ]
    return [make(f"Focus briefs of conversation {result.conversation_id}: {len(rows)}", heads, rows, tones=tones)]


def more(cursor: str | None) -> str:
    """How to ask for the next page; empty on the last."""
    return f"More: --cursor {cursor}" if cursor else ""
