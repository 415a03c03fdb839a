"""JupyterLab as a person meets it: a server of its own on this machine, and a notebook open in a real browser."""

import json
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, Request, ViewportSize

FOLDERS = (
    "HOME",
    "JUPYTER_CONFIG_DIR",
    "JUPYTER_RUNTIME_DIR",
    "JUPYTER_DATA_DIR",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
    "IPYTHONDIR",
    "XDG_CACHE_HOME",
    "MPLCONFIGDIR",
    "TMPDIR",
)
EXPECTED = re.compile(r"Notebook is not trusted|Download the React DevTools|\[anywidget\] Failed to initialize model")
"""What JupyterLab says in the console whatever the notebook, and anywidget where a busy machine takes longer than the two
seconds it allows a widget to load in; the widget works nevertheless."""


_RUN = """() => {
    const cells = window.jupyterapp.shell.currentWidget.content.widgets.filter(
        cell => cell.model.type === 'code' && cell.model.sharedModel.source.trim());
    const outputs = cells.flatMap(cell => cell.model.sharedModel.outputs);
    const bad = outputs.filter(one => one.output_type === 'error' || one.name === 'stderr');
    if (bad.length) return JSON.stringify(bad[0]);
    const ran = cells.filter(cell => cell.model.executionCount && cell.model.executionState !== 'running');
    return ran.length === cells.length ? 'done' : '';
}"""
"""Whether all cells ran, or what one of them complained about."""


class Server:
    """JupyterLab on 127.0.0.1 with nothing of the user's: home, settings and runtime files lie in ``folder``."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.root = folder / "notebooks"
        self.scratch = folder / "tmpdir"
        self.token = secrets.token_hex(16)
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port = int(one.getsockname()[1])
        self._log = (folder / "server.log").open("w+")
        own = {name: str(folder / name.lower()) for name in FOLDERS}
        for one_folder in (*own.values(), str(self.root)):
            Path(one_folder).mkdir(exist_ok=True)
        _settings(Path(own["JUPYTERLAB_SETTINGS_DIR"]))
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("LCM_", "OPENCLAW_", "JUPYTER", "ANTHROPIC_", "XDG_", "PYTEST_"))
        }
        arguments = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"]
        arguments += [f"--port={self.port}", "--ServerApp.port_retries=0", f"--IdentityProvider.token={self.token}"]
        arguments += [f"--ServerApp.root_dir={self.root}", "--LabApp.news_url=", "--LabApp.expose_app_in_browser=True"]
        self._process = subprocess.Popen(
            arguments,
            env={**clean, **own, "TZ": "UTC", **env},
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        self._wait()

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """End the server and its kernels."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(20)
        self._log.close()

    def _wait(self) -> None:
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        self._log.seek(0)
        raise RuntimeError(f"JupyterLab did not start:\n{self._log.read()}")


class Book:
    """A notebook in a browser page; what the page asked for and complained about is kept."""

    def __init__(
        self, server: Server, browser: Browser, name: str, *, size: tuple[int, int] = (1400, 1000), dark: bool = False
    ) -> None:
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.dialogs: list[str] = []
        self._own = (f"{server.address}/", f"ws://127.0.0.1:{server.port}/", "data:", "blob:")
        context = browser.new_context(viewport=ViewportSize(width=size[0], height=size[1]))
        context.add_init_script(
            "window.addEventListener('unhandledrejection', e => console.error('rejected', e.reason))"
        )
        self.page: Page = context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("request", self._asked)
        self.page.on("websocket", lambda socket: self.requests.append(socket.url))
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)
        space = secrets.token_hex(4)
        self.page.goto(f"{server.address}/lab/workspaces/{space}/tree/{name}?reset&token={server.token}")
        self._idle()
        if dark:
            self.command("apputils:change-theme", {"theme": "JupyterLab Dark"})

    def command(self, name: str, arguments: dict[str, Any] | None = None) -> None:
        """Run a command of JupyterLab, as its menu would."""
        self.page.evaluate(
            "([name, more]) => { window.jupyterapp.commands.execute(name, more); }", [name, arguments or {}]
        )

    def run_all(self, timeout: float = 60.0) -> None:
        """Run all cells and wait for the last one; an error in one of them fails."""
        self.command("notebook:run-all-cells")
        found = self.page.wait_for_function(_RUN, timeout=timeout * 1000).json_value()
        assert found == "done", found
        self._idle()

    def button(self, name: str | re.Pattern[str], *, within: Locator | None = None) -> Locator:
        """The button that reads so."""
        return (within or self.page).get_by_role("button", name=name, exact=isinstance(name, str))

    def click(self, name: str | re.Pattern[str], *, within: Locator | None = None) -> None:
        """Click the button that reads so, once it can be."""
        self.button(name, within=within).click()

    def press(self, *keys: str) -> None:
        """Press keys, one after the other, wherever the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def panel_of(self, source: str) -> Locator:
        """The panel that the cell with this source shows."""
        at = self.page.evaluate(
            "text => window.jupyterapp.shell.currentWidget.content.widgets"
            ".findIndex(cell => cell.model.sharedModel.source.includes(text) && cell.outputArea)",
            source,
        )
        assert at >= 0, f"no cell has {source!r}"
        self.page.evaluate("at => window.jupyterapp.shell.currentWidget.content.scrollToItem(at, 'start')", at)
        cell = self.page.locator(f".jp-Cell[data-windowed-list-index='{at}']")
        panel = cell.locator(".lcm-message").first.locator("xpath=..")
        panel.wait_for()
        return panel

    def cells(self) -> int:
        """How many cells the notebook has; a key that JupyterLab took for a command would change it."""
        return int(self.page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets.length"))

    def problems(self) -> list[str]:
        """Requests that left this machine, errors in the console, and dialogs."""
        away = [url for url in self.requests if not url.startswith(self._own)]
        return [*(f"asked for {url}" for url in away), *self.complaints, *(f"dialog: {text}" for text in self.dialogs)]

    def close(self) -> None:
        """Shut the kernel down and close the page, without a question about saving."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget?.sessionContext?.shutdown()")
        self.page.context.close()

    def _idle(self) -> None:
        # "Run All" before the kernel is connected does nothing, without a word.
        status = self.page.locator("#jp-main-statusbar").get_by_text(re.compile(r"\| Idle"))
        status.first.wait_for(timeout=60_000)

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not EXPECTED.search(message.text):
            self.complaints.append(f"{message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()


def write_notebook(path: Path, cells: Sequence[str]) -> None:
    """A notebook of these code cells."""
    made = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": source}
        for i, source in enumerate(cells)
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    path.write_text(json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}), "utf-8")


def _settings(folder: Path) -> None:
    notification = folder / "@jupyterlab/apputils-extension/notification.jupyterlab-settings"
    notification.parent.mkdir(parents=True)
    notification.write_text('{"fetchNews": "false", "checkForUpdates": false}', "utf-8")
