"""Which summaries a finding is about, and which findings are about a summary.

A finding names rows of one table by key; an edge, a link or a context item leads to summaries, too. Checked by
``tests/analysis/test_health_about.py``.
"""

from lcm_lab.analysis.health.finding import Finding, Report
from lcm_lab.store.summaries import Node


def summaries_of(finding: Finding) -> tuple[str, ...]:
    """Ids of summaries that a finding names; those it names by their place in a context are left out."""
    found: dict[str, None] = {}
    for key in finding.ids:
        if finding.table in ("summaries", "summaries_fts", "summaries_fts_cjk"):
            found[key] = None
        elif finding.table == "summary_parents":
            found.update(dict.fromkeys(end for end in key.split("->") if end))
        elif finding.table == "summary_messages":
            found[key.partition("->")[0]] = None
    return tuple(found)


def ordinals_of(finding: Finding, conversation_id: int) -> tuple[int, ...]:
    """Places in the context of a conversation that a finding names."""
    if finding.table != "context_items":
        return ()
    pairs = [key.partition(":") for key in finding.ids]
    return tuple(int(place) for owner, _, place in pairs if owner == str(conversation_id) and place.isdecimal())


def about(report: Report, node: Node) -> tuple[Finding, ...]:
    """The findings that are about a summary, by its id or by its place in the context, the worst first."""
    return tuple(
        one
        for one in report.findings
        if node.summary_id in summaries_of(one) or node.in_context in ordinals_of(one, node.conversation_id)
    )
