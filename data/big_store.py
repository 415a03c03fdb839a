"""Big stores for measuring: as many messages, summaries and context items as asked for, in the schema of 0.15.3.

``python -m lcm_lab.data.big_store --to big.db --messages 350000 --text-mb 4000`` makes one. The text says nothing:
slices of a pool of words, long-tailed in length, one row in twenty in Japanese. What hangs together does so by the
plugin's rules: token counts, links, lineage, contexts of summaries and then messages. Two exceptions, both only where
the numbers asked for leave no other way: more context items than there are uncovered messages keep covered ones in the
context, too; fewer leave the oldest out.

Invariant: the totals are exactly those asked for, and one seed gives one store. Checked by ``tests/test_big_store.py``.
"""

import argparse
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

from lcm_lab.data.big_plan import Node, Plan, plan_store
from lcm_lab.data.schema_files import apply_ddl, has_table
from lcm_lab.errors import LcmLabError, UsageError
from lcm_lab.tokens import plugin_tokens

VERSION: Final = "lcm-0.15.3"
_ROLES: Final = ("user", "assistant", "tool", "assistant", "tool", "assistant")
_WEIGHT: Final = {"user": 0.4, "assistant": 0.9, "tool": 1.6}
_SIGMA: Final = 1.3
"""Spread of the lengths: the longest hundredth of the messages holds about a fifth of the text."""
_LONGEST: Final = 1_000_000
_FIRST_SECOND: Final = 1_767_225_600
_BATCH: Final = 2000
_SUMMARY_INDEXES: Final = ("summaries_fts", "summaries_fts_cjk")
_MESSAGE: Final = (
    "INSERT INTO messages (message_id, conversation_id, seq, role, content, token_count, identity_hash, created_at) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, datetime(?, 'unixepoch'))"
)
_SUMMARY: Final = (
    "INSERT INTO summaries (summary_id, conversation_id, kind, depth, content, token_count, earliest_at, latest_at, "
    "descendant_count, descendant_token_count, source_message_token_count, created_at, model) VALUES (?, ?, ?, ?, ?, "
    "?, strftime('%Y-%m-%dT%H:%M:%S.000Z', ?, 'unixepoch'), strftime('%Y-%m-%dT%H:%M:%S.000Z', ?, 'unixepoch'), ?, "
    "?, ?, datetime(?, 'unixepoch'), 'small-1')"
)
_PART: Final = (
    "INSERT INTO message_parts (part_id, message_id, session_id, part_type, ordinal, text_content, tool_name, "
    "tool_input, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ITEM: Final = (
    "INSERT INTO context_items (conversation_id, ordinal, item_type, message_id, summary_id, created_at) "
    "VALUES (?, ?, ?, ?, ?, datetime(?, 'unixepoch'))"
)


def generate(  # noqa: PLR0913 - one number for each thing a store can be big in
    path: Path | str,
    *,
    messages: int = 200_000,
    text_bytes: int = 300_000_000,
    summaries: int = 5_000,
    context_items: int = 200_000,
    conversations: int = 1_000,
    parts: int = 0,
    largest: int = 0,
    seed: int = 1,
    full_text: bool = False,
    progress: Callable[[int], object] | None = None,
) -> None:
    """Make a store at ``path``, where nothing may be; closed cleanly, in WAL mode, appearing only when finished.

    ``text_bytes`` is the UTF-8 size of all messages together, met within a hundredth. ``largest`` is the number of
    messages of conversation 1; without it sizes fall off evenly. ``parts`` are spread over the first messages.
    ``progress`` is called with the number of messages just written. Without ``full_text`` the store has no full-text
    tables, as one of a plugin whose SQLite lacks FTS5.

    Raises:
        UsageError: something is at ``path``, its folder is missing, the disk is too full, or the numbers disagree.
    """
    place = Path(path)
    if place.exists():
        raise UsageError(f"{place} is there already; the generator never overwrites. Name another path.")
    folder = place.resolve().parent
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder} to put {place.name} into. Make it first.")
    plan = plan_store(
        messages=messages,
        summaries=summaries,
        context_items=context_items,
        conversations=conversations,
        largest=largest,
    )
    share = min(1.0, parts / messages) if messages else 0.0
    need = int(text_bytes * (1.08 + share + (0.9 if full_text else 0))) + 450 * (messages + parts + context_items)
    free = shutil.disk_usage(folder).free
    if free < need * 1.1:
        raise UsageError(f"{place} would need about {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free there.")
    dice = Random(seed)  # noqa: S311 - chance that can be repeated is the point
    making = place.with_name(f".{place.name}.making-{os.getpid()}")
    try:
        with closing(sqlite3.connect(making, isolation_level=None)) as connection:
            _Writer(connection, plan, dice, text_bytes, parts, full_text=full_text).run(progress)
        making.rename(place)
    finally:
        for leftover in (making, making.with_name(making.name + "-journal")):
            leftover.unlink(missing_ok=True)


