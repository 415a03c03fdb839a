"""Tables for the session memory."""

from typing import TYPE_CHECKING, Final

from lcm_lab.memory.results import RULE, RULE_IN_FULL
from lcm_lab.times import Zone
from lcm_lab.views.table import DASH, Column, Table, make, share, size

if TYPE_CHECKING:
    from lcm_lab.memory.results import (
        BlockView,
        Detail,
        Forgotten,
        Hits,
        ImportReport,
        Injection,
        Injections,
        Judgments,
        MemoryExport,
        Sessions,
        Stats,
        Turns,
        TurnView,
    )

EVENTS: Final = {
    "pre_compact": "block made",
    "context_compaction": "part handed out",
    "post_compact": "compacted",
    "fallback": "given late",
    "on_demand": "looked up",
}
FOUND_BY: Final = {"rule": "wording", "tool": "tools", "model": "model"}
_SHOWN: Final = 1_500
"""Characters of one text that a table shows; JSON and export have the whole."""


def stats(result: "Stats", zone: Zone) -> list[Table]:
    """The memory in one look."""
    rows = result.rows
    facts: list[tuple[str, object]] = [
        ("memory", str(result.path)),
        ("chosen by", result.chosen_by),
        ("size", size(result.size_bytes)),
        ("sessions", result.session_id or rows["sessions"]),
        ("turns", f"{rows['turns']:,}, {rows['skeletons']:,} with a line (L1)"),
        ("judgments (L2)", rows["judgments"]),
        ("details (L3)", f"{rows['details']:,}, of which {rows['tool calls']:,} tool calls"),
        ("tokens of the turns", result.raw_tokens),
        (
            "tokens of L1+L2",
            f"{result.l1_tokens:,} + {result.l2_tokens:,}, {share(result.layer_tokens, result.raw_tokens)} of them",
        ),
        ("parts after compactions", f"{result.arrived:,} arrived, {result.not_arrived:,} did not"),
        ("look-ups", result.injections.get("on_demand", 0)),
        ("model help", str(result.model_help)),
    ]
    found = [make("Session memory", ["", Column("", wrap=True)], facts, notes=[f"{RULE_IN_FULL}."])]
    mix = [(name, count, still or None) for name, (count, still) in result.categories.items()]
    found.append(make("Categories", ["category", Column("lines", right=True), Column("open", right=True)], mix))
    if result.session_id is None:
        runs = [(event, zone.show(at, zone=False), count) for event, at, count in result.runs]
        found.append(
            make("Events seen", ["event", f"last ({zone.name})", "times"], runs, notes=[] if runs else ["none yet"])
        )
    return found


