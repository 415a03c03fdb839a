"""Random stores for property tests of repairs: plans of them from hypothesis, written by plain SQL, and read back whole.

A :class:`Sketch` is what hypothesis draws: small, printable, and enough to make the same store again. Stores have up to
two conversations with summaries up to three levels deep, sources that two summaries share, summaries that nothing uses,
gaps in the ordinals, and, where asked for, damage: edges to nothing, counts that are off, a text that is no UTF-8.
"""

import random
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from lcm_lab import tokens as rules
from lcm_lab.analysis.health import check_store
from lcm_lab.data import schema_files
from lcm_lab.store.connect import StoreFile

DAY = "2026-03-30T{:02d}:{:02d}:00.000Z"
INNER = ("_data", "_idx", "_content", "_docsize", "_config")


@dataclass(frozen=True)
class Sketch:
    """What a random store is made of; ``seed`` decides everything the other fields leave open."""

    seed: int
    conversations: int = 1
    leaves: int = 5
    version: str = "0.15.3"
    journal_mode: str = "wal"
    gaps: bool = False
    shared: bool = False
    orphans: bool = False
    damage: bool = False


def sketches(**fixed: object) -> st.SearchStrategy[Sketch]:
    """Sketches of stores; what is named is as given."""
    drawn: dict[str, st.SearchStrategy[object]] = {
        "seed": st.integers(0, 10_000),
        "conversations": st.integers(1, 2),
        "leaves": st.integers(2, 7),
        "version": st.sampled_from(["0.1.0", "0.15.3", "1.0.0-beta.4"]),
        "journal_mode": st.sampled_from(["wal", "delete"]),
        **{name: st.booleans() for name in ("gaps", "shared", "orphans", "damage")},
    }
    return st.builds(Sketch, **{**drawn, **{name: st.just(value) for name, value in fixed.items()}})  # type: ignore[arg-type]


def build(path: Path, sketch: Sketch) -> Path:
    """The store of a sketch, closed, at ``path``."""
    schema_files.create_store(path, sketch.version, journal_mode=sketch.journal_mode)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys=OFF")
        db.execute("PRAGMA synchronous=OFF")
        db.execute("BEGIN")
        writer = _Writer(db, sketch)
        for conversation in range(1, sketch.conversations + 1):
            writer.conversation(conversation)
        db.execute("COMMIT")
    return path


