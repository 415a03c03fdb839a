"""Secrets are masked before anything is stored.

Idea: each rule names plain strings that must occur before its pattern is even compiled, because this runs on every tool
call. A masked value keeps its kind and its first characters, so that a reader sees what stood there.
Invariant: no rule touches a plain number, so counts such as max_tokens stay; masking twice changes nothing.
Checked in tests/hooks/test_redact.py. `"redact": false` in config.json turns it off.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
# A name that ends in one of the words, then a value in quotes or of one word. Values that are plain numbers, variables
# or calls are no secrets.
NAMED = (
    r"(?i)(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)"
    r"(?:\\?[\"'])?\s{0,3}(?:[:=]|=>)\s{0,3}(?:\\?[\"'])?"
    r"(?P<v>(?![0-9]+\b(?![A-Za-z_+/-]))(?![$<{(\[*])(?!(?:null|none|true|false|undefined)\b)"
    r"[A-Za-z0-9_+/=.~!@#%^&*-]{8,200})"
)
# (name, strings of which one must occur, in any case where it stands in lower case here, pattern). The group v is what
# gets masked.
RULES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    (
        "private key",
        ("-----begin",),
        rf"(?P<v>-----BEGIN {PEM}-----.*?(?:-----END {PEM}-----|\Z))",
    ),
    ("key", ("sk-", "sk_", "rk_"), r"\b(?P<v>(?:sk|rk)[-_](?:ant-|proj-|live_|test_|or-|svcacct-)?[A-Za-z0-9_-]{16,})"),
    (
        "token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
        r"\b(?P<v>(?:gh[pousr]_|github_pat_)[A-Za-z0-9_]{20,})",
    ),
    (
        "token",
        ("glpat-", "npm_", "pypi-", "hf_", "xox", "xapp-"),
        r"\b(?P<v>(?:glpat-|npm_|pypi-|hf_|xox[abeoprs]-|xapp-)[A-Za-z0-9_-]{16,})",
    ),
    ("key", ("AKIA", "ASIA"), r"\b(?P<v>(?:AKIA|ASIA)[A-Z0-9]{16})\b"),
    ("key", ("AIza",), r"\b(?P<v>AIza[A-Za-z0-9_-]{35})"),
    ("token", ("eyJ",), r"\b(?P<v>eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*)"),
    (
        "bearer",
        ("bearer", "authorization"),
        r"(?i)(?:\bbearer\s+|\bauthorization[\"']?\s*[:=]\s*[\"']?(?:basic|token)\s+)(?P<v>[A-Za-z0-9._~+/=-]{8,})",
    ),
    ("password", ("://",), r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@\"']{1,80}:(?P<v>[^\s@/\"']{3,200})@"),
    (
        "secret",
        ("password", "passwd", "secret", "token", "api_key", "apikey", "api-key", "access_key", "private_key"),
        NAMED,
    ),
)
MASK = "[masked "
AROUND = 300  # characters around a hint that its pattern may need
BREAK = re.compile(r"\s")
_compiled: dict[int, re.Pattern[str]] = {}


def redact(text: str) -> str:
    """The text with every secret replaced by `[masked KIND abc…]`."""
    if len(text) < 8:  # shorter than any secret
        return text
    low = text.lower()
    for number, (name, hints, pattern) in enumerate(RULES):
        spots = [at for hint in hints for at in _spots(low if hint == hint.lower() else text, hint)]
        if not spots:
            continue
        rule = _compiled.get(number)
        if rule is None:
            rule = _compiled[number] = re.compile(pattern, re.DOTALL if name == "private key" else 0)
        masked = _apply(text, rule, name, _windows(text, low, sorted(spots), whole=name == "private key"))
        if masked != text:
            text = masked
            low = text.lower()
    return text


def _spots(text: str, hint: str) -> Iterator[int]:
    at = text.find(hint)
    while at >= 0:
        yield at
        at = text.find(hint, at + len(hint))


def _windows(text: str, low: str, spots: list[int], *, whole: bool) -> list[tuple[int, int]]:
    """The pieces of the text around the hints: a pattern is far slower than finding a plain string."""
    if len(low) != len(text):  # a few letters are longer in lower case, so the places are not the same
        return [(0, len(text))]
    found: list[tuple[int, int]] = []
    for at in spots:
        if found and at + AROUND <= found[-1][1]:
            continue
        if whole:
            end = text.find("-----END", at)
            end = len(text) if end < 0 else end + AROUND
        else:
            stop = BREAK.search(text, min(len(text), at + AROUND))
            end = stop.start() if stop else len(text)
        start = max(0, at - AROUND, found[-1][1] if found else 0)
        found.append((start, end))
    return found


def _apply(text: str, rule: re.Pattern[str], name: str, windows: list[tuple[int, int]]) -> str:
    pieces = []
    done = 0
    for start, end in windows:
        for match in rule.finditer(text, start, end):
            pieces += [text[done : match.start()], _masked(match, name)]
            done = match.end()
    return "".join((*pieces, text[done:])) if pieces else text


def _masked(found: re.Match[str], kind: str) -> str:
    value = found.group("v")
    start, end = found.span("v")
    whole = found.group(0)
    if kind == "secret" and not _looks_secret(value, whole):
        return whole
    shown = "" if kind in {"password", "secret", "private key"} else " " + value[:4] + "…"
    offset = found.start(0)
    return whole[: start - offset] + f"{MASK}{kind}{shown}]" + whole[end - offset :]


def _looks_secret(value: str, whole: str) -> bool:
    """False for words, paths and code that only stand beside such a name."""
    if MASK in whole or value.startswith(("masked", "process.env", "os.environ", "str", "string")):
        return False
    if re.search(r"(?i)passw(?:or)?d", whole[: len(whole) - len(value)]):
        return not value.endswith(("(", ".")) and any(not c.isalpha() for c in value)
    kinds = sum((any(c.isdigit() for c in value), any(c.isupper() for c in value), any(c.islower() for c in value)))
    return kinds >= 2 and any(c.isdigit() for c in value) and "." not in value.strip(".") and len(value) >= 12