def sessions(result: "Sessions", zone: Zone) -> list[Table]:
    """Sessions with their totals."""
    rows = [
        (
            one.session_id,
            one.project_path,
            zone.show(one.last_active, zone=False),
            one.status,
            one.turns,
            one.compactions,
            one.open_issues or None,
            one.raw_tokens,
            one.layer_tokens,
            share(one.layer_tokens, one.raw_tokens),
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "session",
        Column("folder", cut=True),
        f"last active ({zone.name})",
        "status",
        "turns",
        "compactions",
        Column("open issues", right=True),
        "tokens",
        "L1+L2",
        Column("share", right=True),
    ]
    more = f"More: --cursor {result.next}" if result.next else ""
    title = f"Sessions: {len(result.rows)} of {result.total}"
    return [make(title, heads, rows, notes=[f"{RULE_IN_FULL}.", more])]


def turns(result: "Turns", zone: Zone) -> list[Table]:
    """The turns of a session."""
    rows = [
        (
            one.turn_number,
            zone.show(one.started_at, zone=False),
            one.summary or ("(running)" if one.state == "open" else DASH),
            one.judgments,
            one.tool_calls,
            one.raw_tokens,
            one.l1_tokens,
            one.l2_tokens,
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        Column("turn", right=True),
        f"time ({zone.name})",
        Column("request \u2192 outcome (L1)", wrap=True),
        Column("L2 lines", right=True),
        Column("tool calls", right=True),
        Column("tokens", right=True),
        Column("L1", right=True),
        Column("L2", right=True),
    ]
    whole = f"{result.raw_tokens:,} tokens, as L1+L2 {result.layer_tokens:,}"
    part = share(result.layer_tokens, result.raw_tokens)
    title = f"Turns of {result.session_id}: {len(result.rows)}"
    return [make(title, heads, rows, notes=[f"{whole} ({part}).", f"{RULE_IN_FULL}."])]


def judgments(result: "Judgments", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """Lines of L2."""
    rows, tones = [], []
    for one in result.rows:
        state = {None: "", True: f"resolved by {one.resolved_by or '?'}", False: "open"}[one.resolved]
        where = () if result.session_id else (one.session_id[:8],)
        found_by = FOUND_BY.get(one.source, one.source)
        rows.append((*where, one.turn_number, one.category, one.content, found_by, state, f"#{one.id}"))
        tones.append("warning" if one.resolved is False else "muted" if one.resolved else "")
    heads: list[Column | str] = [
        *(() if result.session_id else ("session",)),
        Column("turn", right=True),
        "category",
        Column("what was said", wrap=True),
        "found by",
        "state",
        "id",
    ]
    whose = result.session_id or "all sessions"
    return [make(f"Judgments of {whose}: {len(rows)}", heads, rows, tones=tones, notes=[] if rows else ["none"])]


def injections(result: "Injections", zone: Zone) -> list[Table]:
    """What was given to the model, when, and whether it arrived."""
    rows = [
        (
            zone.show(one.injected_at, zone=False),
            EVENTS.get(one.event_type, one.event_type),
            one.layers_sent,
            DASH if one.part is None else f"{one.part} of {one.parts}",
            one.units,
            one.token_before,
            one.token_after,
            one.block_id,
            arrival(one),
        )
        for one in result.rows
    ]
    tones = ["good" if one.delivered else "error" if one.delivered is False else "" for one in result.rows]
    heads: list[Column | str] = [
        f"time ({zone.name})",
        "what",
        "layers",
        "part",
        Column("UTF-16 units", right=True),
        Column("tokens before", right=True),
        Column("tokens after", right=True),
        "block",
        "arrived",
    ]
    notes = ["Arrived: whether the client's transcript holds the text behind the compaction. - : nothing to arrive."]
    title = f"Given to the model in {result.session_id}: {len(rows)}"
    return [make(title, heads, rows, tones=tones, notes=notes if rows else ["nothing yet: no compaction, no look-up"])]


def arrival(one: "Injection") -> str:
    """Whether it arrived, in a word."""
    if one.event_type in ("on_demand", "post_compact"):
        return "-"
    return {None: "not known", True: "yes", False: "no"}[one.delivered]


def turn(result: "TurnView", zone: Zone) -> list[Table]:
    """One turn whole."""
    one = result.turn
    facts: list[tuple[str, object]] = [
        ("request \u2192 outcome (L1)", one.summary or DASH),
        ("state", one.state),
        ("time", f"{zone.show(one.started_at)} to {zone.show(one.ended_at)}"),
        ("tokens", f"{one.raw_tokens or 0:,}; L1 {one.l1_tokens:,}, L2 {one.l2_tokens:,} ({RULE})"),
    ]
    title = f"Turn {one.turn_number} of {one.session_id}"
    found = [make(title, ["", Column("", wrap=True)], facts)]
    if result.judgments:
        lines = [(line.category, line.content, f"#{line.id}") for line in result.judgments]
        found.append(make("Judgments (L2)", ["category", Column("what was said", wrap=True), "id"], lines))
    rows = [
        (f"[{each.id}]", _what(each), each.status, _cut(each.input), _cut(each.output), each.token_count)
        for each in result.details
    ]
    heads: list[Column | str] = [
        "id",
        "what",
        "status",
        Column("text or input", wrap=True),
        Column("output as the model saw it", wrap=True),
        Column("tokens", right=True),
    ]
    found.append(make(f"Details (L3): {len(rows)}", heads, rows))
    return found


def _what(one: "Detail") -> str:
    name = {"user": "request", "assistant": "answer"}.get(one.kind, one.tool_name or one.kind)
    exit_code = f", exit code {one.exit_code}" if one.exit_code is not None else ""
    return f"{name}{exit_code}" + (f", sub-agent {one.agent_id[:8]}" if one.agent_id else "")


def _cut(text: str | None) -> str | None:
    if not text or len(text) <= _SHOWN:
        return text or None
    return f"{text[:_SHOWN]}\n\u2026 {len(text) - _SHOWN:,} more characters; --json has all"


def block(result: "BlockView", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The text that a compaction now would be followed by."""
    rows = [(text,) for text in result.parts]
    count = "one part" if len(rows) == 1 else f"{len(rows)} parts"
    title = f"A compaction now would be followed by {count}, about {result.tokens:,} tokens"
    return [make(title, [Column("", wrap=True)], rows, notes=[] if rows else ["nothing is stored for this session"])]


def hits(result: "Hits", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """What a search found."""
    rows = [
        (one.session_id[:8], one.turn_number, f"[{one.id}]", one.tool_name or one.kind, " ".join(one.snippet.split()))
        for one in result.rows
    ]
    heads: list[Column | str] = ["session", Column("turn", right=True), "id", "what", Column("where", wrap=True)]
    notes = [f"The first {result.limit} are shown; --limit shows more."] if len(rows) == result.limit else []
    words = ", ".join(f"\u201c{word}\u201d" for word in result.words) or "no words: none were given"
    title = f"{len(rows)} {'detail holds' if len(rows) == 1 else 'details hold'} {words}"
    return [make(title, heads, rows, notes=notes)]


def imported(result: "ImportReport", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """What an import gained."""
    rows = [
        (
            one.session_id,
            one.turns,
            one.calls,
            one.agents,
            one.compactions,
            one.bad_lines or None,
            None if result.dry_run else one.new_details,
            None if result.dry_run else one.raw_tokens,
            None if result.dry_run else one.layer_tokens,
            one.problem or "",
        )
        for one in result.rows
    ]
    heads: list[Column | str] = [
        "session",
        *(Column(name, right=True) for name in ("turns", "tool calls", "sub-agents", "compactions", "bad lines")),
        *(Column(name, right=True) for name in ("new details", "tokens", "L1+L2")),
        Column("problem", wrap=True),
    ]
    turns, calls = sum(one.turns for one in result.rows), sum(one.calls for one in result.rows)
    said = f"{len(result.rows):,} transcripts, {turns:,} turns, {calls:,} tool calls"
    if result.dry_run:
        return [make(f"Would import: {said}", heads, rows, notes=["Nothing was written."])]
    new = sum(one.new_details for one in result.rows)
    part = share(result.layer_tokens, result.raw_tokens)
    gain = f"{result.raw_tokens:,} tokens of turns, as L1+L2 {result.layer_tokens:,} ({part})"
    notes = [
        f"In {result.memory}: {new:,} new details, each found by 'lcm-lab memory search'.",
        f"{gain}.",
        f"{RULE_IN_FULL}.",
    ]
    return [make(f"Imported: {said}", heads, rows, notes=notes)]


def forgotten(result: "Forgotten", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """What was deleted."""
    said = f"Deleted from {result.memory}: session {result.session_id} with {result.details:,} details."
    return [make("", [], [], notes=[said, "The client's own transcript was not touched."])]


def export(result: "MemoryExport", zone: Zone) -> list[Table]:  # noqa: ARG001  (one signature for all tables)
    """The files an export wrote."""
    rows = [(name, table, count, size(length)) for name, table, count, length in result.files]
    heads: list[Column | str] = ["file", "table", "rows", Column("size", right=True)]
    notes = ["" if result.bodies else "Texts of details are left out; --bodies writes them."]
    return [make(f"Exported to {result.folder}", heads, rows, notes=notes)]
