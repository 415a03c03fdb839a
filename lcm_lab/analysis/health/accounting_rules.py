"""Rules about numbers and metadata: token counts, times, lineage counts and file ids (T1, M1, M2, M3).

A count is right when it agrees with any one of the three estimators, since one store is written by several programs. A
message's count follows its structured content, so it may well be above every estimate of what is visible; only a count
that is no number, 0 or less with text, or below every estimate is wrong.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lcm_lab import times, tokens
from lcm_lab.analysis.health.facts import Facts, Node
from lcm_lab.analysis.health.finding import Finding, Severity
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store import checks, context, payloads
from lcm_lab.store.checks_text import MessageRow

TOLERANCE: Final = 0.35
"""How far a summary's count may be from the nearest estimate, as a share of that estimate."""

_RECOUNT: Final = (
    "Store the estimate of its text; every view here uses the estimate meanwhile where the count is unusable."
)
_REFILL: Final = (
    "Only these numbers are off, and nothing fills them in later: not the plugin, not lcm-tui, not a rewrite here."
)


def summary_counts(facts: Facts) -> Iterator[Finding]:
    """T1 for summaries: a number above 0 where there is text, within 35 % of one estimator."""
    for node in facts.nodes.values():
        stored, best = node.row.stored, _nearest(node)
        name, estimate = best
        if not _is_number(stored):
            text = f"summary {node.summary_id} has {_short(stored)} for a token count; its text gives {estimate}"
            yield node.finding("T1-bad-count", "warning", text, _RECOUNT)
        elif stored < 0 or (stored == 0 and not node.blank):
            text = (
                f"summary {node.summary_id} has a stored count of {stored} tokens; its text gives {estimate} ({name})"
            )
            yield node.finding("T1-zero-count", "warning", text, _RECOUNT)
        elif not node.blank and abs(stored - estimate) > TOLERANCE * estimate:
            share = f"{100 * (stored - estimate) / max(estimate, 1):+.0f} %"
            text = (
                f"summary {node.summary_id} has a stored count of {stored} tokens, {share} from the nearest estimate "
                f"({name}: {estimate})"
            )
            yield node.finding("T1-off-count", "warning", text, _RECOUNT)


def message_count(
    row: MessageRow, conversation_id: int, part_characters: int = 0, part_texts: Sequence[str] = ()
) -> Finding | None:
    """T1 for a message. ``part_texts`` are needed only where the content is blank and the count is in doubt."""
    stored = row.stored
    key = (str(row.message_id),)
    if not _is_number(stored):
        text = f"message {row.message_id} has {_short(stored)} for a token count, {_counted_as(row)}"
        return Finding("T1-bad-count", "warning", "messages", key, conversation_id, text, _RECOUNT)
    if stored < 0 or (stored == 0 and (row.content.strip() or part_characters)):
        text = f"message {row.message_id} has stored tokens {stored}, {_counted_as(row)}"
        return Finding("T1-zero-count", "warning", "messages", key, conversation_id, text, _RECOUNT)
    visible = row.content if row.content.strip() else "\n".join(part_texts)
    # Every estimator gives at least a quarter of the characters, rounded down, so most messages need no estimate.
    if stored >= len(visible) // 4:
        return None
    bare, _ = tokens.without_pictures(visible)
    lowest = min(tokens.estimates(bare).values())
    if stored < lowest:
        text = f"message {row.message_id} has stored tokens {stored}, below every estimate of its text ({lowest} up)"
        return Finding("T1-low-count", "warning", "messages", key, conversation_id, text, _RECOUNT)
    return None


def doubtful(row: MessageRow, part_characters: int) -> bool:
    """Whether the texts of the parts are needed to judge a message's count: it may be below every estimate of them."""
    return not row.content.strip() and _is_number(row.stored) and 0 < row.stored < part_characters // 4 + 1


