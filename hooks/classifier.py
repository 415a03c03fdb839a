"""Finds the judgments of a turn: decisions, limits, facts, finished work, open faults.

Idea: most sentences of a session are narration; the few that matter announce themselves by how they are said, by who
says them, by the list they stand in and by what the tools did. Rules look for that; a sentence with no clear sign is
left out, because every judgment costs context after each compaction.
Invariant: what is quoted is a piece of what was said, trimmed and never rewritten; a fault that the same turn mends is
marked as resolved.
Checked in tests/hooks/test_classifier.py; measured in tests/benchmarks/bench_classifier.py.
"""

from __future__ import annotations

import re

try:
    from . import commands, phrases, replies, sentences, wording
except ImportError:  # run as a script: the folder of the script is on the path
    import commands  # type: ignore[import-not-found,no-redef]
    import phrases  # type: ignore[import-not-found,no-redef]
    import replies  # type: ignore[import-not-found,no-redef]
    import sentences  # type: ignore[import-not-found,no-redef]
    import wording  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

INJECTED = frozenset({"ISSUE", "CONSTRAINT", "DECISION", "IMPL"})
"""Categories that rules alone may put into the block; the others are kept for search."""

SURE = 0.55  # below this a judgment is kept for search and never given back
KEPT = 0.4  # below this it is not kept at all
LONGEST = 160
PER_TURN = {"ISSUE": 8, "CONSTRAINT": 6, "DECISION": 6, "IMPL": 5, "CONTEXT": 3}
USER_SHARE, ANSWER_SHARE = 4_000, 12_000  # characters of a turn that are read: pasted logs are no judgments

CODE = re.compile(
    r"`[^`\n]*`|https?://\S+|(?<![\w/])[\w.-]*/[\w./-]+|\b\w+\.(?:go|py|ts|tsx|js|md|json|rs|toml|ya?ml|sh)\b(?::\d+)?"
)
LAYOUT = re.compile(r"\n\s*")
DESCRIBED = re.compile(r"\b(?:we|i|you|they|it) (?:do not|don't|dont|never|always)\b")
MARKUP = re.compile(r"\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)")
WORD = r"[a-z_][\w.-]{3,}|[\u30a0-\u30ff]{2,}|[\u4e00-\u9fff]{2}"
WEIGHTS = {
    "fault_named": 2,
    "fault_verb": 2,
    "fault_not": 1,
    "fault_only": 1,
    "fault_gap": 2,
    "fault_word": 2,
    "fault_maybe": 1,
    "contrast": 1,
    "fault_cry": 1,
    "fault_todo": 2,
    "fault_error": 2,
    "mended": -2,
    "harmless": -2,
    "hedge": -1,
    "past": -1,
}

_compiled: dict[tuple[str, bool], re.Pattern[str]] = {}


class Judgment:
    """One thing worth keeping, with how sure its finder is (0 to 1) and, for a failing command, the command."""

    __slots__ = ("category", "command", "confidence", "content", "resolved", "role", "source")

    def __init__(
        self, category: str, content: str, confidence: float, *, role: str = "assistant", command: str | None = None
    ) -> None:
        self.category = category
        self.content = content
        self.confidence = confidence
        self.resolved = False
        self.role = role  # user | assistant | tool
        self.source = "tool" if role == "tool" else "rule"  # rule | tool | model
        self.command = command


def injected(category: str, confidence: float | None) -> bool:
    """True where a judgment may go into the block; never one of which nobody said how sure it is."""
    return category in INJECTED and confidence is not None and confidence >= SURE


def said_once(content: str) -> str:
    """The same for two judgments that differ only in case, markup or spacing."""
    return " ".join(MARKUP.sub("", content.replace("`", "")).casefold().split()).rstrip(".。!！:… ")


def classify(turn: Any) -> list[Judgment]:
    """The judgments of a turn in the order they were made, each once; the surest where there are too many."""
    found: list[Judgment] = []
    seen: set[str] = set()
    for role, text in _messages(turn):
        for judgment in _of_text(text, role):
            _mend(found, judgment)
            key = said_once(judgment.content)
            if judgment.confidence >= KEPT and key not in seen:
                seen.add(key)
                found.append(judgment)
    for judgment in _of_tools(turn, any(j.category == "IMPL" for j in found)):
        judgment.resolved = judgment.category == "ISSUE" and any(
            j.category == "IMPL" and settles(j.content, judgment.content) for j in found[-PER_TURN["IMPL"] :]
        )
        found.append(judgment)
    return _fewest(found)


