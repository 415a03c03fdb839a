"""The script a text is mostly written in, to see that a reply did not change its language family on the way.

Only letters count, so paths, numbers and punctuation weigh nothing; a text with few letters, or with none that
prevails, has no script. Checked by ``tests/repairs/test_verdict.py``.
"""

import re
from typing import Final

_SCRIPTS: Final = {
    "Latin": re.compile("[A-Za-z\u00c0-\u024f]"),
    "Chinese or Japanese": re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"),
    "Korean": re.compile("[\uac00-\ud7af\u1100-\u11ff]"),
    "Cyrillic": re.compile("[\u0400-\u04ff]"),
    "Greek": re.compile("[\u0370-\u03ff]"),
    "Arabic": re.compile("[\u0600-\u06ff]"),
    "Hebrew": re.compile("[\u0590-\u05ff]"),
    "Indic": re.compile("[\u0900-\u0dff]"),
    "Thai": re.compile("[\u0e00-\u0e7f]"),
}
_SAMPLE: Final = 20_000
_FEWEST: Final = 20
_WEIGHT: Final = {"Chinese or Japanese": 3, "Korean": 2}
"""A character of these stands for that many letters."""


def script(text: str) -> str | None:
    """The script of at least two thirds of the letters of ``text`` (of its first 20,000 characters); None without one.

    >>> script("The firewall blocks port 8080."), script("8080 -> 443"), script("上限を含めるように直した。")
    ('Latin', None, 'Chinese or Japanese')
    """
    sample = text[:_SAMPLE]
    counts = {name: len(letters.findall(sample)) * _WEIGHT.get(name, 1) for name, letters in _SCRIPTS.items()}
    name = max(counts, key=lambda one: counts[one])
    total = sum(counts.values())
    return name if total >= _FEWEST and counts[name] * 3 >= total * 2 else None
