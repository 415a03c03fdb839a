"""What a user decides through a tool call: which answers were picked, which plan was approved.

Idea: in these places the client itself tells that somebody decided, so no wording has to be guessed.
Invariant: only words of the user, and of the question or plan they belong to, are quoted; an unknown form says nothing.
Source: the texts that clients 2.0 to 2.1.332 put into the tool result.
Checked in tests/hooks/test_replies.py.
"""

from __future__ import annotations

import re

try:
    from . import sentences
except ImportError:  # run as a script: the folder of the script is on the path
    import sentences  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

ANSWERED = ("User has answered your questions: ", "Your questions have been answered: ", "The user answered: ")
END = re.compile(r'"(?: selected preview:| (?:user )?notes:|\. You can now continue|\. Read the answers carefully)')
APPROVED = "User has approved your plan"
SAVED = re.compile(r"Your plan has been saved to: (\S[^\n]*)")
FENCED = re.compile(r"^```.*?(?:^```|\Z)", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+[ \t]*(?:plan[ \t]*[:—–-][ \t]*)?(\S[^\n]*)", re.IGNORECASE | re.MULTILINE)
ADVISED = re.compile(r"\s*\(recommended\)", re.IGNORECASE)
LONG = 110  # characters of a question; of a longer one only the sentence that asks is shown


def decisions(tools: Iterable[Any]) -> Iterator[str]:
    """Each answer to a question as "question → answer", and each approved plan by its title; whole, however long."""
    for call in tools:
        if call.sidechain or call.is_error or not call.output:
            continue
        if call.name == "AskUserQuestion":
            for question, answer in _answers(call):
                yield f"{_short(question)} → {ADVISED.sub('', answer)}"
        elif call.name == "ExitPlanMode" and call.output.startswith(APPROVED):
            yield from _plan(call)


def _answers(call: Any) -> Iterator[tuple[str, str]]:
    """(question, answer) of a call that the user answered; nothing where it is not plain where an answer ends."""
    asked = call.input.get("questions")
    head = next((one for one in ANSWERED if call.output.startswith(one)), "")
    if not head or not isinstance(asked, list):
        return
    body = ", " + call.output[len(head) :]
    names = [row.get("question") for row in asked if isinstance(row, dict)]
    marks = {name: f', "{name}"="' for name in names if isinstance(name, str) and name.strip()}
    places = sorted((body.find(mark), name) for name, mark in marks.items() if body.count(mark) == 1)
    if any(body.count(mark) > 1 for mark in marks.values()):
        return
    for number, (place, name) in enumerate(places):
        until = places[number + 1][0] if number + 1 < len(places) else len(body)
        said = body[place + len(marks[name]) : until]
        end = END.search(said)
        last = end.start() if end else len(said) - 1 if said.endswith('"') else 0
        answer = " ".join(said[:last].split())
        if answer:
            yield name, answer


def _short(question: str) -> str:
    """On one line; of a question with a long lead the part that asks."""
    words = " ".join(question.split())
    asks = [words[span.start : span.end] for span in sentences.spans(words)]
    return words if len(words) <= LONG or not asks else asks[-1]


def _plan(call: Any) -> Iterator[str]:
    given = call.input.get("plan")
    text = given if isinstance(given, str) else call.output.partition("## Approved Plan")[2].partition("\n")[2]
    text = FENCED.sub("", text)
    heading, saved = HEADING.search(text), SAVED.search(call.output)
    title = " ".join((heading[1] if heading else text.strip().partition("\n")[0]).split())
    if title:
        yield f"Plan approved: {title}" + (f" (saved to {' '.join(saved[1].split())})" if saved else "")
