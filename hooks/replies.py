"""What a user decides through a tool call: which answers were picked, which plan was approved.

Idea: in these places the client itself tells that somebody decided, so no wording has to be guessed.
Invariant: only words of the user, and of the question or plan they belong to, are quoted; an unknown form says nothing.
Source: the texts that clients 2.0 to 2.1.332 put into the tool result.
Checked in tests/hooks/test_replies.py.
"""

from __future__ import annotations

import re

try:
    from . import hook_io, sentences
except ImportError:  # run as a script: the folder of the script is on the path
    import hook_io  # type: ignore[import-not-found,no-redef]
    import sentences  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

ANSWERED = ("User has answered your questions: ", "Your questions have been answered: ", "The user answered: ")
APPROVED = "User has approved your plan"
SAVED = re.compile(r"Your plan has been saved to: (\S[^\n]*)")
HEADING = re.compile(r"^#+[ \t]*(?:plan[ \t]*[:—–-][ \t]*)?(\S[^\n]*)", re.IGNORECASE | re.MULTILINE)
ADVISED = re.compile(r"\s*\(recommended\)", re.IGNORECASE)
LONGEST = 160


def decisions(tools: Iterable[Any]) -> Iterator[str]:
    """Each answer to a question as "question → answer", and each approved plan by its title."""
    for call in tools:
        if call.sidechain or call.is_error or not call.output:
            continue
        if call.name == "AskUserQuestion":
            for question, answer in _answers(call):
                yield _fit(question, ADVISED.sub("", answer))
        elif call.name == "ExitPlanMode" and call.output.startswith(APPROVED):
            yield _plan(call)


def _answers(call: Any) -> Iterator[tuple[str, str]]:
    """(question, answer) of a call of AskUserQuestion that the user answered."""
    asked = call.input.get("questions")
    if not call.output.startswith(ANSWERED) or not isinstance(asked, list):
        return
    for row in asked:
        question = row.get("question") if isinstance(row, dict) else None
        if not isinstance(question, str) or not question.strip():
            continue
        found = re.search(re.escape(f'"{question}"="') + r'([^\n]*?)"(?=, "|\. |\s|$)', call.output)
        if found and found[1].strip():
            yield question, " ".join(found[1].split())


def _fit(question: str, answer: str) -> str:
    """Both on one line; of a question with a long lead the part that asks."""
    words = " ".join(question.split())
    asks = [words[span.start : span.end] for span in sentences.spans(words)] or [words]
    room = LONGEST - min(len(answer), LONGEST // 2) - 3
    shown = hook_io.cut(words if len(words) <= room else asks[-1], room)
    return f"{shown} → {hook_io.cut(answer, LONGEST - len(shown) - 3)}"


def _plan(call: Any) -> str:
    given = call.input.get("plan")
    text = given if isinstance(given, str) else call.output.partition("## Approved Plan")[2].partition("\n")[2]
    heading, saved = HEADING.search(text), SAVED.search(call.output)
    title = " ".join((heading[1] if heading else text).split())
    where = f" (saved to {' '.join(saved[1].split())})" if saved else ""
    room = max(40, LONGEST - len("Plan approved: ") - len(where))
    return f"Plan approved: {hook_io.cut(title, room)}{where}"
