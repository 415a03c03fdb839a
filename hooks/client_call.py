"""Runs the user's own client in print mode for one answer, several side by side within one deadline.

Idea: the session's client has the login, so no key is handled here. It runs in an empty folder without tools, servers,
settings and hooks of the user, and it is told that it is ours, so that no hook answers.
Invariant: at the deadline every process is ended, and what was not answered counts as a fault, not as an answer.
Checked in tests/hooks/test_model_help.py and, with the real client, in tests/e2e.
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

GUARD = "THROUGHLINE_OFF"  # every hook returns at once where it sees it
SYSTEM = "You keep the notes of a coding session. Answer in exactly the form that the message asks for."
ARGUMENTS = (
    *("--print", "--input-format", "text", "--output-format", "json", "--system-prompt", SYSTEM),
    *("--tools", "", "--strict-mcp-config", "--no-session-persistence"),
    *("--setting-sources", "", "--settings", '{"disableAllHooks": true}'),
)
# Marks of the session around us: with them the client would take itself for a part of it.
NOT_PASSED_ON = ("CLAUDECODE", "CLAUDE_CODE_SESSION", "CLAUDE_CODE_CHILD", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_PID")


class Reply:
    """An answer and what it cost; without a text, what went wrong."""

    __slots__ = ("cost", "fault", "input_tokens", "output_tokens", "seconds", "sent", "text")

    def __init__(
        self, text: str = "", *, fault: str = "", usage: object = None, cost: object = None, sent: bool = True
    ) -> None:
        self.text = text
        self.fault = fault
        self.sent = sent  # False where nothing can have been paid for
        counts = usage if isinstance(usage, dict) else {}
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self.input_tokens = sum(_whole(counts.get(name)) for name in names)
        self.output_tokens = _whole(counts.get("output_tokens"))
        self.cost = float(cost) if isinstance(cost, (int, float)) and not isinstance(cost, bool) else None
        self.seconds = 0.0


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def side_by_side(
    requests: list[str], model: str, patience: float, ask: Callable[[str, str, float], Reply]
) -> list[Reply]:
    """The replies in the order of the requests; a request that raises has a reply that says so."""
    import threading

    replies = [Reply(fault="not answered in time") for _ in requests]

    def one(place: int) -> None:
        begun = time.monotonic()
        try:
            replies[place] = ask(requests[place], model, patience)
        except Exception as error:  # noqa: BLE001  a hook never fails on what is optional
            replies[place] = Reply(fault=f"{type(error).__name__}: {error}"[:200])
        replies[place].seconds = time.monotonic() - begun

    threads = [threading.Thread(target=one, args=(place,), daemon=True) for place in range(len(requests))]
    for thread in threads:
        thread.start()
    until = time.monotonic() + patience + 1
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    return replies


def ask(request: str, model: str, patience: float) -> Reply:
    """One answer of the client on the path."""
    import shutil
    import subprocess
    import tempfile

    program = shutil.which("claude")
    if program is None:
        return Reply(fault="claude is not on the path", sent=False)
    env = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
    with tempfile.TemporaryDirectory(prefix="throughline-", ignore_cleanup_errors=True) as folder:
        try:
            done = subprocess.run(  # noqa: S603  (the user's own client, the request on stdin, no shell)
                [program, *ARGUMENTS, "--model", model],
                input=request.encode("utf-8", "replace"),
                capture_output=True,
                cwd=folder,
                env={**env, GUARD: "1"},
                timeout=patience,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Reply(fault="not answered in time")
    return _reply(done.stdout, done.returncode)


def _reply(out: bytes, code: int) -> Reply:
    try:
        said = json.loads(out.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        return Reply(fault=f"the client ended with code {code} and without a result")
    text = said.get("result")
    usage, cost = said.get("usage"), said.get("total_cost_usd")
    if code or said.get("is_error") or not isinstance(text, str) or not text.strip():
        return Reply(fault=f"the client reports {str(said.get('subtype') or text)[:80]}", usage=usage, cost=cost)
    return Reply(text, usage=usage, cost=cost)
