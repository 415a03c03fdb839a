"""Transplant: copy the summaries of one conversation, with everything they were made from, into another.

Every summary, message and part below the chosen ones is copied once, whole rows with new ids, so that the target can
expand them to the last message and the source stays as it is. Times, counts, model, sender and unknown columns come
along; large files are :mod:`lcm_lab.repairs.transplant_rows`. What the target has already, text for text, is refused,
or linked in the place of a copy with ``skip_duplicates``. Context as lcm-tui leaves it (public sources, commit
4214b480). Checked by ``tests/repairs/test_transplant.py``.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lcm_lab import times, tokens
from lcm_lab.analysis.wording import counted, some
from lcm_lab.errors import NotFound, NothingToDo, Refused, UsageError
from lcm_lab.repairs import preview, transplant_context, transplant_dag
from lcm_lab.repairs.edits import SwapItems
from lcm_lab.repairs.journal import now
from lcm_lab.repairs.plan import ContextChange, Plan, Shown, maker, new_id
from lcm_lab.repairs.transplant_context import New, Seen
from lcm_lab.repairs.transplant_dag import Selection
from lcm_lab.repairs.transplant_rows import Copies, copies
from lcm_lab.store import copying, images, summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.copying import Held, Place
from lcm_lab.store.rows import Summary, kind_label
from lcm_lab.store.text import preview as shortened

ORDERS: Final = ("depth", "source")
_NAMED: Final = 5
_SHOWN: Final = 80


@dataclass(frozen=True, slots=True)
class Options:
    """How to transplant.

    ``order`` of the target's context: ``depth`` sorts all its summaries as lcm-tui does, ``source`` puts the new ones
    in front and leaves the rest. ``summary_ids`` chooses summaries of the source, in the context or not, in the order
    given; without any, those of its context. ``skip_duplicates`` links what the target has already.
    """

    order: str = "depth"
    summary_ids: tuple[str, ...] = ()
    skip_duplicates: bool = False
    window: int | None = None


@dataclass(frozen=True, slots=True)
class _Target:
    """The target as it is: its context, as stored and as shown, and what it holds."""

    conversation_id: int
    places: list[Place]
    shown: tuple[Shown, ...]
    held: list[Held]
    messages: int


@dataclass(frozen=True, slots=True)
class _Result:
    """What comes of it: the rows, the context, and what a user should know.

    ``coming`` are the new items of the context, each behind the id its original has in the source.
    """

    selection: Selection
    copies: Copies
    coming: tuple[tuple[str, Shown], ...]
    context: ContextChange
    said: tuple[str, ...]


def plan(reader: Reader, source_id: int, target_id: int, *, zone: times.Zone, options: Options) -> Plan:
    """The plan that copies summaries of a conversation into another.

    Raises:
        NotFound: no such conversation or summary. Refused: it cannot be done whole, or was done already; the message
        says what is in the way. NothingToDo: the source has no summaries, or the target shows them all already.
    """
    if options.order not in ORDERS:
        raise UsageError(f"The order is {' or '.join(ORDERS)}; {options.order!r} is neither.")
    if source_id == target_id:
        raise Refused(f"Conversation {source_id} is source and target at once: nothing can be copied into itself.")
    for role, one in (("source", source_id), ("target", target_id)):
        if images.image(reader, "conversations", one) is None:
            raise NotFound(f"There is no conversation {one} ({role}); 'lcm-lab conversations' lists those there are.")
    chosen, notes = _chosen(reader, source_id, options)
    held = copying.held(reader, target_id)
    selection = transplant_dag.select(reader, source_id, chosen, held, link=options.skip_duplicates)
    _refuse_duplicates(selection, target_id)
    target = _Target(
        target_id,
        copying.places(reader, target_id),
        preview.shown(reader, target_id, zone),
        held,
        copying.sizes(reader, target_id)[1],
    )
    swap, result = _result(reader, selection, target, options)
    return Plan(
        plan_id=new_id(),
        operation="transplant",
        conversation_id=target_id,
        subject=str(source_id),
        title=f"Copy {_summaries(len(selection.summaries))} and {counted(result.copies.messages, 'message')} of "
        f"conversation {source_id} into conversation {target_id}",
        edits=(*result.copies.edits, swap),
        made_at=now(),
        made_by=maker(),
        why=f"conversation {target_id} goes on with what conversation {source_id} knew",
        tokens_before=result.context.tokens_before,
        tokens_after=result.context.tokens_after,
        facts=_facts(source_id, target, result),
        warnings=(*notes, *result.said, *preview.warnings(reader, target_id, result.context, options.window)),
        context=result.context,
    )


def _chosen(reader: Reader, source_id: int, options: Options) -> tuple[list[str], list[str]]:
    """The summaries to put into the target's context, each once, and notes on what was passed over."""
    if options.summary_ids:
        wanted = list(dict.fromkeys(options.summary_ids))
        nodes = {one.summary_id: one for one in summaries.nodes(reader, ids=wanted)}
        missing = [one for one in wanted if one not in nodes]
        if missing:
            raise NotFound(f"There is no summary {some(missing)}; 'lcm-lab dag {source_id}' lists those there are.")
        foreign = [one for one in wanted if nodes[one].conversation_id != source_id]
        if foreign:
            raise Refused(f"Not of conversation {source_id}: {some(foreign)}.")
        return wanted, []
    places = [one for one in copying.places(reader, source_id) if one.item_type == "summary"]
    dangling = [str(one.ref) for one in places if not one.resolves]
    notes = [
        f"{one} is in the context of conversation {source_id} and does not exist: there is nothing to copy."
        for one in dangling
    ]
    chosen = list(dict.fromkeys(str(one.ref) for one in places if one.resolves))
    if not chosen:
        but = f" that exist ({some(dangling)} do not)" if dangling else ""
        raise NothingToDo(f"The context of conversation {source_id} holds no summaries{but}, so nothing is copied.")
    return chosen, notes


