"""The Lab: what a notebook, a panel and the command line hold. One set of functions behind all of them.

Opening one touches nothing; each method is one consistent look at the store, and returns plain frozen results.
"""

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from lcm_lab import places, times
from lcm_lab.errors import NotFound, UsageError
from lcm_lab.lab_repairs import Repairing
from lcm_lab.results import (
    AgentList,
    Briefs,
    Duplicates,
    Files,
    Info,
    Largest,
    SessionList,
    StoreBudget,
    SummaryView,
    noted,
    summary_view,
)
from lcm_lab.store import context as stored_context
from lcm_lab.store import largest, overview, payloads, search
from lcm_lab.store import messages as stored_messages
from lcm_lab.store.connect import Reader, StoreFile
from lcm_lab.store.page import Page, slice_page

if TYPE_CHECKING:
    import pandas as pd

    from lcm_lab.analysis.budget import Budget
    from lcm_lab.analysis.compression import Compression
    from lcm_lab.analysis.context import Context
    from lcm_lab.analysis.dag import Dag
    from lcm_lab.analysis.draw.figure import Figure
    from lcm_lab.analysis.export import ExportReport
    from lcm_lab.analysis.frames import Frames
    from lcm_lab.analysis.growth import Growth
    from lcm_lab.analysis.health import Report
    from lcm_lab.store.rows import Conversation

T = TypeVar("T")

WINDOW_SIZE = 200
"""Messages shown at once, as in lcm-tui."""


def open(  # noqa: A001  (the name users expect: lcm_lab.open)
    path: str | os.PathLike[str] | None = None, *, tz: str | None = None, demo: bool = False
) -> "Lab":
    """A Lab on the store at ``path``, on the store of this machine without one, or on the demo store.

    ``tz`` names the zone all times are shown in; without it ``LCM_LAB_TZ`` does, else it is the machine's own.

    Raises:
        UnknownZone: no such zone. StoreMissing, NotAStore: nothing to open at the path.
    """
    zone = times.zone(tz or os.environ.get("LCM_LAB_TZ"))
    if demo and path is not None:
        raise UsageError("Either the demo store or a path, not both.")
    if demo:
        return Lab(StoreFile(places.demo_store()), zone, chosen_by="--demo")
    found, by = places.store_path(path)
    return Lab(StoreFile(found), zone, chosen_by=by)


def notebook(path: str | os.PathLike[str] = "") -> "Lab":
    """The Lab a notebook works on: the store at ``path``, else the one ``LCM_LAB_DB`` names, else the demo store."""
    if str(path).strip() or os.environ.get("LCM_LAB_DB", "").strip():
        return open(path)
    return open(demo=True)


