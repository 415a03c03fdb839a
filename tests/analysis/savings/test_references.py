"""What the session used again: only the model's own words, only from before a cut, each once."""

from pathlib import Path

from lcm_lab.analysis.savings import references
from lcm_lab.analysis.savings.claude_code import Reading
from lcm_lab.analysis.savings.references import Known, find, words
from tests.analysis.savings.made_up import Made

FILLER = "lorem ipsum dolor sit amet " * 3_200
"""About 21,600 estimated tokens: enough for a cut."""


def found(made: Made, path: Path, known: Known | None = None) -> tuple[references.Reference, ...]:
    """The references of a made-up session."""
    reading = Reading(made.write(path)).run()
    session = reading.gathered.session()
    return find(session, reading.gathered.texts, known)


def test_words_are_of_five_kinds() -> None:
    text = 'See /etc/app/main.toml and "port is taken" by parse_header, readPort; 8443, a1b2c3d4e5, says Marta.'
    assert sorted(words(text)) == [
        ("identifier", "parse_header"),
        ("identifier", "readPort"),
        ("name", "Marta"),
        ("number", "8443"),
        ("number", "a1b2c3d4e5"),
        ("path", "/etc/app/main.toml"),
        ("quoted", "port is taken"),
    ]


def test_a_word_used_again_after_a_cut_is_one_reference(tmp_path: Path) -> None:
    made = Made().user("look").answer("", ("Read", {"file_path": "/p/a.py"}, "def parse_header(): pass"))
    made.answer("", ("Read", {"file_path": "/p/big"}, FILLER))
    made.answer("I call parse_header now.").user("go on").answer("Again parse_header.")
    refs = found(made, tmp_path / "s.jsonl")
    assert [(one.kind, one.origin, one.reuse, one.cut) for one in refs] == [("identifier", 1, 2, 2)]
    assert len(refs[0].where) == 1
    assert not refs[0].survivor


def test_what_was_shown_again_needs_no_memory(tmp_path: Path) -> None:
    made = Made().user("look").answer("", ("Read", {"file_path": "/p/a.py"}, "def parse_header(): pass"))
    made.answer("", ("Read", {"file_path": "/p/big"}, FILLER)).answer("Hm.")
    made.user("What about parse_header?").answer("parse_header is fine.")
    assert found(made, tmp_path / "s.jsonl") == ()


def test_noise_that_is_never_used_counts_for_nothing(tmp_path: Path) -> None:
    noise = " ".join(f"noise_word_{i}" for i in range(500))
    made = Made().user("look").answer("", ("Read", {"file_path": "/p/noise"}, noise + FILLER)).answer("Nothing there.")
    assert found(made, tmp_path / "s.jsonl") == ()


def test_the_clients_summary_is_a_place_that_a_word_can_be_in(tmp_path: Path) -> None:
    made = (
        Made().user("look").answer("", ("Read", {"file_path": "/p/a.py"}, "def parse_header(): pass, def other_name()"))
    )
    made.compaction("We looked at parse_header.", after=21_000).user("go on").answer("parse_header and other_name.")
    refs = found(made, tmp_path / "s.jsonl")
    assert len(refs) == 2
    assert all(one.survivor for one in refs)
    reading = Reading(tmp_path / "s.jsonl").run()
    items = reading.gathered.session().items
    assert sorted(any(items[i].kind == "summary" for i in one.where) for one in refs) == [False, True]


def test_what_the_memory_holds_is_noted(tmp_path: Path) -> None:
    made = Made().user("look").answer("", ("Read", {"file_path": "/p/a.py"}, "def parse_header(): pass"))
    made.answer("", ("Read", {"file_path": "/p/big"}, FILLER)).user("go on").answer("parse_header it is.")
    known = Known({2: "turns: parse_header", 9: "parse_header"}, {1: "parse_header → done"}, {1: "def parse_header"})
    one = found(made, tmp_path / "s.jsonl", known)[0]
    assert (one.blocks, one.lines, one.stored) == ((2,), (1,), True)
    none = found(made, tmp_path / "s.jsonl", Known({}, {}, {1: "masked"}))[0]
    assert (none.blocks, none.lines, none.stored) == ((), (), False)
