"""The XML in which the model reads summaries and focus briefs, as the plugin writes it today (commit 4214b480).

Stores of 0.1.x were sent without escaping and without the trust attribute; their wrapper cost is shown by today's rule.
"""

from collections.abc import Sequence

from lcm_lab import times
from lcm_lab.store.rows import FocusBrief, Summary


def summary(one: Summary, sources: Sequence[str], zone: times.Zone) -> str:
    """A summary as the model reads it: the plugin's XML, its text escaped, times local without a zone."""
    attributes = [
        f'id="{_attribute(one.summary_id)}"',
        f'kind="{_attribute(one.kind)}"',
        f'depth="{one.depth}"',
        f'descendant_count="{one.descendant_count or 0}"',
        'trust="untrusted"',
    ]
    for name, moment in (("earliest_at", one.earliest_at), ("latest_at", one.latest_at)):
        local = zone.attribute(moment)
        if local:
            attributes.append(f'{name}="{local}"')
    lines = [f"<summary {' '.join(attributes)}>"]
    if one.kind != "leaf" and sources:
        references = [f'    <summary_ref id="{_attribute(source)}" />' for source in sources]
        lines += ["  <parents>", *references, "  </parents>"]
    return "\n".join([*lines, "  <content>", _escape(one.content), "  </content>", "</summary>"])


def brief(one: FocusBrief, zone: times.Zone) -> str:
    """A focus brief as the model reads it."""
    attributes = [
        f'id="{_attribute(one.brief_id)}"',
        f'prompt="{_attribute(one.prompt)}"',
        f'token_count="{one.token_count or 0}"',
        f'target_tokens="{one.target_tokens or 0}"',
        f'created_at="{zone.attribute(one.created_at) or ""}"',
    ]
    covered = zone.attribute(one.covered_latest_at)
    if covered:
        attributes.append(f'covered_latest_at="{covered}"')
    if one.covered_message_seq is not None:
        attributes.append(f'covered_message_seq="{one.covered_message_seq}"')
    return f"<focus_brief {' '.join(attributes)}>\n  <content>\n{one.content}\n  </content>\n</focus_brief>"


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _attribute(text: str) -> str:
    return _escape(text).replace('"', "&quot;")
