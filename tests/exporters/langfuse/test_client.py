"""One request, one reply: patience, its bounds, and what is told to people."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from tests.fake_langfuse import FakeLangfuse
from tracehooks.errors import ConfigurationError
from tracehooks.exporters.langfuse.client import Client, Reply, Unreachable
from tracehooks.exporters.langfuse.pace import Pace, retry_after
from tracehooks.exporters.langfuse.server import Server, ServerProblem, parsed
from tracehooks.settings import Settings, load_settings

NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)


def client(server: FakeLangfuse, **more: float) -> Client:
    return Client(server.url, server.public_key, server.secret_key, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("2", 2), ("0", 0), ("1.5", 1.5), ("1e99", 3600), ("", None), ("soon", None), ("-3", None)],
)
def test_retry_after_in_seconds(said: str, seconds: float | None) -> None:
    """A number counts; what is none does not."""
    assert retry_after({"retry-after": said}) == seconds


def test_retry_after_as_a_date_goes_by_the_servers_clock() -> None:
    """Ours may be an hour wrong: the server's Date is what its Retry-After is meant against."""
    theirs = NOW - timedelta(hours=1)
    headers = {
        "retry-after": format_datetime(theirs + timedelta(seconds=30), usegmt=True),
        "date": format_datetime(theirs, usegmt=True),
    }
    assert retry_after(headers, NOW) == 30
    del headers["date"]
    assert retry_after(headers, theirs) == 30
    assert retry_after(headers, NOW) == 0


def test_one_who_was_told_to_wait_holds_back_all() -> None:
    """The pace is the server's, whoever asks."""
    now = [0.0]
    pace = Pace(clock=lambda: now[0])
    pace.hold(5)
    pace.hold(2)
    assert pace.remaining() == 5
    now[0] = 4
    assert pace.remaining() == 1
    now[0] = 9
    assert pace.remaining() == 0


def test_after_a_413_the_connection_is_not_used_again(langfuse: FakeLangfuse) -> None:
    """The server says keep-alive and breaks the next request; a pooled client would lose an innocent one."""
    ours = client(langfuse)
    big = b"[" + b"1," * 600_000 + b"1]"
    for _ in range(3):
        assert ours.post("/scores", big).status == 413
        assert ours.get("/health").status == 200
    ours.close()


def test_the_servers_words_are_one_line() -> None:
    """Messages, issues and plain text, cut to a readable length."""
    issue = b'{"message":"Invalid request data","error":[{"path":["value"],"message":"Too big"}]}'
    assert Reply(400, issue).words == "400 Invalid request data: value: Too big"
    assert Reply(413, b"Body exceeded\n1mb limit").words == "413 Body exceeded 1mb limit"
    assert len(Reply(500, b"x" * 9999).words) == 300
    assert Reply(500, b"\xff").json() is None


def test_nobody_waits_for_ever(langfuse: FakeLangfuse) -> None:
    """A server that never answers costs the timeout, as often as it is tried."""
    langfuse.fail("/", hang=True, times=None)
    ours = client(langfuse, timeout=0.2, tries=2)
    begun = time.monotonic()
    with pytest.raises(Unreachable, match="gives no answer to GET /health"):
        ours.get("/health")
    assert time.monotonic() - begun < 5
    ours.close()


def test_keys_are_in_no_message(langfuse: FakeLangfuse) -> None:
    """Not in its repr, not in what it raises, not in settings that are printed."""
    given = {
        "LANGFUSE_PUBLIC_KEY": "pk-shown-never",
        "LANGFUSE_SECRET_KEY": "sk-shown-never",
        "LANGFUSE_HOST": "http://127.0.0.1:9",
    }
    settings = load_settings(None, given)
    ours = Client.from_settings(settings, tries=1)
    with pytest.raises(Unreachable) as caught:
        ours.get("/health")
    for text in (repr(ours), str(caught.value), repr(settings), str(settings.model_dump())):
        assert "shown-never" not in text


def test_the_usual_variables_are_honoured() -> None:
    """Both keys and the address; with keys, scores go there unless `sinks` says otherwise."""
    keys = {"LANGFUSE_PUBLIC_KEY": "pk", "LANGFUSE_SECRET_KEY": "sk"}
    settings = load_settings(None, {**keys, "LANGFUSE_HOST": "http://old", "LANGFUSE_BASE_URL": "http://new"})
    assert settings.langfuse.base_url == "http://new"
    assert settings.langfuse.has_keys
    assert settings.sinks == ("langfuse",)
    assert load_settings(None, {**keys, "LANGFUSE_HOST": "http://old"}).langfuse.base_url == "http://old"
    assert load_settings(None, {"LANGFUSE_PUBLIC_KEY": "pk"}).sinks == ()
    assert load_settings(None, {**keys, "TRACEHOOKS_SINKS": "[]"}).sinks == ()
    assert Settings.model_validate(
        {"langfuse": {"public_key": "a", "secret_key": "b"}, "sinks": ["jsonl"]}
    ).sinks == ("jsonl",)


