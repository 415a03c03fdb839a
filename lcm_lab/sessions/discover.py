"""The session files of one agent: found, deduplicated, ordered, and counted a page at a time.

Two files can belong to one session (``<id>.jsonl`` and ``<id>-topic-7.jsonl`` with the same id in their headers); the
list shows one row for them, and names the files behind it. Invariant: every live file is in exactly one place: a row,
the duplicates of a row, or the hidden ones, and counting messages, which reads whole files, is done only for the page
asked for. Checked by ``tests/sessions/test_discover.py``.
"""

import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from lcm_lab.errors import LcmLabError, NotFound, UsageError
from lcm_lab.sessions.jsonl import header_session_id, read
from lcm_lab.sessions.lines import count_messages, open_regular

FILE_ESTIMATE: Final = "file size / 4"
"""Name of the rule behind :attr:`SessionFile.estimated_tokens`: lcm-tui's, JSON and all, rounded down."""

PAGE_SIZE: Final = 50

_HEADER_LIMIT: Final = 1024 * 1024
_TOPIC: Final = re.compile(r"(?P<base>.*\S.*)-topic-(?P<number>[0-9]+)", re.DOTALL)
# A warm-up is a question, an answer and some settings: it is short, and its question comes early.
_WARMUP: Final = "Warmup"
_WARMUP_LARGEST: Final = 256 * 1024
_WARMUP_WITHIN: Final = 16 * 1024
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class HasPath(Protocol):
    """Anything with the path of an agent's folder, such as :class:`lcm_lab.sessions.state.Agent`."""

    @property
    def path(self) -> Path:
        """The agent's folder."""


@dataclass(frozen=True, slots=True)
class SessionFile:
    """One session file, as a row of the list.

    ``stem`` is the file name without ``.jsonl``; ``session_id`` the id in its header, else the stem. ``modified`` is in
    UTC. ``messages`` counts by :data:`lcm_lab.sessions.lines.MESSAGE_RULE`, None when the file cannot be read.
    ``estimated_tokens`` is by :data:`FILE_ESTIMATE`. A stem ``<base>-topic-<digits>`` gives ``topic_base`` and
    ``topic``, other stems None. ``duplicates`` are the files of the same session that this one stands for.
    ``hidden_as`` is why the row is left out unless asked for ("agent file", "warm-up"), else None.
    """

    path: Path
    stem: str
    session_id: str
    modified: datetime
    modified_ns: int
    size_bytes: int
    messages: int | None = None
    topic_base: str | None = None
    topic: str | None = None
    duplicates: tuple[Path, ...] = ()
    hidden_as: str | None = None

    @property
    def estimated_tokens(self) -> int:
        """A quarter of the size in bytes, rounded down."""
        return self.size_bytes // 4


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last row of a page, which the next page starts behind, even if files came and went in between."""

    modified_ns: int
    name: str


@dataclass(frozen=True, slots=True)
class SessionPage:
    """A page of an agent's sessions, newest first.

    ``total`` counts the rows of all pages, ``hidden`` the rows left out, ``duplicates`` the files folded into others.
    ``next`` is the cursor of the following page, None on the last. ``problem`` says why a folder could not be listed.
    """

    files: tuple[SessionFile, ...]
    total: int
    hidden: int
    duplicates: int
    reset_files: int
    deleted_files: int
    next: Cursor | None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A live ``*.jsonl`` file as the folder lists it; ``modified_ns`` in nanoseconds since 1970, UTC."""

    path: Path
    modified_ns: int
    size_bytes: int

    @property
    def stem(self) -> str:
        """The name without ``.jsonl``, fit for printing and for comparison with text in a store."""
        return os.fsencode(self.path.name.removesuffix(".jsonl")).decode(errors="replace")


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """What lies in an agent's ``sessions`` folder. ``problem`` is None also when there is no such folder."""

    live: tuple[LiveFile, ...] = ()
    reset_files: int = 0
    deleted_files: int = 0
    problem: str | None = None


def folder(agent_dir: Path) -> SessionFolder:
    """The files directly in the ``sessions`` folder of ``agent_dir``, without what is no file or cannot be stat'ed."""
    path = agent_dir / "sessions"
    live: list[LiveFile] = []
    reset = deleted = 0
    try:
        with os.scandir(path) as listing:
            for one in listing:
                reset += ".jsonl.reset." in one.name
                deleted += ".jsonl.deleted." in one.name
                if one.name.endswith(".jsonl") and (found := _live(one)):
                    live.append(found)
    except FileNotFoundError:
        return SessionFolder()
    except (OSError, ValueError) as error:
        return SessionFolder(problem=f"Cannot list {path}: {getattr(error, 'strerror', None) or error}.")
    return SessionFolder(tuple(live), reset, deleted)