class _Writer:
    """Writes one conversation after the other; the same sketch gives the same rows."""

    def __init__(self, db: sqlite3.Connection, sketch: Sketch) -> None:
        self.db = db
        self.sketch = sketch
        self.random = random.Random(sketch.seed)  # noqa: S311  (the same rows for the same sketch)
        self.columns = {row[0] for row in db.execute("SELECT name FROM pragma_table_info('summaries')")}
        self.indexes = [
            row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%' ORDER BY 1")
        ]
        self.counts: dict[str, Counter[str]] = {}
        self.tokens: dict[str, int] = {}
        self.times: dict[str, tuple[str, str]] = {}
        self.message = 0
        self.name = ""

    def conversation(self, number: int) -> None:
        self.db.execute("INSERT INTO conversations(conversation_id, session_id) VALUES (?, ?)", (number, f"s{number}"))
        leaves = [self.leaf(number, i) for i in range(self.sketch.leaves)]
        levels = [leaves]
        context: list[str] = []
        while len(levels[-1]) > 1 and len(levels) < 4:
            below, made = list(levels[-1]), []
            while len(below) > 1 and self.random.random() < 0.85:
                size = self.random.randint(1, min(3, len(below)))
                sources, below = below[:size], below[size:]
                if self.sketch.shared and made and self.random.random() < 0.5:
                    sources = [self.random.choice(levels[-1]), *sources]
                made.append(self.condensed(number, len(levels), len(made), list(dict.fromkeys(sources))))
            context = [*below, *context] if not self.sketch.orphans or self.random.random() < 0.5 else context
            if not made:
                break
            levels.append(made)
        else:
            context = [*levels[-1], *context]
        self.place(number, context, levels)

    def place(self, number: int, context: list[str], levels: list[list[str]]) -> None:
        """Put the deepest first, then messages; now and then one twice, a gap, or an inner summary as well."""
        depth = {one: i for i, level in enumerate(levels) for one in level}
        items: list[str | int] = [*sorted(set(context), key=lambda one: -depth[one])]
        if self.sketch.damage and self.random.random() < 0.4:
            items.insert(
                self.random.randint(0, len(items)), self.random.choice([one for level in levels for one in level])
            )
        items += [self.add_message(number, self.words(12)) for _ in range(self.random.randint(0, 3))]
        ordinal = self.random.choice([0, 3]) if self.sketch.gaps else 0
        for one in items:
            kind = "message" if isinstance(one, int) else "summary"
            self.db.execute(
                f"INSERT INTO context_items(conversation_id, ordinal, item_type, {kind}_id, created_at) VALUES (?, ?, ?, ?, ?)",
                (number, ordinal, kind, one, "2026-03-30 09:00:00"),
            )
            ordinal += self.random.choice([1, 1, 2, 5]) if self.sketch.gaps else 1

    def leaf(self, number: int, i: int) -> str:
        name = f"sum_{number}_leaf{i}"
        messages = [self.add_message(number, self.words(40)) for _ in range(self.random.randint(2, 3))]
        self.add(number, name, "leaf", 0, 25, Counter(source_message_token_count=len(messages) * 60))
        for place, message in enumerate(messages):
            self.db.execute("INSERT INTO summary_messages VALUES (?, ?, ?)", (name, message, place))
        return name

    def condensed(self, number: int, level: int, i: int, sources: list[str]) -> str:
        name = f"sum_{number}_d{level}n{i}"
        counts: Counter[str] = Counter()
        for one in sources:
            counts.update(self.counts[one])
            counts.update({"descendant_count": 1, "descendant_token_count": self.tokens[one]})
        self.add(number, name, "condensed", level, 12, counts)
        if self.sketch.damage and self.random.random() < 0.3:
            sources = [*sources, f"sum_gone{self.random.randint(1, 2)}"]
        for place, one in enumerate(sources):
            self.db.execute("INSERT INTO summary_parents VALUES (?, ?, ?)", (name, one, place))
        return name

    def add(self, number: int, name: str, kind: str, depth: int, words: int, counts: Counter[str]) -> None:
        text = self.words(words)
        tokens = rules.plugin_tokens(text)
        self.tokens[name], self.counts[name] = tokens, counts
        stored = Counter(counts)
        if self.sketch.damage and self.random.random() < 0.3:
            stored = Counter({key: self.random.choice([0, 1, value + 7]) for key, value in counts.items()})
        values: dict[str, object] = {
            "summary_id": name, "conversation_id": number, "kind": kind, "depth": depth, "content": text,
            "token_count": tokens, "created_at": f"2026-03-30 08:{self.message % 60:02d}:00",
            "earliest_at": "2026-03-30T08:00:00.000Z", "latest_at": "2026-03-30T08:00:00.000Z", "model": "m1",
            **{key: stored[key] for key in ("descendant_count", "descendant_token_count", "source_message_token_count")},
        }  # fmt: skip
        values = {key: value for key, value in values.items() if key in self.columns}
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO summaries({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
        if self.sketch.damage and self.random.random() < 0.2:
            self.db.execute(
                "UPDATE summaries SET content = CAST(? AS TEXT) WHERE summary_id = ?",
                (b"caf\xe9 " + text.encode(), name),
            )
        for index in self.indexes:
            if index != "messages_fts" and not (self.sketch.damage and self.random.random() < 0.3):
                self.db.execute(f"INSERT INTO {index}(summary_id, content) VALUES (?, ?)", (name, text))

    def add_message(self, number: int, text: str) -> int:
        self.message += 1
        self.db.execute(
            "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?, '2026-03-30 08:00:00')",
            (self.message, number, self.message, ("user", "assistant")[self.message % 2], text, 60),
        )
        if "messages_fts" in self.indexes:
            self.db.execute("INSERT INTO messages_fts(rowid, content) VALUES (?, ?)", (self.message, text))
        return self.message

    def words(self, count: int) -> str:
        """A text of made-up words, none of which comes twice in a store."""
        return " ".join(
            "".join(self.random.choices("bdfgklmnprstvz", k=2)) + f"a{self.random.randint(0, 10**6)}"
            for _ in range(count)
        )


def dump(path: Path) -> dict[str, list[str]]:
    """Every row of every table, sorted, as text; full-text tables by what they hold, without their inner tables."""
    found = {}
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.text_factory = bytes
        tables = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall()
        virtual = {name.decode() for name, sql in tables if (sql or b"").upper().startswith(b"CREATE VIRTUAL")}
        inner = {name + end for name in virtual for end in INNER}
        for raw, _ in tables:
            name = raw.decode()
            if name in inner or name.startswith("sqlite_"):
                continue
            key = "rowid, " if name == "messages_fts" else ""
            found[name] = sorted(map(repr, db.execute(f'SELECT {key}* FROM "{name}"')))
    return found


def indexes_are_sound(path: Path) -> None:
    """FTS5's own check of each full-text table; raises where one is not."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE VIRTUAL%'").fetchall():
            db.execute(f"INSERT INTO {name}({name}) VALUES ('integrity-check')")


def context_of(path: Path, conversation: int) -> list[tuple[int, str, int | str]]:
    """Ordinal, kind and id of each item of a context."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(
            "SELECT ordinal, item_type, COALESCE(message_id, summary_id) FROM context_items WHERE conversation_id = ? ORDER BY 1",
            (conversation,),
        ).fetchall()


def problems(path: Path) -> set[tuple[str, str, str]]:
    """Errors and warnings of the check as (code, table, row); an item of a context by what stands there."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        places = {
            f"{row[0]}:{row[1]}": f"{row[0]}:{row[2]} {row[3]}"
            for row in db.execute(
                "SELECT conversation_id, ordinal, item_type, COALESCE(message_id, summary_id) FROM context_items"
            )
        }
    return {
        (one.code, one.table, places.get(key, key) if one.table == "context_items" else key)
        for one in check_store(StoreFile(path)).findings
        if one.severity in ("error", "warning")
        for key in one.ids or ("",)
    }
