"""Tables for repairs: a plan before it is made, a batch, what became of either, the journal and backups."""

import hashlib
import shlex
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher, unified_diff
from typing import TYPE_CHECKING, Final

from lcm_lab.analysis.wording import counted
from lcm_lab.repairs.backups import Restored
from lcm_lab.repairs.batch import Batch
from lcm_lab.repairs.edits import SetText
from lcm_lab.repairs.journal import Applied, Entry, Journal
from lcm_lab.repairs.kept import Kept
from lcm_lab.repairs.plan import ContextChange, Plan, Shown
from lcm_lab.repairs.results import BatchResult, Outcome
from lcm_lab.repairs.undo import Undone, UndoPlan
from lcm_lab.store.connect import Reader
from lcm_lab.store.copies import Copy
from lcm_lab.store.lineage import by_id
from lcm_lab.times import Zone
from lcm_lab.views.table import Column, Table, make, size

if TYPE_CHECKING:
    from lcm_lab.repairs.steps import Step

_SHOWN: Final = 400
"""Rows of a plan that a table shows at once."""

_MARKS: Final = {
    "equal": ("", "muted"),
    "insert": ("+", "good"),
    "delete": ("-", "error"),
    "replace": (">", "warning"),
}
_TONES: Final = {"applied": "good", "drafted": "good", "failed": "error", "skipped": "warning", "impossible": "error"}


def plan(result: Plan, zone: Zone) -> list[Table]:
    """A plan: what it changes, what to know before, the context or the text before and after."""
    notes = [f"Warning: {one}" for one in result.warnings]
    notes.append(f"Plan {result.plan_id}, made {zone.show(result.made_at)}; nothing was changed yet.")
    tables = [make(result.title, ["", Column("", wrap=True)], result.facts, notes=notes)]
    if result.context is not None:
        tables.append(context_change(result.context))
    if result.text is not None:
        tables.append(text_change(result.text))
    return tables


def context_change(change: ContextChange) -> Table:
    """A context before and after, side by side; what changes is coloured."""
    rows, tones = [], []
    for kind, before, after in _pairs(change.before, change.after):
        mark, tone = _MARKS[kind]
        rows.append((*_shown(before), mark, *_shown(after), after.preview if after else ""))
        tones.append(tone)
    hidden = len(rows) - _SHOWN
    rest = f"and {counted(change.rest_items, 'more item')} behind, unchanged ({change.rest_tokens:,} tokens)"
    return make(
        f"Context of conversation {change.conversation_id}: {change.tokens_before:,} -> {change.tokens_after:,} tokens",
        ["before", Column("tokens", right=True), "", "after", Column("tokens", right=True), Column("begins", cut=True)],
        rows[:_SHOWN],
        tones=tones[:_SHOWN],
        notes=[f"Showing {_SHOWN:,} of {len(rows):,} rows" if hidden > 0 else "", rest if change.rest_items else ""],
    )


def text_change(edit: SetText, *, unified: bool = True) -> Table:
    """A text before and after, as a unified diff or side by side."""
    before, after = _text(edit.before.content), _text(edit.after.content)
    title = f"{edit.summary_id}: {_number(edit.before.token_count)} -> {_number(edit.after.token_count)} tokens"
    if not unified:
        return make(title, [Column("before", wrap=True), Column("after", wrap=True)], [(before, after)])
    lines = list(unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=10_000))
    tones = ["good" if one[:1] == "+" else "error" if one[:1] == "-" else "muted" for one in lines]
    rows = [(one,) for one in lines] or [("(no differences)",)]
    return make(title, [Column("", wrap=True)], rows, tones=tones)


