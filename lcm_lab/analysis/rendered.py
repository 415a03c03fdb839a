"""The texts of a context as the model reads them, one item after the other, each with the role it is sent in.

Summaries and a focus brief are user messages in the plugin's XML; a message is its own text, its parts where it has no
other. Provider formats (how a tool call is wrapped) are the host's and not known here. Invariant: the texts are those
that :func:`lcm_lab.analysis.assembly.assemble` counts, in its order, for the items given. Checked by
``tests/analysis/test_rendered.py``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lcm_lab import times
from lcm_lab.analysis import xml
from lcm_lab.analysis.context import Item
from lcm_lab.store import context as stored
from lcm_lab.store import messages, summaries
from lcm_lab.store.connect import Reader, StoreFile


@dataclass(frozen=True, slots=True)
class Rendered:
    """One item as it is sent: ``text`` whole, in the ``role`` the model sees. A missing item has neither."""

    item: Item
    role: str
    text: str


def render(store: StoreFile, conversation_id: int, items: Sequence[Item], zone: times.Zone) -> tuple[Rendered, ...]:
    """The texts of these items of a conversation's context; a row that is gone since gives an empty one."""

    def look(reader: Reader) -> tuple[Rendered, ...]:
        views = messages.by_ids(reader, [one.message_id for one in items if one.message_id is not None])
        briefs = (
            {one.brief_id: one for one in stored.briefs(reader, conversation_id)}
            if any(one.kind == "focus" for one in items)
            else {}
        )
        found = []
        for item in items:
            role, text = "", ""
            if item.kind == "focus" and item.item_id in briefs:
                role, text = "user", xml.brief(briefs[item.item_id], zone)
            elif item.message_id is not None and item.message_id in views:
                view = views[item.message_id]
                role, text = view.message.role, view.text
            elif item.summary_id is not None:
                whole = summaries.summary(reader, item.summary_id)
                if whole is not None:
                    text = xml.summary(whole, summaries.sources(reader, item.summary_id), zone)
                    role = "user"
            found.append(Rendered(item, role, text))
        return tuple(found)

    return store.read(look)
