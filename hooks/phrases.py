"""The phrases that the skeleton line looks for or takes away, and the words that tell nothing apart.

Idea and invariant as in `wording`: data only, nothing compiled at import, a line break with its spaces is layout.
These see the text as it is written and do not mind its case.
Checked in tests/hooks/test_skeleton.py.
"""

from __future__ import annotations

COMMON = """ after also added because been before could doesn't does error errors fixed fixes from have into isn't issue
 issues just might missing more must need needs only problem problems same should some still test tests than that their
 them then there these they this those updated were what when where which while will with would resolved about bug
""".replace("\n", " ")  # words that two sentences share by chance

PHRASES = {
    # what a request opens with and an intent does not need
    "polite": r"""
        ^(?:(?:ok(?:ay)?|hmm+|hm|oh|ah|so|and|but|now|well|great|cool|thanks?|please|alright|hi|hey)\b[\s,.!…—–-]*|
        \.\.\.\s*|(?:can|could|would|will) you (?:please |also |now )?|let's (?:now )?|i(?:'d| would) like (?:you )?to |
        i want (?:you )?to |implement the following plan\W+)+
    """,
    # what an answer opens with before it says something
    "filler": r"""
        ^(?:(?:good (?:question|point|catch|idea|observation|news)|great(?: question)?|right|ok(?:ay)?|sure|ah|hmm|ha|
        oh|so|done|perfect|got it|understood|you're (?:absolutely )?right(?: to \w+ that)?|fair (?:enough|points?)|ugh|
        yeah|that makes sense|excellent|sorry|wait|looking at [^,.]{3,60}|i see|found it|there it is|now|and|but)\b
        [\s,.!:;—–-]+)+
    """,
    # a whole sentence that only opens or narrates
    "talk": r"""
        ^(?:clear scope|there it is|here(?:'s| is| are) (?:the|what|a|how|my)\b[^.]{0,40}[.:]?$|
        (?:you raise|that's) (?:a )?(?:good|fair|valid) (?:point|question)|let me\b|now (?:i|let)|[a-d]\) )
    """,
    "seen": r"^(?:i (?:can )?see|i'll|i will|line \d|thanks|looking)\b",
    "conclusion": r"""
        ^(?:so|in short|bottom line|basically|overall|result|
        the (?:answer|root cause|cause|problem|issue|fix|bug|real fix)|that's (?:the|what|our)|yes|no)\b|
        \b(?:the answer|root cause|culprit|smoking gun|tl;dr|conclusion|ready to merge|the right (?:tool|choice))\b
    """,
    "advice": r"""
        \b(?:i'd (?:recommend|suggest|say)|my recommendation|recommendation:|
        (?:seems|is) (?:the )?(?:cleanest|simplest|best))
    """,
    "offer": r"\b(?:want me to|would you like me|shall i|should i)\b|ましょうか|要我",
    # a request that asks for an answer rather than for work
    "question": r"""
        [?？]\s*$|^(?:why|what|how|is|are|do|does|did|can|could|should|where|which|who|when|will|would)\b|
        (?:ですか|ますか|吗|呢)[。]?$
    """,
    # where a long sentence can be taken apart so that each side still stands alone
    "joint": r"""
        \s+[—–-]\s+|;\s+|,\s+(?:so|but|which|because|since|while|where|not|though)\s|
        \s+(?:even though|in order to|to (?:keep|avoid|ensure|make sure)|using)\s|,\s+(?=I'd )|:\s+(?=[A-Z`*])|
        。|，(?=因为|所以|但)|、(?=そのため|ただし)
    """,
    "label": r"^(?:\w+ ){0,2}\w+:\s+(?=\S+ \S+ \S)",
    "hash": r"\d\w{4,}|#\d+|\w+-\d+",
    "bold": r"\*\*[^*\n]{16,}\*\*[.!]?",
    "option": r"^\W*[a-e]\)",
    "aside": r"\s*[(（][^)）]*[)）]",
    "link": r"\[([^\]\n]+)\]\([^)\s]+\)",
    "markup": r"\*\*|__|`|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|^\s*(?:#+|>|[-*+•]|\d{1,2}[.)])\s+",
}
