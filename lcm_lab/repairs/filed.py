"""Plans from a file: one, or the drafted ones of a batch that was previewed."""

from pathlib import Path
from typing import Any

from lcm_lab.errors import LcmLabError, UsageError
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, plan
from lcm_lab.repairs.journal import Applied
from lcm_lab.repairs.plan import Plan
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.store.connect import StoreFile


def read(path: str | Path) -> Plan | tuple[Plan, ...]:
    """The plan in a file, or the plans of a batch.

    Raises:
        UsageError: the file holds neither; the message names file and line, plan or field.
    """
    target = Path(path).expanduser()
    given = plan.parsed(target)
    if isinstance(given, dict) and "plans" in given:
        return _plans(given["plans"], target)
    if isinstance(given, dict) and "items" in given and "operation" in given:
        raise UsageError(
            f"{target} is the plan of a batch without any drafts: nothing was asked of a model yet. Make it with "
            "--preview --json, or run the batch itself with --apply."
        )
    return plan.load(target)


def apply(store: StoreFile, path: str | Path, *, backup: str = "auto") -> Applied | BatchResult:
    """Make the repair of a file, or those of a batch in their order; one that is stale stops no other."""
    found = read(path)
    if isinstance(found, Plan):
        return found.on(store).apply(backup=backup)
    session = backups.Session(store, backup)
    items = []
    for one in found:
        done: dict[str, Any]
        try:
            made = writer.apply(store, one, session=session)
            done = {"status": "applied", "journal_id": made.journal_id, "notes": made.notes}
        except LcmLabError as error:
            done = {"status": "failed", "reason": str(error)}
        items.append(
            Outcome(
                one.subject,
                one.conversation_id,
                tokens_before=one.tokens_before,
                tokens_after=one.tokens_after,
                plan=one,
                **done,
            )
        )
    saved = str(session.saved) if session.saved and any(one.status == "applied" for one in items) else None
    return BatchResult(found[0].operation, found[0].batch or "", True, tuple(items), saved)


def _plans(given: Any, target: Path) -> tuple[Plan, ...]:
    if not isinstance(given, list) or not given:
        raise UsageError(f"{target} holds no plan that could be applied.")
    found = []
    for i, one in enumerate(given):
        try:
            found.append(plan.from_json(one))
        except UsageError as error:
            raise UsageError(f"{target}, plan {i}: {error}") from error
    return tuple(found)
