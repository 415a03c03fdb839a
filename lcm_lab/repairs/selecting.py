"""Selecting: which summaries an operation takes, and in which order.

One detector for repair and doctor: a summary counts as broken where :func:`markers.broken_kind` says so, nowhere else.
The invariant: each summary comes once, and whatever a summary is made from comes before it when both are taken, so
that it is rebuilt from texts that are already whole; where depths are right, that is lcm-tui's own order (by depth,
then ``created_at`` as raw text, then id). Checked by ``tests/repairs/test_selecting.py``.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from lcm_lab.analysis.health import markers
from lcm_lab.analysis.health.markers import MarkerKind
from lcm_lab.errors import NotFound, UsageError
from lcm_lab.repairs.gather import not_here
from lcm_lab.store import lineage, summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import kind_label
from lcm_lab.store.summaries import Node


@dataclass(frozen=True, slots=True)
class Chosen:
    """A summary that was selected, without its text.

    ``sources`` counts the messages or summaries it was made from, as the store says; ``marker`` is None for one that
    is not broken.
    """

    node: Node
    marker: MarkerKind | None
    sources: int

    @property
    def summary_id(self) -> str:
        """The summary's id."""
        return self.node.summary_id

    @property
    def conversation_id(self) -> int:
        """The conversation it belongs to."""
        return self.node.conversation_id

    @property
    def is_leaf(self) -> bool:
        """Whether it counts as a leaf."""
        return lineage.is_leaf(self.node.kind, self.node.depth)

    @property
    def label(self) -> str:
        """``leaf`` or ``dN``."""
        return kind_label(self.node.kind.strip().lower(), self.node.depth)

    @property
    def depth(self) -> int:
        """Its depth as stored."""
        return self.node.depth

    @property
    def tokens(self) -> int:
        """Its token number, as every view shows it."""
        return self.node.tokens

    @property
    def bytes(self) -> int:
        """The size of its text."""
        return self.node.bytes

    @property
    def ordinal(self) -> int | None:
        """Its place in the context; None where it is not there."""
        return self.node.in_context


