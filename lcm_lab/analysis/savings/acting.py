"""Does what a policy says to a context: clears results, compacts in one of four ways.

Idea: each way takes the pieces there are and gives the pieces there would be, and says which calls of a model that
took. What the client itself keeps after a compaction is not guessed: it is measured in the sessions at hand
(:class:`Typical`).
Invariant: nothing that a policy protects is taken away, and a compaction that would save next to
nothing does not happen. Checked by ``tests/analysis/savings/test_by_hand.py`` and ``test_policies.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lcm_lab.analysis.savings.context import CLIENT, MEMORY, SYSTEM, Context, Piece
from lcm_lab.analysis.savings.policies import LAYERS, LCM, NATIVE, NATIVE_LAYERS, Policy
from lcm_lab.analysis.savings.session import MemoryPoint

MARK: Final = 12
"""Tokens of the note that stands where a result was cleared."""

WORTH: Final = 2_000
"""A compaction that would take away less does not happen."""

UNSEEN: Final = 0.03
"""L1 and L2 of a history that is in no file: the share that those of real sessions had of what their turns held."""

_SUMMED: Final = (SYSTEM, MEMORY)
"""What is no part of a turn, and what the plugin does not put into a leaf."""


@dataclass(frozen=True, slots=True)
class Typical:
    """What a native compaction leaves beside the system prompt: its summary, and files, skills, lists put back.

    Measured over the recorded boundaries of the sessions at hand; where there are none, from public measurements of
    clients 2.1.x.
    """

    summary: int = 2_000
    kept: int = 6_000
    boundaries: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a model that a compaction takes; ``shared``: it begins with the very prompt of the session."""

    prompt: int
    output: int
    shared: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """What is known when a compaction is due.

    The places of the pieces that enter with this request, the running turn.
    """

    entering: int
    turn: int
    point: MemoryPoint | None
    scale: float


def mask(context: Context, policy: Policy) -> None:
    """Clear the tool results that the policy does not keep."""
    if policy.keep_results is None or context.total < policy.clear_at:
        return
    there = [i for i, one in enumerate(context.pieces) if one.kind == "tool output" and not one.cleared]
    old = [i for i in there[: max(0, len(there) - policy.keep_results)] if context.pieces[i].tokens > MARK]
    if sum(context.pieces[i].tokens - MARK for i in old) >= max(1, policy.clear_least):
        context.clear(old, MARK)


def compact(context: Context, policy: Policy, moment: Moment, typical: Typical) -> list[Call] | None:
    """Compact; the calls that it took, or None where it did not happen."""
    return _WAYS[policy.compaction](context, policy, moment, typical)


def _native(context: Context, policy: Policy, moment: Moment, typical: Typical) -> list[Call] | None:
    """The client's way: a summary by the model, what the client puts back, the last exchange.

    With the hooks, their block.
    """
    system = [one for one in context.pieces if one.kind == SYSTEM]
    exchange = context.pieces[moment.entering :]
    made = [Piece("summary", typical.summary), Piece(CLIENT, typical.kept)]
    layered = policy.compaction == NATIVE_LAYERS and moment.point is not None
    if layered and moment.point is not None:
        made.insert(0, Piece(MEMORY, round(moment.point.block * moment.scale)))
    after = sum(one.tokens for one in (*system, *made, *exchange))
    if context.total - after < WORTH:
        return None
    prompt = sum(one.tokens for one in context.pieces[: moment.entering])
    context.put([*system, *made, *exchange])
    context.point = moment.point.request if layered and moment.point else None
    return [Call(prompt, typical.summary, shared=True)]


def _layers(context: Context, policy: Policy, moment: Moment, typical: Typical) -> list[Call] | None:  # noqa: ARG001
    """The concept's way: older turns become L1 and L2, the newest stay as they are; no model is called."""
    raw = [one for one in context.pieces if one.kind not in _SUMMED]
    kept = _protected(raw, policy, moment)
    folded = {one.turn for one in raw if one.turn not in kept} | context.folded
    lines = {turn: l1 + l2 for turn, l1, l2 in moment.point.lines} if moment.point else {}
    unseen = context.unseen or sum(one.tokens for one in raw if one.turn == 0 and one.turn in folded)
    block = round(sum(size for turn, size in lines.items() if turn in folded) * moment.scale + UNSEEN * unseen)
    system = [one for one in context.pieces if one.kind == SYSTEM]
    stays = [one for one in raw if one.turn in kept]
    after = sum(one.tokens for one in (*system, *stays)) + block
    if context.total - after < WORTH:
        return None
    context.put([*system, Piece(MEMORY, block), *stays])
    context.folded, context.unseen = frozenset(folded), unseen
    return []


