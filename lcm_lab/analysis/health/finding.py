"""Findings, and the report that every view of the health of a store is made from.

The invariant: a finding names rows, so that a script can take (code, row) pairs and a person can go and look; one
finding per row, unless the rows only mean something together (a run of duplicates, the gaps of a context). Checked by
``tests/analysis/test_health_reports.py``.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

Severity = Literal["error", "warning", "info"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")

ONE_BY_ONE: Final = 5000
"""Findings of one code that are kept one by one; what is beyond is kept as one finding per conversation."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or suspicious in a store.

    ``code`` is a rule's id and a slug, ``ids`` are row keys of ``table`` as text: context items as
    ``conversation:ordinal``, edges as ``derived->source``, links as ``summary->message``. ``message`` says what is so,
    with numbers; ``advice`` says what to do next. Without ``ids`` the finding is about the table or the whole file.
    """

    code: str
    severity: Severity
    table: str
    ids: tuple[str, ...]
    conversation_id: int | None
    message: str
    advice: str

    @property
    def rule(self) -> str:
        """The rule's id: ``code`` without its slug."""
        return self.code.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Quoted:
    """A healthy summary that has a marker in its text, with the reason why it is not counted as broken."""

    summary_id: str
    conversation_id: int
    marker: str
    reason: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A rule that could not run, or ran on a part only, with the reason."""

    rule: str
    conversation_id: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The health of a store, or of one of its conversations (``conversation_id``)."""

    store: str
    conversation_id: int | None
    findings: tuple[Finding, ...]
    quoted: tuple[Quoted, ...] = ()
    skipped: tuple[Skipped, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """Findings by severity; every severity is there."""
        found = Counter(one.severity for one in self.findings)
        return {severity: found[severity] for severity in SEVERITIES}

    @property
    def scope(self) -> str:
        """What was looked at, in words."""
        return "the whole store" if self.conversation_id is None else f"conversation {self.conversation_id}"

    def pairs(self, *severities: Severity) -> set[tuple[str, str]]:
        """(rule id, row) for each row of each finding of these severities (of all without any)."""
        wanted = severities or SEVERITIES
        return {(one.rule, key) for one in self.findings if one.severity in wanted for key in one.ids}

    def of(self, code: str) -> tuple[Finding, ...]:
        """The findings of a rule id (``C3``) or of a full code (``C3-dangling-item``)."""
        return tuple(one for one in self.findings if code in (one.code, one.rule))


class Collector:
    """Takes findings as they come, drops repeats of a row, and stays small when a store is broken throughout."""

    def __init__(self) -> None:
        self.quoted: list[Quoted] = []
        self._skipped: dict[Skipped, None] = {}
        self._findings: list[Finding] = []
        self._seen: set[tuple[str, tuple[str, ...]]] = set()
        self._per_code: Counter[str] = Counter()
        self._rest: dict[tuple[str, int | None], tuple[Finding, list[str]]] = {}

    def add(self, found: Iterable[Finding]) -> None:
        """Take findings from a rule."""
        for one in found:
            if one.ids and (one.code, one.ids) in self._seen:
                continue
            self._per_code[one.code] += 1
            if self._per_code[one.code] <= ONE_BY_ONE:
                self._seen.add((one.code, one.ids))
                self._findings.append(one)
            else:
                _, ids = self._rest.setdefault((one.code, one.conversation_id), (one, []))
                ids.extend(one.ids)

    def skip(self, rule: str, conversation_id: int | None, reason: str) -> None:
        """Note that a rule did not run (in this conversation)."""
        entry = Skipped(rule, conversation_id, reason)
        self._skipped[entry] = None

    def report(self, store: str, conversation_id: int | None) -> Report:
        """All that was found, the worst first."""
        ranked = sorted([*self._findings, *self._folded()], key=_rank)
        return Report(store, conversation_id, tuple(ranked), tuple(self.quoted), tuple(self._skipped))

    def _folded(self) -> Iterator[Finding]:
        for one, ids in self._rest.values():
            text = f"{len(ids)} more rows like this one: {one.message}"
            yield Finding(one.code, one.severity, one.table, tuple(ids), one.conversation_id, text, one.advice)


def _rank(one: Finding) -> tuple[int, str, int, str, int, str]:
    # By length before text, so that 9 comes before 10; a damaged row may name its conversation by any value.
    conversation = "" if one.conversation_id is None else str(one.conversation_id)
    first = str(one.ids[0]) if one.ids else ""
    return (SEVERITIES.index(one.severity), one.code, len(conversation), conversation, len(first), first)
