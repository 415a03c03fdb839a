"""The wheel, built from the source archive and installed into an empty environment, is the whole product."""

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from the sdist as an index would."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_the_wheel_carries_notebooks_and_demo(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in (
        "lcm_lab/notebooks/00_start_here.ipynb",
        "lcm_lab/data/demo_store.py",
        "lcm_lab/data/demo/conversations/1-shop.txt",
        "lcm_lab/data/schema/lcm-0.15.3.sql",
        "lcm_lab/py.typed",
    ):
        assert names.count(wanted) == 1, wanted
    assert not any(name.startswith(("data/", "notebooks/", "tests/")) for name in names)


@pytest.mark.slow
def test_an_empty_environment_is_all_it_takes(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "env"
    venv.create(environment, with_pip=True)
    install = [
        environment / "bin/pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        str(wheel),
        "-c",
        str(ROOT / "constraints.txt"),
    ]
    done = subprocess.run(install, capture_output=True, text=True, check=False)
    if "Connection" in done.stderr or "Temporary failure in name resolution" in done.stderr:
        pytest.skip(f"no package index: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    home = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "TZ": "UTC",
    }

    def run(*command: str) -> str:
        return subprocess.run(command, cwd=tmp_path, env=home, capture_output=True, text=True, check=True).stdout

    assert json.loads(run("lcm-lab", "--demo", "info", "--json"))["rows"]["messages"] == 422
    copied = Path(run("python", "-c", "from lcm_lab import places; print(places.notebooks())").strip())
    assert copied.is_relative_to(tmp_path)
    mine = copied / "00_start_here.ipynb"
    run("jupyter", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(mine))
    changed = mine.read_text("utf-8")
    assert '"status": "error"' not in changed
    run("python", "-c", "from lcm_lab import places; places.notebooks()")
    assert mine.read_text("utf-8") == changed, "a notebook of the user's was replaced"