def test_a_sink_without_keys_says_which(langfuse: FakeLangfuse) -> None:
    """Asked for by name and not set up: one sentence with the variables."""
    with pytest.raises(ConfigurationError, match="LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY"):
        Client.from_settings(Settings(sinks=("langfuse",)))


def test_threads_and_forks_have_connections_of_their_own(langfuse: FakeLangfuse) -> None:
    """Safe from any thread, and in a child."""
    ours = client(langfuse)
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(ours.get("/health").status)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 8
    child = os.fork()
    if child == 0:
        os._exit(0 if ours.get("/health").status == 200 else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert ours.get("/health").status == 200
    ours.close()


@pytest.mark.parametrize(
    ("mode", "kind", "writes"),
    [
        ("v3", "v3", "events"),
        ("dual", "dual", "events"),
        ("events", "events", "events"),
        ("v4.59", "v4.59", "list"),
    ],
)
@pytest.mark.parametrize("tells", [True, False])
def test_each_kind_of_server_is_told_from_the_others(mode: str, kind: str, writes: str, tells: bool) -> None:
    """By its version and by what it has, and also where a proxy hides the version; asked once."""
    with FakeLangfuse(mode) as server:
        if not tells:
            server.fail("/api/public/health", status=200, body={"status": "OK"}, times=None)
        ours = client(server)
        asked = Server(ours)
        facts = asked.facts()
        assert (facts.kind, facts.writes) == (kind, writes)
        count = len(server.requests)
        assert asked.facts() is facts
        assert len(server.requests) == count
        assert server.scores == []
        ours.close()


def test_a_server_is_looked_at_again_after_a_while(langfuse: FakeLangfuse) -> None:
    """An upgrade is found out by the version, without anything going wrong first."""
    now = [0.0]
    ours = client(langfuse)
    server = Server(ours, clock=lambda: now[0])
    assert server.facts().kind == "dual"
    langfuse.upgrade("v4.59")
    assert server.facts().kind == "dual"
    now[0] = 1000.0
    assert server.facts().kind == "v4.59"
    ours.close()


def test_wrong_keys_are_no_kind_of_server(langfuse: FakeLangfuse) -> None:
    """Told as what they are."""
    ours = Client(langfuse.url, "pk", "sk-wrong")
    with pytest.raises(ServerProblem, match="does not take the keys"):
        Server(ours).facts()
    ours.close()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("4.16.0", (4, 16, 0)), ("v3.140.0-rc.1", (3, 140, 0)), ("4.59", (4, 59)), ("main", ()), ("", ())],
)
def test_versions_are_read(text: str, numbers: tuple[int, ...]) -> None:
    """Releases, candidates, and what is none."""
    assert parsed(text) == numbers


class Page(BaseHTTPRequestHandler):
    """Says yes to everything, with a web page."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(b"<html>Please log in</html>")

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_web_page_is_no_yes() -> None:
    """A proxy's login page keeps neither spans nor scores, whatever its status says."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        one = Client(f"http://127.0.0.1:{server.server_port}", "pk", "sk", tries=1)
        with pytest.raises(
            Unreachable, match="answers POST /otel/v1/traces with a web page, not as Langfuse"
        ):
            one.post("/otel/v1/traces", b"spans")
        one.close()
        server.shutdown()


class _Listener(BaseHTTPRequestHandler):
    """Answers everything with an empty object, and remembers the line that it was asked with."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *arguments: object) -> None:
        """Says nothing."""


@contextmanager
def listener() -> Iterator[tuple[str, list[str]]]:
    handler = type("Handler", (_Listener,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()


QUERY = {"filter": '[{"value":"ä & b"}]', "environment": ["one", "two"], "limit": 5}
ASKED = (
    "/api/public/v2/observations?filter=%5B%7B%22value%22%3A%22%C3%A4+%26+b%22%7D%5D"
    "&environment=one&environment=two&limit=5"
)


def test_a_query_is_asked_below_the_path_of_the_base_url() -> None:
    """A server behind a path gets its whole address, each value quoted, lists repeated."""
    with listener() as (url, asked):
        client = Client(f"{url}/tools/langfuse", "pk", "sk")
        client.get("/v2/observations", **QUERY)
        client.close()
    assert asked == [f"/tools/langfuse{ASKED}"]


def test_a_query_goes_through_the_environments_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reaches Langfuse through a proxy asks that one for the server's whole address."""
    with listener() as (url, asked):
        monkeypatch.setenv("http_proxy", url)
        monkeypatch.setenv("no_proxy", "")
        client = Client("http://langfuse.invalid", "pk", "sk")
        client.get("/v2/observations", **QUERY)
        client.close()
    assert [line.partition("?")[0] for line in asked] == [
        "http://langfuse.invalid/api/public/v2/observations"
    ]
    assert parse_qs(asked[0].partition("?")[2])["environment"] == ["one", "two"]
