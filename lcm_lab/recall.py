"""The Memory: what a notebook and the command line hold for the session memory of Claude Code, as the Lab for a store.

Opening one touches nothing; each method is one consistent look at the database, over when it returns, and gives plain
frozen results. What changes the memory (import, forget) goes through the hooks' own code.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lcm_lab import places, times
from lcm_lab.errors import NotFound, Refused

if TYPE_CHECKING:
    import sqlite3

    import pandas as pd

    from lcm_lab.memory.frames import MemoryFrames
    from lcm_lab.memory.results import (
        BlockView,
        Forgotten,
        Hits,
        ImportReport,
        Injections,
        Judgments,
        MemoryExport,
        Sessions,
        Stats,
        Turns,
        TurnView,
    )

T = TypeVar("T")
DEMO = "the demo memory"


def open_memory(path: str | os.PathLike[str] | None = None, *, tz: str | None = None, demo: bool = False) -> "Memory":
    """The session memory at ``path`` (its folder or file), else the one ``THROUGHLINE_HOME`` names, else the user's.

    ``tz`` names the zone all times are shown in; without it ``LCM_LAB_TZ`` does, else it is the machine's own.

    Raises:
        UnknownZone: no such zone. StoreMissing, NotAStore: nothing to open at the path.
    """
    found = closed_memory(path, tz=tz, demo=demo)
    found.file.stamp()
    return found


def closed_memory(path: str | os.PathLike[str] | None = None, *, tz: str | None = None, demo: bool = False) -> "Memory":
    """As :func:`open_memory`, but the memory need not be there yet: an import makes it."""
    zone = times.zone(tz or os.environ.get("LCM_LAB_TZ"))
    if demo:
        return Memory(places.demo_memory(), zone, chosen_by=DEMO)
    found, by = places.memory_path(path)
    return Memory(found, zone, chosen_by=by)


def notebook_memory(path: str | os.PathLike[str] = "") -> "Memory":
    """What a notebook works on: the memory at ``path``, else the one ``THROUGHLINE_HOME`` names, else the demo."""
    if str(path).strip() or os.environ.get("THROUGHLINE_HOME", "").strip():
        return open_memory(path)
    return open_memory(demo=True)


class Memory:
    """A session memory, a zone, and everything that can be asked of them.

    Sessions are named by their id or its beginning; None is the newest one.

    Raises (all methods): StoreError and its kin when the memory cannot be read, NotFound for what is not there.
    """

    def __init__(self, path: Path, zone: times.Zone, *, chosen_by: str = "--db") -> None:
        from lcm_lab.memory.file import MemoryFile

        self.file = MemoryFile(path)
        self.zone = zone
        self.chosen_by = chosen_by
        self._frames: MemoryFrames | None = None
        _display_in_notebooks(zone)

    def __repr__(self) -> str:
        return f"Memory({str(self.file.given)!r}, zone {self.zone.name})"

    def stats(self, session: str | None = None) -> "Stats":
        """The memory in one look, or one session of it: counts, tokens by layer, categories, what arrived."""
        from lcm_lab.memory import look

        return self._look(
            lambda con: look.stats(
                con, None if session is None else look.resolve(con, session), self.file.given, self.chosen_by
            )
        )

    def sessions(self, *, limit: int = 50, cursor: str | None = None) -> "Sessions":
        """Sessions with their totals, the newest first; ``limit`` 0 gives all."""
        from lcm_lab.memory import look

        return self._look(lambda con: look.sessions(con, limit=limit, cursor=cursor))

    def latest(self) -> str:
        """The id of the newest session that has turns; NotFound where there is none."""
        from lcm_lab.memory import look

        return self._look(lambda con: look.resolve(con, None).session_id)

    def turns(self, session: str | None = None) -> "Turns":
        """The turns of a session: what each put into the context, and what its L1 and L2 cost."""
        from lcm_lab.memory import look
        from lcm_lab.memory.results import Turns

        def at(con: "sqlite3.Connection") -> Turns:
            row = look.resolve(con, session)
            return Turns(row.session_id, look.turns(con, row))

        return self._look(at)

    def turn(self, number: int, session: str | None = None) -> "TurnView":
        """One turn whole: its line, its judgments, and every call and text with what the model saw."""
        from lcm_lab.memory import look

        return self._look(lambda con: look.turn(con, look.resolve(con, session), number))

    def judgments(self, session: str | None = None, *, category: str = "", every: bool = False) -> "Judgments":
        """L2 of a session, or of every session; of one category where it is named. Its figure is the category mix."""
        from lcm_lab.hooks import memory_read
        from lcm_lab.memory import look
        from lcm_lab.memory.results import Judgments

        def at(con: "sqlite3.Connection") -> Judgments:
            rows = memory_read.sessions(con) if every else [look.resolve(con, session)]
            return Judgments(None if every else rows[0].session_id, look.judgments(con, rows, category.strip().upper()))

        return self._look(at)

    def issues(self, session: str | None = None, *, every: bool = False) -> "Judgments":
        """What is unresolved, in a session or in every session."""
        from lcm_lab.memory.results import Judgments

        found = self.judgments(session, category="ISSUE", every=every)
        return Judgments(found.session_id, tuple(one for one in found.rows if one.resolved is False))

    def injections(self, session: str | None = None) -> "Injections":
        """What was given to the model in a session, when, and whether the transcript shows that it arrived."""
        from lcm_lab.memory import look
        from lcm_lab.memory.results import Injections

        def at(con: "sqlite3.Connection") -> Injections:
            row = look.resolve(con, session)
            return Injections(row.session_id, look.injections(con, row.session_id), self.zone)

        return self._look(at)

    def block(self, session: str | None = None) -> "BlockView":
        """The text that a compaction at this moment would be followed by."""
        from lcm_lab.memory import look

        return self._look(lambda con: look.preview(con, look.resolve(con, session).session_id))

    def search(self, text: str, *, session: str | None = None, limit: int = 50) -> "Hits":
        """Details that hold all the words, in every session or in one; words in double quotes stay together."""
        from lcm_lab.memory import look

        def at(con: "sqlite3.Connection") -> "Hits":
            named = None if session is None else look.resolve(con, session).session_id
            return look.search(con, text, named, limit)

        return self._look(at)

    @property
    def frames(self) -> "MemoryFrames":
        """The memory as DuckDB tables; loaded when first asked, and again when the memory has changed."""
        from lcm_lab.memory.frames import MemoryFrames

        if self._frames is None:
            self._frames = MemoryFrames(self.file, zone=self.zone)
        return self._frames

    def sql(self, query: str, *, bodies: bool = False) -> "pd.DataFrame":
        """The result of a SELECT over sessions, turns, judgments, details and injections.

        Raises:
            QueryError: the query does not run, or asks for more than reading the snapshot.
        """
        return self.frames.sql(query, bodies=bodies)

    def export(
        self,
        folder: str | os.PathLike[str],
        session: str | None = None,
        *,
        bodies: bool = False,
        overwrite: bool = False,
    ) -> "MemoryExport":
        """Write every table, or the rows of one session, as CSV and JSON into a new folder."""
        from lcm_lab.memory import look
        from lcm_lab.memory.export import export

        named = None if session is None else self._look(lambda con: look.resolve(con, session).session_id)
        return export(self.frames, places.expanded(folder), session_id=named, bodies=bodies, overwrite=overwrite)

    def import_transcripts(
        self,
        paths: Sequence[str | os.PathLike[str]] = (),
        *,
        dry_run: bool = False,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> "ImportReport":
        """Run finished transcripts through the hooks' own code: files, folders, or all that the client has."""
        from lcm_lab.hooks.host import this_host
        from lcm_lab.memory import keeping

        self._may_change()
        files = keeping.transcripts([places.expanded(one) for one in paths], this_host().config)
        return keeping.import_files(self.file.path, files, dry_run=dry_run, progress=progress)

    def forget(self, session: str) -> "Forgotten":
        """Delete one session with all its rows, their bytes overwritten in the file."""
        from lcm_lab.memory import keeping, look

        self._may_change()
        if not session.strip():
            raise NotFound("Name the session to forget.")
        named = self._look(lambda con: look.resolve(con, session).session_id)
        return keeping.forget(self.file.path, named)

    def _may_change(self) -> None:
        if self.chosen_by == DEMO:
            raise Refused("The demo memory is only looked at; name another one with --db FOLDER.")

    def _look(self, question: "Callable[[sqlite3.Connection], T]") -> T:
        """What the question finds in one consistent state of the memory."""
        return self.file.read(lambda reader: question(reader.connection))


def _display_in_notebooks(zone: times.Zone) -> None:
    """Let results show as tables where IPython runs; nothing elsewhere."""
    import sys

    if "IPython" in sys.modules:
        from lcm_lab.views import notebook

        notebook.register(zone)
