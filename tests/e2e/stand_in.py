"""A stand-in for the Messages API on 127.0.0.1 that answers from a script and keeps what it was sent.

Idea: the client is real, the model is a list of replies. What counts is `requests`: exactly what a model would have
read. Invariant: it listens on loopback only and a request that no scripted reply fits gets a plain text.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

SUMMARISING = ("create a detailed summary of the conversation", "create a detailed summary of this conversation",
               "create a detailed summary of the RECENT portion")  # fmt: skip


def text_of(content: Any) -> str:
    """All text in a message content."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        text_of(b.get("content")) if b.get("type") == "tool_result" else str(b.get("text") or "") for b in blocks
    )


class Request:
    """One request as it came: what it is, its body and its headers."""

    def __init__(self, kind: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        self.kind = kind
        self.body = body
        self.agent = headers.get("x-claude-code-agent-id")

    @property
    def text(self) -> str:
        """Everything the model reads in the messages."""
        return "\n".join(text_of(message.get("content")) for message in self.body.get("messages", []))


class StandIn:
    """The server with its script."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.queue: list[dict[str, Any]] = []
        self.usage = 9_000
        self.lock = threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def push(self, *replies: dict[str, Any]) -> None:
        """Queue replies: {"text"|"tools", "usage", "when": main|subagent|compact, "status", "contains"}.

        `tools` is a list of (name, input), or a function that makes it from all that the model was sent.
        """
        with self.lock:
            self.queue.extend(replies)

    def reply(self, body: dict[str, Any], headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Record the request and make its answer."""
        messages = body.get("messages") or []
        last = next((text_of(m.get("content")) for m in reversed(messages) if m.get("role") == "user"), "")
        if any(mark in last[-30_000:] for mark in SUMMARISING):
            kind = "compact"
        elif not body.get("tools") or (body.get("max_tokens") or 0) <= 1:
            kind = "side"
        elif "x-claude-code-agent-id" in headers:
            kind = "subagent"
        else:
            kind = "main"
        with self.lock:
            self.requests.append(Request(kind, body, headers))
            number = len(self.requests)
            chosen: dict[str, Any] = {}
            for reply in self.queue:
                if reply.get("when", "main") == kind and reply.get("contains", "") in last:
                    self.queue.remove(reply)
                    chosen = reply
                    break
        if chosen.get("status", 200) != 200:
            error = {"type": chosen.get("error_type", "api_error"), "message": chosen.get("message", "scripted")}
            return int(chosen["status"]), {"type": "error", "error": error}
        blocks: list[dict[str, Any]] = []
        default = (
            "<analysis>a</analysis>\n<summary>\nSUMMARY TEXT\n</summary>" if kind == "compact" else f"ANSWER {number}"
        )
        if chosen.get("text") or not chosen.get("tools"):
            blocks.append({"type": "text", "text": chosen.get("text") or default})
        tools = chosen.get("tools") or []
        if callable(tools):  # a model that acts on what it reads
            tools = tools("\n".join(text_of(message.get("content")) for message in messages))
        for place, (name, given) in enumerate(tools):
            blocks.append({"type": "tool_use", "id": f"toolu_{number:05d}x{place:02d}", "name": name, "input": given})
        usage = {
            "input_tokens": chosen.get("usage", self.usage),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 20,
            "service_tier": "standard",
        }
        stop = "tool_use" if chosen.get("tools") else "end_turn"
        message = {"id": f"msg_{number:06d}", "type": "message", "role": "assistant", "model": body.get("model", "?")}
        return 200, {**message, "content": blocks, "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _handler(outer: StandIn) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one class of small methods
    """The request handler that asks this stand-in."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._send(200, b"", "text/plain")

        def do_GET(self) -> None:
            self._send(404, b"{}", "application/json")

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            path = self.path.split("?")[0]
            if path.endswith("/count_tokens"):
                size = len(json.dumps(body))
                self._send(200, json.dumps({"input_tokens": max(1, size // 4)}).encode(), "application/json")
            elif path != "/v1/messages":
                self._send(404, b"{}", "application/json")
            else:
                self._answer(body, {k.lower(): v for k, v in self.headers.items()})

        def _answer(self, body: dict[str, Any], headers: dict[str, str]) -> None:
            status, message = outer.reply(body, headers)
            if status != 200:
                self._send(status, json.dumps(message).encode(), "application/json")
            elif body.get("stream"):
                events = "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in _stream(message))
                self._send(200, events.encode(), "text/event-stream")
            else:
                self._send(200, json.dumps(message).encode(), "application/json")

        def _send(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.send_header("request-id", "req_stand_in")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_args: Any) -> None:
            """Quiet."""

    return Handler


def _stream(message: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The events of a streamed message."""
    start = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    events: list[tuple[str, dict[str, Any]]] = [("message_start", {"type": "message_start", "message": start})]
    for index, block in enumerate(message["content"]):
        text = block["type"] == "text"
        empty = {"type": "text", "text": ""} if text else {**block, "input": {}}
        delta = (
            {"type": "text_delta", "text": block["text"]}
            if text
            else {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        )
        for name, more in (
            ("content_block_start", {"content_block": empty}),
            ("content_block_delta", {"delta": delta}),
            ("content_block_stop", {}),
        ):
            events.append((name, {"type": name, "index": index, **more}))
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events.append(("message_delta", {"type": "message_delta", "delta": delta, "usage": message["usage"]}))
    events.append(("message_stop", {"type": "message_stop"}))
    return events