def batch(result: Batch, _zone: Zone) -> list[Table]:
    """What a batch would do: each summary, and what it takes in all."""
    if not result.steps:
        already = f"{counted(len(result.skipped), 'summary', 'summaries')} of this batch were done before."
        return [make("", [], [], notes=[result.note or "There is nothing to do.", already if result.skipped else ""])]
    totals = result.totals
    rows = [
        (
            str(one.conversation_id),
            one.summary_id,
            one.chosen.label,
            one.chosen.marker.label if one.chosen.marker else "",
            one.chosen.tokens,
            one.chosen.bytes,
            one.chosen.sources,
            one.source_tokens,
            one.target_tokens,
            one.problem or "",
        )
        for one in result.steps[:_SHOWN]
    ]
    heads: list[Column | str] = [
        Column("conversation", right=True),
        "summary",
        "kind",
        Column("broken by", cut=True),
        Column("tokens", right=True),
        Column("bytes", right=True),
        Column("sources", right=True),
        Column("source tokens", right=True),
        Column("target", right=True),
        Column("cannot be done", cut=True),
    ]
    cost = "no price is known for it" if result.cost_usd is None else about_usd(result.cost_usd)
    notes = [
        "; ".join(f"{count} {name}" for name, count in (*totals.by_mark, *totals.by_depth)),
        (
            f"{counted(totals.requests, 'request')}, about {totals.input_tokens:,} tokens in and "
            f"{totals.output_tokens:,} out by estimate; with {result.model or 'the model'}: {cost}."
        ),
        f"{counted(totals.impossible, 'summary', 'summaries')} cannot be done." if totals.impossible else "",
        f"{counted(len(result.skipped), 'summary', 'summaries')} of this batch were done before."
        if result.skipped
        else "",
        f"Showing {_SHOWN:,} of {len(result.steps):,} summaries" if len(result.steps) > _SHOWN else "",
        "In this order, sources first; nothing was sent and nothing was changed.",
    ]
    tones = ["error" if one.problem else "" for one in result.steps[:_SHOWN]]
    return [
        make(
            f"{result.operation.capitalize()} {counted(len(result.steps), 'summary', 'summaries')}",
            heads,
            rows,
            tones=tones,
            notes=notes,
        )
    ]


def totals(result: Batch) -> list[Table]:
    """What is broken, in numbers: one row for each conversation, and the sum."""
    lanes: dict[int, list[Step]] = {}
    for one in result.steps:
        lanes.setdefault(one.conversation_id, []).append(one)
    kinds = sorted({one.chosen.marker.label for one in result.steps if one.chosen.marker})
    rows = [
        (
            str(lane),
            *(
                sum(one.chosen.marker is not None and one.chosen.marker.label == kind for one in found)
                for kind in kinds
            ),
            len(found),
        )
        for lane, found in lanes.items()
    ]
    heads = [
        Column("conversation", right=True),
        *(Column(kind, right=True) for kind in kinds),
        Column("all", right=True),
    ]
    title = (
        f"{counted(len(result.steps), 'broken summary', 'broken summaries')} in {counted(len(lanes), 'conversation')}"
    )
    return [make(title, heads, rows, notes=[result.note or ""])]


def broken_texts(reader: Reader, result: Batch) -> Table:
    """The broken texts of a batch: hash of the content and how it begins."""
    found = by_id(reader, [one.summary_id for one in result.steps])
    rows = [
        (
            key,
            hashlib.sha256(one.content.encode("utf-8", "surrogatepass")).hexdigest()[:12],
            " ".join(one.content[:200].split())[:100],
        )
        for key, one in found.items()
    ]
    return make("The texts", ["summary", "SHA-256", Column("begins", cut=True)], rows)


def batch_result(result: BatchResult, _zone: Zone) -> list[Table]:
    """What became of a batch, item by item."""
    if not result.items:
        return [make("", [], [], notes=result.notes or ("There is nothing to do.",))]
    done, number = ("applied", result.count("applied")) if result.applied else ("drafted", result.count("drafted"))
    what = counted(len(result.items), "summary", "summaries")
    title = f"{result.operation.capitalize()}: {number} of {what} {done}"
    rows = [
        (one.summary_id, one.status, one.tokens_before, one.tokens_after, _delta(one), _why(one))
        for one in result.items
    ]
    heads: list[Column | str] = [
        "summary",
        "status",
        Column("tokens", right=True),
        Column("new", right=True),
        Column("change", right=True),
        Column("", wrap=True),
    ]
    written = result.applied and number > 0
    resumable = written and result.operation == "rewrite" and not result.complete
    notes = [
        f"Stopped: {result.stopped.rstrip('.')}." if result.stopped else "",
        f"Backup: {result.backup}" if result.backup else "",
        f"Undo it all: {undo_command(result.store, result.batch)}" if written else "",
        f"Go on with the rest: the same command with --resume {result.batch}" if resumable else "",
        f"Made from a text that was replaced, and not written anew themselves: {', '.join(result.stale)}."
        if result.stale
        else "",
        "" if result.applied else "A preview: nothing was changed.",
    ]
    return [make(title, heads, rows, tones=[_TONES.get(one.status, "") for one in result.items], notes=notes)]


def drafts(result: BatchResult, *, unified: bool) -> list[Table]:
    """The texts of a batch before and after, one table each."""
    changes = [one.plan.text for one in result.items if one.plan is not None]
    return [text_change(one, unified=unified) for one in changes if one is not None]


def applied(result: Applied, _zone: Zone) -> list[Table]:
    """A repair that was made."""
    return [
        make(
            f"Done: {result.title}",
            [],
            [],
            notes=[
                f"Tokens: {result.tokens_before:,} -> {result.tokens_after:,}",
                *result.notes,
                f"Backup: {result.backup}" if result.backup else "No backup was made.",
                f"Undo: {undo_command(result.store, result.journal_id)}",
            ],
        )
    ]


