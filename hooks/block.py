"""The block of memory that a compaction is followed by: what goes in, and what goes first when space is short.

Idea: material in, parts out. Each thing that may be left out is a number (so many of the oldest notes, ...), a layout
is tried against the space, and the numbers are made as small as the space allows, in the fixed order of `lay_out`.
Invariant: a part is at most LIMIT UTF-16 units, says which part of how many it is and how to fetch the rest; whatever
is left out is counted. Checked in tests/hooks/test_block.py.
"""

from __future__ import annotations

import os
import sys

try:
    from . import classifier, hook_io, memory_read, token_estimator
except ImportError:  # run as a script: the folder of the script is on the path
    import classifier  # type: ignore[import-not-found,no-redef]
    import hook_io  # type: ignore[import-not-found,no-redef]
    import memory_read  # type: ignore[import-not-found,no-redef]
    import token_estimator  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable

LIMIT = 9_500  # UTF-16 units of one part; the client takes 10,000
MOST_PARTS = 4
REQUEST_LIMIT = 1_500
LINE_LIMIT = 420
TEXT_LIMIT = 4_000  # units of one verbatim text
VERBATIM_TURNS, VERBATIM_TOKENS = 10, 4_000
RANGES = 8
SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
STRONG = (
    *(("ISSUE", "Unresolved issues"), ("CONSTRAINT", "Constraints"), ("DECISION", "Decisions")),
    # On sessions that the rules had not seen about half of these were right (data/labels), so they say what they are.
    ("WORDING", "Picked by their wording alone; may be settled, or no such thing"),
)


class Item:
    """One line of the block: its turn and its text."""

    __slots__ = ("kind", "text", "turn")

    def __init__(self, turn: int, kind: str, text: str) -> None:
        self.turn = turn
        self.kind = kind
        self.text = text


class Material:
    """All that a block could hold, each list in the order of the turns."""

    def __init__(self) -> None:
        self.strong: list[Item] = []  # unresolved issues, constraints, decisions
        self.skeletons: list[Item] = []
        self.notes: list[Item] = []  # IMPL
        self.resolved: list[Item] = []
        self.verbatim: list[Item] = []
        self.running: Item | None = None


class Cuts:
    """How many of each kind are left out, the oldest first."""

    __slots__ = ("folded", "notes", "parts", "resolved", "strong", "verbatim")

    def __init__(self, parts: int, material: Material) -> None:
        self.parts = parts
        self.verbatim = len(material.verbatim)
        self.notes = len(material.notes)
        self.resolved = len(material.resolved)
        self.folded = 0
        self.strong = 0


class Block:
    """The finished parts and what was left out of them."""

    __slots__ = ("cuts", "material", "parts")

    def __init__(self, parts: list[str], cuts: Cuts, material: Material) -> None:
        self.parts = parts
        self.cuts = cuts
        self.material = material


def command(session_id: str, what: str = "") -> str:
    """The look-up command for this session; `what` goes before the session."""
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lookup.py")
    words = [_quoted(sys.executable or "python3"), "-S", "-E", _quoted(here), what, "--session", _quoted(session_id)]
    return " ".join(word for word in words if word)


def _quoted(word: str) -> str:
    """As a POSIX shell wants it, the same spelling as the installer's permission rule; Windows has Git Bash, too."""
    word = word.replace("\\", "/") if os.name == "nt" else word
    return word if word and SAFE.issuperset(word) else "'" + word.replace("'", "'\"'\"'") + "'"


