"""The demo memory, made once, and copies of it."""

import shutil
from pathlib import Path

import pytest

import lcm_lab
from lcm_lab.data import memory_demo

MAIN = "3f0c6a52-8d1e-4b7a-9c55-2a61d7b0e914"
OTHER = "b81e77d0-40c2-4e0b-8f36-6b1f0f9a2c08"


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a demo memory that nobody changes."""
    return memory_demo.build(tmp_path_factory.mktemp("memory") / "demo").parent


@pytest.fixture
def memory(demo_folder: Path) -> lcm_lab.Memory:
    """The demo memory, to read."""
    return lcm_lab.open_memory(demo_folder, tz="UTC")


@pytest.fixture
def own_folder(demo_folder: Path, tmp_path: Path) -> Path:
    """A copy of the demo memory, to change."""
    folder = tmp_path / "throughline"
    shutil.copytree(demo_folder, folder)
    return folder
