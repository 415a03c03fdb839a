"""Take repairs back: the edits the journal kept for that are a plan like any other.

The newest repair of a batch is taken back first. Where the store no longer reads as a repair left it, that repair stays
and the message names what came later, as far as the journal knows it.
"""

from dataclasses import dataclass
from itertools import dropwhile

from lcm_lab.errors import LcmLabError, Refused, StalePlan
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, journal
from lcm_lab.repairs.edits import AddCounts, DeleteRows, Edit, InsertRows, SetIndex, SetText, SwapItems
from lcm_lab.repairs.journal import Applied, Entry, Journal
from lcm_lab.repairs.plan import Plan, maker, new_id
from lcm_lab.store.connect import StoreFile


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo did: repairs taken back, newest first, and the one that could not be with the reason."""

    applied: tuple[Applied, ...]
    undone: tuple[Entry, ...]
    left: tuple[Entry, ...] = ()
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class UndoPlan:
    """What an undo would take back, newest first; :meth:`apply` does it.

    ``staying`` counts the other repairs of the same batch, which would stay.
    """

    store: StoreFile
    name: str | None
    entries: tuple[Entry, ...]
    staying: int = 0

    def apply(self, *, backup: str = "auto") -> Undone:
        """Take it back; see :func:`undo`."""
        return undo(self.store, self.name or self.entries[0].journal_id, backup=backup)


def find(store: StoreFile, name: str | None = None) -> tuple[Entry, ...]:
    """The repairs an undo of ``name`` would take back, newest first; without a name the last one.

    Raises:
        NotFound: there is nothing of that name, or nothing to undo.
    """
    if journal.read(store).open_ends():
        writer.settle(store)
    return journal.read(store).find(name)


def planned(store: StoreFile, name: str | None = None) -> UndoPlan:
    """What an undo of ``name`` would do; see :func:`find`."""
    entries = find(store, name)
    batch = entries[0].batch
    of_batch = 0 if batch is None else sum(one.batch == batch for one in journal.read(store).undoable())
    return UndoPlan(store, name, entries, staying=max(of_batch - len(entries), 0))


def plan(store: StoreFile, entry: Entry) -> Plan:
    """The plan that takes a repair back."""
    return Plan(
        plan_id=new_id(),
        operation="undo",
        conversation_id=entry.conversation_id,
        subject=entry.subject,
        title=f"Undo {entry.journal_id}: {entry.title}",
        edits=entry.inverse,
        made_at=journal.now(),
        made_by=maker(),
        why=f"{entry.operation} of {entry.at} is taken back",
        tokens_before=entry.tokens_after,
        tokens_after=entry.tokens_before,
        facts=(("repair", f"{entry.operation}, {entry.at}, by {entry.by}"),),
        store=store,
    )


def undo(store: StoreFile, name: str | None = None, *, backup: str = "auto") -> Undone:
    """Take back the last repair, or the plan or batch called ``name``.

    Raises:
        NotFound: nothing to undo. Refused: the store has changed since where the (first) repair changed it.
    """
    entries = find(store, name)
    session = backups.Session(store, backup)
    done: list[Applied] = []
    for i, entry in enumerate(entries):
        try:
            done.append(writer.apply(store, plan(store, entry), undoes=entry.journal_id, session=session))
        except LcmLabError as error:
            problem = _why(journal.read(store), entry, error)
            if not done:
                raise Refused(problem) if isinstance(error, StalePlan) else error from error
            return Undone(tuple(done), entries[:i], entries[i:], problem)
    return Undone(tuple(done), entries)


def _why(kept: Journal, entry: Entry, error: LcmLabError) -> str:
    # The order of the journal, not of its times: clocks are set back.
    since = list(dropwhile(lambda one: one.journal_id != entry.journal_id, kept.undoable()))[1:]
    later = [one.journal_id for one in since if _touched(one.edits) & _touched(entry.edits)]
    if later:
        return (
            f"{entry.journal_id} ({entry.title}) cannot be undone: {', '.join(later)} came later and changed the same; "
            f"undo that first. ({error})"
        )
    return (
        f"{entry.journal_id} ({entry.title}) cannot be undone: the store was changed since, where it was repaired. "
        f"({error}) Nothing was changed."
    )


def _touched(edits: tuple[Edit, ...]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for edit in edits:
        if isinstance(edit, SetText | AddCounts):
            found.add(("summaries", edit.summary_id))
        elif isinstance(edit, SwapItems):
            found |= {("context", str(one.ref)) for one in (*edit.old, *edit.new)}
        elif isinstance(edit, InsertRows | DeleteRows):
            found |= {(edit.table, str(row.get("summary_id", row.get("message_id")))) for row in edit.rows}
        elif isinstance(edit, SetIndex):
            found.add((edit.table, str(edit.key)))
    return found
