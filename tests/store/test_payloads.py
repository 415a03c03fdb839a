"""Payloads are found inside the store's folder, and nothing outside of it is touched."""

from pathlib import Path

import pytest

from lcm_lab.store import payloads
from lcm_lab.store.rows import LargeFile

FILE_ID = "file_0123456789abcdef"


def at(store: Path, uri: str, file_id: str = FILE_ID) -> payloads.Payload:
    """Where the payload of a file with this address is."""
    return payloads.locate(store, LargeFile(file_id, 1, "a.txt", "text/plain", 3, 1, uri, None, ""))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store's place with one payload beside it, and a secret outside."""
    (tmp_path / "state" / "lcm-files" / "1").mkdir(parents=True)
    (tmp_path / "state" / "lcm-files" / "1" / f"{FILE_ID}.txt").write_text("abc")
    (tmp_path / "secret.txt").write_text("secret")
    return tmp_path / "state" / "lcm.db"


def test_a_payload_inside_is_present(store: Path) -> None:
    inside = store.parent / "lcm-files" / "1" / f"{FILE_ID}.txt"
    assert at(store, str(inside)).path == inside.resolve()


def test_a_moved_store_finds_its_payloads(store: Path) -> None:
    assert at(store, "/another/machine/lcm-files/1/file.txt").state == "present"


@pytest.mark.parametrize("uri", ["/no/such/file", "", "lcm-files/1/none.txt", "\x00", "a" * 5000])
def test_a_missing_payload_is_missing(store: Path, uri: str) -> None:
    found = at(store, uri, "file_ffffffffffffffff")
    assert (found.state, found.path) == ("missing", None)


@pytest.mark.parametrize(
    "uri",
    ["../secret.txt", "lcm-files/../../secret.txt", "file:///etc/hostname", "/etc/hostname", "https://example.org/x"],
)
def test_what_lies_outside_is_not_opened(store: Path, uri: str) -> None:
    found = at(store, uri, "file_ffffffffffffffff")
    assert found.path is None
    assert found.state in ("outside", "missing")


def test_a_link_out_of_the_folder_is_not_followed(store: Path) -> None:
    link = store.parent / "lcm-files" / "1" / "file_aaaaaaaaaaaaaaaa.txt"
    link.symlink_to(store.parent.parent / "secret.txt")
    assert at(store, str(link), "file_aaaaaaaaaaaaaaaa").path is None


@pytest.mark.parametrize("file_id", ["../../secret", "*", "a/b", ""])
def test_a_file_id_is_no_way_out(store: Path, file_id: str) -> None:
    assert at(store, "", file_id).path is None
