"""Sessions whose right answer is worked out by hand, dollars included.

All on claude-sonnet-4-5: input 3, write for five minutes 3.75, for an hour 6, read 0.30, output 15 dollars a million.
A token is four characters here, the system prompt has 20,000 tokens.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from lcm_lab.analysis.savings import billing
from lcm_lab.analysis.savings.acting import MARK, Typical
from lcm_lab.analysis.savings.calibration import Factors
from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.policies import LAYERS, NATIVE, NATIVE_LAYERS, PLAIN, Policy
from lcm_lab.analysis.savings.replay import IN_CONTEXT, LOST, ONE_LOOKUP, Replay, Setting, replay
from lcm_lab.analysis.savings.session import CLASSES, MemoryPoint, Reference, Session
from tests.analysis.savings.made_up import Made

ONE = Factors(dict.fromkeys(CLASSES, 1.0))
WRITE, HOUR, READ, OUT, IN = 3.75e-6, 6e-6, 0.30e-6, 15e-6, 3e-6


def setting(lifetime: str = "5m") -> Setting:
    """Nothing calibrated, a native compaction that leaves 500 tokens of summary and 300 of files."""
    return Setting(ONE, Typical(500, 300), billing.LIFETIMES[lifetime])


def made(tmp_path: Path, *, away: int = 0) -> Session:
    """Three turns: 1,000 tokens asked, a file of 10,000 read; 100 asked, a file of 20,000 read; 100 asked."""
    found = Made(factor=1.0, seconds=10)
    found.user("a" * 4000).answer("b" * 400, ("Read", {}, "c" * 40_000)).answer("d" * 40)
    found.wait(away).user("e" * 400).answer("f" * 400, ("Read", {}, "g" * 80_000)).answer("h" * 40)
    found.user("i" * 400).answer("j" * 40)
    return Reading(found.write(tmp_path / "s.jsonl")).run().gathered.session()


PROMPTS = [21_000, 31_101, 31_211, 51_312, 51_422]
"""By hand: 20,000 + 1,000; + 100 said, 1 for {}, 10,000 read; + 10 said, 100 asked; + 100, 1 and 20,000.

+ 10 and 100.
"""

OUTPUT = [101, 10, 101, 10, 10]


def prompts(found: Replay) -> list[int]:
    """The sizes of all prompts."""
    return [one.prompt for one in found.rows]


def test_plain_every_prompt_reads_the_one_before_it(tmp_path: Path) -> None:
    found = replay(made(tmp_path), PLAIN, setting())
    assert prompts(found) == PROMPTS
    assert [one.bill.output for one in found.rows] == OUTPUT
    usd = 21_000 * WRITE + (21_000 + 31_101 + 31_211 + 51_312) * READ
    usd += (10_101 + 110 + 20_101 + 110) * WRITE + sum(OUTPUT) * OUT
    assert found.usd == pytest.approx(usd)
    assert usd == pytest.approx(0.2366997)
    assert found.peak == 51_422


def test_plain_a_pause_longer_than_the_cache_lives_writes_everything_again(tmp_path: Path) -> None:
    session = made(tmp_path, away=1_800)
    five = replay(session, PLAIN, setting())
    usd = (21_000 + 10_101 + 31_211 + 20_101 + 110) * WRITE + (21_000 + 31_211 + 51_312) * READ
    assert five.usd == pytest.approx(usd + sum(OUTPUT) * OUT)
    hour = replay(session, PLAIN, setting("1h"))
    usd = 51_422 * HOUR + (21_000 + 31_101 + 31_211 + 51_312) * READ
    assert hour.usd == pytest.approx(usd + sum(OUTPUT) * OUT)
    none = replay(session, PLAIN, setting("none"))
    assert none.usd == pytest.approx(sum(PROMPTS) * IN + sum(OUTPUT) * OUT)


def test_masking_saves_tokens_and_breaks_the_cache(tmp_path: Path) -> None:
    found = replay(made(tmp_path), Policy("m", keep_results=1), setting())
    cleared = 10_000 - MARK
    assert prompts(found) == [*PROMPTS[:3], PROMPTS[3] - cleared, PROMPTS[4] - cleared]
    # At the fourth request the first file goes: what stands before it stays cached, all behind it is written anew.
    before = 21_000 + 100 + 1
    usd = (21_000 + 10_101 + 110) * WRITE + (21_000 + 31_101) * READ
    usd += before * READ + (PROMPTS[3] - cleared - before) * WRITE
    usd += (PROMPTS[3] - cleared) * READ + 110 * WRITE
    assert found.usd == pytest.approx(usd + sum(OUTPUT) * OUT)
    assert found.rows[3].bill.read == before


def test_native_pays_for_its_summary_and_keeps_the_last_exchange(tmp_path: Path) -> None:
    found = replay(made(tmp_path), Policy("n", NATIVE, 40_000), setting())
    after = 20_000 + 500 + 300 + 100 + 1 + 20_000
    # At the last request 41,011 tokens are above the threshold again, and the second file goes, too.
    assert prompts(found) == [*PROMPTS[:3], after, 20_000 + 500 + 300 + 110]
    assert [one.compacted for one in found.rows] == [False, False, False, True, True]
    # The summary is asked for with the context as it was, which is cached, and is 500 tokens long.
    assert found.rows[3].calls[0].usd == pytest.approx(31_211 * READ + 500 * OUT)
    assert found.rows[3].bill.read == 20_000
    assert found.rows[3].bill.usd == pytest.approx(20_000 * READ + (after - 20_000) * WRITE + 10 * OUT)


def test_layers_keep_the_protected_turns_and_say_what_can_be_looked_up(tmp_path: Path) -> None:
    lines = ((1, 12, 40), (2, 10, 0))
    refs = (
        Reference("path", 3, 1, 3, (3,), lines=(1,), stored=True),
        Reference("name", 3, 1, 3, (3,), stored=True),
        Reference("name", 3, 1, 3, (3,)),
        Reference("number", 3, 3, 3, (8,)),
    )
    session = replace(made(tmp_path), memory=(MemoryPoint(2, 400, lines),), references=refs)
    assert [session.items[3].kind, session.items[8].kind] == ["tool output", "tool output"]
    found = replay(session, Policy("l", LAYERS, 40_000, protect_turns=1), setting())
    # Turn 1 (11,111 tokens) becomes 52.
    fourth = PROMPTS[3] - 11_111 + 52
    assert prompts(found)[3] == fourth
    assert found.rows[3].bill.read == 20_000
    assert found.states == (IN_CONTEXT, ONE_LOOKUP, LOST, IN_CONTEXT)
    assert not found.rows[3].calls
    beside = replay(session, Policy("b", NATIVE_LAYERS, 40_000), setting())
    assert prompts(beside)[3] == 20_000 + 400 + 500 + 300 + 100 + 1 + 20_000


def test_a_prompt_below_the_providers_minimum_is_not_cached(tmp_path: Path) -> None:
    session = made(tmp_path)
    small = replace(
        session, requests=tuple(replace(one, prompt=0, cache_read=0, write_5m=0) for one in session.requests[:1])
    )
    found = replay(replace(small, items=session.items[:1]), PLAIN, setting())
    assert found.rows[0].bill.uncached == 1_000
    assert found.usd == pytest.approx(1_000 * IN + OUT)
    assert found.rows[0].prompt < billing.CACHE_MINIMUM
