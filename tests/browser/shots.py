"""Screenshots of every panel, wide and narrow, light and dark: ``python -m tests.browser.shots FOLDER [NAME ...]``.

Not a test: somebody has to look at them. ``make shots`` writes them below ``build/shots``.
"""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from lcm_lab.data import demo_store
from tests.browser.lab_page import Book, Server, write_notebook

SETUP: Final = """
import lcm_lab
from lcm_lab.panels import reviews
from lcm_lab.panels.workbench import Workbench
lab = lcm_lab.notebook()
copy = lab.rehearsal()
CONV = copy.deepest()
TEXT = '''The shop moved to the new host on Sunday night; orders were frozen for two hours and nothing was lost.
Still open: the certificate of the old domain, and the invoices that were printed twice.
Expand for details about: the order of the switch, the names of the two hosts, what was rolled back'''
script = lcm_lab.Scripted(lambda request: TEXT)
LEAF = next(one for one, node in copy.dag(CONV).nodes.items() if node.depth == 0)
TOP = copy.dag(CONV).roots[0]
def at(tab, number=CONV):
    bench = Workbench(copy, summarizer=script)
    bench.open_conversation(number, tab)
    return bench
def sent(panel):
    panel.send.click()
    panel.settle()
    return panel
"""

PANELS: Final = {
    "agents": "Workbench(lab)",
    "sessions": "bench = Workbench(lab); bench.open_agent(lab.agents().agents[0].name); bench",
    "conversations": "bench = Workbench(lab); bench.show_conversations(); bench",
    "conversation": "at('Conversation')",
    "dag": "at('Summary DAG')",
    "context": "at('Context')",
    "files": "at('Large files')",
    "briefs": "at('Focus briefs', 2)",
    "health": "at('Health', 2)",
    "budget": "at('Budget')",
    "untracked": "bench = Workbench(lab); bench.open_agent('main'); bench",
    "model-view": "bench = at('Context'); bench.place.panel.view.value = 'as the model gets it'; bench",
    "failed": "down = reviews.RewriteReview(copy, copy.rewrite(CONV, LEAF), lcm_lab.Scripted([])); sent(down)",
    "rewrite-preview": "reviews.RewriteReview(copy, copy.rewrite(CONV, LEAF), script)",
    "rewrite-review": "sent(reviews.RewriteReview(copy, copy.rewrite(CONV, LEAF), script))",
    "rewrite-queue": "sent(reviews.RewriteReview(copy, copy.rewrite(CONV, subtree=TOP), script))",
    "dissolve": "reviews.DissolveReview(copy, CONV, TOP)",
    "repair": "reviews.RepairReview(copy)",
    "transplant": "copies = reviews.TransplantReview(copy); copies.source.value, copies.target.value = 1, 3; copies",
    "journal": "copy.dissolve(CONV, TOP).apply(); reviews.JournalPanel(copy)",
}

LOOKS: Final = {"wide": ((1400, 2400), False), "narrow": ((760, 2600), False), "dark": ((1400, 2400), True)}


def main(folder: Path, names: list[str]) -> None:
    """Take the pictures."""
    from playwright.sync_api import sync_playwright

    wanted = {name: code for name, code in PANELS.items() if not names or name in names}
    folder.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="lcm-lab-shots-"))
    server = Server(scratch, {"LCM_LAB_DB": str(demo_store.build(scratch / "openclaw"))})
    try:
        write_notebook(server.root / "shots.ipynb", [SETUP, *wanted.values()])
        with sync_playwright() as playwright:
            chromium = shutil.which("chromium") or "chromium"
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            for look, (size, dark) in LOOKS.items():
                take(Book(server, browser, "shots.ipynb", size=size, dark=dark), list(wanted), folder, look)
            browser.close()
    finally:
        server.close()
        shutil.rmtree(scratch, ignore_errors=True)


def take(book: Book, names: list[str], folder: Path, look: str) -> None:
    """One picture of each panel, in one look."""
    book.command("application:toggle-left-area")
    book.run_all(180)
    for at, name in enumerate(names, start=1):
        cell = book.page.locator(".jp-CodeCell").nth(at)
        cell.scroll_into_view_if_needed()
        panel = cell.locator(".lcm-message").first.locator("xpath=..")
        panel.wait_for()
        book.page.wait_for_timeout(700)
        panel.screenshot(path=folder / f"{name}-{look}.png")
        print(folder / f"{name}-{look}.png")
    for problem in book.problems():
        print(f"{look}: {problem}", file=sys.stderr)
    book.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
