"""Lines of any size in bounded memory, and the counting rule."""

import io
import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lcm_lab.errors import LcmLabError, NotFound
from lcm_lab.sessions import lines
from lcm_lab.sessions.lines import count_messages, open_regular, raw_lines

Write = Callable[..., Path]


def test_lines_come_with_number_size_and_end() -> None:
    found = list(raw_lines(io.BytesIO(b"one\r\n\n\nlast")))
    assert [(one.number, one.size_bytes, one.data, one.ended) for one in found] == [
        (1, 3, b"one", True),
        (2, 0, b"", True),
        (3, 0, b"", True),
        (4, 4, b"last", False),
    ]


@pytest.mark.parametrize(("length", "kept"), [(9, True), (10, True), (11, False), (5000, False)])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_a_line_over_the_limit_is_measured_and_not_held(length: int, end: bytes, *, kept: bool) -> None:
    first, *rest = raw_lines(io.BytesIO(b"x" * length + end + (b"next\n" if end else b"")), limit=10)
    assert (first.size_bytes, first.data is not None, first.ended) == (length, kept, bool(end))
    assert first.head == b"x" * min(length, 4096, 11) or first.head.rstrip(b"\n") == b"x" * length
    assert [one.data for one in rest] == ([b"next"] if end else [])


@given(st.binary(max_size=200), st.integers(1, 12))
def test_lines_put_together_give_the_sizes_of_the_file(data: bytes, limit: int) -> None:
    found = list(raw_lines(io.BytesIO(data), limit=limit))
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    for one, plain in zip(found, io.BytesIO(data), strict=True):
        if one.data is not None:
            assert one.data == (plain.rstrip(b"\r\n") if plain.endswith(b"\n") else plain)
        else:
            assert one.size_bytes == len(plain.removesuffix(b"\n")) >= limit


_PIECES = st.lists(st.sampled_from([b'"type":"message"', b'"type": "message"', b'"type"', b":", b"\n", b" ", b"xy"]))


@given(_PIECES, st.integers(1, 40))
def test_counting_does_not_depend_on_where_chunks_end(pieces: list[bytes], chunk: int) -> None:
    data = b"".join(pieces)
    plain = sum(bool(re.search(rb'"type": ?"message"', line)) for line in data.split(b"\n"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_CHUNK", chunk)
        assert lines._count_in(io.BytesIO(data)) == plain


def test_a_line_counts_once_and_a_nested_mark_counts(write: Write) -> None:
    path = write(
        '{"type":"message"}',
        '{"type": "message", "again": {"type":"message"}}',
        '{"type":"custom","inner":{"type":"message"}}',
        '{"type":  "message"}',
        '{"type":"messages"}',
        'half {"type":"message"',
    )
    assert count_messages(path) == 4


def test_what_cannot_be_read_has_no_count(tmp_path: Path) -> None:
    assert count_messages(tmp_path / "missing.jsonl") is None
    assert count_messages(tmp_path) is None


def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(NotFound, match="not a file"), open_regular(tmp_path / "pipe.jsonl"):
        pass


def test_a_system_error_becomes_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    path.touch()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(LcmLabError, match="Permission denied"), open_regular(path):
        pass


def test_counting_in_one_huge_line_takes_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    with path.open("wb") as stream:
        for _ in range(64):
            stream.write(b"x" * 2**20)
        stream.write(b'\n{"type":"message"}\n')
    tracemalloc.start()
    try:
        assert count_messages(path) == 1
        assert tracemalloc.get_traced_memory()[1] < 8 * 2**20
    finally:
        tracemalloc.stop()
