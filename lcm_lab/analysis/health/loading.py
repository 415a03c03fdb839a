"""Reads one conversation into :class:`Facts`, each body once and one at a time.

What needs a body is decided while it streams by: token counts, identity hashes, fingerprints, marks and suspects. A
part that cannot be read is noted, and rules that rest on it do not run. Checked by
``tests/analysis/test_health_damage.py`` and, through the findings, by the tests of every rule.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from hashlib import blake2b, sha256
from typing import Final

from lcm_lab import times, tokens
from lcm_lab.analysis.health import accounting_rules, suspects
from lcm_lab.analysis.health.duplicates import Fingerprint, has_redaction, mask
from lcm_lab.analysis.health.facts import Facts, MessageFact, Node
from lcm_lab.analysis.health.finding import Quoted
from lcm_lab.analysis.health.markers import broken_kind, quotation
from lcm_lab.store import checks, checks_text
from lcm_lab.store.checks_text import MessageRow, SummaryRow
from lcm_lab.store.connect import Reader

Failed = Callable[[str, sqlite3.DatabaseError], None]
"""Called with the part that could not be read, and why."""

_ALIKE: Final = 200
_LONGEST_MASKED: Final = 50_000
_MOST_MASKED: Final = 20_000_000
"""Limits of the search for messages that differ by a key only: characters apart, of one text, and of all."""

_PREAMBLE: Final = "(untrusted"
"""In user messages that carry the host's preamble, the plugin hashes a text without it: nothing to compare with."""


def load(reader: Reader, conversation_id: int, failed: Failed) -> Facts:
    """The facts of a conversation; parts that could not be read are in its ``missing``."""
    facts = Facts(reader, conversation_id)
    steps: tuple[tuple[str, tuple[str, ...], Callable[[Facts], None]], ...] = (
        ("lane", ("conversations",), _lane),
        ("items", ("context_items", "messages", "summaries"), _items),
        ("edges", ("summary_parents", "summaries"), _edges),
        ("links", ("summary_messages", "summaries", "messages"), _links),
        ("parts", ("message_parts",), _parts),
        ("messages", ("messages",), _messages),
        ("summaries", ("summaries",), _summaries),
    )
    for part, tables, step in steps:
        lacking = [table for table in tables if not reader.schema.has(table)]
        if lacking:
            facts.missing[part] = f"this store has no table {' and no table '.join(lacking)}"
            continue
        try:
            step(facts)
        except sqlite3.DatabaseError as error:
            facts.missing[part] = f"{', '.join(tables)} could not be read: {error}"
            failed(f"the {part}" if part != "lane" else "the row", error)
    return facts


def _lane(facts: Facts) -> None:
    found = checks.lanes(facts.reader, facts.conversation_id)
    facts.lane = found[0] if found else None


def _items(facts: Facts) -> None:
    facts.items = checks.items(facts.reader, facts.conversation_id)


def _edges(facts: Facts) -> None:
    facts.edges = checks.edges(facts.reader, facts.conversation_id)


def _links(facts: Facts) -> None:
    for link in checks.links(facts.reader, facts.conversation_id):
        facts.links.setdefault(link.summary_id, []).append(link)
    facts.links_in = checks.links_from_elsewhere(facts.reader, facts.conversation_id)


def _parts(facts: Facts) -> None:
    facts.tool_parts = list(checks_text.tool_parts(facts.reader, facts.conversation_id))


def _messages(facts: Facts) -> None:
    calls: dict[int, list[str]] = {}
    for part in facts.tool_parts:
        calls.setdefault(part.message_id, []).append(part.call_id or "")
    blank: dict[int, MessageRow] = {}
    sizes: dict[int, int] = {}
    for row in checks_text.messages(facts.reader, facts.conversation_id):
        empty = not row.content or row.content.isspace()
        if empty:
            blank[row.message_id] = row
        else:
            found = accounting_rules.message_count(row, facts.conversation_id)
            facts.noticed += [found] if found else []
        sizes[row.message_id] = len(row.content)
        time = row.created_at if isinstance(row.created_at, str) else None
        facts.messages[row.message_id] = MessageFact(row.message_id, row.seq, row.role, row.tokens, time, empty)
        facts.fingerprints.append(_fingerprint(facts, row, calls.get(row.message_id)))
    _blank_messages(facts, blank)
    _mask(facts, sizes)


