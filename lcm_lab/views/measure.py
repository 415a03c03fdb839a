"""Tables for what is measured: context, budget, the DAG, compression, health, exports."""

from typing import TYPE_CHECKING, Final

from lcm_lab.analysis.budget import LEAVES_OUT, Budget
from lcm_lab.analysis.context import Context, ContextPage
from lcm_lab.analysis.wording import counted, some
from lcm_lab.results import Duplicates, Largest, StoreBudget
from lcm_lab.store.rows import kind_label
from lcm_lab.times import Zone
from lcm_lab.views.browse import RULE
from lcm_lab.views.table import DASH, Column, Table, make, share, size

_SHOWN: Final = 500
"""Items of a context that a table shows at once."""

if TYPE_CHECKING:
    from lcm_lab.analysis.compression import Compression
    from lcm_lab.analysis.dag import Coverage, Dag
    from lcm_lab.analysis.export import ExportReport
    from lcm_lab.analysis.health import Report


def context(whole: Context, zone: Zone) -> list[Table]:
    """The context in stored order; what assembly would drop says why."""
    return context_page(whole.page(limit=_SHOWN, cursor=None), zone)


def context_page(shown: ContextPage, zone: Zone) -> list[Table]:
    """A page of a context, with the totals of the whole."""
    result, page = shown.whole, shown.page
    rows, tones = [], []
    for item in page.rows:
        marks = [
            item.dropped and f"not sent: {item.dropped}",
            "" if item.in_tail else None,
            item.noise,
            *item.anomalies,
        ]
        if item.covered_by:
            marks.append(f"already covered by {', '.join(item.covered_by)}")
        rows.append(
            (
                str(item.ordinal),
                item.kind,
                item.item_id,
                item.tokens if item.rule == "stored" else f"~{item.tokens:,}",
                item.wrapper_tokens or "",
                "tail" if item.in_tail else "",
                "; ".join(mark for mark in marks if mark),
                item.preview,
            )
        )
        tones.append("muted" if item.dropped else "warning" if item.anomalies else item.kind)
    heads: list[Column | str] = [
        Column("ordinal", right=True),
        "kind",
        "id",
        Column("tokens", right=True),
        Column("XML", right=True),
        "",
        Column("marks", cut=True),
        Column("begins", cut=True),
    ]
    sent = result.sent
    summaries = sum(item.summary_id is not None for item in sent)
    messages = sum(item.message_id is not None for item in sent)
    total = (
        f"{summaries} summaries + {messages} messages = {len(sent)} items sent of {len(result.items)}; "
        f"{result.content_tokens:,} tokens of text + {result.wrapper_tokens:,} of XML = {result.total_tokens:,} tokens"
    )
    notes = [
        total,
        f"{RULE} ~ marks an estimate. Not counted: {LEAVES_OUT}.",
        f"Fresh tail: {counted(result.fresh_tail, 'message')}. {_line(result)}",
    ]
    if page.next:
        notes.append(f"Showing {len(page.rows):,} of {page.total:,} items. More: --cursor {page.next}")
    return [
        make(
            f"Context of conversation {result.conversation_id} (times in {zone.name})",
            heads,
            rows,
            tones=tones,
            notes=notes,
        )
    ]


def _line(result: Context) -> str:
    if result.window is None:
        return "No budget set; --window N draws the line."
    return f"Window {result.window:,}, compaction at {int(result.window * result.compact_at):,} tokens."


