"""Rules about messages and their parts: order, times, shape, hashes and duplicates (Q1, Q2, Q3, P1, I1)."""

from collections.abc import Iterator
from itertools import pairwise

from lcm_lab import times
from lcm_lab.analysis.health.duplicates import Duplicate, duplicates
from lcm_lab.analysis.health.facts import Facts, MessageFact
from lcm_lab.analysis.health.finding import Finding, Severity
from lcm_lab.analysis.wording import counted, some
from lcm_lab.store import checks_text

_MESSAGES = "messages"


def sequence(facts: Facts) -> Iterator[Finding]:
    """Q1: seq is used once and runs from 0 or 1 without holes; holes are left when heartbeat rows are deleted."""
    numbered = [(one.seq, one) for one in facts.messages.values() if isinstance(one.seq, int)]
    for (seq, first), (other, second) in pairwise(numbered):
        if seq == other:
            text = f"messages {first.message_id} and {second.message_id} share seq {seq}"
            key = (str(second.message_id),)
            advice = "The store's own rule forbids this; run SQLite's integrity check on a copy."
            yield Finding("Q1-seq-twice", "warning", _MESSAGES, key, facts.conversation_id, text, advice)
    if not numbered:
        return
    holes = [(a + 1, b - 1, second) for (a, _), (b, second) in pairwise(numbered) if b - a > 1]
    start = numbered[0][0]
    if holes or start not in (0, 1):
        spans = [str(low) if low == high else f"{low}-{high}" for low, high, _ in holes]
        ids: tuple[str, ...] = tuple(str(one.message_id) for *_, one in holes)
        if start not in (0, 1):
            spans.insert(0, f"everything before {start}")
            ids = (str(numbered[0][1].message_id), *ids)
        text = f"seq of conversation {facts.conversation_id} has holes: unused {some(spans)}"
        advice = "Nothing to do: deleting heartbeat messages leaves holes."
        yield Finding("Q1-seq-hole", "info", _MESSAGES, ids, facts.conversation_id, text, advice)


def time_order(facts: Facts) -> Iterator[Finding]:
    """Q2: along seq the times do not go back. Messages that a transplant appended keep their old times: info."""
    backwards: list[MessageFact] = []
    last: tuple[float, MessageFact] | None = None
    for one in facts.messages.values():
        moment = times.parse(one.created_at)
        if moment is None:
            continue
        stamp = moment.timestamp()
        if last is not None and stamp < last[0]:
            backwards.append(one)
        last = (stamp, one)
    if not backwards:
        return
    copied = facts.copied()
    for legal in (False, True):
        ids = tuple(str(one.message_id) for one in backwards if (one.message_id in copied) == legal)
        if ids:
            severity: Severity = "info" if legal else "warning"
            text = f"{counted(len(ids), 'message')} of conversation {facts.conversation_id} earlier than the one before"
            text += "; a transplant leaves this" if legal else ""
            advice = "Sort by time where the order matters; nothing is lost."
            yield Finding("Q2-time-goes-back", severity, _MESSAGES, ids, facts.conversation_id, text, advice)


def unread_times(facts: Facts) -> Iterator[Finding]:
    """Q2: each message has a time that can be read; one finding for all that have none."""
    ids = tuple(str(one.message_id) for one in facts.messages.values() if times.parse(one.created_at) is None)
    if ids:
        text = f"{counted(len(ids), 'message')} of conversation {facts.conversation_id} have a time that cannot be read"
        advice = "They are shown with time 'unknown' and kept in seq order."
        yield Finding("Q2-bad-time", "info", _MESSAGES, ids, facts.conversation_id, text, advice)


def repeated(facts: Facts) -> Iterator[Finding]:
    """Q3: messages stored twice; the finding names the copies."""
    for one in duplicates(facts.fingerprints):
        ids = tuple(str(key) for key in one.copies)
        code = (
            "Q3-possible-duplicate"
            if one.kind == "possible"
            else f"Q3-duplicate-{'run' if one.kind == 'run' else 'message'}"
        )
        advice = "Nothing is deleted by itself: look at both, and where they came from (live path and transcript path)."
        yield Finding(code, "info", _MESSAGES, ids, facts.conversation_id, _duplicate_text(one), advice)