def covered_times(facts: Facts) -> Iterator[Finding]:
    """M1: earliest and latest are there, can be read, are in order, and are those of what the summary was made from."""
    if not facts.has_times:
        return
    sources = facts.sources()
    for node in facts.nodes.values():
        row = node.row
        stored = {"earliest_at": row.earliest_at, "latest_at": row.latest_at}
        empty = [name for name, value in stored.items() if value is None or value == ""]
        unread = [name for name, value in stored.items() if name not in empty and times.parse(str(value)) is None]
        earliest, latest = times.parse(str(row.earliest_at)), times.parse(str(row.latest_at))
        if empty:
            text = f"summary {node.summary_id} has no {' and no '.join(empty)}"
            yield node.finding("M1-missing-times", "warning", text, _REFILL)
        elif unread or earliest is None or latest is None:
            named = some(f"{name} {stored[name]!r}" for name in unread)
            text = f"summary {node.summary_id} has a time that cannot be read: {named}"
            yield node.finding("M1-bad-time", "warning", text, _REFILL)
        elif earliest > latest:
            text = f"summary {node.summary_id} begins ({row.earliest_at}) after it ends ({row.latest_at})"
            yield node.finding("M1-times-reversed", "warning", text, _REFILL)
        else:
            right = _lineage_times(node, facts, sources.get(node.summary_id, []))
            off = max(abs(earliest.timestamp() - right[0]), abs(latest.timestamp() - right[1])) if right else 0.0
            # Message times are kept to the second, summary times to the millisecond.
            if off > 1:
                text = f"summary {node.summary_id} covers other times than what it was made from, by {off:,.0f} s"
                yield node.finding("M1-times-differ", "warning", text, _REFILL)


def lineage_counts(facts: Facts) -> Iterator[Finding]:
    """M2: the descendant count is exactly that of the sources; token sums drift after rewrites, so they are info."""
    has = facts.reader.schema.has
    bad = checks.broken_numbers(facts.reader, facts.conversation_id)
    for key, columns in bad.items():
        named = [name for name in columns.split() if name != "depth"]
        if named and key in facts.nodes:
            text = f"summary {key} holds no whole number in {some(named)}"
            yield facts.nodes[key].finding("M2-bad-number", "warning", text, _REFILL)
    sources = facts.sources()
    for node in facts.nodes.values():
        if node.summary_id in bad:
            continue
        edges = sources.get(node.summary_id, [])
        whole = facts.whole_sources(edges) if edges else []
        if node.is_leaf:
            whole = []
        elif not whole:
            continue
        if has("summaries", "descendant_count"):
            right = sum(_whole(one.row.descendant_count) + 1 for one in whole)
            if node.row.descendant_count != right:
                said = node.row.descendant_count
                text = f"summary {node.summary_id} says it has {said} descendants; its sources give {right}"
                yield node.finding("M2-descendant-count", "warning", text, _REFILL)
        yield from _token_sums(facts, node, whole)


def file_ids(facts: Facts) -> Iterator[Finding]:
    """M3: file_ids is a JSON array of texts, and each of them is a large file of this conversation."""
    wanted: dict[str, list[Node]] = {}
    for node in facts.nodes.values():
        ids = _id_list(node.row.file_ids)
        if ids is None:
            severity: Severity = "info" if node.row.file_ids in ("", None) else "warning"
            text = f"summary {node.summary_id} has {_short(node.row.file_ids)} where a JSON list of file ids should be"
            yield node.finding("M3-bad-file-ids", severity, text, "Store [] or the list of its file ids.")
        for one in ids or ():
            wanted.setdefault(one, []).append(node)
    if not wanted or not facts.reader.schema.has("large_files"):
        return
    owners = checks.file_owners(facts.reader, wanted)
    for one, nodes in wanted.items():
        owner = owners.get(one)
        if owner == facts.conversation_id:
            continue
        for node in nodes:
            if owner is None:
                text = f"summary {node.summary_id} names file {one}, which is not in large_files"
                yield node.finding(
                    "M3-unknown-file", "warning", text, "Its content cannot be looked up; nothing else is lost."
                )
            else:
                text = f"summary {node.summary_id} names file {one} of conversation {owner}"
                advice = "Nothing to do: lcm-tui's transplant leaves file ids pointing to where they came from."
                yield node.finding("M3-file-elsewhere", "info", text, advice)


