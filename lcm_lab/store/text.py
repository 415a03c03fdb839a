"""The text of a message: its ``content``, and where that is blank its parts in order.

Tool traffic often has an empty ``content``; a reader that looks only there shows blank rows. The labels for tool input
and output are those lcm-tui prints. Also here: the SQL that measures a text without bringing it out of SQLite.
"""

from collections.abc import Callable, Iterable
from typing import Final

from lcm_lab import tokens
from lcm_lab.store.rows import Message, Part

PREVIEW: Final = 120
PAYLOADS: Final = ("text_content", "tool_input", "tool_output", "tool_error")
"""The columns of a part that carry text to the model."""


def message_text(message: Message, parts: Iterable[Part]) -> str:
    """The text of ``message``: ``content`` unless blank, else its ``parts`` by ordinal with a blank line between."""
    if message.content.strip():
        return message.content
    return parts_text(sorted(parts, key=lambda part: part.ordinal), between="\n\n")


def parts_text(parts: Iterable[Part], *, between: str) -> str:
    """What ``parts`` say, those left out that are marked as ignored: the model does not get them, no count has them."""
    texts = (part_text(part) for part in parts if part.is_ignored != 1)
    return between.join(text for text in texts if text)


def part_text(part: Part) -> str:
    """What a part says: its text, tool input, tool output and error, each labelled; empty for nothing."""
    lines = []
    if part.text_content and part.text_content.strip():
        lines.append(part.text_content.strip())
    if part.tool_input and part.tool_input.strip():
        lines.append(f"Tool input: {part.tool_input.strip()}")
    if part.tool_output and part.tool_output.strip():
        lines.append(f"Tool output: {part.tool_output.strip()}")
    if part.tool_error and part.tool_error.strip():
        lines.append(f"Tool error: {part.tool_error.strip()}")
    if not lines and (part.file_name or part.file_mime):
        lines.append(f"[file: {part.file_name or 'unnamed'} ({part.file_mime or 'unknown type'})]")
    return "\n".join(lines)


def preview(text: str, *, size: int = PREVIEW) -> str:
    """``text`` on one line, cut to ``size`` characters with an ellipsis."""
    line = " ".join(text[: size * 4].split())
    return line if len(line) <= size and len(text) <= size * 4 else line[: size - 1].rstrip() + "\u2026"


def octets(column: str) -> str:
    """SQL: the size of a value in bytes."""
    return f"length(CAST({column} AS BLOB))"


def estimate(column: str) -> str:
    """SQL: tokens of a text by rule ``plugin``, pictures at their flat cost; 0 for NULL.

    Plain ASCII is counted inside SQLite; only other texts, and long ones that may hold a picture, go through Python.
    """
    size, characters = octets(column), f"length({column})"
    no_picture = f"({size} < {tokens.PICTURE_FROM} OR instr({column}, ';base64,') = 0)"
    return (
        f"CASE WHEN {column} IS NULL THEN 0 "
        f"WHEN {characters} = {size} AND {no_picture} THEN ({size} + 3) / 4 "
        f"ELSE lcm_tokens(CAST({column} AS BLOB)) END"
    )


def valid_count(column: str) -> str:
    """SQL: a stored token count as a whole number where it rounds to one above 0 and is below 10^12, else NULL.

    Two comparisons and no function call, since every row of a store goes through it: texts and blobs are greater than
    every number in SQLite, so the upper bound leaves them out, too.
    """
    return f"CASE WHEN {column} >= 0.5 AND {column} < {tokens.ABSURD_COUNT} THEN CAST({column} + 0.5 AS INTEGER) END"


def payload_estimate(alias: str, schema_column: Callable[[str], str]) -> str:
    """SQL: tokens of everything a part carries to the model, by rule ``plugin``; 0 for a part marked as ignored.

    ``schema_column`` gives the SQL of a column of ``message_parts`` under the alias.
    """
    sizes = " + ".join(estimate(schema_column(name)) for name in PAYLOADS)
    picture = f"{tokens.IMAGE_TOKENS} * ({alias}.part_type = 'file' AND {schema_column('text_content')} IS NULL)"
    return f"CASE WHEN {schema_column('is_ignored')} = 1 THEN 0 ELSE {sizes} + {picture} END"
