"""Asking a language model without waiting for it: who is asked, and one request under way that can be given up.

Invariant: only :meth:`Asking.wait` runs in a thread, and all it touches is the summarizer. Nothing is looked up, no key
is read and nothing is sent before the user says so. Checked by ``tests/panels/test_review_rewrite.py``.
"""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import ipywidgets as w

from lcm_lab.errors import LcmLabError
from lcm_lab.summarizer.provider import CLAUDE_CLI, resolve
from lcm_lab.summarizer.seam import Draft, Request, Summarizer

if TYPE_CHECKING:
    from lcm_lab.lab import Lab

_PROVIDERS: Final = (("as set here", ""), *((one, one) for one in ("anthropic", CLAUDE_CLI, "minimax", "minimax-cn")))


class GivenUp(Exception):
    """The user did not want to wait any longer."""


class Asking:
    """One request: :meth:`wait` in a thread, :meth:`cancel` from anywhere."""

    def __init__(self, summarizer: Summarizer, request: Request) -> None:
        self._summarizer = summarizer
        self._request = request
        self._answer: queue.SimpleQueue[Draft | Exception] = queue.SimpleQueue()

    def wait(self) -> Draft:
        """The reply.

        Raises:
            GivenUp: it was cancelled; what comes later is dropped. ModelError and kin: there is none.
        """
        threading.Thread(target=self._ask, daemon=True, name="lcm-lab model").start()
        found = self._answer.get()
        if isinstance(found, Exception):
            raise found
        return found

    def cancel(self) -> None:
        """Wait no longer."""
        self._answer.put(GivenUp("Cancelled"))

    def _ask(self) -> None:
        try:
            self._answer.put(self._summarizer.complete(self._request))
        except Exception as error:  # noqa: BLE001  (it is said where the answer is waited for)
            self._answer.put(error)


def in_a_second(action: Callable[[], None]) -> None:
    """Have it done in a second, on this thread; where no event loop runs nobody watches, and nothing is done."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return
    loop.call_later(1.0, action)


class ModelChoice:
    """Who is asked: the summarizer that was given, or the one of this machine's settings and of three fields.

    ``widget`` has the fields; it is empty where a summarizer was given. ``waiting`` is what the provider makes us wait
    for, as far as it said so.
    """

    def __init__(
        self, lab: "Lab", given: Summarizer | None, changed: Callable[[], None], *, doctor: bool = False
    ) -> None:
        self._lab = lab
        self._given = given
        self._made: Summarizer | None = None
        self._doctor = doctor
        self._cancelled = threading.Event()
        self.waiting = ""
        self.provider = w.Dropdown(options=_PROVIDERS, description="Provider", layout=_field("14em"))
        self.model_name = w.Text(description="Model", continuous_update=False, layout=_field("20em"))
        self.address = w.Text(description="Address", continuous_update=False, layout=_field("22em"))
        self.widget = w.HBox([], layout=w.Layout(flex_flow="row wrap"))
        if given is None:
            self.widget.children = (self.provider, self.model_name, self.address)
            self.model_name.placeholder = lab.model(doctor=doctor) or "none is set"
            self.address.placeholder = "as set here"

        def forget(_change: object) -> None:
            self._made = None
            changed()

        for one in (self.provider, self.model_name, self.address):
            one.observe(forget, names="value")

    @property
    def described(self) -> str:
        """Who is asked, in a line and without any key; why nobody can be, where that is known beforehand."""
        known = self._given or self._made
        if known is not None:
            return known.described
        try:
            to = resolve(**self._flags(), env=dict(os.environ), state_dir=self._lab.state_dir, doctor=self._doctor)
        except LcmLabError as error:
            return str(error)
        where = f" at {to.address}" if to.base_url else ""
        return f"{to.model}, {to.name}{where} (the key is looked for when you send)"

    @property
    def model(self) -> str | None:
        """The model's name, for the price."""
        known = self._given or self._made
        return known.model if known is not None else self._lab.model(**self._flags(), doctor=self._doctor)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What its settings give reason to say."""
        return tuple(getattr(self._given or self._made, "warnings", ()))

    def summarizer(self) -> Summarizer:
        """The one to ask.

        Raises:
            NoCredentials: no key was found. ModelRefused: provider, model or address make no sense.
        """
        self.waiting = ""
        if self._given is not None:
            return self._given
        if self._made is None:
            self._cancelled = threading.Event()
            self._made = self._lab.summarizer(
                **self._flags(), doctor=self._doctor, cancelled=self._cancelled, on_wait=self._on_wait
            )
        return self._made

    def cancel(self) -> None:
        """End what it waits for; the next request gets a new one."""
        self._cancelled.set()
        self._made = None

    def _flags(self) -> dict[str, str | None]:
        return {
            "provider": self.provider.value or None,
            "model": self.model_name.value.strip() or None,
            "base_url": self.address.value.strip() or None,
        }

    def _on_wait(self, seconds: float, why: str) -> None:
        # Called in the thread of the request: a plain attribute, shown by whoever looks next.
        self.waiting = f"waiting {seconds:.0f} s: {why}"


def _field(width: str) -> w.Layout:
    return w.Layout(width=width, max_width="100%")
