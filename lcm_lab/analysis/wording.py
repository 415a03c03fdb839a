"""Numbers and lists as a sentence says them: one way for findings, figures and tables."""

from collections.abc import Iterable


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(3000, "row"), counted(2, "summary", "summaries")
    ('1 row', '3,000 rows', '2 summaries')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def some(ids: Iterable[object], *, limit: int = 8) -> str:
    """The first few of ``ids``, and how many more there are.

    >>> some([3, 1, 2]), some(range(20), limit=3)
    ('3, 1, 2', '0, 1, 2 and 17 more')
    """
    listed = list(ids)
    text = ", ".join(str(one) for one in listed[:limit])
    return text if len(listed) <= limit else f"{text} and {len(listed) - limit} more"
