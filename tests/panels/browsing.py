"""Stores that are hard to show, for the tests of the browsing panels."""

from pathlib import Path

import pytest

from lcm_lab.data import demo_store
from lcm_lab.lab import Lab
from lcm_lab.lab import open as open_lab

NASTY = "</script><img src=x onerror=alert(1)> <b>x</b> $\\alpha$ \u05e9\u05dc\u05d5\u05dd \u4f60\u597d \u202eturned \x1b[31m"
"""Markup, a formula, right-to-left, CJK, and characters that act."""

LONG_LINE = "x" * 200_000


def quoted(text: str) -> str:
    """``text`` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


NASTY_ROWS = f"""
INSERT INTO conversations(conversation_id, session_id, title, created_at, updated_at)
 VALUES (50, 's<b>50</b>', {quoted(NASTY)}, '2026-05-01 10:00:00', '2026-05-01 10:00:00');
INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) VALUES
 (500, 50, 0, 'user', {quoted(NASTY)}, 30, '2026-05-01 10:00:00'),
 (501, 50, 1, 'tool', {quoted(LONG_LINE)}, 50000, '2026-05-01 10:00:01'),
 (502, 50, 2, 'assistant', {quoted(LONG_LINE)}, 50000, '2026-05-01 10:00:02');
INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count)
 VALUES ('sum_<i>x</i>$y$', 50, 'leaf', 0, {quoted(NASTY + LONG_LINE)}, 30);
INSERT INTO summary_messages(summary_id, message_id, ordinal)
 VALUES ('sum_<i>x</i>$y$', 500, 0), ('sum_<i>x</i>$y$', 501, 1);
INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id)
 VALUES (50, 0, 'summary', NULL, 'sum_<i>x</i>$y$'), (50, 1, 'message', 502, NULL);
"""


def opened(path: Path) -> Lab:
    """A Lab on a store, in UTC."""
    return open_lab(path, tz="UTC")


def shows_literally(html: str) -> None:
    """Nothing of :data:`NASTY` came to life in this HTML."""
    assert "<img src=x" not in html
    assert "<b>x</b>" not in html
    assert "<i>x</i>" not in html
    assert "$\\alpha$" not in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert "&lt;b&gt;x&lt;/b&gt; &#36;\\alpha&#36;" in html


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A Lab on a demo store with its agents beside it; nothing here writes to it."""
    return opened(demo_store.build(tmp_path_factory.mktemp("openclaw")))
