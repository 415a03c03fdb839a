"""Lines of a file of any size, in memory that does not grow with the file.

Session files reach hundreds of megabytes, and one line can be most of it. Invariant: no function here ever holds more
than one line of :data:`LINE_LIMIT` bytes; a longer line is measured in chunks and reported by its size and its head.
Checked by the memory test of ``tests/sessions/test_lines.py``.
"""

import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from lcm_lab.errors import LcmLabError, NotFound

LINE_LIMIT: Final = 16 * 1024 * 1024
"""Longest line that is read, in bytes; lcm-tui draws its limit at the same place."""

MESSAGE_RULE: Final = 'lines that hold "type":"message"'
"""Name of the rule of :func:`count_messages`, for the head of a column."""

_CHUNK: Final = 1024 * 1024
_HEAD: Final = 4096
# The match runs to the end of its line, so that a line counts once however often it holds the mark.
_MESSAGE_LINE: Final = re.compile(rb'"type": ?"message"[^\n]*')
_MARK_LENGTH: Final = len(b'"type": "message"')


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line of a file.

    ``number`` counts from 1 and includes blank lines. ``size_bytes`` is without the line end. ``data`` is the line
    without its line end; None when it is longer than the limit, and then ``head`` holds its first 4,096 bytes.
    ``ended`` is False only for a last line without a line feed.
    """

    number: int
    size_bytes: int
    data: bytes | None
    head: bytes
    ended: bool


def raw_lines(stream: BinaryIO, *, limit: int = LINE_LIMIT) -> Iterator[RawLine]:
    """The lines of ``stream`` in order; a line over ``limit`` bytes comes without its data."""
    number = 0
    while part := stream.readline(limit + 1):
        number += 1
        ended = part.endswith(b"\n")
        head = part[:_HEAD]
        if ended or len(part) <= limit:
            data = part.rstrip(b"\r\n") if ended else part
            del part
            yield RawLine(number, len(data), data, head, ended)
            continue
        size = len(part)
        while not ended and (part := stream.readline(_CHUNK)):
            size += len(part)
            ended = part.endswith(b"\n")
        yield RawLine(number, size - ended, None, head, ended)


def count_messages(path: Path) -> int | None:
    """Number of message lines in the file at ``path``; None when it cannot be read.

    The rule is lcm-tui's: a line counts when it holds the bytes ``"type":"message"`` or ``"type": "message"``
    anywhere. So a nested match counts, and so does a damaged line. Unlike lcm-tui, a line over 16 MiB counts as well.
    """
    try:
        with open_regular(path, buffering=0) as stream:
            return _count_in(stream)
    except LcmLabError:
        return None


def _count_in(stream: BinaryIO) -> int:
    total = 0
    tail = b""  # end of the open line, where half a mark may stand
    counted = False  # the open line has been counted
    while chunk := stream.read(_CHUNK):
        data = tail + chunk
        start = 0
        if counted:
            start = data.find(b"\n") + 1
            if not start:
                tail = b""
                continue
        end_of_match = -1
        for found in _MESSAGE_LINE.finditer(data, start):
            total += 1
            end_of_match = found.end()
        counted = end_of_match == len(data)
        tail = b"" if counted else data[max(data.rfind(b"\n") + 1, len(data) - _MARK_LENGTH + 1) :]
    return total


@contextmanager
def open_regular(path: Path, *, buffering: int = _CHUNK) -> Iterator[BinaryIO]:
    """The file at ``path``, open for reading bytes; read errors inside the block are ours, too.

    Raises:
        NotFound: there is nothing at the path, or something that is no file (a pipe would block for ever).
        LcmLabError: the system refuses to read it; the message says why.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise NotFound(f"{path} is not a file.")
        with path.open("rb", buffering=buffering) as stream:
            yield stream
    except FileNotFoundError as error:
        raise NotFound(f"There is no session file at {path}.") from error
    except (OSError, ValueError) as error:
        raise LcmLabError(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error
