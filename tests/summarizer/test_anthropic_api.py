"""The Messages API through the real client library, against a server on this machine that answers from a script."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import anthropic  # noqa: F401  (loaded here, so that no test's time includes it)
import pytest

from lcm_lab.errors import BadReply, ModelBusy, ModelError, ModelRefused
from lcm_lab.summarizer.anthropic_api import AnthropicSummarizer
from lcm_lab.summarizer.credentials import PLACEHOLDER, Key
from lcm_lab.summarizer.patience import Patience, retry_after
from lcm_lab.summarizer.provider import Provider
from lcm_lab.summarizer.seam import Draft, Request, Summarizer
from tests import stand_in as said
from tests.stand_in import Reply, StandIn, ok

SECRET = "sk-ant-api03-very-secret"  # noqa: S105  (a made-up one)
QUICK = Patience(timeout=20.0, deadline=60.0, attempts=3, first_wait=0.01, longest_wait=2.0)
ASK = Request("Sum this up.", 100)
ENDED_EARLY = Reply(body=said.events(said.cut_stream()), content_type="text/event-stream")
"""A stream whose connection ends in good order, and in the middle of the message."""


def against(url: str, *, model: str = "claude-sonnet-5-5", name: str = "anthropic", **more: Any) -> AnthropicSummarizer:
    """A summarizer that asks the server at an address."""
    more.setdefault("patience", QUICK)
    to = Provider(name, model, url, "--provider", "--model", "--base-url")
    return AnthropicSummarizer(to, Key(SECRET, "ANTHROPIC_API_KEY"), **more)


def ask(*replies: Reply, request: Request = ASK, **more: Any) -> tuple[Draft | ModelError, StandIn]:
    """What becomes of a request when the server answers so; the same, called and awaited."""
    results: list[Draft | ModelError] = []
    for call in (_called, _awaited):
        with StandIn(*replies) as server:
            summarizer = against(server.url, **more)
            try:
                results.append(call(summarizer, request))
            except ModelError as error:
                results.append(error)
            summarizer.close()
        counts = len(server.requests)
        results.append(ModelError(str(counts)))
    first, first_count, second, second_count = results
    assert type(first) is type(second)
    assert str(first_count) == str(second_count)
    if isinstance(first, Draft) and isinstance(second, Draft):
        assert first.text == second.text
    else:
        assert SECRET not in str(first) + str(second)
    return first, server


def _called(summarizer: AnthropicSummarizer, request: Request) -> Draft:
    return summarizer.complete(request)


def _awaited(summarizer: AnthropicSummarizer, request: Request) -> Draft:
    return asyncio.run(summarizer.acomplete(request))


def draft(*replies: Reply, **more: Any) -> Draft:
    """As ask, where a draft is expected."""
    found, _ = ask(*replies, **more)
    assert isinstance(found, Draft), found
    return found


def error(kind: type[ModelError], *replies: Reply, requests: int = 1, **more: Any) -> str:
    """As ask, where an error of just this kind is expected after so many requests; its sentence."""
    found, server = ask(*replies, **more)
    assert type(found) is kind, found
    assert len(server.requests) == requests
    assert "\n" not in str(found)
    return str(found)


def test_a_reply_and_what_was_sent() -> None:
    found, server = ask(ok("Port is 443."))
    assert isinstance(found, Draft)
    assert (found.text, found.model, found.provider) == ("Port is 443.", "claude-sonnet-5-5", "anthropic")
    assert (found.stop_reason, found.cut_off) == ("end_turn", False)
    assert (found.input_tokens, found.output_tokens) == (120, 30)
    assert found.seconds > 0
    (request,) = server.requests
    assert request.path == "/v1/messages"
    assert request.body["max_tokens"] == ASK.max_tokens
    assert request.body["messages"] == [{"role": "user", "content": "Sum this up."}]
    assert {"temperature", "top_p", "system"} & set(request.body) == set()
    # Servers look for the key in one header or the other.
    assert request.headers["authorization"] == f"Bearer {SECRET}"
    assert request.headers["x-api-key"] == SECRET
    assert "anthropic-version" in request.headers


def test_the_official_address_gets_the_key_once() -> None:
    to = Provider("anthropic", "m", "https://api.anthropic.com")
    assert AnthropicSummarizer(to, Key(SECRET, "x"))._settings()["default_headers"] == {}


def test_it_is_a_summarizer_and_describes_itself_without_the_key() -> None:
    summarizer: Summarizer = against("https://me:pw@gw.example")
    assert summarizer.described == (
        "anthropic, model claude-sonnet-5-5, at https://gw.example (key: ANTHROPIC_API_KEY)"
    )
    assert summarizer.model == "claude-sonnet-5-5"
    assert SECRET not in repr(summarizer)


def test_the_librarys_own_variables_are_not_listened_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "another-token")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "another-key")
    _, server = ask(ok())
    assert server.requests[0].headers["authorization"] == f"Bearer {SECRET}"


def test_a_server_on_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert draft(ok("Direct.")).text == "Direct."


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (said.blocks(said.thinking(), said.text("One.")), "One."),
        (said.blocks(said.redacted(), said.text("One."), said.text("Two.")), "One.\nTwo."),
        (ok("<think>plan…</think>Port is 443."), "Port is 443."),
        (ok("über 東京 🔥\u2028x"), "über 東京 🔥\u2028x"),
    ],
)
def test_only_text_is_kept(reply: Reply, text: str) -> None:
    """B14, B63."""
    assert draft(reply).text == text


@pytest.mark.parametrize("reply", [said.empty(), ok("  \n"), said.thinking_only(), ok("<think>only")])
def test_an_empty_reply_is_an_error(reply: Reply) -> None:
    """B12, B14: it is not tried again, and no text takes its place."""
    assert "empty reply" in error(BadReply, reply)


def test_a_reply_that_was_cut_off_says_so() -> None:
    """B67."""
    assert draft(said.cut_off("Only half of")).cut_off


def test_a_large_target_is_sent_and_answered() -> None:
    """B64: without a stream the client library refuses such a limit."""
    found, server = ask(ok("Long."), request=Request("Sum this up.", 32_000))
    assert isinstance(found, Draft)
    assert server.requests[0].body["max_tokens"] == 32_000 + 2048
    assert server.requests[0].body["stream"] is True


def test_a_large_prompt_is_sent_whole() -> None:
    """B68."""
    prompt = "m" * 3_000_000
    found, server = ask(ok(), request=Request(prompt, 100))
    assert isinstance(found, Draft)
    assert server.requests[0].prompt == prompt


def test_half_a_character_in_a_prompt_does_no_harm() -> None:
    found, server = ask(ok(), request=Request("cut \ud83d here", 100))
    assert isinstance(found, Draft)
    assert server.requests[0].prompt == "cut \ufffd here"


def test_a_server_that_does_not_stream() -> None:
    message = ok("Plain.").message
    assert draft(Reply(body=json.dumps({**(message or {}), "model": "m"}).encode())).text == "Plain."


def test_a_rate_limit_is_waited_for() -> None:
    """B65: twice refused with a time to wait, then answered; each wait is told."""
    waits: list[tuple[float, str]] = []
    found, server = ask(
        said.rate_limited(0.05), said.rate_limited(0.05), ok(), on_wait=lambda *told: waits.append(told)
    )
    assert isinstance(found, Draft)
    assert len(server.requests) == 3
    assert [seconds for seconds, _ in waits] == [0.05] * 4
    assert "limits the rate of requests (Too many requests)" in waits[0][1]
    first, second, third = (request.at for request in server.requests)
    assert min(second - first, third - second) >= 0.05


def test_a_time_to_wait_may_be_a_date() -> None:
    at = datetime.now(UTC) + timedelta(seconds=30)
    assert 28 < (retry_after(format_datetime(at, usegmt=True)) or 0) <= 30
    assert retry_after("nan") is None
    assert retry_after(None) is None
    past = format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)
    assert isinstance(draft(said.rate_limited(past), ok()), Draft)


def test_a_wait_beyond_the_limits_is_not_begun() -> None:
    begun = time.monotonic()
    assert "in 3600 s and we wait 2 s at most: given up after 1 attempt" in error(ModelBusy, said.rate_limited(3600))
    patience = Patience(timeout=1, deadline=1, first_wait=0.01)
    assert "the deadline is before that" in error(ModelBusy, said.rate_limited(30), patience=patience)
    assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (said.overloaded(), "anthropic is overloaded (Overloaded)."),
        (said.error(500, "api_error", "Internal"), "anthropic failed (HTTP 500) (Internal)."),
        (Reply(status=502, body=b"<html>Bad Gateway</html>", content_type="text/html"), "anthropic failed (HTTP 502)"),
        (said.connection_reset(), "No connection to http://127.0.0.1"),
        (said.broken_stream(), "anthropic is overloaded (It broke)."),
        (said.broken_stream("api_error"), "anthropic failed (HTTP 500) (It broke)."),
        (said.cut_stream(), "No connection to http://127.0.0.1"),
        (said.error(400, "overloaded_error", "Full"), "anthropic is overloaded (Full)."),
        (ENDED_EARLY, "No connection to http://127.0.0.1"),
    ],
)
def test_what_may_pass_is_tried_again_and_no_more_often_than_allowed(reply: Reply, sentence: str) -> None:
    """B65."""
    message = error(ModelBusy, reply, requests=3)
    assert message.startswith(sentence)
    assert "Given up after 3 attempts" in message
    assert draft(reply, ok()).text == "A summary."


def test_half_a_reply_is_never_a_draft() -> None:
    assert draft(said.cut_stream("Only half"), ok("All of it.")).text == "All of it."
    assert draft(said.broken_stream(words="Only half"), ok("All of it.")).text == "All of it."


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"),
    [
        (said.bad_request("messages: odd"), ModelError, "does not accept the request (HTTP 400) (messages: odd)."),
        (
            said.bad_request("prompt is too long: 3000000 tokens"),
            ModelError,
            "The prompt is too long for claude-sonnet",
        ),
        (said.error(413, "request_too_large", "Too large"), ModelError, "The prompt is too long for"),
        (said.error(422, "invalid_request_error", "No"), ModelError, "(HTTP 422) (No)."),
        (said.bad_request("Your credit balance is too low"), ModelRefused, "see to the billing"),
        (said.error(402, "billing_error", "Pay"), ModelRefused, "see to the billing"),
        (said.unauthorized(), ModelRefused, "does not accept the key found in ANTHROPIC_API_KEY: check it"),
        (said.error(403, "permission_error", "Not yours"), ModelRefused, "forbids this with the key found in"),
        (said.unknown_model(), ModelRefused, "The model claude-sonnet-5-5 (said by --model) is not known to"),
        (Reply(status=404, body=b"<html>", content_type="text/html"), ModelRefused, "There is no Messages API at"),
        (said.broken_stream("authentication_error"), ModelRefused, "check it (It broke)."),
        (said.bad_request("model: claude-sonnet-5-5 is not supported"), ModelRefused, "is not known to"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(reply: Reply, kind: type[ModelError], sentence: str) -> None:
    """B65: one request, one sentence; fatal only where another prompt would fare no better."""
    assert sentence in error(kind, reply)


def test_a_retired_model_names_the_one_to_use() -> None:
    found = error(ModelRefused, said.unknown_model("claude-x"), model="claude-x")
    assert found.endswith("or is retired: use --model claude-sonnet-5-5, or leave the model out.")


def test_other_providers_are_told_no_name_of_anthropics() -> None:
    found = error(ModelRefused, said.unknown_model("x"), model="x", name="minimax")
    assert found.endswith("use --model MiniMax-M3, or leave the model out.")
    found = error(ModelRefused, said.unknown_model("MiniMax-M3"), model="MiniMax-M3", name="minimax")
    assert found.endswith("name another with --model.")


def test_a_placeholder_that_is_refused_asks_for_a_key() -> None:
    with StandIn(said.unauthorized()) as server:
        to = Provider("anthropic", "m", server.url)
        summarizer = AnthropicSummarizer(to, Key(PLACEHOLDER, "none was found, a placeholder is sent"), patience=QUICK)
        with pytest.raises(ModelRefused, match=r"wants a key, and none was found: set ANTHROPIC_API_KEY"):
            summarizer.complete(ASK)
        summarizer.close()


def test_a_server_that_repeats_the_key_does_not_make_us_print_it() -> None:
    assert "[the key]" in error(ModelRefused, said.unauthorized(f"bad key {SECRET}\x1b[31m\n" + "x" * 999))


def test_a_web_page_is_no_reply() -> None:
    """B62."""
    found = error(BadReply, said.html())
    assert "http://127.0.0.1" in found
    assert "text/html" in found
    assert "--base-url" in found
    error(BadReply, Reply(body=b"", content_type="text/plain"))
    error(BadReply, Reply(body=b'{"choices": []}'))
    error(BadReply, Reply(body=b'data: {"choices": []}\n\ndata: [DONE]\n\n', content_type="text/event-stream"))


def test_a_silent_server_is_given_up() -> None:
    patience = Patience(timeout=0.1, deadline=5, attempts=2, first_wait=0.01)
    begun = time.monotonic()
    assert "did not answer in time" in error(ModelBusy, said.delayed(1.0), requests=2, patience=patience)
    assert time.monotonic() - begun < 2


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ModelBusy, match=f"No connection to {url}: .*refused.* Given up after 3 attempts"):
            against(url).complete(ASK)


def test_the_deadline_covers_a_model_that_never_ends() -> None:
    """Pings keep the connection alive; they do not keep the request alive."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stop = threading.Event()
        thread = threading.Thread(target=_ping_for_ever, args=(server, stop), daemon=True)
        thread.start()
        summarizer = against(
            f"http://127.0.0.1:{server.getsockname()[1]}", patience=Patience(timeout=5, deadline=0.3, attempts=1)
        )
        begun = time.monotonic()
        with pytest.raises(ModelBusy, match=r"No complete reply within 0\.3 seconds"):
            summarizer.complete(ASK)
        assert time.monotonic() - begun < 2
        stop.set()
        summarizer.close()
        thread.join()


