"""Tolerant reading: whatever a line holds, the rest is fine."""

import json
import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lcm_lab import times
from lcm_lab.errors import NotFound, UsageError
from lcm_lab.sessions.branch import active_branch
from lcm_lab.sessions.jsonl import Entry, Seen, header_session_id, page, read

Write = Callable[..., Path]


def message(number: int, text: str = "hello", **more: object) -> dict[str, object]:
    return {"type": "message", "id": f"e{number}", "message": {"role": "user", "content": text}, **more}


def one(write: Write, line: object) -> Entry:
    entries = list(read(write({"type": "session", "id": "s"}, line, message(1))))
    assert [entry.line for entry in entries] == [1, 2, 3]
    assert (entries[2].kind, entries[2].text) == ("message", "hello")
    return entries[1]


@given(st.binary(max_size=400))
@example(b"[" * 5000)
@example(b'{"a":' * 5000)
@example(b"\xff\xfe{\x00}\x00\n\x00")
@example(b"1" * 5000)
@example(b'{"type":"message","timestamp":1e400,"message":{"role":"\\ud800","content":"\\udfff"}}')
def test_any_bytes_give_rising_lines_and_no_exception(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(data)
        check(path, data)


_LINES = st.lists(
    st.recursive(
        st.none() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["type", "id", "uuid", "parentId", "message", "role", "content", "timestamp", "text", "summary"]
                ),
                inner | st.sampled_from(["message", "session", "leaf", "reset", "user", "text", "toolCall"]),
                max_size=5,
            )
        ),
        max_leaves=8,
    ).map(lambda value: json.dumps(value).encode()),
    max_size=6,
)


@given(_LINES)
def test_any_json_gives_one_entry_a_line(lines: list[bytes]) -> None:
    data = b"\n".join(lines)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.jsonl")
        path.write_bytes(data)
        assert len(check(path, data)) == len(lines)


def check(path: Path, data: bytes) -> list[Entry]:
    entries = list(read(path))
    numbers = [entry.line for entry in entries]
    assert numbers == sorted(set(numbers))
    assert all(1 <= number <= data.count(b"\n") + 1 for number in numbers)
    for entry in entries:
        assert (entry.kind == "bad") <= (entry.problem is not None)
        f"{entry.role}{entry.text}{entry.type}{entry.timestamp}{entry.entry_id}{entry.report}{entry.note}".encode()
    assert active_branch(entries) <= set(numbers)
    assert page(path, size=1).total == len(entries)
    return entries


@pytest.mark.parametrize(
    ("line", "shape"), [('"massive error"', "a text"), ("42", "a number"), ("[1]", "a list"), ("null", "null")]
)
def test_json_that_is_no_record(write: Write, line: str, shape: str) -> None:
    entry = one(write, line)
    assert (entry.kind, entry.text, entry.problem) == ("bad", line, f"valid JSON, but no record: {shape}")
    assert entry.report == f"line 2: valid JSON, but no record: {shape}"


def test_a_record_without_sense_is_shown_raw(write: Write) -> None:
    entry = one(write, {"silly": "this"})
    assert (entry.kind, entry.text) == ("bad", '{"silly": "this"}')
    assert entry.problem == "a record without type and message (keys: silly)"


def test_misspelt_keys(write: Write) -> None:
    lost = one(write, {"type": "message", "id": "x", "mesage": {"role": "user", "content": "hi"}})
    assert (lost.kind, lost.type) == ("bad", "message")
    assert lost.problem == "type message, but no message (keys: id, mesage, type)"
    untimed = one(write, message(5, timestmap="2026-01-01T00:00:00Z"))
    assert (untimed.kind, untimed.timestamp, untimed.problem) == ("message", None, None)
    odd = one(write, {"type": "mesage", "message": {"role": "user", "content": "hi"}})
    assert (odd.kind, odd.text) == ("message", "hi")


def test_message_as_plain_text(write: Write) -> None:
    entry = one(write, {"type": "user", "message": "plain"})
    assert (entry.kind, entry.role, entry.text) == ("message", "user", "plain")
    assert entry.problem == "message is plain text, not a record"


def test_content_missing_and_role_missing(write: Write) -> None:
    entry = one(write, {"type": "user", "message": {"role": "user"}})
    assert (entry.kind, entry.text, entry.problem) == ("message", "", "content is missing")
    entry = one(write, {"type": "message", "message": {"content": "who?"}})
    assert (entry.role, entry.text, entry.problem) == ("unknown", "who?", "no role")


