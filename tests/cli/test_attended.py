"""Repairs as a person at a terminal sees them: questions, what is typed too early, Ctrl-C."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.command import GOOD, dump
from tests.stand_in import StandIn, ok

DOUBTFUL = "Here is the summary: " + GOOD
FIRST, SECOND = b"write what comes back? [y/N]: ", b"Write it all the same? [y/N]: "


class Terminal:
    """A command on a terminal of its own, and what that showed so far."""

    def __init__(self, *words: object) -> None:
        self.shown = b""
        self.child, self.screen = pty.fork()
        if self.child == 0:
            os.environ.update(HOME="/nowhere", COLUMNS="200", PAGER="cat")
            os.execv(  # noqa: S606  (no shell is wanted)
                sys.executable, [sys.executable, "-m", "lcm_lab", *map(str, words)]
            )

    def until(self, words: bytes) -> None:
        """Wait for what it has to show next."""
        start, ends = len(self.shown), time.monotonic() + 60
        while words not in self.shown[start:] and self._more(ends):
            pass
        assert words in self.shown[start:], self.shown.decode()

    def types(self, words: bytes) -> None:
        """Press keys."""
        os.write(self.screen, words)

    def ended(self) -> int:
        """The exit code."""
        ends = time.monotonic() + 60
        while self._more(ends):
            pass
        if time.monotonic() > ends:
            os.kill(self.child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])

    def _more(self, ends: float) -> bool:
        if not select.select([self.screen], [], [], max(ends - time.monotonic(), 0))[0]:
            return False
        try:
            read = os.read(self.screen, 65536)
        except OSError:
            return False
        self.shown += read
        return bool(read)


def test_what_is_typed_too_early_is_no_answer(base_store: Path) -> None:
    with StandIn(ok(DOUBTFUL)) as server:
        command = ("rewrite", 44, "--summary", "sum_la", "--apply", "--base-url", server.url)
        terminal = Terminal("--db", base_store, *command)
        terminal.until(FIRST)
        before = dump(base_store)
        terminal.types(b"y\ny\n")
        terminal.until(SECOND)
        assert dump(base_store) == before
        terminal.types(b"n\n")
        assert terminal.ended() == 1
    assert dump(base_store) == before
    assert b"0 of 1 summary applied" in terminal.shown
    assert b"The reply does not start with the summary" in terminal.shown


@pytest.mark.parametrize("question", [FIRST, SECOND])
def test_ctrl_c_at_a_question(question: bytes, base_store: Path) -> None:
    before = dump(base_store)
    with StandIn(ok(DOUBTFUL)) as server:
        command = ("rewrite", 44, "--summary", "sum_la", "--apply", "--base-url", server.url)
        terminal = Terminal("--db", base_store, *command)
        terminal.until(FIRST)
        if question == SECOND:
            terminal.types(b"y\n")
            terminal.until(SECOND)
        # Python's own reading of a line misses a Ctrl-C in the moment in which the question appears.
        time.sleep(0.5)
        terminal.types(b"\x03")
        code = terminal.ended()
    told = b"lcm-lab: stopped." if question == FIRST else b"Stopped: it was interrupted."
    assert (code, told in terminal.shown) == (130 if question == FIRST else 1, True)
    # What is told then stands on a line of its own, and no bar is left behind it.
    assert terminal.shown.split(question)[1].lstrip(b"^C").startswith(b"\r\n")
    assert terminal.shown.rstrip().endswith(told)
    assert dump(base_store) == before
