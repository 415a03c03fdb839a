"""The block: what is in it, in which order things go, that every cut is counted and every part readable alone."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lcm_lab.hooks import block, classifier, hook_io, ingest, memory_db, memory_read, numbering, pre_compact
from lcm_lab.hooks.block import Block, Item, Material

if TYPE_CHECKING:
    from pathlib import Path


def words(count: int, seed: int = 0) -> str:
    """Some text."""
    chance = random.Random(seed)  # noqa: S311 - filling
    return " ".join("".join(chance.choices("abcdefgh", k=6)) for _ in range(count))


def material(
    turns: int, *, strong: int = 0, notes: int = 0, resolved: int = 0, verbatim: int = 0, size: int = 8
) -> Material:
    """A session with so many of each kind."""
    made = Material()
    made.skeletons = [Item(n, "L1", f"request {n} → outcome {n} {words(size, n)}") for n in range(1, turns + 1)]
    kinds = ("ISSUE", "CONSTRAINT", "DECISION")
    made.strong = [Item(n % turns + 1, kinds[n % 3], f"#{n} strong{n} {words(size, n)}") for n in range(strong)]
    made.notes = [Item(n % turns + 1, "IMPL", f"note{n} {words(size, n)}") for n in range(notes)]
    made.resolved = [Item(n % turns + 1, "resolved", f"solved{n} {words(size, n)}") for n in range(resolved)]
    made.verbatim = [Item(turns, "answer", f"verbatim{n} {words(40, n)}") for n in range(verbatim)]
    for items in (made.strong, made.notes, made.resolved):
        items.sort(key=lambda item: item.turn)
    made.running = Item(turns + 1, "request", "the running request")
    return made


def laid_out(made: Material, parts: int = 2) -> Block:
    """The block, checked for what holds for all of them."""
    found = block.lay_out(made, "session-1", "0123abcd", parts=parts)
    text = "\n".join(found.parts)
    assert 1 <= len(found.parts) <= block.MOST_PARTS
    for number, part in enumerate(found.parts, 1):
        assert hook_io.units(part) <= block.LIMIT
        assert part.startswith(f"[session memory 0123abcd, part {number} of {len(found.parts)}]")
        assert "lookup.py detail TURN --session session-1" in part
    assert "the running request" in text
    cuts = found.cuts
    counted = [
        (cuts.strong, len(made.strong), r"(\d+) issues, constraints and decisions", [i.text for i in made.strong]),
        (cuts.notes, len(made.notes), r"(\d+) IMPL notes", [i.text for i in made.notes]),
        (cuts.resolved, len(made.resolved), r"(\d+) resolved issues", [i.text for i in made.resolved]),
        (cuts.verbatim, len(made.verbatim), r"(\d+) verbatim texts", [i.text for i in made.verbatim]),
        (cuts.folded, len(made.skeletons), r"(\d+) L1 lines", [i.text for i in made.skeletons]),
    ]
    for left_out, total, pattern, texts in counted:
        named = re.search(pattern, text)
        assert (int(named.group(1)) if named else 0) == left_out
        assert all(shown in text for shown in texts[left_out:]), "what is not counted as left out must be there"
        assert 0 <= left_out <= total
    if any(left_out for left_out, *_ in counted):
        assert "search WORDS --session session-1" in text
    return found


def test_a_small_session_is_one_part_with_everything() -> None:
    """In the order: unresolved, constraints, decisions, turns with their notes, the request, texts, how to fetch."""
    found = laid_out(material(5, strong=6, notes=4, resolved=2, verbatim=3))
    (text,) = found.parts
    places = [text.index(f"## {title}") for title in ("Unresolved issues", "Constraints", "Decisions", "Turns so far")]
    places += [
        text.index("## The request being worked on (turn 6)"),
        text.index("## Newest turns"),
        text.index("## How to fetch"),
    ]
    assert places == sorted(places)
    assert text.count("strong0 ") == 1
    assert re.search(r"\n1\. request 1 .*\n   impl: note0 ", text)


def test_nothing_recorded_is_no_block() -> None:
    """An empty session gives no part."""
    assert block.lay_out(Material(), "s", "0" * 8).parts == []


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (material(60, verbatim=60), {"verbatim"}),
        (material(100, notes=150, verbatim=10), {"verbatim", "notes"}),
        (material(100, notes=20, resolved=150, verbatim=10), {"verbatim", "notes", "resolved"}),
        (material(200, notes=20, resolved=20, verbatim=10, size=12), {"parts"}),
        (material(900, strong=20), {"folded", "parts"}),
        (material(100, strong=900), {"strong", "parts"}),
    ],
)
def test_what_goes_first(made: Material, expected: set[str]) -> None:
    """Each kind goes only when what stands before it in the order is gone or was never there."""
    found = laid_out(made)
    cuts = found.cuts
    gone = {name for name in ("verbatim", "notes", "resolved", "folded", "strong") if getattr(cuts, name)}
    gone |= {"parts"} if cuts.parts > 2 else set()
    assert expected <= gone
    if cuts.notes or cuts.resolved or cuts.folded or cuts.strong:
        assert cuts.verbatim == len(made.verbatim)
    if cuts.resolved or cuts.folded or cuts.strong:
        assert cuts.notes == len(made.notes)
    if cuts.folded or cuts.strong:
        assert cuts.resolved == len(made.resolved)
        assert cuts.parts == block.MOST_PARTS
    if cuts.strong:
        kept = sum(hook_io.units(item.text) for item in made.strong[cuts.strong :])
        assert kept <= block.MOST_PARTS * block.LIMIT / 2


def test_sixty_turns_need_no_folding() -> None:
    """With lines as long as they may be in the median and a busy session beside."""
    found = laid_out(material(60, strong=40, notes=60, resolved=20, verbatim=10, size=14))
    assert found.cuts.folded == 0


def test_folded_lines_name_their_range() -> None:
    """A handful of lines stand for all the oldest turns."""
    found = laid_out(material(1500))
    lines = re.findall(r"^(\d+)-(\d+): (\d+) turns folded, from “request", "\n".join(found.parts), re.MULTILINE)
    assert 1 <= len(lines) <= block.RANGES
    assert sum(int(count) for _, _, count in lines) == found.cuts.folded
    assert (int(lines[0][0]), int(lines[-1][1])) == (1, found.cuts.folded)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 300),
    st.integers(0, 300),
    st.integers(0, 200),
    st.integers(0, 100),
    st.integers(0, 30),
    st.integers(1, 40),
    st.integers(1, 4),
)
def test_any_session_fits(
    turns: int, strong: int, notes: int, resolved: int, verbatim: int, size: int, parts: int
) -> None:
    """Whatever there is: within the parts, counted, readable."""
    laid_out(material(turns, strong=strong, notes=notes, resolved=resolved, verbatim=verbatim, size=size), parts)


def test_wide_letters_count_as_the_client_counts() -> None:
    """A thousand emoji are two thousand units."""
    made = material(3)
    made.skeletons = [Item(n, "L1", hook_io.cut("\U0001f600" * 1_000, block.LINE_LIMIT)) for n in range(1, 100)]
    found = block.lay_out(made, "s", "0123abcd")
    assert all(hook_io.units(part) <= block.LIMIT for part in found.parts)


@pytest.mark.parametrize("text", ["x" * 500, "\U0001f600" * 300, "漢" * 500, "a\U0001f600" * 200])
def test_cut(text: str) -> None:
    """Never longer than asked, marked, never half a character."""
    for limit in (1, 2, 10, 99, 100, 101):
        short = hook_io.cut(text, limit)
        assert hook_io.units(short) <= limit
        assert short.endswith("…")
        short.encode()
    assert hook_io.cut("short", 10) == "short"


def test_from_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gathered: the open turn is the running request, cut; resolved issues stand under their turn; texts are raw."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    con = memory_db.connect()
    memory_db.ensure_session(con, "s", "/p")
    for number in (1, 2, 3):
        numbering.announce(con, "s", f"p{number}")
        ingest.put_text(con, "s", number, "user", 0, f"please {number} " + "y" * 4_000, 1.0)
        if number < 3:
            ingest.put_text(con, "s", number, "assistant", 0, f"answer\n{number}", 1.0)
            con.execute("UPDATE turns SET state='complete' WHERE turn_number=?", (number,))
            con.execute(
                "INSERT INTO skeletons(session_id, turn_number, role, summary) VALUES ('s',?,'assistant',?)",
                (number, f"L1 of {number}"),
            )
    rows = [
        *(("ISSUE", "open one", 0, "tool"), ("ISSUE", "solved one", 1, "rule"), ("ISSUE", "likely one", 0, "rule")),
        *(("DECISION", "decided", 0, "model"), ("DECISION", "guessed", 0, "rule"), ("IMPL", "built", 0, "rule")),
    ]
    for place, (category, content, resolved, source) in enumerate(rows):
        sql = "INSERT INTO judgments(session_id, turn_number, category, content, resolved, confidence, content_hash, "
        sql += "source) VALUES ('s',1,?,?,?,0.9,?,?)"
        con.execute(sql, (category, content, resolved, str(place), source))
    text = "\n".join(block.lay_out(block.gather(con, "s"), "s", "0123abcd").parts)
    assert "## Unresolved issues\n- (turn 1) #1 open one\n## Decisions\n- (turn 1) decided\n## Picked" in text
    assert "no such thing\n- (turn 1) #3 issue? likely one\n- (turn 1) decision? guessed\n## Turns" in text
    assert text.count("open one") == 1
    assert "   resolved: solved one" in text
    assert "1. L1 of 1\n   impl: built" in text
    running = text.split("(turn 3)\n")[1].split("\n## ")[0].replace("\n", "")
    assert running.startswith("please 3 yyy")
    assert hook_io.units(running) <= block.REQUEST_LIMIT
    assert "[turn 2, answer] answer\n2" in text
    assert memory_read.turns(con, "s")[2].state == "open"
    con.close()


def test_only_what_rules_may_inject_reaches_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the block and in the note for the summariser: no CONTEXT, nothing below the limit, nothing without a number."""
    monkeypatch.setenv("THROUGHLINE_HOME", str(tmp_path))
    con = memory_db.connect()
    memory_db.ensure_session(con, "s", "/p")
    numbering.announce(con, "s", "p1")
    ingest.put_text(con, "s", 1, "user", 0, "please", 1.0)
    confidences = (None, classifier.KEPT, classifier.SURE - 0.01, classifier.SURE, 1.0)
    made = []
    for number, category in enumerate(classifier.PER_TURN):
        for place, confidence in enumerate(confidences):
            for resolved in (0, 1) if category == "ISSUE" else (0,):
                text = f"said {number} {place} {resolved}."
                sql = "INSERT INTO judgments(session_id, turn_number, category, content, resolved, confidence, "
                sql += "content_hash, source) VALUES ('s',1,?,?,?,?,?,?)"
                con.execute(sql, (category, text, resolved, confidence, text, "rule" if place == 3 else "tool"))
                made.append((text, category, confidence, resolved))
    text = "\n".join(block.lay_out(block.gather(con, "s"), "s", "0123abcd").parts)
    note = pre_compact._note(con, "s")
    expected = {said for said, category, sure, _ in made if category != "CONTEXT" and (sure or 0) >= 0.55}
    assert {said for said, *_ in made if said in text} == expected
    assert len(expected) == 2 * (len(classifier.PER_TURN) - 1) + 2
    noted = {s for s, category, sure, done in made if category in {"ISSUE", "CONSTRAINT"} and not done and sure == 1}
    assert {said for said, *_ in made if said in note} == expected & noted
    assert len(memory_read.judgments(con, "s")) == len(made), "what is not injected is still there to be found"
    con.close()