def gather(con: sqlite3.Connection, session_id: str) -> Material:
    """Everything the block could hold, read from the memory; of the judgments those that may be given back."""
    found = Material()
    turns = memory_read.turns(con, session_id)
    for turn in turns:
        if turn.summary and turn.state != "open":
            found.skeletons.append(Item(turn.number, "L1", hook_io.cut(turn.summary, LINE_LIMIT)))
            continue
        texts = memory_read.details(con, session_id, turn.number, kinds=("user",))
        request = "\n".join(row.input for row in texts)
        if turn is turns[-1]:
            found.running = Item(turn.number, "request", hook_io.cut(request, REQUEST_LIMIT))
        else:  # broken off before its end was seen
            line = f"{hook_io.cut(' '.join(request.split()), 120)} → no outcome recorded"
            found.skeletons.append(Item(turn.number, "L1", line))
    for row in memory_read.judgments(con, session_id):
        if not classifier.injected(row.category, row.confidence):
            continue
        text = hook_io.cut(row.content, LINE_LIMIT)
        kind, mark = row.category, ""
        if row.source == "rule" and kind != "IMPL" and not row.resolved:
            kind, mark = "WORDING", f"{row.category.lower()}? "
        if row.category == "ISSUE" and row.resolved:
            found.resolved.append(Item(row.turn_number, "resolved", text))
        elif row.category == "ISSUE":
            found.strong.append(Item(row.turn_number, kind, f"#{row.id} {mark}{text}"))
        elif row.category in {"CONSTRAINT", "DECISION"}:
            found.strong.append(Item(row.turn_number, kind, mark + text))
        else:
            found.notes.append(Item(row.turn_number, row.category, text))
    found.verbatim = _verbatim(con, session_id, found)
    return found


def _verbatim(con: sqlite3.Connection, session_id: str, found: Material) -> list[Item]:
    """The newest turns' texts within the limits, in their order."""
    numbers = [item.turn for item in found.skeletons] + ([found.running.turn] if found.running else [])
    taken: list[Item] = []
    tokens = 0
    for number in reversed(numbers[-VERBATIM_TURNS:]):
        for row in reversed(memory_read.details(con, session_id, number, kinds=("user", "assistant"))):
            if row.kind == "user" and found.running and number == found.running.turn:
                continue
            text = hook_io.cut(row.input.strip(), TEXT_LIMIT)
            tokens += token_estimator.estimate(text)
            if tokens > VERBATIM_TOKENS:
                return taken[::-1]
            if text:
                taken.append(Item(number, "user" if row.kind == "user" else "answer", text))
    return taken[::-1]


def lay_out(material: Material, session_id: str, block_id: str, *, parts: int = 2) -> Block:
    """The block in at most `parts` parts, more only where L1 and the judgments that stay open need them.

    What goes when space is short, in this order: verbatim texts; IMPL of the oldest turns; resolved issues;
    then a third and a fourth part are opened; the oldest L1 lines are folded into ranges; issues, constraints and
    decisions beyond half the space go, the oldest first.
    """
    if not (material.skeletons or material.strong or material.running):
        return Block([], Cuts(0, material), material)
    number = min(max(1, parts), MOST_PARTS)
    cuts = Cuts(number, material)

    def fits() -> bool:
        return _packed(material, cuts, session_id, block_id) is not None

    while not fits() and cuts.parts < MOST_PARTS:
        cuts.parts += 1
    if not fits():
        cuts.folded = len(material.skeletons)
        if not fits():
            _least(cuts, "strong", len(material.strong), lambda: _strong_size(material, cuts) * 2 <= MOST_PARTS * LIMIT)
        _least(cuts, "folded", len(material.skeletons), fits)
    for name in ("resolved", "notes", "verbatim"):  # what goes last comes back first
        _least(cuts, name, len(getattr(material, name)), fits)
    packed = _packed(material, cuts, session_id, block_id) or []
    total = len(packed)
    return Block(
        [text.replace("part ?", f"part {k}", 1).replace("of ?", f"of {total}", 1) for k, text in packed], cuts, material
    )


