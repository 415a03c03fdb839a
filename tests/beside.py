"""Another process that works on the same store while a test does."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def process(script: str, path: Path, told: dict[str, Any]) -> Iterator[None]:
    """Run a script on ``path`` until the block ends.

    It prints ``ready``, works until its standard input is closed, and prints what it saw as JSON, which goes into
    ``told``.
    """
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    try:
        yield
    finally:
        out, _ = other.communicate("", timeout=60)
        told.update(json.loads(out))
