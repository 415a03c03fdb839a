"""What a plan may do to a store: a closed set of six edits, as plain data that survives JSON.

Each edit carries the ``before`` it rests on, so that :mod:`lcm_lab.repairs.apply` can refuse it in a store that reads
otherwise, and each has an inverse that is made of the same six. Places in a context are relative: ordinals, numbers of
messages and ``seq`` are given inside apply, so that whatever an agent appends meanwhile disturbs nothing. There is no
edit that carries SQL. Checked by ``tests/repairs/test_edits.py`` and ``tests/repairs/test_apply_random.py``.
"""

import base64
import re
from dataclasses import dataclass, fields
from typing import Any, Final

from lcm_lab.errors import UsageError
from lcm_lab.store.images import Image, RawText, Value
from lcm_lab.store.rows import KEYS
from lcm_lab.store.schema import FULL_TEXT_TABLES

TABLES: Final = (
    "messages",
    "message_parts",
    "large_files",
    "summaries",
    "summary_messages",
    "summary_parents",
)
"""Tables that rows may be put into or taken from, sources of a reference first."""

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
"""Half a character, which JSON can hold and SQLite cannot."""

COUNTED: Final = ("descendant_count", "descendant_token_count", "source_message_token_count")
"""Numbers a summary keeps about what lies below it."""


@dataclass(frozen=True, slots=True)
class TextState:
    """A summary's text with the columns that say what it is; ``model`` None where the store has no such column."""

    content: str | RawText
    token_count: Value
    model: Value = None


@dataclass(frozen=True, slots=True)
class SetText:
    """Replace the text of a summary; every full-text copy and what is counted above it follow."""

    summary_id: str
    before: TextState
    after: TextState


@dataclass(frozen=True, slots=True)
class Item:
    """A place in a context: what stands there, how far from its run's first item, since when (None: now).

    ``more`` holds columns that no version we know has, in an item that an undo puts back.
    """

    item_type: str
    ref: int | str
    offset: int
    created_at: Value = None
    more: Image | None = None

    @property
    def key(self) -> tuple[str, int | str]:
        """What stands there."""
        return (self.item_type, self.ref)


@dataclass(frozen=True, slots=True)
class SwapItems:
    """Replace a run of neighbours in a context by another run; what follows moves by the difference.

    ``left`` is the item before the run (None: the run is at the front), ``right`` the one behind (None: whatever
    comes). An empty ``old`` inserts behind ``left``. ``start`` is the ordinal of the run when the plan was made; it
    tells equal items apart and serves an empty context.
    """

    conversation_id: int
    left: tuple[str, int | str] | None
    old: tuple[Item, ...]
    new: tuple[Item, ...]
    right: tuple[str, int | str] | None
    start: int = 0


@dataclass(frozen=True, slots=True)
class InsertRows:
    """Add rows. A negative number of a message stands for one that is given inside apply, and so does ``seq`` None."""

    table: str
    rows: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """Take rows away, each of which must still read as here."""

    table: str
    rows: tuple[Image, ...]


@dataclass(frozen=True, slots=True)
class SetIndex:
    """Make the rows of a summary or message in a full-text table hold exactly ``texts`` (only an undo asks for it)."""

    table: str
    key: int | str
    before: tuple[Value, ...]
    texts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class AddCounts:
    """Add to what a summary counts below it (only an undo asks for it; else apply finds out by itself)."""

    summary_id: str
    deltas: dict[str, int]


Edit = SetText | SwapItems | InsertRows | DeleteRows | SetIndex | AddCounts
KINDS: Final[dict[str, type[Edit]]] = {
    kind.__name__: kind for kind in (SetText, SwapItems, InsertRows, DeleteRows, SetIndex, AddCounts)
}


def to_json(edit: Edit) -> dict[str, Any]:
    """An edit as JSON values."""
    return {"edit": type(edit).__name__, **{one.name: _out(getattr(edit, one.name)) for one in fields(edit)}}


