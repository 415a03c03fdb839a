"""What a look at the session memory returns: frozen rows, and lists of them that know their pictures.

Token numbers are the hooks' own estimate (:data:`RULE`); times are as stored, in UTC.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lcm_lab.times import Zone

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure
    from lcm_lab.hooks import memory_read

RULE: Final = "hooks' estimate"
RULE_IN_FULL: Final = (
    "Tokens: the hooks' estimate; that of L1+L2 is scaled by what the API reported where that makes it larger"
)
CATEGORIES: Final = ("ISSUE", "CONSTRAINT", "DECISION", "IMPL", "CONTEXT")
"""In the order in which the block gives them room."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One request of the user: what it put into the context, and what its two upper layers cost."""

    session_id: str
    turn_number: int
    state: str
    started_at: str | None
    ended_at: str | None
    summary: str
    raw_tokens: int | None
    l1_tokens: int
    l2_tokens: int
    judgments: int
    details: int
    tool_calls: int

    @property
    def layer_tokens(self) -> int:
        """L1 and L2 together."""
        return self.l1_tokens + self.l2_tokens


@dataclass(frozen=True, slots=True)
class Session:
    """One session with its totals; ``project_path`` is the folder it ran in."""

    session_id: str
    project_path: str
    started_at: str
    last_active: str
    status: str
    turns: int
    compactions: int
    details: int
    open_issues: int
    raw_tokens: int
    layer_tokens: int
    context_tokens: int | None
    model: str | None
    client_version: str | None
    transcript_path: str | None


@dataclass(frozen=True, slots=True)
class Judgment:
    """One line of L2; ``resolved`` is None for what cannot be resolved."""

    id: int
    session_id: str
    turn_number: int
    category: str
    content: str
    resolved: bool | None
    resolved_by: str | None
    confidence: float | None
    command: str | None
    source: str
    """rule (by its wording) | tool | model"""

    tokens: int


@dataclass(frozen=True, slots=True)
class Detail:
    """One row of L3 with its texts whole."""

    id: int
    session_id: str
    turn_number: int
    kind: str
    source_id: str
    tool_name: str | None
    status: str
    exit_code: int | None
    token_count: int | None
    agent_id: str | None
    created_at: str
    input: str
    output: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """One detail that a search found."""

    id: int
    session_id: str
    turn_number: int
    kind: str
    tool_name: str | None
    status: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Injection:
    """One thing given to the model or asked for; ``delivered`` is what the transcript shows, None where it cannot."""

    id: int
    session_id: str
    injected_at: str
    event_type: str
    layers_sent: str
    trigger: str | None
    block_id: str | None
    part: int | None
    parts: int | None
    units: int | None
    token_before: int | None
    token_after: int | None
    delivered: bool | None
    note: str | None


@dataclass(frozen=True, slots=True)
class Sessions:
    """Sessions, the newest first."""

    rows: tuple[Session, ...]
    next: str | None
    total: int


@dataclass(frozen=True, slots=True)
class Turns:
    """The turns of one session in their order."""

    session_id: str
    rows: tuple[Turn, ...]

    @property
    def raw_tokens(self) -> int:
        """What all turns put into the context."""
        return sum(one.raw_tokens or 0 for one in self.rows)

    @property
    def layer_tokens(self) -> int:
        """What their L1 and L2 cost."""
        return sum(one.layer_tokens for one in self.rows)

    def figure(self) -> "Figure":
        """Raw tokens against L1+L2, a pair of bars a turn."""
        from lcm_lab.analysis.draw.memory_turns import turns_figure

        return turns_figure(self)


@dataclass(frozen=True, slots=True)
class Judgments:
    """Lines of L2: of one session, or of all of them (``session_id`` None)."""

    session_id: str | None
    rows: tuple[Judgment, ...]

    @property
    def mix(self) -> dict[str, tuple[int, int]]:
        """For each category how many lines, and how many of them are open issues."""
        found = {
            name: (
                sum(one.category == name for one in self.rows),
                sum(one.category == name and one.resolved is False for one in self.rows),
            )
            for name in CATEGORIES
        }
        others = sum(one.category not in CATEGORIES for one in self.rows)
        return {**found, "other": (others, 0)} if others else found

    def figure(self) -> "Figure":
        """The category mix."""
        from lcm_lab.analysis.draw.memory_mix import mix_figure

        return mix_figure(self)


@dataclass(frozen=True, slots=True)
class Injections:
    """What was given to the model in one session, when, and whether it arrived."""

    session_id: str
    rows: tuple[Injection, ...]
    zone: Zone

    def figure(self) -> "Figure":
        """A timeline, a row for each kind."""
        from lcm_lab.analysis.draw.memory_injections import injections_figure

        return injections_figure(self)


@dataclass(frozen=True, slots=True)
class TurnView:
    """One turn whole: L1, L2, and everything of L3."""

    turn: Turn
    judgments: tuple[Judgment, ...]
    details: tuple[Detail, ...]


@dataclass(frozen=True, slots=True)
class BlockView:
    """The parts that a compaction at this moment would be followed by."""

    session_id: str
    parts: tuple[str, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, the newest first; ``session_id`` None where all sessions were searched."""

    words: tuple[str, ...]
    session_id: str | None
    rows: tuple[Hit, ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Stats:
    """The memory, or one session of it, in one look."""

    path: Path
    chosen_by: str
    session_id: str | None
    size_bytes: int
    rows: dict[str, int]
    raw_tokens: int
    l1_tokens: int
    l2_tokens: int
    detail_tokens: int
    categories: dict[str, tuple[int, int]]
    injections: dict[str, int]
    arrived: int
    not_arrived: int
    runs: tuple[tuple[str, str, int], ...]
    model_help: "memory_read.ModelUse"

    @property
    def layer_tokens(self) -> int:
        """L1 and L2 together."""
        return self.l1_tokens + self.l2_tokens


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """What one transcript gave."""

    path: Path
    session_id: str
    turns: int
    calls: int
    agents: int
    compactions: int
    bad_lines: int
    new_details: int
    raw_tokens: int
    layer_tokens: int
    problem: str | None


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import brought in, or (``dry_run``) would look at."""

    memory: Path
    dry_run: bool
    rows: tuple[ImportedFile, ...]

    @property
    def raw_tokens(self) -> int:
        """What the imported turns put into their contexts."""
        return sum(one.raw_tokens for one in self.rows)

    @property
    def layer_tokens(self) -> int:
        """What their L1 and L2 cost."""
        return sum(one.layer_tokens for one in self.rows)


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A session that was deleted, and how many details went with it."""

    memory: Path
    session_id: str
    details: int


@dataclass(frozen=True, slots=True)
class MemoryExport:
    """What an export wrote: (file, table, rows, bytes) each."""

    folder: Path
    files: tuple[tuple[str, str, int, int], ...]
    zone: str
    session_id: str | None
    bodies: bool
