"""The edits of one plan inside one write transaction: compared, made, and what follows from them.

Each edit is made by a method of its own and gives the edits that undo it; texts bring their full-text copies along,
sources and tokens the counts above them. Nothing is committed here. Checked by ``tests/repairs/test_apply.py``.
"""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

from lcm_lab.errors import StalePlan
from lcm_lab.repairs import apply_context
from lcm_lab.repairs.apply_counts import Counting, Counts
from lcm_lab.repairs.apply_index import OF_MESSAGES, Change, Index
from lcm_lab.repairs.apply_rows import Rows, bound, same
from lcm_lab.repairs.edits import (
    AddCounts,
    DeleteRows,
    Edit,
    InsertRows,
    SetIndex,
    SetText,
    SwapItems,
    TextState,
)
from lcm_lab.repairs.plan import Plan
from lcm_lab.store.images import Value
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import Schema, quote


class Work:
    """The edits of one plan inside one write transaction."""

    def __init__(self, connection: sqlite3.Connection, schema: Schema) -> None:
        self.rows = Rows(connection, schema)
        self.index = Index(self.rows)
        self.counting = Counting(self.rows)
        self._changes: list[Change] = []
        self._now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")

    def expect(self, plan: Plan) -> None:
        """Look whether everything the plan rests on still reads so.

        Raises:
            StalePlan: something does not.
        """
        self.holds(plan.edits)

    def holds(self, edits: tuple[Edit, ...]) -> None:
        """As :meth:`expect`, for edits."""
        gone = {(e.table, *_key(e.table, row)) for e in edits if isinstance(e, DeleteRows) for row in e.rows}
        for edit in edits:
            if isinstance(edit, SetText):
                self._expect_text(edit)
            elif isinstance(edit, SwapItems):
                apply_context.holds(self.rows, edit)
            elif isinstance(edit, DeleteRows):
                for row in edit.rows:
                    self.rows.expect(edit.table, row)
            elif isinstance(edit, InsertRows):
                for row in edit.rows:
                    key = _key(edit.table, row)
                    if (edit.table, *key) not in gone and self.rows.image(edit.table, key) is not None:
                        raise StalePlan(f"{edit.table} {key[0]!r} is there already; make the plan again.")

    def prepare(self, edits: tuple[Edit, ...]) -> None:
        """Find and read what takes time, before the write lock is taken."""
        self.index.locate(summaries_of(edits))
        apply_context.prepare(self.rows, edits)

    def make(self, plan: Plan, *, follow: bool) -> tuple[Edit, ...]:
        """Make the edits, and with ``follow`` what follows from them; the edits that undo all of it."""
        inverse: list[Edit] = []
        counts_before = self._counts(plan.edits) if follow else {}
        for edit in plan.edits:
            inverse[:0] = _HOW[type(edit)](self, edit, follow)
        # At the end and together; in an undo after the rows, since the index is undone last.
        inverse += self.index.put(self._changes)
        self._verify(plan.edits)
        if follow:
            inverse[:0] = self._spread(plan.edits, counts_before)
        return tuple(inverse)

    def set_text(self, edit: Edit, follow: bool) -> list[Edit]:  # noqa: FBT001  (called by kind of edit)
        """Replace a summary's text."""
        assert isinstance(edit, SetText)  # noqa: S101  (for the type checker)
        was = self._expect_text(edit)
        values = self.rows.fitted("summaries", _columns(edit.after))
        places = {name: bound(value) for name, value in values.items()}
        sets = ", ".join(f"{quote(name)} = {place}" for name, (place, _) in places.items())
        self.rows.connection.execute(
            f"UPDATE summaries SET {sets} WHERE summary_id = ?",
            (*(value for _, value in places.values()), edit.summary_id),
        )
        if follow:
            self._index("summaries", edit.summary_id, edit.after.content)
        return [SetText(edit.summary_id, edit.after, was)]

    def swap(self, edit: Edit, _follow: bool) -> list[Edit]:  # noqa: FBT001
        """Swap a run of context items."""
        assert isinstance(edit, SwapItems)  # noqa: S101
        return [apply_context.swap(self.rows, edit, self._now)]

    def insert(self, edit: Edit, follow: bool) -> list[Edit]:  # noqa: FBT001
        """Put rows in."""
        assert isinstance(edit, InsertRows)  # noqa: S101
        undo = self.rows.insert(edit)
        if follow and edit.table in ("summaries", "messages"):
            for row in undo.rows:
                if edit.table == "summaries" or str(row.get("content") or "").strip():
                    self._index(edit.table, _key(edit.table, row)[0], row.get("content"))
        return [undo]

    def delete(self, edit: Edit, follow: bool) -> list[Edit]:  # noqa: FBT001
        """Take rows away."""
        assert isinstance(edit, DeleteRows)  # noqa: S101
        if follow:
            self.rows.restorable(edit)
        if follow and edit.table in ("summaries", "messages"):
            for row in edit.rows:
                self._index(edit.table, _key(edit.table, row)[0], None)
        return [self.rows.delete(edit)]

    def set_index(self, edit: Edit, _follow: bool) -> list[Edit]:  # noqa: FBT001
        """Make a full-text table hold what it held; where it was brought up to date meanwhile, the present text."""
        assert isinstance(edit, SetIndex)  # noqa: S101
        if edit.table in self.index.tables("messages" if edit.table == OF_MESSAGES else "summaries"):
            self._changes.append(Change(edit.table, edit.key, edit.texts, edit.before))
        return []

    def add_counts(self, edit: Edit, follow: bool) -> list[Edit]:  # noqa: FBT001
        """Add to what a summary counts."""
        assert isinstance(edit, AddCounts)  # noqa: S101
        done = self.counting.add(edit.summary_id, edit.deltas, back=not follow)
        return [] if done is None else [done]

    def _index(self, kind: str, key: Value, text: Value) -> None:
        if isinstance(key, int | str):
            texts = () if text is None else (text,)
            self._changes += [Change(table, key, texts) for table in self.index.tables(kind)]

    def _expect_text(self, edit: SetText) -> TextState:
        row = self.rows.image("summaries", [edit.summary_id])
        if row is None:
            raise StalePlan(f"Summary {edit.summary_id} is not there any more; make the plan again.")
        for name, value in self.rows.fitted("summaries", _columns(edit.before)).items():
            if not same(row[name], value):
                raise StalePlan(
                    f"Summary {edit.summary_id} has changed since the plan was made (column {name}); "
                    "make the plan again."
                )
        content = row["content"]
        assert isinstance(content, str | bytes)  # noqa: S101  (it equals the plan's)
        return TextState(content, row.get("token_count"), row.get("model"))  # type: ignore[arg-type]

    def _counts(self, edits: tuple[Edit, ...]) -> dict[str, Counts]:
        """What each summary whose text or sources change counts or contributes before."""
        return {
            **{one.summary_id: self.counting.contribution(one.summary_id) for one in edits if isinstance(one, SetText)},
            **{key: self.counting.of_sources(key) for key in _resourced(edits)},
        }

    def _spread(self, edits: tuple[Edit, ...], before: dict[str, Counts]) -> list[Edit]:
        above, own = {}, {}
        for edit in edits:
            if isinstance(edit, SetText):
                above[edit.summary_id] = _minus(self.counting.contribution(edit.summary_id), before[edit.summary_id])
        for key in _resourced(edits):
            own[key] = _minus(self.counting.of_sources(key), before[key])
        return list(self.counting.spread(own, above=above))

    def _verify(self, edits: tuple[Edit, ...]) -> None:
        """Read back what matters: the texts as planned, every new item of a context resolved."""
        for edit in edits:
            if isinstance(edit, SetText):
                self._expect_text(SetText(edit.summary_id, edit.after, edit.before))
            elif isinstance(edit, SwapItems):
                for item in edit.new:
                    table = "messages" if item.item_type == "message" else "summaries"
                    row = self.rows.image(table, [self.rows.number(item.ref)])
                    if row is None and item.created_at is None:
                        raise StalePlan(f"{item.item_type} {item.ref} is not there any more; make the plan again.")


