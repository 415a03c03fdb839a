"""Focus briefs: what each rests on, and how far the conversation has moved on since.

A brief covers the history up to a message. What came later is its delta; when there is a delta, or the summaries in
context are no longer those it was made from, it is stale. Rules as lcm-tui applies them (public sources, 4214b480).
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass

from lcm_lab import times
from lcm_lab.store import context as stored
from lcm_lab.store import messages, summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.rows import FocusBrief


@dataclass(frozen=True, slots=True)
class BriefView:
    """A focus brief with its sources by role, and the delta: messages, summaries and tokens that came after it."""

    brief: FocusBrief
    sources: dict[str, int]
    source_ids: tuple[str, ...]
    missing_sources: tuple[str, ...]
    delta_messages: int
    delta_summaries: int
    delta_tokens: int
    hash_changed: bool
    truncated: bool

    @property
    def stale(self) -> bool:
        """Whether the conversation moved on, or the summaries in context changed, since the brief was made."""
        return bool(self.delta_messages or self.delta_summaries or self.hash_changed)


def briefs(reader: Reader, conversation_id: int) -> list[BriefView]:
    """The briefs of a conversation, newest first; empty where the store has none."""
    found = stored.briefs(reader, conversation_id)
    if not found:
        return []
    present = context_hash(reader, conversation_id)
    return [_view(reader, one, present) for one in found]


def context_hash(reader: Reader, conversation_id: int) -> str:
    """SHA-256 over the summaries in context, as the plugin computes it to see whether they changed."""
    held = stored.summaries(reader, conversation_id)
    digest = hashlib.sha256()
    for item in stored.items(reader, conversation_id):
        one = held.get(item.summary_id or "")
        if item.item_type == "summary" and one is not None:
            fields = (str(item.ordinal), one.summary_id, str(one.token_count or 0), one.latest_at or "")
            digest.update(("\0".join(fields) + "\n").encode())
    return digest.hexdigest()


def _view(reader: Reader, brief: FocusBrief, present_hash: str) -> BriefView:
    sources = stored.brief_sources(reader, brief.brief_id)
    ids = tuple(dict.fromkeys(one.summary_id for one in sources))
    existing = {node.summary_id for node in summaries.nodes(reader, ids=ids)}
    covered = brief.covered_message_seq
    later_messages, message_tokens = (
        (0, 0) if covered is None else messages.after(reader, brief.conversation_id, covered)
    )
    later = [node for node in summaries.nodes(reader, brief.conversation_id) if _is_later(node, brief)]
    return BriefView(
        brief=brief,
        sources=dict(sorted(Counter(one.role for one in sources).items())),
        source_ids=ids,
        missing_sources=tuple(one for one in ids if one not in existing),
        delta_messages=later_messages,
        delta_summaries=len(later),
        delta_tokens=message_tokens + sum(node.tokens for node in later),
        hash_changed=bool(brief.source_context_hash) and brief.source_context_hash != present_hash,
        truncated=_truncated(brief.raw_result_json),
    )


def _is_later(node: summaries.Node, brief: FocusBrief) -> bool:
    covered, latest = times.parse(brief.covered_latest_at), times.parse(node.latest_at)
    if latest is not None and covered is not None:
        return latest > covered
    made, created = times.parse(brief.created_at), times.parse(node.created_at)
    return latest is None and made is not None and created is not None and created > made


def _truncated(raw: str | None) -> bool:
    try:
        found = json.loads(raw) if raw else None
    except ValueError:
        return False
    return isinstance(found, dict) and found.get("truncated") is True