def _protected(raw: Sequence[Piece], policy: Policy, moment: Moment) -> set[int]:
    """The turns that stay raw: the newest so many, or the newest that fit into so many tokens.

    The running one always.
    """
    turns = sorted({one.turn for one in raw}, reverse=True)
    if policy.protect_turns is not None:
        return {moment.turn, *turns[: policy.protect_turns]}
    kept = {moment.turn}
    left = policy.protect_tokens or 0
    for turn in turns:
        left -= sum(one.tokens for one in raw if one.turn == turn)
        if left < 0:
            break
        kept.add(turn)
    return kept


def _lcm(context: Context, policy: Policy, moment: Moment, typical: Typical) -> list[Call] | None:  # noqa: ARG001
    """The plugin's way: leaves over chunks of what is older than the fresh tail, and condensed ones over leaves."""
    messages = _messages(context.pieces)
    plain = [i for i, one in enumerate(messages) if one[0].kind not in _SUMMED]
    tail = policy.plugin.fresh_tail
    end = plain[-tail] if len(plain) > tail else plain[0] if plain else len(messages)
    found, calls = _leaves(messages[:end], policy)
    if not calls:
        return None
    while _condense(found, policy, calls):
        continue
    if sum(one.tokens for message in messages[:end] for one in message) - sum(one.tokens for one in found) < WORTH:
        return None
    context.put([*found, *(one for message in messages[end:] for one in message)])
    return calls


def _messages(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """The pieces by message; system prompt and summaries stand alone."""
    found: list[list[Piece]] = []
    for one in pieces:
        if one.kind in _SUMMED or not found or one.message < 0 or one.message != found[-1][-1].message:
            found.append([])
        found[-1].append(one)
    return found


def _leaves(messages: Sequence[list[Piece]], policy: Policy) -> tuple[list[Piece], list[Call]]:
    """Each run of messages, up to a chunk, as one leaf; what is no message stays."""
    plugin = policy.plugin
    found: list[Piece] = []
    calls: list[Call] = []
    size = 0
    for message in [*messages, [Piece(SYSTEM, 0)]]:
        tokens = sum(one.tokens for one in message)
        stays = message[0].kind in _SUMMED
        if size and (stays or size + tokens > plugin.leaf_chunk):
            target = min(size, max(192, min(int(0.35 * size), plugin.leaf_target)))
            found.append(Piece(MEMORY, target + plugin.wrapper, depth=0))
            calls.append(Call(size + plugin.prompt, target, shared=False))
            size = 0
        if stays:
            found += message
        else:
            size += tokens
    return found[:-1], calls


def _condense(found: list[Piece], policy: Policy, calls: list[Call]) -> bool:
    """One condensed summary over the oldest leaves, where there are enough of them."""
    plugin = policy.plugin
    leaves = [i for i, one in enumerate(found) if one.depth == 0]
    chosen: list[int] = []
    for i in leaves:
        if sum(found[k].tokens for k in (*chosen, i)) > plugin.leaf_chunk:
            break
        chosen.append(i)
    if len(chosen) < plugin.leaf_fanout:
        return False
    size = sum(found[i].tokens for i in chosen)
    calls.append(Call(size + plugin.prompt, plugin.condensed_target, shared=False))
    found[chosen[0]] = Piece(MEMORY, plugin.condensed_target + plugin.wrapper, depth=1)
    for i in reversed(chosen[1:]):
        del found[i]
    return True


_Way = Callable[[Context, Policy, Moment, Typical], "list[Call] | None"]
_WAYS: Final[dict[str, _Way]] = {NATIVE: _native, NATIVE_LAYERS: _native, LAYERS: _layers, LCM: _lcm}
