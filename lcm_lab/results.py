"""What a Lab returns where a lower layer has no type of its own for it: plain, frozen, the same for every way in."""

from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lcm_lab.errors import NotFound
from lcm_lab.store import messages, overview, payloads, summaries
from lcm_lab.store.connect import Note, Reader
from lcm_lab.store.summaries import Node

if TYPE_CHECKING:
    from lcm_lab.analysis.focus import BriefView
    from lcm_lab.analysis.health import Duplicate
    from lcm_lab.sessions.discover import SessionFile
    from lcm_lab.sessions.match import Match
    from lcm_lab.sessions.state import Agent
    from lcm_lab.store.largest import LargeItem
    from lcm_lab.store.messages import MessageView


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Info:
    """A store in one look: where it is, what shaped it, what it holds, and what could not be read as declared."""

    path: Path
    chosen_by: str
    journal_mode: str
    era: str
    size_bytes: int
    totals: overview.StoreTotals
    missing_tables: tuple[str, ...]
    missing_columns: tuple[str, ...]
    unknown: tuple[str, ...]
    full_text: dict[str, str]
    zone: str
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class SummaryView:
    """A summary whole: its text, what it was made from, what was made from it."""

    node: Node
    content: str
    sources: tuple[Node, ...]
    missing_sources: tuple[str, ...]
    derived: tuple[str, ...]
    messages: tuple["MessageView", ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Files:
    """The large files of a conversation, and whether their payloads are still there."""

    conversation_id: int
    rows: tuple[payloads.Payload, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Briefs:
    """The focus briefs of a conversation, newest first."""

    conversation_id: int
    rows: "tuple[BriefView, ...]"
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Duplicates:
    """Repetitions among the messages of a conversation; nothing is ever removed because of them."""

    conversation_id: int
    rows: "tuple[Duplicate, ...]"

    @property
    def wasted_tokens(self) -> int:
        """Tokens of all copies."""
        return sum(one.wasted_tokens for one in self.rows)


@dataclass(frozen=True, slots=True)
class Largest:
    """The largest messages and summaries, largest first."""

    conversation_id: int | None
    rows: "tuple[LargeItem, ...]"


@dataclass(frozen=True, slots=True)
class StoreBudget:
    """The whole store: ``rows`` are the largest conversations, ``outliers`` those far above the median."""

    rows: tuple[overview.ConversationTotals, ...]
    outliers: frozenset[int]
    conversations: int
    stored_tokens: int
    context_tokens: int
    zone: str


@dataclass(frozen=True, slots=True)
class AgentList:
    """The agents of a state folder; ``problem`` says why there are none."""

    state_dir: Path
    agents: "tuple[Agent, ...]"
    problem: str | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session file with the conversation it belongs to, and what that holds (None where it is not tracked)."""

    file: "SessionFile"
    match: "Match"
    summaries: int | None
    files: int | None


@dataclass(frozen=True, slots=True)
class SessionList:
    """A page of an agent's session files, newest first, and what else lies in the folder."""

    agent: str
    rows: tuple[SessionRow, ...]
    total: int
    hidden: int
    duplicates: int
    reset_files: int
    deleted_files: int
    next: str | None
    database: str | None
    problem: str | None


def summary_view(reader: Reader, summary_id: str) -> SummaryView:
    """One summary with its text, its sources and what was made from it.

    Raises:
        NotFound: there is no such summary.
    """
    whole = summaries.summary(reader, summary_id)
    nodes = summaries.nodes(reader, ids=[summary_id])
    if whole is None or not nodes:
        raise NotFound(f"There is no summary {summary_id} in this store; 'lcm-lab dag CONV' lists them.")
    source_ids = summaries.sources(reader, summary_id)
    by_id = {node.summary_id: node for node in summaries.nodes(reader, ids=source_ids)}
    linked = messages.views(reader, messages.linked(reader, summary_id))
    return SummaryView(
        node=nodes[0],
        content=whole.content,
        sources=tuple(by_id[one] for one in source_ids if one in by_id),
        missing_sources=tuple(one for one in source_ids if one not in by_id),
        derived=tuple(summaries.derived(reader, summary_id)),
        messages=tuple(linked),
    )


def noted(result: T, notes: list[Note]) -> T:
    """A result that names the values that were not as declared, where it has a place for them."""
    if notes and is_dataclass(result) and any(one.name == "notes" for one in fields(result)):
        return replace(result, notes=(*getattr(result, "notes"), *notes))  # type: ignore[type-var]  # noqa: B009
    return result
