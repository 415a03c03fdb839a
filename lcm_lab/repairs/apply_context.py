"""Swap a run of items in a conversation's context, wherever the run stands by now.

The run is found by what stands in it and before it, not by its ordinals: turns that an agent appended meanwhile, or a
renumbering that closed a gap, change nothing. What follows moves by the difference in length, so gaps behind stay.
"""

import sqlite3
from dataclasses import dataclass

from lcm_lab.errors import StalePlan
from lcm_lab.repairs.apply_rows import Rows
from lcm_lab.repairs.edits import Item, SwapItems
from lcm_lab.store.images import Value


@dataclass(frozen=True, slots=True)
class _Place:
    ordinal: int
    key: tuple[Value, Value]
    created_at: Value


def swap(rows: Rows, edit: SwapItems, now: str) -> SwapItems:
    """Make the swap; the inverse puts the old run back where the new one stands.

    Raises:
        StalePlan: the run, or its neighbour, is not there any more; or a new item already stands elsewhere.
    """
    places, at = _located(rows, edit)
    old = places[at : at + len(edit.old)]
    left = places[at - 1] if at > 0 else None
    behind = places[at + len(edit.old) :]
    start = _start(places, old, left, edit)
    _refuse_doubles(edit, [one.key for one in (*places[:at], *behind)], rows)
    shift = _span(edit.new) - (old[-1].ordinal - start + 1 if old else 0)
    for one in old:
        _execute(
            rows.connection,
            "DELETE FROM context_items WHERE conversation_id = ? AND ordinal = ?",
            (edit.conversation_id, one.ordinal),
        )
    if behind and shift:
        _shift(rows.connection, edit.conversation_id, behind[0].ordinal, behind[-1].ordinal, shift)
    for item in edit.new:
        is_message = item.item_type == "message"
        ref = rows.number(item.ref)
        _execute(
            rows.connection,
            "INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, summary_id, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                edit.conversation_id,
                start + item.offset,
                item.item_type,
                ref if is_message else None,
                None if is_message else ref,
                now if item.created_at is None else item.created_at,
            ),
        )
    was = tuple(
        Item(mine.item_type, mine.ref, one.ordinal - start, one.created_at)
        for mine, one in zip(edit.old, old, strict=True)
    )
    placed = tuple(Item(one.item_type, _ref(rows.number(one.ref)), one.offset) for one in edit.new)
    neighbour = None if left is None else (str(left.key[0]), _ref(left.key[1]))
    return SwapItems(edit.conversation_id, neighbour, placed, was, None, start)


def holds(rows: Rows, edit: SwapItems) -> None:
    """Look whether the swap could be made.

    Raises:
        StalePlan: it could not.
    """
    places, at = _located(rows, edit)
    _refuse_doubles(edit, [one.key for one in (*places[:at], *places[at + len(edit.old) :])], rows)


def _located(rows: Rows, edit: SwapItems) -> tuple[list[_Place], int]:
    places = [
        _Place(ordinal, (kind, message_id if kind == "message" else summary_id), created_at)
        for ordinal, kind, message_id, summary_id, created_at in rows.connection.execute(
            "SELECT ordinal, item_type, message_id, summary_id, created_at FROM context_items "
            "WHERE conversation_id = ? ORDER BY ordinal",
            (edit.conversation_id,),
        )
    ]
    keys = [one.key for one in places]
    old = [(one.item_type, rows.number(one.ref)) for one in edit.old]
    if not old:
        if edit.left is None:
            return places, 0
        starts = [i + 1 for i, key in enumerate(keys) if key == edit.left]
    else:
        starts = [
            i
            for i, key in enumerate(keys)
            if key == old[0] and keys[i : i + len(old)] == old and _neighbours_hold(keys, i, i + len(old), edit)
        ]
    if not starts:
        raise StalePlan(
            f"The context of conversation {edit.conversation_id} has changed where the plan changes it; "
            "make the plan again."
        )
    return places, min(starts, key=lambda i: abs((places[i].ordinal if i < len(places) else i) - edit.start))


def _neighbours_hold(keys: list[tuple[Value, Value]], first: int, end: int, edit: SwapItems) -> bool:
    left = keys[first - 1] if first > 0 else None
    if left != edit.left:
        return False
    # A run at the end of the context: whatever was appended behind it does not matter.
    return edit.right is None or (end < len(keys) and keys[end] == edit.right)


def _start(places: list[_Place], old: list[_Place], left: _Place | None, edit: SwapItems) -> int:
    if old:
        return old[0].ordinal
    # Where the plan saw it, if that is still between its neighbours: a gap there stays as it was.
    behind = next((one for one in places if left is None or one.ordinal > left.ordinal), None)
    if (left is None or left.ordinal < edit.start) and (behind is None or edit.start <= behind.ordinal):
        return edit.start
    if left is not None:
        return left.ordinal + 1
    return places[0].ordinal if places else edit.start


def _span(items: tuple[Item, ...]) -> int:
    return items[-1].offset + 1 if items else 0


def _refuse_doubles(edit: SwapItems, others: list[tuple[Value, Value]], rows: Rows) -> None:
    elsewhere = set(others)
    for one in edit.new:
        if (one.item_type, rows.number(one.ref)) in elsewhere:
            raise StalePlan(
                f"{one.item_type} {one.ref} stands elsewhere in the context of conversation {edit.conversation_id} "
                "by now, so it would be there twice; make the plan again."
            )


def _shift(connection: sqlite3.Connection, conversation_id: int, first: int, last: int, by: int) -> None:
    """Add ``by`` to the ordinals from ``first`` on; by way of numbers nobody uses, since each must be unique."""
    away = 2 * (abs(first) + abs(last) + abs(by)) + 1_000_000
    sql = "UPDATE context_items SET ordinal = ordinal + ? WHERE conversation_id = ? AND ordinal >= ?"
    _execute(connection, sql, (away, conversation_id, first))
    _execute(connection, sql, (by - away, conversation_id, first + away))


def _execute(connection: sqlite3.Connection, sql: str, values: tuple[Value, ...]) -> None:
    try:
        connection.execute(sql, values)
    except sqlite3.IntegrityError as error:
        raise StalePlan(f"The context cannot be changed as planned ({error}); make the plan again.") from error


def _ref(value: Value) -> int | str:
    return value if isinstance(value, int | str) else str(value)
