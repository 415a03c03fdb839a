"""The rows of a store as frozen, typed values.

SQLite does not enforce column types, so a row is checked when it is read: a text in an integer column, a NULL where
none should be, invalid UTF-8. The row is still there; the value becomes None (or 0, or an empty text) and a note on the
reader says which row and column it was. Column names are the store's own.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, TypeVar, get_type_hints

from lcm_lab.store.connect import Reader

R = TypeVar("R", bound="Row")
_REPLACED: Final = "\ufffd"


@dataclass(frozen=True, slots=True)
class Row:
    """Base of all rows: the table they come from, and the columns that name one."""

    TABLE: ClassVar[str] = ""
    KEY: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Conversation(Row):
    """A conversation: one lane of messages with its own context."""

    TABLE: ClassVar[str] = "conversations"
    KEY: ClassVar[tuple[str, ...]] = ("conversation_id",)
    conversation_id: int
    session_id: str
    session_key: str | None
    active: int | None
    archived_at: str | None
    archive_cause: str | None
    title: str | None
    created_at: str
    updated_at: str

    @property
    def state(self) -> str:
        """``active``, or ``archived`` with its cause where the store says one."""
        if self.active == 0 or self.archived_at:
            return f"archived ({self.archive_cause})" if self.archive_cause else "archived"
        return "active"


@dataclass(frozen=True, slots=True)
class Message(Row):
    """A message. ``content`` may be empty where the parts hold the text; ``token_count`` is the store's own number."""

    TABLE: ClassVar[str] = "messages"
    KEY: ClassVar[tuple[str, ...]] = ("message_id",)
    message_id: int
    conversation_id: int
    seq: int
    role: str
    content: str
    token_count: int | None
    identity_hash: str | None
    large_content: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class Part(Row):
    """A part of a message: text, reasoning, a tool call or result, a file."""

    TABLE: ClassVar[str] = "message_parts"
    KEY: ClassVar[tuple[str, ...]] = ("part_id",)
    part_id: str
    message_id: int
    ordinal: int
    part_type: str
    text_content: str | None
    is_ignored: int | None
    tool_call_id: str | None
    tool_name: str | None
    tool_input: str | None
    tool_output: str | None
    tool_error: str | None
    file_mime: str | None
    file_name: str | None
    file_url: str | None


@dataclass(frozen=True, slots=True)
class Summary(Row):
    """A node of the summary DAG; ``depth`` 0 is a leaf made from messages."""

    TABLE: ClassVar[str] = "summaries"
    KEY: ClassVar[tuple[str, ...]] = ("summary_id",)
    summary_id: str
    conversation_id: int
    kind: str
    depth: int
    content: str
    token_count: int | None
    earliest_at: str | None
    latest_at: str | None
    descendant_count: int | None
    descendant_token_count: int | None
    source_message_token_count: int | None
    created_at: str
    file_ids: str | None
    model: str | None

    @property
    def label(self) -> str:
        """``leaf`` or ``dN``, as lcm-tui shows it."""
        return kind_label(self.kind, self.depth)


@dataclass(frozen=True, slots=True)
class Edge(Row):
    """``summary_id`` (derived) was made from ``parent_summary_id`` (its source)."""

    TABLE: ClassVar[str] = "summary_parents"
    KEY: ClassVar[tuple[str, ...]] = ("summary_id", "parent_summary_id")
    summary_id: str
    parent_summary_id: str
    ordinal: int | None


@dataclass(frozen=True, slots=True)
class Link(Row):
    """The leaf ``summary_id`` was made from the message ``message_id``."""

    TABLE: ClassVar[str] = "summary_messages"
    KEY: ClassVar[tuple[str, ...]] = ("summary_id", "message_id")
    summary_id: str
    message_id: int
    ordinal: int | None


@dataclass(frozen=True, slots=True)
class ContextItem(Row):
    """One place in a conversation's context: a message or a summary."""

    TABLE: ClassVar[str] = "context_items"
    KEY: ClassVar[tuple[str, ...]] = ("conversation_id", "ordinal")
    conversation_id: int
    ordinal: int
    item_type: str
    message_id: int | None
    summary_id: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class LargeFile(Row):
    """A file or tool output that was too large for the store; the payload lies at ``storage_uri``."""

    TABLE: ClassVar[str] = "large_files"
    KEY: ClassVar[tuple[str, ...]] = ("file_id",)
    file_id: str
    conversation_id: int
    file_name: str | None
    mime_type: str | None
    byte_size: int | None
    line_count: int | None
    storage_uri: str
    exploration_summary: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class FocusBrief(Row):
    """A focus brief: a text that stands in for the summaries it covers while it is active."""

    TABLE: ClassVar[str] = "focus_briefs"
    KEY: ClassVar[tuple[str, ...]] = ("brief_id",)
    brief_id: str
    conversation_id: int
    prompt: str
    content: str
    status: str
    token_count: int | None
    target_tokens: int | None
    covered_latest_at: str | None
    covered_message_seq: int | None
    source_context_hash: str
    raw_result_json: str | None
    error: str | None
    created_at: str


