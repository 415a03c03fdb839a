"""``lcm-lab lab`` serves JupyterLab on the notebooks, and the first notebook runs in it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
import websocket

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def accepts(address: str) -> bool:
    """Whether somebody listens there."""
    host, _, port = address.partition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=1):
            return True
    except OSError:
        return False


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Address and token of a running server, in a home of its own."""
    folders = {
        name: str(tmp_path / name.lower())
        for name in (
            "HOME",
            "JUPYTER_CONFIG_DIR",
            "JUPYTER_RUNTIME_DIR",
            "JUPYTER_DATA_DIR",
            "IPYTHONDIR",
            "XDG_CACHE_HOME",
        )
    }
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("LCM_", "OPENCLAW_", "JUPYTER"))}
    command = [sys.executable, "-m", "lcm_lab", "lab", "--demo", "--no-browser", "--port", str(free_port())]
    log = (tmp_path / "log").open("w+")
    process = subprocess.Popen(
        command, env={**clean, **folders, "TZ": "UTC"}, stdout=log, stderr=log, start_new_session=True
    )
    try:
        for _ in range(300):
            found = re.search(r"http://(127\.0\.0\.1:\d+)/lab\S*token=(\w+)", (tmp_path / "log").read_text())
            if found and accepts(found[1]):  # the address is printed a moment before anybody listens
                yield f"http://{found[1]}", found[2]
                break
            assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        else:
            pytest.fail((tmp_path / "log").read_text())
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)
        log.close()


def ask(address: str, token: str, path: str, body: Any = None) -> Any:
    """The server's answer to a request."""
    request = urllib.request.Request(
        f"{address}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"token {token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read().decode()
        return json.loads(text) if "json" in answer.headers["Content-Type"] else text


def run(channel: websocket.WebSocket, code: str) -> dict[str, Any]:
    """The kernel's reply to a cell."""
    key = uuid.uuid4().hex
    header = {"msg_id": key, "msg_type": "execute_request", "username": "", "session": key, "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
    channel.send(
        json.dumps(
            {
                "header": header,
                "parent_header": {},
                "metadata": {},
                "content": content,
                "channel": "shell",
                "buffers": [],
            }
        )
    )
    while True:
        message = json.loads(channel.recv())
        if message["parent_header"].get("msg_id") == key and message["msg_type"] == "execute_reply":
            found: dict[str, Any] = message["content"]
            return found


def test_the_first_notebook_runs_in_the_served_lab(served: tuple[str, str]) -> None:
    address, token = served
    assert "<title>JupyterLab" in ask(address, token, f"/lab?token={token}")
    names = [one["name"] for one in ask(address, token, "/api/contents")["content"]]
    assert {"00_start_here.ipynb", "01_token_budget.ipynb", "02_summary_dag.ipynb"} <= set(names)
    session = {"path": "00_start_here.ipynb", "name": "00", "type": "notebook", "kernel": {"name": "python3"}}
    kernel = ask(address, token, "/api/sessions", session)["kernel"]["id"]
    notebook = nbformat.from_dict(ask(address, token, "/api/contents/00_start_here.ipynb")["content"])
    channel = websocket.create_connection(
        f"ws{address.removeprefix('http')}/api/kernels/{kernel}/channels?token={token}", timeout=60
    )
    try:
        replies = [run(channel, cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    finally:
        channel.close()
    assert [one["status"] for one in replies] == ["ok"] * len(replies), replies
