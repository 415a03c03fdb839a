"""What changes the memory: bringing finished sessions in, taking one out. Both are the hooks' own code.

Idea: ``hooks/upkeep.py`` does the work on a connection of the hooks; here it is told where the memory is, gets the
transcripts one by one, and each one's gain is read back the way every other view reads it.
Invariant: a dry run writes nothing; a transcript that cannot be read costs only itself.
Checked by ``tests/memory/test_keeping.py``.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from lcm_lab.errors import NotFound, Refused, StoreError
from lcm_lab.hooks import memory_db, threshold, upkeep
from lcm_lab.memory import look
from lcm_lab.memory.file import NAME, MemoryFile
from lcm_lab.memory.results import Forgotten, ImportedFile, ImportReport

Progress = Callable[[str, int, int], None]


def transcripts(given: Sequence[Path], config: Path) -> list[Path]:
    """The transcripts to import: those named, those below a folder that is named, or all of the client's own.

    Raises:
        NotFound: a path is not there, or there is no transcript at all.
    """
    if not given:
        found = sorted(threshold.recent_transcripts(config), key=lambda path: path.stat().st_mtime)
        if not found:
            raise NotFound(f"There is no transcript below {config / 'projects'}; name files or folders.")
        return found
    found = []
    for path in given:
        if path.is_dir():
            found += sorted(one for one in path.rglob("*.jsonl") if _is_main(one))
        elif path.is_file():
            found.append(path)
        else:
            raise NotFound(f"There is no transcript at {path}.")
    if not found:
        raise NotFound(f"There is no transcript (*.jsonl) below {', '.join(map(str, given))}.")
    return list(dict.fromkeys(path.resolve() for path in found))


def _is_main(path: Path) -> bool:
    return path.is_file() and "subagents" not in path.parts and not path.name.startswith("agent-")


def import_files(
    memory: Path, files: Iterable[Path], *, dry_run: bool = False, progress: Progress | None = None
) -> ImportReport:
    """Run transcripts through the hooks' code into the memory, which is made where there is none."""
    listed = list(files)
    total = sum(path.stat().st_size for path in listed)
    done = 0
    rows = []
    with _at_home(memory):
        for path in listed:
            if progress is not None:
                progress(path.stem[:8], done, total)
            rows.append(_one(memory, path, dry_run=dry_run))
            done += path.stat().st_size
        if progress is not None:
            progress("done", total, total)
    return ImportReport(memory, dry_run, tuple(rows))


def _one(memory: Path, path: Path, *, dry_run: bool) -> ImportedFile:
    try:
        if dry_run:
            return _imported(upkeep.import_file(None, str(path)), path)
        with closing(_connect(memory)) as con:
            found = upkeep.import_file(con, str(path))
            return _imported(found, path, con)
    except (OSError, ValueError, RecursionError, sqlite3.Error) as error:
        return ImportedFile(path, path.stem, 0, 0, 0, 0, 0, 0, 0, 0, f"{type(error).__name__}: {error}")


def _imported(found: upkeep.Imported, path: Path, con: sqlite3.Connection | None = None) -> ImportedFile:
    turns = look.turns(con, look.resolve(con, found.session_id)) if con is not None and found.turns else ()
    return ImportedFile(
        path=path,
        session_id=found.session_id,
        turns=found.turns,
        calls=found.calls,
        agents=found.agents,
        compactions=found.compactions,
        bad_lines=found.bad_lines,
        new_details=found.new_details,
        raw_tokens=sum(one.raw_tokens or 0 for one in turns),
        layer_tokens=sum(one.layer_tokens for one in turns),
        problem=None if found.turns else "no request of a user in it",
    )


def forget(memory: Path, session_id: str) -> Forgotten:
    """Delete one session, by its whole id, from an existing memory."""
    with _at_home(memory), closing(_connect(memory)) as con:
        return Forgotten(memory, session_id, upkeep.forget(con, session_id))


def _connect(memory: Path) -> sqlite3.Connection:
    try:
        return memory_db.connect(file=str(memory))
    except (sqlite3.Error, memory_db.NewerSchema) as error:
        raise StoreError(f"{memory} cannot be written to: {error}.") from error


@contextmanager
def _at_home(memory: Path) -> Iterator[None]:
    """The hooks' settings and log are those of the folder that the memory lies in."""
    if memory.name != NAME:
        raise Refused(f"{memory} is not called {NAME}: the hooks would not find it. Name its folder.")
    before = os.environ.get("THROUGHLINE_HOME")
    os.environ["THROUGHLINE_HOME"] = str(memory.parent)
    try:
        yield
    finally:
        if before is None:
            del os.environ["THROUGHLINE_HOME"]
        else:
            os.environ["THROUGHLINE_HOME"] = before


def count(file: MemoryFile, session_id: str) -> dict[str, Any]:
    """What a session holds, to say before it is deleted."""

    def at(reader: Any) -> dict[str, Any]:
        row = look.resolve(reader.connection, session_id)
        one = look.session(reader.connection, row)
        return {"session_id": one.session_id, "turns": one.turns, "details": one.details}

    return file.read(at)