def undone(result: Undone, _zone: Zone) -> list[Table]:
    """What an undo took back."""
    rows = [(one.journal_id, one.title) for one in result.undone]
    notes = [
        f"Backup: {result.applied[0].backup}" if result.applied and result.applied[0].backup else "",
        f"Not undone: {counted(len(result.left), 'repair')}. {result.problem}" if result.left else "",
    ]
    title = f"Undone: {counted(len(rows), 'repair')}"
    return [make(title, ["entry", Column("", cut=True)], rows, notes=notes)]


def undo_plan(result: UndoPlan, zone: Zone) -> list[Table]:
    """What an undo would take back."""
    title = f"Undo would take back {counted(len(result.entries), 'repair')}, newest first"
    batch = result.entries[0].batch
    rest = (
        f"{counted(result.staying, 'more repair')} of batch {batch} would stay; to undo it all: "
        f"{undo_command(str(result.store.given), batch)}"
        if result.staying and batch
        else ""
    )
    return [_entries(title, result.entries, zone, notes=[rest, "Nothing was changed."])]


def history(result: Journal, zone: Zone) -> list[Table]:
    """The journal of a store."""
    if not result.entries:
        return [make("", [], [], notes=[f"Nothing was ever applied to this store (there is no {result.path.name})."])]
    title = f"{counted(len(result.entries), 'repair')} in {result.path}"
    return [_entries(title, tuple(reversed(result.entries)), zone, notes=["Newest first."])]


def copy(result: Copy, _zone: Zone) -> list[Table]:
    """A backup that was made."""
    notes = [f"{size(result.size_bytes)} in {result.seconds:.1f} s; {size(result.free_bytes)} were free before."]
    return [make(f"Backup: {result.path}", [], [], notes=notes)]


def kept(result: Kept, zone: Zone) -> list[Table]:
    """The backups beside a store, or the one that a restore would take."""
    if not result.rows:
        return [make("", [], [], notes=["There is no backup beside this store."])]
    rows = [(str(one.path), size(one.size_bytes), zone.show(one.written_at)) for one in result.rows]
    title = "Restore would take this backup" if result.chosen else counted(len(rows), "backup")
    note = "What the store holds now would be backed up before; nothing was changed." if result.chosen else ""
    return [make(title, ["backup", Column("size", right=True), "written"], rows, notes=[note])]


def restored(result: Restored, _zone: Zone) -> list[Table]:
    """A backup that took the place of a store."""
    return [make(f"Restored from {result.backup}", [], [], notes=[f"What was there before is kept in {result.saved}."])]


def _entries(title: str, entries: Iterable[Entry], zone: Zone, *, notes: Iterable[str]) -> Table:
    found = list(entries)
    rows = [
        (
            one.journal_id,
            zone.show(one.at),
            f"undone by {one.undone_by}" if one.undone_by else one.state,
            one.batch or "",
            one.title,
        )
        for one in found
    ]
    heads: list[Column | str] = ["entry", "when", "state", "batch", Column("", cut=True)]
    tones = ["muted" if one.undone_by or one.state == "rolled back" else "" for one in found]
    return make(title, heads, rows, tones=tones, notes=notes)


def _pairs(before: tuple[Shown, ...], after: tuple[Shown, ...]) -> Iterator[tuple[str, Shown | None, Shown | None]]:
    keys = [one.key for one in before], [one.key for one in after]
    for kind, a, b, c, d in SequenceMatcher(None, *keys, autojunk=False).get_opcodes():
        for i in range(max(b - a, d - c)):
            old = before[a + i] if a + i < b else None
            new = after[c + i] if c + i < d else None
            yield (kind if old and new else "insert" if new else "delete"), old, new


def _shown(one: Shown | None) -> tuple[str, object]:
    return ("", "") if one is None else (f"{one.label} {one.ref}", one.tokens)


def _delta(one: Outcome) -> str:
    return "" if one.tokens_after is None else f"{one.tokens_after - one.tokens_before:+,}"


def _why(one: Outcome) -> str:
    return " ".join([one.reason, *one.notes]).strip()


def _text(content: str | bytes) -> str:
    return content if isinstance(content, str) else content.decode("utf-8", "replace")


def undo_command(store: str, name: str) -> str:
    """The command that takes a repair back, as a shell takes it."""
    return f"lcm-lab --db {shlex.quote(store)} undo {name} --apply"


def about_usd(cost: float) -> str:
    """A cost by estimate."""
    return f"about ${cost:,.2f}" if cost >= 0.01 else "less than $0.01"


def _number(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
