"""Replays a session request by request under a policy: what is in the context, what it costs, what is still known.

Idea: the model is taken to do what it did: the same requests at the same times with the same answers. So only what is
sent differs between policies. That is the limit of every figure here, and why re-orientation is reported beside them.
Invariant: under *plain* nothing ever leaves the context but what the user's own new beginnings and restarts took; sizes
of items are the same under every policy. Checked by ``tests/analysis/savings/test_by_hand.py`` and
``test_policies.py``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from lcm_lab.analysis.savings import acting
from lcm_lab.analysis.savings.acting import Moment, Typical
from lcm_lab.analysis.savings.billing import LIFETIMES, Bill, Cache, Lifetime
from lcm_lab.analysis.savings.calibration import Factors
from lcm_lab.analysis.savings.context import CLIENT, SYSTEM, Context, Piece
from lcm_lab.analysis.savings.policies import LCM, NEVER, RECORDED, Policy
from lcm_lab.analysis.savings.session import OUTPUT, MemoryPoint, Reference, Session
from lcm_lab.analysis.savings.typical import IN_THE_MIDDLE, base, new_items
from lcm_lab.summarizer.prices import Price, price_of

IN_CONTEXT = "context"
ONE_LOOKUP = "look-up"
LOST = "lost"


@dataclass(frozen=True, slots=True)
class Row:
    """One request under a policy.

    ``by_class`` follows :data:`lcm_lab.analysis.savings.context.KINDS`; ``calls`` are the bills of the model calls
    that a compaction before it took.
    """

    request: int
    turn: int
    at: float
    prompt: int
    by_class: tuple[int, ...]
    bill: Bill
    compacted: bool = False
    calls: tuple[Bill, ...] = ()

    @property
    def usd(self) -> float | None:
        """The request and the calls before it."""
        bills = (self.bill, *self.calls)
        return None if any(one.usd is None for one in bills) else sum(one.usd or 0.0 for one in bills)


@dataclass(frozen=True, slots=True)
class Replay:
    """A session under a policy."""

    session: Session
    policy: Policy
    rows: tuple[Row, ...]
    states: tuple[str, ...] = ()
    """For each reference of the session: where it was when the model used it again."""

    priced_as: str = ""
    """The model that every request was priced as; empty: each as its own."""

    @property
    def prompt_tokens(self) -> int:
        """Input of all requests together, side calls apart."""
        return sum(one.prompt for one in self.rows)

    @property
    def usd(self) -> float | None:
        """All of it, side calls included; None where a model has no price."""
        found = [one.usd for one in self.rows]
        return None if any(one is None for one in found) else sum(one or 0.0 for one in found)

    @property
    def call_usd(self) -> float:
        """The part that went into making summaries."""
        return sum(bill.usd or 0.0 for one in self.rows for bill in one.calls)

    @property
    def peak(self) -> int:
        """The largest prompt."""
        return max((one.prompt for one in self.rows), default=0)

    @property
    def compactions(self) -> int:
        """How often the context was compacted."""
        return sum(one.compacted for one in self.rows)

    def billed(self, name: str) -> int:
        """Tokens of one billing class over all requests and side calls."""
        bills = [bill for one in self.rows for bill in (one.bill, *one.calls)]
        return sum(int(getattr(bill, name)) for bill in bills)

    def beyond(self, window: int) -> int:
        """Requests that would not have fitted into such a window."""
        return sum(one.prompt > window for one in self.rows)


@dataclass(slots=True)
class Setting:
    """What a replay rests on beside session and policy. ``model`` prices every request as one of that model."""

    factors: Factors
    typical: Typical = field(default_factory=Typical)
    lifetime: Lifetime | None = None
    model: str = ""
    price: Callable[[str], Price | None] = price_of


class Replaying:
    """One replay in progress."""

    def __init__(self, session: Session, policy: Policy, setting: Setting) -> None:
        self.session = session
        self.policy = policy
        self.setting = setting
        self.sizes = [max(1, round(setting.factors.tokens(one))) for one in session.items]
        self.entering = session.entering()
        self.base = base(session, setting.factors)
        self.overhead = round(setting.factors.overhead)
        self.context = Context()
        lifetime = setting.lifetime or LIFETIMES["1h" if session.one_hour else "5m"]
        self.cache = Cache(lifetime)
        self.memory_scale = setting.factors.by_class.get("meta", 1.0)
        self._prices: dict[str, Price | None] = {}
        self._messages = self._number_messages()
        self._due: dict[int, list[int]] = {}
        for i, one in enumerate(session.references):
            self._due.setdefault(one.reuse, []).append(i)
        self.states = [LOST] * len(session.references)
        self._points = list(session.memory)
        self._vain: tuple[int, int] | None = None  # turn and size of the last compaction that was not worth it

    def run(self) -> Replay:
        """All requests in their order."""
        rows = [self._request(i) for i in range(len(self.session.requests))]
        return Replay(self.session, self.policy, tuple(rows), tuple(self.states), self.setting.model)

    def _number_messages(self) -> list[int]:
        """Which items are one message of the conversation: the blocks of one answer are."""
        answers: dict[int, int] = {}
        found = []
        for i, item in enumerate(self.session.items):
            found.append(answers.setdefault(item.made, i) if item.made >= 0 else i)
        return found

    def _piece(self, i: int) -> Piece:
        item = self.session.items[i]
        return Piece(item.kind, self.sizes[i], i, item.turn, self._messages[i])

    def _request(self, i: int) -> Row:
        request = self.session.requests[i]
        places = self._begin(i)
        start = len(self.context.pieces)
        for place in places:
            if self.session.items[place].kind != "summary" or self.policy.compaction == RECORDED:
                self.context.add(self._piece(place))
        if self.overhead > 0 and i and not request.fresh:
            self.context.add(Piece("meta", self.overhead, turn=request.turn))
        if request.resumed:
            left = [one for one in self.context.pieces if one.kind != "thinking"]
            start -= sum(one.kind == "thinking" for one in self.context.pieces[:start])
            self.context.put(left)
            self.context.kept = min(self.context.kept, self.session.requests[0].cache_read)
        acting.mask(self.context, self.policy)
        compacted, calls = self._compaction(i, start)
        bill = self._bill(i)
        for place in self._due.get(i, ()):
            self.states[place] = self._state(self.session.references[place])
        row = Row(
            *(i, request.turn, request.at, self.context.total, self.context.by_class(), bill, compacted, tuple(calls))
        )
        self.context.sent()
        return row

    def _begin(self, i: int) -> list[int]:
        """The items that enter with the request; at the session's and a stretch's beginning what stands before them."""
        request = self.session.requests[i]
        places = self.entering[i]
        if not (i == 0 or request.fresh or (request.boundary and self.policy.compaction == RECORDED)):
            return places
        places = new_items(self.session, i, places)
        entering = sum(self.sizes[one] for one in places)
        if i == 0 or request.fresh:
            system = max(0, request.prompt - entering) if request.has_usage else self.base
            unseen = system - self.base if system - self.base > IN_THE_MIDDLE else 0
            history = [Piece(CLIENT, unseen)] if unseen else []
            self.context.put([Piece(SYSTEM, system - unseen), *history])
            self.context.kept = min(self.context.kept, request.cache_read)
            self.context.point, self.context.folded, self.context.unseen = None, frozenset(), 0
            if i == 0:
                self.cache.warm(request.model, request.cache_read, request.at)
                self.context.kept = request.cache_read
            return places
        system_piece = [one for one in self.context.pieces if one.kind == SYSTEM]
        base = sum(one.tokens for one in system_piece)
        kept = request.prompt - base - entering if request.has_usage else self.setting.typical.kept
        self._before_boundary = self.context.total, self.context.kept
        self.context.put([*system_piece, *([Piece(CLIENT, kept)] if kept > 0 else [])])
        return places

    def _compaction(self, i: int, start: int) -> tuple[bool, list[Bill]]:
        request = self.session.requests[i]
        if self.policy.compaction == RECORDED:
            if not request.boundary:
                return False, []
            own = [one for one in self.context.pieces if one.kind == "summary"]
            output = own[-1].tokens if own else self.setting.typical.summary
            total, kept = self._before_boundary
            call = acting.Call(request.before or total, output, shared=True)
            return True, [self._side(i, call, kept)]
        over = self.policy.threshold and self.context.total > self.policy.threshold
        if self.policy.compaction == NEVER or not over:
            return False, []
        if self.policy.compaction == LCM and i and self.session.requests[i - 1].turn == request.turn:
            return False, []  # the plugin looks after a turn has ended
        if self._vain and self._vain[0] == request.turn and self.context.total < self._vain[1] + acting.WORTH:
            return False, []
        kept = self.context.kept
        moment = Moment(start, request.turn, self._point(i), self.memory_scale)
        calls = acting.compact(self.context, self.policy, moment, self.setting.typical)
        self._vain = (request.turn, self.context.total) if calls is None else None
        return calls is not None, [self._side(i, one, kept) for one in calls or ()]

    def _point(self, i: int) -> MemoryPoint | None:
        """The newest memory that the hooks had made by then."""
        known = [one for one in self._points if one.request <= i]
        return known[-1] if known else None

    def _side(self, i: int, call: acting.Call, kept: int) -> Bill:
        request = self.session.requests[i]
        model = self.setting.model or request.model
        where = self.cache if call.shared else Cache(LIFETIMES["none"])
        return where.request(
            model=model,
            at=request.at,
            prompt=call.prompt,
            kept=kept if call.shared else 0,
            output=call.output,
            price=self._price(model),
            keep=False,
        )

    def _bill(self, i: int) -> Bill:
        request = self.session.requests[i]
        model = self.setting.model or request.model
        answered = self.entering[i + 1] if i + 1 < len(self.entering) else []
        items = self.session.items
        output = sum(self.sizes[one] for one in answered if items[one].made == i and items[one].kind in OUTPUT)
        if i + 1 == len(self.entering):
            output = sum(size for size, one in zip(self.sizes, items, strict=True) if one.made == i)
        return self.cache.request(
            model=model,
            at=request.at,
            prompt=self.context.total,
            kept=self.context.kept,
            output=max(output, request.output),
            price=self._price(model),
        )

    def _price(self, model: str) -> Price | None:
        if model not in self._prices:
            self._prices[model] = self.setting.price(model)
        return self._prices[model]

    def _state(self, one: Reference) -> str:
        if self.context.items.intersection(one.where):
            return IN_CONTEXT
        if self.context.point is not None and self.context.point in one.blocks:
            return IN_CONTEXT
        if self.context.folded.intersection(one.lines):
            return IN_CONTEXT
        if self.policy.compaction == LCM or (self.policy.has_memory and one.stored):
            return ONE_LOOKUP
        return LOST


def replay(session: Session, policy: Policy, setting: Setting) -> Replay:
    """The session under the policy."""
    return Replaying(session, policy, setting).run()


def replay_all(sessions: Sequence[Session], policy: Policy, settings: Sequence[Setting]) -> list[Replay]:
    """Each session under the policy, each with its own setting."""
    return [replay(session, policy, setting) for session, setting in zip(sessions, settings, strict=True)]