def hashes(facts: Facts) -> Iterator[Finding]:
    """I1: the identity hash is that of role and text, where the rule can be known; one finding for all that differ."""
    if facts.wrong_hashes:
        ids = tuple(map(str, facts.wrong_hashes))
        text = (
            f"{counted(len(ids), 'message')} of conversation {facts.conversation_id} with an identity hash that is not "
            f"that of the text: {some(ids)}"
        )
        advice = "The text was changed after it was stored, or the plugin hashed a form of it that is not kept."
        yield Finding("I1-identity-hash", "info", _MESSAGES, ids, facts.conversation_id, text, advice)


def shape(facts: Facts) -> Iterator[Finding]:
    """P1: empty assistant rows, two user rows in a row, results without a call, and parts out of order."""
    conversation = facts.conversation_id
    blank = [key for key, one in facts.messages.items() if one.blank]
    with_parts = checks_text.messages_with_parts(facts.reader, blank)
    empty = {role: [str(key) for key in blank if key not in with_parts and facts.messages[key].role == role] for role in
             ("assistant", "user", "tool", "system")}  # fmt: skip
    for role, ids in empty.items():
        if ids:
            number = counted(len(ids), f"{role} message")
            text = f"{number} of conversation {conversation} empty and without parts: {some(ids)}"
            advice = "They count 0 tokens, and the plugin leaves them out; aborted turns leave them."
            yield Finding(f"P1-empty-{role}", "info", _MESSAGES, tuple(ids), conversation, text, advice)
    listed = [one for one in facts.messages.values() if one.role != "system"]
    twice = [str(b.message_id) for a, b in pairwise(listed) if a.role == b.role == "user"]
    if twice:
        number = counted(len(twice), "user message")
        text = f"{number} of conversation {conversation} right after another user message: {some(twice)}"
        advice = "Usual after an aborted turn; some providers refuse such a context."
        yield Finding("P1-user-after-user", "info", _MESSAGES, tuple(twice), conversation, text, advice)
    untidy = [str(key) for key in checks_text.untidy_parts(facts.reader, conversation)]
    if untidy:
        text = f"the parts of {counted(len(untidy), 'message')} are not numbered from 0: {some(untidy)}"
        yield Finding(
            "P1-part-order", "info", _MESSAGES, tuple(untidy), conversation, text, "Parts are read in this order."
        )
    yield from _tool_rows(facts)


def _tool_rows(facts: Facts) -> Iterator[Finding]:
    called: set[str] = set()
    answered: set[int] = set()
    for part in facts.tool_parts:
        if part.role == "assistant" and part.call_id:
            called.add(part.call_id)
        elif part.role == "tool" and part.call_id in called:
            answered.add(part.message_id)
    ids = [str(key) for key, one in facts.messages.items() if one.role == "tool" and key not in answered]
    if ids:
        text = (
            f"{counted(len(ids), 'tool message')} of conversation {facts.conversation_id} without an earlier call of "
            f"the same id: {some(ids)}"
        )
        advice = "The plugin shows such a result to the model as plain assistant text."
        yield Finding("P1-tool-without-call", "info", _MESSAGES, tuple(ids), facts.conversation_id, text, advice)


def _duplicate_text(one: Duplicate) -> str:
    copies, originals = _span(one.copy_seqs), _span(one.original_seqs)
    if one.kind == "possible":
        return (
            f"message {one.copies[0]} ({copies}) is possibly message {one.originals[0]} ({originals}) again: equal but "
            f"for a blacked-out key; {one.wasted_tokens:,} tokens"
        )
    how = "same text and same time" if one.kind == "same-time" else "exact repeat, in the same order"
    size = f"{counted(len(one.copies), 'message')}, {one.wasted_tokens:,} tokens wasted"
    return f"{copies} repeats {originals} ({how}): {size}"


def _span(seqs: tuple[int, int]) -> str:
    return f"seq {seqs[0]}" if seqs[0] == seqs[1] else f"seq {seqs[0]}-{seqs[1]}"
