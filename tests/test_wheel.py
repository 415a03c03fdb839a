"""The wheel, built from the source archive and installed into an empty environment, is the whole product."""

import json
import os
import subprocess
import sys
import tarfile
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
        "lcm_lab/notebooks/04_workbench.ipynb",
        "lcm_lab/panels/keys.js",
        "lcm_lab/data/demo_store.py",
        "lcm_lab/data/demo/conversations/1-shop.txt",
        "lcm_lab/data/schema/lcm-0.15.3.sql",
        "lcm_lab/notebooks/06_session_memory.ipynb",
        "lcm_lab/data/memory/1-returns.txt",
        "lcm_lab/py.typed",
    ):
        assert names.count(wanted) == 1, wanted
    assert not any(name.startswith(("data/", "hooks/", "notebooks/", "tests/")) for name in names)


def test_the_wheel_carries_every_hook_once(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    sources = [*(ROOT / "hooks").glob("*.py"), *(ROOT / "hooks").glob("skills/*/SKILL.md")]
    assert len(sources) > 30
    for source in sources:
        assert names.count(f"lcm_lab/hooks/{source.relative_to(ROOT / 'hooks').as_posix()}") == 1, source
    assert sum(name.startswith("lcm_lab/hooks/") for name in names) == len(sources)


def test_the_source_archive_carries_the_folders_and_no_link(wheel: Path) -> None:
    with tarfile.open(next(wheel.parent.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
        top = names[0].split("/")[0]
        assert f"{top}/hooks/install.py" in names
        assert not any(
            name.startswith(f"{top}/lcm_lab/{link}") for name in names for link in ("data", "hooks", "notebooks")
        )
        assert not any(member.issym() or member.islnk() for member in archive.getmembers())


def test_the_hooks_of_an_unpacked_wheel_need_no_environment(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")  # noqa: S202  (our own archive)
    hooks = tmp_path / "site" / "lcm_lab" / "hooks"
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "config"), "PATH": "/usr/bin:/bin"}

    def run(script: str, *arguments: str, given: str = "") -> str:
        command = [sys.executable, "-S", "-E", str(hooks / script), *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=env, input=given, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout

    assert "self-test" in run("install.py", "--help")
    assert "would install" in run("install.py", "install", "--dry-run")
    assert run("session_start.py", given='{"session_id": "s", "source": "startup"}') == ""
    assert not (tmp_path / ".throughline" / "hooks.log").exists()


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
    assert json.loads(run("lcm-lab", "--demo", "memory", "stats", "--json"))["rows"]["sessions"] == 2
    assert "would install" in run("lcm-lab", "hooks", "install", "--dry-run")
    copied = Path(run("python", "-c", "from lcm_lab import places; print(places.notebooks())").strip())
    assert copied.is_relative_to(tmp_path)
    mine = copied / "00_start_here.ipynb"
    run("jupyter", "nbconvert", "--to", "notebook", "--execute", "--inplace", str(mine))
    changed = mine.read_text("utf-8")
    assert '"status": "error"' not in changed
    run("python", "-c", "from lcm_lab import places; places.notebooks()")
    assert mine.read_text("utf-8") == changed, "a notebook of the user's was replaced"
