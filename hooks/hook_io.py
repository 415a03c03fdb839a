"""What every hook does around its work: one event in, at most one document out, exit code 0.

Idea: the host must never notice a fault of ours, so one function, `run`, holds every guard: our own model calls, empty,
broken or endless input, any exception. Faults go to `hooks.log` in the memory folder, where the user can read them.
Invariant: stdout is empty or exactly one document, the exit code is 0, the environment is never stored or printed.
Checked in tests/hooks/test_hooks_stdin.py.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

STDIN_LIMIT = 256 << 20
STDIN_PATIENCE = 5.0  # seconds without a byte until a stdin that nobody closes is taken as complete
LOG_LIMIT = 1 << 20
# Set around our own model calls, and by the client where hooks are to be off.
OFF_SWITCHES = ("THROUGHLINE_OFF", "CLAUDE_CODE_SAFE_MODE", "CLAUDE_CODE_SIMPLE")


def off() -> bool:
    """True inside a model call of our own, and where the client wants no hooks."""
    return any(os.environ.get(name) for name in OFF_SWITCHES)


def home() -> str:
    """The memory folder: $THROUGHLINE_HOME (spaces count as unset) or ~/.throughline."""
    given = os.environ.get("THROUGHLINE_HOME", "").strip()
    return os.path.abspath(os.path.expanduser(given or "~/.throughline"))


def config(folder: str = "") -> dict[str, Any]:
    """The config.json of the memory folder, empty where there is none or it cannot be read."""
    try:
        with open(os.path.join(folder or home(), "config.json"), "rb") as file:
            given = json.loads(file.read(1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def log(text: str) -> None:
    """One line in hooks.log; the older half goes when it grows over 1 MB. Never raises."""
    path = os.path.join(home(), "hooks.log")
    try:
        os.makedirs(home(), mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > LOG_LIMIT:
            os.replace(path, path + ".1")
        line = f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} {os.path.basename(sys.argv[0])}: {text}\n"
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(handle, line.encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except OSError:
        pass


def read_stdin() -> bytes:
    """All of stdin, up to the limit, also when nobody closes it."""
    pieces, total = [], 0
    patient = _waiter()
    while total < STDIN_LIMIT and patient():
        piece = os.read(0, 1 << 20)
        if not piece:
            break
        pieces.append(piece)
        total += len(piece)
    return b"".join(pieces)


def _waiter() -> Callable[[], bool]:
    if os.name == "nt":  # pipes cannot be waited for there
        return lambda: True
    import select

    return lambda: bool(select.select([0], [], [], STDIN_PATIENCE)[0])


def parse(raw: bytes) -> dict[str, Any] | None:
    """The event of the given bytes, None for anything that is not one JSON object."""
    if not raw.strip():
        return None
    try:
        event = json.loads(raw.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def text_of(event: dict[str, Any], name: str) -> str:
    """The field as text, empty where it is missing or something else."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def file_size(path: str) -> int:
    """The size of a plain file, 0 for anything else that a path may name."""
    try:
        return os.stat(path).st_size if os.path.isfile(path) else 0
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return 0


def context(event_name: str, text: str) -> dict[str, Any]:
    """The document that adds text to the model's context."""
    return {"hookSpecificOutput": {"hookEventName": event_name, "additionalContext": text}}


def run(work: Callable[[dict[str, Any]], dict[str, Any] | str | None]) -> None:
    """Read the event, do the work, print what it returns, leave with exit code 0."""
    reply: dict[str, Any] | str | None = None
    sys.stdout = sys.stderr  # a stray print must not become part of the document
    try:
        if not off():
            raw = read_stdin()
            event = parse(raw)
            if event is None:
                log(f"ignored {len(raw)} bytes of stdin that are no JSON object")
            elif not text_of(event, "session_id"):
                log("ignored an event without session_id")
            else:
                reply = work(event)
    except BaseException as error:  # noqa: BLE001 - the host must not notice
        reply = None
        _log_error(error)
    try:
        if reply:
            _write(json.dumps(reply) if isinstance(reply, dict) else reply)
    except BaseException as error:  # noqa: BLE001
        _log_error(error)
    # Leaving at once keeps the database's log file for the next hook instead of folding it in on every tool call.
    os._exit(0)


def attempt(work: Callable[[], object]) -> None:
    """Do a step that the rest can do without; a fault is logged."""
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the rest goes on
        _log_error(error)


def _write(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def _log_error(error: BaseException) -> None:
    try:
        import traceback

        log("".join(traceback.format_exception(error))[-4000:].replace("\n", "\n  "))
    except BaseException:  # noqa: BLE001, S110
        pass


def units(text: str) -> int:
    """Length in UTF-16 code units, which is what the client counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int) -> str:
    """At most `limit` units, with a mark where something is left out."""
    if units(text) <= limit:
        return text
    keep = text[:limit]
    while units(keep) > limit - 1:
        keep = keep[: len(keep) - max(1, (units(keep) - limit + 1) // 2)]
    return keep.rstrip() + "…"
