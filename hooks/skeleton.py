"""One line for a turn: what was asked → what came of it.

Idea: the outcome is a sentence that somebody already wrote, mostly the first or the last of the answer, so the line picks
it instead of making one up; the intent gives way when space is short.
Invariant: the outcome is never cut at a length, only chosen; a turn without an answer says so.
Checked in tests/hooks/test_skeleton.py; measured in tests/benchmarks/bench_classifier.py.
"""

from __future__ import annotations

import re

try:
    from . import classifier, commands, sentences
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]
    import commands  # type: ignore[import-not-found,no-redef]
    import sentences  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ARROW = " → "
LINE = 104  # in quarters of a token: a Latin character is one, a CJK character six
INTENT_LEAST, INTENT_MOST = 24, 48
LAST = 3  # answers of a turn that are looked at
SECOND = 1.0  # what a second sentence must say to be worth the space
NOTHING_SAID = frozenset({"No response requested."})
READ = 12_000  # characters of an answer that are looked at

MARKUP = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|^\s*(?:#+|>|[-*+•]|\d{1,2}[.)])\s+")
LINK = re.compile(r"\[([^\]\n]+)\]\([^)\s]+\)")
POLITE = re.compile(
    r"^(?:(?:ok(?:ay)?|hmm+|hm|oh|ah|so|and|but|now|well|great|cool|thanks?|please|alright|hi|hey)\b[\s,.!…—–-]*|\.\.\.\s*|"
    r"(?:can|could|would|will) you (?:please |also |now )?|let's (?:now )?|i(?:'d| would) like (?:you )?to |i want (?:you )?to )+",
    re.IGNORECASE,
)
FILLER = re.compile(
    r"^(?:(?:good (?:question|point|catch|idea|observation|news)|great(?: question)?|right|ok(?:ay)?|sure|ah|hmm|ha|oh|so|done|perfect|got it|understood|"
    r"you're (?:absolutely )?right(?: to \w+ that)?|fair (?:enough|points?)|ugh|yeah|that makes sense|excellent|sorry|wait|looking at [^,.]{3,60}|i see|found it|there it is|now|and|but)\b[\s,.!:;—–-]+)+",
    re.IGNORECASE,
)
BOLD = re.compile(r"\*\*[^*\n]{16,}\*\*[.!]?")
CONCLUSION = re.compile(
    r"^(?:so|in short|bottom line|basically|overall|result|the (?:answer|root cause|cause|problem|issue|fix|bug|real fix)|that's (?:the|what|our)|yes|no)\b|\b(?:the answer|root cause|culprit|smoking gun|tl;dr|conclusion|ready to merge|the right (?:tool|choice))\b"
)
OFFER = re.compile(r"\b(?:want me to|would you like me|shall i|should i)\b|ましょうか|要我|需要我", re.IGNORECASE)
OPTION = re.compile(r"\W*[A-Ea-e]\)")
ADVICE = re.compile(r"\b(?:i'd (?:recommend|suggest|say)|my recommendation|recommendation:|(?:seems|is) (?:the )?(?:cleanest|simplest|best))")
SEEN = re.compile(r"(?:i (?:can )?see|i'll|i will|line \d|thanks|looking)\b")
LABEL = re.compile(r"^(?:\w+ ){0,2}\w+:\s+(?=\S+ \S+ \S)")
HASH = re.compile(r"\d\w{4,}|#\d+|\w+-\d+")
TALK = re.compile(r"(?:clear scope|there it is|here(?:'s| is| are) (?:the|what|a|how|my)\b[^.]{0,40}[.:]?$|(?:you raise|that's) (?:a )?(?:good|fair|valid) (?:point|question)|let me\b|now (?:i|let)|[a-d]\) )", re.IGNORECASE)
CLAUSE = re.compile(r"\s+[—–-]\s+|;\s+|,\s+(?:so|but|which|because|since|while|where|not|though)\s|\s+(?:even though|in order to|to (?:keep|avoid|ensure|make sure)|using)\s|,\s+(?=I'd )|:\s+(?=[A-Z`*])|。|，(?=因为|所以|但)")
QUESTION = re.compile(r"[?？]\s*$|^(?:why|what|how|is|are|do|does|did|can|could|should|where|which|who|when|will|would)\b|(?:ですか|ますか|吗|呢)[。]?$", re.IGNORECASE)
NO_ANSWER = {"en": "no answer", "ja": "回答なし", "zh": "无回答"}
STOPPED = {"en": "interrupted", "ja": "中断", "zh": "已中断"}
KANA = re.compile("[\u3040-\u30ff]")


def line(turn: Any) -> str:
    """The turn in one line; longer than the budget only where the outcome alone needs it."""
    result = outcome(turn)
    room = LINE - quarters(ARROW) - quarters(result)
    asked = intent(turn.user_text, max(INTENT_LEAST, min(INTENT_MOST, room)))
    return f"{asked}{ARROW}{result}"


def quarters(text: str) -> int:
    """The length of a text in quarters of a token."""
    wide = len(sentences.WIDE.findall(text)) if not text.isascii() else 0
    return len(text) + 5 * wide


def intent(user_text: str, room: int) -> str:
    """What the user wants, without courtesy, cut at a word."""
    for row in user_text.splitlines():
        said = bare(POLITE.sub("", row.strip()))
        if len(said) > 1 and not row.lstrip().startswith(("```", "|", "<")):
            break
    else:
        said = " ".join(user_text.split()) or "(continued)"
    first = sentences.END.search(said)
    if first and first.end() >= 12:
        said = said[: first.end()]
    said = said.rstrip(" .:,。")
    if quarters(said) <= room:
        return said
    used = at = 0
    for at, char in enumerate(said):
        used += 6 if sentences.WIDE.match(char) else 1
        if used > room - 1:
            break
    head = said[:at]
    return (head[: head.rfind(" ")] if head.rfind(" ") > at // 2 else head).rstrip(" ,.:") + "…"


def bare(text: str) -> str:
    """A piece of Markdown as plain words on one line."""
    return " ".join(MARKUP.sub("", LINK.sub(r"\1", text)).split())


def outcome(turn: Any) -> str:
    """How the turn ended: its interruption, what the answers say about it, or what the tools show."""
    language = _language(turn)
    cut_off = any(call.output is None for call in turn.tools)
    if turn.state == "interrupted" and not (cut_off and turn.final_text):
        return STOPPED[language]
    answers = [text for text in turn.assistant_texts if text.strip() not in NOTHING_SAID]
    if turn.final_text and turn.final_text.strip() not in NOTHING_SAID and turn.final_text not in answers[-1:]:
        answers.append(turn.final_text)
    if answers and answers[-1].startswith("API Error"):
        return bare(answers[-1].split("{")[0])
    found = _pick(answers[-LAST:], asks=QUESTION.search(turn.user_text.strip()) is not None)
    if found:
        return found
    failing = commands.still_failing(turn.tools)
    if failing:
        return f"{failing[-1][0]} fails"
    changed = commands.changed_files(turn.tools)
    if changed:
        return "changed " + ", ".join(changed[:2]) + (f" +{len(changed) - 2}" if len(changed) > 2 else "")
    return NO_ANSWER[language]


def _language(turn: Any) -> str:
    text = turn.user_text[:500]
    if KANA.search(text):
        return "ja"
    return "zh" if sentences.WIDE.search(text) else "en"


def _pick(answers: list[str], *, asks: bool) -> str:
    """The one or two sentences of the answers that say most about how the turn ended, "" where none does."""
    ranked: list[tuple[float, int, str]] = []
    texts = [text if len(text) <= READ else text[: READ // 2] + "\n\n" + text[-READ // 2 :] for text in reversed(answers)]
    candidates = [_candidates(text) for text in texts]
    settled = any(_points(said, listed=listed) >= 2.5 for found in candidates for said, listed, _ in found)
    for back, found in enumerate(candidates):
        closing = _closing_question(found)
        for number, (said, listed, row_start) in enumerate(found):
            short = clause(said)
            points = _points(said, listed=listed) - quarters(short) / 60 + 0.5 * row_start - 1.5 * back
            if number == 0:
                points += 4.5 if asks else 2.0
            elif number == 1:
                points += 1.0
            if number == closing and back == 0:
                # where nothing is settled, the question handed back is the outcome; an offer to go on says less
                points += 1.0 if settled else 3.5 if OFFER.search(said) else 6.0
            if short:
                ranked.append((points, -len(ranked), short))
    ranked.sort(reverse=True)
    if not ranked:
        return ""
    first = ranked[0][2]
    room = LINE - quarters(ARROW) - INTENT_LEAST - quarters(first) - 2
    for points, _, short in ranked[1:6]:
        if points >= SECOND and quarters(short) <= room and not _same(short, first):
            return f"{first}; {short}"
    return first


def _same(one: str, other: str) -> bool:
    """True where a second sentence would say little that the first does not."""
    ours, theirs = set(one.lower().split()), set(other.lower().split())
    return one.lower() in other.lower() or len(ours & theirs) * 2 >= len(ours)


def _closing_question(found: list[tuple[str, bool, bool]]) -> int:
    """The number of the question that an answer ends with, the choices it lists not counted; -1 without one."""
    for number in range(len(found) - 1, -1, -1):
        said, listed, _ = found[number]
        if said.rstrip("*_ ").endswith(("?", "？")) or classifier.sign("question", said, wide=True):
            return number
        if not listed and not OPTION.match(said):
            break
    return -1


def _candidates(text: str) -> list[tuple[str, bool, bool]]:
    """(sentence, in a list, first of its line) for each sentence, one-word ones such as "Done." included."""
    found = [(text[s.start : s.end], s.listed, s.first) for s in sentences.spans(text)]
    if not found:
        found = [(row.strip(), False, True) for row in text.splitlines() if row.strip() and not row.startswith("```")][:1]
    return found


def _points(said: str, *, listed: bool) -> float:
    """How much a sentence sounds like the end of the work."""
    if sentences.WIDE.search(said):
        wide = {name: classifier.sign(name, said, wide=True) for name in ("done", "mended", "fault", "question", "offer", "narration")}
        return 3.0 * (wide["done"] or wide["mended"]) + 1.5 * wide["fault"] - 4.0 * (wide["question"] or wide["offer"]) - 3.0 * wide["narration"] - listed
    told = FILLER.sub("", classifier.plain(said))
    points = 0.0
    if classifier.sign("question", told):
        points -= 4.0
    elif ADVICE.search(told):
        points += 3.0
    elif classifier.sign("offer", told):
        points -= 2.0
    if classifier.sign("narration", told) or SEEN.match(told):
        points -= 4.0
    elif classifier.sign("done_start", told) or classifier.sign("done_state", told):
        points += 3.0
    elif classifier.sign("fault_named", told) or classifier.sign("fault_verb", told):
        points += 1.5
    if classifier.sign("checks_pass", told):
        points += 1.5
    if told == "¤":  # a bare link or name
        points -= 2.0
    if told.endswith(":"):
        points -= 2.5 if told.count(" ") < 8 else 1.0
    if BOLD.fullmatch(said.rstrip()):
        points += 2.0 if not told.endswith(":") else 0.5
    elif BOLD.search(said):
        points += 0.8
    if "/pull/" in said or "/issues/" in said:
        points += 1.5
    if CONCLUSION.search(told):
        points += 1.5
    if classifier.sign("condition", told):
        points -= 1.5
    return points - (1.5 if listed else 0.0)


def clause(said: str) -> str:
    """The main clause of a long sentence, without markup, asides and interjections; a short sentence as it is."""
    text = bare(said)
    rest = FILLER.sub("", text)
    if not rest.strip(" .!:") or TALK.match(rest):
        return ""
    text = rest if len(rest) >= 12 or sentences.WIDE.search(rest) else text
    if quarters(text) > 60:
        text = re.sub(r"\s*[(（][^)）]*[)）]", "", text)
    if quarters(text) > 60:
        text = LABEL.sub("", text)
        parts = [part for part in CLAUSE.split(text) if len(part) >= (12 if not HASH.search(part) else 6) or (len(part) >= 5 and sentences.WIDE.search(part))]
        if parts:
            text = max(enumerate(parts), key=lambda p: _points(p[1], listed=False) + (1.0 if p[0] == 0 else 0.0))[1]
    return text.strip().rstrip(" .。:：,;")