def _ping_for_ever(server: socket.socket, stop: threading.Event) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
        until = time.monotonic() + 3
        while not stop.wait(0.02) and time.monotonic() < until:
            try:
                connection.sendall(b'event: ping\ndata: {"type": "ping"}\n\n')
            except OSError:
                return


@pytest.mark.parametrize("call", [_called, _awaited])
def test_a_wait_can_be_cancelled(call: Callable[[AnthropicSummarizer, Request], Draft]) -> None:
    cancelled = threading.Event()
    patience = Patience(timeout=5, deadline=60, longest_wait=60)
    with StandIn(said.rate_limited(30)) as server:
        summarizer = against(server.url, patience=patience, cancelled=cancelled, on_wait=lambda *_: cancelled.set())
        begun = time.monotonic()
        with pytest.raises(ModelError, match="Cancelled"):
            call(summarizer, ASK)
        with pytest.raises(ModelError, match="Cancelled"):
            call(summarizer, ASK)
        assert time.monotonic() - begun < 2
        assert len(server.requests) == 1
        summarizer.close()


def test_a_task_that_is_cancelled_ends_at_once() -> None:
    async def cancel_it(url: str) -> None:
        task = asyncio.ensure_future(against(url).acomplete(ASK))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with StandIn(said.delayed(1.5)) as server:
        begun = time.monotonic()
        asyncio.run(cancel_it(server.url))
        assert time.monotonic() - begun < 1.2


