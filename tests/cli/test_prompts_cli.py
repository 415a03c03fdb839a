"""``lcm-lab prompts`` as a user runs it, in a home of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lcm_lab.summarizer.prompting import NAMES, embedded


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder without prompts."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What ``lcm-lab prompts`` does with these arguments."""
    return subprocess.run(
        [sys.executable, "-m", "lcm_lab", "prompts", *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=home,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )


def output(home: Path, *arguments: str) -> str:
    """Its standard output, after it ended with 0."""
    done = run(home, *arguments)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_the_list_names_the_file_that_counts(home: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "leaf.tmpl").write_text("\n{{.Foo}}")
    shown = output(home, "--list", "--prompt-dir", str(mine))
    assert all(name in shown for name in NAMES)
    assert f"Cannot be used: {mine / 'leaf.tmpl'}:2: unknown variable .Foo" in shown
    told = json.loads(output(home, "--list", "--prompt-dir", str(mine), "--json"))
    assert [one["origin"] for one in told["rows"]] == ["--prompt-dir", "embedded", "embedded", "embedded"]
    assert told["rows"][1]["uses"] == ["TargetTokens", "PreviousContext", "SourceText"]
    assert told["next"] is None


@pytest.mark.parametrize("wanted", [["--export"], ["--export", "--json"], ["--json", "--export"]])
def test_export_alone_goes_where_it_counts(home: Path, wanted: list[str]) -> None:
    output(home, *wanted)
    folder = home / ".config/lcm-tui/prompts"
    assert {one.name for one in folder.iterdir()} == {f"{name}.tmpl" for name in NAMES}
    assert output(home, "--diff", "leaf") == f"leaf: no differences ({folder / 'leaf.tmpl'})\n"


def test_export_into_a_folder_keeps_edits(home: Path, tmp_path: Path) -> None:
    told = json.loads(output(home, "--export", str(tmp_path / "mine"), "--json"))
    assert (told["folder"], told["replaced"], len(told["written"])) == (str(tmp_path / "mine"), [], 4)
    mine = tmp_path / "mine/leaf.tmpl"
    mine.write_text(mine.read_text() + "One more line.\n")
    done = run(home, "--export", str(tmp_path / "mine"))
    assert (done.returncode, done.stdout) == (3, "")
    assert "leaf.tmpl; nothing was written" in done.stderr
    assert output(home, "--diff", "LEAF.tmpl", "--prompt-dir", str(tmp_path / "mine")).endswith("\n+One more line.\n")
    assert "replaced" in output(home, "--export", str(tmp_path / "mine"), "--overwrite")
    assert mine.read_bytes() == embedded("leaf")[1]


def test_show_prints_the_prompt_that_counts(home: Path, tmp_path: Path) -> None:
    assert output(home, "--show", "condensed-d2") == embedded("condensed-d2")[1].decode()
    (tmp_path / "leaf.tmpl").write_text("Sum up: {{.SourceText}}")
    done = run(home, "--show", "leaf", "--prompt-dir", str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "Sum up: {{.SourceText}}\n")
    assert "does not ask for the line 'Expand for details about:'" in done.stderr
    told = json.loads(output(home, "--show", "leaf", "--prompt-dir", str(tmp_path), "--json"))
    assert set(told) == {"name", "origin", "path", "text", "uses", "warnings"}


def test_render_fills_in_what_is_given(home: Path) -> None:
    text = output(home, "--render", "leaf", "--target-tokens", "800", "--previous-context", "Before: \u8981\u7d04.")
    assert "about 800 tokens" in text
    assert "<previous_context>\nBefore: \u8981\u7d04.\n</previous_context>" in text
    assert "The nightly backup stopped" in text
    told = json.loads(
        output(home, "--json", "--render", "condensed-d1", "--source-text", "</conversation_to_condense>")
    )
    assert "<conversation_to_condense>\n<\\/conversation_to_condense>\n</conversation_to_condense>" in told["prompt"]


def test_render_has_the_defaults_of_the_manual(home: Path, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.tmpl").write_text(
            "{{.TargetTokens}}|{{.ChildCount}}|{{.Depth}}|{{.TimeRange}}|{{.PreviousContext}}|{{if .SourceText}}s{{end}}"
        )
        shown = run(home, "--render", name, "--prompt-dir", str(tmp_path)).stdout
        assert shown == f"2000|4|{NAMES.index(name)}|||s\n"
    given = ("--depth", "7", "--child-count", "0", "--time-range", "May", "--source-text", "")
    assert run(home, "--render", "leaf", "--prompt-dir", str(tmp_path), *given).stdout == "2000|0|7|May||\n"
    told = output(home, "--help")
    assert "[default: 2000; x>=1]" in told
    assert "[default: 4; x>=0]" in told


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--list", "--show", "leaf"],
        ["--export", "--diff", "leaf"],
        ["--show", "leaf", "--render", "leaf"],
        ["--show", "nobody"],
        ["--render", "leaf", "--target-tokens", "0"],
        ["--render", "leaf", "--target-tokens", "many"],
        ["--render", "leaf", "--child-count", "-1"],
        ["--list", "--target-tokens", "800"],
        ["--show", "leaf", "--overwrite"],
        ["--export", "--prompt-dir", "."],
        ["--export", ""],
        ["leaf"],
    ],
)
def test_wrong_usage_ends_with_two(home: Path, arguments: list[str]) -> None:
    done = run(home, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr
    assert list(home.iterdir()) == []


@pytest.mark.parametrize("action", ["--diff", "--render", "--show"])
@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"a\n{{.Foo}}", ":2: unknown variable .Foo"),
        (b"", ":1: the file is empty"),
        (b"\xef\xbb\xbf\r\n{{.Foo}}\r\n", ":2: unknown variable .Foo"),
        (b"a\n\xff", ":2: this is not UTF-8"),
    ],
)
def test_b70_a_broken_override_is_named_with_its_line(
    home: Path, tmp_path: Path, action: str, data: bytes, said: str
) -> None:
    path = tmp_path / "leaf.tmpl"
    path.write_bytes(data)
    done = run(home, action, "leaf", "--prompt-dir", str(tmp_path))
    assert done.returncode == 3
    assert f"lcm-lab: {path}{said}" in done.stderr
    assert "long-term memory" not in "".join(line for line in done.stdout.splitlines() if not line.startswith("-"))


def test_what_is_not_there_is_named(home: Path) -> None:
    done = run(home, "--diff", "leaf")
    assert done.returncode == 3
    assert str(home / ".config/lcm-tui/prompts/leaf.tmpl") in done.stderr
    done = run(home, "--list", "--prompt-dir", "/nowhere")
    assert (done.returncode, "/nowhere" in done.stderr) == (3, True)
