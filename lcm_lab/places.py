"""Where things are on this machine: the store to open, the demo store, and the notebooks to work in."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from lcm_lab.errors import LcmLabError
from lcm_lab.sessions.state import state_dir

HERE: Final = Path(__file__).resolve().parent
MEMORY_FILE: Final = "throughline.db"
"""The session memory within its folder, as the hooks call it (a test compares them)."""


def store_path(given: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> tuple[Path, str]:
    """The store to open and what chose it: the argument, ``LCM_LAB_DB``, ``LCM_DATABASE_PATH``, the state folder."""
    env = os.environ if env is None else env
    if given is not None and str(given).strip():
        return Path(given), "--db"
    for name in ("LCM_LAB_DB", "LCM_DATABASE_PATH"):
        if env.get(name, "").strip():
            return Path(env[name].strip()), name
    by = "OPENCLAW_STATE_DIR" if env.get("OPENCLAW_STATE_DIR", "").strip() else "the default place"
    return state_dir(env) / "lcm.db", by


def demo_store() -> Path:
    """The demo store; built on first use, and again when the text it is made from has changed."""
    from platformdirs import user_cache_path

    from lcm_lab.data import demo_store as builder

    # A folder for each version of the text: a newer lcm-lab builds beside what somebody may have worked on.
    folder = user_cache_path("lcm-lab") / f"demo-{builder.content_version()[:10]}"
    try:
        return builder.build(folder)
    except OSError as error:
        raise LcmLabError(f"The demo store cannot be built in {folder}: {error.strerror or error}.") from error


def memory_path(given: str | os.PathLike[str] | None = None, env: Mapping[str, str] | None = None) -> tuple[Path, str]:
    """The session memory to open and what chose it: the argument (folder or file), ``THROUGHLINE_HOME``, or neither."""
    env = os.environ if env is None else env
    if given is not None and str(given).strip():
        path, by = expanded(given), "--db"
    elif env.get("THROUGHLINE_HOME", "").strip():
        path, by = expanded(env["THROUGHLINE_HOME"].strip()), "THROUGHLINE_HOME"
    else:
        path, by = expanded("~/.throughline"), "the default place"
    is_file = path.is_file() or (path.suffix == ".db" and not path.is_dir())
    return (path if is_file else path / MEMORY_FILE), by


def demo_memory() -> Path:
    """The demo memory; built on first use by the hooks themselves, and again when its story or the hooks changed."""
    from platformdirs import user_cache_path

    from lcm_lab.data import memory_demo as builder

    folder = user_cache_path("lcm-lab") / f"demo-memory-{builder.content_version()[:10]}"
    try:
        return builder.build(folder)
    except OSError as error:
        raise LcmLabError(f"The demo memory cannot be built in {folder}: {error.strerror or error}.") from error


def expanded(given: str | os.PathLike[str]) -> Path:
    """A path with ``~`` as the folder it stands for.

    Raises:
        LcmLabError: ``~`` names nobody of this machine.
    """
    try:
        return Path(given).expanduser()
    except RuntimeError:
        raise LcmLabError(f"{os.fspath(given)}: there is no such home folder on this machine.") from None


def is_checkout() -> bool:
    """Whether this package runs from a checkout, where the notebooks are the ones under version control."""
    return (HERE.parent / "pyproject.toml").is_file() and (HERE / "notebooks").is_symlink()


def notebooks() -> Path:
    """The folder of notebooks to open: the checkout's own, else a working copy that keeps what the user changed.

    From a wheel each notebook is copied once into the user's documents folder for lcm-lab; an existing one is left.
    """
    shipped = (HERE / "notebooks").resolve()
    if is_checkout():
        return shipped
    from platformdirs import user_documents_path

    folder = user_documents_path() / "lcm-lab-notebooks"
    folder.mkdir(parents=True, exist_ok=True)
    for one in sorted(shipped.glob("*.ipynb")):
        if not (folder / one.name).exists():
            shutil.copyfile(one, folder / one.name)
    return folder
