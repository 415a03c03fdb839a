"""What the model would get in its next turn, item by item.

Follows the plugin's assembler (public sources, commit 4214b480): context rows in stored order; a summary becomes a user
message in an XML wrapper; rows that resolve to nothing are skipped in silence; an active focus brief stands in for the
summaries it covers; the newest messages (the fresh tail) are always kept, older items only while they fit the window.
Here nothing is left out: every stored row is an item, and one that assembly would drop says why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from lcm_lab import times, tokens
from lcm_lab.analysis import noise, xml
from lcm_lab.analysis.context import Context, Item, Piece
from lcm_lab.errors import UsageError
from lcm_lab.store import context as stored
from lcm_lab.store.connect import Reader
from lcm_lab.store.context import MessageInContext, PartSize
from lcm_lab.store.rows import ContextItem, FocusBrief, Summary
from lcm_lab.store.text import preview

FRESH_TAIL: Final = 64
"""Messages the plugin protects by default (``freshTailCount``)."""

COMPACT_AT: Final = 0.75
"""Share of the window at which the plugin compacts by default (``contextThreshold``)."""


@dataclass(frozen=True, slots=True)
class Line:
    """The budget line: a window in tokens or None, the share of it at which compaction starts, the messages kept."""

    window: int | None = None
    compact_at: float = COMPACT_AT
    fresh_tail: int = FRESH_TAIL

    @classmethod
    def of(cls, *, window: int | None, compact_at: float | None, fresh_tail: int | None) -> "Line":
        """A line from options of which any may be left out.

        Raises:
            UsageError: a number that makes no sense.
        """
        given = {"compact_at": compact_at, "fresh_tail": fresh_tail}
        line = cls(window or None, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]
        if (line.window or 0) < 0 or line.fresh_tail < 0 or not 0 < line.compact_at <= 1:
            raise UsageError("A window and a fresh tail are not below 0, and compact_at lies above 0 and up to 1.")
        return line


def assemble(reader: Reader, conversation_id: int, *, zone: times.Zone, line: Line | None = None) -> Context:
    """The context of a conversation as the plugin would assemble it; empty for a conversation without context rows."""
    line = line or Line()
    found = _Found.of(reader, conversation_id)
    rows = stored.items(reader, conversation_id)
    messages = [
        found.messages.get(row.message_id) if row.item_type == "message" and row.message_id is not None else None
        for row in rows
    ]
    tail = _tail_start([one.role if one else None for one in messages], line.fresh_tail)
    noisy = _heartbeats(messages)
    order = _Order()
    items = []
    for i, (row, message) in enumerate(zip(rows, messages, strict=True)):
        summary = (
            found.summaries.get(row.summary_id) if row.item_type == "summary" and row.summary_id is not None else None
        )
        if summary is not None:
            item = _summary_item(row, summary, found, zone)
        elif message is not None:
            item = _message_item(
                row, message, found, place="fresh tail" if i >= tail else "older", heartbeat=i in noisy
            )
        else:
            item = _missing_item(row)
        items.append(replace(item, in_tail=i >= tail, anomalies=(*item.anomalies, *order.say(item))))
    items, brief = _overlay_focus(reader, conversation_id, items, zone, found)
    return Context(
        conversation_id,
        tuple(_drop_over_budget(items, line.window)),
        line.fresh_tail,
        line.window,
        line.compact_at,
        zone.name,
        brief,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """What the rows of a context point to."""

    summaries: dict[str, Summary]
    messages: dict[int, MessageInContext]
    parts: dict[int, list[PartSize]]
    sources: dict[str, list[str]]
    previews: dict[int, str]
    covered: dict[str, list[str]]

    @classmethod
    def of(cls, reader: Reader, conversation_id: int) -> "_Found":
        messages = stored.messages(reader, conversation_id)
        blank = [key for key, one in messages.items() if not one.preview.strip()]
        return cls(
            summaries=stored.summaries(reader, conversation_id),
            messages=messages,
            parts=stored.part_sizes(reader, conversation_id),
            sources=stored.sources_of_context(reader, conversation_id),
            previews=stored.first_part_previews(reader, blank),
            covered=_coverage(reader, conversation_id),
        )


class _Order:
    """Says gaps, repeats and summaries behind messages on the item where they show, items given in stored order."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._behind = False
        self._expected = 0

    def say(self, item: Item) -> list[str]:
        said = []
        if item.ordinal != self._expected:
            gap = f"gap: {item.ordinal} follows {self._expected - 1}"
            said.append(gap if self._expected else f"starts at {item.ordinal}")
        if item.item_id in self._seen:
            said.append("is in the context twice")
        if self._behind and item.summary_id is not None and item.kind != "missing":
            said.append("summary behind a message")
        self._behind = self._behind or (item.message_id is not None and item.kind != "missing")
        self._seen.add(item.item_id)
        self._expected = item.ordinal + 1
        return said


def _summary_item(row: ContextItem, one: Summary, found: _Found, zone: times.Zone) -> Item:
    count, rule = tokens.stored_or_estimate(one.token_count, one.content)
    whole = xml.summary(one, found.sources.get(one.summary_id, []), zone)
    return Item(
        ordinal=row.ordinal,
        kind=one.label,
        item_id=one.summary_id,
        message_id=None,
        summary_id=one.summary_id,
        depth=one.depth,
        tokens=count,
        rule=rule,
        wrapper_tokens=tokens.plugin_tokens(whole) - tokens.plugin_tokens(one.content),
        preview=preview(one.content),
        created_at=one.created_at,
        covered_by=tuple(found.covered.get(one.summary_id, ())),
        anomalies=_foreign(row, one.conversation_id),
        pieces=(Piece(f"summaries {one.label}", count),),
    )


