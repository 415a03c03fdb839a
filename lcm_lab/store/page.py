"""A page of a long list, and where the next one starts."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from lcm_lab.errors import UsageError
from lcm_lab.store.connect import Note

T = TypeVar("T")

Progress = Callable[[str, int, int], None]
"""Told what long work is at, how many steps are done, and how many there are; a call with both equal is the last."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """``rows`` of a list of ``total`` (None: not counted); ``next`` is the cursor of the next page, None at the end."""

    rows: tuple[T, ...]
    next: str | None
    total: int | None = None
    notes: tuple[Note, ...] = ()


def slice_page(rows: Sequence[T], *, limit: int, cursor: str | None) -> Page[T]:
    """A page of a list that is held whole; the cursor is the position of its first row. ``limit`` 0 means all.

    Raises:
        UsageError: the cursor is no position.
    """
    if cursor is not None and not re.fullmatch("[0-9]{1,18}", cursor):
        raise UsageError(f"{cursor!r} is not a cursor of this list; take the 'next' of the page before.")
    start = int(cursor or 0)
    end = len(rows) if limit <= 0 else start + limit
    return Page(tuple(rows[start:end]), str(end) if end < len(rows) else None, len(rows))
