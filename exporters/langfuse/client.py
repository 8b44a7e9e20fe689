"""The connection to a Langfuse server: one request, one reply, with the patience that its API asks for."""

import base64
import os
import random
import threading
import time
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import orjson

from tracehooks.errors import ConfigurationError, TracehooksError
from tracehooks.exporters.langfuse.pace import Pace, retry_after
from tracehooks.posts import plain_words
from tracehooks.settings import Settings

if TYPE_CHECKING:
    import ssl

    import httpx

CLOUD = "https://cloud.langfuse.com"
API = "/api/public"
TIMEOUT = 20.0  # seconds for one request
TRIES = 3
FIRST_PAUSE = 0.5  # seconds before the second try; each later pause is twice as long
PATIENCE = 10.0  # seconds that a caller waits because the server said so; more is told to the caller
TOO_LARGE = 413
BUSY = frozenset({408, 425, 429, 500, 502, 503, 504})
PAGE = "text/html"
WORDS = 300  # characters of an answer that are kept


class Unreachable(TracehooksError):  # noqa: N818 - it says what the server is
    """Langfuse gave no answer: no connection, no reply in time, one that broke off, or a web page instead."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server answered. Header names are in lower case."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether it did what was asked, or (207) some of it."""
        return 200 <= self.status < 300

    @property
    def passes(self) -> bool:
        """Whether the same request may succeed later: the server is busy, or fails."""
        return self.status in BUSY

    @property
    def retry_after(self) -> float | None:
        """For how many seconds the server asks to be left alone; None when it does not say."""
        return retry_after(self.headers)

    def json(self) -> Any:
        """The body's JSON; None when it is none."""
        try:
            return orjson.loads(self.body)
        except ValueError:
            return None

    @property
    def words(self) -> str:
        """What the server said, on one line, for a person: the status, its message, the first few issues."""
        said = self.json()
        if isinstance(said, dict):
            parts = [said.get("message"), said.get("error"), said.get("errors")]
            text = ": ".join(_spoken(part) for part in parts if part)
        else:
            text = plain_words(self.body.decode("utf-8", "replace"), WORDS)
        return f"{self.status} {' '.join(text.split())}"[:WORDS].strip()


@lru_cache(maxsize=1)
def _certificates() -> "ssl.SSLContext":
    """Whom to trust, read once: reading it takes longer than a hundred requests."""
    import httpx

    return httpx.create_ssl_context()


