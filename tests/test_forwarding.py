"""Spans to further backends beside the store: any number of them, none of which holds up another."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import trace as otel_trace
from opentelemetry.sdk.trace import TracerProvider

import tracehooks
from tests.ends.listening import closed_port, silent_port
from tests.exporters.collector import Collector, collecting
from tracehooks import traced
from tracehooks.errors import ConfigurationError
from tracehooks.store import open_store
from tracehooks.tracing.trouble import trouble

GENAI = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "theirs"}


@pytest.fixture
def two() -> Iterator[list[tuple[Collector, str]]]:
    with collecting() as one, collecting() as other:
        yield [one, other]


@pytest.fixture(autouse=True)
def _start_anew(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    trouble.clear()
    before = threading.enumerate()
    yield
    tracehooks.shutdown(5)
    # one that goes on would tell other tests of its trouble
    for thread in set(threading.enumerate()).difference(before):
        if thread.name == "tracehooks-spans":
            thread.join(60)
            assert not thread.is_alive()


@traced
def agent(question: str = "q") -> str:
    return question


def names(collector: Collector) -> list[str]:
    return sorted(span.name for span in collector.spans)


def test_any_number_of_backends_get_every_agents_spans(
    two: list[tuple[Collector, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each with its own headers: the environment's may hold a key that is nobody else's business."""
    (one, first), (other, second) = two
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", first)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=of-the-first,x-more=1")
    headers = {"authorization": "Bearer of-the-second", "X-Key": "other"}
    tracehooks.init(
        {
            "store": f"sqlite:///{tmp_path}/store.db",
            "otlp": {"second": {"endpoint": second, "headers": headers}},
        }
    )
    agent()
    assert tracehooks.flush(20)
    assert names(one) == names(other) == ["agent"]
    assert (one.headers["x-key"], one.headers["x-more"]) == ("of-the-first", "1")
    assert other.headers["authorization"] == "Bearer of-the-second"
    assert other.headers["x-key"] == "other"
    assert "x-more" not in other.headers
    whole = {"ended": 1, "exported": 1, "dropped": 0, "pending": 0}
    assert tracehooks.stats()["forwarded"] == {"otlp": whole, "otlp.second": whole}


def test_only_what_is_an_agents_goes_out(two: list[tuple[Collector, str]], tmp_path: Path) -> None:
    """From an application's provider too: its queries and requests stay where they are."""
    (one, url), _ = two
    provider = TracerProvider(shutdown_on_exit=False)
    tracehooks.init(
        {"store": f"sqlite:///{tmp_path}/store.db", "otlp": {"one": {"endpoint": url}}},
        tracer_provider=provider,
    )
    tracer = provider.get_tracer("somebody")
    with tracer.start_as_current_span("GET /", attributes={"http.request.method": "GET"}):
        with tracer.start_as_current_span("theirs", attributes=GENAI):
            agent()
        with tracer.start_as_current_span("SELECT", attributes={"db.system.name": "sqlite"}):
            pass
    assert tracehooks.flush(20)
    assert names(one) == ["agent", "theirs"]
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        assert store.overview.counts()["spans"] == 2


def test_a_backend_that_hangs_holds_up_no_other(two: list[tuple[Collector, str]], tmp_path: Path) -> None:
    """Flush keeps its time and says False; what waits is counted."""
    (one, url), _ = two
    with silent_port() as port:
        backends = {"hanging": {"endpoint": f"http://127.0.0.1:{port}"}, "fine": {"endpoint": url}}
        tracehooks.init({"store": f"sqlite:///{tmp_path}/store.db", "otlp": backends})
        for _ in range(3):
            agent()
        before = time.monotonic()
        assert tracehooks.flush(3) is False
        assert time.monotonic() - before < 9
        counts = tracehooks.stats()
        assert counts["forwarded"]["otlp.fine"]["exported"] == len(one.spans) == 3
        assert counts["forwarded"]["otlp.hanging"]["pending"] == 3
        assert counts["exported"] == 3  # by the store
        before = time.monotonic()
        assert tracehooks.shutdown(1) is False
        assert time.monotonic() - before < 8
        counts = tracehooks.stats()["forwarded"]["otlp.hanging"]
        assert counts["ended"] == counts["exported"] + counts["dropped"] + counts["pending"] == 3


def test_a_full_queue_drops_and_counts(tmp_path: Path) -> None:
    """The agent goes on; memory does not grow without end while a collector hangs."""
    with silent_port() as port:
        backends = {"hanging": {"endpoint": f"http://127.0.0.1:{port}"}}
        tracehooks.init({"store": "", "otlp": backends})
        for _ in range(3000):
            agent()
        counts = tracehooks.stats()["forwarded"]["otlp.hanging"]
        assert counts["ended"] == 3000
        assert counts["dropped"] >= 3000 - 2048 - 256
        assert counts["ended"] == counts["exported"] + counts["dropped"] + counts["pending"]
        tracehooks.shutdown(0.1)


