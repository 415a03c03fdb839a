"""Transcripts of our own making, with everything that real ones hold: turns, pairs, usage, boundaries, damage."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lcm_lab.hooks import transcript
from lcm_lab.hooks import turns as turns_module

if TYPE_CHECKING:
    from pathlib import Path


def line(kind: str, **more: Any) -> bytes:
    """One line in the client's own compact spelling."""
    given = {"parentUuid": None, "isSidechain": False, "type": kind, "timestamp": "2026-01-02T03:04:05.000Z", **more}
    return json.dumps(given, separators=(",", ":")).encode() + b"\n"


def user(text: Any, **more: Any) -> bytes:
    """A line of the user role."""
    return line("user", message={"role": "user", "content": text}, **more)


def says(
    *blocks: dict[str, Any] | str, message: str = "m1", stop: str | None = "end_turn", usage: int = 0, **more: Any
) -> bytes:
    """A line of the model; texts or blocks."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    body = {"id": message, "role": "assistant", "model": "m", "content": content, "stop_reason": stop}
    body["usage"] = {"input_tokens": usage, "output_tokens": 5}
    return line("assistant", message=body, **more)


def call(name: str, call_id: str, **given: Any) -> dict[str, Any]:
    """A tool_use block."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def result(call_id: str, content: Any, *, error: bool = False) -> dict[str, Any]:
    """A tool_result block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": error}


def read(
    tmp_path: Path, *lines: bytes, offset: int = 0, final: bool = True
) -> tuple[list[transcript.Turn], transcript.Reader]:
    """The turns of these lines and the reader."""
    file = tmp_path / "t.jsonl"
    file.write_bytes(b"".join(lines))
    reader = transcript.Reader(str(file))
    return list(reader.turns(offset, final=final)), reader


def test_tool_results_do_not_start_turns(tmp_path: Path) -> None:
    """Request, text and call, result, last text, client lines: one turn with its pair and its last text."""
    (turn,), _ = read(
        tmp_path,
        user("Run it", promptId="p1", uuid="u1"),
        says("I run it.", stop=None),
        says(call("Bash", "c1", command="make"), stop="tool_use"),
        user([result("c1", "Exit code 2\nno rule", error=True)], promptId="p1"),
        says("It fails.", message="m2"),
        line("system", subtype="turn_duration"),
        line("attachment", attachment={"type": "date", "date": "x"}),
    )
    assert (turn.user_text, turn.final_text, turn.state) == ("Run it", "It fails.", "complete")
    assert turn.assistant_texts == ["I run it.", "It fails."]
    (made,) = turn.tools
    assert (made.name, made.input, made.output, made.exit_code, made.is_error) == (
        "Bash",
        {"command": "make"},
        "Exit code 2\nno rule",
        2,
        True,
    )


@pytest.mark.parametrize(
    "own",
    [
        user("Caveat", isMeta=True),
        user("This session is being continued", isCompactSummary=True),
        user("hidden", isVisibleInTranscriptOnly=True),
        user("from a mod", rowSource="hook"),
        user("sub task", isSidechain=True),
        user("<command-name>/compact</command-name>"),
        user("<local-command-stdout>ok</local-command-stdout>"),
        user("<task-notification>\n<task-id>1</task-id>"),
        user("<bash-input>ls</bash-input>"),
        user([{"type": "text", "text": "<system-reminder>x</system-reminder>"}]),
        user("   "),
    ],
)
def test_what_the_client_writes_is_no_turn(own: bytes, tmp_path: Path) -> None:
    """Lines in the user role that no person wrote belong to the turn before."""
    turns, _ = read(tmp_path, user("One"), says("a"), own, says("b", message="m2"))
    assert [turn.user_text for turn in turns] == ["One"]


def test_a_skill_command_is_a_turn(tmp_path: Path) -> None:
    """It asks the model something; its name and arguments are the request."""
    text = "<command-message>review</command-message>\n<command-name>/review</command-name>\n"
    text += "<command-args>a b</command-args>"
    (turn,), _ = read(tmp_path, user(text), user([{"type": "text", "text": "Base directory"}], isMeta=True), says("ok"))
    assert (turn.command, turn.user_text) == ("/review", "/review a b")


def test_interrupts_and_what_is_typed_meanwhile(tmp_path: Path) -> None:
    """An interrupt ends the turn; text beside a result and queued text stay in it."""
    turns, _ = read(
        tmp_path,
        user("One"),
        says(call("Bash", "c1"), stop="tool_use"),
        user([result("c1", "ok"), {"type": "text", "text": "and faster"}]),
        line("attachment", attachment={"type": "queued_command", "prompt": "also this"}),
        says(call("Bash", "c2"), stop="tool_use", message="m2"),
        user([{"type": "text", "text": "[Request interrupted by user for tool use]"}]),
        user("Two"),
    )
    assert [(turn.user_text, turn.state) for turn in turns] == [("One", "interrupted"), ("Two", "interrupted")]
    assert turns[0].followups == ["and faster", "also this"]
    assert turns[0].tools[1].output is None


NO = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit)."
SAID = f"{NO} To tell you how to proceed, the user said:\n"


def test_the_reason_of_a_rejection_is_what_the_user_said(tmp_path: Path) -> None:
    """Two parallel calls are rejected with one reason; a bare rejection says nothing."""
    why = f"{SAID}use a switch\nand keep it short"
    denied = "Permission for this tool use was denied. The tool use was rejected (eg. a). The user said:\nnot on main"
    turns, _ = read(
        tmp_path,
        user("One"),
        says(call("Edit", "c1"), call("Edit", "c2"), stop="tool_use"),
        user([result("c1", why, error=True), result("c2", why, error=True)]),
        says(*(call("Bash", f"c{n}") for n in (3, 4)), stop="tool_use", message="m2"),
        user([result("c3", f"{NO} STOP what you are doing and wait for the user.", error=True)]),
        user([result("c4", [{"type": "text", "text": denied}, {"type": "text", "text": "more"}], error=True)]),
        says("ok", message="m3"),
    )
    assert [turn.user_text for turn in turns] == ["One"]
    assert turns[0].refusals == ["use a switch\nand keep it short", "not on main"]
    assert turns[0].followups == []


@pytest.mark.parametrize(
    ("content", "error", "said"),
    [
        (f"{SAID}we must never use SQLite", False, ""),  # a file or a page that holds the words
        ("[Request interrupted by user] the user said:\nx", True, ""),
        ("Permission to use the API was denied; the user said:\nx", True, ""),
        (f"in the log: {SAID}x", True, ""),
        (f"{SAID}The user wants to clarify these questions.\n  This means they may", True, ""),
        (f"{SAID}The user has indicated they have provided enough answers", True, ""),
        (f"{SAID}use a map\n\nNote: The user's next message may contain a correction.", True, "use a map"),
        (f"{SAID}use a map\n<system-reminder>never do that</system-reminder>", True, "use a map"),
        ([{"type": "text", "text": f"{SAID}a map"}, {"type": "image", "source": {"data": "abc"}}], True, "a map"),
        ([f"{SAID}a map"], True, "a map"),
        ([None, 7], True, ""),
        (None, True, ""),
    ],
)
def test_only_the_words_of_the_user_count_as_such(content: Any, error: bool, said: str) -> None:  # noqa: FBT001
    """What only looks like a rejection, what the client says itself, and what it adds behind the words."""
    assert turns_module.said_instead(content, is_error=error) == said


def test_a_rejection_inside_a_sub_agent_is_not_said_by_the_user(tmp_path: Path) -> None:
    """The same in one piece and in two: the line of the result says where it belongs."""
    lines = [
        user("One"),
        says(call("Edit", "c1"), stop="tool_use", isSidechain=True),
        says("done"),
        user("Two"),
        user([result("c1", f"{SAID}not here", error=True)], isSidechain=True),
    ]
    for offset in (0, sum(len(one) for one in lines[:3])):
        turns, _ = read(tmp_path, *lines, offset=offset)
        assert all(turn.refusals == [] for turn in turns)


def test_parallel_calls_in_any_order_and_late_results(tmp_path: Path) -> None:
    """Results find their call by its id; one whose call lies before the offset is handed out apart."""
    lines = [
        user("One"),
        says(call("Read", "c1"), call("Read", "c2"), call("Read", "c3"), stop="tool_use"),
        user([result("c3", "three"), result("c1", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])]),
        user("Two"),
        user([result("c2", "late")]),
    ]
    turns, _ = read(tmp_path, *lines)
    assert [made.output for made in turns[0].tools] == ["a\nb", "late", "three"]
    turns, reader = read(tmp_path, *lines, offset=sum(len(one) for one in lines[:3]))
    assert [turn.user_text for turn in turns] == ["Two"]
    assert [(made.id, made.output) for made in reader.late] == [("c2", "late")]


def test_reading_in_pieces_gives_the_same(tmp_path: Path) -> None:
    """From the start of any turn on, the turns behind it are the same."""
    lines = [user("One"), says("a"), user("Two"), says("b", message="m2"), user("Three"), says("c", message="m3")]
    whole, _ = read(tmp_path, *lines)
    rest, _ = read(tmp_path, *lines, offset=whole[1].start)
    assert [(t.user_text, t.final_text, t.start, t.end) for t in rest] == [
        (t.user_text, t.final_text, t.start, t.end) for t in whole[1:]
    ]


def test_copied_lines_count_once(tmp_path: Path) -> None:
    """Lines that a resume repeats by uuid, and messages that a compaction writes again, change nothing."""
    again = says("a", uuid="new", usage=0)
    (turn,), reader = read(
        tmp_path, user("One", uuid="u1", promptId="p"), says("a", uuid="u2", usage=100),
        user("One", uuid="u1", promptId="p"),
        user("One", uuid="u9", promptId="p"), says("a", uuid="u2", usage=100), again,
    )  # fmt: skip
    assert (turn.assistant_texts, turn.followups) == (["a"], [])
    assert reader.usage == {"m1": (100, 5)}


def test_usage_once_per_message_and_the_size_after_a_boundary(tmp_path: Path) -> None:
    """Every line of a message repeats its usage; after a boundary the client's own figure stands till the next one."""
    lines = [user("One"), says("a", usage=1000, stop=None), says("b", usage=1000), says("c", message="m2", usage=1500)]
    _, reader = read(tmp_path, *lines)
    assert (len(reader.usage), reader.context_tokens) == (2, 1505)
    assert reader.growth[0] == 500
    meta = {"trigger": "auto", "preTokens": 1505, "postTokens": 300}
    boundary = line("system", subtype="compact_boundary", compactMetadata=meta)
    _, reader = read(tmp_path, *lines, boundary)
    assert reader.context_tokens == 300
    assert [(b.trigger, b.pre_tokens, b.post_tokens, b.turn) for b in reader.boundaries] == [("auto", 1505, 300, 1)]


