"""The demo's text format, read: conversation files and the summary file become plain, typed records.

A file is a head of ``key: value`` lines, then sections. A section opens with ``== WORD arguments`` and holds every line
down to the next such line; ``data/demo/README.md`` lists the words. Invariant: nothing here depends on the clock or on
chance, so one text always gives the same records (checked by ``tests/test_demo_store.py``).
"""

import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from lcm_lab.data.demo_fill import fill

HEARTBEAT: Final = (
    "Read HEARTBEAT.md in the workspace and do what it says. If nothing needs attention, reply HEARTBEAT_OK."
)
_SHORT_ARGUMENT: Final = {"exec": "command", "read": "path", "search": "query"}
_STEP: Final = re.compile(r"\+(\d+)([smhd])")
_UNIT: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class DemoTextError(ValueError):
    """A demo file that does not follow the format; the message names the file and the section."""


@dataclass(frozen=True, slots=True)
class Section:
    """One ``== WORD arguments`` line with the text below it."""

    where: str
    word: str
    arguments: tuple[str, ...]
    body: str

    def option(self, name: str) -> str | None:
        """The value of the argument ``name=value``; None where it is not given."""
        for argument in self.arguments:
            key, sign, value = argument.partition("=")
            if sign and key == name:
                return value
        return None

    def plain(self) -> list[str]:
        """The arguments that are neither a time step nor ``name=value``."""
        return [one for one in self.arguments if "=" not in one and not one.startswith("+")]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call inside an assistant message."""

    call_name: str
    arguments: dict[str, Any]


@dataclass(slots=True)
class Attachment:
    """A text too large for the store: what the plugin puts into a file of its own."""

    file_name: str
    mime: str
    payload: str


@dataclass(slots=True)
class Message:
    """A message as the demo text gives it. ``answers`` is the tool call (message seq, position) a result belongs to."""

    seq: int
    role: str
    at: datetime
    text: str
    thought: str | None = None
    calls: list[Call] = field(default_factory=list)
    answers: tuple[int, int] | None = None
    is_error: bool = False
    attachment: Attachment | None = None
    mark: str | None = None
    copy_of: int | None = None


@dataclass(slots=True)
class Conversation:
    """A conversation file: its head, its messages, and which messages each leaf summarises (by the leaf's label)."""

    head: dict[str, str]
    messages: list[Message]
    leaves: dict[str, list[int]]

    @property
    def number(self) -> int | None:
        """The conversation's id; None for a session that the store does not know."""
        return int(self.head["conversation"]) if self.head["conversation"] != "none" else None

    @property
    def start(self) -> datetime:
        """When the conversation was opened."""
        return _moment(self.head["start"])


@dataclass(frozen=True, slots=True)
class SummaryText:
    """A summary as the demo text gives it; ``sources`` are labels of summaries, empty for a leaf."""

    conversation: int
    label: str
    sources: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class BriefText:
    """A focus brief as the demo text gives it: what it was asked for, and the summaries that were its input."""

    conversation: int
    label: str
    status: str
    at: datetime
    prompt: str
    sources: tuple[str, ...]
    body: str


@dataclass(slots=True)
class Digest:
    """The summary file: summaries bottom-up, what each context starts with, and the focus briefs."""

    summaries: list[SummaryText] = field(default_factory=list)
    contexts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    briefs: list[BriefText] = field(default_factory=list)


def read_sections(path: Path) -> tuple[dict[str, str], list[Section]]:
    """The head and the sections of a demo file; directives in the bodies are filled in already."""
    head: dict[str, str] = {}
    sections: list[Section] = []
    opened: tuple[str, list[str]] | None = None
    lines: list[str] = []

    def close() -> None:
        if opened is not None:
            word, arguments = opened
            where = f"{path.name}, section {len(sections) + 1} ({word})"
            sections.append(Section(where, word, tuple(arguments), fill("\n".join(lines).strip("\n"))))

    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            close()
            word, *arguments = line[3:].split()
            opened, lines = (word, arguments), []
        elif opened is not None:
            lines.append(line.removeprefix("\\") if line.startswith("\\==") else line)
        elif line.strip() and not line.startswith("#"):
            key, _, value = line.partition(":")
            head[key.strip()] = value.strip()
    close()
    return head, sections


def read_conversation(path: Path) -> Conversation:
    """The conversation in a file of ``data/demo/conversations``."""
    head, sections = read_sections(path)
    reader = _Reader(Conversation(head, [], {}))
    for section in sections:
        reader.take(section)
    return reader.conversation


def read_digest(path: Path) -> Digest:
    """The summaries, contexts and focus briefs in ``data/demo/summaries.txt``."""
    digest = Digest()
    number = 0
    for section in read_sections(path)[1]:
        words = section.plain()
        match section.word:
            case "conversation":
                number = int(words[0])
            case "leaf":
                digest.summaries.append(SummaryText(number, words[0], (), section.body))
            case "condensed":
                digest.summaries.append(SummaryText(number, words[0], tuple(words[1:]), section.body))
            case "context":
                digest.contexts[number] = tuple(section.body.split())
            case "brief":
                prompt, _, body = section.body.partition("\n\n")
                at = _moment(section.option("at") or "")
                digest.briefs.append(BriefText(number, words[0], words[1], at, prompt, tuple(words[2:]), body))
            case word:
                raise DemoTextError(f"{section.where}: unknown word {word!r}.")
    return digest


class _Reader:
    """Reads the sections of one conversation in order; keeps the clock, the open calls and the open leaf."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.now = conversation.start
        self.thought: str | None = None
        self.open_calls: list[tuple[int, int]] = []
        self.unfolded: list[int] = []

    def take(self, section: Section) -> None:
        """Add what ``section`` says."""
        match section.word:
            case "user" | "assistant" | "system":
                self._say(section.word, section)
            case "think":
                self.thought = section.body
            case "call":
                self._call(section)
            case "result":
                self._result(section)
            case "attach":
                name, mime = section.plain()
                self.conversation.messages[-1].attachment = Attachment(name, mime, section.body)
            case "heartbeat":
                self._step(section)
                self._add(Message(0, "user", self.now, HEARTBEAT))
                self.now += timedelta(seconds=4)
                self._add(Message(0, "assistant", self.now, "HEARTBEAT_OK"))
            case "repeat":
                self._repeat(int(section.plain()[0]))
            case "leaf":
                self.conversation.leaves[section.plain()[0]] = self.unfolded
                self.unfolded = []
            case word:
                raise DemoTextError(f"{section.where}: unknown word {word!r}.")

    def _say(self, role: str, section: Section) -> None:
        self._step(section)
        message = Message(0, role, self.now, section.body, mark=section.option("mark"))
        if role == "assistant":
            message.thought, self.thought = self.thought, None
        self._add(message)

    def _call(self, section: Section) -> None:
        message = self.conversation.messages[-1]
        if message.role != "assistant":
            raise DemoTextError(f"{section.where}: a call needs an assistant message before it.")
        name, body = section.plain()[0], section.body
        arguments = json.loads(body) if body.startswith("{") else {_SHORT_ARGUMENT[name]: body}
        self.open_calls.append((message.seq, len(message.calls)))
        message.calls.append(Call(name, arguments))

    def _result(self, section: Section) -> None:
        if not self.open_calls:
            raise DemoTextError(f"{section.where}: no call is waiting for a result.")
        self._step(section)
        message = Message(
            0, "tool", self.now, section.body, answers=self.open_calls.pop(0), mark=section.option("mark")
        )
        message.is_error = "error" in section.plain()
        name = section.option("file")
        if name is not None:
            message.attachment = Attachment(name, section.option("mime") or "text/plain", section.body)
        self._add(message)

    def _repeat(self, count: int) -> None:
        for first in self.conversation.messages[-count:]:
            copied = Message(0, first.role, first.at, first.text, first.thought, list(first.calls), first.answers)
            copied.copy_of = first.seq
            self._add(copied)

    def _add(self, message: Message) -> None:
        message.seq = len(self.conversation.messages) + 1
        self.conversation.messages.append(message)
        self.unfolded.append(message.seq)

    def _step(self, section: Section) -> None:
        at = section.option("at")
        if at is not None:
            self.now = _moment(at)
        for argument in section.arguments:
            match = _STEP.fullmatch(argument)
            if match:
                self.now += timedelta(seconds=int(match[1]) * _UNIT[match[2]])


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