def from_json(given: Any) -> Edit:
    """The edit that :func:`to_json` gave.

    Raises:
        UsageError: it is something else; the message names the field.
    """
    if not isinstance(given, dict) or given.get("edit") not in tuple(KINDS):
        raise UsageError(f"an edit must be an object whose 'edit' is one of {', '.join(KINDS)}")
    kind = KINDS[given["edit"]]
    names = {one.name for one in fields(kind)}
    odd = sorted(set(given) ^ (names | {"edit"}))
    if odd:
        raise UsageError(f"{given['edit']}: fields missing or unknown: {', '.join(odd)}")
    return _rows_named(kind(**{name: _field(kind, name, given[name]) for name in sorted(names)}))


def _out(value: Any) -> Any:
    if value is None or type(value) in (int, float, str):
        return value
    if isinstance(value, RawText):
        return {"text64": base64.b64encode(value).decode()}
    if isinstance(value, bytes):
        return {"blob64": base64.b64encode(value).decode()}
    if isinstance(value, tuple):
        return [_out(one) for one in value]
    if isinstance(value, dict):
        return {name: one if type(one) in (int, str) else _out(one) for name, one in value.items()}
    if isinstance(value, TextState | Item):
        return {one.name: _out(getattr(value, one.name)) for one in fields(value)}
    return value


def _in(value: Any, where: str) -> Value:
    if isinstance(value, dict) and len(value) == 1:
        name, encoded = next(iter(value.items()))
        if name in ("text64", "blob64") and isinstance(encoded, str):
            raw = base64.b64decode(encoded, validate=True)
            return RawText(raw) if name == "text64" else raw
    if value is None or isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
        return value
    if isinstance(value, str) and not _SURROGATE.search(value):
        return value
    raise UsageError(f"{where}: {value!r} is no value of a column")


def _field(kind: type[Edit], name: str, value: Any) -> Any:
    where = f"{kind.__name__}.{name}"
    try:
        if name in ("before", "after") and kind is SetText:
            return _text_state(value, where)
        if name in ("old", "new"):
            return tuple(_item(one, where) for one in value)
        if name in ("left", "right"):
            return None if value is None else _key(value[0], value[1], where)
        if name in ("texts", "before"):
            return tuple(_in(one, where) for one in value)
        if name == "rows":
            return tuple({str(key): _in(one, where) for key, one in row.items()} for row in value)
        if name == "deltas":
            return {str(key): _whole(one, where) for key, one in value.items() if key in COUNTED}
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise UsageError(f"{where} cannot be read: {error}") from error
    if name == "table" and value not in (FULL_TEXT_TABLES if kind is SetIndex else TABLES):
        raise UsageError(f"{where}: no plan may write to {value!r}")
    if name in ("conversation_id", "start"):
        return _whole(value, where)
    return _name(value, where) if name in ("summary_id", "key") else value


def _text_state(value: Any, where: str) -> TextState:
    state = TextState(**{key: _in(one, where) for key, one in value.items()})  # type: ignore[arg-type]
    if not isinstance(state.content, str | bytes):
        raise UsageError(f"{where}: {state.content!r} is no text")
    return state


def _item(value: Any, where: str) -> Item:
    more = value.get("more")
    known = {key: _in(one, where) for key, one in value.items() if key != "more"}
    item = Item(**known, more=more and {str(key): _in(one, where) for key, one in more.items()})  # type: ignore[arg-type]
    _whole(item.offset, where)
    _key(item.item_type, item.ref, where)
    return item


def _key(item_type: Any, ref: Any, where: str) -> tuple[str, int | str]:
    return (str(_in(item_type, where)), _name(ref, where))


def _name(value: Any, where: str) -> int | str:
    found = _in(value, where)
    if isinstance(found, int | str):
        return found
    raise UsageError(f"{where}: {value!r} names nothing")


def _whole(value: Any, where: str) -> int:
    found = _in(value, where)
    if isinstance(found, int):
        return found
    raise UsageError(f"{where}: {value!r} is no whole number")


def _rows_named(edit: Edit) -> Edit:
    """The edit, whose rows each say which row they are."""
    for row in edit.rows if isinstance(edit, InsertRows | DeleteRows) else ():
        lacking = [name for name in KEYS[edit.table] if name not in row]  # type: ignore[union-attr]
        if lacking:
            raise UsageError(f"{type(edit).__name__}.rows: a row lacks {', '.join(lacking)}")
    return edit
