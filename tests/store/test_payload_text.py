"""A payload's beginning is read, no more than asked for, and nothing outside the store's folder."""

import os
from pathlib import Path

import pytest

from lcm_lab.errors import NotFound, Refused
from lcm_lab.store.payload_text import opening
from lcm_lab.store.rows import LargeFile

FILE_ID = "file_0123456789abcdef"


def at(uri: str) -> LargeFile:
    """A large file at an address."""
    return LargeFile(FILE_ID, 1, "a.txt", "text/plain", None, None, uri, None, "")


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A payload where it belongs."""
    path = tmp_path / "state" / "lcm-files" / "1" / f"{FILE_ID}.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes("h\u00e9llo ".encode() * 1000)
    return path


def test_the_beginning_is_read(inside: Path) -> None:
    found = opening(inside.parents[2] / "lcm.db", at(str(inside)), first=7)
    assert (found.text, found.read, found.size, found.binary) == ("h\u00e9llo ", 7, 7000, False)
    assert found.path == inside.resolve()


def test_a_character_cut_in_two_does_not_matter(inside: Path) -> None:
    assert opening(inside.parents[2] / "lcm.db", at(str(inside)), first=2).text == "h\ufffd"


def test_binary_is_shown_as_bytes(inside: Path) -> None:
    inside.write_bytes(b"\x00\x01PNG")
    found = opening(inside.parents[2] / "lcm.db", at(str(inside)))
    assert found.binary
    assert found.text.replace(" ", "") == "0001504e47"


@pytest.mark.parametrize("uri", ["../../secret", "/etc/passwd", "file:///etc/hostname"])
def test_what_lies_outside_is_not_opened(tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret").write_text("secret")
    with pytest.raises((NotFound, Refused)):
        opening(tmp_path / "state" / "lcm.db", at(uri))


def test_a_pipe_or_a_folder_is_no_payload(inside: Path) -> None:
    inside.unlink()
    os.mkfifo(inside)
    with pytest.raises(NotFound):
        opening(inside.parents[2] / "lcm.db", at(str(inside)))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_one_that_cannot_be_read_says_why(inside: Path) -> None:
    inside.chmod(0)
    with pytest.raises(Refused, match="cannot be read"):
        opening(inside.parents[2] / "lcm.db", at(str(inside)))
