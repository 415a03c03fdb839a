"""Prints how well model help does on the labelled public sessions, beside the rules.

Run: LCM_LAB_PUBLIC_SESSIONS=FOLDER python tests/benchmarks/bench_model_help.py held-out --ask MODEL
     (asks the claude command on the path, which costs tokens) or --write DIR (the requests as files), then --read DIR
     (their answers, `<session>.<n>.reply.txt`).

Idea: the requests are the ones that the hook sends, one session at a time as if it were compacted at its end; an answer
is read as the hook reads it. Labels: data/labels/README.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "hooks"), str(Path(__file__).parent)]

import labels  # noqa: E402
import public_labels  # noqa: E402
from bench_classifier import share  # noqa: E402

from lcm_lab.hooks import client_call, model_prompt, skeleton  # noqa: E402

CATEGORIES = [category for category in labels.CATEGORIES if category != "CONTEXT"]


def chunks(session: str) -> list[model_prompt.Chunk]:
    """The requests of a session that ends here."""
    said = []
    for turn in public_labels.turns(session):
        said.append(model_prompt.Said(turn.number, "user", turn.user_text, 1))
        said += [model_prompt.Said(turn.number, "assistant", text, 1) for text in turn.assistant_texts]
    return model_prompt.chunks(said)


def answers(session: str, given: argparse.Namespace) -> list[tuple[model_prompt.Chunk, model_prompt.Verdicts | None]]:
    """What was answered to each request."""
    found = []
    for number, chunk in enumerate(chunks(session)):
        request = model_prompt.request(chunk, {})
        if given.write:
            (given.write / f"{session}.{number}.prompt.txt").write_text(request, encoding="utf-8")
            continue
        if given.ask:
            reply = client_call.ask(request, given.ask, 300)
            print(f"{session}.{number}: {reply.fault or 'answered'}, {reply.input_tokens} + {reply.output_tokens}")
            text = reply.text
        else:
            text = (given.read / f"{session}.{number}.reply.txt").read_text(encoding="utf-8")
        found.append((chunk, model_prompt.read(text, chunk, {})))
    return found


class Score:
    """What was named, what was wanted, and the lines, over all sessions of a side."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.right: Counter[tuple[str, int]] = Counter()
        self.wanted: Counter[tuple[str, int]] = Counter()
        self.held: list[str] = []
        self.tokens: list[int] = []

    def take(self, session: str, chunk: model_prompt.Chunk, verdicts: model_prompt.Verdicts) -> None:
        """One answer."""
        named = {
            (chunk.sentences[number].turn, chunk.sentences[number].text): verdict.category
            for number, verdict in verdicts.labels.items()
            if verdict.sure
        }
        for one in public_labels.labelled(session):
            if one.turn in chunk.asked:
                word = named.get((one.turn, " ".join(one.text.split())[: model_prompt.LONGEST]), "")
                self.made[word] += 1
                self.right.update((word, reader) for reader, label in enumerate(one.found) if label == word)
        known = public_labels.outcomes(session)
        for turn in public_labels.turns(session):
            if turn.number in verdicts.outcomes and turn.number in known and turn.state == "complete":
                line = skeleton.together(turn.user_text, verdicts.outcomes[turn.number])
                self.held.append(labels.held(line, known[turn.number], ()))
                self.tokens.append((skeleton.quarters(line) + 3) // 4)

    def count(self, session: str) -> None:
        """What there was to find, also where no request reached it (text before the first prompt)."""
        for one in public_labels.labelled(session):
            self.wanted.update((label, reader) for reader, label in enumerate(one.found))

    def show(self) -> None:
        """The table."""
        print("category, reader, precision of what the model names, recall")
        for category in CATEGORIES:
            for reader in range(len(public_labels.READERS)):
                if wanted := self.wanted[category, reader]:
                    hits = self.right[category, reader]
                    print(f"{category:<12} {reader + 1} {share(hits, self.made[category]):<32} {share(hits, wanted)}")
        print(f"lines in the words of the outcome: {share(sum(map(bool, self.held)), len(self.held))}", end="")
        print(f", median {statistics.median(self.tokens):g} tokens" if self.tokens else "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("side", choices=public_labels.SIDES)
    ways = parser.add_mutually_exclusive_group(required=True)
    ways.add_argument("--ask", metavar="MODEL")
    ways.add_argument("--write", type=Path)
    ways.add_argument("--read", type=Path)
    asked = parser.parse_args()
    score = Score()
    for name in public_labels.sessions(asked.side):
        score.count(name)
        for part, told in answers(name, asked):
            if told is not None:
                score.take(name, part, told)
    if not asked.write:
        score.show()
