"""The clock: every stored time is read as UTC, and shown in one zone whose name is printed.

Two forms lie in the same columns: SQLite's ``YYYY-MM-DD HH:MM:SS`` without a zone, and ISO 8601 with ``Z`` or an
offset. A time without a zone is UTC, never local: that is how the plugin reads them. As text the two forms sort wrongly
(``' '`` before ``'T'``), so sorting goes through :func:`parse`. What cannot be read is None, shown as ``unknown``.
"""

import os
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

from lcm_lab.errors import UnknownZone

UNKNOWN: Final = "unknown"
_LOOKS_LIKE_A_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d")


@lru_cache(maxsize=65536)
def parse(text: str | None) -> datetime | None:
    """The moment ``text`` names, in UTC; None for NULL, empty or unreadable text.

    >>> parse("2026-03-30 23:11:15") == parse("2026-03-30T23:11:15Z") == parse("2026-03-31T07:11:15.000+08:00")
    True
    >>> parse("yesterday") is None and parse("") is None and parse(None) is None
    True
    """
    if not isinstance(text, str) or not _LOOKS_LIKE_A_TIME.match(text.strip()):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def sort_key(text: str | None) -> tuple[bool, float, str]:
    """A key that orders stored times by the moment they name; unreadable ones come last, by their text."""
    moment = parse(text)
    return (moment is None, moment.timestamp() if moment else 0.0, str(text or ""))


@dataclass(frozen=True, slots=True)
class Zone:
    """The zone all times are shown in. ``name`` is what is printed beside them."""

    name: str
    tz: tzinfo

    def show(self, text: str | None, *, zone: bool = True) -> str:
        """A stored time as ``YYYY-MM-DD HH:MM:SS`` and the zone's abbreviation, else ``unknown``."""
        moment = parse(text)
        return UNKNOWN if moment is None else self.show_moment(moment, zone=zone)

    def show_moment(self, moment: datetime, *, zone: bool = True) -> str:
        """As :meth:`show`, for a moment."""
        return self.local(moment).strftime("%Y-%m-%d %H:%M:%S %Z" if zone else "%Y-%m-%d %H:%M:%S").strip()

    def attribute(self, text: str | None) -> str | None:
        """A stored time as the plugin shows it to the model: local, ``T`` form, no zone; None if unreadable."""
        moment = parse(text)
        return None if moment is None else self.local(moment).strftime("%Y-%m-%dT%H:%M:%S")

    def day(self, text: str | None) -> date | None:
        """The calendar day of a stored time in this zone; None where it cannot be read."""
        moment = parse(text)
        return None if moment is None else self.local(moment).date()

    def local(self, moment: datetime) -> datetime:
        """``moment`` in this zone; moments at the very edge of the calendar stay in UTC."""
        try:
            return moment.astimezone(self.tz)
        except (OverflowError, ValueError):
            return moment


def zone(name: str | None = None) -> Zone:
    """The zone called ``name``; the machine's own without a name.

    Raises:
        UnknownZone: no such zone; the message names it.
    """
    if name is None or not name.strip():
        return _machine_zone()
    try:
        return Zone(name.strip(), ZoneInfo(name.strip()))
    except (KeyError, ValueError, OSError) as error:
        raise UnknownZone(
            f"Unknown time zone {name!r}: use a name like Europe/Berlin, America/New_York or UTC."
        ) from error


def _machine_zone() -> Zone:
    from tzlocal import get_localzone

    try:
        found = get_localzone()
    except (LookupError, ValueError, OSError) as error:
        raise UnknownZone(
            f"This machine's zone has no name that is known (TZ={os.environ.get('TZ', '')!r}); name one with --tz."
        ) from error
    return Zone(str(found), found)
