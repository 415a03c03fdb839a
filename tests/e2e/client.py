"""The real client in an empty home of its own, talking to the stand-in and to nobody else.

Invariant: it is started with an empty environment, a home and a configuration folder that the test made, and a loopback
address; nothing of the user's is read or written.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stand_in import StandIn

HOOKS = Path(__file__).resolve().parents[2] / "hooks"


class Client:
    """One home with our hooks installed."""

    def __init__(self, program: Path, root: Path, api: StandIn, *, settings: dict[str, Any] | None = None) -> None:
        self.program = program
        self.api = api
        self.home = root / "home"
        self.config = self.home / ".claude"
        self.work = root / "work"
        self.memory = self.home / ".throughline"
        self.config.mkdir(parents=True)
        self.work.mkdir()
        self.path = "/usr/local/bin:/usr/bin:/bin"
        self.settings = self.config / "settings.json"
        if settings is not None:
            self.settings.write_text(json.dumps(settings, indent=2))

    def environ(self) -> dict[str, str]:
        """All the client sees of the world."""
        return {
            "PATH": self.path,
            "HOME": str(self.home),
            "CLAUDE_CONFIG_DIR": str(self.config),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "sk-ant-fake-local",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        }

    def install(self, *arguments: str, action: str = "install") -> str:
        """Run our installer in this home."""
        environ = {**self.environ(), "PATH": f"{self.program.parent}:/usr/bin:/bin"}
        command = [
            getattr(sys, "_base_executable", sys.executable),
            "-S",
            "-E",
            str(HOOKS / "install.py"),
            action,
            *arguments,
        ]
        done = subprocess.run(
            command, check=False, env=environ, cwd=self.work, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def ask(
        self,
        prompt: str,
        *,
        resume: str = "",
        model: str = "claude-sonnet-4-5",
        mode: str = "bypassPermissions",
        more: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """One turn in a process of its own; the client's JSON result."""
        command = [
            str(self.program),
            "-p",
            "--output-format",
            "json",
            "--permission-mode",
            mode,
            "--model",
            model,
            *more,
        ]
        command += ["--resume", resume] if resume else []
        done = subprocess.run(
            [*command, prompt],
            check=False,
            env=self.environ(),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout.strip(), done.stderr
        return dict(json.loads(done.stdout))

    def rows(self, sql: str, *given: Any) -> list[tuple[Any, ...]]:
        """Rows of the session memory."""
        con = sqlite3.connect(self.memory / "throughline.db")
        try:
            return con.execute(sql, given).fetchall()
        finally:
            con.close()

    def transcript(self, session: str) -> str:
        """The client's own record of a session."""
        return next(self.config.glob(f"projects/*/{session}.jsonl")).read_text()

    def log(self) -> str:
        """What our hooks complained about."""
        file = self.memory / "hooks.log"
        return file.read_text() if file.exists() else ""

    def talk(
        self, prompts: list[str], *, model: str = "claude-sonnet-4-5", meanwhile: tuple[str, float] | None = None
    ) -> Talk:
        """Several turns in one process; `meanwhile` is typed so many seconds after the first prompt."""
        return Talk(self, prompts, model, meanwhile)


class Talk:
    """A conversation in one process; `results` are the client's result lines, one per prompt."""

    def __init__(
        self, client: Client, prompts: list[str], model: str, meanwhile: tuple[str, float] | None = None
    ) -> None:
        command = [
            str(client.program),
            "-p",
            "--input-format",
            "stream-json",
            "--output-format",
            "stream-json",
            "--verbose",
        ]
        command += ["--permission-mode", "bypassPermissions", "--model", model]
        self.results: list[dict[str, Any]] = []
        self.lines: list[dict[str, Any]] = []
        with subprocess.Popen(
            command,
            env=client.environ(),
            cwd=client.work,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for prompt in prompts:
                message = {"role": "user", "content": prompt}
                process.stdin.write(json.dumps({"type": "user", "message": message}) + "\n")
                process.stdin.flush()
                if meanwhile:
                    time.sleep(meanwhile[1])
                    typed = {"role": "user", "content": meanwhile[0]}
                    process.stdin.write(json.dumps({"type": "user", "message": typed}) + "\n")
                    process.stdin.flush()
                for line in process.stdout:
                    got = json.loads(line)
                    self.lines.append(got)
                    if got.get("type") == "result":
                        self.results.append(got)
                        break
            process.stdin.close()
            process.wait(timeout=30)

    @property
    def session(self) -> str:
        """The session's id at the end."""
        return str(self.results[-1]["session_id"])


def program() -> tuple[Path | None, str]:
    """(the client's binary, why there is none). Installed once per version into the system's temporary folder."""
    import platform
    import shutil
    import tempfile

    version = os.environ.get("CC_VER", "2.1.332")
    machine = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), "")
    if sys.platform != "linux" or not machine:
        return None, "the suite knows the client for Linux on x86-64 and arm64 only"
    package = f"@anthropic-ai/claude-code-linux-{machine}"
    root = Path(tempfile.gettempdir()) / f"lcm-lab-e2e-{version}"
    binary = root / "node_modules" / package / "claude"
    if not binary.exists():
        npm = shutil.which("npm")
        if npm is None:
            return None, "npm is not installed"
        root.mkdir(exist_ok=True)
        command = [npm, "install", "--prefix", str(root), "--no-audit", "--no-fund", "--silent", f"{package}@{version}"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600)
        if done.returncode or not binary.exists():
            return None, f"the client cannot be installed: {done.stderr.strip()[-200:]}"
    return binary, ""
