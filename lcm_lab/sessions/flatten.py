"""Message content, whatever its shape, becomes text a person can read.

The shapes are those lcm-tui knows, with four differences: the ``thinking`` field of a thinking block is shown, the
names of other clients (``tool_use``, ``tool_result``) mean the same as OpenClaw's, a bare string in a list is kept, and
a block with a field of the wrong type spoils itself only, not its neighbours. Invariant: any value that JSON can hold
gives a string that UTF-8 can hold, without terminal control codes.
"""

import json
import re
from typing import Final

_MAX_DEPTH: Final = 20
# Colour and cursor codes, window titles, and the two-character rest.
_TERMINAL_CODE: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-Z\\^_]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HALF_PAIR: Final = re.compile(r"[\ud800-\udfff]")


def flatten(content: object) -> str:
    r"""The text of a message's ``content``: a string, a list of blocks, one block, or anything else as JSON.

    Blocks are joined by line feeds, empty ones dropped. Tool calls read ``[toolCall] name {json}``, tool results
    ``[toolResult] text``, thinking ``[thinking] text``, and a block without text ``[type]``. None gives "".

    >>> flatten([{"type": "thinking", "thinking": "hm"}, "bare", {"type": "toolCall", "name": "ls"}, {"type": "image"}])
    '[thinking] hm\nbare\n[toolCall] ls\n[image]'
    """
    return _flatten(content, 0)


def clean(text: str) -> str:
    r"""``text`` without terminal codes and control characters (line feed, return and tab stay).

    Text of which more than a tenth is such characters becomes ``[binary content, SIZE]``. Half surrogate pairs, which
    JSON can hold and UTF-8 cannot, become U+FFFD.

    >>> clean("\x1b[31mFAIL\x1b[0m"), clean("\x00" * 2048)
    ('FAIL', '[binary content, 2.0 KB]')
    """
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _TERMINAL_CODE.sub("", text)
    if _HALF_PAIR.search(text):
        text = _HALF_PAIR.sub("\ufffd", text)
    rest, dropped = _CONTROL.subn("", text)
    if dropped * 10 > len(text):
        return f"[binary content, {size_text(len(text.encode()))}]"
    return rest


def size_text(size_bytes: int) -> str:
    """A size for people: ``B``, ``KB``, ``MB`` or ``GB``, each 1024 of the one before, with one decimal from KB up.

    >>> size_text(1023), size_text(2048), size_text(200 * 1024**2)
    ('1023 B', '2.0 KB', '200.0 MB')
    """
    if size_bytes < 1024:
        return f"{size_bytes} B"
    size = float(size_bytes)
    for unit in ("KB", "MB"):
        size /= 1024
        if size < 1024:
            return f"{size:.1f} {unit}"
    return f"{size / 1024:.1f} GB"


def shell_text(record: dict[str, object]) -> str | None:
    """The text of a shell result (``command`` and ``output``); None when ``record`` is none."""
    command, output = record.get("command"), record.get("output")
    if not isinstance(command, str) or not isinstance(output, str | None):
        return None
    return f"$ {command.strip()}\n{(output or '').strip()}".strip()


def _flatten(content: object, depth: int) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content.strip()
    if depth > _MAX_DEPTH:
        return "[…]"
    if isinstance(content, list):
        return "\n".join(filter(None, (_flatten(block, depth + 1) for block in content)))
    if isinstance(content, dict):
        return _block(content, depth)
    return _as_json(content)


def _block(block: dict[str, object], depth: int) -> str:
    kind = block.get("type")
    kind = kind if isinstance(kind, str) and kind.strip() else ""
    match kind:
        case "thinking" | "reasoning":
            return f"[thinking] {_first_text(block, 'text', 'thinking', 'reasoning')}".strip()
        case "toolCall" | "tool_use" | "functionCall":
            return _tool_call(block)
        case "toolResult" | "tool_result":
            text = _first_text(block, "text") or _flatten(block.get("content"), depth + 1)
            return f"[toolResult] {text}".strip()
        case "text" if isinstance(block.get("text"), str):
            return _first_text(block, "text")
    text = _first_text(block, "text") or _flatten(block.get("content"), depth + 1)
    # A text block whose text is no string shows as it is: its tag alone would hide what is wrong.
    return text or (f"[{kind}]" if kind and kind != "text" else _as_json(block))


def _tool_call(block: dict[str, object]) -> str:
    name = _first_text(block, "name") or "unknown"
    arguments = next((block[key] for key in ("arguments", "input", "args") if block.get(key) is not None), None)
    text = arguments.strip() if isinstance(arguments, str) else "" if arguments is None else _as_json(arguments)
    return f"[toolCall] {name} {text}".strip()


def _first_text(block: dict[str, object], *names: str) -> str:
    for name in names:
        value = block.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return ""


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
