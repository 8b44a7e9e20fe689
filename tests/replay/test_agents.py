"""Agents by import path or over HTTP: one way to ask all of them."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.replay import desk
from tracehooks.contained import EndedItself
from tracehooks.errors import ConfigurationError
from tracehooks.noise.cases import Query
from tracehooks.replay import AgentTimeout, load_agent

CHAT = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi!"},
    {"role": "user", "content": "How long?"},
]


def ask(name: str, query: Query = "How long?", **options: Any) -> Any:
    agent = load_agent(f"tests.replay.desk:{name}", **{"timeout": 10.0, **options})
    return asyncio.run(agent.ask(query))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("answer", "Routers have a warranty of 24 months."),
        ("undecorated", "plain: How long?"),
        ("awaited", "awaited: How long?"),
        ("streamed", "streamed"),
        ("streamed_async", "async"),
        ("decorated", "decorated"),
        ("bot.ask", "bot: How long?"),
    ],
)
def test_every_shape_is_asked_alike(name: str, says: str) -> None:
    """Sync, async, streaming, a method; decorated or not."""
    assert ask(name) == says


def test_an_agent_has_the_name_and_version_of_its_spans() -> None:
    """What is decorated says so itself; what is not goes by its own name, or by the one given."""
    known = load_agent("tests.replay.desk:answer", timeout=1)
    assert (known.name, known.version, known.plantable) == ("desk", "7", True)
    assert load_agent("tests.replay.desk:undecorated", timeout=1).name == "undecorated"
    assert load_agent("tests.replay.desk:undecorated", timeout=1, name="mine").name == "mine"


def test_a_conversation_is_one_text_for_an_agent_that_takes_a_text() -> None:
    """By its declared parameter; `messages` gets messages, also of a text; the setting goes before both."""
    ask("answer", CHAT)
    ask("streamed_async", "How long?")
    ask("streamed_async", CHAT, takes="text")
    text = "User: Hello.\n\nAssistant: Hi!\n\nUser: How long?"
    assert [text, [{"role": "user", "content": "How long?"}], text] == desk.ASKED


@pytest.mark.parametrize(
    ("target", "says"),
    [
        ("tests.replay.desk", "is neither module:function"),
        ("no_such_module:answer", "No module named 'no_such_module'"),
        ("tests.replay.desk:nobody", "has no attribute 'nobody'"),
        ("tests.replay.desk:Bot", "name a function, or an object to call"),
        ("tests.replay.desk:CALLED", "name a function, or an object to call"),
        ("http://", "names no host"),
    ],
)
def test_an_agent_that_cannot_be_loaded_is_one_sentence_with_the_key(target: str, says: str) -> None:
    """The settings key, the target, and what is wrong."""
    with pytest.raises(ConfigurationError, match=r"^agents\.support: ") as caught:
        load_agent(target, timeout=1, key="agents.support")
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_current_folder_can_be_imported_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the user is, and not where the console script lies."""
    (tmp_path / "agent_of_this_folder.py").write_text("def answer(question):\n    return question.upper()\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [path for path in __import__("sys").path if path])
    agent = load_agent("agent_of_this_folder:answer", timeout=1)
    assert asyncio.run(agent.ask("yes")) == "YES"


@pytest.mark.parametrize("name", ["slow", "awaited_slowly"])
def test_a_call_that_takes_too_long_is_told_from_the_agents_own_timeout(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours says how long was waited; the agent's TimeoutError stays the agent's."""

    async def awaited_slowly(question: str) -> str:
        await asyncio.sleep(5)
        return "too late"

    monkeypatch.setattr(desk, "awaited_slowly", awaited_slowly, raising=False)
    with pytest.raises(AgentTimeout, match=r"no answer within 0\.05 s"):
        ask(name, timeout=0.05)
    with pytest.raises(TimeoutError, match="the database gave up") as caught:
        ask("own_timeout")
    assert not isinstance(caught.value, AgentTimeout)


PAGE = """<!DOCTYPE html>
<html><head><title>502 Bad&nbsp;Gateway</title><style>body { color: red }</style></head>
<body><script>var a = "<b>";</script><h1>The agent is <em>not</em> there</h1></body></html>
"""


class Answering(BaseHTTPRequestHandler):
    """Answers as the path says, and keeps what it was asked."""

    asked: list[tuple[Any, str | None]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append((body, self.headers["traceparent"]))
        kind, status, text = {
            "/json": ("application/json", 200, json.dumps({"output": "Zwölf Monate."})),
            "/text": ("text/plain; charset=utf-8", 200, "Zwölf Monate."),
            "/other": ("application/json", 200, json.dumps({"answer": "no"})),
            "/broken": ("application/json", 200, "{"),
            "/busy": ("text/plain", 503, "come back later"),
            "/page": ("text/html", 502, PAGE),
            "/moved": ("text/html", 302, PAGE),
            "/for-ever": ("text/html", 308, PAGE),
        }[self.path]
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if 300 <= status < 400:
            self.send_header("Location", f"http://{self.headers['Host']}/json?token=secret")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        self.asked.append(("GET", self.path))
        self.send_error(405)

    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def serving() -> Iterator[tuple[str, list[Any]]]:
    handler = type("Handler", (Answering,), {"asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", handler.asked  # type: ignore[attr-defined]
        finally:
            server.shutdown()
            thread.join()


def test_an_address_is_posted_the_input_and_answers_json_or_text() -> None:
    """POST {"input": ...}; {"output": ...} or a text comes back; nothing can be planted."""
    with serving() as (url, asked):
        agent = load_agent(f"{url}/json", timeout=10)
        assert (agent.name, agent.plantable) == ("127.0.0.1", False)
        assert asyncio.run(agent.ask("Wie lange?")) == "Zwölf Monate."
        assert asyncio.run(load_agent(f"{url}/text", timeout=10).ask(CHAT)) == "Zwölf Monate."
    assert [body for body, _ in asked] == [{"input": "Wie lange?"}, {"input": CHAT}]


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("busy", "HTTP 503 .*come back later"),
        ("other", "no key output; it has answer"),
        ("broken", "cannot be read"),
    ],
)
def test_an_address_that_answers_wrongly_has_failed(path: str, says: str) -> None:
    """A status other than 2xx, another shape, no JSON: the agent's failure, with its first words."""
    with serving() as (url, _), pytest.raises((RuntimeError, ValueError), match=says):
        asyncio.run(load_agent(f"{url}/{path}", timeout=10).ask("?"))


@pytest.mark.parametrize("path", ["moved", "for-ever"])
def test_a_redirect_of_an_address_is_a_failure_and_not_followed(path: str) -> None:
    """What it leads to would get a GET without the question. It is named, without its query."""
    with serving() as (url, asked), pytest.raises(RuntimeError) as caught:
        asyncio.run(load_agent(f"{url}/{path}", timeout=10).ask("?"))
    assert f"a redirect to {url}/json, which is not followed" in str(caught.value)
    assert [body for body, _ in asked] == [{"input": "?"}]


def test_an_error_page_is_told_in_its_words() -> None:
    """Tags, styles and scripts are no words; one short line is left."""
    with serving() as (url, _), pytest.raises(RuntimeError) as caught:
        asyncio.run(load_agent(f"{url}/page", timeout=10).ask("?"))
    assert str(caught.value) == "HTTP 502 Bad Gateway: 502 Bad Gateway The agent is not there"


def test_an_address_where_nobody_is_has_failed() -> None:
    """It names the place, without what else is in the address."""
    with pytest.raises(ConnectionError, match=r"127\.0\.0\.1:9 cannot be reached"):
        asyncio.run(load_agent("http://127.0.0.1:9/ask?token=secret", timeout=10).ask("?"))


@pytest.mark.parametrize("name", ["leaves", "leaves_async", "cancels_itself"])
def test_an_agent_that_leaves_fails_like_any_other(name: str) -> None:
    """``sys.exit(0)`` in an agent would end a night with the exit code of a pass."""
    with pytest.raises(EndedItself, match=r"it (called sys\.exit\(0\)|cancelled itself)"):
        ask(name)


def test_a_script_that_leaves_when_imported_is_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module without a main guard: a configuration error, never the exit code of a pass."""
    (tmp_path / "a_script_that_leaves.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigurationError, match="a_script_that_leaves:answer cannot be loaded: SystemExit"):
        load_agent("a_script_that_leaves:answer", timeout=1.0)
