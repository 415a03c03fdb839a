"""Which summaries a transplant copies: those chosen, everything they were made from, each once.

The invariant: what is selected is closed. Every source and every message of a copied summary is copied with it, or an
equal one in the target stands for it; where that cannot be, nothing is planned and the message names what is missing.
Whatever stands below another chosen summary is not chosen on its own, so that the target says nothing twice.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from lcm_lab.analysis.wording import counted, some
from lcm_lab.errors import Refused
from lcm_lab.store import copying
from lcm_lab.store.connect import Reader
from lcm_lab.store.copying import Held
from lcm_lab.store.images import Image

Below = dict[str, list[str]]
"""The direct sources of each summary, by its id."""


@dataclass(slots=True)
class Selection:
    """What is to be copied, in copy order.

    ``tops`` go into the context; ``linked`` gives the summary of the target that stands for one of the source;
    ``matches`` are the equal ones in the target of each summary that would be copied.
    """

    tops: list[str]
    summaries: list[Image] = field(default_factory=list)
    edges: list[Image] = field(default_factory=list)
    links: list[Image] = field(default_factory=list)
    messages: list[Image] = field(default_factory=list)
    linked: dict[str, str] = field(default_factory=dict)
    matches: dict[str, list[Held]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def select(reader: Reader, conversation_id: int, chosen: list[str], held: list[Held], *, link: bool) -> Selection:
    """Everything that must be copied so that ``chosen`` can stand in another conversation, which holds ``held``.

    With ``link`` an equal summary there takes the place of a copy, and what lies below it is not copied.

    Raises:
        Refused: a source or message is missing, belongs elsewhere, or summaries are made from each other in a circle.
    """
    edges = _edges(reader, chosen)
    below = sources(edges)
    _refuse_circles(below)
    tops, notes = _tops(chosen, below)
    found = Selection(tops, notes=notes)
    pool: dict[str, list[Held]] = {}
    for one in held:
        pool.setdefault(one.digest, []).append(one)
    used: set[str] = set()
    wave = list(tops)
    seen = set(wave)
    while wave:
        following: list[str] = []
        for image in _wave(reader, conversation_id, wave):
            own = str(image["summary_id"])
            equal = pool.get(copying.digest(image["content"]), [])
            stand_in = _stand_in(image, equal, used) if link else None
            if stand_in is not None:
                used.add(stand_in)
                found.linked[own] = stand_in
                continue
            if equal and not link:
                found.matches[own] = equal
            found.summaries.append(image)
            following += below.get(own, ())
        wave = [one for one in dict.fromkeys(following) if one not in seen]
        seen.update(wave)
    found.summaries.sort(key=_age)
    own_ids = {str(image["summary_id"]) for image in found.summaries}
    found.edges = [one for one in edges if one["summary_id"] in own_ids]
    _messages(reader, conversation_id, found)
    return found


def sources(edges: Iterable[Image]) -> Below:
    """The direct sources of each derived summary."""
    below: Below = {}
    for edge in edges:
        below.setdefault(str(edge["summary_id"]), []).append(str(edge["parent_summary_id"]))
    return below


def closure(roots: Iterable[str], below: Below) -> set[str]:
    """``roots`` and everything below them; ends on every graph."""
    found = set(roots)
    waiting = list(found)
    while waiting:
        for one in below.get(waiting.pop(), ()):
            if one not in found:
                found.add(one)
                waiting.append(one)
    return found


def _edges(reader: Reader, roots: list[str]) -> list[Image]:
    """The edges of ``roots`` and of everything below them, each derived summary's in their order."""
    found: list[Image] = []
    wave, seen = list(roots), set(roots)
    while wave:
        rows = copying.rows_of(reader, "summary_parents", "summary_id", wave)
        found += rows
        wave = [one for one in dict.fromkeys(str(row["parent_summary_id"]) for row in rows) if one not in seen]
        seen.update(wave)
    found.sort(key=lambda row: (str(row["summary_id"]), _number(row["ordinal"])))
    return found


def _refuse_circles(below: Below) -> None:
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        raise Refused(
            f"These summaries are made from each other in a circle: {some(dict.fromkeys(error.args[1]))}; "
            "'lcm-lab check' says which edge is wrong. Nothing was planned."
        ) from None


def _tops(chosen: list[str], below: Below) -> tuple[list[str], list[str]]:
    tops, notes = [], []
    inside: dict[str, str] = {}
    for one in chosen:
        for lower in closure([one], below) - {one}:
            inside.setdefault(lower, one)
    for one in chosen:
        if one in inside:
            notes.append(f"{one} is part of {inside[one]}, which is copied as well, and is not put in twice.")
        else:
            tops.append(one)
    return tops, notes


def _wave(reader: Reader, conversation_id: int, ids: list[str]) -> list[Image]:
    rows = {str(row["summary_id"]): row for row in copying.rows_of(reader, "summaries", "summary_id", ids)}
    missing = [one for one in ids if one not in rows]
    if missing:
        raise Refused(
            f"{len(missing)} of the summaries that would be copied are missing ({some(missing)}): an edge leads to a "
            "row that does not exist, and the copy would end there. See 'lcm-lab check'."
        )
    foreign = [
        f"{key} (conversation {row['conversation_id']!r})"
        for key, row in rows.items()
        if row["conversation_id"] != conversation_id
    ]
    if foreign:
        raise Refused(
            f"Not everything below belongs to conversation {conversation_id}: {some(foreign)}. See 'lcm-lab check'."
        )
    return [rows[one] for one in ids]


def _stand_in(image: Image, equal: list[Held], used: set[str]) -> str | None:
    """The summary that can take the place of a copy: same text, kind and depth, and for nothing else yet."""
    return next(
        (
            one.summary_id
            for one in equal
            if one.summary_id not in used
            and not one.blank
            and one.kind == image.get("kind")
            and one.depth == image.get("depth")
        ),
        None,
    )


def _messages(reader: Reader, conversation_id: int, found: Selection) -> None:
    """Read the links of the copied summaries and the messages they lead to."""
    ids = [str(image["summary_id"]) for image in found.summaries]
    found.links = copying.rows_of(reader, "summary_messages", "summary_id", ids)
    found.links.sort(key=lambda row: (str(row["summary_id"]), _number(row["ordinal"])))
    wanted = list(dict.fromkeys(row["message_id"] for row in found.links))
    found.messages = copying.rows_of(reader, "messages", "message_id", wanted)
    there = {row["message_id"] for row in found.messages}
    lost = [
        f"{row['summary_id']!s} -> message {row['message_id']!r}"
        for row in found.links
        if row["message_id"] not in there
    ]
    if lost:
        raise Refused(
            f"{counted(len(lost), 'link')} to messages that do not exist ({some(lost)}): the copies would end there. "
            "See 'lcm-lab check'."
        )
    foreign = [str(row["message_id"]) for row in found.messages if row["conversation_id"] != conversation_id]
    if foreign:
        found.notes.append(
            f"Messages of other conversations are copied, too, since leaves were made from them: {some(foreign)}."
        )


def _age(image: Image) -> tuple[int, str, str]:
    depth = image.get("depth")
    return (depth if isinstance(depth, int) else 0, str(image.get("created_at") or ""), str(image["summary_id"]))


def _number(value: object) -> float:
    return value if isinstance(value, int | float) else float("inf")
