"""What the panels of one workbench have read, kept so that going back and forth asks the store once.

Reading a DAG of ten thousand summaries takes a second and checking it some more. A look is kept for the content it was
made from (the store's stamp); it is made again only when a panel is loaded anew, so that a store somebody writes to all
the time does not make every click slow. Checked by ``tests/panels/test_browse_desk.py``.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from lcm_lab.analysis.dag import Dag
    from lcm_lab.analysis.health import Progress, Report
    from lcm_lab.lab import Lab

T = TypeVar("T")

QUICK: Final = 3000
"""Messages and summaries of a conversation up to which it is checked without being asked: well under a second."""

_KEPT: Final = 6


class Desk:
    """Looks at a Lab's store that several panels share."""

    def __init__(self, lab: "Lab") -> None:
        self.lab = lab
        self._looks: dict[tuple[str, int], tuple[Any, Any]] = {}

    def dag(self, conversation_id: int) -> "Dag":
        """The DAG of a conversation as the store is now."""
        return self._look("dag", conversation_id, lambda: self.lab.dag(conversation_id))

    def report(self, conversation_id: int, progress: "Progress | None" = None) -> "Report":
        """The findings of a conversation as the store is now."""
        return self._look("report", conversation_id, lambda: self.lab.check(conversation_id, progress=progress))

    def known_report(self, conversation_id: int) -> "Report | None":
        """The findings of a conversation if they were asked for and the store has not changed since."""
        stamp, found = self._looks.get(("report", conversation_id), (None, None))
        return found if stamp == self.lab.store.stamp() else None

    def findings(self, dag: "Dag") -> "Report | None":
        """The findings of a DAG's conversation where they are known or found at once; None where it would take long."""
        known = self.known_report(dag.conversation_id)
        if known is not None or dag.coverage.messages + len(dag.nodes) > QUICK:
            return known
        return self.report(dag.conversation_id)

    def _look(self, kind: str, conversation_id: int, make: Callable[[], T]) -> T:
        stamp = self.lab.store.stamp()
        kept, before = self._looks.pop((kind, conversation_id), (None, None))
        found: T = before if kept == stamp else make()
        self._looks[kind, conversation_id] = (stamp, found)
        while len(self._looks) > _KEPT:
            del self._looks[next(iter(self._looks))]
        return found