def test_losses_in_the_background_make_the_next_flush_false(tmp_path: Path) -> None:
    """Once: the flush after that has nothing to tell."""
    with collecting() as (collector, url):
        collector.status = 400
        tracehooks.init({"store": f"sqlite:///{tmp_path}/s.db", "otlp": {"bad": {"endpoint": url}}})
        agent()
        assert tracehooks.flush(30) is False
        assert tracehooks.stats()["forwarded"]["otlp.bad"]["dropped"] == 1
        assert tracehooks.flush(30) is True


SCRIPT = """
import os, tracehooks
@tracehooks.traced
def agent(q): return q
backends = {"down": {"endpoint": os.environ["DOWN"]}, "up": {"endpoint": os.environ["UP"]}}
tracehooks.init({"store": "sqlite:///x.db", "otlp": backends})
agent("q")
print("last line", flush=True)
"""


@pytest.mark.parametrize("down", ["dead", "hanging"])
def test_the_process_ends_in_time_and_the_other_backend_has_all(tmp_path: Path, down: str) -> None:
    """open-telemetry/opentelemetry-python#3309, langfuse/langfuse#8138; one line tells of the trouble."""
    with collecting() as (collector, url), silent_port() as port:
        place = f"http://127.0.0.1:{port if down == 'hanging' else closed_port()}"
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            cwd=tmp_path,
            env={**os.environ, "DOWN": place, "UP": url, "NO_PROXY": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "last line\n"
        before = time.monotonic()
        _, errors = process.communicate(timeout=60)
        assert time.monotonic() - before < 9
        assert process.returncode == 0
        assert names(collector) == ["agent"]
        assert errors.startswith("tracehooks: sending spans to otlp.down failed: ")
        assert len(errors.strip().splitlines()) <= 2, errors


FORK = """
import os, sys, tracehooks
@tracehooks.traced
def agent(q): return q
tracehooks.init({"store": "sqlite:///x.db", "otlp": {"up": {"endpoint": os.environ["UP"]}}})
agent("q")
assert tracehooks.flush(20)
children = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        agent("q")
        os._exit(0 if tracehooks.flush(20) else 1)
    children.append(pid)
sys.exit(sum(os.waitpid(pid, 0)[1] for pid in children))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_send_by_themselves(tmp_path: Path) -> None:
    """On connections of their own."""
    with collecting() as (collector, url):
        environment = {**os.environ, "UP": url, "NO_PROXY": "127.0.0.1"}
        done = subprocess.run([sys.executable, "-c", FORK], cwd=tmp_path, env=environment, timeout=90)
        assert done.returncode == 0
        assert len({span.span_id for span in collector.spans}) == len(collector.spans) == 4


PACKAGE = """
SENT = []
class Exporter:
    def export(self, spans):
        SENT.extend(spans)
        return type("Result", (), {"name": "SUCCESS"})
    def shutdown(self): pass
def span_exporters(settings):
    if settings.service == "wrong":
        from tracehooks.errors import ConfigurationError
        raise ConfigurationError("vendor: no")
    if settings.service == "broken":
        raise OSError
    return {"vendor": Exporter()} if settings.service == "wanted" else {}
"""


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package that offers a span exporter."""
    (tmp_path / "a_vendor.py").write_text(PACKAGE)
    about = tmp_path / "a_vendor-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: a-vendor\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[tracehooks.span_exporters]\nvendor = a_vendor:span_exporters\n")
    monkeypatch.syspath_prepend(tmp_path)
    import a_vendor  # type: ignore[import-not-found]

    yield a_vendor
    del sys.modules["a_vendor"]


def test_a_package_offers_an_exporter(vendor: Any) -> None:
    """It gets the spans when the settings ask for it, and is not there when they do not."""
    tracehooks.init({"store": "", "service": "wanted"})
    agent()
    assert tracehooks.flush(5)
    assert [span.name for span in vendor.SENT] == ["agent"]
    tracehooks.init({"store": "", "service": "unwanted"})
    agent()
    assert len(vendor.SENT) == 1
    assert "vendor" not in tracehooks.stats().get("forwarded", {})


def test_a_package_that_breaks_is_told_and_wrong_settings_are_an_error(vendor: Any) -> None:
    """The agent's tracing goes on without it."""
    with pytest.raises(ConfigurationError, match="vendor: no"):
        tracehooks.init({"store": "", "service": "wrong"})
    tracehooks.init({"store": "", "service": "broken"})
    assert agent() == "q"
    assert tracehooks.stats()["troubles"] == {"setting up the span exporter vendor": 1}


def test_what_nobody_asks_for_is_not_loaded() -> None:
    """Beginning with no backend costs no HTTP client and no database."""
    code = """
import sys, tracehooks
tracehooks.init({"store": ""})
print([name for name in ("requests", "httpx", "sqlalchemy", "langfuse") if name in sys.modules])
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("LANGFUSE_")}
    done = subprocess.run([sys.executable, "-c", code], env=kept, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OTEL_TRACES_EXPORTER", "console"),
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
    ],
)
def test_the_environment_may_say_no(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What OpenTelemetry's own SDK would not send this way is not sent."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
    monkeypatch.setenv(name, value)
    tracehooks.init({"store": ""})
    assert "forwarded" not in tracehooks.stats()
    assert isinstance(otel_trace.get_tracer_provider(), otel_trace.ProxyTracerProvider)
