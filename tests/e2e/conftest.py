"""Fixtures: the client once per run, a home and a stand-in per test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import client as clients
from stand_in import StandIn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def program() -> Path:
    """The client's binary, installed at test time."""
    found, why = clients.program()
    if found is None:
        pytest.skip(why)
    return found


@pytest.fixture
def api() -> Iterator[StandIn]:
    """A stand-in for this test alone."""
    with StandIn() as server:
        yield server


@pytest.fixture
def make(program: Path, api: StandIn, tmp_path: Path) -> Callable[..., clients.Client]:
    """A client in a fresh home with our hooks installed by our installer."""

    def made(*, installed: bool = True, settings: dict[str, Any] | None = None, arguments: tuple[str, ...] = ()) -> Any:
        client = clients.Client(program, tmp_path, api, settings=settings)
        if installed:
            client.install(*arguments)
        return client

    return made
