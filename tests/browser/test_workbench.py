"""The stories of a person at the workbench, in a real browser; what the store holds afterwards is read with sqlite3."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.data import schema_files

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

EDITED = "Edited by hand: the move is done.\nExpand for details about: names and numbers"
NASTY = (
    "</script><img src=x onerror=\"alert('img')\"><script>window.hacked = 1</script> <b>bold</b> "
    "$\\alpha$ \\(\\beta\\) \u05e9\u05dc\u05d5\u05dd \u7aef\u53e3\u9632\u706b\u7246 "
)
LONG = "x" * 200_000


def rows(path: Path, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query finds in a store."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return connection.execute(query, values).fetchall()


def text_of(path: Path, summary_id: str) -> str:
    """The text of a summary."""
    return str(rows(path, "SELECT content FROM summaries WHERE summary_id = ?", summary_id)[0][0])


def context_of(path: Path) -> list[tuple[Any, ...]]:
    """The context items of the demo's first conversation."""
    return rows(
        path,
        "SELECT ordinal, item_type, message_id, summary_id FROM context_items WHERE conversation_id = 1 ORDER BY ordinal",
    )


def eventually(book: Any, look: Callable[[], Any], expected: Any) -> None:
    """Wait until ``look`` gives what is expected."""
    for _ in range(100):
        if look() == expected:
            return
        book.page.wait_for_timeout(100)
    assert look() == expected


def newest_rehearsal(server: Any) -> Path:
    """The copy that the kernel works on."""
    return max(server.scratch.glob("lcm-lab-rehearsal-*/lcm.db"), key=lambda path: path.stat().st_ctime)


def tab(bench: Any, name: str) -> None:
    """Show a tab of a conversation."""
    bench.get_by_role("tab", name=name, exact=True).click()


def pick(bench: Any, text: str) -> Any:
    """Select the row of a list that shows this text."""
    box = bench.locator("select:visible", has=bench.page.locator("option", has_text=text)).first
    box.select_option(box.locator("option", has_text=text).first.get_attribute("value"))
    return box


@pytest.fixture(scope="module")
def shared(open_shared: Callable[..., Any]) -> Any:
    """Notebook 04 after all its cells ran."""
    book = open_shared("04_workbench.ipynb", size=(1400, 1800))
    book.run_all()
    return book


@pytest.fixture(scope="module")
def bench(shared: Any) -> Any:
    """The workbench on the rehearsal copy, at the DAG of the demo's first conversation."""
    found = shared.panel_of("bench = Workbench(copy")
    found.get_by_text("20 summaries in 3 levels").first.wait_for()
    return found


def test_agents_sessions_conversation_and_back(shared: Any) -> None:
    first = shared.panel_of("Workbench(lab)")
    pick(first, "atlas")
    shared.click("Open", within=first)
    pick(first, "7b90c4de")
    shared.click("Open", within=first)
    first.get_by_role("tab", name="Summary DAG").wait_for()
    first.get_by_text("40 messages, seq").wait_for()
    shared.click(re.compile("Back"), within=first)
    shared.click(re.compile("Back"), within=first)
    first.locator("option", has_text="atlas").first.wait_for(state="attached")


def test_a_summary_is_rewritten_edited_applied_and_undone(shared: Any, bench: Any, server: Any) -> None:
    store = newest_rehearsal(server)
    (leaf,) = rows(store, "SELECT summary_id FROM summaries WHERE conversation_id = 1 AND depth = 0 LIMIT 1")[0]
    before = text_of(store, leaf)
    pick(bench, leaf)
    bench.get_by_text(leaf, exact=True).first.wait_for()
    shared.click("Rewrite\u2026", within=bench)
    shared.click("Send", within=bench)
    area = bench.locator("textarea:visible")
    area.fill(EDITED)
    assert text_of(store, leaf) == before
    shared.click("Apply", within=bench)
    eventually(shared, lambda: text_of(store, leaf), EDITED)
    shared.click("Undo the last", within=bench)
    eventually(shared, lambda: text_of(store, leaf), before)


