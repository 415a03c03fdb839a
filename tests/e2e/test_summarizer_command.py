"""The real client writes a summary for us: its switches are taken, and nothing of the user's set-up takes part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lcm_lab.summarizer.claude_cli import ClaudeCommand
from lcm_lab.summarizer.seam import Request

if TYPE_CHECKING:
    from collections.abc import Callable

    import client as clients
    from stand_in import StandIn

NOTE = "The word of the workspace is heron."


def test_the_command_answers_and_stays_by_itself(make: Callable[..., clients.Client], api: StandIn) -> None:
    told = "touch {}/hook-ran"
    client = make(installed=False)
    client.settings.write_text(
        json.dumps(
            {
                "hooks": {
                    name: [{"hooks": [{"type": "command", "command": told.format(client.home)}]}]
                    for name in ("SessionStart", "UserPromptSubmit", "Stop")
                }
            }
        )
    )
    (client.config / "CLAUDE.md").write_text(NOTE)
    folder = client.home / "bin"
    folder.mkdir()
    (folder / "claude").symlink_to(client.program)
    env = client.environ() | {"PATH": f"{folder}:/usr/bin:/bin", "ANTHROPIC_AUTH_TOKEN": "fake-for-loopback"}
    api.push({"text": "They chose port 443.\nExpand for details about: the firewall.", "when": "side"})
    prompt = "Sum this up: we could not use 8080, so we took 443. " + "filler " * 60_000
    draft = ClaudeCommand("claude-sonnet-4-5", env=env).complete(Request(prompt, 200))
    assert draft.text == "They chose port 443.\nExpand for details about: the firewall."
    assert draft.input_tokens
    asked = [one for one in api.requests if "we took 443" in one.text]
    assert len(asked) == 1
    body = json.dumps(asked[0].body)
    assert "You write summaries" in body
    assert not asked[0].body.get("tools")
    assert NOTE not in body
    assert not (client.home / "hook-ran").exists()
    assert not list(client.config.glob("projects/*/*.jsonl"))
