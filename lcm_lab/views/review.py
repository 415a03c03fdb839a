"""What a review shows before a summary is asked for, and what is said of the reply."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from lcm_lab import tokens
from lcm_lab.analysis.wording import counted
from lcm_lab.repairs.batch import Proposal
from lcm_lab.repairs.gather import Material
from lcm_lab.repairs.review import Review
from lcm_lab.times import Zone
from lcm_lab.views import notebook, repairs
from lcm_lab.views.escaping import box, escaped
from lcm_lab.views.table import Column, Table, make

_SHOWN: Final = 400_000
"""Characters of a prompt that are shown."""

_ROWS: Final = 400
"""Rows of a result that are shown at once."""

_LEVELS: Final = {
    "good": ("good", "good", "No objection."),
    "confirm": ("look at it", "warning", ""),
    "refuse": ("refused", "error", ""),
}


def preview(review: Review, *, asked: str, model: str | None) -> Table:
    """The present step of a review: what its request holds, who would be asked, what it costs."""
    step = review.step
    if step is None:
        return make("", [], [])
    head = f"[{review.number}/{review.total}] " if review.total > 1 else ""
    one = step.chosen
    broken = f", broken: {one.marker.label}" if one.marker else ""
    rows = [("conversation", str(step.conversation_id)), ("now", f"{one.label}, {one.tokens:,} tokens{broken}")]
    material, request = review.material, review.request
    if material is not None:
        rows += [
            ("target", f"{material.target_tokens:,} tokens"),
            ("made from", _sources(material)),
            ("time range", material.time_range or "unknown"),
            ("previous context", f"{material.previous_id}" if material.previous_context else "none"),
        ]
    if material is not None and material.broken_sources:
        rows.append(("broken sources", ", ".join(material.broken_sources)))
    if request is not None:
        cost = review.cost_usd(model)
        price = "no price is known" if cost is None else repairs.about_usd(cost)
        rows.append(("prompt", f"{tokens.plugin_tokens(request.prompt):,} tokens by estimate; {price}"))
    rows.append(("asked", asked))
    tones = [""] * len(rows)
    if review.problem is not None:
        rows.append(("cannot be done", review.problem))
        tones.append("error")
    title = f"{head}{review.batch.operation.capitalize()} {step.summary_id}"
    return make(title, ["", Column("", wrap=True)], rows, tones=tones)


def prompt(review: Review, *, opened: bool) -> str:
    """The texts of a request as HTML that folds: what is written before it, and the prompt."""
    parts = []
    if review.material is not None and review.material.previous_context:
        parts.append(_folded("Previous context", review.material.previous_context, opened=False))
    if review.request is not None:
        parts.append(_folded("Prompt", review.request.prompt, opened=opened))
    return "".join(parts)


def folded_facts(tables: Iterable[Table]) -> str:
    """The facts of :func:`preview` as HTML that folds, for when the reply is there."""
    return (
        '<details style="margin:4px 0"><summary style="cursor:pointer">What was asked</summary>'
        f"{''.join(map(notebook.html, tables))}</details>"
    )


def judged(proposal: Proposal) -> Table:
    """What is said of a text before it may be written, with its size beside the old one."""
    verdict, old = proposal.verdict, proposal.step.chosen.tokens
    word, tone, nothing = _LEVELS[verdict.level]
    said = verdict.reasons or ((nothing,) if nothing else ())
    rows = [(word if not i else "", one) for i, one in enumerate(said)]
    rows += [("note", one) for one in verdict.notes]
    step = f"{proposal.step.summary_id} ({proposal.step.chosen.label})"
    title = (
        f"{step}: {old:,} -> {verdict.tokens:,} tokens ({verdict.tokens - old:+,}), "
        f"target {proposal.material.target_tokens:,}, source {verdict.source_tokens:,}"
    )
    tones = [tone] * len(said) + ["muted"] * len(verdict.notes)
    return make(title, ["", Column("", wrap=True)], rows, tones=tones)


def result(review: Review, zone: Zone) -> list[Table]:
    """What became of a batch; of a long one first what was not applied, and not every row."""
    table, *rest = repairs.batch_result(review.result(), zone)
    if len(table.rows) <= _ROWS:
        return [table, *rest]
    order = sorted(range(len(table.rows)), key=lambda i: table.rows[i][1] == "applied")[:_ROWS]
    notes = (f"Showing {_ROWS:,} of {len(table.rows):,} summaries, those that were not applied first.", *table.notes)
    rows, tones = tuple(table.rows[i] for i in order), tuple(table.tones[i] for i in order)
    return [replace(table, rows=rows, tones=tones, notes=notes), *rest]


def _sources(material: Material) -> str:
    names = ("message",) if material.source_kind == "messages" else ("summary", "summaries")
    number = counted(material.source_items, *names)
    missing = f"; {material.sources_found}, missing: {', '.join(material.missing)}" if material.missing else ""
    return f"{number}, {material.source_tokens:,} tokens{missing}"


def _folded(title: str, text: str, *, opened: bool) -> str:
    cut = f", the first {_SHOWN:,} are shown" if len(text) > _SHOWN else ""
    head = f"{escaped(title)} ({len(text):,} characters{cut})"
    return (
        f'<details{" open" if opened else ""} style="margin:4px 0"><summary style="cursor:pointer">{head}</summary>'
        f"{box(text[:_SHOWN], height='18em')}</details>"
    )
