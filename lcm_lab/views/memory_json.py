"""The session memory's results, and the installer's, as JSON; part of :mod:`lcm_lab.views.as_json`."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final


def _rule() -> str:
    from lcm_lab.memory.results import RULE

    return RULE


def _with_layers(result: Any) -> dict[str, Any]:
    return {**asdict(result), "layer_tokens": result.layer_tokens}


def _stats(result: Any) -> dict[str, Any]:
    found = _with_layers(result)
    found["memory"] = found.pop("path")
    found["categories"] = {name: {"lines": count, "open": still} for name, (count, still) in result.categories.items()}
    found["runs"] = [{"event": event, "last_at": at, "runs": runs} for event, at, runs in result.runs]
    use = result.model_help
    found["model_help"] = {name: getattr(use, name) for name in ("requests", "judged", "tokens", "cost_usd")}
    return {**found, "estimator": _rule()}


def _sessions(result: Any) -> dict[str, Any]:
    return {"rows": result.rows, "next": result.next, "total": result.total, "estimator": _rule()}


def _turns(result: Any) -> dict[str, Any]:
    return {
        "session_id": result.session_id,
        "rows": [_with_layers(one) for one in result.rows],
        "next": None,
        "raw_tokens": result.raw_tokens,
        "layer_tokens": result.layer_tokens,
        "estimator": _rule(),
    }


def _turn(result: Any) -> dict[str, Any]:
    found = {**_with_layers(result.turn), "estimator": _rule()}
    # The counts give way to the rows themselves.
    return {**found, "judgments": result.judgments, "details": result.details}


def _rows(result: Any) -> dict[str, Any]:
    return {"session_id": result.session_id, "rows": result.rows, "next": None}


def _hits(result: Any) -> dict[str, Any]:
    return {"words": result.words, **_rows(result), "limit": result.limit}


def _import(result: Any) -> dict[str, Any]:
    return {
        "memory": result.memory,
        "dry_run": result.dry_run,
        "rows": result.rows,
        "next": None,
        "turns": sum(one.turns for one in result.rows),
        "new_details": sum(one.new_details for one in result.rows),
        "raw_tokens": result.raw_tokens,
        "layer_tokens": result.layer_tokens,
        "estimator": _rule(),
    }


def _export(result: Any) -> dict[str, Any]:
    files = [{"name": name, "table": table, "rows": rows, "bytes": size} for name, table, rows, size in result.files]
    return {**asdict(result), "files": files}


def _plan(result: Any) -> dict[str, Any]:
    choice = result.choice
    return {
        "kind": result.kind,
        "settings": result.settings.path,
        "changes_settings": result.changes_settings,
        "diff": result.diff(),
        "hooks": result.folder,
        "files": len(result.files),
        "skills": [skill.path for skill in result.skills],
        "compacts_at": None if choice is None else {"200k": choice.small, "1m": choice.big},
        "notes": result.notes,
        "warnings": result.warnings,
    }


def _result(result: Any) -> dict[str, Any]:
    return {"changed": result.changed, **_plan(result.plan)}


def _self_test(result: Any) -> dict[str, Any]:
    return {**asdict(result), "passed": result.passed}


SHAPES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "Hits": _hits,
    "ImportReport": _import,
    "Injections": _rows,
    "Judgments": _rows,
    "MemoryExport": _export,
    "Plan": _plan,
    "Result": _result,
    "SelfTest": _self_test,
    "Sessions": _sessions,
    "Stats": _stats,
    "TurnView": _turn,
    "Turns": _turns,
}
"""By the result's type; ``BlockView``, ``Forgotten`` and ``Status`` are shown field by field."""
