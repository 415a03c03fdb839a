"""Every notebook runs, on the demo store and on one of the user's, and what it leaves is readable without a kernel."""

import base64
import os
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from lcm_lab.recall import closed_memory
from tests.analysis.savings.made_up import coding
from tests.hooks import own_session

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ON_MEMORY = ROOT / "notebooks" / "06_session_memory.ipynb"
ON_SESSIONS = ROOT / "notebooks" / "07_token_savings.ipynb"
WITH_PANELS = {"04_workbench", "05_review_rewrites"}
WIDGET = "application/vnd.jupyter.widget-view+json"


def execute(path: Path, env: dict[str, str]) -> Any:
    """The notebook after all its cells ran in a kernel with this environment."""
    notebook = nbformat.read(path, 4)
    client = NotebookClient(notebook, timeout=120, store_widget_state=False)
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("LCM_", "OPENCLAW_", "THROUGHLINE"))
    }
    client.execute(env={**clean, "TZ": "UTC", **env})
    return notebook


def outputs(notebook: Any) -> list[Any]:
    """All outputs of all cells."""
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """A home and a cache of its own, so that the demo store is built afresh."""
    return {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "IPYTHONDIR": str(tmp_path / "ipython")}


def test_there_are_notebooks() -> None:
    assert [path.name[:2] for path in NOTEBOOKS] == ["00", "01", "02", "03", "04", "05", "06", "07"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_on_the_demo_store(path: Path, home: dict[str, str]) -> None:
    notebook = execute(path, home)
    shown = outputs(notebook)
    assert all(output.output_type in ("execute_result", "display_data") for output in shown), "something was printed"
    figures = [output.data for output in shown if "application/vnd.plotly.v1+json" in output.data]
    assert figures or path.stem in WITH_PANELS
    for figure in figures:
        still = base64.b64decode(figure["image/png"])
        assert still.startswith(b"\x89PNG")
        assert 1_000 < len(still) < 150_000
        assert figure["text/plain"]
    assert len(nbformat.writes(notebook)) < 2_000_000
    tables = [output.data["text/html"] for output in shown if "text/html" in output.data]
    assert tables
    assert not any("<script" in one for one in tables)


@pytest.mark.parametrize("name", sorted(WITH_PANELS))
def test_panels_are_readable_without_a_kernel(name: str, home: dict[str, str]) -> None:
    notebook = execute(ROOT / "notebooks" / f"{name}.ipynb", home)
    assert "widgets" not in notebook.metadata
    shown = outputs(notebook)
    places = [at for at, output in enumerate(shown) if WIDGET in output.data]
    pictures = [shown[at + 1].data["text/html"] for at in places]
    assert places
    assert all("as it was when this was saved" in one for one in pictures)
    assert all("<table" in one or "Nothing was ever applied" in one for one in pictures)
    assert any("data:image/svg+xml" in one for one in pictures)
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert page.count("as it was when this was saved") == len(pictures)
    assert page.count("<table") == sum(output.data.get("text/html", "").count("<table") for output in shown)


@pytest.mark.parametrize(
    "path", [one for one in NOTEBOOKS if one not in (ON_MEMORY, ON_SESSIONS)], ids=lambda path: path.stem
)
def test_a_notebook_runs_on_the_users_store(path: Path, home: dict[str, str], base_store: Path) -> None:
    before = base_store.read_bytes()
    notebook = execute(path, {**home, "LCM_LAB_DB": str(base_store), "LCM_LAB_TZ": "Asia/Tokyo"})
    assert str(base_store) in str(outputs(notebook)[0].data)
    assert "Asia/Tokyo" in nbformat.writes(notebook)
    assert base_store.read_bytes() == before
    assert [one.name for one in base_store.parent.iterdir()] == ["lcm.db"]


def test_the_memory_notebook_runs_on_the_users_memory(home: dict[str, str], tmp_path: Path) -> None:
    transcript = own_session.write(tmp_path / "project" / "own.jsonl", prompt_ids=True)
    folder = tmp_path / "mine"
    closed_memory(folder).import_transcripts([transcript])
    before = {one.name: one.read_bytes() for one in folder.iterdir()}
    notebook = execute(ON_MEMORY, {**home, "THROUGHLINE_HOME": str(folder), "LCM_LAB_TZ": "Asia/Tokyo"})
    assert str(folder) in str(outputs(notebook)[0].data)
    assert "Asia/Tokyo" in nbformat.writes(notebook)
    assert {one.name: one.read_bytes() for one in folder.iterdir()} == before


def test_the_savings_notebook_runs_on_the_users_sessions(home: dict[str, str], tmp_path: Path) -> None:
    for number in range(2):
        coding(number, turns=6, calls=5, size=5_000).write(tmp_path / "mine" / f"session-{number}.jsonl")
    before = {one.name: one.read_bytes() for one in (tmp_path / "mine").iterdir()}
    notebook = execute(ON_SESSIONS, {**home, "LCM_LAB_SESSIONS": str(tmp_path / "mine")})
    assert "session-1" in str(outputs(notebook)[0].data)
    assert {one.name: one.read_bytes() for one in (tmp_path / "mine").iterdir()} == before
