"""A repair that has not been made: what will change, why, and what the store must still say.

The invariant: a plan is everything apply needs and everything a preview shows. Previews render it and look at no store;
it survives JSON, so one made in a notebook can be applied by the command line and the other way round.
"""

import getpass
import json
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lcm_lab.errors import UsageError
from lcm_lab.repairs import edits as closed
from lcm_lab.repairs.edits import Edit, SetText, SwapItems

if TYPE_CHECKING:
    from lcm_lab.repairs.journal import Applied
    from lcm_lab.store.connect import StoreFile

VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Shown:
    """An item of a context in a preview: ``label`` is ``leaf``, ``dN`` or a role, ``tokens`` as in every view."""

    item_type: str
    ref: int | str
    label: str
    tokens: int
    preview: str

    @property
    def key(self) -> tuple[str, int | str]:
        """What stands there."""
        return (self.item_type, self.ref)


@dataclass(frozen=True, slots=True)
class ContextChange:
    """A context before and after, item by item; what lies behind the last changed item is summed up.

    ``rest_items`` and ``rest_tokens`` count the items behind ``before`` and ``after``, which are the same in both.
    """

    conversation_id: int
    before: tuple[Shown, ...]
    after: tuple[Shown, ...]
    rest_items: int = 0
    rest_tokens: int = 0

    @property
    def tokens_before(self) -> int:
        """Tokens of the whole context now."""
        return sum(one.tokens for one in self.before) + self.rest_tokens

    @property
    def tokens_after(self) -> int:
        """Tokens of the whole context afterwards."""
        return sum(one.tokens for one in self.after) + self.rest_tokens


