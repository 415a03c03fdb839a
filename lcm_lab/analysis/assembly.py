"""What the model would get in its next turn, item by item.

Follows the plugin's assembler (public sources, commit 4214b480): context rows in stored order; a summary becomes a user
message in an XML wrapper; rows that resolve to nothing are skipped in silence; an active focus brief stands in for the
summaries it covers; the newest messages (the fresh tail) are always kept, older items only while they fit the window.
Here nothing is left out: every stored row is an item, and one that assembly would drop says why.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from lcm_lab import times, tokens
from lcm_lab.analysis import noise, xml
from lcm_lab.analysis.context import Context, Item, Piece
from lcm_lab.store import context as stored
from lcm_lab.store.connect import Reader
from lcm_lab.store.context import MessageInContext, PartSize
from lcm_lab.store.rows import ContextItem, FocusBrief, Summary
from lcm_lab.store.text import preview

FRESH_TAIL: Final = 64
"""Messages the plugin protects by default (``freshTailCount``)."""

COMPACT_AT: Final = 0.75
"""Share of the window at which the plugin compacts by default (``contextThreshold``)."""


def assemble(
    reader: Reader,
    conversation_id: int,
    *,
    zone: times.Zone,
    window: int | None = None,
    compact_at: float = COMPACT_AT,
    fresh_tail: int = FRESH_TAIL,
) -> Context:
    """The context of a conversation as the plugin would assemble it; empty for a conversation without context rows."""
    summaries = stored.summaries(reader, conversation_id)
    messages = stored.messages(reader, conversation_id)
    parts = stored.part_sizes(reader, conversation_id)
    sources = stored.sources_of_context(reader, conversation_id)
    blank = [key for key, one in messages.items() if not one.preview.strip()]
    shown = stored.first_part_previews(reader, blank)
    covered = _coverage(reader, conversation_id)
    rows = stored.items(reader, conversation_id)
    items = []
    for row in rows:
        if row.item_type == "summary" and row.summary_id in summaries:
            one = summaries[row.summary_id]
            items.append(_summary_item(row, one, sources.get(one.summary_id, []), zone, covered))
        elif row.item_type == "message" and row.message_id in messages:
            message = messages[row.message_id]
            items.append(_message_item(row, message, parts.get(message.message_id, []), shown, covered))
        else:
            items.append(_missing_item(row))
    items = _mark_order(items)
    items = noise.mark(items)
    items, brief = _overlay_focus(reader, conversation_id, items, zone)
    items = _mark_tail(items, fresh_tail)
    items = _classify(_drop_over_budget(items, window))
    return Context(
        conversation_id, tuple(items), fresh_tail, window or None, compact_at, zone.name, brief, tuple(reader.notes)
    )


def _summary_item(
    row: ContextItem, one: Summary, sources: Sequence[str], zone: times.Zone, covered: dict[str, list[str]]
) -> Item:
    stored_count = one.token_count if one.token_count and one.token_count > 0 else None
    text_tokens = tokens.plugin_tokens(one.content)
    count = stored_count if stored_count is not None else text_tokens
    anomalies = (
        () if one.conversation_id == row.conversation_id else (f"belongs to conversation {one.conversation_id}",)
    )
    return Item(
        ordinal=row.ordinal,
        kind=one.label,
        item_id=one.summary_id,
        message_id=None,
        summary_id=one.summary_id,
        depth=one.depth,
        tokens=count,
        rule="stored" if stored_count is not None else "estimated",
        wrapper_tokens=tokens.plugin_tokens(xml.summary(one, sources, zone)) - text_tokens,
        preview=preview(one.content),
        created_at=one.created_at,
        covered_by=tuple(covered.get(one.summary_id, ())),
        anomalies=anomalies,
    )


def _message_item(
    row: ContextItem,
    one: MessageInContext,
    parts: Sequence[PartSize],
    shown: dict[int, str],
    covered: dict[str, list[str]],
) -> Item:
    anomalies = []
    if one.conversation_id != row.conversation_id:
        anomalies.append(f"belongs to conversation {one.conversation_id}")
    if one.rule == "estimated" and one.tokens:
        anomalies.append(f"stored tokens {one.stored}, re-estimated {one.tokens}")
    empty = one.role == "assistant" and not one.preview.strip() and not parts
    return Item(
        ordinal=row.ordinal,
        kind=one.role,
        item_id=f"#{one.message_id}",
        message_id=one.message_id,
        summary_id=None,
        depth=None,
        tokens=one.tokens,
        rule=one.rule,
        wrapper_tokens=0,
        preview=preview(one.preview) if one.preview.strip() else shown.get(one.message_id, ""),
        created_at=one.created_at,
        dropped="empty assistant message" if empty else None,
        covered_by=tuple(covered.get(f"#{one.message_id}", ())),
        anomalies=tuple(anomalies),
        pieces=_pieces(one, parts),
    )


def _missing_item(row: ContextItem) -> Item:
    name = row.summary_id if row.item_type == "summary" else f"#{row.message_id}"
    return Item(
        ordinal=row.ordinal,
        kind="missing",
        item_id=str(name),
        message_id=row.message_id,
        summary_id=row.summary_id,
        depth=None,
        tokens=0,
        rule="stored",
        wrapper_tokens=0,
        preview=f"({row.item_type} does not exist)",
        created_at=row.created_at,
        dropped="missing row",
        anomalies=(f"points to a {row.item_type} that does not exist",),
    )


def _pieces(one: MessageInContext, parts: Sequence[PartSize]) -> tuple[Piece, ...]:
    """The message's tokens split over what it carries, in proportion to the measured parts."""
    groups: dict[str, int] = {}
    for part in parts:
        if part.ignored:
            continue
        text_group = _text_group(one, part.part_type)
        for group, size in (
            (text_group, part.text_tokens),
            ("tool input", part.input_tokens),
            ("tool output", part.output_tokens),
        ):
            if size:
                groups[group] = groups.get(group, 0) + size
    if not groups:
        groups = {_text_group(one, "text"): 1}
    split = tokens.shares(one.tokens, list(groups.values()))
    return tuple(Piece(group, size) for group, size in zip(groups, split, strict=True))


