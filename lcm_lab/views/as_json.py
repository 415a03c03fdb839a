"""Results as JSON for scripts. The shapes are promised: fields may be added, never renamed or removed.

Lists are ``{"rows": [...], "next": cursor or null}``. Times are given as stored, token numbers as every view shows
them.
``docs/json.md`` describes each shape.
"""

import json
import math
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Final

from lcm_lab.views.table import from_pandas


def text(result: Any) -> str:
    """A result as one JSON document."""
    return json.dumps(of(result), ensure_ascii=False, indent=2, allow_nan=False)


def of(result: Any) -> Any:
    """A result as plain lists and dictionaries."""
    shape = _shapes_of(type(result).__module__).get(type(result).__name__)
    if shape is None:
        return plain(result)
    shown = shape(result)
    return plain({**shown, "notes": result.notes} if hasattr(result, "notes") and "items" not in shown else shown)


def _shapes_of(module: str) -> "dict[str, Callable[[Any], dict[str, Any]]]":
    if module.startswith(("lcm_lab.memory", "lcm_lab.hooks")):
        from lcm_lab.views import memory_json

        return memory_json.SHAPES
    if module.startswith("lcm_lab.analysis.savings"):
        from lcm_lab.views import savings_json

        return savings_json.SHAPES
    if module.startswith("lcm_lab.repairs"):
        from lcm_lab.views import repairs_json

        return repairs_json.SHAPES
    return SHAPES


def plain(value: Any) -> Any:
    """Any value of ours as what JSON can hold; lone surrogates become U+FFFD so that the document is valid UTF-8."""
    value = from_pandas(value) if type(value).__module__.split(".")[0] in ("numpy", "pandas") else value
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(plain(one) for one in value)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Path | Enum):
        return str(value)
    return str(value)


def _info(result: Any) -> dict[str, Any]:
    totals = result.totals
    return {
        "store": result.path,
        "chosen_by": result.chosen_by,
        "journal_mode": result.journal_mode,
        "era": result.era,
        "size_bytes": result.size_bytes,
        "zone": result.zone,
        "rows": totals.rows,
        "active_conversations": totals.active_conversations,
        "message_tokens": totals.message_tokens,
        "summary_tokens": totals.summary_tokens,
        "re_estimated": totals.re_estimated,
        "estimator": _rule(),
        "message_bytes": totals.message_bytes,
        "summaries_by_depth": totals.summaries_by_depth,
        "first_message_at": totals.first_message_at,
        "last_message_at": totals.last_message_at,
        "missing_tables": result.missing_tables,
        "missing_columns": result.missing_columns,
        "unknown": result.unknown,
        "full_text": result.full_text,
    }


def _agents(result: Any) -> dict[str, Any]:
    rows = [
        {
            "agent": one.name,
            "path": one.path,
            "session_files": one.session_files,
            "reset_files": one.reset_files,
            "deleted_files": one.deleted_files,
            "host_store": one.database and {**plain(one.database), "said": one.database.sentence()},
            "problem": one.problem,
        }
        for one in result.agents
    ]
    return {"state_dir": result.state_dir, "rows": rows, "next": None, "problem": result.problem}


def _sessions(result: Any) -> dict[str, Any]:
    rows = [
        {
            "file": one.file.path.name,
            "path": one.file.path,
            "session_id": one.file.session_id,
            "modified": one.file.modified,
            "size_bytes": one.file.size_bytes,
            "messages": one.file.messages,
            "estimated_tokens": one.file.estimated_tokens,
            "estimator": "file size / 4",
            "duplicates": one.file.duplicates,
            "conversation_id": one.match.conversation_id,
            "tracked": one.match.conversation_id is not None,
            "also": one.match.also,
            "matched_by": one.match.how,
            "session_key": one.match.session_key,
            "summaries": one.summaries,
            "files": one.files,
        }
        for one in result.rows
    ]
    rest = ("agent", "total", "hidden", "duplicates", "reset_files", "deleted_files", "problem")
    return {
        "rows": rows,
        "next": result.next,
        "host_store": result.database,
        **{name: getattr(result, name) for name in rest},
    }


def _page(result: Any) -> dict[str, Any]:
    rows = []
    for one in result.rows:
        row = plain(one)
        mine = row.pop("conversation")
        rows.append({**mine, "state": one.conversation.state, **row, "estimator": _rule()})
    return {"rows": rows, "next": result.next, "total": result.total}


def _window(result: Any) -> dict[str, Any]:
    rows = [
        {**plain(one.message), "text": one.text, "tokens": one.tokens, "token_rule": one.rule, "parts": one.parts}
        for one in result.messages
    ]
    older = str(result.messages[0].message.seq) if result.has_older and result.messages else None
    newer = str(result.messages[-1].message.seq) if result.has_newer and result.messages else None
    return {"rows": rows, "next": older, "newer": newer, "estimator": _rule()}


def _entries(result: Any) -> dict[str, Any]:
    older = str(result.entries[0].line) if result.has_older and result.entries else None
    newer = str(result.entries[-1].line) if result.has_newer and result.entries else None
    rest = {name: getattr(result, name) for name in ("total", "messages", "problems")}
    return {"rows": result.entries, "next": older, "newer": newer, **rest}


