"""The store's schema, found by looking.

No version number is written into a store: what is there shows what can be asked. Eight tables make a store; every
other table, and every column that came after 0.1.0, may be missing, and a missing column reads as NULL. Tables and
columns we do not know are kept and reported. Facts from the public sources of lossless-claw up to 1.0.0-beta.4.
"""

from dataclasses import dataclass, field
from typing import Any, Final

CORE_TABLES: Final = (
    "conversations",
    "messages",
    "summaries",
    "summary_messages",
    "summary_parents",
    "context_items",
    "message_parts",
    "large_files",
)
REQUIRED_TABLES: Final = ("conversations", "messages")
"""Without these a file is no LCM store; the other core tables may be missing in a damaged or unfinished one."""

_PARTS_COLUMNS: Final = (
    "part_id message_id session_id part_type ordinal text_content is_ignored is_synthetic tool_call_id tool_name "
    "tool_status tool_input tool_output tool_error tool_title patch_hash patch_files file_mime file_name file_url "
    "subtask_prompt subtask_desc subtask_agent step_reason step_cost step_tokens_in step_tokens_out snapshot_hash "
    "compaction_auto metadata"
)
KNOWN_COLUMNS: Final[dict[str, frozenset[str]]] = {
    table: frozenset(columns.split())
    for table, columns in {
        "conversations": "conversation_id session_id session_key active archived_at archive_cause title "
        "bootstrapped_at created_at updated_at",
        "messages": "message_id conversation_id seq role content token_count identity_hash large_content "
        "transcript_entry_id stable_event_key openclaw_sender_metadata created_at",
        "summaries": "summary_id conversation_id kind depth content token_count earliest_at latest_at "
        "descendant_count descendant_token_count source_message_token_count created_at file_ids model",
        "summary_messages": "summary_id message_id ordinal",
        "summary_parents": "summary_id parent_summary_id ordinal",
        "context_items": "conversation_id ordinal item_type message_id summary_id created_at",
        "message_parts": _PARTS_COLUMNS,
        "large_files": "file_id conversation_id file_name mime_type byte_size line_count storage_uri "
        "exploration_summary created_at",
        "focus_briefs": "brief_id conversation_id session_key prompt content status token_count target_tokens "
        "covered_latest_at covered_message_seq source_context_hash generator_run_id generator_session_key "
        "raw_result_json error created_at updated_at superseded_at",
        "focus_brief_sources": "brief_id summary_id ordinal role created_at",
    }.items()
}
SERVICE_TABLES: Final = frozenset(
    {
        "conversation_bootstrap_state",
        "conversation_compaction_maintenance",
        "conversation_compaction_telemetry",
        "conversation_transcript_epochs",
        "lcm_migration_state",
        "message_transcript_anchor_trust",
        "pending_compaction_batches",
        "pending_summary_node_children",
        "pending_summary_node_messages",
        "pending_summary_nodes",
        "turn_advancements",
    }
)
"""Tables in which the plugin keeps its own state: known, and read only where a finding needs them."""

FULL_TEXT_TABLES: Final = ("messages_fts", "summaries_fts", "summaries_fts_cjk")

# The newest mark that is present names the era: (label, table, column or None for the table itself).
_ERAS: Final = (
    ("1.0 line", "conversation_transcript_epochs", None),
    ("0.15 or later", "messages", "openclaw_sender_metadata"),
    ("0.14", "conversations", "archive_cause"),
    ("0.13", "messages", "transcript_entry_id"),
    ("0.11 or 0.12", "focus_briefs", None),
    ("0.10", "messages", "large_content"),
    ("0.9", "messages", "identity_hash"),
    ("0.7 or 0.8", "conversation_compaction_telemetry", None),
    ("0.6", "conversations", "active"),
    ("0.5", "summaries", "model"),
    ("0.4", "conversations", "session_key"),
    ("0.3", "summaries", "descendant_token_count"),
    ("0.1.1 to 0.2", "summaries", "earliest_at"),
)


