"""What summaries count below them follows when a text or a source changes.

Changes are added, not computed anew: two repairs below one summary can then be undone in any order, and a number that
was off before is off by as much afterwards. A number that is not kept (NULL, 0, no column) stays as it is. Formulas of
the plugin (public sources, commit 4214b480): a derived summary counts, for each source, the source and what the source
counts; a summary reached on two ways counts twice.
"""

from collections import Counter
from typing import Final

from lcm_lab.repairs.apply_rows import Rows
from lcm_lab.repairs.edits import COUNTED, AddCounts
from lcm_lab.store.images import Value
from lcm_lab.store.schema import quote

Counts = Counter[str]
_DEEP: Final = 64
"""More levels than any DAG of summaries has; ends the walk in a circle."""


class Counting:
    """The counted numbers of one store inside one write transaction."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._columns = [name for name in COUNTED if rows.schema.has("summaries", name)]

    def contribution(self, summary_id: str) -> Counts:
        """What a summary adds to each one derived from it."""
        row = self._rows.image("summaries", [summary_id])
        if row is None:
            return Counter()
        below = {name: _number(row.get(name)) for name in COUNTED}
        return Counter(
            {
                "descendant_count": below["descendant_count"] + 1,
                "descendant_token_count": below["descendant_token_count"] + _number(row.get("token_count")),
                "source_message_token_count": below["source_message_token_count"],
            }
        )

    def of_sources(self, summary_id: str) -> Counts:
        """What all sources of a summary add to it."""
        total: Counts = Counter()
        for source in self._column("SELECT parent_summary_id FROM summary_parents WHERE summary_id = ?", summary_id):
            total.update(self.contribution(str(source)))
        return total

    def spread(self, changes: dict[str, Counts], *, above: dict[str, Counts]) -> list[AddCounts]:
        """Add ``changes`` to summaries and to all derived from them, ``above`` only to those derived; the inverses."""
        total: dict[str, Counts] = {}
        wave = {key: Counter(one) for key, one in changes.items()}
        for key, one in above.items():
            self._pass_on(key, one, wave)
        for _ in range(_DEEP):
            following: dict[str, Counts] = {}
            for key, one in wave.items():
                total.setdefault(key, Counter()).update(one)
                self._pass_on(key, one, following)
            wave = following
            if not wave:
                break
        else:
            # Summaries made from each other in a circle: nothing that could be counted below them.
            return []
        return [done for key, one in total.items() if (done := self.add(key, dict(one))) is not None]

    def add(self, summary_id: str, deltas: dict[str, int], *, back: bool = False) -> AddCounts | None:
        """Add to the numbers of a summary, as far as it keeps them; the inverse, None where nothing was added.

        ``back`` takes back what was added: then it was kept, whatever it is by now.
        """
        row = self._rows.image("summaries", [summary_id])
        if row is None:
            return None
        done = {
            name: by
            for name, by in deltas.items()
            if by
            and name in self._columns
            and (isinstance(row[name], int) if back else _kept(row[name]) and _number(row[name]) + by >= 0)
        }
        if not done:
            return None
        sets = ", ".join(f"{quote(name)} = {quote(name)} + ?" for name in done)
        self._rows.connection.execute(f"UPDATE summaries SET {sets} WHERE summary_id = ?", (*done.values(), summary_id))
        return AddCounts(summary_id, {name: -by for name, by in done.items()})

    def _pass_on(self, summary_id: str, one: Counts, wave: dict[str, Counts]) -> None:
        for derived in self._column("SELECT summary_id FROM summary_parents WHERE parent_summary_id = ?", summary_id):
            wave.setdefault(str(derived), Counter()).update(one)

    def _column(self, sql: str, value: str) -> list[Value]:
        return [row[0] for row in self._rows.connection.execute(sql, (value,))]


def _kept(value: Value) -> bool:
    return isinstance(value, int) and value > 0


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
