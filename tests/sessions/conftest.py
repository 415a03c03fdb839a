"""Where the tests of the sessions room find real data, and how they make their own."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[..., Path]


@pytest.fixture
def shared() -> Path:
    """The folder of real session files, which is no part of the product."""
    root = Path(os.environ.get("LCM_LAB_SHARED") or Path(__file__).parents[3] / "shared")
    if not (root / "openclaw").is_dir():
        pytest.skip(f"no real sessions at {root}: set LCM_LAB_SHARED to their folder")
    return root


@pytest.fixture
def state_copy(shared: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A function that copies one of the real state folders to a place of our own and returns that place."""

    def copy(name: str) -> Path:
        return Path(shutil.copytree(shared / "openclaw" / name, tmp_path / name))

    return copy


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A function that writes a session file: dicts become JSON lines, text and bytes stand as they are."""

    def write_file(*lines: object, name: str = "s.jsonl", end: bytes = b"\n") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = [
            one if isinstance(one, bytes) else one.encode() if isinstance(one, str) else json.dumps(one).encode()
            for one in lines
        ]
        path.write_bytes(b"\n".join(raw) + (end if raw else b""))
        return path

    return write_file
