"""What an exception of the client library means: try again, another time, or never, and one plain sentence for it.

Invariants: what would meet every other request too is fatal (:class:`ModelRefused`), what only this prompt is to blame
for is not; and no sentence holds the key, even where the server repeats it. Checked by
``tests/summarizer/test_anthropic_api.py``.
"""

from typing import Final

from lcm_lab.errors import ModelBusy, ModelError, ModelRefused
from lcm_lab.plain import safe
from lcm_lab.summarizer.credentials import PLACEHOLDER, Key, variable_of
from lcm_lab.summarizer.patience import Trouble, retry_after
from lcm_lab.summarizer.provider import Provider, unusable_model
from lcm_lab.summarizer.replies import StreamCut, StreamError

_BUSY_TYPES: Final = ("rate_limit_error", "overloaded_error", "api_error", "timeout_error")
_BUSY_STATUS: Final = (408, 409, 429)
_NO_SUCH_MODEL: Final = (
    "not found",
    "does not exist",
    "unknown",
    "invalid",
    "not supported",
    "not available",
    "retired",
)
_STATUS_OF_TYPE: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
}


class Judge:
    """Judges the errors of one provider and key."""

    def __init__(self, provider: Provider, key: Key) -> None:
        self._provider = provider
        self._key = key

    def judge(self, error: Exception) -> Trouble:
        """What an exception of one attempt means."""
        import anthropic
        import httpx2

        if isinstance(error, ModelError):
            return Trouble(error)
        if isinstance(error, StreamError):
            return self._answered(200, error.kind, str(error), None)
        if isinstance(error, anthropic.APIStatusError):
            said = error.api_message or str(error.body or "")
            asked = retry_after(error.response.headers.get("retry-after"))
            # In the middle of a stream the status is that of the stream, 200, and only the type tells.
            return self._answered(error.status_code, error.type or "", said, asked)
        if isinstance(error, anthropic.APITimeoutError | httpx2.TimeoutException):
            return Trouble(ModelBusy(f"{self._provider.address} did not answer in time."), again=True)
        if isinstance(error, anthropic.APIConnectionError | httpx2.TransportError | StreamCut):
            return self._unconnected(error)
        return Trouble(ModelError(f"The request could not be made: {type(error).__name__}: {self._clean(str(error))}"))

    def _answered(self, status: int, kind: str, said: str, asked: float | None) -> Trouble:
        if status < 400:
            status = _STATUS_OF_TYPE.get(kind, 500 if kind in _BUSY_TYPES else 400)
        said = self._clean(said)
        quoted = f" ({said})" if said else ""
        name, address = self._provider.name, self._provider.address
        if status in _BUSY_STATUS or status >= 500 or kind == "overloaded_error":
            what = {429: "limits the rate of requests", 529: "is overloaded"}.get(status, f"failed (HTTP {status})")
            what = "is overloaded" if kind == "overloaded_error" else what
            return Trouble(ModelBusy(f"{name} {what}{quoted}."), again=True, retry_after=asked)
        return Trouble(self._refusal(status, kind, said, f"{name} at {address}"))

    def _refusal(self, status: int, kind: str, said: str, who: str) -> ModelError:
        quoted = f" ({said})" if said else ""
        lowered = said.lower()
        model = self._provider.model
        if status == 401:
            if self._key.secret == PLACEHOLDER:
                variable = variable_of(self._provider.name)
                return ModelRefused(f"{who} wants a key, and none was found: set {variable}{quoted}.")
            return ModelRefused(f"{who} does not accept the key found in {self._key.where}: check it{quoted}.")
        if status == 402 or "credit balance" in lowered:
            return ModelRefused(f"{who} refuses for want of credit: see to the billing of the account{quoted}.")
        if status == 403:
            return ModelRefused(f"{who} forbids this with the key found in {self._key.where}{quoted}.")
        about_model = "model" in lowered and (model.lower() in lowered or "model:" in lowered)
        if (status == 404 and (kind == "not_found_error" or about_model)) or (
            status == 400 and about_model and any(word in lowered for word in _NO_SUCH_MODEL)
        ):
            why = f"is not known to {who}, or is retired"
            return ModelRefused(unusable_model(model, self._provider.model_said_by, why, self._provider.name))
        if status in (404, 405) or 300 <= status < 400:
            return ModelRefused(
                f"There is no Messages API at {self._provider.address} (HTTP {status}): check --base-url."
            )
        if status == 413 or "prompt is too long" in lowered:
            return ModelError(f"The prompt is too long for {model}{quoted}: take a smaller source or another model.")
        return ModelError(f"{who} does not accept the request (HTTP {status}){quoted}.")

    def _unconnected(self, error: Exception) -> Trouble:
        cause = error.__cause__ or error
        why = self._clean(str(cause)) or type(cause).__name__
        if "CERTIFICATE_VERIFY_FAILED" in why:
            return Trouble(ModelRefused(f"The certificate of {self._provider.address} cannot be trusted: {why}."))
        return Trouble(ModelBusy(f"No connection to {self._provider.address}: {why}."), again=True)

    def _clean(self, text: str) -> str:
        """A server's words in one line, without the key and what would act on a terminal."""
        line = " ".join(safe(text.replace(self._key.secret, "[the key]")).split())
        line = line if len(line) <= 300 else line[:300] + "…"
        return line.rstrip(".")