class _Words:
    """Text by slicing: a pool of words and a pool of Japanese, made once."""

    def __init__(self, dice: Random) -> None:
        stems = ["".join(dice.choices("bdfgklmnprstvz", k=2) + dice.choices("aeiou", k=2)) for _ in range(400)]
        words = [first + last for first in stems for last in ("", "n", "rim", "ta", "x.", "k,")]
        self.plain = " ".join(dice.choices(words, k=_LONGEST // 3))
        kana = [chr(code) for code in (*range(0x3042, 0x3090), *range(0x4E00, 0x4E80), 0x3001, 0x3002)]
        self.wide = "".join(dice.choices(kana, k=_LONGEST))
        self.dice = dice

    def text(self, size: int, *, wide: bool) -> str:
        """Text of ``size`` bytes in UTF-8."""
        if not wide:
            start = int(self.dice.random() * (len(self.plain) - size))
            return self.plain[start : start + size]
        letters, rest = divmod(size, 3)
        start = int(self.dice.random() * (len(self.wide) - letters))
        return self.wide[start : start + letters] + "." * rest


@dataclass(slots=True)
class _Written:
    """What later rows need of a conversation's messages: the first id, each one's tokens and time."""

    first_id: int
    tokens: list[int]
    times: list[int]


class _Writer:
    """Writes one store, conversation by conversation, so that memory holds one conversation's numbers at a time."""

    def __init__(
        self, connection: sqlite3.Connection, plan: Plan, dice: Random, text_bytes: int, parts: int, *, full_text: bool
    ) -> None:
        self.connection, self.plan, self.dice = connection, plan, dice
        self.words, self.full_text = _Words(dice), full_text
        total = sum(one.messages for one in plan.conversations)
        self.lengths = iter(_lengths(dice, total, text_bytes))
        self.parts_each, self.parts_more = divmod(parts, total) if total else (0, 0)
        self.next_id = 1
        self.now = _FIRST_SECOND
        self.summary_indexes: list[str] = []

    def run(self, progress: Callable[[int], object] | None) -> None:
        """Make the tables, fill them, and leave the file in WAL mode."""
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -131072", "locking_mode = EXCLUSIVE"):
            self.connection.execute(f"PRAGMA {pragma}")
        self.connection.execute("BEGIN")
        apply_ddl(self.connection, VERSION, full_text=self.full_text)
        self.summary_indexes = [one for one in _SUMMARY_INDEXES if has_table(self.connection, one)]
        self.full_text = bool(self.summary_indexes)
        for number, planned in enumerate(self.plan.conversations, start=1):
            opened = self.now
            written = self._messages(number, planned.messages, progress)
            rows = self._summaries(number, planned.nodes, written)
            items = self._items(number, planned.tops, planned.shown, written, rows)
            self.connection.executemany(_ITEM, items)
            self._conversation(number, opened)
        self.connection.execute("COMMIT")
        self.connection.execute("PRAGMA locking_mode = NORMAL")
        self.connection.execute("PRAGMA journal_mode = WAL")

    def _conversation(self, number: int, opened: int) -> None:
        self.connection.execute(
            "INSERT INTO conversations (conversation_id, session_id, session_key, active, bootstrapped_at, created_at, "
            "updated_at) VALUES (?, ?, ?, 1, datetime(?, 'unixepoch'), datetime(?, 'unixepoch'), "
            "datetime(?, 'unixepoch'))",
            (number, _session(number), f"agent:main:big:{number}", opened, opened, self.now),
        )
        self.now += 60

    def _messages(self, number: int, count: int, progress: Callable[[int], object] | None) -> _Written:
        written = _Written(self.next_id, [], [])
        rows = self._message_rows(number, count, written)
        while batch := list(islice(rows, _BATCH)):
            self.connection.executemany(_MESSAGE, batch)
            if self.parts_each or self.parts_more:
                self.connection.executemany(_PART, self._part_rows(number, batch))
            if self.full_text:
                self.connection.executemany(
                    "INSERT INTO messages_fts (rowid, content) VALUES (?, ?)", [(row[0], row[4]) for row in batch]
                )
            if progress:
                progress(len(batch))
        return written

    def _message_rows(self, number: int, count: int, written: _Written) -> Iterator[tuple[Any, ...]]:
        for seq in range(1, count + 1):
            role = _ROLES[(seq - 1) % len(_ROLES)]
            content = self.words.text(next(self.lengths), wide=self.dice.random() < 0.05)
            digest = sha256(f"{role}\0{content}".encode()).hexdigest()
            tokens = plugin_tokens(content)
            written.tokens.append(tokens)
            written.times.append(self.now)
            yield self.next_id, number, seq, role, content, tokens, digest, self.now
            self.next_id += 1
            self.now += 1 + int(self.dice.random() * 40)

    def _part_rows(self, number: int, batch: list[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        for message, _, _, role, content, *_ in batch:
            for ordinal in range(self.parts_each + (message <= self.parts_more)):
                text = ordinal == 0
                yield (
                    f"{message:08x}-0000-4000-8000-{ordinal:012x}",
                    message,
                    _session(number),
                    "text" if text else "tool",
                    ordinal,
                    content if text else None,
                    None if text else "exec",
                    None if text else '{"command":"true"}',
                    f'{{"originalRole":"{role}"}}',
                )

    def _summaries(self, number: int, nodes: list[Node], written: _Written) -> list[tuple[str, int]]:
        """Write the conversation's summaries; gives id and time of each for its context."""
        rows: list[list[Any]] = []
        for position, node in enumerate(nodes):
            identity = f"sum_{sha256(f'{number} {position}'.encode()).hexdigest()[:16]}"
            rows.append(self._summary_row(identity, number, node, written, rows))
            links = [(identity, written.first_id + one, at) for at, one in enumerate(node.messages)]
            self.connection.executemany("INSERT INTO summary_messages VALUES (?, ?, ?)", links)
            edges = [(identity, rows[one][0], at) for at, one in enumerate(node.sources)]
            self.connection.executemany("INSERT INTO summary_parents VALUES (?, ?, ?)", edges)
        self.connection.executemany(_SUMMARY, rows)
        if self.full_text:
            for table in self.summary_indexes:
                self.connection.executemany(f"INSERT INTO {table} VALUES (?, ?)", [(row[0], row[4]) for row in rows])
        return [(row[0], row[11]) for row in rows]

    def _summary_row(
        self, identity: str, number: int, node: Node, written: _Written, rows: list[list[Any]]
    ) -> list[Any]:
        below = [rows[one] for one in node.sources]
        if node.depth:
            times = [row[6] for row in below] + [row[7] for row in below]
            source = sum(row[10] for row in below)
            size = sum(row[5] for row in below)
        else:
            times = written.times[node.messages.start : node.messages.stop]
            size = source = sum(written.tokens[node.messages.start : node.messages.stop])
        # A third of what it was made from, in tokens, and never more than the plugin's usual target.
        content = self.words.text(max(4, min(4800, size * 4 // 3)), wide=False)
        return [
            identity,
            number,
            "condensed" if node.depth else "leaf",
            node.depth,
            content,
            plugin_tokens(content),
            min(times),
            max(times),
            sum(row[8] + 1 for row in below),
            sum(row[5] + row[9] for row in below),
            source,
            max(times) + 60 * (node.depth + 1),
        ]

    def _items(
        self, number: int, tops: list[int], shown: int, written: _Written, rows: list[tuple[str, int]]
    ) -> Iterator[tuple[Any, ...]]:
        for ordinal, top in enumerate(tops):
            identity, at = rows[top]
            yield number, ordinal, "summary", None, identity, at
        first = len(written.times) - shown
        for place, at in enumerate(written.times[first:] if shown else ()):
            yield number, len(tops) + place, "message", written.first_id + first + place, None, at


def _session(number: int) -> str:
    return f"{number:08x}-b165-4000-8000-000000000000"


def _lengths(dice: Random, count: int, total: int) -> list[int]:
    """Long-tailed lengths for ``count`` messages that add up to about ``total`` bytes."""
    drawn = [dice.lognormvariate(0, _SIGMA) * _WEIGHT[_ROLES[at % len(_ROLES)]] for at in range(count)]
    scale = total / sum(drawn) if drawn else 0.0
    sizes = [max(1, min(_LONGEST, int(one * scale))) for one in drawn]
    # What the limit cut off goes to all, so that the total holds.
    missing = total - sum(sizes)
    each = missing // count if count and missing > 0 else 0
    return [min(_LONGEST, one + each) for one in sizes] if each else sizes


def main(arguments: Sequence[str] | None = None) -> int:
    """The command ``python -m lcm_lab.data.big_store``; its exit code is 0, or that of the error it prints."""
    from tqdm import tqdm

    parser = argparse.ArgumentParser(prog="python -m lcm_lab.data.big_store", description="Make a big store.")
    parser.add_argument("--to", type=Path, required=True, help="the file to make; nothing may be there")
    parser.add_argument("--messages", type=int, default=200_000, help="messages in all (%(default)s)")
    parser.add_argument("--text-mb", type=float, default=300, help="text of all messages, in 10^6 bytes (%(default)s)")
    parser.add_argument("--summaries", type=int, default=5_000, help="summaries in all (%(default)s)")
    parser.add_argument("--context-items", type=int, default=200_000, help="context items in all (%(default)s)")
    parser.add_argument("--conversations", type=int, default=1_000, help="conversations (%(default)s)")
    parser.add_argument("--parts", type=int, default=0, help="message parts in all (%(default)s)")
    parser.add_argument("--largest", type=int, default=0, help="messages of conversation 1 (0: as the tail falls)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, another text (%(default)s)")
    parser.add_argument("--full-text", action="store_true", help="fill the full-text tables, too")
    given = vars(parser.parse_args(arguments))
    place, text_bytes = given.pop("to"), int(given.pop("text_mb") * 1_000_000)
    try:
        with tqdm(total=given["messages"], unit=" messages", unit_scale=True, file=sys.stderr) as bar:
            generate(place, text_bytes=text_bytes, progress=bar.update, **given)
    except UsageError as error:
        sys.stderr.write(f"big_store: {error}\n")
        return error.exit_code
    except (OSError, sqlite3.OperationalError) as error:
        sys.stderr.write(f"big_store: cannot write {place}: {error}\n")
        return LcmLabError.exit_code
    sys.stderr.write(f"{place}: {place.stat().st_size / 1e6:,.0f} MB\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
