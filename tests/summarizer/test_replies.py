"""From what a server sent to a draft: text and nothing else."""

import json
from typing import Any

import pytest

from lcm_lab.errors import BadReply
from lcm_lab.summarizer.replies import Gathering, StreamCut, StreamError, draft_of, message_of, sendable
from lcm_lab.summarizer.replies import without_reasoning as stripped
from tests.stand_in import blocks, redacted, text, thinking


def draft(*content: Any, **more: Any) -> Any:
    """The draft of a message with these blocks."""
    message = {**(blocks(*content).message or {}), **more}
    return draft_of(message, provider="anthropic", model="asked", seconds=1.5)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([thinking(), text("One.")], "One."),
        ([redacted(), text("One."), text("Two.")], "One.\nTwo."),
        ([text(" One. "), text("\n"), text("One."), text("Two.")], "One.\nTwo."),
        ([text("<think>plan…</think>Port is 443.")], "Port is 443."),
        ([text("<thinking>\na\n</thinking>\n\n<think>b</think>\nC")], "C"),
        ([text("<THINK>x</THINK> Y")], "Y"),
        ([text("They wrote <think> tags.")], "They wrote <think> tags."),
        ([text("<thinker> is a tag")], "<thinker> is a tag"),
        ([{"type": "tool_use", "name": "x", "input": {}}, text("T")], "T"),
    ],
)
def test_the_text_of_a_reply(content: list[Any], expected: str) -> None:
    """B14, B63."""
    assert draft(*content).text == expected


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], r"empty reply: blocks of type \(none\)"),
        ([text("  \n")], "empty reply: blocks of type text"),
        ([thinking(), redacted()], "empty reply: blocks of type redacted_thinking, thinking"),
        ([text("<think>plan…</think> \n")], "all of its text is reasoning"),
        ([text("<thinking>never closed")], "all of its text is reasoning"),
        ([{"type": "text", "text": None}], "empty reply"),
        (["odd", 7], "empty reply"),
    ],
)
def test_a_reply_without_text_is_refused(content: list[Any], said: str) -> None:
    """B12, B14: nothing is made up in its place."""
    with pytest.raises(BadReply, match=said):
        draft(*content)


def test_the_stop_reason_is_named_with_an_empty_reply() -> None:
    with pytest.raises(BadReply, match="stop reason max_tokens"):
        draft(thinking(), stop_reason="max_tokens")


def test_counts_and_names() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": None, "output_tokens": 3}
    found = draft(text("T"), usage=usage, model="dated-1", stop_reason="max_tokens")
    assert (found.input_tokens, found.output_tokens, found.model, found.cut_off) == (12, 3, "dated-1", True)
    assert found.seconds == 1.5
    odd = draft(text("T"), usage="none", model=7, stop_reason=9)
    assert (odd.input_tokens, odd.output_tokens, odd.model, odd.stop_reason) == (None, None, "asked", None)


@pytest.mark.parametrize("words", ["<think>" * 50_000, "<think>a</think>" * 20_000, "<" * 100_000])
def test_stripping_takes_no_long_time(words: str) -> None:
    assert stripped(words) in ("", words)


def test_halves_of_characters_are_replaced() -> None:
    assert sendable("a\ud83db😀") == "a\ufffdb😀"


def test_streams_that_tell_something_else() -> None:
    gathering = Gathering()
    for data in ('{"choices": []}', "[DONE]", "no json", "[1]"):
        gathering.take(data)
    with pytest.raises(BadReply, match="something else"):
        gathering.message()
    with pytest.raises(StreamCut):
        Gathering().message()


def test_a_stream_without_the_start_of_a_block_is_still_read() -> None:
    gathering = Gathering()
    for event in (
        {"type": "message_start", "message": {"model": "m"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    ):
        gathering.take(json.dumps(event))
    assert gathering.message()["content"] == [{"type": "text", "text": "Hi"}]


def test_bodies_that_are_no_message() -> None:
    with pytest.raises(StreamError, match="too long"):
        message_of('{"error": {"message": "too long"}}', "http://x")
    for body in ("", "null", '{"choices": []}', '{"content": "text"}'):
        with pytest.raises(BadReply, match="http://x answered with JSON that is no message"):
            message_of(body, "http://x")