@dataclass(frozen=True, slots=True)
class Selection:
    """What was selected, in the order to work in; ``note`` says why it is empty where it is."""

    rows: tuple[Chosen, ...]
    note: str | None = None

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids, in order."""
        return tuple(row.summary_id for row in self.rows)

    @property
    def by_conversation(self) -> dict[int, tuple[Chosen, ...]]:
        """The rows of each conversation, in the order of the rows."""
        found: dict[int, list[Chosen]] = {}
        for row in self.rows:
            found.setdefault(row.conversation_id, []).append(row)
        return {key: tuple(rows) for key, rows in found.items()}

    @property
    def by_marker(self) -> dict[MarkerKind, int]:
        """How many there are of each kind of mark."""
        return dict(Counter(row.marker for row in self.rows if row.marker is not None))

    @property
    def by_label(self) -> dict[str, int]:
        """How many there are of each depth, in the order of the rows."""
        return dict(Counter(row.label for row in self.rows))


def for_rewrite(
    reader: Reader,
    conversation_id: int,
    *,
    summary_id: str | None = None,
    depth: int | None = None,
    everything: bool = False,
    subtree: str | None = None,
) -> Selection:
    """The summaries of a conversation that a rewrite takes: one, a depth, all, or one with all it was made from.

    Raises:
        UsageError: not exactly one of the four is given, or the depth is negative.
        NotFound: no such conversation, or no such summary in it.
    """
    if sum((summary_id is not None, depth is not None, everything, subtree is not None)) != 1:
        raise UsageError(
            "Name exactly one: a summary (--summary ID), a depth (--depth N), all (--all) or a subtree (--subtree ID)."
        )
    if depth is not None and depth < 0:
        raise UsageError(f"A depth is 0 or more, not {depth}.")
    _must_exist(reader, conversation_id)
    single = summary_id if summary_id is not None else subtree
    if single is not None:
        _must_have(reader, conversation_id, single)
    ids: Iterable[str] = lineage.by_age(reader, conversation_id)
    if summary_id is not None:
        ids = [summary_id]
    elif subtree is not None:
        wanted = lineage.below(reader, subtree)
        ids = [one for one in ids if one in wanted]
    rows = [row for row in _chosen(reader, ids, _marks(reader, conversation_id)) if depth is None or row.depth == depth]
    ordered = _sources_first(reader, sorted(rows, key=lambda row: row.depth))
    if ordered:
        return Selection(ordered)
    what = "no summaries" if depth is None else f"no summaries of depth {depth}"
    return Selection((), f"Conversation {conversation_id} has {what}.")


def broken(reader: Reader, conversation_id: int | None = None, summary_id: str | None = None) -> Selection:
    """The broken summaries of a conversation, of all conversations by ascending id, or the one that is named.

    Leaves in the context come first, by their place; then the other leaves by age; then the condensed ones by depth
    and age. A named summary that is not broken gives no rows, and a note that says why it does not count.

    Raises:
        NotFound: no such conversation, or no such summary in it.
    """
    if conversation_id is not None:
        _must_exist(reader, conversation_id)
    if summary_id is not None:
        return _one(reader, conversation_id, summary_id)
    marks = _marks(reader, conversation_id)
    if not marks:
        where = "this store" if conversation_id is None else f"conversation {conversation_id}"
        return Selection((), f"No summary in {where} is broken.")
    rows = _chosen(reader, [one for one in lineage.by_age(reader, conversation_id) if one in marks], marks)
    lanes: dict[int, list[Chosen]] = {}
    for row in rows:
        lanes.setdefault(row.conversation_id, []).append(row)
    ordered = (_sources_first(reader, sorted(lane, key=_turn)) for lane in lanes.values())
    return Selection(tuple(row for lane in ordered for row in lane))


def why_healthy(text: str, model: str | None) -> str:
    """Why a summary that is not broken does not count as broken, as the end of a sentence."""
    quoted = markers.quotation(text, model)
    if quoted is None:
        return "it holds no mark of a failed compaction"
    return f"it holds {quoted.marker}, but {quoted.reason}"


def _one(reader: Reader, conversation_id: int | None, summary_id: str) -> Selection:
    found = summaries.summary(reader, summary_id)
    if found is None or conversation_id not in (None, found.conversation_id):
        raise NotFound(not_here(found, summary_id, conversation_id))
    kind = markers.broken_kind(found.content, found.model)
    if kind is None:
        reason = why_healthy(found.content, found.model)
        return Selection((), f"Summary {summary_id} is not broken: {reason}.")
    return Selection(tuple(_chosen(reader, [summary_id], {summary_id: kind})))


def _marks(reader: Reader, conversation_id: int | None) -> dict[str, MarkerKind]:
    """The broken summaries and the mark of each."""
    kinds = (
        (one.summary_id, markers.broken_kind(one.content, one.model))
        for one in lineage.suspects(reader, conversation_id)
    )
    return {one: kind for one, kind in kinds if kind is not None}


def _chosen(reader: Reader, ids: Iterable[str], marks: Mapping[str, MarkerKind]) -> list[Chosen]:
    """Rows for ``ids``, in their order, read in batches."""
    ids = list(ids)
    nodes = {node.summary_id: node for node in summaries.nodes(reader, ids=ids)}
    sources = lineage.sources_of(reader, ids)
    rows = []
    # An id that is no valid text leads to no row, so nothing could be done with it.
    for one in (one for one in ids if one in nodes):
        node, above = nodes[one], len(sources.get(one, ()))
        messages = lineage.reads_messages(node.kind, node.depth, links=node.message_links, sources=above)
        rows.append(Chosen(node, marks.get(one), node.message_links if messages else above))
    return rows


def _turn(row: Chosen) -> tuple[int, int]:
    """The rank of a broken summary among those of its conversation; equal ones stay in the order of their age."""
    if not row.is_leaf:
        return 2, row.depth
    return (1, 0) if row.ordinal is None else (0, row.ordinal)


def _sources_first(reader: Reader, rows: Sequence[Chosen]) -> tuple[Chosen, ...]:
    """``rows`` in their order, except that a summary waits for those of its sources that come later.

    Where depths are right nothing moves. In a cycle the first one reached goes last.
    """
    taken = {row.summary_id: row for row in rows}
    sources = lineage.sources_of(reader, taken)
    place = {one: number for number, one in enumerate(taken)}
    done: dict[str, None] = {}
    entered: set[str] = set()
    for start in taken:
        waiting = [start]
        while waiting:
            one = waiting[-1]
            later = _waits_for(sources.get(one, ()), taken, entered, place) if one not in entered else []
            entered.add(one)
            if later:
                waiting.extend(later)
                continue
            done.setdefault(waiting.pop())
    return tuple(taken[one] for one in done)


def _waits_for(
    sources: Iterable[str], taken: Collection[str], entered: Collection[str], place: Mapping[str, int]
) -> list[str]:
    """Sources not yet on their way, the first to be done at the end."""
    new = {one for one in sources if one in taken and one not in entered}
    return sorted(new, key=lambda one: place[one], reverse=True)


def _must_exist(reader: Reader, conversation_id: int) -> None:
    if not lineage.knows(reader, conversation_id):
        raise NotFound(f"There is no conversation {conversation_id} in this store; 'lcm-lab conversations' lists them.")


def _must_have(reader: Reader, conversation_id: int, summary_id: str) -> None:
    found = summaries.summary(reader, summary_id)
    if found is None or found.conversation_id != conversation_id:
        raise NotFound(not_here(found, summary_id, conversation_id))
