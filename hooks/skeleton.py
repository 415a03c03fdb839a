"""One line for a turn: what was asked → what came of it.

Idea: the outcome is a sentence that somebody already wrote, mostly the first or the last of the answer, so the line
picks it instead of making one up; the intent gives way when space is short.
Invariant: the outcome is never cut at a length, only chosen; a turn without an answer says so.
Checked in tests/hooks/test_skeleton.py; measured in tests/benchmarks/bench_classifier.py.
"""

from __future__ import annotations

import re

try:
    from . import classifier, commands, phrases, sentences, wording
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]
    import commands  # type: ignore[import-not-found,no-redef]
    import phrases  # type: ignore[import-not-found,no-redef]
    import sentences  # type: ignore[import-not-found,no-redef]
    import wording  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

ARROW = " → "
LINE = 100  # in quarters of a token: a Latin character is one, a CJK character six
INTENT_LEAST, INTENT_MOST = 20, 48
# Where a character is a word or half of one, 25 tokens are 16 of them: too few to say anything.
WIDE_LINE, WIDE_LEAST, WIDE_MOST = 160, 60, 96
CLAUSE_ABOVE = LINE - INTENT_LEAST - len(ARROW)  # a sentence that fits stays whole: its "but" is half of what it says
READ = 4_000  # characters of an answer that are looked at
LAST = 3  # answers of a turn that are looked at
# How much it counts for a sentence to open the answer (to a question, to anything else), to be its second one, to open
# its row, to be the question at the end (an open choice, an offer to go on, after settled work), to stand in a list or
# one answer earlier; and how many quarters of a token cost one point.
ASKED, FIRST, NEXT, ROW = 4.5, 3.0, 1.0, 0.5
CHOICE, OFFERED, BESIDES = 6.0, 3.5, 1.0
LISTED, BACK, SIZE = 2.5, 1.5, 80
SETTLED = 2.5  # from here a sentence tells of finished work
SECOND = -1.0  # what a second sentence must say to be worth the space that is left
NOTHING_SAID = frozenset({"No response requested."})
NO_ANSWER = {"en": "no answer", "ja": "回答なし", "zh": "无回答"}
STOPPED = {"en": "interrupted", "ja": "中断", "zh": "已中断"}
KANA = re.compile("[\u3040-\u30ff]")

_compiled: dict[str, re.Pattern[str]] = {}


def line(turn: Any) -> str:
    """The turn in one line; longer than the budget only where the outcome alone needs it."""
    return together(turn.user_text, outcome(turn))


def together(user_text: str, result: str) -> str:
    """What was asked → what came of it; the intent gets the space that the outcome leaves."""
    wide = _language(user_text[:500]) != "en"
    budget, least, most = (WIDE_LINE, WIDE_LEAST, WIDE_MOST) if wide else (LINE, INTENT_LEAST, INTENT_MOST)
    room = budget - quarters(ARROW) - quarters(result)
    return f"{intent(user_text, max(least, min(most, room)))}{ARROW}{result}"


def quarters(text: str) -> int:
    """The length of a text in quarters of a token."""
    return len(text) if text.isascii() else len(text) + 5 * len(sentences.WIDE.findall(text))


def intent(user_text: str, room: int) -> str:
    """What the user wants, without courtesy, cut at a word."""
    said = ""
    for row in _prose(user_text[:READ]):
        said = f"{said} {bare(row)}" if said else bare(_re("polite").sub("", row.strip()))
        said = said if len(said) > 1 else ""
        if said and not said.endswith((":", "：")):  # "fix these:" is told by what follows
            break
    said = said or " ".join(user_text[:READ].split()) or "(continued)"
    stop = sentences.END.search(said)
    if stop and stop.end() >= (4 if sentences.WIDE.search(said) else sentences.SHORTEST):
        said = said[: stop.end()]
    return _fit(said.rstrip(" .:,。"), room)


def _prose(text: str) -> Iterator[str]:
    """The rows of a request that are neither code nor a table nor markup."""
    fenced = False
    for row in text.splitlines():
        begins = row.lstrip()
        fenced ^= begins.startswith("```")
        if begins and not fenced and not begins.startswith(("```", "|", "<")):
            yield row