def test_sidechains_and_agent_progress(tmp_path: Path) -> None:
    """Calls of sub-agents in the main file are marked and their texts are not the turn's."""
    progress = {"type": "agent_progress", "agentId": "a7"}
    asked = {"message": {"content": [call("Glob", "c2")]}, "type": "assistant"}
    told = {"message": {"content": [result("c2", "x")]}, "type": "user"}
    (turn,), _ = read(
        tmp_path,
        user("One"),
        says("inner", call("Read", "c1"), isSidechain=True, agentId="a1"),
        line("progress", data={**progress, "message": asked}),
        line("progress", data={**progress, "message": told}),
        says("outer", message="m2"),
    )
    assert turn.assistant_texts == ["outer"]
    assert [(made.id, made.sidechain, made.agent_id, made.output) for made in turn.tools] == [
        ("c1", True, "a1", None),
        ("c2", True, "a7", "x"),
    ]


def test_sub_agent_files_are_found_in_each_place(tmp_path: Path) -> None:
    """Beside the session's own folder, one level deeper for workflows, and beside a copied session."""
    main = tmp_path / "sid.jsonl"
    main.write_bytes(user("One"))
    for folder in ("sid/subagents", "sid/subagents/flow", "subagents"):
        (tmp_path / folder).mkdir(parents=True)
        name = f"agent-{len(folder)}.jsonl"
        (tmp_path / folder / name).write_bytes(
            user("task", isSidechain=True) + says(call("Read", f"c{len(folder)}"), isSidechain=True)
        )
    files = transcript.agent_files(str(main))
    assert len(files) == 3
    assert {made.sidechain for file in files for made in transcript.agent_calls(file)} == {True}


