"""The one function behind every view of a store's health.

A check is one consistent look. A whole store is checked conversation by conversation with the same rules that check one
alone, plus those that only make sense for the whole; memory goes with the largest conversation. A rule that cannot run
is skipped with a reason, and damage in the file stops nothing but the rule that met it. Checked by
``tests/analysis/test_health*.py``.
"""

import functools
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from lcm_lab.analysis.health import (
    accounting_rules,
    context_rules,
    lineage_rules,
    loading,
    message_rules,
    search_rules,
    store_rules,
    suspects,
)
from lcm_lab.analysis.health.duplicates import Duplicate, duplicates
from lcm_lab.analysis.health.facts import Facts
from lcm_lab.analysis.health.finding import Collector, Finding, Report
from lcm_lab.errors import NotFound, StoreDamaged
from lcm_lab.store import checks, checks_file
from lcm_lab.store.connect import Reader, StoreFile
from lcm_lab.store.page import Progress

Rule = Callable[[Facts], Iterable[Finding]]

SMALL: Final = 64 * 1024 * 1024
"""Up to this size the whole file is read even when one conversation is asked about."""


_RULES: Final[tuple[tuple[str, tuple[str, ...], Rule], ...]] = (
    ("C1, C2", ("items",), context_rules.ordinals),
    ("C3, C4", ("items",), context_rules.targets),
    ("C5", ("items", "messages", "summaries"), context_rules.repeated),
    ("C6", ("items", "messages", "summaries", "edges", "links"), context_rules.covered),
    ("C7, C8", ("items",), context_rules.order),
    ("L1", ("summaries", "edges", "links"), lineage_rules.without_source),
    ("L2", ("summaries", "edges", "links"), lineage_rules.wrong_source),
    ("L3", ("edges", "links"), lineage_rules.dangling),
    ("L4", ("edges",), lineage_rules.cycles),
    ("L5", ("summaries", "edges", "links"), lineage_rules.numbering),
    ("L6, L7", ("summaries", "edges", "links"), lineage_rules.shared),
    ("D1, D2", ("summaries", "edges"), lineage_rules.depth),
    ("O1", ("items", "summaries", "edges"), lineage_rules.unused),
    ("T1 of summaries", ("summaries",), accounting_rules.summary_counts),
    ("M1", ("summaries", "messages", "edges", "links"), accounting_rules.covered_times),
    ("M2", ("summaries", "messages", "edges", "links"), accounting_rules.lineage_counts),
    ("M3", ("summaries",), accounting_rules.file_ids),
    ("K1", ("summaries",), suspects.marked),
    ("K2 sizes", ("summaries", "messages", "edges", "links"), suspects.not_smaller),
    ("Q1", ("messages",), message_rules.sequence),
    ("Q2", ("messages", "summaries", "links"), message_rules.time_order),
    ("Q2", ("messages",), message_rules.unread_times),
    ("Q3", ("messages",), message_rules.repeated),
    ("I1", ("messages",), message_rules.hashes),
    ("P1", ("messages", "parts"), message_rules.shape),
    ("X1", ("lane", "items", "messages", "summaries", "edges", "links"), context_rules.unreachable),
    ("B2", ("items", "summaries"), store_rules.briefs),
    ("G1", (), store_rules.upkeep),
)


def check(
    reader: Reader, conversation_id: int | None = None, *, store: Path, progress: Progress | None = None
) -> Report:
    """What is wrong or suspicious in a store, or in one of its conversations, seen in one look.

    ``store`` is the path the look is at: it is named in the report, and payloads of large files are looked for in its
    folder only.

    Raises:
        NotFound: no row of the store belongs to a conversation of this id.
    """
    return _Check(reader, conversation_id, store, progress).run()


def check_store(file: StoreFile, conversation_id: int | None = None, *, progress: Progress | None = None) -> Report:
    """As :func:`check`, in a look of its own. A file too damaged to open gives a report that says so.

    Raises:
        NotFound: no row of the store belongs to a conversation of this id.
        StoreError: the store cannot be opened for a reason that is no damage; see :mod:`lcm_lab.errors`.
    """
    try:
        return file.read(lambda reader: check(reader, conversation_id, store=file.path, progress=progress))
    except StoreDamaged as error:
        collector = Collector()
        collector.add([store_rules.unreadable("the list of its tables", None, error)])
        collector.skip("all other rules", conversation_id, "nothing could be read")
        return collector.report(str(file.path), conversation_id)


def duplicates_in(reader: Reader, conversation_id: int) -> list[Duplicate]:
    """Every repetition among the messages of a conversation; see :mod:`.duplicates` for what counts as one."""

    def failed(_part: str, error: sqlite3.DatabaseError) -> None:
        raise error

    return duplicates(loading.load(reader, conversation_id, failed).fingerprints)


