"""Starting out: what is on this machine, and JupyterLab on the notebooks."""

import os
import shlex
import sys
from typing import TYPE_CHECKING

import click

from lcm_lab.cli.options import Settings, command

if TYPE_CHECKING:
    from pathlib import Path

    from lcm_lab.lab import Lab


def lab_or_none(settings: Settings) -> "tuple[Lab | None, Path]":
    """The Lab and its state folder; no Lab where this machine has no store and none was asked for."""
    from lcm_lab.errors import StoreMissing
    from lcm_lab.places import store_path
    from lcm_lab.sessions.state import state_dir

    try:
        lab = settings.open()
    except StoreMissing:
        if settings.db or store_path()[1] not in ("the default place", "OPENCLAW_STATE_DIR"):
            raise
        return None, state_dir()
    return lab, lab.state_dir


def greet(settings: Settings) -> None:
    """Say what was found on this machine and what to do next."""
    from lcm_lab import roster
    from lcm_lab.errors import LcmLabError

    lab, folder = lab_or_none(settings)
    if settings.as_json:
        found = roster.agents(folder)
        settings.show(found)
        return
    if lab is None:
        click.echo(f"No LCM store at {folder / 'lcm.db'}.")
        click.echo(f"Agents in {folder}: {len(roster.agents(folder).agents)}.")
        click.echo("Next:\n  lcm-lab --demo info       look at the demo store")
        click.echo("  lcm-lab --db PATH info    open a store elsewhere")
        return
    click.echo(f"Store: {lab.store.given} (chosen by {lab.chosen_by})")
    try:
        rows = lab.conversations(limit=3)
        latest = ", ".join(str(one.conversation.conversation_id) for one in rows.rows)
        click.echo(f"Conversations: {rows.total}; the latest: {latest or 'none'}.")
    except LcmLabError as error:
        click.echo(f"It cannot be read: {error}")
        return
    click.echo(f"Agents in {folder}: {len(lab.agents().agents)}.")
    first = rows.rows[0].conversation.conversation_id if rows.rows else "CONV"
    demo = " --demo" if settings.demo else f" --db {shlex.quote(settings.db)}" if settings.db else ""
    click.echo("Next:")
    for words, what in (
        ("conversations", "what is in the store"),
        (f"budget {first}", "where the tokens of a conversation go"),
        ("check", "what is wrong"),
        ("lab", "the notebooks"),
    ):
        click.echo(f"  lcm-lab{demo} {words:<16}{what}")


@command("lab")
@click.option("--port", type=int, default=8888, show_default=True, help="First port to try.")
@click.option("--no-browser", is_flag=True, help="Do not open a browser; print the address.")
@click.option("--notebook", default="00_start_here.ipynb", show_default=True, help="The notebook to open.")
def lab(settings: Settings, port: int, no_browser: bool, notebook: str) -> None:  # noqa: FBT001
    """Open JupyterLab on the notebooks, with this store (or the demo store)."""
    from lcm_lab import places
    from lcm_lab.errors import NotFound

    opened, _ = lab_or_none(settings)
    env = dict(os.environ)
    if opened is None:
        click.echo("No store on this machine: the notebooks use the demo store.", err=True)
        env.pop("LCM_LAB_DB", None)
    else:
        env["LCM_LAB_DB"] = str(opened.store.path)
    if settings.tz:
        env["LCM_LAB_TZ"] = settings.tz
    folder = places.notebooks()
    if not (folder / notebook).is_file():
        raise NotFound(f"There is no notebook {notebook} in {folder}.")
    if opened is not None:
        click.echo(f"Store: {opened.store.given}", err=True)
    arguments = [
        sys.executable,
        "-m",
        "jupyterlab",
        f"--ServerApp.root_dir={folder}",
        f"--port={port}",
        f"--LabApp.default_url=/lab/tree/{notebook}",
        "--LabApp.news_url=",
    ]
    if no_browser:
        arguments.append("--no-browser")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    click.echo(f"Notebooks: {folder}", err=True)
    os.execve(sys.executable, arguments, env)  # noqa: S606  (our own interpreter)
