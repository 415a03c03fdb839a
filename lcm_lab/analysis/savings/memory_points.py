"""What the hooks would have had to say at each point of a session: their own code, run on the transcript as it grew.

Idea: nothing of the hooks is imitated. The transcript is copied piece by piece into a folder of its own,
``ingest.catch_up`` takes in what is new as it does at every Stop and PreCompact, and ``block`` gathers and lays out
what SessionStart would hand out. This is done where a turn begins and every few requests within one; a compaction in
between gets the newest one before it, so a block here is at most :data:`EVERY` requests older than the hooks' would be.
Invariant: nothing outside the temporary folder is read or written but the transcript itself. Checked by
``tests/analysis/savings/test_memory_points.py``.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from lcm_lab.analysis.savings.references import Known
from lcm_lab.analysis.savings.session import Layers, MemoryPoint, Request
from lcm_lab.hooks import block, classifier, ingest, memory_db, memory_read
from lcm_lab.hooks.token_estimator import estimate

if TYPE_CHECKING:
    import sqlite3

EVERY: Final = 20
MOST: Final = 400
"""Points of one session; a longer one is looked at less often."""

_SESSION: Final = "replayed"


def points_at(requests: Sequence[Request]) -> list[int]:
    """The requests before which the memory is looked at: each turn's first, and every few behind it."""
    found = []
    last = -1
    for i, request in enumerate(requests):
        if i and (request.turn != requests[i - 1].turn or i - last >= EVERY or request.boundary):
            found.append(i)
            last = i
    return found[:: -(-len(found) // MOST)] if found else found


def build(path: Path, requests: Sequence[Request], offsets: Sequence[int]) -> tuple[list[MemoryPoint], Known, Layers]:
    """The points with their texts; ``offsets`` are the places in the file where the requests' answers begin."""
    points: list[MemoryPoint] = []
    known = Known({}, {}, {})
    blocks: dict[int, str] = {}
    with TemporaryDirectory(prefix="lcm-lab-") as name, _at_home(name):
        copy = Path(name) / f"{_SESSION}.jsonl"
        with closing(memory_db.connect(file=str(Path(name) / "throughline.db"))) as con, path.open("rb") as source:
            memory_db.ensure_session(con, _SESSION, "/project", str(copy))
            with copy.open("wb") as target:
                written = 0
                for i in points_at(requests):
                    target.write(source.read(offsets[i] - written))
                    target.flush()
                    written = offsets[i]
                    ingest.catch_up(con, _SESSION, str(copy))
                    made, blocks[i] = _point(con, i)
                    points.append(made)
                target.write(source.read())
            ingest.catch_up(con, _SESSION, str(copy), final=True)
            known = Known(blocks, _line_texts(con), _detail_texts(con))
            layers = _layers(con)
    return points, known, layers


def _point(con: "sqlite3.Connection", request: int) -> tuple[MemoryPoint, str]:
    material = block.gather(con, _SESSION)
    made = block.lay_out(material, _SESSION, "00000000")
    text = "\n".join(made.parts)
    return MemoryPoint(request, estimate(text), _sizes(material)), text


def _sizes(material: block.Material) -> tuple[tuple[int, int, int], ...]:
    """(turn, tokens of L1, tokens of L2) of what the block may hold."""
    l1: dict[int, int] = {}
    l2: dict[int, int] = {}
    for item in material.skeletons:
        l1[item.turn] = l1.get(item.turn, 0) + estimate(f"{item.turn}. {item.text}")
    for item in (*material.strong, *material.notes, *material.resolved):
        l2[item.turn] = l2.get(item.turn, 0) + estimate(f"- {item.text}")
    return tuple((turn, l1.get(turn, 0), l2.get(turn, 0)) for turn in sorted(l1.keys() | l2.keys()))


def _line_texts(con: "sqlite3.Connection") -> dict[int, str]:
    found = {one.number: one.summary or "" for one in memory_read.turns(con, _SESSION)}
    for one in memory_read.judgments(con, _SESSION):
        if classifier.injected(one.category, one.confidence):
            found[one.turn_number] = f"{found.get(one.turn_number, '')}\n{one.content}"
    return found


def _detail_texts(con: "sqlite3.Connection") -> dict[int, str]:
    found = {}
    for turn in memory_read.turns(con, _SESSION):
        rows = memory_read.details(con, _SESSION, turn.number)
        found[turn.number] = "\n".join(f"{row.input}\n{row.output or ''}" for row in rows)
    return found


def _layers(con: "sqlite3.Connection") -> Layers:
    turns = memory_read.turns(con, _SESSION)
    judged = memory_read.judgments(con, _SESSION)
    return Layers(
        turns=len(turns),
        l1=sum(estimate(one.summary or "") for one in turns),
        l2=sum(estimate(one.content) for one in judged),
        l2_lines=len(judged),
        raw=sum(one.raw_tokens or 0 for one in turns),
    )


def _usual_command(session_id: str, what: str = "") -> str:
    place = "/home/user/.local/lib/python3.12/site-packages/lcm_lab/hooks/lookup.py"
    session_id = f"{session_id:0<36}"  # as long as a real one
    words = ("/usr/bin/python3", "-S", "-E", place, what, "--session", session_id)
    return " ".join(word for word in words if word)


@contextmanager
def _at_home(folder: str) -> Iterator[None]:
    """The hooks keep their settings and their log there; the user's own are not touched.

    The look-up command in a block is that of a usual place: its length would else be that of this machine's paths.
    """
    before, command = os.environ.get("THROUGHLINE_HOME"), block.command
    os.environ["THROUGHLINE_HOME"] = folder
    block.command = _usual_command
    try:
        yield
    finally:
        block.command = command
        if before is None:
            del os.environ["THROUGHLINE_HOME"]
        else:
            os.environ["THROUGHLINE_HOME"] = before