def _context(whole: Any) -> dict[str, Any]:
    return _context_page(whole.page(limit=0, cursor=None))


def _context_page(shown: Any) -> dict[str, Any]:
    result = shown.whole
    return {
        "conversation_id": result.conversation_id,
        "window": result.window,
        "compact_at": result.compact_at,
        "fresh_tail": result.fresh_tail,
        "estimator": _rule(),
        "zone": result.zone,
        "leaves_out": _leaves_out(),
        "focus_brief": result.focus_brief,
        "content_tokens": result.content_tokens,
        "wrapper_tokens": result.wrapper_tokens,
        "total_tokens": result.total_tokens,
        "rows": shown.page.rows,
        "next": shown.page.next,
        "total_items": shown.page.total,
        "notes": result.notes,
    }


def _budget(result: Any) -> dict[str, Any]:
    return {
        "conversation_id": result.conversation_id,
        "window": result.window,
        "compact_at": result.compact_at,
        "compaction_line": result.compaction_line,
        "percent": result.percent,
        "level": result.level,
        "verdict": result.verdict,
        "fresh_tail": result.fresh_tail,
        "estimator": result.estimator,
        "zone": result.zone,
        "leaves_out": result.leaves_out,
        "classes": {line.group: {"tokens": line.tokens, "items": line.items} for line in result.lines},
        "total": result.total,
        "items": result.items,
        "noise_left_out": result.noise_left_out,
        "re_estimated": result.re_estimated,
        "dropped": [{"ordinal": one.ordinal, "id": one.item_id, "reason": one.dropped} for one in result.dropped],
        "redundant": [
            {"id": one.item_id, "tokens": one.tokens + one.wrapper_tokens, "covered_by": one.covered_by}
            for one in result.redundant
        ],
        "redundant_tokens": result.redundant_tokens,
        "in_store": {"messages": result.stored_messages, "tokens": result.stored_tokens},
    }


def _store_budget(result: Any) -> dict[str, Any]:
    rows = [
        {
            "conversation_id": one.conversation.conversation_id,
            "session_key": one.conversation.session_key,
            "session_id": one.conversation.session_id,
            "message_tokens": one.message_tokens,
            "context_tokens": one.context_tokens,
            "outlier": one.conversation.conversation_id in result.outliers,
        }
        for one in result.rows
    ]
    return {
        "rows": rows,
        "next": None,
        "conversations": result.conversations,
        "stored_tokens": result.stored_tokens,
        "context_tokens": result.context_tokens,
        "estimator": _rule(),
        "zone": result.zone,
        "leaves_out": _leaves_out(),
    }


def _dag(result: Any) -> dict[str, Any]:
    problems = result.problems
    rows = [
        {
            **plain(node),
            "label": node.label,
            "sources": result.sources(key),
            "derived": result.derived(key),
            "problems": problems.get(key, ()),
        }
        for key, node in result.nodes.items()
    ]
    return {
        "conversation_id": result.conversation_id,
        "rows": rows,
        "next": None,
        "roots": result.roots,
        "cycles": result.cycles,
        "coverage": result.coverage,
        "estimator": result.estimator,
    }


def _report(result: Any) -> dict[str, Any]:
    names = ("code", "severity", "table", "ids", "conversation_id", "message", "advice")
    return {
        "store": result.store,
        "findings": [{name: getattr(one, name) for name in names} for one in result.findings],
        "counts": result.counts,
        "scope": result.scope,
        "quoted": result.quoted,
        "skipped": result.skipped,
    }


def _summary(result: Any) -> dict[str, Any]:
    return {
        **plain(result.node),
        "label": result.node.label,
        "content": result.content,
        "sources": [one.summary_id for one in result.sources],
        "missing_sources": result.missing_sources,
        "derived": result.derived,
        "messages": [one.message.message_id for one in result.messages],
        "estimator": _rule(),
    }


def _files(result: Any) -> dict[str, Any]:
    rows = [{**plain(one.file), "payload": one.state, "payload_path": one.path} for one in result.rows]
    return {"conversation_id": result.conversation_id, "rows": rows, "next": None}


def _briefs(result: Any) -> dict[str, Any]:
    rows = [
        {**plain(one.brief), **{k: v for k, v in plain(one).items() if k != "brief"}, "stale": one.stale}
        for one in result.rows
    ]
    return {"conversation_id": result.conversation_id, "rows": rows, "next": None}


def _hits(result: Any) -> dict[str, Any]:
    return {"rows": result.rows, "next": result.next, "modes": result.modes}


def _rule() -> str:
    from lcm_lab import tokens

    return tokens.STORED_OR_PLUGIN


def _leaves_out() -> str:
    from lcm_lab.analysis.budget import LEAVES_OUT

    return LEAVES_OUT


SHAPES: Final[dict[str, Callable[[Any], dict[str, Any]]]] = {
    "AgentList": _agents,
    "Briefs": _briefs,
    "Budget": _budget,
    "Context": _context,
    "ContextPage": _context_page,
    "Dag": _dag,
    "EntryPage": _entries,
    "Files": _files,
    "Hits": _hits,
    "Info": _info,
    "Page": _page,
    "Report": _report,
    "SessionList": _sessions,
    "StoreBudget": _store_budget,
    "SummaryView": _summary,
    "Window": _window,
}
