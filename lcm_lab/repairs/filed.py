"""Plans from a file: one, or the drafted ones of a batch that was previewed."""

from pathlib import Path
from typing import Any

from lcm_lab.errors import LcmLabError, Refused, UsageError
from lcm_lab.repairs import apply as writer
from lcm_lab.repairs import backups, plan, stale
from lcm_lab.repairs.journal import Applied
from lcm_lab.repairs.plan import Plan
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.store import images, lineage
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
    """Make the repair of a file, or those of a batch in their order; one that is stale stops no other.

    A text that was made from a draft which is not in the store is left out: nobody has seen that source.
    """
    found = read(path)
    if isinstance(found, Plan):
        return found.on(store).apply(backup=backup)
    sources = store.read(lambda reader: lineage.sources_of(reader, [one.subject for one in found]))
    session = backups.Session(store, backup)
    unwritten: set[str] = set()
    stopped: str | None = None
    items = []
    for one in found:
        missing = [source for source in sources.get(one.subject, ()) if source in unwritten]
        done: dict[str, Any]
        if stopped:
            done = {"status": "skipped", "reason": f"not tried: {stopped}"}
        elif missing:
            done = {"status": "skipped", "reason": f"made from a text of {', '.join(missing)} that was not written"}
        else:
            done = _one(store, one, session)
            stopped = done.pop("stopped", None)
        if done["status"] != "applied" and not _is_written(store, one):
            unwritten.add(one.subject)
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
    written = [one.summary_id for one in items if one.status == "applied"]
    late = stale.after(store, written) if written else ()
    return BatchResult(
        operation=found[0].operation,
        batch=found[0].batch or "",
        applied=True,
        items=tuple(items),
        store=str(store.given),
        backup=saved,
        stale=late,
        stopped=stopped,
    )


def _one(store: StoreFile, one: Plan, session: backups.Session) -> dict[str, Any]:
    """How a plan ended, as fields of an outcome; ``stopped`` where no other would do better."""
    try:
        made = writer.apply(store, one, session=session)
    except Refused as error:
        if _is_written(store, one):
            return {"status": "skipped", "reason": "the store has this text already"}
        return {"status": "failed", "reason": str(error)}
    except LcmLabError as error:
        return {"status": "failed", "reason": str(error), "stopped": str(error)}
    return {"status": "applied", "journal_id": made.journal_id, "notes": made.notes}


def _is_written(store: StoreFile, one: Plan) -> bool:
    """Whether a summary's text is the plan's already."""
    text = one.text
    if text is None:
        return False
    row = store.read(lambda reader: images.image(reader, "summaries", text.summary_id))
    return row is not None and row["content"] == text.after.content


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
