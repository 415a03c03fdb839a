"""What every policy keeps to, on sessions of many requests: nothing protected goes, parts add up, bills are whole."""

from dataclasses import replace

import pytest

from lcm_lab.analysis.savings import calibration, policies
from lcm_lab.analysis.savings.policies import LAYERS, LCM, PLAIN, STANDARD, Plugin, Policy, sweep
from lcm_lab.analysis.savings.reading import read
from lcm_lab.analysis.savings.replay import IN_CONTEXT, Setting, replay
from lcm_lab.analysis.savings.session import Session
from tests.analysis.savings.made_up import coding


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Twelve turns, about 120,000 tokens, one recorded compaction."""
    made = coding(5, turns=9, calls=5, size=6_000)
    made.compaction("Names were changed; tests pass.", after=24_000)
    more = coding(6, turns=3, calls=4, size=4_000)
    made.user("Go on with the rest.").answer("Yes.")
    for line in more.lines:
        message = line["message"]
        if line["type"] == "assistant":
            message["id"] = "more_" + message["id"]
        made.lines.append({**line, "uuid": "m" + line["uuid"], "parentUuid": made.lines[-1]["uuid"]})
    return read(made.write(tmp_path_factory.mktemp("sessions") / "long.jsonl"))


@pytest.mark.parametrize("policy", [*STANDARD, *sweep()[::7]], ids=lambda one: one.name)
def test_bills_and_parts_add_up(session: Session, policy: Policy) -> None:
    found = replay(session, policy, Setting(calibration.PLAIN))
    assert len(found.rows) == len(session.requests)
    for row in found.rows:
        assert sum(row.by_class) == row.prompt == row.bill.prompt
        assert min(row.by_class) >= 0
        assert row.bill.usd is not None
        assert all(call.usd for call in row.calls)
    assert len(found.states) == len(session.references)
    assert found.usd is not None


def test_plain_knows_everything_and_no_policy_sends_more(session: Session) -> None:
    setting = Setting(calibration.PLAIN)
    plain = replay(session, PLAIN, setting)
    assert session.references
    assert set(plain.states) == {IN_CONTEXT}
    for policy in STANDARD[2:]:
        found = replay(session, policy, setting)
        over = [row.prompt - base.prompt for row, base in zip(found.rows, plain.rows, strict=True)]
        assert max(over) <= 500, policy.name


def test_more_protected_turns_leave_more_in_the_context(session: Session) -> None:
    setting = Setting(calibration.PLAIN)
    known, sizes = [], []
    for turns in (1, 3, 5, 20):
        found = replay(session, Policy("p", LAYERS, 30_000, protect_turns=turns), setting)
        known.append(found.states.count(IN_CONTEXT))
        sizes.append(found.prompt_tokens)
    assert known == sorted(known)
    assert sizes == sorted(sizes)


def test_the_plugin_keeps_its_fresh_tail_and_condenses_leaves(session: Session) -> None:
    small = Plugin(fresh_tail=8, leaf_chunk=4_000, leaf_target=300, condensed_target=400, leaf_fanout=3)
    found = replay(session, Policy("lcm", LCM, 30_000, plugin=small), Setting(calibration.PLAIN))
    assert found.compactions > 1
    outputs = [call.output for row in found.rows for call in row.calls]
    assert 400 in outputs
    assert max(outputs) <= 400
    assert "lost" not in found.states
    turns = [row.turn for row in found.rows if row.compacted]
    assert len(turns) == len(set(turns)), "the plugin looks after a turn, once"


def test_defaults_are_those_that_were_measured() -> None:
    assert (policies.INSTALLED, policies.CONCEPT_BIG, policies.CLIENT_HIGHEST) == (67_000, 98_000, 167_000)


def test_a_history_that_is_in_no_file_stays_until_it_is_folded(session: Session) -> None:
    late = replace(session, requests=tuple(replace(r, prompt=r.prompt + 60_000) for r in session.requests[:30]))
    first = late.boundaries[0] if late.boundaries else None
    whole = replace(session, requests=(*late.requests, *session.requests[30:]))
    assert first is None
    plain = replay(whole, PLAIN, Setting(calibration.PLAIN))
    layers = replay(whole, Policy("l", LAYERS, 30_000, protect_turns=2), Setting(calibration.PLAIN))
    assert plain.rows[0].prompt > 70_000
    assert layers.rows[0].prompt == plain.rows[0].prompt
    assert layers.rows[-1].prompt < 70_000
