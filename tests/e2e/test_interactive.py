"""The same in the client's own screen, where the last answer may reach the disk after the turn has ended."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from seen import BASH, after_compactions, complete

if TYPE_CHECKING:
    from collections.abc import Callable

    from client import Client
    from stand_in import StandIn

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Screen:
    """The client in a terminal of a tmux server of its own."""

    def __init__(self, client: Client, api: StandIn, model: str) -> None:
        self.api = api
        self.socket = str(client.home / "tmux")
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [client.environ()["ANTHROPIC_API_KEY"][-20:]], "rejected": []},
            "projects": {
                str(client.work): {
                    "hasTrustDialogAccepted": True,
                    "hasCompletedProjectOnboarding": True,
                    "allowedTools": [],
                }
            },
        }
        (client.config / ".claude.json").write_text(json.dumps(state))
        environ = " ".join(f"{name}={shlex.quote(value)}" for name, value in client.environ().items())
        program = f"env -i {environ} {shlex.quote(str(client.program))} --model {model} --allowedTools Bash"
        self.tmux("new-session", "-d", "-x", "160", "-y", "50", "-c", str(client.work), program)

    def tmux(self, *arguments: str) -> str:
        """One command to the server of this test."""
        done = subprocess.run(
            ["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, timeout=20, check=False
        )
        return done.stdout

    def wait(self, true: Callable[[], bool]) -> None:
        """Until it is so, at most 30 seconds."""
        deadline = time.monotonic() + 30
        while not true():
            assert time.monotonic() < deadline, self.tmux("capture-pane", "-p")
            time.sleep(0.1)

    def type(self, text: str) -> None:
        """A line, and the key that sends it."""
        self.tmux("send-keys", "-l", text)
        time.sleep(0.4)
        self.tmux("send-keys", "Enter")

    def ask(self, text: str, answer: str) -> None:
        """One turn."""
        self.api.push({"text": answer})
        self.type(text)
        self.wait(lambda: answer in self.tmux("capture-pane", "-p"))
        time.sleep(0.5)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "opus"])
def test_compactions_on_the_screen(make: Callable[..., Client], api: StandIn, model: str) -> None:
    """Manual, then automatic in the middle of a turn: the block arrives, every turn is stored once with its answer."""
    client = make(arguments=("--window", "100000"))
    screen = Screen(client, api, model)
    try:
        screen.wait(
            lambda: "shortcuts" in screen.tmux("capture-pane", "-p") or "❯" in screen.tmux("capture-pane", "-p")
        )
        time.sleep(1)
        screen.ask("The first question", "answer alpha")
        screen.ask("The second question", "answer beta")
        screen.type("/compact")
        screen.wait(lambda: any(request.kind == "compact" for request in api.requests))
        time.sleep(1.5)
        screen.ask("The third question", "answer gamma")
        api.push(*({"tools": BASH, "usage": tokens} for tokens in (30_000, 60_000, 68_000)), {"text": "answer delta"})
        screen.type("The long task")
        screen.wait(lambda: "answer delta" in screen.tmux("capture-pane", "-p"))
        time.sleep(1)
    finally:
        screen.tmux("kill-server")
    manual, automatic = after_compactions(api)
    assert complete(manual)
    assert complete(automatic)
    assert "The second question" in manual.text
    assert "The long task" in automatic.text
    assert "answer gamma" in automatic.text
    turns = client.rows("SELECT turn_number, state FROM turns ORDER BY 1")
    assert [number for number, _ in turns] == [1, 2, 3, 4]
    answers = client.rows("SELECT input_text FROM details WHERE kind='assistant' ORDER BY id")
    assert answers == [("answer alpha",), ("answer beta",), ("answer gamma",), ("answer delta",)]
    assert client.rows("SELECT count(*), count(DISTINCT source_id) FROM details WHERE kind='tool'") == [(3, 3)]
    assert client.log() == ""
