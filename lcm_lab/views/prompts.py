"""Prompts as tables and as JSON; what is text already (a prompt, a diff) is printed as it is."""

from typing import TYPE_CHECKING, Any

from lcm_lab.views.table import Column, Table, make

if TYPE_CHECKING:
    from lcm_lab.summarizer.prompt_files import Difference, Exported, SourceRow
    from lcm_lab.summarizer.prompting import Template


def sources(rows: "list[SourceRow]") -> list[Table]:
    """Which file counts for each template."""
    cells = [
        (one.name, one.origin, str(one.path) if one.path else "(comes with lcm-lab)", ", ".join(one.uses))
        for one in rows
    ]
    heads: list[Column | str] = ["prompt", "from", Column("file", wrap=True), Column("uses", wrap=True)]
    tones = ["error" if one.problem else "warning" if one.warnings else "" for one in rows]
    broken = [f"Cannot be used: {one.problem}" for one in rows if one.problem]
    odd = [f"{one.name}: {warning}." for one in rows for warning in one.warnings]
    return [make("Prompts", heads, cells, tones=tones, notes=[*broken, *odd])]


def exported(result: "Exported") -> list[Table]:
    """What an export wrote."""
    said = {"written": result.written, "replaced": result.replaced, "unchanged": result.unchanged}
    cells = [(name, what) for what, names in said.items() for name in names]
    notes = ["Edit them there; 'lcm-lab prompts --diff NAME' shows what you changed."]
    return [make(f"Exported to {result.folder}", ["file", ""], cells, notes=notes)]


def sources_json(rows: "list[SourceRow]") -> dict[str, Any]:
    """Which file counts for each template."""
    return {"rows": rows, "next": None}


def template_json(one: "Template", **more: str) -> dict[str, Any]:
    """A template without its tree."""
    head = {"name": one.name, "origin": one.origin, "path": one.path}
    return {**head, **more, "uses": one.uses, "warnings": one.warnings}


def difference_json(one: "Difference") -> dict[str, Any]:
    """How an override differs."""
    return {"name": one.name, "path": one.path, "diff": one.text, "note": one.note, "problem": one.problem}