def _text_group(one: MessageInContext, part_type: str) -> str:
    if part_type == "reasoning":
        return "reasoning"
    if part_type == "file" or one.preview.startswith(("[LCM File:", "[LCM Raw Payload:")):
        return "files"
    if one.role == "tool" or (part_type == "tool" and one.role != "user"):
        return "tool output"
    return one.role


def _coverage(reader: Reader, conversation_id: int) -> dict[str, list[str]]:
    """Which summaries in context already cover an item, by the item's id."""
    covered: dict[str, list[str]] = {}
    for root, below in stored.covered_summaries(reader, conversation_id).items():
        for node in below:
            covered.setdefault(node, []).append(root)
    for root, _, message_id in stored.covered_messages(reader, conversation_id):
        covered.setdefault(f"#{message_id}", []).append(root)
    return {key: sorted(set(roots)) for key, roots in covered.items()}


def _mark_order(items: list[Item]) -> list[Item]:
    """Gaps, repeats and summaries behind messages, said on the item where they show."""
    seen: set[str] = set()
    behind = False
    marked = []
    expected = 0
    for item in items:
        said = list(item.anomalies)
        if item.ordinal != expected:
            said.append(f"gap: {item.ordinal} follows {expected - 1}" if expected else f"starts at {item.ordinal}")
        if item.item_id in seen:
            said.append("is in the context twice")
        if behind and item.summary_id is not None:
            said.append("summary behind a message")
        behind = behind or item.message_id is not None
        seen.add(item.item_id)
        expected = item.ordinal + 1
        marked.append(replace(item, anomalies=tuple(said)))
    return marked