def _fit(said: str, room: int) -> str:
    if quarters(said) <= room:
        return said
    used = at = 0
    while used <= room - 1:
        used += 6 if sentences.WIDE.match(said[at]) else 1
        at += 1
    head = said[: at - 1]
    return (head[: head.rfind(" ")] if head.rfind(" ") > at // 2 else head).rstrip(" ,.:") + "…"


def bare(text: str) -> str:
    """A piece of Markdown as plain words on one line."""
    return " ".join(_re("markup").sub("", _re("link").sub(r"\1", text)).split())


def outcome(turn: Any) -> str:
    """How the turn ended: its interruption, what the answers say about it, or what the tools show."""
    language = _language(turn.user_text[:500])
    cut_off = any(call.output is None for call in turn.tools)
    if turn.state == "interrupted" and not (cut_off and turn.final_text):
        return STOPPED[language]
    answers = [text for text in turn.assistant_texts if text.strip() not in NOTHING_SAID]
    if turn.final_text and turn.final_text.strip() not in NOTHING_SAID and turn.final_text not in answers[-1:]:
        answers.append(turn.final_text)
    if answers and answers[-1].startswith("API Error"):
        return bare(answers[-1].split("{")[0])
    if found := _pick(answers[-LAST:], asks=_re("question").search(turn.user_text[-READ:].strip()) is not None):
        return found
    if failing := commands.still_failing(turn.tools):
        return f"{failing[-1][0]} fails"
    if changed := commands.changed_files(turn.tools):
        return "changed " + ", ".join(changed[:2]) + (f" +{len(changed) - 2}" if len(changed) > 2 else "")
    return NO_ANSWER[language]


def _language(text: str) -> str:
    if KANA.search(text):
        return "ja"
    return "zh" if sentences.WIDE.search(text) else "en"


class _Said:
    """A sentence of an answer and where it stands."""

    __slots__ = ("listed", "opens", "points", "text")

    def __init__(self, text: str, *, listed: bool, opens: bool) -> None:
        self.text = text
        self.listed = listed
        self.opens = opens  # the first of its row
        self.points = _points(text) - (LISTED if listed else 0.0)


def _pick(answers: list[str], *, asks: bool) -> str:
    """The one or two sentences of the answers that say most about how the turn ended, "" where none does."""
    read = [_sentences(text) for text in reversed(answers)]
    settled = any(said.points >= SETTLED for found in read for said in found)
    ranked: list[tuple[float, int, str]] = []
    for back, found in enumerate(read):
        closing = -1 if back else _closing_question(found)
        for number, said in enumerate(found):
            short = clause(said.text)
            points = said.points - quarters(short) / SIZE + ROW * said.opens - BACK * back
            if number < 2:
                points += NEXT if number else ASKED if asks else FIRST
            if number == closing:  # where nothing is settled, the question handed back is the outcome
                points += BESIDES if settled else OFFERED if _re("offer").search(said.text) else CHOICE
            if short:
                ranked.append((points, -len(ranked), short))
    ranked.sort(reverse=True)
    if not ranked:  # "Done." and the like say something when nothing else does
        return bare(read[0][-1].text).rstrip(" .。") if read and read[0] else ""
    first = ranked[0][2]
    wide = sentences.WIDE.search(first)
    room = (WIDE_LINE - WIDE_LEAST if wide else LINE - INTENT_LEAST) - quarters(ARROW) - quarters(first) - 2
    for points, _, short in ranked[1:6]:
        if points >= SECOND and quarters(short) <= room and not _same(short, first):
            return f"{first}; {short}"
    return first


def _same(one: str, other: str) -> bool:
    """True where a second sentence would say little that the first does not."""
    ours, theirs = set(one.lower().split()), set(other.lower().split())
    return one.lower() in other.lower() or len(ours & theirs) * 2 >= len(ours)


def _sentences(answer: str) -> list[_Said]:
    """The sentences of an answer; where it has none long enough, its first row ("Done.")."""
    text = answer if len(answer) <= READ else answer[: READ // 2] + "\n\n" + answer[-READ // 2 :]
    found = [_Said(text[s.start : s.end], listed=s.listed, opens=s.first) for s in sentences.spans(text)]
    if not found:
        rows = (row.strip() for row in text.splitlines())
        found = [_Said(row, listed=False, opens=True) for row in rows if row and not row.startswith("```")][:1]
    return found


def _closing_question(found: list[_Said]) -> int:
    """The number of the question that an answer ends with, the choices it lists not counted; -1 without one."""
    for number in range(len(found) - 1, -1, -1):
        text = found[number].text
        if text.rstrip("*_ ").endswith(("?", "？")) or classifier.sign("question", text, wide=True):
            return number
        if not found[number].listed and not _re("option").match(text):
            break
    return -1


def _points(said: str) -> float:
    """How much a sentence sounds like the end of the work."""
    if sentences.WIDE.search(said):
        return _wide_points(said)
    told = _re("filler").sub("", classifier.plain(said))
    points = _kind(told)
    if classifier.sign("checks_pass", told):
        points += 1.5
    if told == wording.CODE:  # a bare link or name
        points -= 2.0
    if told.endswith(":"):
        points -= 2.5 if told.count(" ") < 8 else 1.0
    if bold := _re("bold").search(said):  # what the author put in bold is meant to be seen
        points += 0.8 if bold.group() != said.rstrip() else 0.5 if told.endswith(":") else 2.0
    if "/pull/" in said or "/issues/" in said:
        points += 1.5
    points += 1.5 if _re("conclusion").search(told) else 0.0
    return points - (3.0 if classifier.sign("condition", told) else 0.0)


def _wide_points(said: str) -> float:
    """The same for Japanese and Chinese."""
    points = 2.0 if said.startswith("**") and said.rstrip("。").endswith("**") else 0.0
    if classifier.sign("question", said, wide=True) or classifier.sign("offer", said, wide=True):
        return points - 4.0
    if classifier.sign("narration", said, wide=True):
        return points - 4.0
    if classifier.sign("done", said, wide=True) or classifier.sign("mended", said, wide=True):
        return points + 3.0
    return points + (1.5 if classifier.sign("fault", said, wide=True) else 0.0)


def _kind(told: str) -> float:
    """Work that is done, a fault, advice; a question, an offer and narration count against it."""
    points = 0.0
    if classifier.sign("question", told):
        points = -4.0
    elif _re("advice").search(told):
        points = 3.0
    elif classifier.sign("offer", told):
        points = -2.0
    if classifier.sign("narration", told) or _re("seen").match(told):
        return points - 4.0
    if classifier.sign("done_start", told) or classifier.sign("done_state", told):
        return points + 3.0
    return points + (1.5 if classifier.sign("fault_named", told) or classifier.sign("fault_verb", told) else 0.0)


def clause(said: str) -> str:
    """The telling clause of a long sentence, without markup, asides and interjections; "" for mere talk."""
    text = bare(said)
    rest = _re("filler").sub("", text)
    if not rest.strip(" .!:") or _re("talk").match(rest):
        return ""
    if len(rest) >= sentences.SHORTEST or sentences.WIDE.search(rest):
        text = rest
    if quarters(text) > CLAUSE_ABOVE:
        text = _re("aside").sub("", text)
    if quarters(text) > CLAUSE_ABOVE:
        parts = [part for part in _re("joint").split(_re("label").sub("", text)) if part and _stands(part)]
        ranked = [(_points(part) + (1.0 if number == 0 else 0.0), -number) for number, part in enumerate(parts)]
        text = parts[-max(ranked)[1]] if parts else text
    return text.strip().rstrip(" .。:：,;")


def _stands(part: str) -> bool:
    """True where a piece of a sentence is long enough to mean something."""
    least = 5 if sentences.WIDE.search(part) else 6 if _re("hash").search(part) else sentences.SHORTEST
    return len(part) >= least


def _re(name: str) -> re.Pattern[str]:
    found = _compiled.get(name)
    if found is None:
        source = classifier.LAYOUT.sub("", phrases.PHRASES[name])
        flags = re.IGNORECASE if name != "joint" else re.RegexFlag(0)  # a capital letter tells where a clause starts
        found = _compiled[name] = re.compile(source, flags)
    return found