def test_unknown_role_and_bare_strings_and_todo_items_stay(write: Write) -> None:
    entry = one(write, {"type": "message", "message": {"role": "critic", "content": ["bare"], "todos": ["a"]}})
    assert (entry.role, entry.text, entry.problem) == ("critic", "bare", None)


def test_bare_message_and_shell_result(write: Write) -> None:
    entry = one(write, {"role": "assistant", "content": [{"type": "text", "text": "hi"}]})
    assert (entry.kind, entry.role, entry.text, entry.type) == ("message", "assistant", "hi", "")
    entry = one(write, {"command": "ls", "output": "a\nb\n"})
    assert (entry.kind, entry.role, entry.text) == ("message", "shell", "$ ls\na\nb")
    entry = one(write, {"type": "message", "message": {"role": "bashExecution", "command": "ls", "output": "a"}})
    assert (entry.role, entry.text, entry.problem) == ("bashExecution", "$ ls\na", None)


def test_other_clients_ids(write: Write) -> None:
    entry = one(write, {"type": "user", "uuid": "u2", "parentUuid": "u1", "sessionId": "s", "message": {"content": ""}})
    assert (entry.entry_id, entry.parent_id, entry.role, entry.session_id) == ("u2", "u1", "user", "s")


@pytest.mark.parametrize(
    ("stored", "read_as"),
    [
        (1772352012000, "2026-03-01T08:00:12.000Z"),
        (1772352012, "2026-03-01T08:00:12.000Z"),
        (1772352012000.5, "2026-03-01T08:00:12.000Z"),
        ("2026-03-01T08:00:12Z", "2026-03-01T08:00:12Z"),
        ("yesterday", "yesterday"),
        (True, None),
        (10**25, "1" + "0" * 25),
        ("", None),
    ],
)
def test_times(write: Write, stored: object, read_as: str | None) -> None:
    for line in (message(5, timestamp=stored), {"message": {"role": "user", "content": "x", "timestamp": stored}}):
        assert one(write, line).timestamp == read_as
    if read_as and read_as.startswith("2026"):
        assert times.parse(read_as) is not None


def test_half_a_last_line(write: Write) -> None:
    entries = list(read(write(message(1), '{"type":"message","mess', end=b"")))
    assert (entries[1].kind, entries[1].problem) == ("bad", "cut off: the file ends inside this line")
    whole = list(read(write(message(1), message(2), end=b"")))
    assert [entry.problem for entry in whole] == [None, None]


def test_a_damaged_first_line(write: Write) -> None:
    first, second = read(write('/speci{"type":"session","id":"s"}', message(1)))
    assert (first.kind, first.problem, first.text[:6], second.kind) == ("bad", "not JSON", "/speci", "message")


def test_bytes_that_are_not_text(write: Write) -> None:
    entry = one(write, b'{"type":"message","message":{"role":"user","content":"caf\xe9"}}')
    assert (entry.kind, entry.text, entry.problem) == ("message", "caf\ufffd", "invalid UTF-8 replaced")
    entry = one(write, b"\x00" * 30 + json.dumps(message(7)).encode())
    assert (entry.kind, entry.entry_id, entry.problem) == ("message", "e7", "30 NUL bytes dropped")
    entry = one(write, b"\x00" * 30)
    assert (entry.kind, entry.problem) == ("bad", "30 NUL bytes dropped")
    entry = one(write, b'{"type":"message","message":{"role":"user","content":"a\x07\ttab"}}')
    assert entry.kind == "message"
    entry = one(write, '{"type":"message","message":{"role":"user","content":"\\u001b[31mFAIL\\u001b[0m"}}')
    assert entry.text == "FAIL"


def test_a_byte_order_mark_and_blank_lines(write: Write) -> None:
    path = write(b'\xef\xbb\xbf{"type":"session","id":"s"}\r', b"", b"  ", message(1))
    first, second = read(path)
    assert (first.line, first.session_id, first.problem, second.line) == (1, "s", None, 4)


def test_an_empty_file_has_no_entries(write: Write) -> None:
    assert list(read(write())) == []
    assert page(write()).entries == ()


def test_other_records_keep_their_text(write: Write) -> None:
    entry = one(write, {"type": "compaction", "id": "k", "parentId": "e", "summary": "so far"})
    assert (entry.kind, entry.type, entry.text, entry.role) == ("other", "compaction", "so far", "")
    entry = one(write, {"type": "custom_message", "content": [{"type": "text", "text": "in context"}]})
    assert (entry.kind, entry.text) == ("other", "in context")
    entry = one(write, {"type": "progress", "data": {"message": {"role": "user"}}})
    assert (entry.kind, entry.text) == ("other", "")


