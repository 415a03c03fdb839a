"""A real browser on a real JupyterLab: Debian's Chromium, driven by playwright, and nothing of the user's."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lcm_lab.data import demo_store

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
"""Chromium refuses its sandbox to root, and containers have a small /dev/shm."""


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of the system's Chromium."""
    pytest.importorskip("playwright", reason="playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium on this machine (Debian: apt install chromium)")
    return found


@pytest.fixture(scope="session")
def server(chromium: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """JupyterLab on copies of the notebooks and of the demo store."""
    from tests.browser.lab_page import Server

    folder = tmp_path_factory.mktemp("lab")
    store = demo_store.build(folder / "openclaw")
    shutil.copytree(ROOT / "notebooks", folder / "notebooks")
    made = Server(folder, {"LCM_LAB_DB": str(store), "LCM_LAB_TZ": "UTC"})
    yield made
    made.close()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Any]:
    """The browser. For a module only: playwright keeps an event loop running, which other tests could not bear."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield started
        started.close()


@contextmanager
def watched(server: Any, browser: Any) -> Iterator[Callable[..., Any]]:
    """Open notebooks; at the end each must have stayed on this machine and said nothing in the console."""
    from tests.browser.lab_page import Book

    opened: list[Book] = []

    def open_one(name: str, **options: Any) -> Book:
        opened.append(Book(server, browser, name, **options))
        return opened[-1]

    yield open_one
    problems = [problem for book in opened for problem in book.problems()]
    for book in opened:
        book.close()
    assert problems == []


@pytest.fixture
def open_book(server: Any, browser: Any) -> Iterator[Callable[..., Any]]:
    """Open notebooks for one test."""
    with watched(server, browser) as opening:
        yield opening


@pytest.fixture(scope="module")
def open_shared(server: Any, browser: Any) -> Iterator[Callable[..., Any]]:
    """Open notebooks that the tests of a module share."""
    with watched(server, browser) as opening:
        yield opening
