"""Summaries that still tell what an older text of their sources said.

When a summary is written anew, what was made from it keeps its text until it is written anew as well. Which those are
is known from the DAG right after a batch, and later from the journal, as far as it was us who wrote.
"""

from collections.abc import Iterable, Sequence

from lcm_lab.repairs.edits import SetText
from lcm_lab.repairs.journal import Journal
from lcm_lab.store import summaries
from lcm_lab.store.connect import Reader, StoreFile


def after(store: StoreFile, written: Sequence[str]) -> tuple[str, ...]:
    """What was made from the summaries ``written``, in this order, and not written anew after its sources."""
    return store.read(lambda reader: _stale(reader, written))


def known(reader: Reader, journal: Journal, conversation_id: int | None = None) -> tuple[str, ...]:
    """As :func:`after`, for all that the journal knows, of a conversation or of the store."""
    entries = [
        one
        for one in journal.undoable()
        if (conversation_id is None or one.conversation_id == conversation_id)
        and any(isinstance(edit, SetText) for edit in one.edits)
    ]
    return _stale(reader, [one.subject for one in entries])


def _stale(reader: Reader, written: Iterable[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in written:
        found.pop(one, None)
        waiting = summaries.derived(reader, one)
        while waiting:
            above = waiting.pop(0)
            if above not in found and above != one:
                found[above] = None
                waiting += summaries.derived(reader, above)
    return tuple(found)
