"""Rules about the file, its owners and the plugin's own state (S1, S2, B1, B2, G1)."""

import sqlite3
from collections.abc import Iterator

from lcm_lab.analysis import focus
from lcm_lab.analysis.health.facts import Facts
from lcm_lab.analysis.health.finding import Collector, Finding
from lcm_lab.analysis.health.lineage_rules import circles, edge_ends, link_ends
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store import checks, checks_file, context
from lcm_lab.store.connect import Reader

_RESCUE = (
    "Stop writing to this store; restore a backup, or recover what can be read into a new file with SQLite's .recover."
)


def integrity(reader: Reader, collector: Collector) -> Iterator[Finding]:
    """S1: SQLite's quick check finds nothing; one finding for all it says. Reads the whole file."""
    said, broken = _said(reader)
    index = [line for line in said if "FTS5 table" in line]
    for line in index:
        # Newer SQLite looks into full-text tables, too; that is F1's matter, and a missing tokenizer is no damage.
        if "unable to validate" in line:
            collector.skip("F1", None, line)
        else:
            advice = "Rebuild the search index; the texts themselves are whole."
            table = line.rsplit(".", 1)[-1].split()[0] if "." in line else "messages_fts"
            yield Finding("F1-damaged-index", "warning", table, (), None, line, advice)
    lines = [line for part in said if part not in index for line in part.splitlines() if not line.startswith("*** in")]
    lines = list(dict.fromkeys([*(f"table {table} cannot be read whole" for table in broken), *lines]))
    if lines:
        text = (
            f"the file is damaged: SQLite's quick check names {counted(len(lines), 'problem')}: {some(lines, limit=5)}"
        )
        yield Finding("S1-damaged", "error", "", (), None, text, _RESCUE)


def _said(reader: Reader) -> tuple[list[str], list[str]]:
    """What the quick check says, and the tables it cannot get through when it breaks off."""
    said: list[str] = []
    broken: list[str] = []
    try:
        said.extend(checks_file.quick_check(reader))
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        for table in reader.schema.tables:
            try:
                said.extend(checks_file.quick_check(reader, table))
            except sqlite3.DatabaseError:
                broken.append(table)
        said = said or [str(error)]
    return said, broken


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says that the file itself is at fault."""
    name = getattr(error, "sqlite_errorname", "") or ""
    return name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR"))


def unreadable(where: str, conversation_id: int | None, error: Exception) -> Finding:
    """S1: a part of the file could not be read while another rule was at work."""
    text = f"the file is damaged: {error} while {where} was checked; what else could be read was checked"
    return Finding("S1-unreadable", "error", "", (), conversation_id, text, _RESCUE)


def owners(reader: Reader) -> Iterator[Finding]:
    """S2: every reference leads to a row; those of C3, C4, L1 and L3 are left to them. One finding per reference."""
    for one in checks_file.orphans(reader):
        number = counted(len(one.ids), "row")
        text = f"{number} of {one.table} name a row of {one.parent} that does not exist ({one.column})"
        advice = "They belong to nothing any more; look at what they hold before they are removed."
        yield Finding("S2-orphan-row", "error", one.table, one.ids, None, text, advice)


def without_row(conversation_id: int) -> Finding:
    """S2 for one conversation: rows say they belong to it, and it has no row of its own."""
    text = f"conversation {conversation_id} has no row in conversations, though other rows belong to it"
    advice = "Check the whole store to see which rows; look at what they hold before they are removed."
    return Finding(
        "S2-no-conversation", "error", "conversations", (str(conversation_id),), conversation_id, text, advice
    )


def lost(reader: Reader) -> Iterator[Finding]:
    """L3 for edges and links of which both ends are missing, and L4 for circles across conversations."""
    if reader.schema.has("summary_parents") and reader.schema.has("summaries"):
        yield from circles(checks.all_edges(reader), None)
        for edge in checks.lost_edges(reader):
            yield from edge_ends(edge, None)
    if reader.schema.has("summary_messages") and reader.schema.has("summaries"):
        for link in checks.lost_links(reader):
            yield from link_ends(link, None)


def lanes(reader: Reader, conversation_id: int | None) -> Iterator[Finding]:
    """B1: one active conversation per session key; archived ones say since when. Several archived ones are normal."""
    active: dict[str, list[int]] = {}
    undated = []
    for lane in checks.lanes(reader):
        if lane.session_key and lane.active == 1 and not lane.archived_at:
            active.setdefault(lane.session_key, []).append(lane.conversation_id)
        if lane.active == 0 and not lane.archived_at and conversation_id in (None, lane.conversation_id):
            undated.append(lane.conversation_id)
    for key, ids in active.items():
        if len(ids) > 1 and (conversation_id is None or conversation_id in ids):
            text = f"session key {key} has {len(ids)} active conversations: {some(ids)}"
            advice = "Say the conversation id in every command; the plugin takes the newest of them."
            yield Finding("B1-active-twice", "warning", "conversations", tuple(map(str, ids)), None, text, advice)
    if undated:
        text = f"{counted(len(undated), 'archived conversation')} without the time it was archived: {some(undated)}"
        keys = tuple(map(str, undated))
        yield Finding("B1-archived-undated", "info", "conversations", keys, None, text, "Nothing to do.")


def briefs(facts: Facts) -> Iterator[Finding]:
    """B2: at most one active focus brief, made from the context as it is now, from summaries that exist."""
    conversation = facts.conversation_id
    found = context.briefs(facts.reader, conversation)
    active = [one for one in found if one.status == "active"]
    if len(active) > 1:
        ids = tuple(one.brief_id for one in active)
        text = f"conversation {conversation} has {len(active)} active focus briefs; the newest one is used"
        yield Finding(
            "B2-briefs-active", "info", "focus_briefs", ids, conversation, text, "Set the older ones inactive."
        )
    hashed = [one for one in active if one.source_context_hash]
    now = focus.context_hash(facts.reader, conversation) if hashed else ""
    for brief in hashed:
        if brief.source_context_hash != now:
            text = f"focus brief {brief.brief_id} was made from another state of the context"
            advice = "It is still used; make a new one if it should cover what came since."
            yield Finding("B2-brief-obsolete", "info", "focus_briefs", (brief.brief_id,), conversation, text, advice)
    for brief in found:
        wanted = list(dict.fromkeys(one.summary_id for one in context.brief_sources(facts.reader, brief.brief_id)))
        gone = [one for one in wanted if one not in facts.nodes]
        gone = sorted(set(gone) - checks.existing_summaries(facts.reader, gone))
        if gone:
            number = counted(len(gone), "summary", "summaries")
            text = f"focus brief {brief.brief_id} names {number} that do not exist: {some(gone)}"
            yield Finding(
                "B2-brief-source", "info", "focus_briefs", (brief.brief_id,), conversation, text, "Nothing to do."
            )


def upkeep(facts: Facts) -> Iterator[Finding]:
    """G1: no compaction is pending or running; a crash leaves one running for ever."""
    for one in checks.maintenance(facts.reader, facts.conversation_id):
        state = f"running since {one.started_at or 'an unknown time'}" if one.running else "pending"
        text = f"a compaction of conversation {one.conversation_id} is {state}" + (
            f"; the last one failed: {one.failure[:200]}" if one.failure else ""
        )
        advice = "Wait for the plugin before any repair; if it is not running at all, start OpenClaw once."
        key = (str(one.conversation_id),)
        table = "conversation_compaction_maintenance"
        yield Finding("G1-compaction-open", "info", table, key, facts.conversation_id, text, advice)