class _Check:
    def __init__(self, reader: Reader, conversation_id: int | None, store: Path, progress: Progress | None) -> None:
        self.reader = reader
        self.only = conversation_id
        self.store = store
        self.collector = Collector()
        self._progress = progress
        self._done = 0
        self._total = 0

    def run(self) -> Report:
        ids = self._conversations()
        self._total = len(ids) + 3
        self._step("the file")
        self._whole_file()
        for conversation_id in ids:
            self._step(f"conversation {conversation_id}")
            self._conversation(conversation_id)
        if self.only is None:
            # After the conversations, so that a circle inside one of them is told with its id.
            self._guard("L3, L4", None, lambda: self.collector.add(store_rules.lost(self.reader)))
        self._step("the search index")
        self._search()
        self._step("done")
        return self.collector.report(str(self.store), self.only)

    def _conversations(self) -> list[int]:
        if self.only is None:
            found: list[int] = []
            self._guard("the list of conversations", None, lambda: found.extend(checks.conversation_ids(self.reader)))
            return found
        if not checks.belongs(self.reader, self.only):
            raise NotFound(f"There is no conversation {self.only} in {self.store}; 'lcm-lab conversations' lists them.")
        return [self.only]

    def _whole_file(self) -> None:
        add, reader = self.collector.add, self.reader
        if self.only is None or checks_file.size(reader) <= SMALL:
            self._guard("S1", None, lambda: add(store_rules.integrity(reader, self.collector)))
        else:
            self.collector.skip("S1", self.only, "it reads the whole file; check the whole store for that")
        self._guard("B1", None, lambda: add(store_rules.lanes(reader, self.only)))
        if self.only is None:
            self._guard("S2", None, lambda: add(store_rules.owners(reader)))
        else:
            self.collector.skip(
                "S2", self.only, "rows without an owner belong to no conversation; check the whole store"
            )

    def _conversation(self, conversation_id: int) -> None:
        def failed(part: str, error: sqlite3.DatabaseError) -> None:
            self._failed(part, conversation_id, error)

        facts = loading.load(self.reader, conversation_id, failed)
        self.collector.add(facts.noticed)
        self.collector.quoted += facts.quoted
        if self.only is not None and facts.lane is None and "lane" not in facts.missing:
            self.collector.add([store_rules.without_row(conversation_id)])
        for name, needs, rule in _RULES:
            lacking = [facts.missing[part] for part in needs if part in facts.missing]
            if lacking:
                missing_table = "this store has no" in lacking[0]
                self.collector.skip(name, None if missing_table else conversation_id, lacking[0])
            else:
                self._guard(name, conversation_id, functools.partial(self.collector.add, rule(facts)))
        for part, name in (("messages", "T1 of messages"), ("summaries", "K2 texts")):
            if part in facts.missing:
                missing_table = "this store has no" in facts.missing[part]
                self.collector.skip(name, None if missing_table else conversation_id, facts.missing[part])
        found = accounting_rules.stored_payloads(facts, self.store)
        self._guard("M3", conversation_id, lambda: self.collector.add(found))

    def _search(self) -> None:
        add, reader = self.collector.add, self.reader
        if not reader.schema.full_text:
            self.collector.skip("F1", None, "this store has no search index; search reads the texts")
            return
        tables: list[str] = []
        self._guard("F1", None, lambda: tables.extend(search_rules.usable(reader, self.collector)))
        every = self.only is None
        for table in tables:
            found = search_rules.condition(reader, self.collector, table, every=every)
            self._guard("F1", None, functools.partial(add, found))
        summaries = [table for table in tables if table != "messages_fts"] if reader.schema.has("summaries") else []
        if summaries:
            self._guard("F1", None, lambda: add(search_rules.summaries(reader, summaries, self.only)))
        if "messages_fts" in tables:
            self._guard("F1", None, lambda: add(search_rules.messages(reader, self.only)))
        if self.only is None:
            present = [table for table in tables if table == "messages_fts" or table in summaries]
            self._guard("F1", None, lambda: add(search_rules.leftovers(reader, present)))

    def _guard(self, rule: str, conversation_id: int | None, work: Callable[[], object]) -> None:
        try:
            work()
        except sqlite3.DatabaseError as error:
            self._failed(rule, conversation_id, error)

    def _failed(self, rule: str, conversation_id: int | None, error: sqlite3.DatabaseError) -> None:
        name = getattr(error, "sqlite_errorname", "") or ""
        if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_INTERRUPT")):
            raise error
        where = rule if conversation_id is None else f"{rule} of conversation {conversation_id}"
        if store_rules.is_damage(error):
            self.collector.add([store_rules.unreadable(where, conversation_id, error)])
        self.collector.skip(rule, conversation_id, f"SQLite says: {error}")

    def _step(self, what: str) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(what, self._done - 1, self._total - 1)