def sessions(
    agent: HasPath | Path,
    *,
    limit: int = PAGE_SIZE,
    cursor: Cursor | None = None,
    show_hidden: bool = False,
) -> SessionPage:
    """A page of the sessions of ``agent`` (its row, or the path of its folder), newest first, then by name.

    Files named ``agent-*.jsonl`` (sub-agents of another client) and sessions whose only user text is "Warmup" are left
    out and counted unless ``show_hidden``. A warm-up is recognised in files up to 256 KB that say so in the first 16.

    Raises:
        UsageError: a ``limit`` below 1.
    """
    if limit < 1:
        raise UsageError(f"A page holds at least 1 session, not {limit}.")
    listed = folder(agent if isinstance(agent, Path) else agent.path)
    rows, hidden, duplicates = _rows(listed.live, show_hidden=show_hidden)
    behind = rows if cursor is None else [one for one in rows if _order(one) > (-cursor.modified_ns, cursor.name)]
    shown = [replace(one, messages=count_messages(one.path)) for one in behind[:limit]]
    more = len(behind) > limit
    return SessionPage(
        files=tuple(shown),
        total=len(rows),
        hidden=hidden,
        duplicates=duplicates,
        reset_files=listed.reset_files,
        deleted_files=listed.deleted_files,
        next=Cursor(shown[-1].modified_ns, shown[-1].path.name) if more else None,
        problem=listed.problem,
    )


def find(agent: HasPath | Path, name: str) -> SessionFile:
    """The session whose file name, stem or header id is ``name``, hidden or not; a duplicate leads to its row.

    Raises:
        NotFound: no such session.
    """
    path = agent if isinstance(agent, Path) else agent.path
    stem = name.removesuffix(".jsonl")
    rows, _, _ = _rows(folder(path).live, show_hidden=True)
    for matches in (
        lambda one: one.stem == stem,
        lambda one: one.session_id == name,
        lambda one: any(other.name == f"{stem}.jsonl" for other in one.duplicates),
    ):
        for one in rows:
            if matches(one):
                return replace(one, messages=count_messages(one.path))
    raise NotFound(f"There is no session {name!r} in {path / 'sessions'}.")


def _live(one: "os.DirEntry[str]") -> LiveFile | None:
    try:
        status = one.stat()
    except OSError:
        return None
    return LiveFile(Path(one.path), status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else None


def _rows(live: Iterable[LiveFile], *, show_hidden: bool) -> tuple[list[SessionFile], int, int]:
    """All rows in order without their message counts, the number hidden, and the number folded into others."""
    groups: dict[str, list[SessionFile]] = {}
    hidden = folded = 0
    for file in live:
        row = _row(file)
        if row.hidden_as is not None and not show_hidden:
            hidden += 1
            continue
        groups.setdefault(row.session_id, []).append(row)
    rows = []
    for group in groups.values():
        group.sort(key=lambda one: (one.topic is None, -one.modified_ns, -one.size_bytes, one.path.name))
        folded += len(group) - 1
        rows.append(replace(group[0], duplicates=tuple(one.path for one in group[1:])) if group[1:] else group[0])
    return sorted(rows, key=_order), hidden, folded


def _order(one: SessionFile) -> tuple[int, str]:
    return (-one.modified_ns, one.path.name)


def _row(file: LiveFile) -> SessionFile:
    first_line, start = _beginning(file)
    topic = _TOPIC.fullmatch(file.stem)
    hidden_as = None
    if file.stem.startswith("agent-"):
        hidden_as = "agent file"
    elif file.size_bytes <= _WARMUP_LARGEST and _WARMUP.encode() in start and _is_warmup(file.path):
        hidden_as = "warm-up"
    return SessionFile(
        path=file.path,
        stem=file.stem,
        session_id=header_session_id(first_line) or file.stem,
        modified=_moment(file.modified_ns),
        modified_ns=file.modified_ns,
        size_bytes=file.size_bytes,
        topic_base=topic["base"] if topic else None,
        topic=topic["number"] if topic else None,
        hidden_as=hidden_as,
    )


def _beginning(file: LiveFile) -> tuple[bytes, bytes]:
    """The first line that is not blank, and the first 16 KB; both empty when the file cannot be read."""
    try:
        with open_regular(file.path, buffering=_WARMUP_WITHIN) as stream:
            start = stream.read(_WARMUP_WITHIN)
            line, feed, _ = start.lstrip().partition(b"\n")
            if not feed and len(start) == _WARMUP_WITHIN:
                # A header longer than the first read, or nothing but blank so far: on to the limit.
                line, feed, _ = (start + stream.read(_HEADER_LIMIT - len(start) + 1)).lstrip().partition(b"\n")
            return (line if feed or len(line) < _HEADER_LIMIT else b""), start
    except LcmLabError:
        return b"", b""


def _is_warmup(path: Path) -> bool:
    try:
        texts = {one.text for one in read(path) if one.kind == "message" and one.role == "user"}
    except LcmLabError:
        return False
    return texts == {_WARMUP}


def _moment(modified_ns: int) -> datetime:
    try:
        return _EPOCH + timedelta(microseconds=modified_ns // 1000)
    except OverflowError:  # a file system can hold years that datetime cannot
        return datetime.max.replace(tzinfo=UTC) if modified_ns > 0 else datetime.min.replace(tzinfo=UTC)