def resolutions(open_issues: Iterable[Any], turn: Any) -> list[Any]:
    """The ids of the issues that this turn settles: the failing command passed, or somebody says that it is mended."""
    issues = list(open_issues)
    done = [issue.id for issue in issues if issue.command and commands.passes(issue.command, turn.tools)]
    # what a turn says about its own faults is decided in `classify`, which knows what came first
    waiting = [issue for issue in issues if issue.id not in done and issue.turn_number != turn.number]
    if waiting:
        for role, text in _messages(turn):
            for span in sentences.spans(text):
                said = text[span.start : span.end]
                if not says_mended(said, role):
                    continue
                done += [i.id for i in waiting if i.id not in done and settles(said, i.content)]
    return done


def says_mended(said: str, role: str) -> bool:
    """True where a sentence tells of a fault that is no more."""
    if sentences.WIDE.search(said):
        return sign("mended", said, wide=True)
    bare = plain(said)
    if sign("question", bare) or (role == "assistant" and (sign("offer", bare) or sign("narration", bare))):
        return False
    return sign("repaired", bare) or (role == "assistant" and sign("done_mark", bare))


def settles(said: str, issue: str) -> bool:
    """True where a sentence about a repair is about this issue: it shares its names, or both are about the checks."""
    bare, fault = plain(said), plain(issue)
    if sign("checks", fault) and sign("fault_verb", fault) and sign("checks_pass", bare):
        return True
    ours, theirs = _names(said), _names(issue)
    shared = len(ours & theirs)
    return shared >= 2 and shared * 2 >= min(len(ours), len(theirs))


def _names(text: str) -> set[str]:
    """The words of a sentence that tell what it is about."""
    return {word for word in re.findall(WORD, text.lower().replace("`", " ")) if f" {word} " not in phrases.COMMON}


def _mend(found: list[Judgment], said: Judgment) -> None:
    """Marks what an earlier sentence of the turn called broken and this one calls mended."""
    if said.category != "IMPL":
        return
    for judgment in found:
        if judgment.category == "ISSUE" and not judgment.resolved:
            judgment.resolved = says_mended(said.content, said.role) and settles(said.content, judgment.content)


def _messages(turn: Any) -> Iterator[tuple[str, str]]:
    """Who said what, without the middle of anything very long."""
    if turn.command is None:
        yield "user", _ends(turn.user_text, USER_SHARE)
    for text in (*turn.followups, *turn.refusals):
        yield "user", _ends(text, USER_SHARE)
    given = [*turn.assistant_texts]
    if turn.final_text and turn.final_text not in given[-1:]:
        given.append(turn.final_text)
    left, kept = ANSWER_SHARE, []
    for text in reversed(given):  # the end of a turn says most
        if left <= 0:
            break
        kept.append(_ends(text, left))
        left -= len(text)
    for text in reversed(kept):
        yield "assistant", text