def _spoken(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(_spoken(entry) for entry in value[:3])
    if isinstance(value, dict):
        where = ".".join(str(step) for step in value.get("path") or ())
        return f"{where}: {value.get('message')}" if where else str(value.get("message"))
    return str(value)


class Client:
    """Requests to the public API of one server, for one project. Safe from any thread, and after a fork.

    A request that the server was too busy for, or failed at, is repeated some times: every write of ours may
    come twice. After a 413 the connection is closed, for the server breaks the next request on it.
    """

    def __init__(
        self,
        base_url: str,
        public_key: str,
        secret_key: str,
        *,
        timeout: float = TIMEOUT,
        tries: int = TRIES,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.pace = Pace()
        self._public_key = public_key
        self._authorization = "Basic " + base64.b64encode(f"{public_key}:{secret_key}".encode()).decode()
        self._timeout, self._tries = timeout, tries
        self._lock = threading.Lock()
        self._http: httpx.Client | None = None
        self._pid = 0
        self._is_direct = False
        _clients.add(self)

    @classmethod
    def from_settings(cls, settings: Settings, **options: Any) -> "Client":
        """The client for the settings' project. Raises ConfigurationError when a key is missing."""
        section = settings.langfuse
        if not section.has_keys:
            raise ConfigurationError(
                "langfuse: its keys are not set; set LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, which the "
                "project's settings in Langfuse show"
            )
        assert section.public_key is not None
        assert section.secret_key is not None
        keys = section.public_key.get_secret_value(), section.secret_key.get_secret_value()
        return cls(section.base_url or CLOUD, *keys, **options)

    def __repr__(self) -> str:
        return f"Client({self.base_url!r})"

    def get(self, path: str, **query: Any) -> Reply:
        """Read ``path``, given below ``/api/public``. A list in the query is sent as its values, repeated."""
        return self.send("GET", path, query=query)

    def post(self, path: str, content: Any, **options: Any) -> Reply:
        """Write ``content``: bytes as they are, anything else as JSON."""
        body = content if isinstance(content, bytes) else orjson.dumps(content)
        return self.send("POST", path, content=body, **options)

    def patch(self, path: str, content: Any) -> Reply:
        """Change what is at ``path``."""
        return self.send("PATCH", path, content=orjson.dumps(content))

    def delete(self, path: str) -> Reply:
        """Delete what is at ``path``."""
        return self.send("DELETE", path)

    def as_public_key(self, method: str, path: str, content: bytes | None = None) -> Reply:
        """The same with the public key alone, as a browser would send it: it may write scores and no more."""
        headers = {"authorization": f"Bearer {self._public_key}"}
        return self.send(method, path, content=content, headers=headers)

    def send(
        self,
        method: str,
        path: str,
        *,
        content: bytes | None = None,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request, repeated while the server is busy and waiting is short. Raises Unreachable."""
        given = {"content-type": "application/json"} if content is not None else {}
        given |= {"authorization": self._authorization, **(headers or {})}
        for attempt in range(1, self._tries + 1):
            if (wait := self.pace.remaining()) > PATIENCE:
                return Reply(429, b"the server asked to wait", {"retry-after": f"{wait:.0f}"})
            if wait:
                time.sleep(wait)
            last = attempt == self._tries
            try:
                reply = self._once(method, path, content, query, given)
            except Unreachable:
                if last:
                    raise
            else:
                if (asked := reply.retry_after) is not None and reply.passes:
                    self.pace.hold(asked)
                if not reply.passes or last or (asked or 0.0) > PATIENCE:
                    return reply
            time.sleep(FIRST_PAUSE * 2 ** (attempt - 1) * random.uniform(0.5, 1.0))
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            http, self._http = self._http, None
        if http is not None and self._pid == os.getpid():
            http.close()

    def renew_locks(self) -> None:
        """In a forked child: another thread of the parent may have held them."""
        self._lock = threading.Lock()
        self.pace.renew_lock()

    def _once(
        self,
        method: str,
        path: str,
        content: bytes | None,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str],
    ) -> Reply:
        import httpx

        http = self._connections()
        try:
            address: dict[str, Any] = {"url": f"{self.base_url}{API}{path}"}
            if query:
                address = _asking(httpx.URL(address["url"]), query, direct=self._is_direct)
            response = http.request(method, **address, content=content, headers=headers)
        except httpx.HTTPError as error:
            what = str(error) or type(error).__name__
            raise Unreachable(f"{self.base_url} gives no answer to {method} {path}: {what}") from None
        except httpx.InvalidURL as error:
            raise ConfigurationError(f"langfuse.base_url: {self.base_url}: {error}") from None
        if response.is_success and response.headers.get("content-type", "").startswith(PAGE):
            # a proxy's login or an application of another kind says 200 to everything, and keeps nothing
            raise Unreachable(
                f"{self.base_url} answers {method} {path} with a web page, not as Langfuse does"
            )
        if response.status_code == TOO_LARGE and (stream := response.extensions.get("network_stream")):
            stream.close()
        return Reply(response.status_code, response.content, response.headers)

    def _connections(self) -> "httpx.Client":
        from urllib.request import getproxies  # loaded by httpx, and as slow to load

        import httpx

        with self._lock:
            if self._http is None or self._pid != os.getpid():
                self._http = httpx.Client(timeout=self._timeout, verify=_certificates())
                self._is_direct = not getproxies()
                self._pid = os.getpid()
                # closes what its owner forgot to close; not at the process's end, where spans are still sent
                weakref.finalize(self, _close, self._http, self._pid).atexit = False
            return self._http


def _asking(url: "httpx.URL", query: Mapping[str, Any], *, direct: bool) -> dict[str, Any]:
    """What httpx is told so that it asks ``url`` for ``query``.

    To quote a long query is a tenth of the CPU of reading a page, so it is done once; but the line that this
    makes is for a server, and not for a proxy on the way to it.
    """
    if not direct:
        return {"url": url, "params": query}
    line = url.raw_path + b"?" + urlencode(query, doseq=True).encode()
    return {"url": url, "extensions": {"target": line}}


def _close(http: "httpx.Client", pid: int) -> None:
    """Close connections in the process that made them: a forked child must not end its parent's."""
    if pid == os.getpid():
        http.close()


_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()


def _renew_in_child() -> None:
    for client in list(_clients):
        client.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_in_child)