@dataclass(frozen=True, slots=True)
class FocusSource(Row):
    """A summary that a focus brief was made with, and in which role."""

    TABLE: ClassVar[str] = "focus_brief_sources"
    KEY: ClassVar[tuple[str, ...]] = ("brief_id", "summary_id", "role")
    brief_id: str
    summary_id: str
    ordinal: int | None
    role: str


def kind_label(kind: str, depth: int) -> str:
    """``leaf`` for depth 0 or kind leaf, else ``dN``; the depth as :func:`read_depth` gives it."""
    return "leaf" if depth == 0 or kind == "leaf" else f"d{depth}"


def read_depth(reader: Reader, summary_id: object, value: object) -> int:
    """A stored depth as every view reads it: one that is no whole number is 0, and noted."""
    if isinstance(value, int):
        return value
    if reader.schema.has("summaries", "depth"):
        problem = "NULL where a value must be" if value is None else f"{_short(value)} in a column of whole numbers"
        reader.note("summaries", summary_id, "depth", f"{problem}, read as 0")
    return 0


def depth_number(reader: Reader, alias: str) -> str:
    """SQL: the depth that :func:`read_depth` gives, for a query that counts by it."""
    depth = reader.schema.column("summaries", "depth", alias=alias)
    return f"CASE WHEN typeof({depth}) = 'integer' THEN {depth} ELSE 0 END"


KEYS: Final = {
    row.TABLE: row.KEY
    for row in (Conversation, Message, Part, Summary, Edge, Link, ContextItem, LargeFile, FocusBrief, FocusSource)
}
"""The columns that name a row, by table."""


def load(reader: Reader, row: type[R], tail: str, parameters: tuple[Any, ...] = ()) -> list[R]:
    """Rows of type ``row`` for ``FROM <its table> AS t <tail>``."""
    return list(stream(reader, row, tail, parameters))


def stream(reader: Reader, row: type[R], tail: str, parameters: tuple[Any, ...] = ()) -> Iterator[R]:
    """As :func:`load`, one by one."""
    sql = f'SELECT {select_list(reader, row)} FROM "{row.TABLE}" AS t {tail}'
    yield from typed(reader, row, reader.rows(sql, parameters))


def select_list(reader: Reader, row: type[Row]) -> str:
    """SQL: the columns of a row in field order, from its table under the alias ``t``; NULL where the store has none."""
    return ", ".join(reader.schema.column(row.TABLE, name, alias="t") for name in _wanted(row))


def typed(reader: Reader, row: type[R], values: Iterable[tuple[Any, ...]]) -> Iterator[R]:
    """Tuples in field order as checked rows; what does not fit is noted on the reader."""
    wanted = _wanted(row)
    present = [reader.schema.has(row.TABLE, name) for name in wanted]
    reader.take_broken_text()
    for found in values:
        checked = [
            value
            if type(value) is kind
            else _mend(reader, row, found, name, value, kind, optional=optional or not there)
            for (name, (kind, optional)), value, there in zip(wanted.items(), found, present, strict=True)
        ]
        if reader.take_broken_text():
            for name, value in zip(wanted, found, strict=True):
                if isinstance(value, str) and _REPLACED in value:
                    reader.note(row.TABLE, _key(row, found), name, "invalid UTF-8, bad bytes shown as \ufffd")
        yield row(*checked)


def _mend(
    reader: Reader, row: type[Row], found: tuple[Any, ...], name: str, value: Any, kind: type, *, optional: bool
) -> Any:
    """The value in the type its column promises, with a note where it is something else."""
    if row is Summary and name == "depth":
        return read_depth(reader, _key(row, found), value)
    if value is None:
        if optional:
            return None if _wanted(row)[name][1] else kind()
        reader.note(row.TABLE, _key(row, found), name, "NULL where a value must be")
        return kind()
    mended: Any
    if kind is int and isinstance(value, float) and value == value and abs(value) < 2**63:  # noqa: PLR0124  (NaN)
        # As SQL rounds it in store.text.valid_count.
        mended = int(value + 0.5) if value > 0 else int(value)
        problem = f"{value!r} in a column of whole numbers, read as {mended}"
    elif kind is int:
        mended, problem = (
            None if _wanted(row)[name][1] else 0,
            f"{_short(value)} in a column of whole numbers, left out",
        )
    elif isinstance(value, bytes):
        mended, problem = value.decode("utf-8", "replace"), "binary value in a text column"
    else:
        mended, problem = str(value), f"number {value!r} in a text column"
        if reader.schema.has(row.TABLE, name):
            return mended
    reader.note(row.TABLE, _key(row, found), name, problem)
    return mended


def _key(row: type[Row], found: tuple[Any, ...]) -> str:
    names = list(_wanted(row))
    return ":".join(str(found[names.index(name)]) for name in row.KEY)


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


_shapes: dict[type[Row], dict[str, tuple[type, bool]]] = {}


def _wanted(row: type[Row]) -> dict[str, tuple[type, bool]]:
    """Type of each column of a row, and whether NULL is allowed."""
    if row in _shapes:
        return _shapes[row]
    hints = get_type_hints(row)
    wanted: dict[str, tuple[type, bool]] = {}
    for one in fields(row):
        hint = hints[one.name]
        options = getattr(hint, "__args__", (hint,))
        wanted[one.name] = (next(o for o in options if o is not type(None)), type(None) in options)
    _shapes[row] = wanted
    return wanted