def _ends(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room * 2 // 3] + "\n\n" + text[-room // 3 :]


def _of_text(text: str, role: str) -> Iterator[Judgment]:
    for span in sentences.spans(text):
        said = text[span.start : span.end]
        if verdict := sentence(said, role, span.lead):
            yield Judgment(verdict[0], cut(said), verdict[1], role=role)


def cut(said: str) -> str:
    """The sentence itself, its end dropped at a word where it is long."""
    if len(said) <= LONGEST:
        return said
    head = said[: LONGEST - 1]
    return (head[: head.rfind(" ")] if head.rfind(" ") > LONGEST // 2 else head) + "…"


def _of_tools(turn: Any, told: bool) -> Iterator[Judgment]:  # noqa: FBT001  (an internal flag)
    """What the tools show by themselves: what was decided, what still fails, what changed when nobody said so."""
    for content in replies.decisions(turn.tools):
        yield Judgment("DECISION", content, 0.9, role="tool")
    for command, error in commands.still_failing(turn.tools):
        shown = commands.whole_words(command, 70)
        content = cut(f"`{shown}` fails: {error}")
        yield Judgment("ISSUE", content, 0.9, role="tool", command=command)
    changed = [] if told else commands.changed_files(turn.tools)
    if changed:
        more = f" and {len(changed) - 4} more" if len(changed) > 4 else ""
        yield Judgment("IMPL", cut("Changed " + ", ".join(changed[:4]) + more), 0.9, role="tool")


def _fewest(found: list[Judgment]) -> list[Judgment]:
    """What the tools show, and at most so many of each category: the surest, and of equals the last."""
    kept = {number for number, j in enumerate(found) if j.source == "tool"}
    for category, most in PER_TURN.items():
        ranked = [(j.confidence, number) for number, j in enumerate(found) if j.category == category]
        kept |= {number for _, number in sorted(ranked, reverse=True)[:most]}
    return [judgment for number, judgment in enumerate(found) if number in kept]


def sign(name: str, text: str, *, wide: bool = False) -> bool:
    """True where the wording of that name occurs."""
    pattern = _compiled.get((name, wide))
    if pattern is None:
        source = (wording.CJK if wide else wording.EN)[name]
        pattern = _compiled[name, wide] = re.compile(LAYOUT.sub("", source))
    return pattern.search(text) is not None


def plain(said: str) -> str:
    """The sentence in lower case without markup, code replaced by a mark."""
    return MARKUP.sub("", CODE.sub(wording.CODE, said)).lower().replace("’", "'").strip(" \t")


def sentence(text: str, role: str, lead: str = "") -> tuple[str, float] | None:
    """The category of one sentence and how sure that is; None for talk. `lead` is the line above its list."""
    if sentences.WIDE.search(text):
        return _wide(text, role)
    said = plain(text)
    if role == "user":
        return _user(said, plain(lead))
    return _assistant(said, _kind(lead), loud=sign("limit_loud", CODE.sub("", text)))


def _kind(lead: str) -> str:
    """What the list under a line holds: finished work, offers, faults, or nothing known."""
    said = re.sub(r"\([^)]*\)", "", plain(lead))
    said = said[said.rstrip(":* ").rfind(". ") + 1 :]
    return next((kind for kind in ("done", "offer", "faults", "fault") if said and sign(f"lead_{kind}", said)), "")


def _user(said: str, lead: str) -> tuple[str, float] | None:
    if said.endswith(("right?", "hey?", "no?")):
        return None
    question = sign("question", said)
    told = sign("fault_user", said) and not sign("mended", said)
    if sign("fault_error", said) or (told and sign("fault_loud", said)):
        return "ISSUE", 0.6 if question else 0.8
    # "we don't", "it always": somebody describes, nobody forbids
    if not question and sign("limit_user", DESCRIBED.sub("", said)):
        return "CONSTRAINT", 0.75
    if question:
        return ("DECISION", 0.6) if sign("choose_ask", said) else None
    if sign("choose_rule", said):
        return "DECISION", 0.65
    if sign("choose_user", said) and said.count(" ") >= 3:
        strong = sign("choose_mark", said) or sign("choose_strong", said)
        if strong or not told:
            return "DECISION", 0.8 if strong else 0.5
    if told:
        return "ISSUE", 0.7
    if lead and sign("choose_user", lead):
        return "DECISION", 0.7
    return None if sign("request", said) else ("CONTEXT", 0.4)


def _assistant(said: str, kind: str, *, loud: bool) -> tuple[str, float] | None:
    if (
        sign("question", said)
        or sign("offer", said)
        or (said.endswith(":") and said.count(" ") < (3 if sign("done_start", said) else 6))
    ):
        return None
    if sign("narration", said) or (kind != "done" and sign("plan", said)):
        return ("DECISION", 0.7) if sign("choose_assistant", said) and "let me fix" not in said else None
    if kind == "done":
        return "IMPL", 0.85
    if kind != "offer" and sign("rule_of_design", said):
        return ("CONSTRAINT", 0.5) if sign("limit", said) else ("DECISION", 0.65)
    done = sign("done_start", said)
    if not done and (kind.startswith("fault") or not sign("condition", said)):
        faults = (kind == "fault") + (kind == "faults") * 2 + _faults(said)
        if faults >= 2 and said.count(" ") >= (2 if kind.startswith("fault") else 3):
            return "ISSUE", min(0.95, 0.6 + 0.05 * faults)
    if loud or ((sign("limit", said) or sign("limit_bare", said)) and not sign("condition", said)):
        return "CONSTRAINT", 0.5  # half of these describe a limit of the code; only the user's own are sure
    if not done and kind != "offer" and sign("choose_assistant", said):
        return "DECISION", 0.7
    if done or sign("done_state", said):
        return "IMPL", 0.8
    return "CONTEXT", 0.3


def _faults(said: str) -> int:
    told = re.sub(r"\([^)]*\)", "", said)  # what stands in brackets is an aside
    points = sum(weight for name, weight in WEIGHTS.items() if sign(name, told))
    return 0 if points == 2 and told.count(" ") < 4 and sign("fault_named", told) else points


def _wide(text: str, role: str) -> tuple[str, float] | None:
    """Japanese and Chinese: one sign decides, the most specific first."""
    if role == "assistant" and (sign("offer", text, wide=True) or sign("narration", text, wide=True)):
        return None
    faulty = sign("fault", text, wide=True) and not sign("mended", text, wide=True)
    if sign("question", text, wide=True):
        return ("ISSUE", 0.6) if faulty and role == "user" else None
    if sign("limit", text, wide=True) and not faulty:
        return "CONSTRAINT", 0.75
    if faulty:
        return "ISSUE", 0.75
    if sign("done", text, wide=True):
        return "IMPL", 0.75
    if sign("choose", text, wide=True):
        return "DECISION", 0.75
    return "CONTEXT", 0.4 if role == "user" or sign("context", text, wide=True) else 0.3
