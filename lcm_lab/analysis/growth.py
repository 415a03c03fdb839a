"""Growth over time: tokens per calendar day and role, the running total, and the summaries made.

Days are days of the zone that is named, so a day with a clock change is one day of 23 or 25 hours. A message whose time
cannot be read is on no day: it is counted as unknown, apart from days and running total, so that those and ``unknown``
add up to the store. Checked by ``tests/analysis/test_growth.py``.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from lcm_lab import times, tokens
from lcm_lab.store import growth as stored
from lcm_lab.store.connect import Reader
from lcm_lab.store.growth import MessageBucket, SummaryBucket

if TYPE_CHECKING:
    from lcm_lab.analysis.draw.figure import Figure


@dataclass(frozen=True, slots=True)
class RoleShare:
    """The messages of one role."""

    role: str
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SummaryShare:
    """The summaries of one depth made."""

    depth: int
    summaries: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Day:
    """One day of the zone. ``cumulative`` is the tokens of all messages up to the end of the day."""

    day: date
    roles: tuple[RoleShare, ...]
    summaries: tuple[SummaryShare, ...]
    cumulative: int

    @property
    def messages(self) -> int:
        """Messages of the day."""
        return sum(share.messages for share in self.roles)

    @property
    def tokens(self) -> int:
        """Tokens of the day's messages."""
        return sum(share.tokens for share in self.roles)


@dataclass(frozen=True, slots=True)
class Growth:
    """Days on which something happened, in order; ``unknown`` and ``unknown_summaries`` have no readable time."""

    conversation_id: int | None
    days: tuple[Day, ...]
    unknown: tuple[RoleShare, ...]
    unknown_summaries: tuple[SummaryShare, ...]
    re_estimated: int
    zone: str
    estimator: str = tokens.STORED_OR_PLUGIN

    def figure(self) -> "Figure":
        """Tokens by day and role, their sum, and when summaries were made."""
        from lcm_lab.analysis.draw.timeline import timeline

        return timeline(self)

    @property
    def messages(self) -> int:
        """Messages on days and unknown ones."""
        return sum(day.messages for day in self.days) + self.unknown_messages

    @property
    def tokens(self) -> int:
        """Tokens on days and unknown ones."""
        return sum(day.tokens for day in self.days) + sum(share.tokens for share in self.unknown)

    @property
    def unknown_messages(self) -> int:
        """Messages whose time cannot be read."""
        return sum(share.messages for share in self.unknown)

    @property
    def roles(self) -> tuple[str, ...]:
        """Every role that occurs, in the usual order."""
        usual = ("user", "assistant", "system", "tool")
        found = {share.role for day in self.days for share in day.roles} | {share.role for share in self.unknown}
        return (*(role for role in usual if role in found), *sorted(found.difference(usual)))


def load(reader: Reader, conversation_id: int | None = None, *, zone: times.Zone) -> Growth:
    """The growth of a conversation, or of the whole store."""
    return growth(
        stored.message_buckets(reader, conversation_id),
        stored.summary_buckets(reader, conversation_id),
        conversation_id,
        zone=zone,
    )


def growth(
    messages: Iterable[MessageBucket],
    summaries: Iterable[SummaryBucket],
    conversation_id: int | None,
    *,
    zone: times.Zone,
) -> Growth:
    """Buckets laid on the calendar of ``zone``."""
    said: dict[date | None, dict[str, tuple[int, int]]] = {}
    made: dict[date | None, dict[int, tuple[int, int]]] = {}
    re_estimated = 0
    for bucket in messages:
        roles = said.setdefault(_day(bucket, zone), {})
        count, size = roles.get(bucket.role, (0, 0))
        roles[bucket.role] = (count + bucket.messages, size + bucket.tokens)
        re_estimated += bucket.re_estimated
    for event in summaries:
        depths = made.setdefault(_day(event, zone), {})
        count, size = depths.get(event.depth, (0, 0))
        depths[event.depth] = (count + event.summaries, size + event.tokens)
    days = []
    total = 0
    for day in sorted(one for one in {*said, *made} if one is not None):
        roles_of_day = _roles(said.get(day, {}))
        total += sum(share.tokens for share in roles_of_day)
        days.append(Day(day, roles_of_day, _depths(made.get(day, {})), total))
    return Growth(
        conversation_id=conversation_id,
        days=tuple(days),
        unknown=_roles(said.get(None, {})),
        unknown_summaries=_depths(made.get(None, {})),
        re_estimated=re_estimated,
        zone=zone.name,
    )


def _day(bucket: MessageBucket | SummaryBucket, zone: times.Zone) -> date | None:
    if bucket.start is None:
        return zone.day(bucket.text)
    return zone.local(datetime.fromtimestamp(bucket.start, tz=UTC)).date()


def _roles(found: dict[str, tuple[int, int]]) -> tuple[RoleShare, ...]:
    return tuple(RoleShare(role, *found[role]) for role in sorted(found))


def _depths(found: dict[int, tuple[int, int]]) -> tuple[SummaryShare, ...]:
    return tuple(SummaryShare(depth, *found[depth]) for depth in sorted(found))