def test_a_dissolve_and_its_undo(shared: Any, bench: Any, server: Any) -> None:
    store = newest_rehearsal(server)
    before = context_of(store)
    top = before[0][3]
    sources = [one for (one,) in rows(store, "SELECT parent_summary_id FROM summary_parents WHERE summary_id = ?", top)]
    tab(bench, "Summary DAG")
    pick(bench, top)
    bench.get_by_text(top, exact=True).first.wait_for()
    shared.click("Dissolve\u2026", within=bench)
    shared.click("Apply", within=bench)
    eventually(shared, lambda: len(context_of(store)), len(before) + 1)
    assert {one[3] for one in context_of(store)[:2]} == set(sources)
    assert rows(store, "SELECT count(*) FROM summaries WHERE summary_id = ?", top) == [(0,)]
    shared.click("Undo", within=bench)
    eventually(shared, lambda: context_of(store), before)


def test_keys_at_the_workbench(shared: Any, bench: Any, server: Any) -> None:
    store = newest_rehearsal(server)
    everything = rows(store, "SELECT summary_id, content FROM summaries ORDER BY 1")
    cells = shared.cells()
    tab(bench, "Summary DAG")
    shared.click("Open all", within=bench)
    tree = pick(bench, "sum_59d770863c778305")
    tree.locator("option", has_text="sum_6d7536e00c8eda69").wait_for(state="attached")
    tree.focus()
    shared.press("j", "j")
    bench.get_by_text("sum_6d7536e00c8eda69", exact=True).first.wait_for()
    shared.press("k")
    bench.get_by_text("sum_bb0e041cf5eb5cbf", exact=True).first.wait_for()
    shared.press("Enter")
    tree.locator("option", has_text="sum_6d7536e00c8eda69").wait_for(state="detached")
    shared.press("Enter")
    tree.locator("option", has_text="sum_6d7536e00c8eda69").wait_for(state="attached")
    shared.press("j")
    bench.get_by_text("sum_6d7536e00c8eda69", exact=True).first.wait_for()

    # In a field they are letters.
    field = bench.get_by_placeholder("filter: type, then Enter").locator("visible=true").first
    field.click()
    shared.page.keyboard.type("jkwd")
    assert field.input_value() == "jkwd"
    field.fill("")
    shared.press("Escape")

    shared.press("w")
    send = shared.button("Send", within=bench)
    send.wait_for()
    shared.press("Enter")
    bench.locator("textarea:visible").wait_for()
    shared.press("Escape")
    bench.get_by_text("left as it is").first.wait_for()
    shared.press("b")
    tree.wait_for()
    shared.press("b")
    bench.get_by_text("40 messages, seq").wait_for()
    shared.press("c")
    bench.get_by_text("items sent of").first.wait_for()
    shared.press("b", "b")
    bench.get_by_placeholder("conversation number, then Enter").wait_for()
    shared.press("j")
    opened = bench.get_by_role("tab", name="Summary DAG")
    for _ in range(20):
        # A panel that is still at work takes no key; a person presses it again.
        if opened.is_visible():
            break
        shared.press("Enter")
        shared.page.wait_for_timeout(500)
    opened.wait_for()
    assert rows(store, "SELECT summary_id, content FROM summaries ORDER BY 1") == everything
    assert shared.cells() == cells


SUBTREE = """
import lcm_lab
from lcm_lab.errors import BadReply
from lcm_lab.panels import reviews
asked = []
def answer(request):
    asked.append(request.summary_id)
    return BadReply("the model fell asleep") if len(asked) == 3 else f"New {request.summary_id}.\\nExpand for details about: all"
copy = lcm_lab.notebook().rehearsal()
top = copy.dag(1).roots[1]
reviews.RewriteReview(copy, copy.rewrite(1, subtree=top), lcm_lab.Scripted(answer))
"""


def test_a_subtree_with_one_failing(server: Any, open_book: Callable[..., Any]) -> None:
    from tests.browser.lab_page import write_notebook

    write_notebook(server.root / "subtree.ipynb", [SUBTREE])
    book = open_book("subtree.ipynb", size=(1400, 1400))
    book.run_all()
    store = newest_rehearsal(server)
    new = "SELECT count(*) FROM summaries WHERE content LIKE 'New sum_%'"
    review = book.panel_of("RewriteReview")
    book.click("Accept all remaining", within=review)
    review.get_by_text("the model fell asleep").first.wait_for()
    assert rows(store, new) == [(2,)]
    review.get_by_text("[3/5]").first.wait_for()
    book.click("Skip", within=review)
    review.get_by_text("[4/5]").first.wait_for()
    book.click("Accept all remaining", within=review)
    eventually(book, lambda: rows(store, new), [(4,)])
    book.click("Undo all", within=review)
    eventually(book, lambda: rows(store, new), [(0,)])


