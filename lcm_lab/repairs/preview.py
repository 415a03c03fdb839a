"""Contexts as previews show them, before and after a swap, and what a change of them makes stale."""

from collections.abc import Iterable

from lcm_lab import times
from lcm_lab.analysis import assembly, focus
from lcm_lab.repairs.edits import Item, SwapItems
from lcm_lab.repairs.plan import ContextChange, Shown, swapped
from lcm_lab.store import checks
from lcm_lab.store import context as stored
from lcm_lab.store.connect import Reader

SHOWN_BEHIND = 8
"""Items behind the last changed one that a preview still shows."""

COMPACT_AT = assembly.COMPACT_AT


def shown(reader: Reader, conversation_id: int, zone: times.Zone) -> tuple[Shown, ...]:
    """Every stored item of a context, in order, with the tokens every view gives it (wrappers left out)."""
    context = assembly.assemble(reader, conversation_id, zone=zone)
    named = {one.ordinal: one for one in context.items if one.kind != "focus"}
    result = []
    for row in stored.items(reader, conversation_id):
        one = named.get(row.ordinal)
        ref = row.message_id if row.item_type == "message" else row.summary_id
        result.append(
            Shown(
                item_type=row.item_type,
                ref="" if ref is None else ref,
                label=one.kind if one else "missing",
                tokens=one.tokens if one else 0,
                preview=one.preview[:80] if one else "",
            )
        )
    return tuple(result)


def change(
    conversation_id: int, before: tuple[Shown, ...], swap: SwapItems, added: Iterable[Shown] = ()
) -> ContextChange:
    """A context before and after a swap; what lies far behind it is summed up."""
    after = swapped(before, swap, added)
    same = 0
    while same < min(len(before), len(after)) and before[-1 - same] == after[-1 - same]:
        same += 1
    cut = max(same - SHOWN_BEHIND, 0)
    rest = before[len(before) - cut :]
    return ContextChange(
        conversation_id,
        before[: len(before) - cut],
        after[: len(after) - cut],
        rest_items=len(rest),
        rest_tokens=sum(one.tokens for one in rest),
    )


def neighbours(items: tuple[Shown, ...], first: int, end: int) -> tuple[Shown | None, Shown | None]:
    """What stands before ``first`` and at ``end``."""
    return (items[first - 1] if first > 0 else None, items[end] if end < len(items) else None)


def run(items: Iterable[Shown]) -> tuple[Item, ...]:
    """Items one after the other, as an edit names them."""
    return tuple(Item(one.item_type, one.ref, offset) for offset, one in enumerate(items))


def warnings(reader: Reader, conversation_id: int, context: ContextChange, window: int | None) -> list[str]:
    """What a user should know before a context changes: the window, a compaction that is open, briefs that go stale."""
    said = []
    before, after = context.tokens_before, context.tokens_after
    if window:
        share = f"{after:,} of {window:,} tokens ({round(100 * after / window)} %)"
        if after > window:
            said.append(f"The context would be larger than the window: {share}.")
        elif after > COMPACT_AT * window:
            said.append(f"The context would pass {COMPACT_AT:.0%} of the window, where the plugin compacts: {share}.")
    elif after > before:
        said.append(
            f"The context grows from {before:,} to {after:,} tokens; name the model's window (--window on a terminal) "
            "to see whether it still fits."
        )
    said += [
        f"A compaction of conversation {conversation_id} is {'running' if one.running else 'pending'}; let the plugin "
        "finish first, or this plan may be stale before it is applied."
        for one in checks.maintenance(reader, conversation_id)
    ]
    said += [
        f"Focus brief {one.brief.brief_id} becomes stale: it was made from the summaries in context as they are now."
        for one in focus.briefs(reader, conversation_id)
        if one.brief.status == "active" and not one.hash_changed
    ]
    return said
