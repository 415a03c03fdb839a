"""The target's context after a transplant: what comes in, what leaves, and one swap that makes it so.

The invariant: the context says nothing twice afterwards that it did not say twice before. Order ``depth`` is what
lcm-tui leaves (public sources, commit 4214b480): all summaries first, by depth, then ``created_at`` as raw text, then
id, and the messages behind them in their old order; ``source`` puts the new items in front and moves the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lcm_lab.repairs.edits import Item, SwapItems
from lcm_lab.repairs.transplant_dag import Below, closure
from lcm_lab.store.copying import Place

Key = tuple[str, int | str]


@dataclass(frozen=True, slots=True)
class New:
    """A summary that comes into the context: ``summary_id`` in the target, with what orders it."""

    summary_id: str
    depth: int
    written_at: str


@dataclass(slots=True)
class Seen:
    """What the target's model sees, directly or as part of a summary; notes say what therefore stays out or leaves."""

    places: list[Place]
    below: Below
    messages: dict[str, tuple[int, ...]]
    notes: list[str] = field(default_factory=list)

    def leaving(self, used: Iterable[str]) -> set[Key]:
        """Items that a new summary covers, because it was made from ``used``, which the target had already."""
        covered = self._keys(closure(used, self.below))
        gone = {one.key for one in self.places if one.key in covered}
        self.notes += [
            f"{kind} {ref} leaves the context of the target: a summary that comes in was made from it, too."
            for kind, ref in sorted(gone, key=str)
        ]
        return gone

    def coming(self, stand_ins: list[str], used: Iterable[str]) -> list[str]:
        """Those of ``stand_ins`` (summaries the target had already) that the model does not see yet in any way."""
        direct = {one.key for one in self.places}
        covered = self._keys(closure(used, self.below))
        for place in self.places:
            if place.item_type == "summary":
                covered |= self._keys(closure([str(place.ref)], self.below)) - {place.key}
        accepted = []
        for one in stand_ins:
            inside = self._keys(closure([one], self.below))
            if ("summary", one) in direct:
                self.notes.append(f"{one} is in the context of the target already and is not put in twice.")
            elif ("summary", one) in covered:
                self.notes.append(f"{one} is in the context of the target already, as part of another summary.")
            elif inside & direct:
                self.notes.append(f"{one} stays out of the context: what it was made from is in it already.")
            else:
                accepted.append(one)
                direct.add(("summary", one))
                covered |= inside
        return accepted

    def _keys(self, ids: set[str]) -> set[Key]:
        messages = {("message", message) for one in ids for message in self.messages.get(one, ())}
        return {("summary", one) for one in ids} | messages


def swap(conversation_id: int, places: list[Place], new: list[New], gone: set[Key], *, by_depth: bool) -> SwapItems:
    """The one swap that brings ``new`` in and takes ``gone`` out."""
    end = _end(places, gone, by_depth=by_depth)
    run = places[:end]
    kept = [one for one in run if one.key not in gone]
    order: list[tuple[Key, Place | None]]
    if by_depth:
        ranked: list[tuple[tuple[int, str, str], Key, Place | None]] = [
            ((-one.depth, one.written_at, one.summary_id), ("summary", one.summary_id), None) for one in new
        ]
        ranked += [
            ((-one.depth, one.written_at, str(one.ref)), one.key, one) for one in kept if one.item_type == "summary"
        ]
        ranked.sort(key=lambda one: one[0])
        order = [(key, place) for _, key, place in ranked]
        order += [(one.key, one) for one in kept if one.item_type != "summary"]
    else:
        order = [(("summary", one.summary_id), None) for one in new]
        order += [(one.key, one) for one in kept]
    return SwapItems(
        conversation_id,
        left=None,
        old=tuple(Item(one.item_type, one.ref, i, one.created_at) for i, one in enumerate(run)),
        new=tuple(
            Item(kind, ref, i, place.created_at if place else None) for i, ((kind, ref), place) in enumerate(order)
        ),
        right=places[end].key if run and end < len(places) else None,
        start=places[0].ordinal if places else 0,
    )


def out_of_reach(places: list[Place], edit: SwapItems, gone: set[Key], *, by_depth: bool) -> list[Place]:
    """Items that should have moved or left, and stand behind one that leads nowhere or stands twice."""
    behind = places[len(edit.old) :]
    return [one for one in behind if one.key in gone or (by_depth and one.item_type == "summary" and one.resolves)]


def _limit(places: list[Place]) -> int:
    """How far a run may go. An item that leads nowhere cannot be written again, so nothing is moved across one."""
    return next((i for i, one in enumerate(places) if not one.resolves), len(places))


def _end(places: list[Place], gone: set[Key], *, by_depth: bool) -> int:
    """Where the run ends: behind the last item that moves; what is further behind only shifts, gaps and all."""
    limit = _limit(places)
    end = 0
    for i, one in enumerate(places[:limit]):
        if one.key in gone or (by_depth and one.item_type == "summary"):
            end = i + 1
    # An item that stands twice must be in the run with all its places, or with none.
    while 0 < end < len(places):
        inside = {one.key for one in places[:end]}
        again = [i for i in range(end, len(places)) if places[i].key in inside]
        if not again:
            break
        if again[-1] < limit:
            end = again[-1] + 1
        else:
            twice = places[again[-1]].key
            end = limit = next(i for i, one in enumerate(places) if one.key == twice)
    return end
