"""A server on 127.0.0.1 that answers as the Messages API does, from a script, and keeps what it was asked.

The client is real, the model is a list of replies. `requests` holds what arrived; a test that must not send anything
asserts that it is empty. Each reply is given both ways, as a stream of events and as JSON, as the request asks.

    with StandIn(rate_limited(1), ok("A summary.")) as server:
        ...  # --base-url server.url
    assert len(server.requests) == 2
"""

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Received:
    """One request as it came; `headers` have names in lower case, `at` is the monotonic time."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    at: float

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else "\n".join(str(block.get("text")) for block in content)


@dataclass(frozen=True)
class Reply:
    """One scripted answer. `message` is sent as the request asks; `body` as it stands, with `content_type`."""

    message: dict[str, Any] | None = None
    status: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False
    cut: bool = False
    broken_by: str = ""
    pings: int = 0


Script = Reply | Callable[[Received], Reply]


def blocks(*content: dict[str, Any], stop_reason: str = "end_turn", model: str = "", usage: Any = None) -> Reply:
    """A message with these content blocks; the model is that of the request unless named."""
    counts = {"input_tokens": 120, "output_tokens": 30} if usage is None else usage
    return Reply(
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": list(content),
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "usage": counts,
        }
    )


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def thinking(words: str = "The plan is...") -> dict[str, Any]:
    """A block of reasoning."""
    return {"type": "thinking", "thinking": words, "signature": "c2ln"}


def redacted() -> dict[str, Any]:
    """A block of reasoning that nobody may read."""
    return {"type": "redacted_thinking", "data": "c2VjcmV0"}


def ok(words: str = "A summary.", **more: Any) -> Reply:
    """A message with one text."""
    return blocks(text(words), **more)


def thinking_only(stop_reason: str = "end_turn") -> Reply:
    """A message that holds nothing but reasoning."""
    return blocks(thinking(), stop_reason=stop_reason)


def empty() -> Reply:
    """A message without any block."""
    return blocks()


def cut_off(words: str = "Only half of") -> Reply:
    """A message that ended at its limit."""
    return ok(words, stop_reason="max_tokens")


def error(status: int, kind: str, message: str, **headers: str) -> Reply:
    """An error as the API reports it; underscores in the names of headers stand for hyphens."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return Reply(status=status, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})


def rate_limited(retry_after: float | str | None = None) -> Reply:
    """429, with or without a time to wait."""
    more = {} if retry_after is None else {"retry_after": str(retry_after)}
    return error(429, "rate_limit_error", "Too many requests", **more)


def overloaded() -> Reply:
    """529."""
    return error(529, "overloaded_error", "Overloaded")


def bad_request(message: str = "max_tokens: too large") -> Reply:
    """400."""
    return error(400, "invalid_request_error", message)


def unauthorized(message: str = "invalid x-api-key") -> Reply:
    """401."""
    return error(401, "authentication_error", message)


def unknown_model(model: str = "claude-none") -> Reply:
    """404 for a model."""
    return error(404, "not_found_error", f"model: {model}")


def connection_reset() -> Reply:
    """The connection is reset without an answer."""
    return Reply(reset=True)


def cut_stream(words: str = "Only the beginning") -> Reply:
    """A stream whose connection ends before the message does."""
    return replace(ok(words), cut=True)


def broken_stream(kind: str = "overloaded_error", words: str = "Only the beginning") -> Reply:
    """A stream that reports an error in its middle, with status 200."""
    return replace(ok(words), broken_by=kind)


def html(page: str = "<html><title>Welcome</title></html>") -> Reply:
    """A web page, with status 200."""
    return Reply(body=page.encode(), content_type="text/html; charset=utf-8")


def delayed(seconds: float, reply: Reply | None = None) -> Reply:
    """A reply that takes its time."""
    return replace(reply or ok(), delay=seconds)


class StandIn:
    """The server. Replies are used in turn; when they are used up, the last one is given again and again."""

    def __init__(self, *replies: Script) -> None:
        self.requests: list[Received] = []
        self._replies = list(replies) or [ok()]
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *replies: Script) -> None:
        """Replace what is left of the script."""
        with self._lock:
            self._replies = list(replies)

    def answer(self, received: Received) -> Reply:
        """Keep the request and give the next reply."""
        with self._lock:
            self.requests.append(received)
            reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        reply = reply(received) if callable(reply) else reply
        if reply.message is not None and not reply.message["model"]:
            reply = replace(reply, message={**reply.message, "model": received.body.get("model", "")})
        return reply


def events(reply: Reply) -> bytes:
    """A message as the stream of events that the API would send."""
    message = dict(reply.message or {})
    content, stop, usage = message["content"], message["stop_reason"], message["usage"]
    out = [("ping", {"type": "ping"})] * reply.pings
    counts = {**usage, "output_tokens": 1} if isinstance(usage, dict) else usage
    out.append(("message_start", {"message": {**message, "content": [], "stop_reason": None, "usage": counts}}))
    for index, block in enumerate(content):
        out.extend(_block_events(index, block))
        if reply.broken_by:
            out.append(("error", {"error": {"type": reply.broken_by, "message": "It broke"}}))
            return _sse(out)
        if reply.cut:
            return _sse(out[:-1])
    spent = {"output_tokens": usage.get("output_tokens")} if isinstance(usage, dict) else {}
    out.append(("message_delta", {"delta": {"stop_reason": stop, "stop_sequence": None}, "usage": spent}))
    out.append(("message_stop", {}))
    return _sse(out)


def _block_events(index: int, block: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    deltas: list[dict[str, Any]] = []
    start = dict(block)
    if block["type"] == "text":
        start["text"], words = "", block["text"]
        # In two pieces, as a text usually comes in several.
        halves = (words[: len(words) // 2], words[len(words) // 2 :])
        deltas = [{"type": "text_delta", "text": half} for half in halves]
    elif block["type"] == "thinking":
        start["thinking"] = ""
        deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
    out = [("content_block_start", {"index": index, "content_block": start}), ("ping", {})]
    out += [("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
    return [*out, ("content_block_stop", {"index": index})]


def _sse(out: list[tuple[str, dict[str, Any]]]) -> bytes:
    # Not escaped: characters that some readers take for the end of a line are part of what is tried here.
    lines = (json.dumps({"type": kind, **data}, ensure_ascii=False) for kind, data in out)
    return "".join(f"event: {kind}\ndata: {line}\n\n" for (kind, _), line in zip(out, lines, strict=True)).encode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_given: Any) -> None:
        """A client that goes away is what some tests are about."""


def _handler(stand_in: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            try:
                body = json.loads(raw)
            except ValueError:
                body = {}
            reply = stand_in.answer(Received(self.path, headers, body, time.monotonic()))
            if reply.delay:
                time.sleep(reply.delay)
            if reply.reset:
                # Closing with a linger time of zero sends a reset instead of an orderly end.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                self.connection.close()
                return
            self._send(reply, streamed=bool(body.get("stream")))

        def do_GET(self) -> None:
            self._send(error(404, "not_found_error", "Not Found"), streamed=False)

        def _send(self, reply: Reply, *, streamed: bool) -> None:
            kind, content = reply.content_type, reply.body
            if reply.message is not None:
                kind = "text/event-stream; charset=utf-8" if streamed else "application/json"
                content = events(reply) if streamed else json.dumps(reply.message).encode()
            self.send_response(reply.status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(content) + (1 if reply.cut else 0)))
            self.send_header("connection", "close")
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
            self.close_connection = True

        def log_message(self, *_given: Any) -> None:
            """Say nothing."""

    return Handler
