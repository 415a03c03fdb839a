"""Which table each result becomes. Columns follow lcm-tui's screens; times name their zone, numbers their rule."""

from importlib import import_module
from typing import Any, Final

from lcm_lab.times import Zone
from lcm_lab.views.table import Table, make

_NAMED: Final = 20
"""Rows that could not be read as declared, named below a table."""

KINDS: Final = {
    ("lcm_lab.results", "Info"): "browse:info",
    ("lcm_lab.results", "AgentList"): "browse:agents",
    ("lcm_lab.results", "SessionList"): "browse:sessions",
    ("lcm_lab.results", "SummaryView"): "browse:summary",
    ("lcm_lab.results", "StoreBudget"): "measure:store_budget",
    ("lcm_lab.results", "Duplicates"): "measure:duplicates",
    ("lcm_lab.results", "Largest"): "measure:largest",
    ("lcm_lab.results", "Files"): "browse:files",
    ("lcm_lab.results", "Briefs"): "browse:briefs",
    ("lcm_lab.sessions.jsonl", "EntryPage"): "texts:entries",
    ("lcm_lab.store.page", "Page"): "browse:conversations",
    ("lcm_lab.store.messages", "Window"): "texts:window",
    ("lcm_lab.store.search", "Hits"): "texts:hits",
    ("lcm_lab.analysis.context", "Context"): "measure:context",
    ("lcm_lab.analysis.context", "ContextPage"): "measure:context_page",
    ("lcm_lab.analysis.budget", "Budget"): "measure:budget",
    ("lcm_lab.analysis.dag", "Coverage"): "measure:coverage",
    ("lcm_lab.analysis.dag", "Dag"): "measure:dag",
    ("lcm_lab.analysis.compression", "Compression"): "measure:compression",
    ("lcm_lab.analysis.health.finding", "Report"): "measure:report",
    ("lcm_lab.analysis.export", "ExportReport"): "measure:export",
    ("lcm_lab.analysis.savings.report", "Report"): "savings:report",
    ("lcm_lab.analysis.savings.report", "Part"): "savings:part",
    ("lcm_lab.analysis.savings.advice", "Advice"): "savings:advice",
    ("lcm_lab.memory.results", "Stats"): "memory:stats",
    ("lcm_lab.memory.results", "Sessions"): "memory:sessions",
    ("lcm_lab.memory.results", "Turns"): "memory:turns",
    ("lcm_lab.memory.results", "TurnView"): "memory:turn",
    ("lcm_lab.memory.results", "Judgments"): "memory:judgments",
    ("lcm_lab.memory.results", "Injections"): "memory:injections",
    ("lcm_lab.memory.results", "BlockView"): "memory:block",
    ("lcm_lab.memory.results", "Hits"): "memory:hits",
    ("lcm_lab.memory.results", "ImportReport"): "memory:imported",
    ("lcm_lab.memory.results", "Forgotten"): "memory:forgotten",
    ("lcm_lab.memory.results", "MemoryExport"): "memory:export",
    ("lcm_lab.repairs.plan", "Plan"): "repairs:plan",
    ("lcm_lab.repairs.batch", "Batch"): "repairs:batch",
    ("lcm_lab.repairs.results", "BatchResult"): "repairs:batch_result",
    ("lcm_lab.repairs.journal", "Applied"): "repairs:applied",
    ("lcm_lab.repairs.journal", "Journal"): "repairs:history",
    ("lcm_lab.repairs.undo", "Undone"): "repairs:undone",
    ("lcm_lab.repairs.undo", "UndoPlan"): "repairs:undo_plan",
    ("lcm_lab.repairs.backups", "Restored"): "repairs:restored",
    ("lcm_lab.repairs.kept", "Kept"): "repairs:kept",
    ("lcm_lab.store.copies", "Copy"): "repairs:copy",
    ("lcm_lab.hooks.status", "Status"): "hooks:status",
    ("lcm_lab.hooks.self_test", "SelfTest"): "hooks:self_test",
}
"""The function that turns a result into tables, by the result's type; modules are imported when one is shown."""


def of(result: Any, zone: Zone) -> list[Table]:
    """The tables that show a result, its times in ``zone``."""
    place = KINDS[type(result).__module__, type(result).__name__]
    module, _, name = place.partition(":")
    made: list[Table] = getattr(import_module(f"lcm_lab.views.{module}"), name)(result, zone)
    notes = () if place.startswith("repairs:") else getattr(getattr(result, "whole", result), "notes", ())
    if notes:
        rest = [f"and {len(notes) - _NAMED} more; lcm-lab check names them all"] if len(notes) > _NAMED else []
        said = [f"Read with care: {note}" for note in notes[:_NAMED]]
        made.append(make("", [], [], notes=[*said, *rest]))
    return made
