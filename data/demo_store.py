"""The demo: a believable OpenClaw state directory, made from the text under ``data/demo``.

:func:`build` makes ``lcm.db`` (lossless-claw 0.15.3), ``lcm-files/`` and ``agents/*/sessions/`` with two agents, six
conversations and a handful of planted faults. Invariants, checked by ``tests/test_demo_store.py``: the same text gives
the same rows; a folder either holds a whole demo or none; the store is one file in WAL mode, closed cleanly.
"""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from lcm_lab.data.demo_faults import Labels, plant
from lcm_lab.data.demo_format import BriefText, Conversation, Digest, read_conversation, read_digest
from lcm_lab.data.demo_rows import Row, Stored, code, iso, message_row, stamp, store_message
from lcm_lab.data.demo_sessions import session_lines, write_session
from lcm_lab.data.demo_summaries import Summary, summarise
from lcm_lab.data.schema_files import apply_ddl, has_table
from lcm_lab.errors import UsageError
from lcm_lab.tokens import plugin_tokens

VERSION: Final = "lcm-0.15.3"
STAMP: Final = ".lcm-lab-demo"
"""Name of the file that says which text a finished demo was made from."""
_HERE: Final = Path(__file__).parent
_TEXT: Final = _HERE / "demo"
_EXTENSION: Final = {"application/json": "json", "text/plain": "txt", "text/csv": "csv"}
_MIGRATIONS: Final = (
    ("repairOpenClawMetadataIdentityState", 2),
    ("backfillSummaryDepths", 1),
    ("backfillSummaryMetadata", 1),
    ("backfillToolCallColumns", 1),
)


def build(state_dir: Path | str) -> Path:
    """Make the demo in ``state_dir`` (new, empty, or an earlier demo) and give the path of its ``lcm.db``.

    A finished demo made from the same text is left as it is. An older one is replaced as a whole.

    Raises:
        UsageError: the folder holds something that is not a demo.
    """
    final = Path(state_dir).resolve()
    store, version = final / "lcm.db", content_version()
    stamp_file = final / STAMP
    if stamp_file.is_file() and store.is_file() and stamp_file.read_text(encoding="utf-8").strip() == version:
        return store
    if final.exists() and not stamp_file.is_file() and (not final.is_dir() or any(final.iterdir())):
        raise UsageError(f"{final} is neither empty nor a demo: choose another folder for the demo.")
    final.parent.mkdir(parents=True, exist_ok=True)
    making, old = (final.with_name(f".{final.name}.{word}-{os.getpid()}") for word in ("making", "old"))
    shutil.rmtree(making, ignore_errors=True)
    try:
        making.mkdir(mode=0o700)
        _Builder(making, final).run()
        (making / STAMP).write_text(version + "\n", encoding="utf-8")
        if final.exists():
            final.rename(old)
        making.rename(final)
    finally:
        shutil.rmtree(making, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)
    return store


