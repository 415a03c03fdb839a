"""Runs the user's own client in print mode for one answer, several side by side within one deadline.

Idea: the session's client has the login, so no key is handled here. It runs in an empty folder without tools, servers,
settings and hooks of the user, and it is told that it is ours, so that no hook answers.
Invariant: at the deadline every process is ended, and what was not answered counts as a fault, not as an answer.
Checked in tests/hooks/test_model_help.py and, with the real client, in tests/e2e.
"""

from __future__ import annotations

import os
import time

try:
    from . import hook_io
    from .turns import int_or_none
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]
    from turns import int_or_none  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

GUARD = hook_io.OFF_SWITCHES[0]  # every hook of ours returns at once where it sees it
MOST_BYTES = 1 << 20  # of an answer; a client that writes more is ended
GLANCE = 0.2  # seconds between two looks at how much it has written
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

    __slots__ = ("cost", "counted", "fault", "input_tokens", "output_tokens", "seconds", "sent", "text")

    def __init__(
        self, text: str = "", *, fault: str = "", usage: object = None, cost: object = None, sent: bool = True
    ) -> None:
        self.text = text
        self.fault = fault
        self.sent = sent  # False where nothing can have been paid for
        counts = usage if isinstance(usage, dict) else {}
        names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        self.counted = isinstance(usage, dict)  # whether the client said what it used, be it nothing
        self.input_tokens = sum(_within(counts.get(name)) for name in names)
        self.output_tokens = _within(counts.get("output_tokens"))
        self.cost: float | None = None
        if isinstance(cost, (int, float)) and not isinstance(cost, bool) and 0 <= cost < 1e6:
            self.cost = float(cost)
        self.seconds = 0.0


def _within(value: object) -> int:
    """A count as it can be: a whole number from 0 to a thousand million."""
    return min(max(int_or_none(value) or 0, 0), 10**9)


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
            replies[place] = Reply(fault=f"{type(error).__name__}: {error}"[:200], sent=False)
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
    import tempfile

    program = shutil.which("claude")
    if program is None:
        return Reply(fault="claude is not on the path", sent=False)
    # Files instead of pipes: what the client starts may hold a pipe open long after it has ended itself.
    with (
        tempfile.TemporaryDirectory(prefix="throughline-", ignore_cleanup_errors=True) as folder,
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as out,
    ):
        given.write(request.encode("utf-8", "replace"))
        given.seek(0)
        code = _run([program, *ARGUMENTS, "--model", model], folder, given.fileno(), out.fileno(), patience)
        if isinstance(code, str):
            return Reply(fault=code)
        out.seek(0)
        return _reply(out.read(MOST_BYTES), code)


def _run(command: list[str], folder: str, given: int, out: int, patience: float) -> int | str:
    """The exit code; why, where the command was ended with all that it had started."""
    import subprocess

    env = {name: value for name, value in os.environ.items() if not name.startswith(NOT_PASSED_ON)}
    process = subprocess.Popen(  # noqa: S603  (the user's own client, the request on stdin, no shell)
        command,
        stdin=given,
        stdout=out,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**env, GUARD: "1"},
        start_new_session=True,
    )
    until = time.monotonic() + patience
    while True:
        try:
            return process.wait(timeout=GLANCE)
        except subprocess.TimeoutExpired:
            flooded = os.fstat(out).st_size > MOST_BYTES
            if flooded or time.monotonic() > until:
                _end(process)
                return "answered far too much" if flooded else "not answered in time"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and what it started."""
    import contextlib
    import signal

    with contextlib.suppress(OSError):
        if os.name == "nt":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _reply(out: bytes, code: int) -> Reply:
    said = hook_io.parse(out)
    if said is None:
        return Reply(fault=f"the client ended with code {code} and without a result")
    text = said.get("result")
    usage, cost = said.get("usage"), said.get("total_cost_usd")
    if code or said.get("is_error") or not isinstance(text, str) or not text.strip():
        why = " ".join(str(text or said.get("subtype") or f"code {code}").split())
        return Reply(fault=f"the client reports: {hook_io.cut(why, 200)}", usage=usage, cost=cost)
    return Reply(text, usage=usage, cost=cost)
