"""Make a plan real: the one place that writes to a store.

In this order: look whether the store still reads as the plan saw it, and rehearse the edits where a backup will be
made (so that a repair which is refused leaves none); make the backup; take the write lock; look again; make the edits,
full-text copies and counts that follow; check what was written; write the journal; commit; release. The invariant: a
repair is in the store whole or not at all, the journal knows which, and no violation is new. Checked by
``tests/repairs/test_apply.py``, on random stores by ``tests/repairs/test_apply_random.py``.
"""

import sqlite3
import uuid

from lcm_lab.errors import LcmLabError, StalePlan
from lcm_lab.repairs import backups, journal
from lcm_lab.repairs.apply_work import Work
from lcm_lab.repairs.edits import Edit
from lcm_lab.repairs.journal import Applied, Entry
from lcm_lab.repairs.plan import Plan, maker
from lcm_lab.store import writing
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.images import decode
from lcm_lab.store.schema import Schema


def apply(
    store: StoreFile,
    plan: Plan,
    *,
    backup: str = "auto",
    undoes: str | None = None,
    session: backups.Session | None = None,
) -> Applied:
    """Make one repair.

    ``backup`` is ``auto`` (reuse the newest backup while only our own repairs followed it), ``always`` or ``never``; a
    batch hands its ``session`` over instead, so that it makes one backup. ``undoes`` names the journal entry that this
    plan takes back: then nothing follows by itself, the plan holds it all.

    Raises:
        StalePlan: the store no longer reads as the plan saw it; nothing was changed.
        StoreBusy and kin: it could not be written to; nothing was changed.
    """
    session = session or backups.Session(store, backup)
    with writing.opened(store) as connection:
        connection.text_factory = decode
        schema = store.schema_of(connection)
        if not session.settled:
            _settle(store, connection, schema)
            session.settled = True
        if session.makes_one():
            rehearsal = Work(connection, schema)
            rehearsal.prepare(plan.edits)
            with writing.rehearsed(connection):
                rehearsal.make(plan, follow=undoes is None)
        saved = session.ensure()
        work = Work(connection, schema)
        work.holds(plan.edits)
        journal_id = f"j_{uuid.uuid4().hex[:12]}"
        journal.announce(store, _entry(plan, journal_id, undoes=undoes, backup=saved))
        work.prepare(plan.edits)
        with writing.locked(connection) as lock:
            inverse = work.make(plan, follow=undoes is None)
            journal.begin(store, journal_id, inverse)
    # The lock is gone and the connection closed: what is written now also says which state the store was left in.
    try:
        journal.end(store, journal_id, journal.DONE, backup=saved.name if saved else None)
    except LcmLabError as error:
        work.index.notes.append(f"The repair was made, and its journal entry has no end yet: {error}")
    return Applied(
        journal_id=journal_id,
        plan_id=plan.plan_id,
        operation=plan.operation,
        conversation_id=plan.conversation_id,
        subject=plan.subject,
        title=plan.title,
        backup=str(saved) if saved else None,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after,
        store=str(store.given),
        notes=tuple(work.index.notes),
        locked_seconds=lock.seconds,
    )


def settle(store: StoreFile) -> None:
    """Find out how repairs ended whose process was killed, and write it into the journal."""
    with writing.opened(store) as connection:
        connection.text_factory = decode
        _settle(store, connection, store.schema_of(connection))


def _settle(store: StoreFile, connection: sqlite3.Connection, schema: Schema) -> None:
    if not journal.read(store).open_ends():
        return
    # Under the lock, and read anew there: a process between its line and its commit is waited for, not misread.
    with writing.locked(connection):
        work = Work(connection, schema)
        ends = [(entry, _state(work, entry)) for entry in journal.read(store).open_ends()]
    for entry, state in ends:
        journal.end(store, entry.journal_id, state, backup=entry.backup)


def _state(work: Work, entry: Entry) -> str:
    if _reads_as(work, entry.inverse):
        return journal.DONE
    return journal.ROLLED_BACK if _reads_as(work, entry.edits) else journal.UNCLEAR


def _reads_as(work: Work, edits: tuple[Edit, ...]) -> bool:
    try:
        work.holds(edits)
    except StalePlan:
        return False
    return True


def _entry(plan: Plan, journal_id: str, *, undoes: str | None, backup: object | None) -> Entry:
    return Entry(
        journal_id=journal_id,
        plan_id=plan.plan_id,
        operation=plan.operation,
        conversation_id=plan.conversation_id,
        subject=plan.subject,
        title=plan.title,
        at=journal.now(),
        by=maker(),
        batch=plan.batch,
        model=plan.model,
        undoes=undoes,
        tokens_before=plan.tokens_before,
        tokens_after=plan.tokens_after,
        edits=plan.edits,
        inverse=(),
        backup=None if backup is None else str(getattr(backup, "name", backup)),
    )