def _blank_messages(facts: Facts, blank: dict[int, MessageRow]) -> None:
    """Messages without content speak through their parts: what their counts are held against comes from there."""
    sizes = checks_text.part_sizes(facts.reader, blank)
    for key, row in blank.items():
        size = sizes.get(key, 0)
        texts = checks_text.part_texts(facts.reader, key) if accounting_rules.doubtful(row, size) else []
        found = accounting_rules.message_count(row, facts.conversation_id, size, texts)
        facts.noticed += [found] if found else []


def _fingerprint(facts: Facts, row: MessageRow, calls: list[str] | None) -> Fingerprint:
    moment = times.parse(row.created_at if isinstance(row.created_at, str) else None)
    seq = row.seq if isinstance(row.seq, int) else 0
    stamp = moment.timestamp() if moment else None
    if not row.content.strip():
        # Rows of tool traffic are all alike but for the calls they make.
        text = f"{row.role}\0{','.join(calls)}" if calls and all(calls) else None
        return Fingerprint(row.message_id, seq, text, stamp, row.tokens)
    own = sha256(f"{row.role}\0{row.content}".encode("utf-8", "surrogatepass")).hexdigest()
    if row.identity_hash and row.identity_hash != own and row.whole:
        canonical = row.role == "user" and _PREAMBLE in row.content
        facts.wrong_hashes += [] if canonical else [row.message_id]
    redacted = has_redaction(row.content)
    return Fingerprint(row.message_id, seq, row.identity_hash or own, stamp, row.tokens, redacted=redacted)


def _mask(facts: Facts, sizes: dict[int, int]) -> None:
    """Fingerprints without their keys, for messages with a blacked-out key and those of about the same size.

    Few messages have one, so only those few texts, and the few they may repeat, are read again.
    """
    redacted = {one.message_id for one in facts.fingerprints if one.redacted}
    if not redacted:
        return
    wanted = {(facts.messages[key].role, sizes[key] // _ALIKE + step) for key in redacted for step in (-1, 0, 1)}
    room = _MOST_MASKED
    for at, one in enumerate(facts.fingerprints):
        role, size = facts.messages[one.message_id].role, sizes.get(one.message_id, 0)
        if 0 < size <= _LONGEST_MASKED and room > 0 and (role, size // _ALIKE) in wanted:
            room -= size
            shape = mask(checks_text.content(facts.reader, one.message_id))
            if shape is not None:
                facts.fingerprints[at] = replace(one, masked=f"{role}\0{shape}")


def _summaries(facts: Facts) -> None:
    texts: dict[tuple[object, bytes], str] = {}
    for row in checks_text.summaries(facts.reader, facts.conversation_id):
        marker = broken_kind(row.content, row.model)
        node = Node(
            row=replace(row, content=""),
            estimates=tokens.estimates(row.content),
            blank=not row.content.strip(),
            marker=marker,
        )
        facts.nodes[node.summary_id] = node
        if marker is None:
            quoted = quotation(row.content, row.model)
            if quoted is not None:
                facts.quoted.append(Quoted(row.summary_id, row.conversation_id, quoted.marker, quoted.reason))
            if suspects.has_sources(facts, node):
                _suspect(facts, node, row, texts)


def _suspect(facts: Facts, node: Node, row: SummaryRow, texts: dict[tuple[object, bytes], str]) -> None:
    problem = suspects.text_problem(row.content)
    if problem is not None:
        facts.noticed.append(suspects.problem_finding(node, problem))
    if node.blank:
        return
    digest = blake2b(row.content.strip().encode("utf-8", "surrogatepass"), digest_size=16).digest()
    twin = texts.setdefault((row.depth, digest), row.summary_id)
    if twin != row.summary_id:
        facts.noticed.append(suspects.twin_finding(node, twin))
    if suspects.is_copy(facts, node, row.content):
        facts.noticed.append(suspects.copy_finding(node))