def _message_item(row: ContextItem, one: MessageInContext, found: _Found, *, place: str, heartbeat: bool) -> Item:
    parts = found.parts.get(one.message_id, [])
    anomalies = _foreign(row, one.conversation_id)
    if one.rule == "estimated" and one.tokens:
        anomalies = (*anomalies, f"stored tokens {_said(one.stored)}, re-estimated {one.tokens}")
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
        preview=preview(one.preview) if one.preview.strip() else found.previews.get(one.message_id, ""),
        created_at=one.created_at,
        dropped="empty assistant message" if empty else None,
        covered_by=tuple(found.covered.get(f"#{one.message_id}", ())),
        anomalies=anomalies,
        noise=noise.HEARTBEAT if heartbeat else None,
        pieces=(Piece(noise.HEARTBEAT, one.tokens),) if heartbeat else _pieces(one, parts, place),
    )


def _said(stored: int | None) -> str:
    return "no number" if stored is None else str(stored)


def _foreign(row: ContextItem, conversation_id: int) -> tuple[str, ...]:
    return () if conversation_id == row.conversation_id else (f"belongs to conversation {conversation_id}",)


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


def _pieces(one: MessageInContext, parts: Sequence[PartSize], place: str) -> tuple[Piece, ...]:
    """The message's tokens split over what it carries, in proportion to its parts; ``place`` tells roles apart."""
    weights: dict[str, int] = {}
    for part in parts:
        for group, weight in (
            (_text_group(one, part.part_type, place), part.text),
            ("tool input", part.tool_input),
            ("tool output", part.tool_output),
        ):
            if weight:
                weights[group] = weights.get(group, 0) + weight
    if len(weights) < 2:
        return (Piece(next(iter(weights), _text_group(one, "text", place)), one.tokens),)
    split = tokens.shares(one.tokens, list(weights.values()))
    return tuple(Piece(group, size) for group, size in zip(weights, split, strict=True))


def _text_group(one: MessageInContext, part_type: str, place: str) -> str:
    if part_type == "reasoning":
        return "reasoning"
    if part_type == "file" or one.preview.startswith(("[LCM File:", "[LCM Raw Payload:")):
        return "files"
    if one.role == "tool" or (part_type == "tool" and one.role != "user"):
        return "tool output"
    return f"{place}: {one.role}"


def _coverage(reader: Reader, conversation_id: int) -> dict[str, list[str]]:
    """Which summaries in context already cover an item, by the item's id."""
    covered: dict[str, list[str]] = {}
    for root, below in stored.covered_summaries(reader, conversation_id).items():
        for node in below:
            covered.setdefault(node, []).append(root)
    for root, message_id in stored.covered_messages(reader, conversation_id):
        covered.setdefault(f"#{message_id}", []).append(root)
    return {key: sorted(set(roots)) for key, roots in covered.items()}


def _overlay_focus(
    reader: Reader, conversation_id: int, items: list[Item], zone: times.Zone, found: _Found
) -> tuple[list[Item], str | None]:
    """The items with the active focus brief in place of what it covers; without a covered item there is no overlay."""
    active = [one for one in stored.briefs(reader, conversation_id) if one.status == "active" and one.content.strip()]
    if not active:
        return items, None
    brief = active[0]
    last_seq = stored.last_covered_seq(reader, conversation_id)
    masked = [
        item.summary_id in found.summaries
        and _is_covered(brief, found.summaries[item.summary_id], last_seq.get(item.summary_id))
        for item in items
    ]
    if not any(masked):
        return items, None
    count, rule = tokens.stored_or_estimate(brief.token_count, brief.content)
    first = masked.index(True)
    overlay = Item(
        ordinal=items[first].ordinal,
        kind="focus",
        item_id=brief.brief_id,
        message_id=None,
        summary_id=None,
        depth=None,
        tokens=count,
        rule=rule,
        wrapper_tokens=tokens.plugin_tokens(xml.brief(brief, zone)) - tokens.plugin_tokens(brief.content),
        preview=preview(brief.content),
        created_at=brief.created_at,
        in_tail=items[first].in_tail,
        pieces=(Piece("focus brief", count),),
    )
    said = f"covered by focus brief {brief.brief_id}"
    hidden = [replace(item, dropped=said) if mask else item for item, mask in zip(items, masked, strict=True)]
    return [*hidden[:first], overlay, *hidden[first:]], brief.brief_id


def _is_covered(brief: FocusBrief, summary: Summary, last_seq: int | None) -> bool:
    if brief.covered_message_seq is not None and last_seq is not None:
        return last_seq <= brief.covered_message_seq
    latest, covered = times.parse(summary.latest_at), times.parse(brief.covered_latest_at)
    return latest is not None and covered is not None and latest <= covered


def _tail_start(roles: Sequence[str | None], fresh_tail: int) -> int:
    """Where the fresh tail begins: the last N messages, and back to the newest user message; all from there is kept.

    ``roles`` are None for what is no message.
    """
    places = [i for i, role in enumerate(roles) if role is not None]
    if not places:
        return len(roles)
    start = places[-fresh_tail] if 0 < fresh_tail <= len(places) else (places[0] if fresh_tail else len(roles))
    return min(start, max((i for i in places if roles[i] == "user"), default=len(roles)))


def _heartbeats(messages: Sequence[MessageInContext | None]) -> set[int]:
    """The places of heartbeats and their pairs."""
    places = [(i, one) for i, one in enumerate(messages) if one is not None]
    flags = noise.heartbeats([(one.role, one.preview) for _, one in places])
    return {i for (i, _), flag in zip(places, flags, strict=True) if flag}


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