def budget(result: Budget, zone: Zone) -> list[Table]:
    """What the model sees in its next turn, by class."""
    rows = [(line.group, line.items, line.tokens, share(line.tokens, result.total)) for line in result.lines]
    rows.append(("total", result.items, result.total, share(result.total, result.total)))
    tones = ["" for _ in result.lines] + [{"over": "over", "warning": "warning"}.get(result.level, "good")]
    notes = [
        f"Budget: {result.verdict}.",
        f"{RULE} Re-estimated: {counted(result.re_estimated, 'item')}. Not counted: {result.leaves_out}.",
        f"In the store: {counted(result.stored_messages, 'message')}, {result.stored_tokens:,} tokens.",
    ]
    if result.noise_left_out:
        notes.append(f"Left out: heartbeats, {counted(result.noise_left_out, 'item')}.")
    if result.dropped:
        why = f"lcm-lab context {result.conversation_id} says why"
        notes.append(f"Not sent: {counted(len(result.dropped), 'context item')}; {why}.")
    if result.redundant:
        notes.append(
            f"Paid twice: {counted(len(result.redundant), 'item')} ({result.redundant_tokens:,} tokens) that a summary "
            "covers which is sent as well."
        )
    heads: list[Column | str] = [
        "class",
        Column("items", right=True),
        Column("tokens", right=True),
        Column("share", right=True),
    ]
    title = f"Next turn of conversation {result.conversation_id} (fresh tail {result.fresh_tail}, zone {zone.name})"
    return [make(title, heads, rows, tones=tones, notes=notes)]


