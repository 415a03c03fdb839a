"""On any store: what a plan says is what the store reads afterwards, nothing is wrong that was not, and undo is exact.

To try a new operation here, add a function to OPERATIONS that draws its options and returns a plan, or raises Refused.
"""

import json
import random
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

import lcm_lab
from lcm_lab.errors import LcmLabError, Refused
from lcm_lab.lab import Lab
from lcm_lab.repairs import dissolve, journal, plan, undo
from lcm_lab.repairs.edits import SetText, TextState
from lcm_lab.repairs.plan import Plan
from lcm_lab.store import copies, images
from lcm_lab.store.connect import Reader
from tests.repairs.random_stores import Sketch, build, context_of, dump, indexes_are_sound, problems, sketches

Operation = Callable[[Lab, random.Random], Plan]


def summary_ids(lab: Lab) -> list[tuple[int, str]]:
    """Conversation and id of every summary."""
    return lab.store.read(lambda reader: reader.all("SELECT conversation_id, summary_id FROM summaries ORDER BY 2"))


def set_text(lab: Lab, chance: random.Random) -> Plan:
    """A new text for any summary."""
    conversation, one = chance.choice(summary_ids(lab))

    def look(reader: Reader) -> Plan:
        row = images.image(reader, "summaries", one)
        assert row is not None
        # What it was, and one new word: a text as long as before, so that no rule about lengths or copies speaks up.
        old = row["content"] if isinstance(row["content"], str) else "unreadable before " * 8
        text = f"quokka{chance.randrange(10**8, 10**9)} {old.partition(' ')[2]}"
        content, count = row["content"], row["token_count"]
        assert isinstance(content, str | bytes)
        edit = SetText(
            one,
            TextState(content, count, row.get("model")),  # type: ignore[arg-type]
            TextState(text, lcm_lab.tokens.plugin_tokens(text), chance.choice([None, "m2"])),
        )
        return Plan("p1", "rewrite", conversation, one, f"Rewrite {one}", (edit,), "", "test", "because")

    return lab.store.read(look).on(lab.store)


def dissolved(lab: Lab, chance: random.Random) -> Plan:
    """Any summary dissolved, with any options."""
    options = dissolve.Options(
        purge=chance.random() < 0.7, splice=chance.random() < 0.5, window=chance.choice([None, 500])
    )
    named = [
        (conversation, str(ref))
        for conversation in (1, 2)
        for _, kind, ref in context_of(lab.store.path, conversation)
        if kind == "summary" and "_d" in str(ref)
    ]
    conversation, one = chance.choice(named if named and chance.random() < 0.8 else summary_ids(lab))
    return lab.store.read(lambda reader: dissolve.plan(reader, conversation, one, zone=lab.zone, options=options)).on(
        lab.store
    )


OPERATIONS: dict[str, Operation] = {"set text": set_text, "dissolve": dissolved}


def as_planned(lab: Lab, made: Plan) -> None:
    """The store reads as the plan says."""
    if made.context is not None:
        after = [one.key for one in made.context.after]
        found = [(kind, ref) for _, kind, ref in context_of(lab.store.path, made.context.conversation_id)]
        assert found[: len(after)] == after
        assert len(found) == len(after) + made.context.rest_items
    if made.text is not None:
        row = lab.store.read(lambda reader: images.image(reader, "summaries", made.subject))
        assert row is not None
        assert (row["content"], row["token_count"]) == (made.text.after.content, made.text.after.token_count)
        assert row.get("model") in (made.text.after.model, made.text.before.model)


def searched(lab: Lab, word: str) -> set[str]:
    """Rows that a full-text table of summaries finds for a word."""

    def look(reader: Reader) -> set[str]:
        return {
            str(row[0])
            for table in sorted(reader.schema.full_text - {"messages_fts"})
            for row in reader.all(f"SELECT summary_id FROM {table} WHERE {table} MATCH ?", (f'"{word}"',))
        }

    return lab.store.read(look)


def exceptions(made: Plan) -> set[str]:
    """Rules that an operation may break, each for a reason."""
    if made.operation != "dissolve":
        # The text is ours, and a little longer than what it was made from may be.
        return {"K2-no-compression"}
    # What comes up lies deeper than its neighbours: that is what was asked for. Mixed depths only with splice, which
    # says so.
    spliced = any("handed on" in one for one in made.warnings)
    return {"C8-depth-rises"} | ({"D1-mixed-depths"} if spliced else set())


def one_repair(lab: Lab, make: Operation, chance: random.Random) -> Plan | None:
    """Plan and apply; None where it was refused, and then nothing may have changed."""
    before = dump(lab.store.path)
    wrong = problems(lab.store.path)
    files = sorted(one.name for one in lab.store.path.parent.iterdir())
    try:
        made = make(lab, chance)
        made = plan.from_json(json.loads(json.dumps(made.to_json()))).on(lab.store)
        made.apply()
    except Refused:
        assert dump(lab.store.path) == before
        assert sorted(one.name for one in lab.store.path.parent.iterdir()) == files
        return None
    as_planned(lab, made)
    new = {one for one in problems(lab.store.path) - wrong if one[0] not in exceptions(made)}
    assert new == set(), (made.title, made.edits)
    indexes_are_sound(lab.store.path)
    if made.text is not None:
        assert searched(lab, str(made.text.after.content).split()[0]) == {made.subject}
        assert searched(lab, str(made.text.before.content).split()[0]) == set()
    return made


@settings(max_examples=40)
@given(
    sketch=sketches(),
    names=st.lists(st.sampled_from(sorted(OPERATIONS)), min_size=1, max_size=3),
    seed=st.integers(0, 9999),
)
def test_plan_apply_undo(sketch: Sketch, names: list[str], seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311  (the same choices for the same number)
    with TemporaryDirectory() as folder:
        lab = lcm_lab.open(build(Path(folder) / "lcm.db", sketch), tz="UTC")
        states = [dump(lab.store.path)]
        for name in names:
            states += [dump(lab.store.path)] if one_repair(lab, OPERATIONS[name], chance) is not None else []
        made = len(states) - 1
        assert len(copies.backups(lab.store)) == min(made, 1)
        assert len(journal.read(lab.store).undoable()) == made
        while len(states) > 1:
            states.pop()
            undo.undo(lab.store)
            assert dump(lab.store.path) == states[-1]
            indexes_are_sound(lab.store.path)
        # Nothing is left to undo.
        try:
            undo.undo(lab.store)
        except LcmLabError:
            pass
        else:
            raise AssertionError("there was something to undo")
