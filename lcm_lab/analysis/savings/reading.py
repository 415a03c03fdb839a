"""Files of sessions into numbers: which reader takes which file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from lcm_lab.analysis.savings import memory_points, other_sessions, references
from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.session import Session

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


def read_all(paths: Sequence[Path], *, progress: Progress | None = None) -> list[Session]:
    """Every file, in the order given; files without a request of a model are left out."""
    sizes = {path: path.stat().st_size for path in paths}
    total = sum(sizes.values())
    done = 0
    found: list[tuple[Session, Path]] = []
    for path in paths:
        session = read(path)
        if session.requests:
            found.append((session, path))
        done += sizes[path]
        if progress is not None:
            progress("reading", done, total)
    return _unlike([session for session, _ in found], [path for _, path in found])


def _unlike(sessions: list[Session], paths: Sequence[Path]) -> list[Session]:
    """Names that tell the sessions apart."""
    names = [one.name for one in sessions]
    return [
        replace(one, name=f"{path.parent.name}/{one.name}") if names.count(one.name) > 1 else one
        for one, path in zip(sessions, paths, strict=True)
    ]
