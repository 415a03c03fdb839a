"""The hand-made labels of `data/labels`, joined with the sessions they point into.

Idea: labels are positions; the text is read from the sessions when those are on this machine, and nothing works without
them. The split is by session and by rule, so nobody can move a sentence to the side where it helps.
Invariant: a labelled position lies inside the text of its block.
Checked in test_classifier.py.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from math import sqrt
from pathlib import Path
from typing import Any

from lcm_lab.hooks.transcript import Reader
from lcm_lab.hooks.turns import Turn

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "data" / "labels"
SESSIONS = Path(os.environ.get("LCM_LAB_SHARED") or ROOT.parent / "shared") / "transcripts"
CATEGORIES = ("DECISION", "CONSTRAINT", "CONTEXT", "IMPL", "ISSUE")


@dataclass(frozen=True)
class Sentence:
    """One labelled sentence where it stands."""

    file: str
    line: int
    block: int
    start: int
    end: int
    label: str
    second: str  # what a second reader took it for


@dataclass(frozen=True)
class Outcome:
    """The ways in which a session says how one turn ended."""

    file: str
    prompt_line: int
    results: tuple[str, ...]
    questions: tuple[str, ...]
    interrupted: bool


@dataclass(frozen=True)
class Text:
    """One text block of a session."""

    role: str
    text: str


def half(file: str) -> str:
    """The side of a session: development, held-out or reserve."""
    if not file.startswith("claude-code/"):
        return "reserve"
    return "held-out" if int(hashlib.sha256(file.encode()).hexdigest()[0], 16) % 2 else "development"


def available() -> bool:
    """True where the labelled sessions can be read."""
    return (SESSIONS / "claude-code" / "cli-long.jsonl").is_file()


@cache
def texts(file: str) -> dict[tuple[int, int], Text]:
    """Every text block of a session by line and block number; -1 where the content is one string."""
    found = {}
    with (SESSIONS / file).open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
            except ValueError:
                continue
            message: dict[str, Any] = record.get("message") or {} if isinstance(record, dict) else {}
            role, content = message.get("role"), message.get("content")
            if role not in {"user", "assistant"}:
                continue
            if isinstance(content, str):
                found[number, -1] = Text(role, content)
            for block, part in enumerate(content if isinstance(content, list) else []):
                if isinstance(part, dict) and part.get("type") == "text":
                    found[number, block] = Text(role, part["text"])
    return found


def sentences(side: str) -> list[Sentence]:
    """The labelled sentences of one side."""
    with (FOLDER / "sentences.tsv").open(encoding="utf-8") as rows:
        given = [
            Sentence(
                *(r["file"], int(r["line"]), int(r["block"]), int(r["start"]), int(r["end"])),
                *(r["label"], r["second"].rstrip("?")),
            )
            for r in csv.DictReader(rows, delimiter="\t")
        ]
    return [sentence for sentence in given if half(sentence.file) == side]


def outcomes(side: str) -> list[Outcome]:
    """The labelled turns of one side, each with the words that say how it ended."""
    grouped: dict[tuple[str, int], list[dict[str, str]]] = defaultdict(list)
    with (FOLDER / "outcomes.tsv").open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows, delimiter="\t"):
            if half(row["file"]) == side:
                grouped[row["file"], int(row["prompt_line"])].append(row)
    found = []
    for (file, prompt_line), spans in grouped.items():
        words: dict[str, list[str]] = {"result": [], "question": []}
        for span in spans:
            if span["block"] != "-2":
                text = texts(file)[int(span["line"]), int(span["block"])].text
                words[span["kind"]].append(text[int(span["start"]) : int(span["end"])])
        interrupted = any(span["block"] == "-2" for span in spans)
        found.append(Outcome(file, prompt_line, tuple(words["result"]), tuple(words["question"]), interrupted))
    return found


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    if not n:
        return 0.0, 1.0
    z, p = 1.96, hits / n
    middle, spread = p + z * z / (2 * n), z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(0.0, (middle - spread) / (1 + z * z / n)), min(1.0, (middle + spread) / (1 + z * z / n))


def tally(side: str, classifier: Any, sentences_module: Any) -> dict[str, tuple[int, int, int]]:
    """(right, injected, labelled) for each category of one side, the sentences cut and judged as the hooks do it."""
    judged: dict[tuple[str, int, int], dict[int, tuple[str, float] | None]] = {}
    right, made, wanted = dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0), dict.fromkeys(CATEGORIES, 0)
    for given in sentences(side):
        where = (given.file, given.line, given.block)
        if where not in judged:
            block = texts(given.file)[given.line, given.block]
            judged[where] = {
                span.start: classifier.sentence(block.text[span.start : span.end], block.role, span.lead)
                for span in sentences_module.spans(block.text)
            }
        verdict = judged[where].get(given.start)
        if given.label in wanted:
            wanted[given.label] += 1
        if verdict and classifier.injected(*verdict):
            made[verdict[0]] += 1
            right[verdict[0]] += verdict[0] == given.label
    return {category: (right[category], made[category], wanted[category]) for category in CATEGORIES}


def turns(file: str) -> dict[int, Turn]:
    """The turn that each labelled prompt line belongs to; prompts that one turn took in lead to the same turn."""
    if not file.startswith("claude-code/"):
        return _plain_turns(file)
    offsets = [0]
    with (SESSIONS / file).open("rb") as lines:
        for line in lines:
            offsets.append(offsets[-1] + len(line))
    read = list(Reader(str(SESSIONS / file)).turns(final=True))
    wanted = {row.prompt_line for side in ("development", "held-out") for row in outcomes(side) if row.file == file}
    return {line: [turn for turn in read if turn.start <= offsets[line - 1] < turn.end][-1] for line in sorted(wanted)}


def _plain_turns(file: str) -> dict[int, Turn]:
    """Turns of a session of another agent: a prompt and the answers up to the next one."""
    found: dict[int, Turn] = {}
    last = 0
    for (line, _), block in sorted(texts(file).items()):
        if block.role == "user" and line != last:
            last = line
            found[line] = Turn(len(found) + 1, block.text)
            found[line].state = "complete"
        elif block.role == "user":
            found[last].user_text += "\n" + block.text
        elif last:
            found[last].assistant_texts.append(block.text)
            found[last].final_text = block.text
    return found


def held(line: str, outcome: Outcome, stopped: tuple[str, ...]) -> str:
    """How a line holds an outcome: "verbatim", "in words" (three quarters of the words of one span), or ""."""
    spans = outcome.results or outcome.questions
    if not spans:
        return "verbatim" if outcome.interrupted and line.endswith(stopped) else ""
    told = line.rsplit(" → ", 1)[-1]
    if any(_bare(span) in _bare(told) for span in spans):
        return "verbatim"
    ours = _words(told)
    return "in words" if any(len(w & ours) >= 0.75 * len(w) for span in spans if (w := _words(span))) else ""


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[*`_\[\]]", "", text).lower().split()).rstrip(" .:!,")


def _words(text: str) -> set[str]:
    return {word.rstrip(".-") for word in re.findall(r"[\w#%.-]{2,}", _bare(text))} - {""}