def _least(cuts: Cuts, name: str, most: int, fits: Callable[[], bool]) -> None:
    """Set the number to the smallest one that fits."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        setattr(cuts, name, middle)
        if fits():
            high = middle
        else:
            low = middle + 1
    setattr(cuts, name, low)


def _strong_size(material: Material, cuts: Cuts) -> int:
    return sum(hook_io.units(item.text) + 16 for item in material.strong[cuts.strong :])


def _lines(material: Material, cuts: Cuts, session_id: str) -> list[tuple[str, str]]:
    """(section, line) in the order of the block."""
    lines: list[tuple[str, str]] = []
    strong = material.strong[cuts.strong :]
    for kind, title in STRONG:
        lines += [(title, f"- (turn {item.turn}) {item.text}") for item in strong if item.kind == kind]
    title = "Turns so far, request → outcome"
    lines += [(title, line) for line in _folded(material.skeletons[: cuts.folded])]
    below: dict[int, list[str]] = {}
    for item in (*material.notes[cuts.notes :], *material.resolved[cuts.resolved :]):
        below.setdefault(item.turn, []).append(f"   {item.kind.lower()}: {item.text}")
    for item in material.skeletons[cuts.folded :]:
        lines.append((title, f"{item.turn}. {item.text}"))
        lines += [(title, line) for line in below.pop(item.turn, [])]
    lines += [(title, f"{turn}. {line.strip()}") for turn, more in sorted(below.items()) for line in more]
    if material.running is not None:
        lines += _wrapped(f"The request being worked on (turn {material.running.turn})", material.running.text)
    for item in material.verbatim[cuts.verbatim :]:
        lines += _wrapped("Newest turns in their own words", f"[turn {item.turn}, {item.kind}] {item.text}")
    left = _left_out(material, cuts)
    if left:
        lines += [
            (f"Left out for space; to find it: {command(session_id, 'search WORDS')}", f"- {line}") for line in left
        ]
    fetch = f"Every call, text and note is stored. Run with Bash: `{command(session_id, 'detail TURN')}` "
    fetch += "(a turn or a range such as 3-5), or `search WORDS` in place of `detail TURN`."
    lines.append(("How to fetch details", fetch))
    return lines


def _wrapped(section: str, text: str) -> list[tuple[str, str]]:
    """The text in lines that a part can hold."""
    found = []
    for line in text.split("\n"):
        rest = line
        while len(rest) > 900:
            found.append((section, rest[:900]))
            rest = rest[900:]
        found.append((section, rest))
    return found


def _folded(items: list[Item]) -> list[str]:
    if not items:
        return []
    size = -(-len(items) // RANGES)
    lines = []
    for start in range(0, len(items), size):
        some = items[start : start + size]
        first, last = hook_io.cut(some[0].text, 60), hook_io.cut(some[-1].text, 60)
        shown = first if len(some) == 1 else f"from “{first}” to “{last}”"
        lines.append(f"{some[0].turn}-{some[-1].turn}: {len(some)} turns folded, {shown}")
    return lines


def _left_out(material: Material, cuts: Cuts) -> list[str]:
    """What the block does not hold, counted."""
    named = (
        (material.strong[: cuts.strong], "issues, constraints and decisions"),
        (material.skeletons[: cuts.folded], "L1 lines (folded into ranges above)"),
        (material.resolved[: cuts.resolved], "resolved issues"),
        (material.notes[: cuts.notes], "IMPL notes"),
        (material.verbatim[: cuts.verbatim], "verbatim texts of recent turns"),
    )
    lines = []
    for items, what in named:
        if items:
            first, last = min(i.turn for i in items), max(i.turn for i in items)
            lines.append(f"{len(items)} {what} of turn{f's {first}-{last}' if first != last else f' {first}'}")
    return lines


def _packed(material: Material, cuts: Cuts, session_id: str, block_id: str) -> list[tuple[int, str]] | None:
    """The parts with their numbers, or None where they do not fit."""
    brief = command(session_id, "detail TURN")
    head = f"[session memory {block_id}, part ? of ?] Notes recorded during this session, kept beside the summary. "
    head += f"Details of a turn: {brief}"
    parts: list[list[str]] = []
    room = 0
    shown = ""
    for section, line in _lines(material, cuts, session_id):
        heading = [] if section == shown else [f"## {section}"]
        need = sum(hook_io.units(text) + 1 for text in (*heading, line))
        if need > room:
            parts.append([head])
            room = LIMIT - hook_io.units(head) - 1
            heading = [f"## {section}" + (" (continued)" if section == shown else "")]
            need = sum(hook_io.units(text) + 1 for text in (*heading, line))
            if len(parts) > cuts.parts:
                return None
        parts[-1] += [*heading, line]
        room -= need
        shown = section
    return [(k, "\n".join(lines)) for k, lines in enumerate(parts, 1)]
