"""Collects a session while its file is read: items in their order, requests with their usage.

Idea: readers of different files differ in how they find texts; what becomes of a text is the same for all.
Invariant: usage is taken once per message id, its largest snapshot; a text that repeats under one id is one item.
Checked by ``tests/analysis/savings/test_reading.py``.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from lcm_lab.analysis.savings.session import OUTPUT, PICTURE, Item, Request, Session
from lcm_lab.tokens import plugin_tokens

_PIECE: Final = re.compile(r"[A-Za-z]{1,7}|[0-9]{1,3}|[^\sA-Za-z0-9]|\n+|[ \t]{2,}")
_SAMPLE: Final = 40_000


def pieces(text: str) -> int:
    r"""Tokens by a second rule: short words, groups of digits, single signs, runs of spaces.

    >>> pieces("def run(x):\n    return 42")
    10
    """
    if len(text) <= _SAMPLE:
        return len(_PIECE.findall(text))
    return round(len(_PIECE.findall(text[:_SAMPLE])) * len(text) / _SAMPLE)


@dataclass(slots=True)
class Usage:
    """What the API said about one request."""

    uncached: int = 0
    cache_read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    output: int = 0

    @property
    def prompt(self) -> int:
        """The size of the prompt."""
        return self.uncached + self.cache_read + self.write_5m + self.write_1h


class Gathering:
    """A session in the making; ``texts`` are the items' words, kept for as long as references are looked for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.items: list[Item] = []
        self.texts: list[str] = []
        self.requests: list[Request] = []
        self.offsets: list[int] = []
        self.cut_by_client = 0
        self.client = ""
        self._by_id: dict[str, int] = {}
        self._input_at = 0.0
        self._began: float | None = None
        self._files: dict[str, int] = {}
        self._calls: dict[str, tuple[int, str, int, int]] = {}
        self._next: dict[str, bool] = {"boundary": False, "fresh": False, "resumed": False}
        self._before = 0
        self._manual = False
        self._stretch = 0

    def clock(self, stamp: object) -> float:
        """Seconds since the session's first stamp; the last known where there is none."""
        try:
            moment = datetime.fromisoformat(str(stamp)).timestamp()
        except ValueError:
            return self._input_at
        if self._began is None:
            self._began = moment
        return moment - self._began

    def mark(self, what: str, before: int = 0, *, manual: bool = False) -> None:
        """The next request comes after a ``boundary``, begins ``fresh``, or is the first of a ``resumed`` client."""
        self._next[what] = True
        self._before = before or self._before
        self._manual = manual or self._manual
        self._stretch += what != "resumed"

    def request(self, message_id: str, model: str, turn: int, stamp: object, offset: int, usage: Usage) -> int:
        """The index of the request with this id, new or known."""
        at = self.clock(stamp)
        known = self._by_id.get(message_id)
        if known is None:
            known = self._by_id[message_id] = len(self.requests)
            # The request went out when its last input was there, not when its answer was written.
            sent = self._input_at if self._input_at and not self._is_stale(at) else at
            about = {"before": self._before, "manual": self._manual}
            self.requests.append(Request(round(max(0.0, sent), 1), turn, model, **self._next, **about))  # type: ignore[arg-type]
            self.offsets.append(offset)
            self._next = dict.fromkeys(self._next, False)
            self._before, self._manual = 0, False
        old = self.requests[known]
        if usage.prompt >= old.prompt and usage.prompt:
            self.requests[known] = replace(
                old,
                prompt=usage.prompt,
                uncached=usage.uncached,
                cache_read=usage.cache_read,
                write_5m=usage.write_5m,
                write_1h=usage.write_1h,
                output=max(usage.output, old.output),
            )
        return known

    def _is_stale(self, at: float) -> bool:
        return not 0 <= at - self._input_at < 600

    def put(self, kind: str, text: str, turn: int, *, made: int = -1, stamp: object = None) -> Item | None:
        """Take a text in; nothing where it is empty."""
        if not text:
            return None
        entry = made + 1 if made >= 0 else len(self.requests)
        if kind not in OUTPUT and stamp is not None:
            self._input_at = self.clock(stamp)
        item = Item(kind, plugin_tokens(text), pieces(text), entry, made, turn, stretch=self._stretch)
        self._add(item, text)
        return item

    def picture(self, turn: int, stamp: object = None) -> None:
        """Take a picture in."""
        self._input_at = self.clock(stamp)
        self._add(Item("image", PICTURE, PICTURE, len(self.requests), turn=turn, stretch=self._stretch), "")

    def call(self, call_id: str, tool: str, given: object, turn: int, made: int) -> None:
        """Take a tool call in."""
        if call_id in self._calls:
            return
        path = _path(given)
        number = self._files.setdefault(path, len(self._files)) if path else -1
        lowered = tool.lower()
        reads = number if lowered == "read" else -1
        edits = number if lowered in ("edit", "write", "multiedit", "notebookedit", "apply_patch") else -1
        if lowered in ("edit", "write", "multiedit", "notebookedit", "apply_patch") and edits < 0:
            edits = self._files.setdefault("", len(self._files))
        self._calls[call_id] = (len(self._calls), tool, reads, edits)
        if self.put("tool input", json.dumps(given, ensure_ascii=False), turn, made=made) is not None:
            self.texts[-1] = "\n".join(_values(given))
            self.items[-1] = replace(self.items[-1], call=self._calls[call_id][0], reads=reads, edits=edits)

    def tool_of(self, call_id: str) -> str:
        """The name of the tool of a call."""
        return self._calls.get(call_id, (0, "", 0, 0))[1]

    def result(self, call_id: str, text: str, turn: int, stamp: object) -> None:
        """Take a result in, as the model saw it."""
        if self.put("tool output", text, turn, stamp=stamp) is not None and call_id in self._calls:
            number, _, reads, _ = self._calls[call_id]
            self.items[-1] = replace(self.items[-1], call=number, reads=reads)

    def _add(self, item: Item, text: str) -> None:
        self.items.append(item)
        self.texts.append(text)

    def session(self, **more: object) -> Session:
        """What was gathered, its items in the order in which they entered."""
        order = sorted(range(len(self.items)), key=lambda i: (self.items[i].entry, i))
        self.texts = [self.texts[i] for i in order]
        self.items = [self.items[i] for i in order]
        made = Session(self.name, tuple(self.items), tuple(self.requests), client=self.client)
        return replace(made, cut_by_client=self.cut_by_client, **more)  # type: ignore[arg-type]


def _path(given: object) -> str:
    """The file that a call is about, if any."""
    if not isinstance(given, dict):
        return ""
    return str(given.get("file_path") or given.get("notebook_path") or given.get("path") or "")


def _values(given: object) -> Iterator[str]:
    """The words of a call's input, without the quoting of JSON."""
    if isinstance(given, dict):
        for one in given.values():
            yield from _values(one)
    elif isinstance(given, list):
        for one in given:
            yield from _values(one)
    elif given is not None:
        yield str(given)