_HOW: dict[type, Callable[[Work, Edit, bool], list[Edit]]] = {
    SetText: Work.set_text,
    SwapItems: Work.swap,
    InsertRows: Work.insert,
    DeleteRows: Work.delete,
    SetIndex: Work.set_index,
    AddCounts: Work.add_counts,
}


def _key(table: str, row: dict[str, Value]) -> list[Value]:
    return [row.get(name) for name in KEYS[table]]


def _columns(state: TextState) -> dict[str, Value]:
    columns: dict[str, Value] = {"content": state.content, "token_count": state.token_count}
    return columns if state.model is None else {**columns, "model": state.model}


def _resourced(edits: tuple[Edit, ...]) -> set[str]:
    """Summaries that stay and whose sources change."""
    changed = {
        str(row["summary_id"])
        for edit in edits
        if isinstance(edit, InsertRows | DeleteRows) and edit.table == "summary_parents"
        for row in edit.rows
    }
    made = {
        str(row["summary_id"])
        for edit in edits
        if isinstance(edit, InsertRows | DeleteRows) and edit.table == "summaries"
        for row in edit.rows
    }
    return changed - made


def _minus(one: Counts, other: Counts) -> Counts:
    result = one.copy()
    result.subtract(other)
    return result


def summaries_of(edits: tuple[Edit, ...]) -> set[str]:
    """Summaries whose full-text rows the edits touch."""
    found: set[str] = set()
    for edit in edits:
        if isinstance(edit, SetText):
            found.add(edit.summary_id)
        elif isinstance(edit, InsertRows | DeleteRows) and edit.table == "summaries":
            found |= {str(row["summary_id"]) for row in edit.rows}
        elif isinstance(edit, SetIndex):
            found.add(str(edit.key))
    return found
