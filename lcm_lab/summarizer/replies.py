"""What a server sent, made into a draft: events or JSON in, text without reasoning out.

Invariants: only blocks of type ``text`` are ever read, whatever stands before them; reasoning never reaches a draft;
and a reply without text is a :class:`BadReply` that says what came instead. No text is invented. Checked by
``tests/summarizer/test_replies.py``.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from lcm_lab.errors import BadReply
from lcm_lab.plain import safe
from lcm_lab.summarizer.seam import Draft

_REASONING: Final = re.compile(r"\s*<(think|thinking)>(?:.*?</\1>|.*\Z)", re.DOTALL | re.IGNORECASE)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class StreamError(Exception):
    """An error that a server reported in the middle of a stream: its type and what it said."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class StreamCut(Exception):
    """A stream that ended before its message did."""


class Gathering:
    """The message that a stream of server-sent events tells, piece by piece."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._others = 0

    def take(self, data: str) -> None:
        """Add one event, given as its JSON text.

        Raises:
            StreamError: the event reports an error.
        """
        event = _json_object(data)
        kind = event.get("type")
        if kind == "error":
            error = _mapping(event.get("error"))
            raise StreamError(str(error.get("type") or "error"), str(error.get("message") or data))
        if kind == "message_start":
            self._message = dict(_mapping(event.get("message")))
        elif kind == "content_block_start":
            self._blocks[_index(event)] = dict(_mapping(event.get("content_block")))
        elif kind == "content_block_delta":
            delta, block = _mapping(event.get("delta")), self._blocks.setdefault(_index(event), {"type": "text"})
            if delta.get("type") == "text_delta":
                block["text"] = str(block.get("text") or "") + str(delta.get("text") or "")
        elif kind == "message_delta":
            self._message.update(_mapping(event.get("delta")))
            self._message["usage"] = {**_mapping(self._message.get("usage")), **_mapping(event.get("usage"))}
        elif kind not in ("ping", "content_block_stop", "message_stop"):
            self._others += 1

    def message(self) -> dict[str, Any]:
        """The whole message.

        Raises:
            StreamCut: the stream ended too early.
            BadReply: it told of something else than a message.
        """
        if not self._message and self._others:
            raise BadReply("The reply is a stream of something else than a message: is this an Anthropic address?")
        if not self._message or self._message.get("stop_reason") is None:
            raise StreamCut("the connection ended in the middle of the reply")
        return {**self._message, "type": "message", "content": [self._blocks[i] for i in sorted(self._blocks)]}


def message_of(body: str, address: str) -> dict[str, Any]:
    """The message in a JSON body.

    Raises:
        StreamError: the body is an error, sent with a status of success.
        BadReply: the body is something else.
    """
    message = _json_object(body)
    if message.get("type") == "error" or "error" in message:
        error = _mapping(message.get("error"))
        raise StreamError(str(error.get("type") or "error"), str(error.get("message") or body[:300]))
    if not isinstance(message.get("content"), list):
        raise BadReply(f"{address} answered with JSON that is no message: is it the address of a Messages API?")
    return message


def draft_of(message: Mapping[str, Any], *, provider: str, model: str, seconds: float) -> Draft:
    """The draft in a message.

    Raises:
        BadReply: there is no text in it, or only reasoning.
    """
    blocks = [_mapping(block) for block in message.get("content") or []]
    texts = [str(block.get("text") or "").strip() for block in blocks if block.get("type") == "text"]
    whole = "\n".join(dict.fromkeys(text for text in texts if text))
    text = without_reasoning(whole)
    stop = message.get("stop_reason")
    if not text:
        types = ", ".join(sorted({safe(str(block.get("type"))) for block in blocks})) or "(none)"
        only = "; all of its text is reasoning" if whole else ""
        ended = f", stop reason {safe(str(stop))}" if stop else ""
        raise BadReply(f"{provider} {model} gave an empty reply: blocks of type {types}{ended}{only}.")
    usage = _mapping(message.get("usage"))
    named = message.get("model")
    return Draft(
        text=text,
        model=named if isinstance(named, str) and named.strip() else model,
        provider=provider,
        stop_reason=stop if isinstance(stop, str) else None,
        input_tokens=_sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        output_tokens=_sum(usage, "output_tokens"),
        seconds=seconds,
    )


def without_reasoning(text: str) -> str:
    """A reply without the reasoning that some models write in front of it; empty if there is nothing else.

    >>> without_reasoning("<think>the plan</think>Port is 443."), without_reasoning("<thinking>never closed")
    ('Port is 443.', '')
    >>> without_reasoning("They talked about <think> tags.")
    'They talked about <think> tags.'
    """
    while found := _REASONING.match(text):
        text = text[found.end() :]
    return text.strip()


def sendable(prompt: str) -> str:
    """A prompt that can be encoded: halves of characters, which a cut text may hold, become U+FFFD."""
    return _SURROGATE.sub("\ufffd", prompt)


def _json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _index(event: Mapping[str, Any]) -> int:
    index = event.get("index")
    return index if isinstance(index, int) else 0


def _sum(usage: Mapping[str, Any], *names: str) -> int | None:
    """The sum of the counts that are there; None if the first is not."""
    counts = [usage.get(name) for name in names]
    if not isinstance(counts[0], int):
        return None
    return sum(count for count in counts if isinstance(count, int))
