"""The labels of public sessions (`data/labels/public`), joined with the sessions where those are on this machine.

Idea: as in `labels`: positions and labels are ours, the texts are not. `LCM_LAB_PUBLIC_SESSIONS` names a folder with
one file a session, `<session>.jsonl`: a line for each prompt and each text block of an answer, in the client's spelling.
Two readers labelled the sides that are measured without seeing each other's labels, one reader the development side. The
split is by repository.
Invariant: a sentence counts only where its text has the hash that was labelled.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import labels

from lcm_lab.hooks import sentences
from lcm_lab.hooks.turns import Turn

FOLDER = labels.FOLDER / "public"
SESSIONS = Path(os.environ.get("LCM_LAB_PUBLIC_SESSIONS") or "no folder is named")
READERS = ("1", "2")
SIDES = ("development", "held-out", "final", "last")  # the last three in the order in which they were met


@dataclass(frozen=True)
class Labelled:
    """A sentence with what each reader took it for; `turn` is 0 before the first prompt."""

    turn: int
    role: str
    text: str
    lead: str
    found: tuple[str, ...]


def sessions(side: str) -> list[str]:
    """The sessions of a side that are on this machine."""
    return [row["session"] for row in rows_of("sessions") if row["side"] == side and _file(row["session"]).is_file()]


def labelled(session: str) -> list[Labelled]:
    """Every sentence of a session in its order."""
    rows = {(int(r["block"]), int(r["start"])): r for r in rows_of("sentences") if r["session"] == session}
    found, turn = [], 0
    for block, role, text in _blocks(session):
        turn += role == "user"
        for span in sentences.spans(text):
            said = text[span.start : span.end]
            row = rows.get((block, span.start))
            if row is not None and _hash(said) == row["sha256"]:
                given = tuple(row[f"reader{n}"].rstrip("?") for n in READERS if row[f"reader{n}"])
                found.append(Labelled(turn, role, said, span.lead, given))
    return found


def turns(session: str) -> list[Turn]:
    """The prompts and what followed them; what the tools did is not in these files."""
    found: list[Turn] = []
    for _, role, text in _blocks(session):
        if role == "interrupted":
            if found:
                found[-1].state = "interrupted"
        elif role == "user":
            found.append(Turn(len(found) + 1, text))
            found[-1].state = "complete"
        elif found:
            found[-1].assistant_texts.append(text)
            found[-1].final_text = text
    return found


def outcomes(session: str) -> dict[int, labels.Outcome]:
    """How each turn ended, in the words that any reader marked."""
    texts = {block: text for block, _, text in _blocks(session)}
    grouped: dict[int, list[dict[str, str]]] = defaultdict(list)
    for row in rows_of("outcomes"):
        if row["session"] == session:
            grouped[int(row["turn"])].append(row)
    found = {}
    for turn, rows in grouped.items():
        words: dict[str, list[str]] = {"result": [], "question": []}
        for row in rows:
            if row["block"]:
                words[row["kind"]].append(texts[int(row["block"])][int(row["start"]) : int(row["end"])])
        stopped = any(row["kind"] == "interrupted" for row in rows)
        found[turn] = labels.Outcome(session, 0, tuple(words["result"]), tuple(words["question"]), stopped)
    return found


@cache
def rows_of(name: str) -> list[dict[str, str]]:
    """One of the three tables."""
    with (FOLDER / f"{name}.tsv").open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows, delimiter="\t"))


@cache
def _blocks(session: str) -> list[tuple[int, str, str]]:
    """(number from 1, role, text); an interruption has a role of its own."""
    found = []
    with _file(session).open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            message: dict[str, Any] = json.loads(line)["message"]
            content = message["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            stopped = text.startswith("[Request interrupted")
            found.append((number, "interrupted" if stopped else message["role"], text))
    return found


def _file(session: str) -> Path:
    return SESSIONS / f"{session}.jsonl"


def _hash(text: str) -> str:
    """Of the words, whatever the spacing."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:12]