@dataclass(frozen=True, slots=True)
class Plan:
    """One repair: all of it is made, or nothing.

    ``subject`` is the summary (or the source conversation) it is about; ``facts`` are label and value pairs in the
    order they are shown; ``warnings`` say what the user should know before. ``tokens_before`` and ``tokens_after`` are
    those of the subject, in tokens of rule ``plugin``. Times are ISO 8601 in UTC.
    """

    plan_id: str
    operation: str
    conversation_id: int
    subject: str
    title: str
    edits: tuple[Edit, ...]
    made_at: str
    made_by: str
    why: str
    model: str | None = None
    batch: str | None = None
    store_path: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    facts: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    context: ContextChange | None = None
    store: "StoreFile | None" = field(default=None, compare=False, repr=False)

    @property
    def text(self) -> SetText | None:
        """The change of a text, in a plan that makes one."""
        return next((one for one in self.edits if isinstance(one, SetText)), None)

    def on(self, store: "StoreFile") -> "Plan":
        """The same plan, to be applied to ``store``."""
        return replace(self, store=store)

    def apply(self, *, backup: str = "auto") -> "Applied":
        """Make the repair; see :func:`lcm_lab.repairs.apply.apply`."""
        from lcm_lab.repairs.apply import apply

        if self.store is None:
            raise UsageError("This plan was read from a file: say which store it is for, lab.apply(plan).")
        return apply(self.store, self, backup=backup)

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON values."""
        given: dict[str, Any] = {"lcm_lab_plan": VERSION}
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name == "edits":
                given["edits"] = [closed.to_json(edit) for edit in value]
            elif one.name == "context":
                given["context"] = None if value is None else _context_out(value)
            elif one.name != "store":
                given[one.name] = [list(pair) for pair in value] if one.name == "facts" else value
        return given

    def save(self, path: str | Path) -> Path:
        """Write the plan to a new file, for ``lcm-lab apply``.

        Raises:
            UsageError: there is such a file, or it cannot be written.
        """
        target = Path(path).expanduser()
        try:
            with target.open("x", encoding="utf-8") as out:
                out.write(json.dumps(self.to_json(), ensure_ascii=False, indent=1) + "\n")
        except FileExistsError:
            raise UsageError(f"{target} is there already; name another file.") from None
        except OSError as error:
            raise UsageError(f"{target} cannot be written: {error.strerror or error}.") from error
        return target


_TYPES: Final[dict[str, type | tuple[type, ...]]] = {
    **dict.fromkeys(("plan_id", "operation", "subject", "title", "made_at", "made_by", "why", "store_path"), str),
    **dict.fromkeys(("model", "batch"), (str, type(None))),
    **dict.fromkeys(("conversation_id", "tokens_before", "tokens_after"), int),
}


def from_json(given: Any) -> Plan:
    """The plan that :meth:`Plan.to_json` gave.

    Raises:
        UsageError: it is no plan, or one of a later version; the message names the field or the edit.
    """
    if not isinstance(given, dict) or "lcm_lab_plan" not in given:
        raise UsageError("This is no plan of lcm-lab: there is no 'lcm_lab_plan' in it.")
    if given["lcm_lab_plan"] != VERSION:
        raise UsageError(f"This plan has version {given['lcm_lab_plan']!r}; this lcm-lab reads version {VERSION}.")
    names = {one.name for one in fields(Plan)} - {"store"}
    odd = sorted(set(given) ^ (names | {"lcm_lab_plan"}))
    if odd:
        raise UsageError(f"Fields of the plan missing or unknown: {', '.join(odd)}.")
    values = {name: given[name] for name in names}
    for name, kinds in _TYPES.items():
        if not isinstance(values[name], kinds) or isinstance(values[name], bool):
            raise UsageError(f"The plan's {name!r} cannot be {values[name]!r}.")
    edits = []
    for i, one in enumerate(_listed(given, "edits")):
        try:
            edits.append(closed.from_json(one))
        except UsageError as error:
            raise UsageError(f"Edit {i} of the plan: {error}.") from error
    try:
        values["edits"] = tuple(edits)
        values["facts"] = tuple((str(label), str(value)) for label, value in given["facts"])
        values["warnings"] = tuple(map(str, given["warnings"]))
        values["context"] = None if given["context"] is None else _context_in(given["context"])
    except (TypeError, ValueError, KeyError) as error:
        raise UsageError(f"This plan cannot be read: {error}.") from error
    return Plan(**values)


def load(path: str | Path) -> Plan:
    """The plan in a file.

    Raises:
        UsageError: the file cannot be read, or holds no plan; the message names file and line.
    """
    target = Path(path).expanduser()
    try:
        return from_json(parsed(target))
    except UsageError as error:
        raise UsageError(f"{target}: {error}") from error


def parsed(target: Path) -> Any:
    """The JSON in a file.

    Raises:
        UsageError: there is none; the message names file and line.
    """
    try:
        return json.loads(target.read_text("utf-8-sig"))
    except OSError as error:
        raise UsageError(f"{target} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{target} is no plan: it is not UTF-8 text.") from error
    except json.JSONDecodeError as error:
        raise UsageError(f"{target}, line {error.lineno}: no JSON ({error.msg}).") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{target} is no plan: what it holds is too long or nested too deep.") from error


def new_id(prefix: str = "p") -> str:
    """A name for a new plan or batch."""
    return f"{prefix}_{uuid.uuid4().hex[:12]}"


def maker() -> str:
    """Who makes a plan: this program and its user."""
    user = "unknown"
    with suppress(OSError, KeyError, ImportError):
        user = getpass.getuser()
    return f"lcm-lab {version('lcm-lab')} ({user})"


def swapped(before: Iterable[Shown], swap: SwapItems, added: Iterable[Shown] = ()) -> tuple[Shown, ...]:
    """The items of a context after a swap; ``added`` shows those that are not there yet."""
    items = list(before)
    known = {one.key: one for one in (*items, *added)}
    keys = [one.key for one in items]
    old = [one.key for one in swap.old]
    at = _find(keys, old, swap)
    new = [known[one.key] for one in swap.new]
    return (*items[:at], *new, *items[at + len(old) :])


def _find(keys: list[tuple[str, int | str]], old: list[tuple[str, int | str]], swap: SwapItems) -> int:
    if not old:
        return 0 if swap.left is None else keys.index(swap.left) + 1
    for at in range(len(keys) - len(old) + 1):
        if keys[at : at + len(old)] == old and (at == 0 or swap.left is None or keys[at - 1] == swap.left):
            return at
    raise ValueError("the run is not in the context")


def _context_out(context: ContextChange) -> dict[str, Any]:
    out: dict[str, Any] = {one.name: getattr(context, one.name) for one in fields(context)}
    for name in ("before", "after"):
        out[name] = [[getattr(item, one.name) for one in fields(Shown)] for item in out[name]]
    return out


def _context_in(given: dict[str, Any]) -> ContextChange:
    return ContextChange(
        conversation_id=int(given["conversation_id"]),
        before=tuple(Shown(*item) for item in given["before"]),
        after=tuple(Shown(*item) for item in given["after"]),
        rest_items=int(given["rest_items"]),
        rest_tokens=int(given["rest_tokens"]),
    )


def _listed(given: dict[str, Any], name: str) -> list[Any]:
    if not isinstance(given[name], list):
        raise UsageError(f"The plan's {name!r} is no list.")
    return list(given[name])