class Lab(Repairing):
    """A store, a zone, and everything that can be asked of them.

    Raises (all methods): StoreError and its kin when the store cannot be read, NotFound for an id that is not there.
    """

    def __init__(self, store: StoreFile, zone: times.Zone, *, chosen_by: str = "--db") -> None:
        self.store = store
        self.zone = zone
        self.chosen_by = chosen_by
        self._frames: Frames | None = None
        store.stamp()
        _display_in_notebooks(zone)

    def __repr__(self) -> str:
        return f"Lab({str(self.store.given)!r}, zone {self.zone.name})"

    def info(self) -> Info:
        """The store in one look."""

        def look(reader: Reader) -> Info:
            totals = overview.store_totals(reader)
            return Info(
                path=self.store.given,
                chosen_by=self.chosen_by,
                journal_mode=self.store.journal_mode,
                era=reader.schema.era,
                size_bytes=totals.pages * totals.page_size,
                totals=totals,
                missing_tables=reader.schema.missing_tables,
                missing_columns=reader.schema.missing_columns,
                unknown=reader.schema.unknown,
                full_text=search.index_state(reader),
                zone=self.zone.name,
            )

        return self._read(look)

    def conversations(self, *, limit: int = 50, cursor: str | None = None) -> Page[overview.ConversationTotals]:
        """Conversations with totals, the one with the newest message first; ``limit`` 0 gives all."""

        def look(reader: Reader) -> Page[overview.ConversationTotals]:
            page = slice_page(overview.conversations(reader), limit=limit, cursor=cursor)
            return Page(tuple(overview.with_totals(reader, list(page.rows))), page.next, page.total)

        return self._read(look)

    def conversations_figure(self, *, top: int = 20) -> "Figure":
        """The largest conversations as bars, outliers marked."""
        from lcm_lab.analysis.draw.conversations_figure import conversations_figure

        return conversations_figure(self.conversations(limit=0).rows, top=top)

    def latest(self) -> int:
        """The conversation with the newest message; NotFound where there is none."""
        return _first(one.conversation.conversation_id for one in self.conversations(limit=1).rows)

    def deepest(self) -> int:
        """The conversation with the deepest summaries, the one with more of them of equals."""
        order = sorted(self.conversations(limit=0).rows, key=lambda one: (-(one.max_depth or 0), -one.summaries))
        return _first(one.conversation.conversation_id for one in order)

    def conversation(self, conversation_id: int) -> "Conversation":
        """One conversation's own row."""
        return self._on(conversation_id, lambda reader: overview.conversations(reader, conversation_id)[0])

    def messages(
        self, conversation_id: int, *, size: int = WINDOW_SIZE, before: int | None = None, after: int | None = None
    ) -> stored_messages.Window:
        """A window of messages in ``seq`` order: the newest, those below ``before``, or those above ``after``."""
        return self._on(
            conversation_id,
            lambda reader: stored_messages.window(reader, conversation_id, size=size, before=before, after=after),
        )

    def context(
        self,
        conversation_id: int,
        *,
        window: int | None = None,
        compact_at: float | None = None,
        fresh_tail: int | None = None,
    ) -> "Context":
        """What the model would get in its next turn, item by item."""
        from lcm_lab.analysis import assembly

        line = assembly.Line.of(window=window, compact_at=compact_at, fresh_tail=fresh_tail)
        return self._on(
            conversation_id, lambda reader: assembly.assemble(reader, conversation_id, zone=self.zone, line=line)
        )

    def budget(
        self,
        conversation_id: int,
        *,
        window: int | None = None,
        compact_at: float | None = None,
        fresh_tail: int | None = None,
        with_noise: bool = True,
    ) -> "Budget":
        """Where the tokens of a conversation go, by class, against a window if one is given."""
        from lcm_lab.analysis import assembly, budget

        line = assembly.Line.of(window=window, compact_at=compact_at, fresh_tail=fresh_tail)

        def look(reader: Reader) -> "Budget":
            context = assembly.assemble(reader, conversation_id, zone=self.zone, line=line)
            count, total = stored_messages.after(reader, conversation_id, None)
            return budget.budget(context, stored_messages=count, stored_tokens=total, with_noise=with_noise)

        return self._on(conversation_id, look)

    def store_budget(self, *, top: int = 20) -> StoreBudget:
        """The whole store by conversation: the ``top`` largest, and those far above the median."""
        totals = self.conversations(limit=0).rows
        return StoreBudget(
            rows=tuple(sorted(totals, key=lambda one: -one.message_tokens)[:top]),
            outliers=overview.outliers(totals),
            conversations=len(totals),
            stored_tokens=sum(one.message_tokens for one in totals),
            context_tokens=sum(one.context_tokens for one in totals),
            zone=self.zone.name,
        )

    def agents(self) -> AgentList:
        """The agents of the state folder that the store belongs to."""
        from lcm_lab import roster

        return roster.agents(self.state_dir)

    def sessions(
        self, agent: str, *, limit: int = 50, cursor: str | None = None, show_hidden: bool = False
    ) -> SessionList:
        """Session files of an agent, newest first, each with the conversation it belongs to."""
        from lcm_lab import roster

        return roster.sessions(self.state_dir, agent, self.store, limit=limit, cursor=cursor, show_hidden=show_hidden)

    def dag(self, conversation_id: int) -> "Dag":
        """The summary DAG of a conversation."""
        from lcm_lab.analysis import dag

        return self._on(conversation_id, lambda reader: dag.load(reader, conversation_id, zone=self.zone))

    def summary(self, summary_id: str) -> SummaryView:
        """One summary with its text, its sources and what was made from it."""
        return self._read(lambda reader: summary_view(reader, summary_id))

    def files(self, conversation_id: int) -> Files:
        """The large files of a conversation, and whether their payloads are still there."""

        def look(reader: Reader) -> Files:
            found = stored_context.files(reader, conversation_id)
            return Files(conversation_id, tuple(payloads.locate(self.store.path, one) for one in found))

        return self._on(conversation_id, look)

    def briefs(self, conversation_id: int) -> Briefs:
        """The focus briefs of a conversation, newest first, with what changed since each was made."""
        from lcm_lab.analysis import focus

        return self._on(
            conversation_id, lambda reader: Briefs(conversation_id, tuple(focus.briefs(reader, conversation_id)))
        )

    def search(self, text: str, *, conversation_id: int | None = None, **options: Any) -> search.Hits:
        """Where a text occurs; ``limit``, ``cursor`` and ``scan`` as in :func:`lcm_lab.store.search.search`."""
        return self._on(
            conversation_id,
            lambda reader: search.search(reader, text, conversation_id=conversation_id, **options),
        )

    def check(
        self, conversation_id: int | None = None, *, progress: Callable[[str, int, int], None] | None = None
    ) -> "Report":
        """What is wrong or suspicious, in the whole store or in one conversation."""
        from lcm_lab.analysis import health

        return health.check_store(self.store, conversation_id, progress=progress)

    def duplicates(self, conversation_id: int) -> Duplicates:
        """Messages of a conversation that are stored more than once, and what the copies cost."""
        from lcm_lab.analysis import health

        found = self._on(conversation_id, lambda reader: health.duplicates_in(reader, conversation_id))
        return Duplicates(conversation_id, tuple(found))

    def largest(self, conversation_id: int | None = None, *, top: int = 20) -> Largest:
        """The largest messages and summaries by tokens, of a conversation or of the store."""
        found = self._on(conversation_id, lambda reader: largest.largest(reader, conversation_id, top=top))
        return Largest(conversation_id, tuple(found))

    def compression(self, conversation_id: int | None = None) -> "Compression":
        """What each summary saves against its sources; negative where it is larger than they are."""
        from lcm_lab.analysis import compression

        return self._on(conversation_id, lambda reader: compression.load(reader, conversation_id))

    def growth(self, conversation_id: int | None = None) -> "Growth":
        """Tokens over time, by day of the zone."""
        from lcm_lab.analysis import growth

        return self._on(conversation_id, lambda reader: growth.load(reader, conversation_id, zone=self.zone))

    @property
    def frames(self) -> "Frames":
        """The store as DuckDB tables; loaded when first asked, and again when the store has changed."""
        from lcm_lab.analysis.frames import Frames

        if self._frames is None:
            self._frames = Frames(self.store, zone=self.zone)
        return self._frames

    def sql(self, query: str, *, bodies: bool = False) -> "pd.DataFrame":
        """The result of a SELECT over the store's tables; with ``bodies`` the texts are there, too.

        Raises:
            QueryError: the query does not run, or asks for more than reading the snapshot.
        """
        return self.frames.sql(query, bodies=bodies)

    def export(
        self, folder: str | os.PathLike[str], conversation_id: int | None = None, **options: Any
    ) -> "ExportReport":
        """Write the frames as CSV and Parquet into a new folder."""
        from lcm_lab.analysis.export import export

        if conversation_id is not None:
            self.conversation(conversation_id)
        return export(self.frames, places.expanded(folder), conversation_id=conversation_id, **options)

    def _on(self, conversation_id: int | None, look: Callable[[Reader], T]) -> T:
        """``look`` at the store, after making sure that the conversation is there (None: the whole store)."""

        def checked(reader: Reader) -> T:
            if conversation_id is not None and not overview.conversations(reader, conversation_id):
                raise NotFound(
                    f"There is no conversation {conversation_id} in {self.store.given}; "
                    "'lcm-lab conversations' lists those there are."
                )
            return look(reader)

        return self._read(checked)

    def _read(self, look: Callable[[Reader], T]) -> T:
        """``look`` at the store; the result names values that were not as declared, where it has room for them."""
        return self.store.read(lambda reader: noted(look(reader), reader.notes))


def _first(ids: Iterator[int]) -> int:
    for one in ids:
        return one
    raise NotFound("This store holds no conversation yet; the plugin writes one at its first turn.")


def _display_in_notebooks(zone: times.Zone) -> None:
    """Let results show as tables where IPython runs; nothing elsewhere."""
    import sys

    if "IPython" in sys.modules:
        from lcm_lab.views import notebook

        notebook.register(zone)