def _refuse_duplicates(selection: Selection, target_id: int) -> None:
    if not selection.matches:
        return
    digests = {str(row["summary_id"]): copying.digest(row["content"]) for row in selection.summaries}
    listed = [
        f"{one} (sha256 {digests[one][:12]}, {len(equal)} in the target: {some(held.summary_id for held in equal)})"
        for one, equal in list(selection.matches.items())[:_NAMED]
    ]
    more = len(selection.matches) - len(listed)
    number = f"{len(selection.matches)} of {_summaries(len(selection.summaries))}"
    raise Refused(
        f"{number} would be twice in conversation {target_id}, "
        f"text for text: {'; '.join(listed)}{f'; and {more} more' if more else ''}. Nothing was changed. If it is "
        "meant so, --skip-duplicates copies only the rest and links these; or delete them from the target first."
    )


def _result(reader: Reader, selection: Selection, target: _Target, options: Options) -> tuple[SwapItems, _Result]:
    made = copies(reader, selection, target.conversation_id)
    by_depth = options.order == "depth"
    seen = Seen(target.places, {}, {})
    gone: set[tuple[str, int | str]] = set()
    accepted: list[str] = []
    if selection.linked:
        seen.below = _below(reader, target.conversation_id)
        seen.messages = summaries.leaf_messages(reader, target.conversation_id)
        used = [made.new_ids[str(edge["parent_summary_id"])] for edge in selection.edges]
        used = [one for one in used if one in set(selection.linked.values())]
        gone = seen.leaving(used)
        accepted = seen.coming([selection.linked[one] for one in selection.tops if one in selection.linked], used)
    coming = [one for one in selection.tops if one not in selection.linked or made.new_ids[one] in accepted]
    if not coming:
        raise NothingToDo(
            f"Conversation {target.conversation_id} has what would be copied already "
            f"({_summaries(len(selection.tops))}), so there is nothing to do. {' '.join(seen.notes[:_NAMED])}"
        )
    # What is linked stands there with its own time and count, which need not be those of its twin.
    rows = {one: selection.linked.get(one, one) for one in coming}
    texts = copying.with_texts(reader, rows.values())
    new = [New(made.new_ids[one], texts[row].depth, texts[row].created_at) for one, row in rows.items()]
    swap = transplant_context.swap(target.conversation_id, target.places, new, gone, by_depth=by_depth)
    shown = tuple((one, _shown(made.new_ids[one], texts[row])) for one, row in rows.items())
    context = preview.change(target.conversation_id, target.shown, swap, [item for _, item in shown])
    behind = transplant_context.out_of_reach(target.places, swap, gone, by_depth=by_depth)
    said = [*selection.notes, *seen.notes, *_said(target, made, swap, behind)]
    return swap, _Result(selection, made, shown, context, tuple(said))


