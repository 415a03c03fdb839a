"""A small program in the place of the claude command, for tests that must never run the real one.

Invariant: it writes down each call (arguments, environment, folder, size of the prompt) before it answers.
"""

import json
import stat
import sys
from pathlib import Path
from typing import Any

FAKE = """#!{python} -SE
import json, os, sys, time
time.sleep(float(os.environ.get("FAKE_CLAUDE_STARTS_SLOWLY", "0")))
given = sys.stdin.buffer.read()
with open({record!r}, "a") as file:
    print(json.dumps({{"argv": sys.argv[1:], "bytes": len(given), "end": given[-20:].decode("utf-8", "replace"),
        "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir()}}), file=file)
{action}
"""

RESULT = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "Port is 443.",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 9},
}
"""What the client prints with --output-format json, cut down to what is read of it."""


class FakeClaude:
    """The program, and the calls it got."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._record = folder / "bin", folder / "calls.jsonl"
        self.folder.mkdir()
        self.prints(RESULT)

    def does(self, action: str) -> None:
        """Let it run these lines of Python after it has written down its call."""
        path = self.folder / "claude"
        path.write_text(FAKE.format(python=sys.executable, record=str(self._record), action=action))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def prints(self, result: Any, *, code: int = 0, err: str = "") -> None:
        """Let it print a result (a text as it stands, else JSON) and end with a code."""
        text = result if isinstance(result, str) else json.dumps(result)
        self.does(f"sys.stdout.write({text!r}); sys.stderr.write({err!r}); sys.stdout.flush(); sys.exit({code})")

    @property
    def calls(self) -> list[dict[str, Any]]:
        """Arguments, environment, folder and the size of what it read, call by call."""
        return [json.loads(line) for line in self._record.read_text().splitlines()] if self._record.exists() else []

    @property
    def env(self) -> dict[str, str]:
        """An environment in which it is found."""
        return {"PATH": str(self.folder), "HOME": str(self.folder.parent)}
