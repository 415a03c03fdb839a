"""Which files make the list of sessions, in which order, and which stand behind others."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lcm_lab.errors import NotFound, UsageError
from lcm_lab.sessions import discover
from lcm_lab.sessions.discover import Cursor, find, folder, sessions
from lcm_lab.sessions.jsonl import read
from lcm_lab.sessions.lines import count_messages
from lcm_lab.sessions.state import agents

START = 1_700_000_000
Put = Callable[..., Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """A function that puts a session file into the agent ``tmp_path``; ``age`` in seconds after a fixed moment."""

    def put_file(name: str, *, header: str | None = None, messages: int = 1, age: int = 0, pad: int = 0) -> Path:
        path = tmp_path / "sessions" / name
        path.parent.mkdir(exist_ok=True)
        lines = [] if header is None else [json.dumps({"type": "session", "id": header})]
        lines += [
            json.dumps({"type": "message", "message": {"role": "user", "content": f"{n}" + "x" * pad}})
            for n in range(messages)
        ]
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (START + age, START + age))
        return path

    return put_file


def stems(agent: Path) -> list[str]:
    return [one.stem for one in sessions(agent).files]


def test_a_row_says_what_the_file_is(tmp_path: Path, put: Put) -> None:
    path = put("abc-topic-7.jsonl", header="h", messages=3, age=5)
    (row,) = sessions(tmp_path).files
    assert (row.path, row.stem, row.session_id, row.messages) == (path, "abc-topic-7", "h", 3)
    assert (row.topic_base, row.topic, row.duplicates, row.hidden_as) == ("abc", "7", (), None)
    assert row.modified == datetime.fromtimestamp(START + 5, UTC)
    assert row.estimated_tokens == path.stat().st_size // 4


@pytest.mark.parametrize("stem", ["abc-topic-", "abc-topic-x7", "-topic-7", "abc-topic-7x", "abc-topic-７"])
def test_stems_that_are_no_topic(tmp_path: Path, put: Put, stem: str) -> None:
    put(f"{stem}.jsonl")
    (row,) = sessions(tmp_path).files
    assert (row.topic_base, row.topic) == (None, None)


def test_a_topic_file_stands_for_the_plain_one_even_if_older(tmp_path: Path, put: Put) -> None:
    plain = put("id.jsonl", header="id", messages=9, age=100)
    topic = put("id-topic-7.jsonl", header="id", messages=2, age=1)
    page = sessions(tmp_path)
    (row,) = page.files
    assert (row.path, row.messages, row.duplicates) == (topic, 2, (plain,))
    assert (page.total, page.duplicates) == (1, 1)


def test_then_the_newer_the_larger_and_the_smaller_name(tmp_path: Path, put: Put) -> None:
    put("old.jsonl", header="a", messages=9, age=1)
    put("new.jsonl", header="a", age=2)
    put("small.jsonl", header="b", age=3)
    put("large.jsonl", header="b", messages=2, age=3)
    put("y.jsonl", header="c", age=4)
    put("x.jsonl", header="c", age=4)
    assert stems(tmp_path) == ["x", "large", "new"]


def test_a_bad_or_blank_header_leaves_the_stem(tmp_path: Path, put: Put) -> None:
    put("a.jsonl", header=" ")
    put("b.jsonl")
    put("c.jsonl").write_text('/speci{"type":"session","id":"a"}\n')
    put("d.jsonl").write_text('\n  \n{"type":"session","id":"real"}\n')
    put("e.jsonl").write_text("")
    put("f.jsonl").write_text('{"type":"session","id":"too far","pad":"' + "x" * 2**20 + '"}\n')
    put("g.jsonl").write_text('{"type":"session","pad":"' + "x" * 2**19 + '","id":"long"}\n')
    put("h.jsonl").write_text(" " * 2**21)
    found = {one.stem: one.session_id for one in sessions(tmp_path).files}
    assert found == {"a": "a", "b": "b", "c": "c", "d": "real", "e": "e", "f": "f", "g": "long", "h": "h"}


def test_newest_first_then_by_name(tmp_path: Path, put: Put) -> None:
    for name, age in (("b", 1), ("a", 1), ("z", 2), ("c", 0)):
        put(f"{name}.jsonl", age=age)
    assert stems(tmp_path) == ["z", "a", "b", "c"]


def test_only_live_files_directly_in_the_folder(tmp_path: Path, put: Put) -> None:
    put("live.jsonl")
    put("live.jsonl.reset.2026-11-29T22-07-11.382Z")
    put("gone.jsonl.deleted.2026-11-29T22-07-11.382Z")
    put("live.jsonl.codex-app-server.json")
    put("sessions.json")
    (tmp_path / "sessions" / "folder.jsonl").mkdir()
    (tmp_path / "sessions" / "link.jsonl").symlink_to("nowhere")
    os.mkfifo(tmp_path / "sessions" / "pipe.jsonl")
    page = sessions(tmp_path)
    assert [one.stem for one in page.files] == ["live"]
    assert (page.reset_files, page.deleted_files) == (1, 1)


def test_agent_files_and_warm_ups_are_hidden_unless_asked_for(tmp_path: Path, put: Put) -> None:
    put("agent-abc.jsonl", age=3)
    warm = [
        {"type": "session", "id": "w"},
        {"type": "user", "message": {"role": "user", "content": "Warmup"}},
        {"type": "assistant", "message": {"role": "assistant", "content": "Ready."}},
    ]
    put("warm.jsonl", age=2).write_text("".join(json.dumps(one) + "\n" for one in warm))
    warm.append({"type": "user", "message": {"role": "user", "content": "And now to work"}})
    put("used.jsonl", age=1).write_text("".join(json.dumps(one) + "\n" for one in warm[1:]))
    page = sessions(tmp_path)
    assert ([one.stem for one in page.files], page.hidden, page.total) == (["used"], 2, 1)
    shown = sessions(tmp_path, show_hidden=True)
    assert {one.stem: one.hidden_as for one in shown.files} == {
        "agent-abc": "agent file",
        "warm": "warm-up",
        "used": None,
    }
    assert shown.hidden == 0


def test_pages_follow_each_other_and_count_only_what_they_show(
    tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(12):
        put(f"s{number:02}.jsonl", age=number // 2)
    counted: list[Path] = []

    def count(path: Path) -> int | None:
        counted.append(path)
        return count_messages(path)

    monkeypatch.setattr(discover, "count_messages", count)
    found: list[str] = []
    cursor: Cursor | None = None
    sizes = []
    while True:
        page = sessions(tmp_path, limit=5, cursor=cursor)
        sizes.append(len(counted))
        found += [one.stem for one in page.files]
        assert page.total == 12
        cursor = page.next
        if cursor is None:
            break
    assert sizes == [5, 10, 12]
    assert found == ["s10", "s11", "s08", "s09", "s06", "s07", "s04", "s05", "s02", "s03", "s00", "s01"]


def test_the_next_page_holds_when_the_last_row_is_gone(tmp_path: Path, put: Put) -> None:
    paths = [put(f"s{number}.jsonl", age=-number) for number in range(4)]
    page = sessions(tmp_path, limit=2)
    paths[1].unlink()
    assert [one.stem for one in sessions(tmp_path, limit=2, cursor=page.next).files] == ["s2", "s3"]


def test_a_file_that_cannot_be_read_has_no_count(tmp_path: Path, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = put("closed.jsonl", header="other")
    put("open.jsonl", messages=2)
    plain = Path.open

    def refuse(self: Path, *args: object, **options: object) -> object:
        if self == closed:
            raise PermissionError(13, "Permission denied")
        return plain(self, *args, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    assert {one.stem: (one.session_id, one.messages) for one in sessions(tmp_path).files} == {
        "closed": ("closed", None),
        "open": ("open", 2),
    }


def test_no_folder_and_a_file_in_its_place(tmp_path: Path) -> None:
    page = sessions(tmp_path)
    assert (page.files, page.total, page.next, page.problem) == ((), 0, None, None)
    (tmp_path / "sessions").write_text("")
    page = sessions(tmp_path)
    assert page.problem is not None
    assert page.problem.startswith(f"Cannot list {tmp_path / 'sessions'}")


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_out_of_range_is_refused(tmp_path: Path, limit: int) -> None:
    with pytest.raises(UsageError):
        sessions(tmp_path, limit=limit)


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / os.fsdecode(b"caf\xe9.jsonl")).write_text("")
    (row,) = sessions(tmp_path).files
    assert (row.stem, row.messages) == ("caf\ufffd", 0)


def test_a_time_beyond_the_calendar(tmp_path: Path, put: Put) -> None:
    assert discover._moment(10**21) == datetime.max.replace(tzinfo=UTC)
    assert discover._moment(-(10**21)) == datetime.min.replace(tzinfo=UTC)


def test_a_session_is_found_by_stem_file_name_header_id_and_duplicate(tmp_path: Path, put: Put) -> None:
    plain = put("id.jsonl", header="h")
    topic = put("id-topic-7.jsonl", header="h")
    for name in ("id-topic-7", "id-topic-7.jsonl", "h", "id", "id.jsonl"):
        row = find(tmp_path, name)
        assert (row.path, row.duplicates, row.messages) == (topic, (plain,), 1)
    put("agent-x.jsonl")
    assert find(tmp_path, "agent-x").hidden_as == "agent file"
    with pytest.raises(NotFound, match="no session 'nope'"):
        find(tmp_path, "nope")


def test_five_thousand_files_come_quickly(tmp_path: Path, put: Put) -> None:
    for number in range(5000):
        put(f"s{number}.jsonl", header=f"s{number}", age=number)
    start = time.perf_counter()
    page = sessions(tmp_path)
    assert time.perf_counter() - start < 5
    assert (page.total, len(page.files), page.files[0].stem) == (5000, 50, "s4999")


def test_the_real_jsonl_state(state_copy: Callable[[str], Path]) -> None:
    (main,) = agents(state_copy("jsonl-0.15.3"))
    page = sessions(main)
    assert (main.name, page.total, page.reset_files, page.deleted_files) == ("main", 2, 2, 0)
    assert sorted((one.messages, one.session_id == one.stem) for one in page.files) == [(4, True), (4, True)]
    everything = sorted((main.path / "sessions").glob("*.jsonl*"))
    assert sorted(sum(1 for _ in read(path)) for path in everything) == [8, 8, 8, 49]
    assert sorted(count_messages(path) or 0 for path in everything) == [4, 4, 4, 45]
    assert len(folder(main.path).live) == 2
