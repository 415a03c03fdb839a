"""The beginning of a stored payload, to look at.

The place is looked up again for each reading (what was inside the folder a minute ago may be a link now), the file is
opened without following a link in its last step, and no more is read than is shown. Checked by
``tests/store/test_payload_text.py``.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lcm_lab.errors import NotFound, Refused
from lcm_lab.store import payloads
from lcm_lab.store.rows import LargeFile

FIRST: Final = 64 * 1024
"""Bytes that are shown at first."""


@dataclass(frozen=True, slots=True)
class Opening:
    """How a payload begins: ``text`` of the first ``read`` bytes of ``size``; ``binary`` where it is no text."""

    path: Path
    text: str
    read: int
    size: int
    binary: bool


def opening(store: Path, file: LargeFile, *, first: int = FIRST) -> Opening:
    """How the payload of ``file`` begins.

    Raises:
        NotFound: it is not stored. Refused: it lies outside the store's own folder, or cannot be read.
    """
    found = payloads.locate(store, file)
    if found.path is None:
        if found.state == "outside":
            raise Refused(f"The payload of {file.file_id} lies outside the store's folder, so it is not opened.")
        raise NotFound(f"The payload of {file.file_id} is not in the store's folder.")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(found.path, flags)
        with os.fdopen(descriptor, "rb") as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Refused(f"{found.path} is not a file.")
            data = stream.read(first)
    except OSError as error:
        raise Refused(f"The payload at {found.path} cannot be read: {error.strerror or error}.") from error
    binary = b"\0" in data
    text = data.hex(" ", 4) if binary else data.decode("utf-8", "replace")
    return Opening(found.path, text, len(data), status.st_size, binary)