def test_the_session_id_changes_inside_the_file_and_ids_repeat_in_a_second_one(write: Write) -> None:
    def line(session: str, uuid: str) -> dict[str, object]:
        return {"type": "user", "sessionId": session, "uuid": uuid, "message": {"role": "user", "content": uuid}}

    first = write(line("A", "u1"), line("A", "u2"), line("B", "u3"), line("B", "u1"))
    seen = Seen()
    entries = list(read(first, seen=seen))
    assert [entry.note for entry in entries] == [
        None,
        None,
        "session id changes from A to B",
        "repeats an id seen before",
    ]
    assert [entry.duplicate for entry in entries] == [False, False, False, True]
    second = write(line("B", "u2"), line("B", "u9"), name="t.jsonl")
    assert [entry.duplicate for entry in read(second, seen=seen)] == [True, False]
    assert [entry.duplicate for entry in read(second)] == [False, False]


def test_a_huge_line_is_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"type":"file-history-snapshot","data":"')
        for _ in range(200):
            stream.write(b"x" * 2**20)
        stream.write(b'"}\n' + json.dumps(message(1)).encode() + b"\n")
    tracemalloc.start()
    try:
        snapshot, entry = read(path)
        assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    finally:
        tracemalloc.stop()
    assert (snapshot.kind, snapshot.type) == ("bad", "file-history-snapshot")
    assert snapshot.report == "line 1: 200.0 MB, skipped"
    assert (entry.line, entry.text) == (2, "hello")


def test_start_limit_and_text_limit(write: Write) -> None:
    path = write(*[message(n, "x" * 50) for n in range(1, 9)])
    assert [entry.line for entry in read(path, start=3, limit=2)] == [3, 4]
    entry = next(read(path, text_limit=10))
    assert (entry.text, entry.note) == ("x" * 10, "text cut after 10 of 50 characters")
    assert entry.problem is None


def test_pages(write: Write) -> None:
    path = write(*[message(n) for n in range(1, 11)], "bad")

    def lines(**options: int) -> tuple[list[int], bool, bool]:
        found = page(path, **options)
        assert (found.total, found.messages, found.problems) == (11, 10, 1)
        return [entry.line for entry in found.entries], found.has_older, found.has_newer

    assert lines(size=3) == ([9, 10, 11], True, False)
    assert lines(size=3, before=9) == ([6, 7, 8], True, True)
    assert lines(size=3, before=4) == ([1, 2, 3], False, True)
    assert lines(size=3, after=3) == ([4, 5, 6], True, True)
    assert lines(size=3, after=8) == ([9, 10, 11], True, False)
    assert lines(size=20) == (list(range(1, 12)), False, False)
    assert lines(size=3, after=11) == ([], True, False)
    assert lines(size=3, before=1) == ([], False, True)


def test_refusals(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UsageError):
        page(write(), before=1, after=2)
    with pytest.raises(UsageError):
        page(write(), size=0)
    with pytest.raises(NotFound, match="no session file"):
        next(read(tmp_path / "missing.jsonl"))
    with pytest.raises(NotFound, match="not a file"):
        next(read(tmp_path))


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"type":"session","id":" s1 "}', "s1"),
        (b'\xef\xbb\xbf{"type":"session","id":"s1"}', "s1"),
        (b'{"type":"session","id":" "}', None),
        (b'{"type":"message","id":"s1"}', None),
        (b'/speci{"type":"session","id":"s1"}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_header_id(line: bytes, found: str | None) -> None:
    assert header_session_id(line) == found


def test_real_files_read_without_trouble(shared: Path) -> None:
    for path in sorted((shared / "transcripts").rglob("*.jsonl")):
        entries = list(read(path))
        assert sum(entry.kind == "message" for entry in entries) > 0, path
        assert sum(entry.kind == "bad" for entry in entries) <= 1, path
        assert active_branch(entries), path


@pytest.mark.parametrize(
    ("name", "messages", "bad"),
    [
        ("openclaw/skill-curation.jsonl", 36, 0),
        ("openclaw/short.jsonl", 17, 0),
        ("openclaw/damaged-first-line.jsonl", 16, 1),
        ("pi/large-session.jsonl", 914, 0),
    ],
)
def test_real_openclaw_and_pi_files(shared: Path, name: str, messages: int, bad: int) -> None:
    entries = list(read(shared / "transcripts" / name))
    assert sum(entry.kind == "message" for entry in entries) == messages
    assert [entry.line for entry in entries if entry.kind == "bad"] == [1] * bad
    assert all(times.parse(entry.timestamp) for entry in entries if entry.kind != "bad")
    assert active_branch(entries) == {entry.line for entry in entries}
