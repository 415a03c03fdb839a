"""Broken and suspicious summaries: marks of a failed compaction (K1), and texts that look like one without a mark (K2).

K2 looks at no row that has a mark already, and at none without sources. Verbatim copies are found by comparing letters
only: white space, the plugin's ``[time | role]`` headers and its labels are left out on both sides, and messages are
read in order only as far as the texts agree.
"""

import json
import re
from collections.abc import Iterator
from typing import Final

from lcm_lab.analysis.health.facts import Facts, Node
from lcm_lab.analysis.health.finding import Finding, Severity
from lcm_lab.store import checks_text

_HEADER: Final = re.compile(
    r"^[ \t]*\[(?:\d{4}-\d\d-\d\d[^\]\n]{0,80}|user|assistant|tool|system|unknown)\]"
    r"(?:[ \t]*\[(?:user|assistant|tool|system)\])?"
    r"|^[ \t]*(?:Tool (?:input|output|error)|user|assistant|tool|system):",
    re.MULTILINE | re.IGNORECASE,
)
_SPACE: Final = re.compile(r"\s+")
_REASONING: Final = re.compile(
    r"^\s*</?(?:think|thinking|reasoning|antthinking|reflection)\b[^>]*>", re.IGNORECASE | re.MULTILINE
)
_SHORTEST_COPY: Final = 24
"""Letters a copy of only the beginning must have; a copy of the whole source may be of any length."""


def marked(facts: Facts) -> Iterator[Finding]:
    """K1: a mark of a failed compaction where the plugin puts it, or its emergency model."""
    for node in facts.nodes.values():
        if node.marker is not None:
            text = f"summary {node.summary_id} ({node.tokens:,} tokens) is broken: {node.marker.label}"
            advice = f"'lcm-lab repair {node.row.conversation_id}' has it made again from its sources, plan first."
            yield node.finding(node.marker.code, "warning", text, advice)


def text_problem(content: str) -> tuple[str, Severity, str] | None:
    """K2 from the text alone: (code, severity, what is wrong); None for a text that looks like a summary."""
    if not content.strip():
        return "K2-blank", "warning", "has no text"
    if _REASONING.search(content):
        return "K2-reasoning", "warning", "holds the model's private reasoning (a <think> block)"
    start = content.lstrip()[:1]
    if start in ("{", "[") and content.rstrip()[-1:] in ("}", "]"):
        try:
            json.loads(content)
        except (ValueError, RecursionError):
            return None
        return "K2-json", "info", "is JSON, not prose"
    return None


def not_smaller(facts: Facts) -> Iterator[Finding]:
    """K2: a summary is smaller than what it was made from."""
    for node in facts.nodes.values():
        found = None if node.marker else _no_compression(facts, node)
        if found is not None:
            yield found


def _no_compression(facts: Facts, node: Node) -> Finding | None:
    if node.is_leaf:
        messages = facts.whole_links(node.summary_id)
        sizes = None if messages is None else [one.tokens for one in messages]
    else:
        whole = facts.whole_sources(facts.sources().get(node.summary_id, []))
        sizes = None if whole is None else [one.tokens for one in whole]
    if not sizes or node.tokens < sum(sizes) or sum(sizes) == 0:
        return None
    total = sum(sizes)
    text = (
        f"summary {node.summary_id} has {node.tokens:,} tokens and its sources have {total:,}: ratio "
        f"{node.tokens / total:.2f}, {node.tokens - total:,} tokens more than it stands for"
    )
    advice = f"{_rewrite(node)} has it written anew; a short source often cannot be made shorter."
    return node.finding("K2-no-compression", "warning", text, advice)


def is_copy(facts: Facts, node: Node, content: str) -> bool:
    """K2: whether a text is its joined sources, or the beginning of them, word for word."""
    wanted = _letters(content).rstrip("….")
    if not wanted:
        return False
    at = used = 0
    pieces = _message_pieces(facts, node, len(content)) if node.is_leaf else _source_pieces(facts, node, len(content))
    for piece, optional in pieces:
        rest = wanted[at:]
        if not rest:
            # The copy stops here and the source goes on: only the beginning was copied.
            return len(wanted) >= _SHORTEST_COPY
        if rest.startswith(piece):
            at += len(piece)
            used += 1
        elif piece.startswith(rest):
            return len(wanted) >= _SHORTEST_COPY or piece.rstrip("….") == rest
        elif not optional:
            return False
    return used > 0 and at >= len(wanted)


def copy_finding(node: Node) -> Finding:
    """K2 for a copy."""
    what = "messages" if node.is_leaf else "sources"
    text = f"suspect: summary {node.summary_id} ({node.tokens:,} tokens) is a verbatim copy of source: of its {what}"
    advice = f"Not counted as broken: {_rewrite(node)} has it written anew, if the source is worth summarising."
    return node.finding("K2-verbatim-copy", "warning", text, advice)


def problem_finding(node: Node, problem: tuple[str, Severity, str]) -> Finding:
    """K2 for what :func:`text_problem` found."""
    code, severity, what = problem
    text = f"summary {node.summary_id} ({node.tokens:,} tokens) {what}"
    return node.finding(code, severity, text, f"Look at it beside its sources; {_rewrite(node)} has it written anew.")


def twin_finding(node: Node, other: str) -> Finding:
    """K2 for a text that another summary of the same depth has, too."""
    text = f"summary {node.summary_id} ({node.tokens:,} tokens) has exactly the text of {other}"
    return node.finding(
        "K2-identical-sibling",
        "warning",
        text,
        f"Look at both beside their sources; {_rewrite(node)} has the one that does not fit written anew.",
    )


def _rewrite(node: Node) -> str:
    # Advice is shared by rows that are reported together, so it names no summary.
    return f"'lcm-lab rewrite {node.row.conversation_id} --summary ID'"


def has_sources(facts: Facts, node: Node) -> bool:
    """Whether anything a summary was made from is still there."""
    if any(link.message_owner is not None for link in facts.links.get(node.summary_id, ())):
        return True
    return any(edge.source_owner is not None for edge in facts.sources().get(node.summary_id, ()))


def _message_pieces(facts: Facts, node: Node, size: int) -> Iterator[tuple[str, bool]]:
    for link in facts.links.get(node.summary_id, ()):
        if link.message_owner is None:
            continue
        content = _letters(checks_text.beginning(facts.reader, link.message_id, size * 2 + 400))
        if content:
            yield content, False
            continue
        for text in checks_text.part_texts(facts.reader, link.message_id):
            piece = _letters(text)
            if piece:
                yield piece, True


def _source_pieces(facts: Facts, node: Node, size: int) -> Iterator[tuple[str, bool]]:
    for edge in facts.sources().get(node.summary_id, ()):
        if edge.source_owner is not None:
            piece = _letters(checks_text.summary_beginning(facts.reader, edge.source, size * 2 + 400))
            if piece:
                yield piece, False


def _letters(text: str) -> str:
    return _SPACE.sub("", _HEADER.sub("", text))
