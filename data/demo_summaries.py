"""Summaries of the demo: each with the lineage the plugin would have computed for it.

A leaf's times, token sum and files come from its messages, a condensed node's from its sources. Invariant: an id stands
for conversation and label alone. ``tests/test_demo_store.py`` computes every figure again in another way.
"""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from lcm_lab.data.demo_format import Digest, SummaryText
from lcm_lab.data.demo_rows import Row, Stored, code, dense, iso, stamp
from lcm_lab.tokens import plugin_tokens

SUMMARY_MODEL: Final = "small-1"


@dataclass(slots=True)
class Summary:
    """A summary as it lies in the store, with what it was made from."""

    row: Row
    message_ids: list[int]
    source_ids: list[str]


def source_text(stored: list[Stored]) -> str:
    """What the summarizer was given for a leaf: each message's text under its time and role."""
    return "\n\n".join(
        f"[{one.message.at:%Y-%m-%d %H:%M} UTC | {one.message.role}]\n{body}"
        for one in stored
        if (body := _spoken(one))
    )


def _spoken(stored: Stored) -> str:
    if stored.content.strip():
        return stored.content.strip()
    return "\n".join(f"Tool input: {part['tool_input']}" for part in stored.parts if part.get("tool_input"))


def summarise(digest: Digest, number: int, leaves: dict[str, list[Stored]]) -> dict[str, Summary]:
    """The summaries of conversation ``number`` by label, sources before what was made from them."""
    made: dict[str, Summary] = {}
    for text in digest.summaries:
        if text.conversation == number:
            made[text.label] = _condensed(text, made) if text.sources else _leaf(text, leaves[text.label])
    return made


def _leaf(text: SummaryText, stored: list[Stored]) -> Summary:
    first, last = min(one.message.at for one in stored), max(one.message.at for one in stored)
    tokens = sum(one.tokens for one in stored)
    files = [one.file["file_id"] for one in stored if one.file]
    source = source_text(stored)
    lineage: Row = {"depth": 0, "earliest_at": iso(first), "latest_at": iso(last), "descendant_count": 0}
    lineage |= {"descendant_token_count": 0, "source_message_token_count": tokens}
    row = _row(text, source, lineage, files, last + timedelta(minutes=9))
    return Summary(row, [one.message_id for one in stored], [])


def _condensed(text: SummaryText, made: dict[str, Summary]) -> Summary:
    rows = [made[label].row for label in text.sources]
    lineage: Row = {
        "depth": 1 + max(row["depth"] for row in rows),
        "earliest_at": min(row["earliest_at"] for row in rows),
        "latest_at": max(row["latest_at"] for row in rows),
        "descendant_count": sum(row["descendant_count"] + 1 for row in rows),
        "descendant_token_count": sum(row["token_count"] + row["descendant_token_count"] for row in rows),
        "source_message_token_count": sum(row["source_message_token_count"] for row in rows),
    }
    files = list(dict.fromkeys(file for row in rows for file in json.loads(row["file_ids"])))
    source = "\n\n".join(f"[{row['earliest_at']} - {row['latest_at']}]\n{row['content']}" for row in rows)
    at = max(datetime.fromisoformat(row["created_at"]) for row in rows) + timedelta(seconds=40)
    return Summary(_row(text, source, lineage, files, at), [], [row["summary_id"] for row in rows])


def _row(text: SummaryText, source: str, lineage: Row, files: list[str], at: datetime) -> Row:
    content = _with_source(text.body, source)
    return {
        "summary_id": f"sum_{code(16, 'summary', text.conversation, text.label)}",
        "conversation_id": text.conversation,
        "kind": "condensed" if lineage["depth"] else "leaf",
        "content": content,
        "token_count": plugin_tokens(content),
        **lineage,
        "created_at": stamp(at),
        "file_ids": dense(files),
        "model": SUMMARY_MODEL,
    }


def _with_source(body: str, source: str) -> str:
    """``body`` with ``{{source N}}`` (the first N characters of the source) and ``{{source tokens}}`` filled in."""
    body = body.replace("{{source tokens}}", str(plugin_tokens(source)))
    head, sign, rest = body.partition("{{source ")
    if not sign:
        return body
    size, _, tail = rest.partition("}}")
    return f"{head}{source[: int(size)].rstrip()}{tail}"
