"""Anthropic's Messages API, and servers that speak it, through the public client library.

The library sends one attempt and nothing more: retries are ours, so that each wait is announced, can be cancelled, and
falls under one deadline. Replies are streamed, because a long one that is not would be refused by the library and cut
by proxies; the events are read one by one, so that the deadline and a cancellation also count while a model keeps
writing. Invariants: the address and the key are those that were resolved, never the library's own environment
variables; an error raised here is a :class:`ModelError` in one sentence; the library (over a second to import) is
loaded by the first request. Checked by ``tests/summarizer/test_anthropic_api.py``.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lcm_lab.errors import BadReply, ModelError
from lcm_lab.plain import safe
from lcm_lab.summarizer.api_errors import Judge
from lcm_lab.summarizer.credentials import Key
from lcm_lab.summarizer.patience import Patience, Tries
from lcm_lab.summarizer.provider import Provider
from lcm_lab.summarizer.replies import Gathering, draft_of, message_of, sendable
from lcm_lab.summarizer.seam import Draft, Request
from lcm_lab.summarizer.thinking import asking

if TYPE_CHECKING:
    import anthropic
    import httpx2

OnWait = Callable[[float, str], None]
"""Told before each wait: how many seconds, and why."""

_CONNECT_SECONDS: Final = 10.0
_GLANCE_SECONDS: Final = 0.1
"""How often a waiting coroutine looks whether it was cancelled."""


class AnthropicSummarizer:
    """Answers requests through the Messages API; one may be used from several threads at once.

    ``on_wait`` hears of every wait between two attempts. ``cancelled``, once set, ends a request at its next event or
    within a wait. ``warnings`` are sentences to print beside :attr:`described`.
    """

    def __init__(
        self,
        provider: Provider,
        key: Key,
        *,
        patience: Patience | None = None,
        on_wait: OnWait | None = None,
        cancelled: threading.Event | None = None,
    ) -> None:
        self._provider = provider
        self._key = key
        self._patience = patience or Patience()
        self._on_wait = on_wait
        self._cancelled = cancelled or threading.Event()
        self._judge = Judge(provider, key)
        self._asking = asking(provider.model)
        self._lock = threading.Lock()
        self._client: anthropic.Anthropic | None = None
        self.warnings = provider.warnings + key.warnings

    @property
    def described(self) -> str:
        """Provider, model, address, and where the key was found."""
        one = self._provider
        return f"{one.name}, model {one.model}, at {one.address} (key: {self._key.where})"

    @property
    def model(self) -> str:
        """The model's name."""
        return self._provider.model

    def complete(self, request: Request) -> Draft:
        """The reply to a request, after as many attempts as it takes and is allowed.

        Raises:
            ModelError: see the tree in ``lcm_lab.errors``.
        """
        client = self._shared_client()
        # The clock starts here: loading the library, by the first request of a process, is not the server's time.
        tries = Tries(self._patience)
        while True:
            try:
                return self._draft(self._ask(client, request, tries), tries)
            except Exception as error:  # noqa: BLE001  (whatever the library raises becomes one sentence)
                wait = self._next(error, tries)
            if wait and self._cancelled.wait(wait):
                raise self._was_cancelled()

    async def acomplete(self, request: Request) -> Draft:
        """As :meth:`complete`, without a thread: cancelling the task closes the connection at once.

        Raises:
            ModelError: see the tree in ``lcm_lab.errors``.
        """
        import anthropic

        # A client belongs to the loop it was first used in, so this one lives for one request.
        settings = self._settings()
        if self._provider.is_local:
            settings["http_client"] = anthropic.DefaultAsyncHttpxClient(trust_env=False)
        async with anthropic.AsyncAnthropic(**settings) as client:
            tries = Tries(self._patience)
            while True:
                try:
                    return self._draft(await self._ask_async(client, request, tries), tries)
                except Exception as error:  # noqa: BLE001  (as in complete)
                    wait = self._next(error, tries)
                until = time.monotonic() + wait
                while (rest := until - time.monotonic()) > 0:
                    if self._cancelled.is_set():
                        raise self._was_cancelled()
                    await asyncio.sleep(min(rest, _GLANCE_SECONDS))

    def close(self) -> None:
        """Close the connections that are kept open for a next request."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _ask(self, client: "anthropic.Anthropic", request: Request, tries: Tries) -> dict[str, Any]:
        from anthropic import Stream

        self._check(tries)
        with client.messages.create(**self._body(request, tries)) as stream:
            response = stream.response
            if not self._streams(response):
                return message_of(response.read().decode("utf-8", "replace"), self._provider.address)
            gathering = Gathering()
            for event in Stream.raw_events(response):
                self._check(tries)
                gathering.take(event.data)
            return gathering.message()

    async def _ask_async(self, client: "anthropic.AsyncAnthropic", request: Request, tries: Tries) -> dict[str, Any]:
        from anthropic import AsyncStream

        self._check(tries)
        async with await client.messages.create(**self._body(request, tries)) as stream:
            response = stream.response
            if not self._streams(response):
                return message_of((await response.aread()).decode("utf-8", "replace"), self._provider.address)
            gathering = Gathering()
            async for event in AsyncStream.raw_events(response):
                self._check(tries)
                gathering.take(event.data)
            return gathering.message()

    def _body(self, request: Request, tries: Tries) -> dict[str, Any]:
        from anthropic import Timeout

        silence = tries.silence()
        how = self._asking
        return {
            "model": self._provider.model,
            "max_tokens": request.max_tokens + how.headroom,
            "messages": [{"role": "user", "content": sendable(request.prompt)}],
            "stream": True,
            "timeout": Timeout(silence, connect=min(_CONNECT_SECONDS, silence)),
            **how.extra,
        }

    def _streams(self, response: "httpx2.Response") -> bool:
        """Whether a successful response is a stream of events; else it is JSON.

        Raises:
            BadReply: it is neither.
        """
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "text/event-stream" or "json" in kind:
            return kind == "text/event-stream"
        raise BadReply(
            f"{self._provider.address} answered with {safe(kind) or 'no content type'} and not as a Messages API does:"
            f" check the address (said by {self._provider.base_url_said_by})."
        )

    def _draft(self, message: dict[str, Any], tries: Tries) -> Draft:
        return draft_of(message, provider=self._provider.name, model=self._provider.model, seconds=tries.seconds)

    def _next(self, error: Exception, tries: Tries) -> float:
        """The wait before another attempt; raises what the caller gets when there is none."""
        trouble = self._judge.judge(error)
        if self._asking.switch and self._objects(error):
            # Some server does not know the switch: go on without it, for this and every later request.
            self._asking = asking(self._provider.model, switch=False)
            return 0.0
        try:
            wait = tries.wait_after(trouble)
        except ModelError as last:
            # The library's own exception holds the request with its headers; the sentence says all that matters.
            raise last from None
        if self._on_wait is not None:
            self._on_wait(wait, str(trouble.error))
        return wait

    @staticmethod
    def _objects(error: Exception) -> bool:
        return getattr(error, "status_code", 0) in (400, 422) and "thinking" in str(error)

    def _check(self, tries: Tries) -> None:
        if self._cancelled.is_set():
            raise self._was_cancelled()
        tries.check()

    def _was_cancelled(self) -> ModelError:
        return ModelError("Cancelled: the request was given up and nothing came of it.")

    def _shared_client(self) -> "anthropic.Anthropic":
        import anthropic

        with self._lock:
            if self._client is None:
                settings = self._settings()
                if self._provider.is_local:
                    # A proxy of the environment is no way to this machine.
                    settings["http_client"] = anthropic.DefaultHttpxClient(trust_env=False)
                self._client = anthropic.Anthropic(**settings)
            return self._client

    def _settings(self) -> dict[str, Any]:
        # The library sends the key as a bearer token, which is what Anthropic takes. Servers that only speak the same
        # language often look for the older header, so those get both.
        more = {} if self._provider.is_official else {"x-api-key": self._key.secret}
        return {
            "api_key": self._key.secret,
            "base_url": self._provider.base_url,
            "max_retries": 0,
            "default_headers": more,
        }