HOSTILE = """
import lcm_lab
from lcm_lab.panels import reviews
from lcm_lab.panels.workbench import Workbench
lab = lcm_lab.open({path!r}).rehearsal()
bench = Workbench(lab)
bench
"""
REVIEW = """
text = lab.summary("sum_a").content[:400]
reviews.RewriteReview(lab, lab.rewrite(1, "sum_a"), lcm_lab.Scripted(lambda request: text + " new"))
"""


def hostile_store(folder: Path) -> Path:
    """A store whose every text would be markup, a formula or too long."""
    folder.mkdir()
    path = folder / "lcm.db"
    schema_files.create_store(path, "0.15.3", journal_mode="wal")
    at = "2026-03-30 23:11:15"
    with closing(sqlite3.connect(path, isolation_level=None)) as store:
        store.execute(
            "INSERT INTO conversations(conversation_id, session_id, title, created_at, updated_at) VALUES (1, ?, ?, ?, ?)",
            (f"s{NASTY}", NASTY, at, at),
        )
        for number, text in enumerate([NASTY, NASTY + LONG, "fresh " + NASTY]):
            store.execute(
                "INSERT INTO messages(message_id, conversation_id, seq, role, content, token_count, created_at) "
                "VALUES (?, 1, ?, ?, ?, 50, ?)",
                (number + 1, number, "user" if number % 2 == 0 else "assistant", text, at),
            )
        for name, kind, depth in (("sum_a", "leaf", 0), ("sum_top", "condensed", 1)):
            store.execute(
                "INSERT INTO summaries(summary_id, conversation_id, kind, depth, content, token_count) VALUES (?, 1, ?, ?, ?, 60)",
                (name, kind, depth, NASTY + ("" if depth else LONG)),
            )
        store.execute(
            "INSERT INTO summary_messages(summary_id, message_id, ordinal) VALUES ('sum_a', 1, 0), ('sum_a', 2, 1)"
        )
        store.execute(
            "INSERT INTO summary_parents(summary_id, parent_summary_id, ordinal) VALUES ('sum_top', 'sum_a', 0)"
        )
        store.execute(
            "INSERT INTO context_items(conversation_id, ordinal, item_type, message_id, summary_id) VALUES "
            "(1, 0, 'summary', NULL, 'sum_top'), (1, 1, 'message', 3, NULL)"
        )
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def literal(book: Any) -> None:
    """Nothing of a stored text became part of the page."""
    found = book.page.evaluate(
        """() => ({
            hacked: window.hacked ?? null,
            images: document.querySelectorAll('img[src="x"]').length,
            bold: [...document.querySelectorAll('.jp-OutputArea b')].filter(b => b.textContent === 'bold').length,
            formulas: document.querySelectorAll('.jp-OutputArea mjx-container, .jp-OutputArea .MathJax').length,
        })"""
    )
    assert found == {"hacked": None, "images": 0, "bold": 0, "formulas": 0}


def test_stored_text_is_literal_in_the_page(server: Any, open_book: Callable[..., Any], tmp_path: Path) -> None:
    from tests.browser.lab_page import write_notebook

    path = hostile_store(tmp_path / "hostile")
    write_notebook(server.root / "hostile.ipynb", [HOSTILE.format(path=str(path)), REVIEW])
    book = open_book("hostile.ipynb", size=(1400, 2000))
    book.run_all()
    bench = book.panel_of("bench = Workbench")
    literal(book)
    pick(bench, "</script>")
    book.click("Open", within=bench)
    for name in ("Conversation", "Summary DAG", "Context", "Large files", "Focus briefs", "Health", "Budget"):
        tab(bench, name)
        book.page.wait_for_timeout(500)
        literal(book)
    tab(bench, "Conversation")
    shown = bench.locator(".widget-html-content", has_text="fresh").first.inner_text()
    assert NASTY.split(" \u05e9", maxsplit=1)[0] in shown.replace("\n", " ")
    bench.get_by_role("button", name=re.compile("Show all")).first.click()
    book.page.wait_for_timeout(500)
    literal(book)
    review = book.panel_of("RewriteReview")
    book.click("Send", within=review)
    review.locator("textarea:visible").wait_for()
    literal(book)
    assert NASTY.strip() in review.locator("textarea:visible").input_value()