def _overlay_focus(
    reader: Reader, conversation_id: int, items: list[Item], zone: times.Zone
) -> tuple[list[Item], str | None]:
    """The items with the active focus brief in place of what it covers; without a covered item there is no overlay."""
    active = [one for one in stored.briefs(reader, conversation_id) if one.status == "active" and one.content.strip()]
    if not active:
        return items, None
    brief = active[0]
    last_seq = stored.last_covered_seq(reader, conversation_id)
    summaries = stored.summaries(reader, conversation_id)
    masked = [
        item.summary_id is not None
        and item.summary_id in summaries
        and _is_covered(brief, summaries[item.summary_id], last_seq.get(item.summary_id))
        for item in items
    ]
    if not any(masked):
        return items, None
    text_tokens = tokens.plugin_tokens(brief.content)
    count = brief.token_count if brief.token_count and brief.token_count > 0 else text_tokens
    first = masked.index(True)
    overlay = Item(
        ordinal=items[first].ordinal,
        kind="focus",
        item_id=brief.brief_id,
        message_id=None,
        summary_id=None,
        depth=None,
        tokens=count,
        rule="stored" if brief.token_count and brief.token_count > 0 else "estimated",
        wrapper_tokens=tokens.plugin_tokens(xml.brief(brief, zone)) - text_tokens,
        preview=preview(brief.content),
        created_at=brief.created_at,
    )
    said = f"covered by focus brief {brief.brief_id}"
    hidden = [replace(item, dropped=said) if mask else item for item, mask in zip(items, masked, strict=True)]
    return [*hidden[:first], overlay, *hidden[first:]], brief.brief_id


def _is_covered(brief: FocusBrief, summary: Summary, last_seq: int | None) -> bool:
    if brief.covered_message_seq is not None and last_seq is not None:
        return last_seq <= brief.covered_message_seq
    latest, covered = times.parse(summary.latest_at), times.parse(brief.covered_latest_at)
    return latest is not None and covered is not None and latest <= covered


def _mark_tail(items: list[Item], fresh_tail: int) -> list[Item]:
    """Everything from the start of the fresh tail on is protected: the last N messages, and the newest user message."""
    places = [i for i, item in enumerate(items) if item.message_id is not None and item.kind != "missing"]
    if not places:
        return items
    start = places[-fresh_tail] if 0 < fresh_tail <= len(places) else (places[0] if fresh_tail else len(items))
    newest_user = max((i for i in places if items[i].kind == "user"), default=len(items))
    start = min(start, newest_user)
    return [replace(item, in_tail=i >= start) for i, item in enumerate(items)]


def _drop_over_budget(items: list[Item], window: int | None) -> list[Item]:
    """Older items that do not fit: kept from the newest back until one does not fit, then none."""
    if not window:
        return items
    costs = [0 if item.dropped else item.tokens + item.wrapper_tokens for item in items]
    kept_always = [item.in_tail or item.kind == "focus" for item in items]
    left = window - sum(cost for cost, keep in zip(costs, kept_always, strict=True) if keep)
    older = sum(cost for cost, keep in zip(costs, kept_always, strict=True) if not keep)
    if older <= left:
        return items
    result = list(items)
    full = False
    for i in reversed(range(len(items))):
        if kept_always[i] or items[i].dropped:
            continue
        full = full or costs[i] > left
        if full:
            result[i] = replace(items[i], dropped="over the window")
        else:
            left -= costs[i]
    return result


def _classify(items: list[Item]) -> list[Item]:
    """The budget class of every token: noise first, then what a message carries, role and place last."""
    classified = []
    for item in items:
        if item.kind == "focus":
            pieces: tuple[Piece, ...] = (Piece("focus brief", item.tokens),)
        elif item.summary_id is not None and item.kind != "missing":
            pieces = (Piece(f"summaries {item.kind}", item.tokens),)
        elif item.noise:
            pieces = (Piece(item.noise, item.tokens),)
        else:
            place = "fresh tail" if item.in_tail else "older"
            pieces = tuple(
                Piece(
                    f"{place}: {one.group}" if one.group in ("user", "assistant", "system") else one.group, one.tokens
                )
                for one in item.pieces
            )
        classified.append(replace(item, pieces=pieces))
    return classified
