"""From a session file to its conversation in the store.

One session can have several conversations (after a reset, after a rebind), and a file can have none. lcm-tui takes the
highest id among those whose session id is the file's stem; so do we, and then say what it does not: why this one, and
which others there are. Invariant: no conversation that shares the session id or the key is left unnamed. Pure: keys in,
:class:`Match` out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lcm_lab.sessions.discover import SessionFile

NOT_TRACKED = "not tracked"
"""What stands for the conversation of a session that the store does not know."""


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """What names a conversation in the store; ``active`` is False for an archived one."""

    conversation_id: int
    session_id: str | None
    session_key: str | None
    active: bool


@dataclass(frozen=True, slots=True)
class Match:
    """The conversation of a session file.

    ``conversation_id`` is None when the session is not tracked. ``session_key`` is that of the conversation. ``also``
    are all other conversations with the same session id or key, highest first. ``how`` is the reason in a few words.
    """

    conversation_id: int | None
    session_key: str | None
    also: tuple[int, ...]
    how: str


def match(session: SessionFile, keys: Sequence[ConversationKey]) -> Match:
    """The conversation of ``session`` among ``keys``.

    Tried in turn, the highest conversation id winning each time: for a topic file the key that equals the full stem,
    then the session id that equals its base; for others the session id that equals the stem; at last the session id in
    the file's header, which lcm-tui does not look at.
    """
    base = session.topic_base
    tries: list[tuple[str, Callable[[ConversationKey], bool]]] = []
    if base is not None:
        tries.append(("session key is the file's stem", lambda one: one.session_key == session.stem))
        tries.append(("session id is the stem without its topic", lambda one: one.session_id == base))
    else:
        tries.append(("session id is the file's stem", lambda one: one.session_id == session.stem))
    tries.append(("session id is the one in the file's header", lambda one: one.session_id == session.session_id))
    ids = {one for one in (base or session.stem, session.session_id) if one}
    for how, fits in tries:
        found = max(filter(fits, keys), key=lambda one: one.conversation_id, default=None)
        if found is not None:
            also = _sharing(keys, ids | {found.session_id or ""}, found)
            return Match(found.conversation_id, found.session_key, tuple(_ids(also)), _reason(how, found, also))
    return Match(None, None, (), NOT_TRACKED)


def _sharing(keys: Sequence[ConversationKey], ids: set[str], found: ConversationKey) -> list[ConversationKey]:
    others = [
        one
        for one in keys
        if one.conversation_id != found.conversation_id
        and ((one.session_id and one.session_id in ids) or (one.session_key and one.session_key == found.session_key))
    ]
    return sorted(others, key=lambda one: -one.conversation_id)


def _ids(keys: Sequence[ConversationKey]) -> list[int]:
    return list(dict.fromkeys(one.conversation_id for one in keys))


def _reason(how: str, found: ConversationKey, also: Sequence[ConversationKey]) -> str:
    parts = [how]
    if also:
        parts.append(f"{len(also)} more with its session id or key")
    if not found.active:
        active = ", ".join(str(number) for number in _ids([one for one in also if one.active]))
        parts.append(f"archived; active: {active}" if active else "archived")
    return "; ".join(parts)