def _below(reader: Reader, conversation_id: int) -> transplant_dag.Below:
    found: transplant_dag.Below = {}
    for edge in summaries.edges(reader, conversation_id):
        found.setdefault(edge.summary_id, []).append(edge.parent_summary_id)
    return found


def _shown(key: str, one: Summary) -> Shown:
    count, _ = tokens.stored_or_estimate(one.token_count, one.content)
    return Shown("summary", key, one.label, count, shortened(one.content)[:_SHOWN])


def _facts(source_id: int, target: _Target, result: _Result) -> tuple[tuple[str, str], ...]:
    made, rows = result.copies, result.selection.summaries
    tops = sum(1 for one in result.selection.tops if one not in result.selection.linked)
    labels = Counter(
        (-depth, kind_label(str(row.get("kind")), depth))
        for row in rows
        for depth in [row["depth"] if isinstance(row.get("depth"), int) else 0]
        if isinstance(depth, int)
    )
    context = result.context
    items = [
        (f"item {i}", f"{original} [{one.label}, {one.tokens:,} tokens] {one.preview}")
        for i, (original, one) in enumerate(result.coming)
    ]
    linked = result.selection.linked
    return (
        ("source", f"conversation {source_id}: {_summaries(len(result.coming))} for the context of the target"),
        *items,
        ("summaries to copy", f"{len(rows)}: {tops} from the context, {len(rows) - tops} that they were made from"),
        ("by depth", ", ".join(f"{label} {count}" for (_, label), count in sorted(labels.items())) or "none"),
        ("messages to copy", f"{made.messages:,} with {counted(made.parts, 'part')}"),
        *([("large files", f"{counted(made.files, 'row')}; the payloads stay where they are")] if made.files else []),
        *([("linked", f"{len(linked)} that the target has already, in the place of copies")] if linked else []),
        ("target", _held(target)),
        ("added tokens", f"{sum(one.tokens for _, one in result.coming):,}"),
        ("tokens of the context", f"{context.tokens_before:,} -> {context.tokens_after:,}"),
    )


def _held(target: _Target) -> str:
    own = sum(1 for one in target.places if one.item_type == "summary")
    number = f"{_summaries(len(target.held))} ({own} in the context)"
    return f"conversation {target.conversation_id}: {number} and {counted(target.messages, 'message')}"


def _summaries(number: int) -> str:
    return counted(number, "summary", "summaries")


def _said(target: _Target, made: Copies, swap: SwapItems, behind: Iterable[Place]) -> list[str]:
    said = []
    new = {one.key for one in swap.new}
    old = [one.key for one in swap.old]
    if [one for one in old if one in new] != [one.key for one in swap.new if one.key in set(old)]:
        said.append(
            f"The summaries that conversation {target.conversation_id} has already are put in order, too: by depth, "
            "then by age, in front of all messages. --order source leaves them where they are."
        )
    stuck = [str(one.ref) for one in behind]
    if stuck:
        said.append(
            f"{some(stuck)} stay where they are: before them stands an item that leads nowhere, or one that is in the "
            "context twice. See 'lcm-lab check'."
        )
    if made.keys_left_out:
        said.append(
            f"{counted(made.keys_left_out, 'transcript or event key')} of copied messages stay empty: the target has "
            "the same already."
        )
    return said
