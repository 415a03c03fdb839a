"""Repairs as JSON for scripts: plans, batches and what became of them. ``docs/json.md`` describes each shape."""

from collections.abc import Callable
from typing import Any, Final


def _plan(result: Any) -> dict[str, Any]:
    given: dict[str, Any] = result.to_json()
    return given


def _batch(result: Any) -> dict[str, Any]:
    totals = result.totals
    return {
        "operation": result.operation,
        "applied": False,
        "batch": result.batch_id,
        "note": result.note,
        "model": result.model,
        "requests": totals.requests,
        "impossible": totals.impossible,
        "input_tokens": totals.input_tokens,
        "output_tokens": totals.output_tokens,
        "cost_usd": result.cost_usd,
        "already_done": result.skipped,
        "items": [
            {
                "id": one.summary_id,
                "conversation_id": one.conversation_id,
                "status": "planned" if one.problem is None else "impossible",
                "reason": one.problem or "",
                "label": one.chosen.label,
                "mark": one.chosen.marker.label if one.chosen.marker else None,
                "ordinal": one.chosen.ordinal,
                "bytes": one.chosen.bytes,
                "sources": one.chosen.sources,
                "source_tokens": one.source_tokens,
                "target_tokens": one.target_tokens,
                "tokens_before": one.chosen.tokens,
                "tokens_after": None,
            }
            for one in result.steps
        ],
    }


def _batch_result(result: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "operation": result.operation,
        "applied": result.applied,
        "items": [
            {
                "id": one.summary_id,
                "conversation_id": one.conversation_id,
                "status": one.status,
                "reason": one.reason,
                "tokens_before": one.tokens_before,
                "tokens_after": one.tokens_after,
                "notes": one.notes,
                "journal_id": one.journal_id,
            }
            for one in result.items
        ],
        "backup": result.backup,
        "journal_id": result.batch if result.applied and result.count("applied") else None,
        "batch": result.batch,
        "stale": result.stale,
        "stopped": result.stopped,
        "notes": result.notes,
    }
    if not result.applied:
        # What a preview drafted can be applied later: lcm-lab apply FILE.
        given["plans"] = [one.plan.to_json() for one in result.items if one.plan is not None]
    return given


def _applied(result: Any) -> dict[str, Any]:
    return {
        "operation": result.operation,
        "applied": True,
        "items": [_item(result)],
        "backup": result.backup,
        "journal_id": result.journal_id,
    }


def _undone(result: Any) -> dict[str, Any]:
    left = [
        {
            "id": one.subject,
            "conversation_id": one.conversation_id,
            "status": "failed" if i == 0 else "skipped",
            "reason": result.problem if i == 0 else "not tried",
            "tokens_before": one.tokens_after,
            "tokens_after": None,
            "undoes": one.journal_id,
        }
        for i, one in enumerate(result.left)
    ]
    return {
        "operation": "undo",
        "applied": True,
        "items": [
            {**_item(done), "undoes": entry.journal_id}
            for done, entry in zip(result.applied, result.undone, strict=True)
        ]
        + left,
        "backup": result.applied[0].backup if result.applied else None,
        "journal_id": result.applied[-1].journal_id if result.applied else None,
    }


def _undo_plan(result: Any) -> dict[str, Any]:
    return {"operation": "undo", "applied": False, "items": [_entry(one) for one in result.entries]}


def _history(result: Any) -> dict[str, Any]:
    return {"journal": result.path, "rows": [_entry(one) for one in result.entries], "next": None}


def _entry(one: Any) -> dict[str, Any]:
    return {
        "journal_id": one.journal_id,
        "plan_id": one.plan_id,
        "batch": one.batch,
        "operation": one.operation,
        "conversation_id": one.conversation_id,
        "id": one.subject,
        "title": one.title,
        "at": one.at,
        "by": one.by,
        "model": one.model,
        "state": one.state,
        "undone_by": one.undone_by,
        "undoes": one.undoes,
        "backup": one.backup,
        "tokens_before": one.tokens_before,
        "tokens_after": one.tokens_after,
    }


def _item(done: Any) -> dict[str, Any]:
    return {
        "id": done.subject,
        "conversation_id": done.conversation_id,
        "status": "applied",
        "reason": "",
        "tokens_before": done.tokens_before,
        "tokens_after": done.tokens_after,
        "notes": done.notes,
    }


SHAPES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "Plan": _plan,
    "Batch": _batch,
    "BatchResult": _batch_result,
    "Applied": _applied,
    "Undone": _undone,
    "UndoPlan": _undo_plan,
    "Journal": _history,
}
