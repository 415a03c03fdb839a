"""Gathering: everything a language model needs to write one summary anew, read from the store in one look.

One builder for rewrite, repair and doctor. The source text, the times, the target and the previous context follow
lcm-tui's rewrite to the letter; the differences are on purpose:

- parts of a message that are reasoning, or marked as ignored, stay out, and an embedded picture is named instead of
  sent; tool errors and names of files are shown;
- a summary that is itself broken never serves as previous context: the next candidate is looked at;
- sources that are gone are named, and one without any is not rebuilt from nothing;
- the first and last time of a range are found by the moment they name, so that a clock change cannot turn it round.

The invariant: nothing is written, nothing is asked of a model, and texts accepted earlier in the same batch
(``drafts``) stand in for the stored ones. Checked by ``tests/repairs/test_gather.py``, also against what lcm-tui sent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Final

from lcm_lab import times, tokens
from lcm_lab.analysis.health import markers
from lcm_lab.errors import NotFound
from lcm_lab.store import lineage, summaries
from lcm_lab.store.connect import Reader
from lcm_lab.store.lineage import LinkedMessage
from lcm_lab.store.rows import Summary, kind_label
from lcm_lab.store.text import message_text

SMALLEST_TARGET: Final = 192
LARGEST_LEAF_TARGET: Final = 1200
CONDENSED_TARGET: Final = 2000
EMPTY: Final = "(empty)"
_NO_DRAFTS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Material:
    """What one summary is made from again. ``old_*`` is what is stored now.

    ``source_items`` counts the messages or summaries in ``source_text``, ``source_count`` those the store says there
    are, ``missing`` names those that lead nowhere (no such row, or the summary itself). ``source_tokens`` is by rule
    ``lcm-tui``, because the target depends on it. ``problem`` says why it cannot be rebuilt; None where it can.
    """

    summary_id: str
    conversation_id: int
    kind: str
    depth: int
    label: str
    old_content: str
    old_tokens: int | None
    model: str | None
    source_kind: str
    source_text: str
    source_tokens: int
    source_items: int
    source_count: int
    time_range: str
    previous_context: str | None
    previous_id: str | None
    target_tokens: int
    missing: tuple[str, ...]
    broken_sources: tuple[str, ...]
    problem: str | None

    @property
    def prompt_depth(self) -> int:
        """The depth whose template fits: 0 for what is made from messages, else at least 1."""
        return 0 if self.source_kind == "messages" else max(1, self.depth)

    @property
    def sources_found(self) -> str:
        """``k of n sources found``."""
        return f"{self.source_count - len(self.missing)} of {self.source_count} sources found"


@dataclass(frozen=True, slots=True)
class _Source:
    """The rendered source, and what was found out on the way."""

    pieces: tuple[str, ...]
    between: str
    moments: tuple[datetime, ...]
    count: int
    missing: tuple[str, ...]
    broken: tuple[str, ...] = ()
    has_text: bool = True


def gather(
    reader: Reader,
    conversation_id: int,
    summary_id: str,
    *,
    zone: times.Zone,
    timestamps: bool = True,
    drafts: Mapping[str, str] = _NO_DRAFTS,
    old_siblings: bool = False,
) -> Material:
    """The material of one summary.

    ``drafts`` are texts by summary id that replace the stored ones, as sources and as previous context; with
    ``old_siblings`` as sources only, so that the previous context does not depend on what was rewritten before.

    Raises:
        NotFound: the conversation has no such summary.
    """
    found = summaries.summary(reader, summary_id)
    if found is None or found.conversation_id != conversation_id:
        raise NotFound(not_here(found, summary_id, conversation_id))
    messages = lineage.linked(reader, summary_id)
    source_ids = lineage.sources_of(reader, [summary_id]).get(summary_id, [])
    leaf = lineage.reads_messages(found.kind, found.depth, links=len(messages), sources=len(source_ids))
    source = (
        _from_messages(messages, zone, timestamps=timestamps)
        if leaf
        else _from_summaries(reader, summary_id, source_ids, drafts, zone if timestamps else None)
    )
    text = source.between.join(source.pieces)
    size = tokens.lcm_tui_tokens(text)
    depth = 0 if lineage.is_leaf(found.kind, found.depth) else found.depth
    previous_id, previous = _previous(reader, found, depth, _NO_DRAFTS if old_siblings else drafts)
    return Material(
        summary_id=summary_id,
        conversation_id=conversation_id,
        kind=found.kind,
        depth=found.depth,
        label=kind_label(found.kind.strip().lower(), found.depth),
        old_content=found.content,
        old_tokens=found.token_count,
        model=found.model,
        source_kind="messages" if leaf else "summaries",
        source_text=text,
        source_tokens=size,
        source_items=len(source.pieces),
        source_count=source.count,
        time_range=time_range(source.moments, zone),
        previous_context=previous,
        previous_id=previous_id,
        target_tokens=leaf_target(size) if leaf else CONDENSED_TARGET,
        missing=source.missing,
        broken_sources=source.broken,
        problem=_problem(source, leaf=leaf),
    )


def leaf_target(source_tokens: int) -> int:
    """The length asked for a leaf: 35 % of its source, at least 192 and at most 1,200 tokens.

    >>> leaf_target(100), leaf_target(660), leaf_target(2000), leaf_target(9000)
    (192, 230, 700, 1200)
    """
    # As a float on purpose: plugin and lcm-tui round 35 % of 660 to 230, and we ask for the same length.
    return min(max(int(source_tokens * 0.35), SMALLEST_TARGET), LARGEST_LEAF_TARGET)


def time_range(moments: Sequence[datetime], zone: times.Zone) -> str:
    """The first moment, and the last one where it reads differently; empty without any."""
    if not moments:
        return ""
    first, last = clock(min(moments), zone), clock(max(moments), zone)
    return first if first == last else f"{first} - {last}"


def clock(moment: datetime, zone: times.Zone) -> str:
    """A moment as ``YYYY-MM-DD HH:MM`` and the zone's abbreviation."""
    local = zone.local(moment)
    return f"{local.isoformat(sep=' ')[:16]} {local.tzname() or ''}".rstrip()


