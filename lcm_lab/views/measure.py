"""Tables for what is measured: context, budget, the DAG, compression, health, exports."""

from typing import TYPE_CHECKING

from lcm_lab.analysis.budget import LEAVES_OUT, Budget
from lcm_lab.analysis.context import Context
from lcm_lab.results import StoreBudget
from lcm_lab.times import Zone
from lcm_lab.views.browse import RULE
from lcm_lab.views.table import DASH, Column, Table, make, share, size

if TYPE_CHECKING:
    from lcm_lab.analysis.compression import Compression
    from lcm_lab.analysis.dag import Dag
    from lcm_lab.analysis.export import ExportReport
    from lcm_lab.analysis.health import Report


def context(result: Context, zone: Zone) -> list[Table]:
    """The context in stored order; what assembly would drop says why."""
    rows, tones = [], []
    for item in result.items:
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
                item.ordinal,
                item.kind,
                item.item_id,
                item.tokens if item.rule == "stored" else f"~{item.tokens:,}",
                item.wrapper_tokens or "",
                "tail" if item.in_tail else "",
                item.preview,
                "; ".join(mark for mark in marks if mark),
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
        "begins",
        "marks",
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
        f"Fresh tail: {result.fresh_tail} messages.",
    ]
    notes += [f"Read with care: {note}" for note in result.notes]
    return [
        make(
            f"Context of conversation {result.conversation_id} (times in {zone.name})",
            heads,
            rows,
            tones=tones,
            notes=notes,
        )
    ]


def budget(result: Budget, zone: Zone) -> list[Table]:
    """What the model sees in its next turn, by class."""
    rows = [(line.group, line.items, line.tokens, share(line.tokens, result.total)) for line in result.lines]
    rows.append(("total", result.items, result.total, share(result.total, result.total)))
    tones = ["" for _ in result.lines] + [{"over": "over", "warning": "warning"}.get(result.level, "good")]
    notes = [
        f"Budget: {result.verdict}.",
        f"{RULE} {result.re_estimated} items re-estimated. Not counted: {result.leaves_out}.",
        f"In the store: {result.stored_messages:,} messages, {result.stored_tokens:,} tokens.",
    ]
    if result.dropped:
        notes.append(f"{len(result.dropped)} context items would not be sent; 'lcm-lab context' says why.")
    if result.redundant:
        notes.append(
            f"{len(result.redundant)} items ({result.redundant_tokens:,} tokens) are covered by a summary "
            "that is sent as well."
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
        "session key or id",
        Column("tokens stored", right=True),
        Column("share", right=True),
        Column("tokens in context", right=True),
        Column("share", right=True),
        "",
    ]
    notes = [
        f"{result.conversations:,} conversations: {result.stored_tokens:,} tokens stored, {result.context_tokens:,} in contexts.",
        f"{RULE} Not in these numbers: XML around summaries ('lcm-lab budget CONV' has it), {LEAVES_OUT}.",
    ]
    tones = ["warning" if row[-1] else "" for row in rows]
    return [
        make(f"Largest conversations: {len(rows)} of {result.conversations:,}", heads, rows, tones=tones, notes=notes)
    ]


def dag(result: "Dag", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The DAG as a tree, condensed summaries above what they were made from."""
    rows = [
        (f"{'  ' * one.indent}{one.marker} {one.summary_id}", f"[{one.label}, {one.tokens:,}t]", one.preview)
        for one in result.tree_rows()
    ]
    return [
        make(
            f"Summary DAG of conversation {result.conversation_id}",
            ["summary", "kind, tokens", "begins"],
            rows,
            notes=result.remarks(),
        )
    ]


def compression(result: "Compression", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """What each depth saves against its sources."""
    rows = [
        (
            one.label,
            one.summaries,
            one.source_tokens,
            one.tokens,
            one.saving,
            DASH if one.ratio is None else f"{one.ratio:.2f}",
        )
        for one in result.depths
    ]
    heads: list[Column | str] = ["depth", "summaries", "source tokens", "tokens", "saved tokens", "tokens / source"]
    return [make("Compression by depth", heads, rows, notes=[f"Tokens: {result.estimator}."])]


def report(result: "Report", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """Findings, worst first."""
    order = {"error": 0, "warning": 1, "info": 2}
    found = sorted(result.findings, key=lambda one: (order[one.severity], one.conversation_id or 0, one.code))
    rows = [
        (
            one.severity,
            one.code,
            one.conversation_id if one.conversation_id is None else str(one.conversation_id),
            f"{one.table} {', '.join(one.ids[:5])}{f' and {len(one.ids) - 5} more' if len(one.ids) > 5 else ''}",
            one.message,
            one.advice,
        )
        for one in found
    ]
    heads: list[Column | str] = [
        "severity",
        "code",
        Column("conv_id", right=True),
        Column("rows", wrap=True),
        Column("finding", wrap=True),
        Column("what to do", wrap=True),
    ]
    counts = ", ".join(f"{count} {severity}" for severity, count in result.counts.items())
    notes = [f"Not counted as broken: {one}" for one in result.quoted_lines()] + [
        f"Not checked: {one}" for one in result.skipped_lines()
    ]
    return [
        make(f"Health of {result.scope}: {counts}", heads, rows, tones=[one.severity for one in found], notes=notes)
    ]


def export(result: "ExportReport", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The files an export wrote."""
    rows = [(one.path.name, one.rows, size(one.size_bytes)) for one in result.files]
    return [make(f"Exported to {result.folder}", ["file", "rows", Column("size", right=True)], rows)]
