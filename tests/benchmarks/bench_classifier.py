"""Prints how well the rules do on the labelled sessions, each share with its n and 95 % interval.

Run: python tests/benchmarks/bench_classifier.py

Idea: nothing is judged here; the table is for people, the floors are in the tests. The history of the rules matters for
how the numbers are read and stands in data/labels/README.md: the held-out half was looked at after a first evaluation.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "hooks")]

import labels  # noqa: E402
import public_labels  # noqa: E402
from cjk_sentences import CHINESE, JAPANESE, TURNS  # noqa: E402

from lcm_lab.hooks import classifier, sentences, skeleton  # noqa: E402
from lcm_lab.hooks.turns import Turn  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

SIDES = ("development", "held-out", "reserve")


def share(hits: int, n: int) -> str:
    """A share as "0.91 (53/58, 0.81-0.96)"."""
    low, high = labels.wilson(hits, n)
    return f"{hits / n:.2f} ({hits}/{n}, {low:.2f}-{high:.2f})" if n else "- (0/0)"


def judgments() -> None:
    """Precision and recall of what the rules inject, by side and category."""
    print("category     side         precision of what is injected   recall")
    for category in labels.CATEGORIES:
        for side in SIDES:
            right, made, wanted = labels.tally(side, classifier, sentences)[category]
            few = "  fewer than 20 labelled" if wanted < 20 else ""
            print(f"{category:<12} {side:<12} {share(right, made):<31} {share(right, wanted)}{few}")
    print("CONTEXT is never injected by rule.\n")


def lines() -> None:
    """How many lines hold the outcome of their turn, and how long they are."""
    print("side         holds the outcome               verbatim                        tokens: median, p90")
    for side in SIDES:
        grades, tokens = [], []
        rows = labels.outcomes(side)
        for file in sorted({row.file for row in rows}):
            by_line = labels.turns(file)
            last = {id(by_line[row.prompt_line]): row for row in rows if row.file == file}
            for row in last.values():
                line = skeleton.line(by_line[row.prompt_line])
                grades.append(labels.held(line, row, tuple(skeleton.STOPPED.values())))
                tokens.append((skeleton.quarters(line) + 3) // 4)
        held, verbatim = sum(map(bool, grades)), grades.count("verbatim")
        p90 = sorted(tokens)[int(0.9 * len(tokens))]
        n = len(grades)
        print(f"{side:<12} {share(held, n):<31} {share(verbatim, n):<31} {statistics.median(tokens):g}, {p90}")
    print()


def agreement() -> None:
    """How far two readers of the same sentences agree: what a rule or a model could reach at best."""
    first = [(one.label, one.second) for side in SIDES for one in labels.sentences(side)]
    rows = public_labels.rows_of("sentences")
    fresh = [(r["reader1"].rstrip("?"), r["reader2"].rstrip("?")) for r in rows if r["reader2"]]
    for name, pairs in (("the nine sessions and the reserve", first), ("public sessions", fresh)):
        same = sum(one == two for one, two in pairs)
        print(f"{name}: two readers agree on {share(same, len(pairs))}; of what the second names the first names")
        for category in labels.CATEGORIES:
            both = sum(one == two == category for one, two in pairs)
            by_one, by_two = (sum(pair[n] == category for pair in pairs) for n in (0, 1))
            print(f"{category:<12} {share(both, by_two):<31} and the other way round {share(both, by_one)}")
    print()


def public(side: str) -> None:
    """The same on public sessions, by reader, and where both readers agree."""
    views: dict[str, Callable[[tuple[str, ...]], str | None]] = {
        "reader 1": lambda found: found[0],
        "reader 2": lambda found: found[1] if len(found) > 1 else None,
        "both": lambda found: found[0] if len(found) > 1 and found[0] == found[1] else None,
    }
    names = public_labels.sessions(side)
    rows = [one for name in names for one in public_labels.labelled(name)]
    print(f"public, {side}: {len(names)} sessions, {len(rows)} sentences")
    for view, label in views.items():
        right, made, wanted, kept = Counter[str](), Counter[str](), Counter[str](), 0
        for one in rows:
            said = label(one.found)
            if said is None:
                continue
            wanted[said] += 1
            verdict = classifier.sentence(one.text, one.role, one.lead)
            if verdict and classifier.injected(*verdict):
                made[verdict[0]] += 1
                right[verdict[0]] += verdict[0] == said
                kept += said != "NONE"
        if view == "reader 1":
            print(f"picked by rules: {share(kept, sum(made.values()))} are worth keeping under some name")
        for category in labels.CATEGORIES:
            if wanted[category] and category != "CONTEXT":
                hits = right[category]
                print(f"{category:<12} {view:<12} {share(hits, made[category]):<31} {share(hits, wanted[category])}")
    public_lines(side, names)


def public_lines(side: str, names: list[str]) -> None:
    """How many L1 lines hold the outcome by its words, and how many tell it as read when they were graded."""
    grades, tokens = [], []
    for name in names:
        known = public_labels.outcomes(name)
        for turn in public_labels.turns(name):
            if turn.number in known:
                line = skeleton.line(turn)
                grades.append(labels.held(line, known[turn.number], tuple(skeleton.STOPPED.values())))
                tokens.append((skeleton.quarters(line) + 3) // 4)
    print(f"lines: {share(sum(map(bool, grades)), len(grades))}, median {statistics.median(tokens):g} tokens")
    sides = {row["session"]: row["side"] for row in public_labels.rows_of("sessions")}
    read: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for row in public_labels.rows_of("lines"):
        if sides[row["session"]] == side:
            read[row["session"], row["turn"]][row["by"]] = row["tells"]
    for by, told in (
        ("by rules", [given["rules"] for given in read.values()]),
        ("with model help", [given.get("model", given["rules"]) for given in read.values()]),
    ):
        print(f"as graded by reading, {by}: {share(told.count('yes'), len(told))} tell how the turn ended")
    print()


def other_languages() -> None:
    """Sentences of our own in Japanese and Chinese."""
    for name, rows in (("Japanese", JAPANESE), ("Chinese", CHINESE)):
        right = 0
        for role, category, said in rows:
            verdict = classifier.sentence(said, role)
            got = verdict[0] if verdict and verdict[1] >= classifier.SURE else "NONE"
            right += got == category
        print(f"{name}: {share(right, len(rows))} of our own sentences")
    held, tokens = 0, []
    for asked, answers, words in TURNS:
        turn = Turn(1, asked)
        turn.assistant_texts, turn.final_text, turn.state = answers, answers[-1], "complete"
        line = skeleton.line(turn)
        held += words in line
        tokens.append((skeleton.quarters(line) + 3) // 4)
    median = statistics.median(tokens)
    print(f"Lines: {share(held, len(TURNS))} of our own turns hold the outcome; median {median:g} tokens")


if __name__ == "__main__":
    agreement()
    if labels.available():
        judgments()
        lines()
    else:
        print("The labelled sessions are not on this machine.\n")
    for part in public_labels.SIDES:
        if public_labels.sessions(part):
            public(part)
    other_languages()
