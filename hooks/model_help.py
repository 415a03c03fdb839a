"""Asks a model about the sentences that the rules are not sure of, only where the user switched that on.

Idea: the rules decide alone by default; with `"model_help": true` in config.json the few doubtful sentences of a turn
go out in one request, and the tokens spent are counted against a budget that the user sees.
Invariant: nothing is sent when the switch is off, when the budget is used up, or inside a call of our own; whatever
goes wrong, the judgments come back as the rules made them.
Checked in tests/hooks/test_classifier.py.
"""

from __future__ import annotations

import os

try:
    from . import classifier
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

GUARD = "THROUGHLINE_OFF"  # set around our own call: every hook returns at once where it sees it
MOST = 12  # sentences in one request
ANSWER_TOKENS = 4 * MOST
SECONDS = 20
ASK = (
    "Each line below is a sentence from a coding session. Answer with one word a line, in order: "
    "DECISION (how something will be done), CONSTRAINT (what must or must not be done), CONTEXT (a fact about the "
    "project), IMPL (work that is done), ISSUE (something wrong or open) or NONE.\n\n"
)


class Budget:
    """Tokens that may be spent in a session and tokens that were."""

    __slots__ = ("limit", "spent")

    def __init__(self, limit: int, spent: int = 0) -> None:
        self.limit = limit
        self.spent = spent

    def take(self, tokens: int) -> bool:
        """Book the tokens; False, and nothing booked, where they are more than what is left."""
        if self.spent + tokens > self.limit:
            return False
        self.spent += tokens
        return True


def doubtful(judgments: list[classifier.Judgment]) -> list[classifier.Judgment]:
    """The judgments that the rules only guess."""
    return [j for j in judgments if classifier.KEPT <= j.confidence < classifier.SURE][:MOST]


def refine(
    judgments: list[classifier.Judgment],
    config: Mapping[str, Any],
    budget: Budget,
    ask: Callable[[str], str] | None = None,
) -> list[classifier.Judgment]:
    """The judgments with the doubtful ones decided by the model; as they were where that is off or fails."""
    unsure = doubtful(judgments)
    if config.get("model_help") is not True or os.environ.get(GUARD) or not unsure:
        return judgments
    request = ASK + "\n".join(" ".join(j.content.split()) for j in unsure)
    if not budget.take((len(request) + 3) // 4 + ANSWER_TOKENS):
        return judgments
    try:
        answers = (ask or ask_client)(request).split()
    except Exception:  # noqa: BLE001  a hook never fails on what is optional
        return judgments
    if len(answers) != len(unsure):
        return judgments
    dropped = set()
    for judgment, answer in zip(unsure, answers, strict=True):
        word = answer.strip(".,:*").upper()
        if word in classifier.PER_TURN:
            judgment.category, judgment.confidence = word, 0.8
        elif word == "NONE":
            dropped.add(id(judgment))
    return [j for j in judgments if id(j) not in dropped]


def ask_client(request: str) -> str:
    """The answer of the user's own client in print mode, with its hooks told to stay out."""
    import shutil
    import subprocess

    client = shutil.which("claude")
    if client is None:
        raise FileNotFoundError("claude is not on the path")
    done = subprocess.run(  # noqa: S603  (the user's own client, the request on stdin)
        [client, "-p", "--model", "haiku", "--max-turns", "1"],
        input=request,
        env={**os.environ, GUARD: "1"},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
    )
    return done.stdout