def test_several_threads_share_one() -> None:
    with StandIn(lambda received: ok(f"About {received.prompt}.")) as server:
        summarizer = against(server.url)
        with ThreadPoolExecutor(8) as pool:
            drafts = list(pool.map(lambda n: summarizer.complete(Request(str(n), 100)), range(24)))
        summarizer.close()
    assert [one.text for one in drafts] == [f"About {n}." for n in range(24)]


def test_several_awaited_at_once() -> None:
    async def all_of_them(summarizer: AnthropicSummarizer) -> list[Draft]:
        return await asyncio.gather(*(summarizer.acomplete(Request(str(n), 100)) for n in range(6)))

    with StandIn(lambda received: said.delayed(0.1, ok(f"About {received.prompt}."))) as server:
        drafts = asyncio.run(all_of_them(against(server.url)))
    assert [one.text for one in drafts] == [f"About {n}." for n in range(6)]


def test_thinking_is_switched_off_where_there_is_a_switch() -> None:
    for model, thinking, headroom in (
        ("claude-sonnet-5-5", {"type": "between_tools"}, 0),
        ("claude-haiku-5-5-20261007", {"type": "disabled"}, 0),
        ("claude-opus-5-5", None, 16_384),
        ("claude-haiku-4-5", None, 0),
        ("MiniMax-M3", None, 0),
    ):
        _, server = ask(ok(), model=model)
        body = server.requests[0].body
        assert (body.get("thinking"), body["max_tokens"]) == (thinking, ASK.max_tokens + headroom)


def test_a_server_that_objects_to_the_switch_is_asked_without() -> None:
    objection = said.bad_request("thinking.type: Input tag 'between_tools' is not known")
    with StandIn(objection, ok()) as server:
        summarizer = against(server.url)
        assert summarizer.complete(ASK).text == "A summary."
        assert summarizer.complete(ASK).text == "A summary."
        summarizer.close()
    assert ["thinking" in request.body for request in server.requests] == [True, False, False]
    assert server.requests[2].body["max_tokens"] > ASK.max_tokens
    error(ModelError, objection, requests=2)


def test_errors_carry_no_headers() -> None:
    """Neither the error nor what it hangs on holds the request, where the key stands in a header."""
    with StandIn(said.unauthorized()) as server:
        summarizer = against(server.url)
        with pytest.raises(ModelRefused) as caught:
            summarizer.complete(ASK)
        summarizer.close()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
