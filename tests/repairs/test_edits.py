"""Edits and plans as JSON: the way there and back, and what is said of one that is not well formed."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.errors import UsageError
from lcm_lab.repairs import edits, plan, undo
from lcm_lab.repairs.edits import AddCounts, DeleteRows, InsertRows, Item, SetIndex, SetText, SwapItems, TextState
from lcm_lab.repairs.plan import ContextChange, Plan, Shown
from lcm_lab.store.connect import StoreFile
from lcm_lab.store.images import RawText
from lcm_lab.store.rows import KEYS
from tests.repairs.making import dissolved, set_text
from tests.repairs.random_stores import dump

whole = st.integers(-(2**63), 2**63 - 1)
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
raw = st.binary(max_size=20).map(lambda one: RawText(b"\xff" + one))
values = st.one_of(st.none(), whole, st.floats(allow_nan=False), texts, raw, st.binary(max_size=20))
states = st.builds(TextState, st.one_of(texts, raw, st.binary(max_size=20)), values, values)
refs = st.one_of(whole, texts)
items = st.lists(
    st.builds(
        Item,
        st.sampled_from(["message", "summary"]),
        refs,
        st.integers(0, 99),
        values,
        st.none() | st.dictionaries(texts, values, min_size=1, max_size=2),
    ),
    max_size=3,
).map(tuple)
neighbours = st.none() | st.tuples(st.sampled_from(["message", "summary"]), refs)
full_text = st.sampled_from(["messages_fts", "summaries_fts", "summaries_fts_cjk"])


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, tuple[dict[str, Any], ...]]:
    table = draw(st.sampled_from(edits.TABLES))
    row = st.dictionaries(texts, values, max_size=3).map(lambda one: {**dict.fromkeys(KEYS[table], 1), **one})
    return table, tuple(draw(st.lists(row, max_size=2)))


every = st.one_of(
    st.builds(SetText, texts, states, states),
    st.builds(SwapItems, whole, neighbours, items, items, neighbours, whole),
    rows().map(lambda one: InsertRows(*one)),
    rows().map(lambda one: DeleteRows(*one)),
    st.builds(
        SetIndex, full_text, refs, st.lists(values, max_size=2).map(tuple), st.lists(values, max_size=2).map(tuple)
    ),
    st.builds(AddCounts, texts, st.dictionaries(st.sampled_from(edits.COUNTED), st.integers(-99, 99))),
)
shown = st.lists(st.builds(Shown, st.just("summary"), refs, texts, whole, texts), max_size=3).map(tuple)
plans = st.builds(
    Plan,
    plan_id=texts, operation=texts, conversation_id=whole, subject=texts, title=texts, made_at=texts, made_by=texts,
    edits=st.lists(every, max_size=3).map(tuple), why=texts, model=st.none() | texts, batch=st.none() | texts,
    tokens_before=whole, facts=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    warnings=st.lists(texts, max_size=2).map(tuple), context=st.none() | st.builds(ContextChange, whole, shown, shown, whole, whole),
)  # fmt: skip


def typed(value: Any) -> Any:
    """A value with the type of each part, since 1 == 1.0 and b"" == RawText(b"")."""
    return (type(value).__name__, repr(value))


@given(every)
def test_every_edit_comes_back_from_json(edit: edits.Edit) -> None:
    back = edits.from_json(json.loads(json.dumps(edits.to_json(edit))))
    assert back == edit
    assert typed(back) == typed(edit)


@given(plans)
def test_every_plan_comes_back_from_json(made: Plan) -> None:
    back = plan.from_json(json.loads(json.dumps(made.to_json(), ensure_ascii=False)))
    assert back == made
    assert typed(back) == typed(made)


def test_infinity_and_the_largest_numbers_come_back() -> None:
    row = {"summary_id": "s", "a": math.inf, "b": -math.inf, "c": 2**63 - 1, "d": 5e-324}
    edit = InsertRows("summaries", (row,))
    assert edits.from_json(json.loads(json.dumps(edits.to_json(edit)))) == edit


def good(kind: str) -> dict[str, Any]:
    state = {"content": "a", "token_count": 1, "model": None}
    item = {"item_type": "summary", "ref": "s", "offset": 0, "created_at": None}
    return {
        "SetText": {"edit": "SetText", "summary_id": "s", "before": state, "after": state},
        "SwapItems": {"edit": "SwapItems", "conversation_id": 1, "left": None, "old": [item], "new": [item], "right": None, "start": 0},
        "InsertRows": {"edit": "InsertRows", "table": "summaries", "rows": [{"summary_id": "s"}]},
        "DeleteRows": {"edit": "DeleteRows", "table": "summaries", "rows": [{"summary_id": "s"}]},
        "SetIndex": {"edit": "SetIndex", "table": "summaries_fts", "key": "s", "before": [], "texts": ["a"]},
        "AddCounts": {"edit": "AddCounts", "summary_id": "s", "deltas": {"descendant_count": 1}},
    }[kind]  # fmt: skip


ITEM = {"item_type": "summary", "ref": "s", "offset": 0, "created_at": None}
BAD = [
    ("SetText", "summary_id", None), ("SetText", "summary_id", {"a": 1}), ("SetText", "before", 5),
    ("SetText", "before", {"content": "a"}), ("SetText", "after", {"content": 7, "token_count": 1, "model": None}),
    ("SetText", "after", {"content": "a", "token_count": [1], "model": None}), ("SetText", "after", {"content": "\ud800", "token_count": 1}),
    ("SetText", "after", {"content": "a", "token_count": 1, "colour": "red"}), ("SetText", "after", {"content": {"text64": "?"}, "token_count": 1}),
    ("SwapItems", "conversation_id", "1"), ("SwapItems", "conversation_id", True), ("SwapItems", "start", None), ("SwapItems", "old", [5]),
    ("SwapItems", "new", 3), ("SwapItems", "new", [{**ITEM, "offset": "0"}]), ("SwapItems", "new", [{**ITEM, "ref": None}]),
    ("SwapItems", "left", []), ("SwapItems", "left", ["summary"]), ("SwapItems", "right", ["summary", []]), ("SwapItems", "new", [{**ITEM, "x": 1}]),
    ("InsertRows", "table", "conversations"), ("InsertRows", "table", "messages_fts"), ("InsertRows", "table", ["summaries"]),
    ("InsertRows", "rows", [{}]), ("InsertRows", "rows", {"summary_id": "s"}), ("InsertRows", "rows", [{"summary_id": "s", "a": []}]),
    ("InsertRows", "rows", [{"summary_id": "s", "a": 2**63}]), ("InsertRows", "rows", [{"summary_id": "s", "a": {"blob64": 5}}]),
    ("DeleteRows", "rows", None), ("DeleteRows", "rows", ["s"]), ("SetIndex", "table", "summaries"), ("SetIndex", "key", 1.5),
    ("SetIndex", "texts", [[]]), ("AddCounts", "deltas", {"descendant_count": "x"}), ("AddCounts", "deltas", []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "value"), BAD)
def test_what_is_wrong_is_named(kind: str, name: str, value: Any) -> None:
    with pytest.raises(UsageError, match=rf"{kind}\.{name}"):
        edits.from_json({**good(kind), name: value})


@pytest.mark.parametrize("kind", edits.KINDS)
def test_a_field_too_many_or_too_few_is_named(kind: str) -> None:
    assert edits.from_json(good(kind))
    with pytest.raises(UsageError, match="sql"):
        edits.from_json({**good(kind), "sql": "DROP TABLE summaries"})
    for name in set(good(kind)) - {"edit"}:
        with pytest.raises(UsageError, match=name):
            edits.from_json({key: value for key, value in good(kind).items() if key != name})


@pytest.mark.parametrize("value", [None, 5, [], "x", {}, {"edit": "RunSql"}, {"edit": []}, {"edit": None}])
def test_what_is_no_edit_is_said(value: Any) -> None:
    with pytest.raises(UsageError, match="'edit' is one of"):
        edits.from_json(value)


PLAN_FIELDS = [
    ("plan_id", 5), ("operation", None), ("conversation_id", "1"), ("conversation_id", True), ("subject", []), ("made_at", 1.5),
    ("model", 5), ("batch", {}), ("tokens_before", "many"), ("facts", 5), ("facts", [["a"]]), ("warnings", None), ("context", 5),
    ("context", {"conversation_id": 1}), ("edits", None), ("edits", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), PLAN_FIELDS)
def test_a_field_of_a_plan_that_is_wrong(name: str, value: Any, base_store: Path) -> None:
    given = set_text(base_store, "sum_la", "One.").to_json()
    with pytest.raises(UsageError):
        plan.from_json({**given, name: value})


def test_the_edit_is_named_by_its_place(base_store: Path) -> None:
    given = dissolved(base_store, "sum_c1").to_json()
    given["edits"][1]["rows"] = 5
    with pytest.raises(UsageError, match=r"Edit 1 of the plan: DeleteRows\.rows"):
        plan.from_json(given)


@pytest.mark.parametrize("given", [None, [], "x", {}, {"lcm_lab_plan": 2}, {"lcm_lab_plan": 1}])
def test_what_is_no_plan_is_said(given: Any) -> None:
    with pytest.raises(UsageError):
        plan.from_json(given)


def test_a_file_is_named_with_its_line(base_store: Path, tmp_path: Path) -> None:
    path = set_text(base_store, "sum_la", "One.").save(tmp_path / "plan.json")
    assert plan.load(path).subject == "sum_la"
    with pytest.raises(UsageError, match="is there already"):
        set_text(base_store, "sum_la", "One.").save(path)
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join([*lines[:3], "nonsense", *lines[3:]]), "utf-8")
    with pytest.raises(UsageError, match=r"plan\.json, line 4"):
        plan.load(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match=r"plan\.json"):
        plan.load(path)
    path.write_text("{}", "utf-8")
    with pytest.raises(UsageError, match=r"plan\.json"):
        plan.load(path)
    for missing in (tmp_path / "no.json", tmp_path):
        with pytest.raises(UsageError, match=missing.name):
            plan.load(missing)


def test_a_plan_from_a_file_is_applied_as_well(base_store: Path, tmp_path: Path) -> None:
    before = dump(base_store)
    for i, made in enumerate((set_text(base_store, "sum_la", "One."), dissolved(base_store, "sum_c1"))):
        read = plan.load(made.save(tmp_path / f"{i}.json"))
        assert read == made
        with pytest.raises(UsageError, match="which store"):
            read.apply()
        read.on(StoreFile(base_store)).apply()
        assert dump(base_store) != before
        undo.undo(StoreFile(base_store))
        assert dump(base_store) == before