def not_here(found: Summary | None, summary_id: str, conversation_id: int | None) -> str:
    """The sentence for a summary that the conversation (the store, for None) does not have."""
    if found is None or conversation_id is None:
        lane = "CONV" if conversation_id is None else conversation_id
        return f"There is no summary {summary_id} in this store; 'lcm-lab dag {lane}' lists them."
    return f"Summary {summary_id} belongs to conversation {found.conversation_id}, not to {conversation_id}."


def _from_messages(links: Sequence[LinkedMessage], zone: times.Zone, *, timestamps: bool) -> _Source:
    lines: list[str] = []
    moments: list[datetime] = []
    missing: list[str] = []
    has_text = False
    for link in links:
        if link.message is None:
            missing.append(str(link.message_id))
            continue
        moment = times.parse(link.message.created_at)
        if moment is not None:
            moments.append(moment)
        body = _body(link)
        has_text = has_text or body != EMPTY
        time = f"[{clock(moment, zone)}] " if timestamps and moment is not None else ""
        lines.append(f"{time}[{link.message.role.strip() or 'unknown'}] {body}")
    return _Source(tuple(lines), "\n", tuple(moments), len(links), tuple(missing), has_text=has_text)


def _body(link: LinkedMessage) -> str:
    """What a message says, in the form lcm-tui gives it to the model."""
    if link.message is None:
        return EMPTY
    said = message_text(link.message, [part for part in link.parts if part.part_type != "reasoning"]).strip()
    text, pictures = tokens.without_pictures(said)
    if pictures:
        named = "1 embedded picture left out" if pictures == 1 else f"{pictures} embedded pictures left out"
        text = f"{text.strip()} [{named}]".strip()
    return text or EMPTY


def _from_summaries(
    reader: Reader, summary_id: str, ids: Sequence[str], drafts: Mapping[str, str], zone: times.Zone | None
) -> _Source:
    """The sources in their order; ``zone`` None leaves their time ranges out of the text."""
    stored = lineage.by_id(reader, [one for one in dict.fromkeys(ids) if one != summary_id])
    spans = lineage.spans(reader, stored)
    pieces: list[str] = []
    moments: list[datetime] = []
    broken: list[str] = []
    for one in ids:
        if one not in stored:
            continue
        text, model = _text(stored[one], drafts)
        if markers.broken_kind(text, model) is not None:
            broken.append(one)
        if not text.strip():
            continue
        span = spans.get(one, ())
        moments.extend(span)
        head = f"[{time_range(span, zone)}]\n" if zone is not None and span else ""
        pieces.append(f"{head}{text.strip()}")
    missing = tuple(one for one in ids if one not in stored)
    return _Source(tuple(pieces), "\n\n", tuple(moments), len(ids), missing, tuple(broken), has_text=bool(pieces))


def _text(stored: Summary, drafts: Mapping[str, str]) -> tuple[str, str | None]:
    """The text that counts now, and the model it is from; a draft's model is not known here and is never a mark."""
    if stored.summary_id in drafts:
        return drafts[stored.summary_id], None
    return stored.content, stored.model


def _previous(
    reader: Reader, me: Summary, depth: int, drafts: Mapping[str, str]
) -> tuple[str, str] | tuple[None, None]:
    """The summary that comes before this one and its text.

    Three places are looked at in turn: the context, the sources of what was made from this summary, the older ones of
    the same depth. In each the nearest counts; a broken one is passed over, a blank one ends that place.
    """
    places = (
        lineage.before_in_context(reader, me.conversation_id, me.summary_id, depth),
        lineage.before_among_sources(reader, me.summary_id),
        lineage.older(reader, me.conversation_id, me.summary_id, depth),
    )
    for place in places:
        for candidate in _stored(reader, place):
            text, model = _text(candidate, drafts)
            if markers.broken_kind(text, model) is not None:
                continue
            if text.strip():
                return candidate.summary_id, text.strip()
            break
    return None, None


def _stored(reader: Reader, ids: Iterator[str]) -> Iterator[Summary]:
    """The summaries behind ``ids``: the first alone, since it is nearly always the one, the rest many at a time."""
    size = 1
    while chunk := list(islice(ids, size)):
        found = lineage.by_id(reader, chunk)
        yield from (found[one] for one in chunk if one in found)
        size = 64


def _problem(source: _Source, *, leaf: bool) -> str | None:
    """Why nothing can be made from this source; None where something can."""
    what = "message" if leaf else "summary"
    if source.count == 0:
        return f"0 of 0 sources found: no {what} is linked to it"
    found = source.count - len(source.missing)
    if found == 0:
        return f"0 of {source.count} sources found"
    if not source.has_text:
        return f"{found} of {source.count} sources found, and no {what} among them has any text"
    return None