@lru_cache(maxsize=1)
def content_version() -> str:
    """A hash of the demo's text and of the modules that build it."""
    files = [*_TEXT.rglob("*.txt"), *_HERE.glob("demo*.py"), _HERE / "schema" / f"{VERSION}.sql"]
    digest = sha256()
    for file in sorted(files):
        digest.update(file.relative_to(_HERE).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def texts() -> tuple[list[Conversation], Digest]:
    """The demo's text, read: conversations in the order of their files, and the summaries."""
    files = sorted((_TEXT / "conversations").glob("*.txt"))
    return [read_conversation(file) for file in files], read_digest(_TEXT / "summaries.txt")


@dataclass(slots=True)
class _Builder:
    """Builds one demo in ``making``; paths inside the store already name ``final``, where the folder will lie."""

    making: Path
    final: Path
    rows: dict[str, list[Row]] = field(default_factory=dict)
    stored: dict[str, list[Stored]] = field(default_factory=dict)
    summaries: dict[tuple[int, str], Summary] = field(default_factory=dict)

    def run(self) -> None:
        """Read the text, make the rows and the files, and write the store."""
        conversations, digest = texts()
        known = [one for one in conversations if one.number is not None]
        self._messages(conversations)
        for conversation in known:
            self._conversation(conversation, digest)
        for brief in digest.briefs:
            later = [one.at for one in digest.briefs if one.conversation == brief.conversation and one.at > brief.at]
            conversation = next(one for one in known if one.number == brief.conversation)
            self._brief(brief, conversation, min(later) if brief.status == "superseded" else None)
        for conversation in conversations:
            self._session(conversation)
        self._add("lcm_migration_state", [_migration(name, version, known[0]) for name, version in _MIGRATIONS])
        self._write()

    def _messages(self, conversations: list[Conversation]) -> None:
        """Number the messages of the whole store in the order in which they came in."""
        known = [(one, message) for one in conversations if one.number is not None for message in one.messages]
        known.sort(key=lambda pair: (pair[1].at, pair[0].number, pair[1].seq))
        for number, (conversation, message) in enumerate(known, start=1):
            stored = store_message(conversation, message, number)
            self.stored.setdefault(conversation.head["session_id"], []).append(stored)
            self._add("messages", [message_row(conversation, stored)])
            self._add("message_parts", stored.parts)
            if stored.content.strip():
                self._add("messages_fts", [{"rowid": number, "content": stored.indexed}])
            if stored.file:
                self._payload(stored, stored.file)
        for conversation in (one for one in conversations if one.number is None):
            loose = [store_message(conversation, message, 0) for message in conversation.messages]
            self.stored[conversation.head["session_id"]] = loose

    def _payload(self, stored: Stored, file: Row) -> None:
        attachment = stored.message.attachment
        name = f"{file['file_id']}.{_EXTENSION[file['mime_type']]}"
        inside = Path("lcm-files") / str(file["conversation_id"]) / name
        place = self.making / inside
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(attachment.payload.encode() if attachment else b"")
        self._add("large_files", [{**file, "storage_uri": str(self.final / inside)}])

    def _conversation(self, conversation: Conversation, digest: Digest) -> None:
        number = conversation.number or 0
        stored = self._of(conversation)
        self._add("conversations", [_conversation_row(conversation, stored)])
        leaves = {label: [stored[seq - 1] for seq in seqs] for label, seqs in conversation.leaves.items()}
        made = summarise(digest, number, leaves)
        for label, summary in made.items():
            self.summaries[number, label] = summary
            row = summary.row
            identity = row["summary_id"]
            self._add("summaries", [row])
            for table in ("summaries_fts", "summaries_fts_cjk"):
                self._add(table, [{"summary_id": identity, "content": row["content"]}])
            for table, column, sources in (
                ("summary_messages", "message_id", summary.message_ids),
                ("summary_parents", "parent_summary_id", summary.source_ids),
            ):
                self._add(table, [{"summary_id": identity, column: one, "ordinal": n} for n, one in enumerate(sources)])
        self._context(conversation, [made[label].row for label in digest.contexts.get(number, ())])

    def _context(self, conversation: Conversation, summaries: list[Row]) -> None:
        """Summaries first, then every message that no leaf covers."""
        covered = {seq for seqs in conversation.leaves.values() for seq in seqs}
        tail = [one for one in self._of(conversation) if one.message.seq not in covered]
        items: list[Row] = [
            {"item_type": "summary", "summary_id": row["summary_id"], "created_at": row["created_at"]}
            for row in summaries
        ]
        items += [
            {"item_type": "message", "message_id": one.message_id, "created_at": stamp(one.message.at)} for one in tail
        ]
        for ordinal, item in enumerate(items):
            item.update(conversation_id=conversation.number, ordinal=ordinal)
        self._add("context_items", items)

    def _brief(self, brief: BriefText, conversation: Conversation, superseded: datetime | None) -> None:
        number = brief.conversation
        identity = f"focus_{code(16, 'brief', number, brief.label)}"
        sources = [self.summaries[number, label].row for label in brief.sources]
        latest = max(row["latest_at"] for row in sources)
        seqs = [one.message.seq for one in self._of(conversation) if iso(one.message.at) <= latest]
        at = stamp(brief.at)
        row = {
            "brief_id": identity,
            "conversation_id": number,
            "session_key": conversation.head["session_key"],
            "prompt": brief.prompt,
            "content": brief.body,
            "status": brief.status,
            "token_count": plugin_tokens(brief.body),
            "target_tokens": 1200,
            "covered_latest_at": latest,
            "covered_message_seq": max(seqs),
            "source_context_hash": _context_hash(sources),
            "generator_run_id": f"run_{code(12, 'run', identity)}",
            "raw_result_json": json.dumps({"truncated": False}),
            "created_at": at,
            "updated_at": stamp(superseded or brief.at),
            "superseded_at": stamp(superseded) if superseded else None,
        }
        self._add("focus_briefs", [row])
        shared = {"brief_id": identity, "created_at": at}
        inputs = [
            {**shared, "summary_id": row["summary_id"], "ordinal": n, "role": "active_input"}
            for n, row in enumerate(sources)
        ]
        # The brief quotes what the oldest input was made from, as one does that looks into it.
        below = self.summaries[number, brief.sources[0]].source_ids[:1]
        expanded = [{**shared, "summary_id": one, "ordinal": len(inputs), "role": "expanded"} for one in below]
        cited = [{**shared, "summary_id": sources[0]["summary_id"], "ordinal": len(inputs) + 1, "role": "cited"}]
        self._add("focus_brief_sources", [*inputs, *expanded, *cited])

    def _session(self, conversation: Conversation) -> None:
        name = conversation.head["session_file"]
        if name == "none":
            return
        stored = self._of(conversation)
        inside = Path("agents") / conversation.head["agent"] / "sessions"
        last = stored[-1].message.at if stored else conversation.start
        file = write_session(self.making / inside, name, session_lines(conversation, stored), last)
        if "shorter_copy" in conversation.head:
            copy, limit = conversation.head["shorter_copy"].split()
            lines = session_lines(conversation, stored, limit=int(limit))
            write_session(self.making / inside, copy, lines, stored[int(limit) - 1].message.at)
        if conversation.number is not None and name.endswith(".jsonl"):
            row = _bootstrap_row(conversation, file, str(self.final / inside / name))
            self._add("conversation_bootstrap_state", [row])

    def _of(self, conversation: Conversation) -> list[Stored]:
        return self.stored.get(conversation.head["session_id"], [])

    def _add(self, table: str, rows: Iterable[Row]) -> None:
        self.rows.setdefault(table, []).extend(rows)

    def _write(self) -> None:
        path = self.making / "lcm.db"
        path.touch(mode=0o600)
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN")
            apply_ddl(connection, VERSION)
            for table in self.rows:
                if has_table(connection, table):
                    _insert(connection, table, self.rows[table])
            plant(connection, self._labels(), indexed=has_table(connection, "summaries_fts"))
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode = WAL")

    def _labels(self) -> Labels:
        marks = {
            one.message.mark: one.message_id for stored in self.stored.values() for one in stored if one.message.mark
        }
        return Labels(marks, {key: summary.row["summary_id"] for key, summary in self.summaries.items()})


def _insert(connection: sqlite3.Connection, table: str, rows: list[Row]) -> None:
    """Insert ``rows`` by column name; columns a row does not name stay NULL or at their default."""
    for row in rows:
        given: dict[str, Any] = {column: value for column, value in row.items() if value is not None}
        marks = ", ".join("?" * len(given))
        connection.execute(f"INSERT INTO {table} ({', '.join(given)}) VALUES ({marks})", tuple(given.values()))


def _conversation_row(conversation: Conversation, stored: list[Stored]) -> Row:
    head, opened = conversation.head, stamp(conversation.start)
    last = stamp(stored[-1].message.at) if stored else opened
    archived = head.get("archived")
    at, cause = archived.split() if archived else (None, None)
    return {
        "conversation_id": conversation.number,
        "session_id": head["session_id"],
        "session_key": head["session_key"],
        "active": 0 if archived else 1,
        "archived_at": at.replace("T", " ") if at else None,
        "archive_cause": cause,
        "title": head.get("title"),
        "bootstrapped_at": opened,
        "created_at": opened,
        "updated_at": at.replace("T", " ") if at else last,
    }


def _bootstrap_row(conversation: Conversation, file: Path, final: str) -> Row:
    about, last = file.stat(), file.read_bytes().rstrip(b"\n").rpartition(b"\n")[2]
    return {
        "conversation_id": conversation.number,
        "session_file_path": final,
        "last_seen_size": about.st_size,
        "last_seen_mtime_ms": int(about.st_mtime * 1000),
        "last_processed_offset": about.st_size,
        "last_processed_entry_hash": sha256(last).hexdigest(),
        "session_header_id": conversation.head["session_id"],
        "last_processed_entry_id": json.loads(last)["id"],
        "updated_at": stamp(conversation.messages[-1].at) if conversation.messages else stamp(conversation.start),
    }


def _migration(name: str, version: int, first: Conversation) -> Row:
    return {"step_name": name, "algorithm_version": version, "completed_at": stamp(first.start)}


def _context_hash(summaries: list[Row]) -> str:
    """The hash of the summaries a brief was made from, as the plugin computes it over the context."""
    lines = [
        f"{ordinal}\0{row['summary_id']}\0{row['token_count']}\0{row['latest_at']}\n"
        for ordinal, row in enumerate(summaries)
    ]
    return sha256("".join(lines).encode()).hexdigest()
