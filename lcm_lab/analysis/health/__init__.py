"""The health of a store: findings, each with the rows it is about, what is wrong, and what to do next.

The one function behind every view is :func:`check`; :func:`check_store` makes the look, too. The invariant: what is
legal in a store is no error and no warning, and one fault is told once, by the rule that names its cause. Checked by
``tests/analysis/test_health_shared.py`` (stores made by the plugin's own code, and one with known defects).

====  ==================================================  ========  ====================================================
rule  looks at                                            severity  and is lenient
====  ==================================================  ========  ====================================================
S1    SQLite's quick check; pages that cannot be read     error     for one conversation only in files up to 64 MB
S2    references to rows that do not exist                error     leaves edges, links and items to L1, L3, C3, C4;
                                                                    only for the whole store
C1    ordinals whole, 0 and up, used once                 error
C2    gaps in the ordinals                                info      one finding for all gaps of a context
C3    items that name no row, or not exactly one          error
C4    items of another conversation                       error
C5    something in the context twice                      error     names the second place and those after it
C6    something beside a summary made from it             error     names the covered item, says the tokens
C7    summaries behind messages                           warning   info behind messages without any text
C8    depth that rises along the context                  warning   C7 and C8 see items that lead somewhere only
L1    nothing a summary was made from                     error     dangling rows count as something (they are L3)
L2    a leaf with sources, a condensed one with messages  warning
L3    edges and links with a missing or foreign end       error
L4    summaries made from each other in a circle          error     one finding per circle; across conversations only
                                                                    for the whole store
L5    order numbers of sources and of links               warning   dangling rows may fill a place
L6    a source of more than one summary                   warning   living edges only
L7    a message in more than one leaf                     warning   info after a transplant (a leaf without times)
D1    depth one above the deepest source                  error     a missing source may have been the deepest; mixed
                                                                    depths below one summary are a warning
D2    depth 0 for leaves and no others                    error
T1    token counts                                        warning   summaries: within 35 % of any estimator; messages:
                                                                    no number, 0 or less with text, or below every
                                                                    estimate of the text
M1    times there, readable, in order, as the lineage     warning   to the second; only where the store has such columns
M2    descendant counts                                   warning   not where a source is missing; token sums beyond
                                                                    10 % are info
M3    file ids, and payloads of large files               warning   info: an empty text, a file of another conversation,
                                                                    a payload that is missing or outside the folder
O1    neither in the context nor a source                 info
Q1    seq without holes from 0 or 1                       info      used twice is a warning
Q2    times that go back along seq                        warning   info after a transplant, and for times that
                                                                    cannot be read
Q3    messages stored twice (:mod:`.duplicates`)          info
P1    empty rows, two user rows in a row, results         info      one finding per kind and conversation
      without a call, part order
I1    identity hashes                                     info      not for user messages with the host's preamble
F1    the search index                                    warning   one finding per summary for all tables; messages by
                                                                    presence; skipped where this SQLite cannot ask
K1    marks of failed compactions (:mod:`.markers`)       warning   quoted marks are listed in ``Report.quoted``
K2    copies, twins, no compression, blank, reasoning     warning   not with K1, not without sources; JSON is info
B1    one active conversation per session key             warning   any number archived; without a date is info
B2    focus briefs                                        info
G1    compactions pending or running                      info
X1    history before the context that no summary covers   warning   info where a reset or an archive explains it
====  ==================================================  ========  ====================================================
"""

from lcm_lab.analysis.health.checking import check, check_store, duplicates_in
from lcm_lab.analysis.health.duplicates import Duplicate, Fingerprint, duplicates
from lcm_lab.analysis.health.finding import SEVERITIES, Finding, Quoted, Report, Severity, Skipped
from lcm_lab.analysis.health.markers import MarkerKind, Quotation, broken_kind, quotation
from lcm_lab.store.page import Progress

__all__ = [
    "SEVERITIES",
    "Duplicate",
    "Finding",
    "Fingerprint",
    "MarkerKind",
    "Progress",
    "Quotation",
    "Quoted",
    "Report",
    "Severity",
    "Skipped",
    "broken_kind",
    "check",
    "check_store",
    "duplicates",
    "duplicates_in",
    "quotation",
]
