"""OpenAIJudge: the chat completions of any OpenAI-compatible server as the judge."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import orjson

from tracehooks.errors import ConfigurationError
from tracehooks.judges.asking import BaseJudge
from tracehooks.judges.batch_api import BatchApi
from tracehooks.judges.clients import LoopClients
from tracehooks.judges.completions import Completion, CompletionFailed, Messages
from tracehooks.judges.failures import complaint, failure_in_reply, failure_of, failure_of_status
from tracehooks.judges.formats import RequestForm, limit_in
from tracehooks.judges.limiter import Limiter, Turn
from tracehooks.judges.memory import fingerprint
from tracehooks.judges.posting import Letter
from tracehooks.judges.retrying import Retry
from tracehooks.judges.shared_limiter import SharedLimiter
from tracehooks.judges.terms import NOTHING, UNKNOWN, Need, current_terms
from tracehooks.judges.wire import completion_of, decoded, first_choice
from tracehooks.masking import MASKED, SECRET_PATTERNS, masker
from tracehooks.protocols import Usage
from tracehooks.records import Reason

if TYPE_CHECKING:
    import ssl

    import httpx2
    from openai import AsyncOpenAI
    from pydantic import SecretStr

    from tracehooks.settings import JudgeSettings

_PATH = "/chat/completions"
OK = 200
_BYTES_PER_TOKEN = 4  # about, to pace requests by; corrected by what they used
_FRAMING = 64  # tokens that a server puts round a conversation, at most
_MOST_DETAIL = 300
_hide_secrets = masker(SECRET_PATTERNS)


class OpenAIJudge(BaseJudge):
    """A judge on any OpenAI-compatible server: ``await OpenAIJudge(model="...").ask(question)``.

    ``base_url`` and ``api_key`` default to ``OPENAI_BASE_URL`` and ``OPENAI_API_KEY``. ``timeout`` bounds one
    request as a whole, in seconds; ``attempts`` bounds the failures of one reply; ``concurrency`` bounds the
    requests in flight, where a request that waits to be sent again holds no slot; after a 429 it is halved,
    and grows again slowly. ``requests_per_minute`` and ``tokens_per_minute`` set a pace. These limits are of
    one event loop; in jobs and hooks they are of all that judge on the store together, in any process.
    ``temperature`` is left out where a server refuses it. ``max_output_tokens`` is the longest reply that is
    asked for. ``retry`` replaces the waits, and ``attempts``.

    Usable from any number of event loops and threads, and picklable. Raises ConfigurationError for a bad
    argument. The key is in no repr, message or log; whoever pickles the judge pickles its key.
    """

    model: str
    metered = True  # every request is sent under the terms that hold

    def __init__(
        self,
        model: str,
        base_url: str | None = None,
        api_key: "str | SecretStr | None" = None,
        *,
        mask: str | Sequence[str] = "secrets",
        timeout: float = 30.0,
        attempts: int = 3,
        concurrency: int = 16,
        temperature: float | None = 0.0,
        max_output_tokens: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        retry: Retry | None = None,
    ) -> None:
        super().__init__(mask=mask)
        self.model = _named_model(model)
        self.base_url = base_url
        self.timeout = _positive(timeout, "timeout")
        self.concurrency = _count(concurrency, "concurrency")
        self.retry = retry or Retry(attempts=_count(attempts, "attempts"))
        self.temperature = temperature
        self._key = _secret(api_key)
        self.max_output_tokens = _limit(max_output_tokens, "max_output_tokens")
        self.requests_per_minute = _limit(requests_per_minute, "requests_per_minute")
        self.tokens_per_minute = _limit(tokens_per_minute, "tokens_per_minute")
        self._form = RequestForm(self.model, temperature, self.max_output_tokens)
        self._clients = LoopClients(self._client, self._limiter)
        self._certificates: ssl.SSLContext | None = None

    def __repr__(self) -> str:
        return f"OpenAIJudge(model={self.model!r}, base_url={self.base_url!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_clients": None, "_certificates": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._clients = LoopClients(self._client, self._limiter)

    @classmethod
    def from_settings(cls, settings: "JudgeSettings") -> "OpenAIJudge":
        """The judge that the ``judge`` section of the settings describes.

        Raises ConfigurationError when no model is set, or no key for OpenAI's own server.
        """
        if settings.model is None:
            raise ConfigurationError("judge.model is not set: name the model that judges")
        if not (settings.api_key or settings.base_url or _environment_key() or _environment_url()):
            raise ConfigurationError("judge.api_key is not set: set OPENAI_API_KEY, or judge.base_url")
        return cls(
            settings.model,
            settings.base_url,
            settings.api_key,
            mask=settings.mask,
            timeout=settings.timeout.total_seconds(),
            attempts=settings.attempts,
            concurrency=settings.concurrency,
            max_output_tokens=settings.max_output_tokens,
            requests_per_minute=settings.requests_per_minute,
            tokens_per_minute=settings.tokens_per_minute,
        )

    @property
    def address(self) -> str | None:  # type: ignore[override]
        """The server that is asked; None for OpenAI's own."""
        return self.base_url or _environment_url()

    @property
    def options(self) -> Mapping[str, Any]:
        """What else than the model decides how it judges; part of a scorer's version."""
        limit = {} if self.max_output_tokens is None else {"max_output_tokens": self.max_output_tokens}
        return {**super().options, "temperature": self.temperature, **limit}

    def need_of(self, body: Mapping[str, Any], content: bytes) -> Need:
        """What the request ``body``, ``content`` on the wire, can use at most."""
        return Need(input_tokens=len(content) + _FRAMING, output_tokens=limit_in(body), seconds=self.timeout)

    def batch_api(self) -> BatchApi:
        """The Batch API of the server, as it may be."""
        return BatchApi(self._client, self._scrubbed, self.timeout)

    async def aclose(self) -> None:
        """Close the running loop's connections. Not needed under asyncio.run, which ends them itself."""
        await self._clients.aclose()

    def _request(self, messages: Messages, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._form.body(list(messages), schema)

    def _answered_by(self, letter: Letter) -> Completion | None:
        try:
            if letter.status == OK:
                return self._completion(letter.reply, "in a batch")
            raise self._refusal(letter.status or 0, letter.reply, {}, letter.body)
        except _FormRefused:
            return None
        except CompletionFailed as failure:
            if failure.retry or failure.reason is Reason.QUOTA:
                return None  # it may succeed by now: what a live request says is what counts
            raise

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        here = await self._clients.here()
        sent = failures = 0
        while True:
            body = self._form.body(messages, schema)
            content = orjson.dumps(body, default=dict)
            tokens = len(content) // _BYTES_PER_TOKEN
            try:
                async with (
                    here.slot(tokens, waited=bool(failures)) as (client, turn),
                    self._paid(body, content) as bill,
                ):
                    sent += 1
                    completion = await self._answer(client, body, content, here.limiter, turn)
                    bill.used = completion.usage
                return replace(completion, attempts=sent)
            except _FormRefused:
                continue
            except CompletionFailed as failure:
                failures += 1
                pause = self.retry.pause(failure, failures)
                if pause is None:
                    failure.attempts = sent
                    raise
            await self.retry.sleep(pause)

    async def _answer(
        self, client: "AsyncOpenAI", body: dict[str, Any], content: bytes, limiter: Limiter, turn: Turn
    ) -> Completion:
        """One request, of whose answer the limiter is told."""
        try:
            completion = await self._send(client, body, content)
        except CompletionFailed as failure:
            if failure.reason is Reason.RATE_LIMITED:
                waits = failure.wait is not None and failure.wait <= self.retry.patience
                limiter.limited(turn, failure.wait if waits else None)
            raise
        limiter.answered()
        used = completion.usage
        if used.input_tokens is not None:
            turn.used = used.input_tokens + (used.output_tokens or 0)
        return completion

    @asynccontextmanager
    async def _paid(self, body: dict[str, Any], content: bytes) -> "AsyncIterator[_Bill]":
        """Reserve for one request, and settle what it used, however it ends."""
        bill, terms = _Bill(), current_terms()
        if terms is None:
            yield bill
            return
        ticket = await terms.reserve(self.need_of(body, content))
        try:
            yield bill
        except (CompletionFailed, _FormRefused) as failure:
            if getattr(failure, "free", True):
                bill.used = NOTHING
            raise
        finally:
            terms.settle(ticket, bill.used)

    async def _send(self, client: "AsyncOpenAI", body: dict[str, Any], content: bytes) -> Completion:
        """One request. Raises CompletionFailed, or _FormRefused when it should be sent in another form."""
        import openai

        try:
            async with asyncio.timeout(self.timeout):
                response = await self._post(client, content)
        except TimeoutError:
            detail = f"the judge did not answer within {self.timeout:g} s"
            raise CompletionFailed(Reason.TIMEOUT, detail, retry=True) from None
        except openai.APIStatusError as error:
            said = decoded(error.response)
            said = error.response.text if said is None else said
            headers = error.response.headers
            raise self._refusal(error.response.status_code, said, headers, body) from None
        except openai.OpenAIError as error:
            raise failure_of(error, self._scrubbed) from None
        kind = response.headers.get("content-type", "no content type")
        return self._completion(decoded(response), kind)

    async def _post(self, client: "AsyncOpenAI", content: bytes) -> "httpx2.Response":
        # The client's own typed `create` rewrites the arguments and validates the reply, at half the cost of
        # a request, and raises TypeError or AttributeError for a 200 that is not a completion.
        import httpx2

        return await client.post(_PATH, cast_to=httpx2.Response, content=content)

    def _refusal(
        self, status: int, said: Any, headers: Mapping[str, str], body: Mapping[str, Any]
    ) -> Exception:
        failure = failure_of_status(status, said, headers, self._scrubbed)
        if failure.reason is Reason.REJECTED and self._form.give_way(body, status, complaint(said)):
            return _FormRefused()
        return failure

    def _completion(self, reply: Any, kind: str) -> Completion:
        if not isinstance(reply, dict):
            detail = f"the judge's server answered 200 with something that is no completion ({kind})"
            raise CompletionFailed(Reason.SERVER_ERROR, detail, retry=True)
        error = first_choice(reply).get("error") if reply.get("choices") else reply.get("error")
        if error:
            raise failure_in_reply(error, self._scrubbed)
        return completion_of(reply)

    def _limiter(self) -> Limiter:
        """What limits the requests of the running loop: with others, where the terms say so."""
        terms, requests, tokens = current_terms(), self.requests_per_minute, self.tokens_per_minute
        sharing = terms.sharing if terms else None
        if sharing is None:
            return Limiter(
                self.concurrency,
                requests_per_minute=requests,
                tokens_per_minute=tokens,
                sleep=self.retry.sleep,
            )
        import openai  # noqa: F401 - loading it takes long, and would keep a share from being renewed

        self._trust()
        return SharedLimiter(
            self.concurrency,
            sharing=sharing,
            judge=fingerprint({"server": self.address, "model": self.model}),
            requests_per_minute=requests,
            tokens_per_minute=tokens,
            sleep=self.retry.sleep,
        )

    def _client(self) -> "AsyncOpenAI":
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, OpenAIError

        key = self._key.get_secret_value() if self._key else _environment_key()
        if not key and (self.base_url or _environment_url()):
            key = "none"  # servers of one's own often want no key; the client insists on one
        # Retries and the time limit are ours: the client's limit would start anew with every chunk.
        try:
            return AsyncOpenAI(
                api_key=key or None,
                base_url=self.base_url,
                max_retries=0,
                timeout=None,
                http_client=DefaultAsyncHttpxClient(verify=self._trust(), timeout=None),
            )
        except OpenAIError as error:
            detail = f"the request was not sent: {self._scrubbed(str(error))}"
            raise CompletionFailed(Reason.REJECTED, detail, attempts=0) from None

    def _trust(self) -> "ssl.SSLContext":
        """The certificates trusted. Reading them takes 40 ms, so all clients share them."""
        if self._certificates is None:
            import httpx2

            self._certificates = httpx2.create_ssl_context()
        return self._certificates

    def _scrubbed(self, text: str) -> str:
        key = self._key.get_secret_value() if self._key else _environment_key()
        text = _hide_secrets(text.replace(key, MASKED) if key else text)
        return text if len(text) <= _MOST_DETAIL else text[:_MOST_DETAIL] + "..."


@dataclass(slots=True)
class _Bill:
    used: Usage = UNKNOWN


class _FormRefused(Exception):  # noqa: N818 - not an error: the request goes out again, asking for less
    pass


def _environment_key() -> str | None:
    return os.environ.get("OPENAI_API_KEY")


def _environment_url() -> str | None:
    return os.environ.get("OPENAI_BASE_URL")


def _secret(key: "str | SecretStr | None") -> "SecretStr | None":
    if key is None:
        return None
    from pydantic import SecretStr

    text = key.strip() if isinstance(key, str) else key.get_secret_value().strip()
    return SecretStr(text) if text else None


def _named_model(model: Any) -> str:
    if not isinstance(model, str) or not model.strip():
        raise ConfigurationError(f"model must be the name of a model, got {model!r}")
    return model


def _positive(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise ConfigurationError(f"{name} must be a number of seconds above 0, got {value!r}")
    return float(value)


def _limit(value: Any, name: str) -> int | None:
    return None if value is None else _count(value, name)


def _count(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ConfigurationError(f"{name} must be a whole number of at least 1, got {value!r}")
    return value
