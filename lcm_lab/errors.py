"""Every error the product raises on purpose, in one tree.

::

    LcmLabError                  3   could not do it, or refused
    ├── NothingToDo              0   there is nothing to do; not a failure
    ├── UsageError               2   the caller asked for something that makes no sense
    │   └── UnknownZone          2   a time zone name nobody knows
    ├── NotFound                 3   no such conversation, summary, agent or file
    ├── Refused                  3   it could be done, but would take something of yours with it
    │   └── StalePlan            3   the store no longer reads as the plan saw it
    ├── QueryError               3   an SQL query that does not run, or may not
    ├── PromptError              3   a prompt template that cannot be used; names file and line
    ├── ModelError               3   the language model gave nothing that can be used
    │   ├── NoCredentials        3   no key was found, or one that cannot be used here
    │   ├── ModelRefused         3   the provider will refuse every request: key, model, address
    │   ├── ModelBusy            3   rate limit, overload, timeout or connection, after all retries
    │   └── BadReply             3   an answer came, and it is no summary: empty, HTML, only reasoning
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


class NothingToDo(LcmLabError):
    """What was asked for is so already; the message says why."""

    exit_code: ClassVar[int] = 0


class UsageError(LcmLabError):
    """The arguments make no sense together, or a value is out of range."""

    exit_code: ClassVar[int] = 2


class UnknownZone(UsageError):
    """A time zone name that is not in the zone database."""


class NotFound(LcmLabError):
    """The thing asked for is not there."""


class Refused(LcmLabError):
    """It could be done, but something of the user's is in the way."""


class StalePlan(Refused):
    """What a plan rests on has changed since it was made; make it again."""


class PromptError(LcmLabError):
    """A prompt template that cannot be parsed or filled; the message names file and line."""


class ModelError(LcmLabError):
    """The language model gave nothing that can be used. ``fatal``: no other request would do better."""

    fatal: ClassVar[bool] = False


class NoCredentials(ModelError):
    """No key for the provider, or a kind of key that its address does not take."""

    fatal: ClassVar[bool] = True


class ModelRefused(ModelError):
    """The provider refuses: wrong key, unknown or retired model, wrong address."""

    fatal: ClassVar[bool] = True


class ModelBusy(ModelError):
    """Rate limit, overload, timeout or a broken connection, still there after all retries."""


class BadReply(ModelError):
    """An answer that is no summary: empty, only reasoning, HTML instead of JSON."""


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