@dataclass(frozen=True, slots=True)
class Column:
    """A column as declared: its name, declared type in capitals, and whether NULL is forbidden."""

    name: str
    declared: str
    not_null: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """What a store consists of: tables with their columns, and which full-text tables are declared."""

    tables: dict[str, tuple[Column, ...]]
    full_text: frozenset[str]
    other_virtual: tuple[str, ...] = ()
    names: dict[str, frozenset[str]] = field(init=False)

    def __post_init__(self) -> None:
        names = {table: frozenset(column.name for column in columns) for table, columns in self.tables.items()}
        object.__setattr__(self, "names", names)

    def has(self, table: str, column: str | None = None) -> bool:
        """Whether the table (and the column) is there."""
        return table in self.names and (column is None or column in self.names[table])

    def column(self, table: str, column: str, *, alias: str = "") -> str:
        """The SQL that reads a column, or ``NULL`` where this store has none."""
        prefix = f"{alias}." if alias else ""
        return f"{prefix}{quote(column)}" if self.has(table, column) else "NULL"

    def stand_ins(self) -> list[str]:
        """SQL that makes an empty temporary table for each one this store lacks, so that it reads as empty."""
        return [
            f"CREATE TEMP TABLE {quote(table)} ({', '.join(quote(column) for column in sorted(columns))})"
            for table, columns in KNOWN_COLUMNS.items()
            if table not in self.tables
        ]

    @property
    def era(self) -> str:
        """The plugin line that last shaped the store, as far as its columns show."""
        for label, table, column in _ERAS:
            if self.has(table, column):
                return label
        return "0.1.0"

    @property
    def missing_tables(self) -> tuple[str, ...]:
        """Tables every store has and this one lacks."""
        return tuple(table for table in CORE_TABLES if table not in self.tables)

    @property
    def missing_columns(self) -> tuple[str, ...]:
        """``table.column`` for each column we read and this store lacks, in a fixed order."""
        return tuple(
            f"{table}.{column}"
            for table, columns in KNOWN_COLUMNS.items()
            if table in self.tables
            for column in sorted(columns - self.names[table])
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """Tables and ``table.column`` that no version we know has; they are kept, and left alone."""
        known = set(KNOWN_COLUMNS) | SERVICE_TABLES
        tables = [name for name in self.tables if name not in known and not name.startswith("sqlite_")]
        columns = [
            f"{table}.{column.name}"
            for table, columns in self.tables.items()
            if table in KNOWN_COLUMNS
            for column in columns
            if column.name not in KNOWN_COLUMNS[table]
        ]
        return (*sorted(tables), *columns, *self.other_virtual)


def quote(name: str) -> str:
    """``name`` as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def is_shadow(name: str) -> bool:
    """Whether ``name`` is an inner table of one of the full-text tables."""
    return any(name.startswith(f"{table}_") and name != "summaries_fts_cjk" for table in FULL_TEXT_TABLES)


def build(master: list[tuple[Any, ...]], columns: list[tuple[Any, ...]]) -> Schema:
    """A schema from rows of ``sqlite_master`` (type, name, sql) and of table_info (table, name, type, notnull)."""
    virtual = [
        str(name) for kind, name, sql in master if kind == "table" and (sql or "").upper().startswith("CREATE VIRTUAL")
    ]
    tables: dict[str, list[Column]] = {}
    for table, name, declared, not_null in columns:
        if not is_shadow(table):
            tables.setdefault(table, []).append(Column(name, (declared or "").upper(), bool(not_null)))
    return Schema(
        tables={table: tuple(found) for table, found in tables.items()},
        full_text=frozenset(name for name in virtual if name in FULL_TEXT_TABLES),
        other_virtual=tuple(sorted(name for name in virtual if name not in FULL_TEXT_TABLES)),
    )