def stored_payloads(facts: Facts, store: Path) -> Iterator[Finding]:
    """M3: the stored payload of each large file is there. Only looked for inside the store's folder, never opened."""
    found = [payloads.locate(store, one) for one in context.files(facts.reader, facts.conversation_id)]
    missing = [one.file.file_id for one in found if one.state == "missing"]
    outside = [one.file.file_id for one in found if one.state == "outside"]
    for ids, code, text, advice in (
        (
            missing,
            "M3-missing-payload",
            f"the payload of {counted(len(missing), 'large file')} is missing: not at its path inside {store.parent}",
            "Restore the folder lcm-files beside the store; the exploration summaries in the store are whole.",
        ),
        (
            outside,
            "M3-payload-outside",
            f"the payload of {counted(len(outside), 'large file')} lies outside {store.parent}; nobody looked for it",
            "Nothing to do if the plugin keeps large files elsewhere; nothing outside the folder is ever opened.",
        ),
    ):
        if ids:
            yield Finding(code, "info", "large_files", tuple(ids), facts.conversation_id, text, advice)


def _nearest(node: Node) -> tuple[str, int]:
    stored = node.row.stored if _is_number(node.row.stored) else 0
    return min(node.estimates.items(), key=lambda one: (abs(stored - one[1]) / max(one[1], 1), one[0]))


def _lineage_times(node: Node, facts: Facts, edges: list[checks.EdgeFact]) -> tuple[float, float] | None:
    if node.is_leaf:
        messages = facts.whole_links(node.summary_id)
        pairs = [(one.created_at, one.created_at) for one in messages or ()]
    else:
        pairs = [
            (one.row.earliest_at or one.row.created_at, one.row.latest_at or one.row.created_at)
            for one in facts.whole_sources(edges) or ()
        ]
    starts = [times.parse(_text(start)) for start, _ in pairs]
    ends = [times.parse(_text(end)) for _, end in pairs]
    known = [one.timestamp() for one in starts if one], [one.timestamp() for one in ends if one]
    if not pairs or len(known[0]) < len(pairs) or len(known[1]) < len(pairs):
        return None
    return min(known[0]), max(known[1])


def _token_sums(facts: Facts, node: Node, whole: list[Node]) -> Iterator[Finding]:
    has = facts.reader.schema.has
    sums: list[tuple[str, str, Any, int]] = []
    if has("summaries", "descendant_token_count"):
        right = sum(one.tokens + _whole(one.row.descendant_tokens) for one in whole)
        sums.append(("M2-descendant-tokens", "tokens of its descendants", node.row.descendant_tokens, right))
    if has("summaries", "source_message_token_count"):
        if node.is_leaf:
            messages = facts.whole_links(node.summary_id)
            right = sum(one.tokens for one in messages or ())
        else:
            messages = []
            right = sum(_whole(one.row.source_tokens) for one in whole)
        if messages is not None:
            sums.append(("M2-source-tokens", "tokens of its messages", node.row.source_tokens, right))
    for code, what, stored, right in sums:
        # The plugin adds the sender's name to user messages, and a rewrite changes no sum above it: drift is normal.
        if abs(_whole(stored) - right) > max(16, right // 10):
            text = f"summary {node.summary_id} says {_whole(stored):,} {what}; they add up to {right:,}"
            yield node.finding(code, "info", text, "Nothing to do: such sums drift when a summary below is rewritten.")


def _id_list(value: object) -> list[str] | None:
    try:
        found = json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, list) and all(isinstance(one, str) for one in found) else None


def _counted_as(row: MessageRow) -> str:
    # A count with a fraction is rounded by every view, not replaced.
    rounded = isinstance(row.stored, float) and abs(row.stored - row.tokens) <= 0.5
    return f"read as {row.tokens}" if rounded else f"re-estimated {row.tokens}"


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
