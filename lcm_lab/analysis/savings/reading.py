"""Files of sessions into numbers: which reader takes which file, on both cores where there is much to read."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from lcm_lab.analysis.savings import memory_points, other_sessions, references
from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.session import Session

MUCH: Final = 6 << 20
"""Bytes from which a second process is worth its start."""

Progress = Callable[[str, int, int], None]


def read(path: Path) -> Session:
    """One file as a session of numbers, its memory and its references included."""
    if other_sessions.is_other(path):
        return other_sessions.read(path)
    reading = Reading(path).run()
    gathered = reading.gathered
    session = gathered.session(bad_lines=reading.bad_lines)
    if not session.requests:
        return session
    points, known, layers = memory_points.build(path, session.requests, gathered.offsets)
    found = references.find(session, gathered.texts, known)
    return replace(session, memory=tuple(points), references=found, layers=layers)


def read_all(paths: Sequence[Path], *, progress: Progress | None = None, processes: int = 2) -> list[Session]:
    """Every file, in the order given; files without a request of a model are left out."""
    sizes = {path: path.stat().st_size for path in paths}
    total = sum(sizes.values())
    done = 0
    found: dict[Path, Session] = {}

    def advance(path: Path, session: Session) -> None:
        nonlocal done
        found[path] = session
        done += sizes[path]
        if progress is not None:
            progress("reading", done, total)

    if total >= MUCH and processes > 1 and len(paths) > 1:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
            waiting = {pool.submit(read, path): path for path in sorted(paths, key=lambda p: -sizes[p])}
            for one in as_completed(waiting):
                advance(waiting[one], one.result())
    else:
        for path in paths:
            advance(path, read(path))
    named = [found[path] for path in paths if found[path].requests]
    return _unlike(named, [path for path in paths if found[path].requests])


def _unlike(sessions: list[Session], paths: Sequence[Path]) -> list[Session]:
    """Names that tell the sessions apart."""
    names = [one.name for one in sessions]
    return [
        replace(one, name=f"{path.parent.name}/{one.name}") if names.count(one.name) > 1 else one
        for one, path in zip(sessions, paths, strict=True)
    ]
