"""What the model would really have read: the client's own truncation, applied where a file does not show it.

Tools that save tokens have been credited with output that the client would have cut anyway. Transcripts of Claude Code
hold a result as the model saw it, so nothing is cut twice; files of other programs hold it whole. Limits as measured on
clients 2.1.x: a successful command up to 30,000 characters, beyond that a path and a preview of about 2,000; a failed
one about 10,000 characters, head and tail; a result of an MCP server 25,000 tokens.
"""

from typing import Final

COMMAND_LIMIT: Final = 30_000
COMMAND_PREVIEW: Final = 2_000
FAILED_LIMIT: Final = 10_000
MCP_LIMIT: Final = 100_000
"""Characters, at four a token."""

MARKS: Final = ("<persisted-output>", "characters truncated", "[Truncated", "lines truncated")


def as_seen(tool: str, text: str, *, failed: bool = False) -> str:
    """The text of a result as it would have reached the model.

    >>> len(as_seen("Bash", "x" * 50_000)), len(as_seen("Bash", "x" * 30_000)), len(as_seen("Read", "x" * 50_000))
    (2043, 30000, 50000)
    """
    if failed and len(text) > FAILED_LIMIT:
        half = FAILED_LIMIT // 2
        return f"{text[:half]}\n... [{len(text) - FAILED_LIMIT} characters cut] ...\n{text[-half:]}"
    if tool.lower() == "bash" and len(text) > COMMAND_LIMIT:
        return f"{text[:COMMAND_PREVIEW]}\n[{len(text)} characters, kept in a file]"
    if tool.startswith("mcp__") and len(text) > MCP_LIMIT:
        return text[:MCP_LIMIT]
    return text


def was_cut(text: str) -> bool:
    """Whether the client's mark of a cut result stands in it."""
    return any(mark in text[:400] or mark in text[-400:] for mark in MARKS)