def test_damage_is_passed_over(tmp_path: Path) -> None:
    """Broken lines, unknown types, wrong shapes, spaced JSON, invalid bytes, separators inside texts."""
    spaced = json.dumps({"type": "user", "message": {"role": "user", "content": "Spaced"}}).encode() + b"\n"
    turns, reader = read(
        tmp_path,
        b'{"type":"user","message":{"role":"us\n',
        b"\n",
        b"not json at all\n",
        line("brand-new", anything=1),
        line("user"),
        line("user", message=[1]),
        line("assistant", message={"content": "text"}),
        line("assistant", message={"content": [3, None, {"type": "tool_use"}]}),
        user("One \u2028 and \u0085 more \ud83d"),
        user("Bytes ").replace(b"Bytes", b"By\xfftes"),
        spaced,
    )
    assert len(turns) == 3
    assert turns[0].user_text.startswith("One \u2028 and \u0085")
    assert turns[2].user_text == "Spaced"
    assert reader.bad_lines >= 1


def test_a_last_line_without_its_end_is_still_being_written(tmp_path: Path) -> None:
    """It is left alone until the file is known to be complete."""
    turns, reader = read(tmp_path, user("One"), says("done")[:-1], final=False)
    assert turns[0].final_text == ""
    assert reader.end == len(user("One"))
    turns, _ = read(tmp_path, user("One"), says("done")[:-1], final=True)
    assert turns[0].final_text == "done"


def test_huge_useless_lines_are_never_held(tmp_path: Path) -> None:
    """A snapshot of 60 MB costs no more memory than a short one."""
    import tracemalloc

    file = tmp_path / "t.jsonl"
    with file.open("wb") as out:
        out.write(user("One"))
        out.write(b'{"type":"file-history-snapshot","data":"')
        for _ in range(60):
            out.write(b"x" * (1 << 20))
        out.write(b'"}\n' + says("done"))
    tracemalloc.start()
    (turn,) = transcript.Reader(str(file)).turns(final=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert turn.final_text == "done"
    assert peak < 8 << 20
