"""From the demo's text to the rows lossless-claw would have written for it: messages, parts, large files.

Token counts follow the plugin: a plain text by its characters, a message made of blocks by the JSON of the blocks.
Invariant: ids come from hashing what a row *is* (conversation, seq, file name), never from its text, so mending a
sentence leaves every id alone. Checked by ``tests/test_demo_store.py``.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, TypeAlias
from uuid import UUID

from lcm_lab.data.demo_format import Attachment, Conversation, Message
from lcm_lab.tokens import plugin_tokens

MODEL: Final = {"modelProvider": "example", "modelApi": "example-messages", "modelId": "large-1"}
_EXCERPT: Final = 500

Row: TypeAlias = dict[str, Any]
Block: TypeAlias = dict[str, Any]


def code(digits: int, *what: object) -> str:
    """``digits`` hexadecimal digits that stand for ``what``, the same every time."""
    return sha256("\0".join(map(str, what)).encode()).hexdigest()[:digits]


def uuid4(*what: object) -> str:
    """A UUID in the form of version 4 that stands for ``what``."""
    return str(UUID(code(32, "uuid", *what), version=4))


def stamp(at: datetime) -> str:
    """A time as SQLite's ``datetime('now')`` writes it."""
    return f"{at:%Y-%m-%d %H:%M:%S}"


def iso(at: datetime) -> str:
    """A time as the plugin writes it into a summary."""
    return f"{at:%Y-%m-%dT%H:%M:%S}.000Z"


def dense(value: Any) -> str:
    """JSON as JavaScript writes it: no blanks, no escapes for what is not ASCII."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Stored:
    """A message as it lies in the store."""

    message_id: int
    message: Message
    content: str
    indexed: str
    tokens: int
    parts: list[Row]
    blocks: str | list[Block]
    """What the session file holds: the whole text, large or not."""
    file: Row | None


def call_id(conversation: object, seq: int, position: int) -> str:
    """The id of the tool call at ``position`` in the assistant message ``seq``."""
    return f"call_{code(16, conversation, seq, position)}"


def store_message(conversation: Conversation, message: Message, message_id: int) -> Stored:
    """The rows of one message."""
    number = conversation.number
    file = _file_row(number, message) if message.attachment else None
    content, indexed = _content(conversation, message, file)
    # A copy made by a replay carries the calls of its original, under the same ids.
    blocks = _blocks(conversation, message, content, file)
    tokens = plugin_tokens(blocks if isinstance(blocks, str) else dense(blocks))
    parts = _parts(conversation, message, content, blocks, file)
    session = conversation.head["session_id"]
    for ordinal, part in enumerate(parts):
        part.update(
            part_id=uuid4("part", number, message.seq, ordinal),
            message_id=message_id,
            session_id=session,
            ordinal=ordinal,
        )
    whole = message.text if file is None else _whole(message)
    original = _blocks(conversation, message, whole, None)
    return Stored(message_id, message, content, indexed, tokens, parts, original, file)


def message_row(conversation: Conversation, stored: Stored) -> Row:
    """The row for table ``messages``."""
    message, number = stored.message, conversation.number
    replayed = message.copy_of is not None
    answer = message.role == "assistant" and not replayed
    return {
        "message_id": stored.message_id,
        "conversation_id": number,
        "seq": message.seq,
        "role": message.role,
        "content": stored.content,
        "token_count": stored.tokens,
        "identity_hash": sha256(f"{message.role}\0{stored.content}".encode()).hexdigest(),
        "transcript_entry_id": None if replayed else entry_id(number, message.seq),
        "created_at": stamp(message.at),
        "stable_event_key": f"assistant-response:{response_id(number, message.seq)}" if answer else None,
    }


def entry_id(conversation: object, seq: int) -> str:
    """The id of a message's line in the session file."""
    return code(8, "entry", conversation, seq)


def response_id(conversation: object, seq: int) -> str:
    """The id the model's provider gave an answer."""
    return f"msg_{code(20, 'response', conversation, seq)}"


def _call_of(conversation: Conversation, message: Message) -> tuple[str, str]:
    """Id and tool name of the call a tool message answers."""
    seq, position = message.answers or (0, 0)
    name = conversation.messages[seq - 1].calls[position].call_name
    return call_id(conversation.head["session_id"], seq, position), name


def _blocks(conversation: Conversation, message: Message, text: str, file: Row | None) -> str | list[Block]:
    if message.role in ("user", "system"):
        return text
    if message.role == "tool":
        return [{"type": "tool_result" if file else "text", "text": text}]
    origin = message.copy_of or message.seq
    blocks: list[Block] = []
    if message.thought:
        blocks.append({"type": "thinking", "thinking": message.thought})
    if text:
        blocks.append({"type": "text", "text": text})
    for position, call in enumerate(message.calls):
        identity = call_id(conversation.head["session_id"], origin, position)
        blocks.append({"type": "toolCall", "id": identity, "name": call.call_name, "arguments": call.arguments})
    return blocks


