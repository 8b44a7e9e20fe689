"""The agent that a replay asks: a function by its import path, or an address that answers over HTTP.

**Import path**, ``package.module:attribute``: a function, method or callable object, sync, async, or one that
streams. The current folder can be imported from. One that ``@traced`` does not record as an agent yet is
recorded as one here, under its own name.

**Address**, ``http(s)://...``: gets ``POST`` with JSON ``{"input": <text or chat messages>}`` and a
``traceparent`` header, and answers with JSON ``{"output": <text or chat messages>}`` or with a plain text. A
status other than 2xx is the agent's failure, and redirects are not followed. Nothing can be planted in it.

What it is given is decided by ``takes``, the setting ``jobs.noise.takes``:

- ``text``: a text; a conversation is written out as one
- ``messages``: chat messages; a text becomes one of the user
- ``auto``: messages when the function's first parameter is called ``messages`` or declared as a list or
  sequence, a text when it is declared as ``str``; else, and over HTTP, whichever the dataset has
"""

import asyncio
import collections.abc
import inspect
import json
import sys
import typing
import urllib.error
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from tracehooks.contained import contained
from tracehooks.errors import ConfigurationError
from tracehooks.evaluation.targets import answer_of
from tracehooks.noise.cases import Query
from tracehooks.noise.messages import as_messages, flattened
from tracehooks.posts import plain_words, post, redirected
from tracehooks.threads import DaemonThreads
from tracehooks.tracing.decorator import traced

Takes = Literal["auto", "text", "messages"]
MOST_STUCK = 256  # calls that never return, before no more are begun
READ_BODY = 20_000  # bytes of an error page: its words come late


class AgentTimeout(TimeoutError):  # noqa: N818 - as the TimeoutError that it is
    """The agent gave no answer in time. A TimeoutError of its own is its own error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """Somebody to ask. ``name`` and ``version`` are those of its spans, ``timeout`` is in seconds a call.

    ``plantable`` says whether its tools and documents can be replaced: not behind an address.
    """

    name: str
    version: str | None
    target: str
    timeout: float
    call: Callable[[Any], Awaitable[Any]] = field(repr=False)
    takes: Takes = "auto"
    plantable: bool = True

    async def ask(self, query: Query) -> Any:
        """What the agent answers, a stream put together. Raises what it raises, or AgentTimeout."""
        try:
            async with asyncio.timeout(self.timeout) as clock:
                return await contained(self.call(self.given(query)))
        except TimeoutError:
            if clock.expired():
                raise AgentTimeout(f"no answer within {self.timeout:g} s") from None
            raise

    def given(self, query: Query) -> Query:
        """``query`` in the form that the agent takes."""
        if self.takes == "text":
            return flattened(query)
        return as_messages(query) if self.takes == "messages" else query


def load_agent(
    target: str, *, timeout: float, key: str = "agent", takes: Takes = "auto", name: str | None = None
) -> Agent:
    """The agent at ``target``, an import path ``package.module:attribute`` or an http(s) address.

    ``timeout`` is in seconds for one call, ``takes`` says what it is given (see this module), ``key`` is the
    settings key that errors name, such as ``agents.support``. ``name`` is for what has none of its own.
    Raises ConfigurationError when it cannot be loaded.
    """
    if target.startswith(("http://", "https://")):
        return _over_http(target, timeout, key, takes, name)
    function = _imported(target, key)
    if takes == "auto":
        takes = _taken_by(function)
    known = getattr(function, "__tracehooks__", None)
    if known is None or known.kind != "agent":
        function = traced(name=name or getattr(function, "__name__", None), kind="agent")(function)
        known = getattr(function, "__tracehooks__", None)
    threads = DaemonThreads(limit=MOST_STUCK)

    async def call(given: Any) -> Any:
        return await answer_of(function, given, threads)

    return Agent(
        name=known.name if known else name or target,
        version=known.version if known else None,
        target=target,
        timeout=timeout,
        call=call,
        takes=takes,
    )


def _imported(target: str, key: str) -> Any:
    module, _, path = target.partition(":")
    if not module or not path:
        raise ConfigurationError(
            f"{key}: {target!r} is neither module:function, such as my_app.agents:answer, nor an http address"
        )
    folder = str(Path.cwd())
    if folder not in sys.path:  # it stays there: an agent may import more when it is called
        sys.path.insert(0, folder)
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (Exception, SystemExit) as error:  # a script may call sys.exit when it is imported
        raise ConfigurationError(
            f"{key}: the agent {target} cannot be loaded: {type(error).__name__}: {error}; run where its "
            "module can be imported"
        ) from error
    if inspect.isclass(found) or not callable(found):
        raise ConfigurationError(f"{key}: {target} is {found!r}; name a function, or an object to call")
    return found


def _taken_by(function: Any) -> Takes:
    """What the function's first parameter says that it takes."""
    try:
        first = next(iter(inspect.signature(function).parameters.values()))
        hints = typing.get_type_hints(inspect.unwrap(function))
    except Exception:
        return "auto"  # nothing is known about it, or what it declares cannot be looked up
    kind = hints.get(first.name)
    if kind is str:
        return "text"
    origin = typing.get_origin(kind) or kind
    listed = inspect.isclass(origin) and issubclass(origin, collections.abc.Sequence) and origin is not str
    return "messages" if listed or (kind is None and first.name == "messages") else "auto"


def _over_http(target: str, timeout: float, key: str, takes: Takes, name: str | None) -> Agent:
    try:
        host = urlsplit(target).hostname
    except ValueError:
        host = None
    if not host:
        raise ConfigurationError(f"{key}: {target!r} is no http address: it names no host")
    threads = DaemonThreads(limit=MOST_STUCK)
    called = name or host

    @traced(name=called, kind="agent")
    async def answer(input: Query) -> Any:
        return await threads.run(_posted, target, input, timeout)

    return Agent(
        name=called, version=None, target=target, timeout=timeout, call=answer, takes=takes, plantable=False
    )


def _posted(address: str, given: Query, seconds: float) -> Any:
    from opentelemetry.propagate import inject

    headers = {"Content-Type": "application/json", "Accept": "application/json, text/plain"}
    inject(headers)
    body = json.dumps({"input": given}, ensure_ascii=False).encode()
    try:
        with post(address, body, headers, timeout=seconds) as answer:
            return _read(answer.read().decode("utf-8", "replace"), answer.headers.get_content_type())
    except urllib.error.HTTPError as error:
        with error:
            raise RuntimeError(_refusal(error)) from None
    except urllib.error.URLError as error:
        raise ConnectionError(f"{urlsplit(address).netloc} cannot be reached: {error.reason}") from None


def _refusal(error: urllib.error.HTTPError) -> str:
    status = f"HTTP {error.code} {error.reason}".rstrip()
    if where := redirected(error.headers):
        return f"{status}: a redirect to {where}, which is not followed; name the address that answers"
    said = plain_words(error.read(READ_BODY).decode("utf-8", "replace"))
    return f"{status}: {said}" if said else status


def _read(body: str, kind: str) -> Any:
    """The output in an answer's body: of JSON its ``output``, of anything else the text."""
    try:
        document = json.loads(body)
    except ValueError:
        if kind.endswith("json"):
            raise ValueError("the answer says that it is JSON, and cannot be read as that") from None
        return body
    if isinstance(document, dict):
        if "output" not in document:
            raise ValueError(f"the answer has no key output; it has {', '.join(sorted(document)) or 'none'}")
        return document["output"]
    return document if kind.endswith("json") and not isinstance(document, int | float) else body
