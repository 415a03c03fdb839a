"""Swap a run of items in a conversation's context, wherever the run stands by now.

The run is found by what stands in it and before it, not by its ordinals: turns that an agent appended meanwhile, or a
renumbering that closed a gap, change nothing. What follows moves by the difference in length, so gaps behind stay.
"""

import sqlite3
from dataclasses import dataclass
from typing import Final

from lcm_lab.errors import StalePlan
from lcm_lab.repairs.apply_rows import Rows, bound
from lcm_lab.repairs.edits import Edit, Item, SwapItems
from lcm_lab.store.images import Image, Value
from lcm_lab.store.schema import KNOWN_COLUMNS, quote

_MANY: Final = 500
_MOVE: Final = "UPDATE context_items SET ordinal = ordinal + ? WHERE conversation_id = ? AND ordinal >= ?"
_LAST: Final = "SELECT max(ordinal) FROM context_items WHERE conversation_id = ?"


@dataclass(frozen=True, slots=True)
class _Place:
    ordinal: int
    key: tuple[Value, Value]
    created_at: Value


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a run stands: what is before it, the run itself, and what comes first behind it."""

    left: _Place | None
    old: list[_Place]
    behind: _Place | None


def swap(rows: Rows, edit: SwapItems, now: str) -> SwapItems:
    """Make the swap; the inverse puts the old run back where the new one stands.

    Raises:
        StalePlan: the run, or its neighbour, is not there any more; or a new item already stands elsewhere.
    """
    spot = _located(rows, edit)
    start = _start(spot, edit)
    _refuse_doubles(rows, edit, spot)
    shift = _difference(spot, edit, start)
    was = tuple(
        _leaves(rows, edit.conversation_id, mine, one, start) for mine, one in zip(edit.old, spot.old, strict=True)
    )
    if spot.behind and shift:
        _shift(rows, edit.conversation_id, spot.behind.ordinal, shift)
    for item in edit.new:
        _enters(rows, edit.conversation_id, item, start, now)
    placed = tuple(Item(one.item_type, _ref(rows.number(one.ref)), one.offset) for one in edit.new)
    neighbour = None if spot.left is None else (str(spot.left.key[0]), _ref(spot.left.key[1]))
    return SwapItems(edit.conversation_id, neighbour, placed, was, None, start)


def _leaves(rows: Rows, conversation_id: int, item: Item, place: _Place, start: int) -> Item:
    """Take an item out; as it has to be put back."""
    whole = rows.image("context_items", [conversation_id, place.ordinal]) or {}
    more = {name: value for name, value in whole.items() if name not in KNOWN_COLUMNS["context_items"]}
    sql = "DELETE FROM context_items WHERE conversation_id = ? AND ordinal = ?"
    _execute(rows.connection, sql, (conversation_id, place.ordinal))
    return Item(item.item_type, item.ref, place.ordinal - start, place.created_at, more or None)


def _enters(rows: Rows, conversation_id: int, item: Item, start: int, now: str) -> None:
    row: Image = {
        **rows.fitted("context_items", item.more or {}),
        "conversation_id": conversation_id,
        "ordinal": start + item.offset,
        "item_type": item.item_type,
        _column(item.item_type): rows.number(item.ref),
        "created_at": now if item.created_at is None else item.created_at,
    }
    places = [bound(value) for value in row.values()]
    sql = f"INSERT INTO context_items ({', '.join(map(quote, row))}) VALUES ({', '.join(place for place, _ in places)})"
    _execute(rows.connection, sql, tuple(value for _, value in places))


def prepare(rows: Rows, edits: tuple[Edit, ...]) -> None:
    """Read the items that will have to move now, before the write lock is taken.

    What was read is used if nobody has written to the store by then, as SQLite's own count of that says.
    """
    swaps = [one for one in edits if isinstance(one, SwapItems)]
    if len(swaps) != 1:
        return
    rows.connection.execute("BEGIN")
    try:
        spot = _located(rows, swaps[0])
        by = _difference(spot, swaps[0], _start(spot, swaps[0]))
        if spot.behind and by:
            _read_behind(rows, swaps[0].conversation_id, spot.behind.ordinal, by)
    finally:
        rows.connection.execute("COMMIT")


def holds(rows: Rows, edit: SwapItems) -> None:
    """Look whether the swap could be made.

    Raises:
        StalePlan: it could not.
    """
    _refuse_doubles(rows, edit, _located(rows, edit))


def _located(rows: Rows, edit: SwapItems) -> _Spot:
    """The run, found by what it begins with: a context is long, and this happens under the write lock."""
    if not edit.old and edit.left is None:
        return _Spot(None, [], next(iter(_places(rows, edit, "ordinal IS NOT NULL", (), 1)), None))
    first = edit.old[0].key if edit.old else (edit.left or ("", ""))
    spots = []
    for one in _places(rows, edit, f"item_type = ? AND {_column(first[0])} IS ?", (first[0], rows.number(first[1]))):
        if edit.old:
            before = _places(rows, edit, "ordinal < ?", (one.ordinal,), 1, "DESC")
            following = _places(rows, edit, "ordinal >= ?", (one.ordinal,), len(edit.old) + 1)
            spot = _Spot(
                before[0] if before else None,
                following[: len(edit.old)],
                following[len(edit.old)] if len(following) > len(edit.old) else None,
            )
            if _reads(rows, spot, edit):
                spots.append(spot)
        else:
            spots.append(_Spot(one, [], next(iter(_places(rows, edit, "ordinal > ?", (one.ordinal,), 1)), None)))
    if not spots:
        raise StalePlan(
            f"The context of conversation {edit.conversation_id} has changed where the plan changes it; "
            "make the plan again."
        )
    return min(spots, key=lambda spot: abs((spot.old[0].ordinal if spot.old else _after(spot)) - edit.start))


def _reads(rows: Rows, spot: _Spot, edit: SwapItems) -> bool:
    if [one.key for one in spot.old] != [(one.item_type, rows.number(one.ref)) for one in edit.old]:
        return False
    if (spot.left.key if spot.left else None) != edit.left:
        return False
    # A run at the end of the context: whatever was appended behind it does not matter.
    return edit.right is None or (spot.behind is not None and spot.behind.key == edit.right)


def _places(
    rows: Rows, edit: SwapItems, where: str, values: tuple[Value, ...], limit: int = -1, order: str = "ASC"
) -> list[_Place]:
    sql = (
        "SELECT ordinal, item_type, message_id, summary_id, created_at FROM context_items "
        f"WHERE conversation_id = ? AND {where} ORDER BY ordinal {order} LIMIT ?"
    )
    return [
        _Place(ordinal, (kind, message_id if kind == "message" else summary_id), created_at)
        for ordinal, kind, message_id, summary_id, created_at in rows.connection.execute(
            sql, (edit.conversation_id, *values, limit)
        )
    ]


def _after(spot: _Spot) -> int:
    return spot.left.ordinal + 1 if spot.left else 0


def _start(spot: _Spot, edit: SwapItems) -> int:
    if spot.old:
        return spot.old[0].ordinal
    # Where the plan saw it, if that is still between its neighbours: a gap there stays as it was.
    left, behind = spot.left, spot.behind
    if (left is None or left.ordinal < edit.start) and (behind is None or edit.start <= behind.ordinal):
        return edit.start
    if left is not None:
        return left.ordinal + 1
    return behind.ordinal if behind else edit.start


def _column(item_type: str) -> str:
    return "message_id" if item_type == "message" else "summary_id"


def _difference(spot: _Spot, edit: SwapItems, start: int) -> int:
    """By how much what stands behind moves."""
    return _span(edit.new) - (spot.old[-1].ordinal - start + 1 if spot.old else 0)


def _span(items: tuple[Item, ...]) -> int:
    return items[-1].offset + 1 if items else 0


def _refuse_doubles(rows: Rows, edit: SwapItems, spot: _Spot) -> None:
    """Look whether something new stands in the context already, outside of the run that goes."""
    new = {(one.item_type, rows.number(one.ref)) for one in edit.new}
    old = {one.ordinal for one in spot.old}
    for kind in ("message", "summary"):
        refs = [ref for one, ref in new if one == kind]
        for i in range(0, len(refs), _MANY):
            part = refs[i : i + _MANY]
            where = f"item_type = ? AND {_column(kind)} IN ({', '.join('?' * len(part))})"
            for one in _places(rows, edit, where, (kind, *part)):
                if one.ordinal not in old:
                    raise StalePlan(
                        f"{kind} {_ref(one.key[1])} stands elsewhere in the context of conversation "
                        f"{edit.conversation_id} by now, so it would be there twice; make the plan again."
                    )


def _shift(rows: Rows, conversation_id: int, first: int, by: int) -> None:
    """Add ``by`` to the ordinals from ``first`` on, which must be unique at each moment.

    In a long context this is what takes time under the write lock. So what the rows hold is moved from place to place,
    which no index has to follow; only where foreign keys refuse that (an item that leads nowhere) do the numbers move.
    """
    connection = rows.connection
    if rows.behind != (conversation_id, first, by, _state(rows)):
        _read_behind(rows, conversation_id, first, by)
    # It holds what was: another swap of this plan reads anew.
    rows.behind = None
    connection.execute("SAVEPOINT shifted")
    try:
        for statement in _moves(rows):
            connection.execute(statement)
    except sqlite3.IntegrityError:
        connection.execute("ROLLBACK TO shifted")
        last = connection.execute(_LAST, (conversation_id,)).fetchone()[0]
        # By way of numbers nobody uses.
        away = 2 * (abs(first) + abs(last) + abs(by)) + 1_000_000
        _execute(connection, _MOVE, (away, conversation_id, first))
        _execute(connection, _MOVE, (by - away, conversation_id, first + away))
    finally:
        connection.execute("RELEASE shifted")


def _read_behind(rows: Rows, conversation_id: int, first: int, by: int) -> None:
    """Note each item behind with its new ordinal and the row that has it now, and the rows whose ordinal goes."""
    held = ", ".join(f"b.{quote(name)}" for name in _held(rows))
    behind = "b.conversation_id = ? AND b.ordinal >= ?"
    pair = "o.conversation_id = b.conversation_id AND o.ordinal = b.ordinal"
    with_row = (
        f"SELECT b.conversation_id, b.ordinal + {int(by)} AS ordinal, {held}, o.rowid AS place "
        f"FROM context_items b LEFT JOIN context_items o ON {pair} + {int(by)} AND o.ordinal >= {int(first)} "
        f"WHERE {behind}"
    )
    left = (
        f"SELECT b.rowid AS place FROM context_items b LEFT JOIN context_items o ON {pair} - {int(by)} "
        f"AND o.ordinal >= {int(first)} WHERE {behind} AND o.rowid IS NULL"
    )
    for table, sql in (("lcm_lab_behind", with_row), ("lcm_lab_left", left)):
        rows.connection.execute(f"DROP TABLE IF EXISTS temp.{table}")
        rows.connection.execute(f"CREATE TEMP TABLE {table} AS {sql}", (conversation_id, first))
    rows.behind = (conversation_id, first, by, _state(rows))


def _moves(rows: Rows) -> tuple[str, ...]:
    held = [quote(name) for name in _held(rows)]
    names = ", ".join(held)
    sets = ", ".join(f"{name} = b.{name}" for name in held)
    added = (
        f"INSERT INTO context_items (conversation_id, ordinal, {names}) "
        f"SELECT conversation_id, ordinal, {names} FROM temp.lcm_lab_behind WHERE place IS NULL"
    )
    return (
        f"UPDATE context_items SET {sets} FROM temp.lcm_lab_behind b WHERE context_items.rowid = b.place",
        "DELETE FROM context_items WHERE rowid IN (SELECT place FROM temp.lcm_lab_left)",
        added,
    )


def _held(rows: Rows) -> list[str]:
    """The columns that say what stands at a place."""
    names = (one.name for one in rows.schema.tables["context_items"])
    return [name for name in names if name not in ("conversation_id", "ordinal")]


def _state(rows: Rows) -> int:
    """A number that changes when somebody else has written."""
    return int(rows.connection.execute("PRAGMA data_version").fetchone()[0])


def _execute(connection: sqlite3.Connection, sql: str, values: tuple[Value, ...]) -> None:
    try:
        connection.execute(sql, values)
    except sqlite3.IntegrityError as error:
        raise StalePlan(f"The context cannot be changed as planned ({error}); make the plan again.") from error


def _ref(value: Value) -> int | str:
    return value if isinstance(value, int | str) else str(value)
