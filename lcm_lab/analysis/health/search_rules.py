"""Rules about the search index (F1): it is derived data, so damage here never stops anything else.

Summaries are compared by content, one finding each for all tables. Messages are checked for presence only: the plugin
indexes a reduced text for large files on purpose. What this SQLite cannot ask (no FTS5, no such tokenizer) is skipped
with the reason.
"""

import re
import sqlite3
from collections.abc import Iterator
from typing import Final

from lcm_lab.analysis.health.finding import Collector, Finding
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store import checks_search
from lcm_lab.store.connect import Reader
from lcm_lab.store.schema import FULL_TEXT_TABLES

_INNER: Final = frozenset({"data", "idx", "content", "docsize", "config"})
_REBUILD: Final = "Rebuild the search index; the texts themselves are whole, and search falls back to reading them."
_OWN_TEXT: Final = re.compile(r"content\s*=", re.IGNORECASE)


def usable(reader: Reader, collector: Collector) -> list[str]:
    """The full-text tables whose rows can be compared; the others are skipped, or found damaged."""
    found: list[str] = []
    for table in FULL_TEXT_TABLES:
        if table not in reader.schema.full_text:
            collector.skip("F1", None, f"this store has no {table}")
            continue
        inner = checks_search.inner_tables(reader, table)
        if "content" not in inner and _OWN_TEXT.search(checks_search.declaration(reader, table)):
            collector.skip("F1", None, f"{table} keeps no texts of its own (the form of the very first stores)")
            continue
        lacking = sorted(_INNER - inner)
        if lacking:
            text = f"{table} is half there: {counted(len(lacking), 'inner table')} missing: {some(lacking)}"
            collector.add([Finding("F1-damaged-index", "warning", table, (), None, text, _REBUILD)])
        if {"content", "docsize"} <= inner:
            found.append(table)
    return found


def condition(reader: Reader, collector: Collector, table: str, *, every: bool) -> Iterator[Finding]:
    """F1: the index is whole (each page of it, or the ends of its segments), and a search finds an indexed row."""
    inner = checks_search.inner_tables(reader, table)
    if not inner >= _INNER:
        return
    pages = checks_search.missing_pages(reader, table, every=every)
    if pages:
        text = (
            f"the search index {table} is damaged, {counted(pages, 'page')} missing: a search fails or finds too little"
        )
        yield Finding("F1-damaged-index", "warning", table, (), None, text, _REBUILD)
        return
    try:
        found = checks_search.finds(reader, table)
    except sqlite3.DatabaseError as error:
        if _lacks(error):
            collector.skip("F1", None, f"{table} was compared but not searched: this SQLite says {error}")
            return
        if (getattr(error, "sqlite_errorname", "") or "").startswith(
            ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT")
        ):
            raise
        text = f"the search index {table} is damaged: {error}"
        yield Finding("F1-damaged-index", "warning", table, (), None, text, _REBUILD)
        return
    if found is False:
        text = f"the search index {table} is out of step: a word of an indexed row does not find that row"
        yield Finding("F1-damaged-index", "warning", table, (), None, text, _REBUILD)


def summaries(reader: Reader, tables: list[str], conversation_id: int | None) -> Iterator[Finding]:
    """F1: each summary has exactly one row with its present text in each table; one finding per summary."""
    problems: dict[str, list[str]] = {}
    owners: dict[str, int] = {}
    for table in tables:
        for state in checks_search.summary_states(reader, table, conversation_id):
            if state.rows == 0:
                text = f"not in {table}"
            elif state.equal == 0:
                text = f"an older text in {table}"
            else:
                text = f"{state.rows} rows in {table}"
            problems.setdefault(state.summary_id, []).append(text)
            owners[state.summary_id] = state.conversation_id
    advice = "Index this summary again; a search gives false hits or misses until then."
    for key, found in problems.items():
        text = f"summary {key} is out of step in the search index: {'; '.join(found)}"
        yield Finding("F1-summary-index", "warning", "summaries", (key,), owners[key], text, advice)


def messages(reader: Reader, conversation_id: int | None) -> Iterator[Finding]:
    """F1: each message with text has a row; one finding per conversation."""
    found: dict[int, list[str]] = {}
    for one in checks_search.unindexed_messages(reader, conversation_id):
        found.setdefault(one.conversation_id, []).append(str(one.message_id))
    for owner, ids in found.items():
        text = f"{counted(len(ids), 'message')} of conversation {owner} not in messages_fts: {some(ids)}"
        yield Finding(
            "F1-message-index", "warning", "messages", tuple(ids), owner, text, "Index them; a search misses them."
        )


def leftovers(reader: Reader, tables: list[str]) -> Iterator[Finding]:
    """F1: no index row stands for something that is gone; one finding per table."""
    for table in tables:
        rows = checks_search.rows_of_no_message(reader) if table == "messages_fts" else None
        gone = rows if rows is not None else checks_search.rows_of_no_summary(reader, table)
        if gone:
            what = "messages" if table == "messages_fts" else "summaries"
            text = f"{counted(len(gone), 'row')} of {table} for {what} that do not exist: {some(gone)}"
            advice = "Harmless for results, since a search joins back to the rows; a rebuild of the index removes them."
            yield Finding("F1-extra-row", "warning", table, tuple(map(str, gone)), None, text, advice)


def _lacks(error: sqlite3.DatabaseError) -> bool:
    return "no such module" in str(error) or "no such tokenizer" in str(error)
