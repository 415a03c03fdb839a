"""Every error the product raises on purpose, in one tree.

::

    LcmLabError                  3   could not do it, or refused
    ├── UsageError               2   the caller asked for something that makes no sense
    │   └── UnknownZone          2   a time zone name nobody knows
    ├── NotFound                 3   no such conversation, summary, agent or file
    ├── Refused                  3   it could be done, but would take something of yours with it
    ├── QueryError               3   an SQL query that does not run, or may not
    └── StoreError               3   the store cannot be opened or read
        ├── StoreMissing         3   there is no file at that path
        ├── NotAStore            3   there is a file, and it is something else
        ├── StoreBusy            3   somebody holds a lock longer than we wait
        ├── StoreUnfinished      3   a crashed writer left a journal that only a writer may roll back
        └── StoreDamaged         3   SQLite cannot read the file

The number is the exit code of the command line. A message is one plain sentence, and says what to do next where there
is something to do. Callers catch the base class.
"""

from typing import ClassVar


class LcmLabError(Exception):
    """Base of all errors raised on purpose; ``exit_code`` is what the command line ends with."""

    exit_code: ClassVar[int] = 3


class UsageError(LcmLabError):
    """The arguments make no sense together, or a value is out of range."""

    exit_code: ClassVar[int] = 2


class UnknownZone(UsageError):
    """A time zone name that is not in the zone database."""


class NotFound(LcmLabError):
    """The thing asked for is not there."""


class Refused(LcmLabError):
    """It could be done, but something of the user's is in the way."""


class QueryError(LcmLabError):
    """A query that DuckDB refuses, or that asks for more than reading the snapshot."""


class StoreError(LcmLabError):
    """The store cannot be opened or read."""


class StoreMissing(StoreError):
    """There is no file at the path."""


class NotAStore(StoreError):
    """The path holds something that is not an LCM store."""


class StoreBusy(StoreError):
    """Another process held a lock for longer than we wait."""


class StoreUnfinished(StoreError):
    """A crashed writer left a rollback journal; reading first needs a writer to roll it back."""


class StoreDamaged(StoreError):
    """SQLite reports damage in the file."""