def store_budget(result: StoreBudget, zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """Conversations by the tokens they hold, largest first."""
    rows = [
        (
            str(one.conversation.conversation_id),
            one.conversation.session_key or one.conversation.session_id,
            one.message_tokens,
            share(one.message_tokens, result.stored_tokens),
            one.context_tokens,
            share(one.context_tokens, result.context_tokens),
            "outlier" if one.conversation.conversation_id in result.outliers else "",
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        Column("conv_id", right=True),
        Column("session key or id", cut=True),
        Column("tokens\nstored", right=True),
        Column("share", right=True),
        Column("tokens in\ncontext", right=True),
        Column("share", right=True),
        "",
    ]
    notes = [
        f"{result.conversations:,} conversations.",
        f"Tokens of messages stored: {result.stored_tokens:,}; in contexts: {result.context_tokens:,}.",
        f"{RULE} Not in these numbers: XML around summaries ('lcm-lab budget CONV' has it), {LEAVES_OUT}.",
    ]
    tones = ["warning" if row[-1] else "" for row in rows]
    return [
        make(f"Largest conversations: {len(rows)} of {result.conversations:,}", heads, rows, tones=tones, notes=notes)
    ]


def dag(result: "Dag", zone: Zone) -> list[Table]:
    """The DAG as a tree, condensed summaries above what they were made from."""
    rows, tones = [], []
    problems = result.problems
    for one in result.tree_rows():
        marks = [one.note, "in context" if one.in_context else "", *problems.get(one.summary_id, ())]
        about = "~" if result.nodes[one.summary_id].rule == "estimated" else ""
        kind = f"[{one.label}, {about}{one.tokens:,}t]"
        marked = "; ".join(mark for mark in marks if mark)
        rows.append((f"{'  ' * one.indent}{one.marker} {one.summary_id}", kind, marked, one.preview))
        tones.append("warning" if one.summary_id in problems else "")
    cover = result.coverage
    notes = [
        f"Marks: > closed, v open, - made from no summary. Kinds: leaf or dN, tokens: {result.estimator}.",
        f"{cover.messages:,} messages: {cover.by_any:,} covered by a summary, {cover.by_context:,} by one in context.",
        *(f"Cycle: {' -> '.join(one)}" for one in result.cycles),
    ]
    if not rows:
        notes = [
            "No summaries: the plugin has not compacted this conversation yet.",
            "If you expected some, look for another conversation of the same session key: lcm-lab conversations.",
        ]
    title = f"Summary DAG of conversation {result.conversation_id} ({zone.name}): {len(result.nodes):,} summaries"
    return [
        make(
            title,
            ["summary", "kind, tokens", Column("marks", cut=True), Column("begins", cut=True)],
            rows,
            tones=tones,
            notes=notes,
        )
    ]


def coverage(result: "Coverage", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """How much of a conversation its summaries stand for."""
    rows = [
        ("messages of the conversation", result.messages, ""),
        ("covered by a summary", result.by_any, share(result.by_any, result.messages)),
        ("covered by a summary in context", result.by_context, share(result.by_context, result.messages)),
        ("covered by none", result.uncovered, share(result.uncovered, result.messages)),
    ]
    return [make("Coverage", ["", Column("messages", right=True), Column("share", right=True)], rows)]


def compression(result: "Compression", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """What each depth saves against its sources."""
    rows = [
        (
            kind_label("", one.depth),
            one.summaries,
            one.source_tokens,
            one.tokens,
            one.saving,
            DASH if one.ratio is None else f"{one.ratio:.2f}",
            one.flagged,
            one.unknown,
        )
        for one in result.by_depth
    ]
    heads: list[Column | str] = [
        "depth",
        *(Column(name, right=True) for name in ("summaries", "source tokens", "tokens", "saved tokens")),
        *(Column(name, right=True) for name in ("tokens / source", "not smaller", "source unknown")),
    ]
    return [make("Compression by depth", heads, rows, notes=[f"Tokens: {result.estimator}."])]


def duplicates(result: Duplicates, zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """Messages that are stored more than once."""
    rows = [
        (one.kind, _span(one.original_seqs), _span(one.copy_seqs), len(one.copies), one.wasted_tokens)
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "kind",
        "first at seq",
        "again at seq",
        Column("messages", right=True),
        Column("tokens", right=True),
    ]
    notes = [f"{result.wasted_tokens:,} tokens in copies. Nothing is removed by itself.", RULE]
    return [
        make(f"Stored more than once in conversation {result.conversation_id}: {len(rows)}", heads, rows, notes=notes)
    ]


def largest(result: Largest, zone: Zone) -> list[Table]:
    """The largest messages and summaries."""
    rows = [
        (
            one.row_id if one.table == "summaries" else f"#{one.row_id}",
            one.kind,
            str(one.conversation_id),
            one.tokens if one.rule == "stored" else f"~{one.tokens:,}",
            size(one.bytes),
            zone.show(one.created_at, zone=False),
            one.preview,
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "id",
        "kind",
        Column("conv_id", right=True),
        Column("tokens", right=True),
        Column("size", right=True),
        f"time ({zone.name})",
        "begins",
    ]
    return [
        make(
            "Largest items",
            heads,
            rows,
            tones=[one.kind for one in result.rows],
            notes=[f"{RULE} ~ marks an estimate."],
        )
    ]


def report(result: "Report", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """Findings, worst first."""
    rows = [
        (
            one.severity,
            one.code,
            None if one.conversation_id is None else str(one.conversation_id),
            f"{one.table} {some(one.ids)}",
            one.message,
            one.advice,
        )
        for one in result.findings
    ]
    heads: list[Column | str] = [
        "severity",
        "code",
        Column("conv_id", right=True),
        *(Column(name, wrap=True) for name in ("rows", "finding", "what to do")),
    ]
    notes = [f"Not broken: {one.summary_id}: its mark does not count, {one.reason}" for one in result.quoted]
    notes += [f"Not checked: {one.rule}: {one.reason}" for one in result.skipped]
    counts = result.counts
    errors, warnings = counted(counts["error"], "error"), counted(counts["warning"], "warning")
    said = f"{errors}, {warnings}, {counts['info']:,} for information"
    broken = [one for one in result.findings if one.code.startswith("K1")]
    if broken:
        lanes = {one.conversation_id for one in broken}
        which = "--all" if len(lanes) > 1 else str(broken[0].conversation_id)
        number = counted(sum(len(one.ids) for one in broken), "broken summary", "broken summaries")
        notes.append(f"Next: 'lcm-lab repair {which}' shows what it takes to make {number} again; nothing is sent yet.")
    tones = [one.severity for one in result.findings]
    return [make(f"Health of {result.scope}: {said}", heads, rows, tones=tones, notes=notes)]


def export(result: "ExportReport", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The files an export wrote."""
    rows = [(one.name, one.table, one.rows, size(one.bytes)) for one in result.files]
    heads: list[Column | str] = ["file", "table", "rows", Column("size", right=True)]
    notes = [f"Columns that end in _utc are UTC; local times are in {result.zone}."]
    if result.left_out:
        notes.append(f"Left out, because no conversation owns their rows: {', '.join(result.left_out)}.")
    return [make(f"Exported to {result.folder}", heads, rows, notes=notes)]


def _span(seqs: tuple[int, int]) -> str:
    return str(seqs[0]) if seqs[0] == seqs[1] else f"{seqs[0]} to {seqs[1]}"