def _parts(
    conversation: Conversation, message: Message, content: str, blocks: str | list[Block], file: Row | None
) -> list[Row]:
    """The parts, without their ids."""
    if isinstance(blocks, str):
        about: Row = {"originalRole": message.role}
        if file:
            about |= {"externalizedFileIds": [file["file_id"]], "fileBlocksExternalized": True}
            about |= {"externalizationReason": "large_file_block"}
        return [{"part_type": "text", "text_content": content, "metadata": dense(about)}]
    if message.role == "tool":
        return [_result_part(conversation, message, blocks[0], file)]
    parts: list[Row] = []
    for position, block in enumerate(blocks):
        kind = {"thinking": "reasoning", "text": "text", "toolCall": "tool"}[block["type"]]
        part: Row = {"part_type": kind, "text_content": block.get("thinking") or block.get("text")}
        if kind == "tool":
            part |= {"tool_call_id": block["id"], "tool_name": block["name"], "tool_input": dense(block["arguments"])}
        model = MODEL if position == 0 else {}
        part["metadata"] = dense({"originalRole": "assistant", **model, "rawType": block["type"], "raw": block})
        parts.append(part)
    return parts


def _result_part(conversation: Conversation, message: Message, block: Block, file: Row | None) -> Row:
    identity, name = _call_of(conversation, message)
    about: Row = {"originalRole": "toolResult", "toolCallId": identity, "toolName": name, "isError": message.is_error}
    if file:
        about |= {"externalizedFileId": file["file_id"], "originalByteSize": file["byte_size"]}
        about |= {"toolOutputExternalized": True, "externalizationReason": "large_tool_result"}
    about |= {"rawType": block["type"], "raw": block}
    return {
        "part_type": "tool" if file else "text",
        "text_content": block["text"],
        "tool_call_id": identity,
        "tool_name": name,
        "metadata": dense(about),
    }


def _file_row(number: int | None, message: Message) -> Row:
    attachment = message.attachment
    assert attachment is not None  # noqa: S101 - the caller asked
    name = attachment.file_name
    return {
        "file_id": f"file_{code(16, 'file', number, name)}",
        "conversation_id": number,
        "file_name": name,
        "mime_type": attachment.mime,
        "byte_size": len(attachment.payload.encode()),
        "line_count": attachment.payload.count("\n") + 1,
        "storage_uri": None,
        "exploration_summary": explore(attachment),
        "created_at": stamp(message.at),
    }


def _content(conversation: Conversation, message: Message, file: Row | None) -> tuple[str, str]:
    """What ``messages.content`` holds, and what the full-text index holds for it."""
    if file is None:
        return message.text, message.text
    size = f"{file['byte_size']:,} bytes"
    report = file["exploration_summary"]
    if message.role == "tool":
        head = f"[LCM Tool Output: {file['file_id']} | tool={_call_of(conversation, message)[1]} | {size}]"
        hint = 'Call lcm_describe(id="<file_id above>", expandFile=true) to fetch the full output content from disk.'
        return f"{head}\n\nExploration Summary:\n{report}\n\n{hint}", f"{head}\n{report}"
    head = f"[LCM File: {file['file_id']} | {file['file_name']} | {file['mime_type']} | {size}]"
    words = f"\n{message.text}" if message.text else ""
    return f"{head}\n\nExploration Summary:\n{report}{words}", f"{head}\n{report}{words}"


def _whole(message: Message) -> str:
    attachment = message.attachment
    assert attachment is not None  # noqa: S101 - the caller asked
    if message.role == "tool":
        return attachment.payload
    block = f'<file name="{attachment.file_name}" mime="{attachment.mime}">\n{attachment.payload}\n</file>'
    return f"{block}\n{message.text}"


def explore(attachment: Attachment) -> str:
    """What the plugin writes about a large file instead of the file."""
    payload = attachment.payload
    if attachment.mime == "application/json":
        rows = json.loads(payload)
        keys = list(rows[0])
        shape = f"array(len={len(rows)}, sample=[object(keys={len(keys)}: {', '.join(keys)})])"
        return f"Structured summary (JSON):\nTop-level type: array.\nShape: {shape}."
    words = payload.split()
    flat = " ".join(words)
    return (
        f"Text exploration summary ({attachment.file_name}):\nCharacters: {len(payload):,}.\nWords: {len(words):,}.\n"
        f"Lines: {payload.count(chr(10)) + 1:,}.\nDetected section headers: none detected.\n"
        f"Opening excerpt: {flat[:_EXCERPT].strip()}.\nClosing excerpt: {flat[-_EXCERPT:].strip()}."
    )
