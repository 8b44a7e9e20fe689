"""From finished spans to exporters: counted at every turn, tried again, split, never in the agent's way."""

import gc
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from tests.tracing.spans import recorded
from tracehooks import traced
from tracehooks.hooks import ScoringHook
from tracehooks.testing import MemoryExporter
from tracehooks.tracing import export
from tracehooks.tracing.pipeline import FullText, Pipeline
from tracehooks.tracing.provider import door
from tracehooks.tracing.trouble import trouble


@traced
def agent(question: Any = "hi") -> Any:
    return question


class Exporter(SpanExporter):
    """Keeps what it takes; ``refuses`` says what it does not take, ``raises`` how it says so."""

    def __init__(self, refuses: Any = lambda spans: False, *, raises: bool = False) -> None:
        self.taken: list[Any] = []
        self.exports = 0
        self.shut = 0
        self._refuses = refuses
        self._raises = raises

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.exports += 1
        if self._refuses(spans):
            if self._raises:
                raise RuntimeError("secret")
            return SpanExportResult.FAILURE
        self.taken += [recorded(span, "output") for span in spans]
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        self.shut += 1


def through(*exporters: SpanExporter, **options: Any) -> Pipeline:
    pipeline = Pipeline(exporters, **options)
    door.open(pipeline, provider=TracerProvider(shutdown_on_exit=False))
    return pipeline


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(export, "FIRST_PAUSE", 0.001)
    yield
    door.close()


def adds_up(pipeline: Pipeline) -> dict[str, int]:
    counts = pipeline.stats()
    assert counts["exported"] + counts["dropped"] + counts["pending"] == counts["ended"]
    return counts


def test_every_span_is_exported_and_counted() -> None:
    """Started, ended, exported: all the same number once flushed."""
    exporter = Exporter()
    pipeline = through(exporter)
    for n in range(1000):
        agent(n)
        adds_up(pipeline)
    assert pipeline.flush(5)
    assert sorted(exporter.taken) == list(range(1000))
    assert adds_up(pipeline) == {"started": 1000, "ended": 1000, "exported": 1000, "dropped": 0, "pending": 0}


def test_under_load_what_is_dropped_is_counted() -> None:
    """langfuse/langfuse#1499, langfuse/langfuse-js#832: a queue of 32 before a slow exporter, 500 calls:
    exported and dropped add up to 500, and the calls are not held up."""
    gate = threading.Event()
    exporter = Exporter(lambda spans: not gate.wait(10))
    pipeline = through(exporter, max_queue=32, max_batch=16, interval=0.01)
    start = time.monotonic()
    for n in range(500):
        agent(n)
        adds_up(pipeline)
    assert time.monotonic() - start < 8
    gate.set()
    pipeline.flush(5)
    counts = adds_up(pipeline)
    assert counts["exported"] + counts["dropped"] == counts["ended"] == 500
    assert counts["exported"] == len(exporter.taken)
    assert counts["dropped"] > 0


def test_large_texts_that_wait_are_bounded_and_what_is_dropped_is_counted() -> None:
    """A queue of 2048 would hold gigabytes of them: here at most some 64 MB wait, or whatever is told."""
    gate = threading.Event()
    exporter = Exporter(lambda spans: not gate.wait(30))
    pipeline = through(exporter, max_batch=1, interval=0.01)
    pipeline.worker._max_size = 3_000_000
    for _ in range(50):
        agent("x" * 100_000)
        adds_up(pipeline)
    agent("y")
    assert pipeline.stats()["pending"] < 12
    gate.set()
    pipeline.flush(5)
    counts = adds_up(pipeline)
    assert counts["ended"] == 51
    assert counts["exported"] == len(exporter.taken) < 12
    assert counts["dropped"] == 51 - counts["exported"]


@pytest.mark.parametrize("raises", [True, False])
def test_a_passing_failure_loses_nothing(caplog: pytest.LogCaptureFixture, raises: bool) -> None:
    """An exporter that fails twice is tried again; one warning, which does not quote anything."""
    failures = iter([True, True])
    exporter = Exporter(lambda spans: next(failures, False), raises=raises)
    pipeline = through(exporter)
    for n in range(20):
        agent(n)
    assert pipeline.flush(5)
    assert exporter.taken == list(range(20))
    assert adds_up(pipeline)["exported"] == 20
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


def test_a_down_exporter_is_given_up_after_a_while(caplog: pytest.LogCaptureFixture) -> None:
    """Spans are counted as dropped, after a bounded number of attempts and with one warning."""
    exporter = Exporter(lambda spans: True)
    pipeline = through(exporter)
    for n in range(256):
        agent(n)
    assert not pipeline.flush(20)
    assert adds_up(pipeline)["dropped"] == 256
    assert exporter.exports <= export.ATTEMPTS + export.SPLITS
    assert len(caplog.records) == 1


@pytest.mark.parametrize("poison", [[100], [0], [255], [7, 200]])
def test_one_bad_span_does_not_take_its_batch_along(poison: list[int]) -> None:
    """langfuse/langfuse#1676: what an exporter refuses is found by splitting; all others arrive."""

    def refuses(spans: Sequence[ReadableSpan]) -> bool:
        return any(recorded(span, "output") in poison for span in spans)

    exporter = Exporter(refuses)
    pipeline = through(exporter, interval=30)
    for n in range(256):
        agent(n)
    pipeline.flush(5)
    assert sorted(exporter.taken) == [n for n in range(256) if n not in poison]
    assert adds_up(pipeline)["dropped"] == len(poison)


def test_losses_that_an_exporter_tells_of_are_counted() -> None:
    """An exporter that accepts a batch and loses some of it counts them in ``lost``."""

    class Leaky(Exporter):
        lost = 0

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            self.lost += 1
            return super().export(spans[1:])

    pipeline = through(Leaky(), interval=30)
    for n in range(10):
        agent(n)
    assert not pipeline.flush(5)
    assert adds_up(pipeline) == {"started": 10, "ended": 10, "exported": 9, "dropped": 1, "pending": 0}


def test_an_exporter_that_hangs_holds_up_neither_calls_nor_flush_nor_close() -> None:
    """cognizant-ai-lab/neuro-san#1217, NousResearch/hermes-agent#87468: every timeout is honoured."""
    gate = threading.Event()
    pipeline = through(Exporter(lambda spans: gate.wait(30)), interval=0.01)
    agent()
    time.sleep(0.05)
    start = time.monotonic()
    for _ in range(100):
        agent()
    assert time.monotonic() - start < 10
    assert not pipeline.flush(0.2)
    assert not pipeline.close(0.2)
    assert time.monotonic() - start < 15
    adds_up(pipeline)
    gate.set()


def test_what_is_under_way_at_a_close_is_not_tried_again() -> None:
    """Its thread ends as soon as the exporter lets go of it; what that was at is counted."""
    begun, gate = threading.Event(), threading.Event()

    def refuses(spans: Sequence[ReadableSpan]) -> bool:
        begun.set()
        return gate.wait(30)

    exporter = Exporter(refuses)
    pipeline = through(exporter, interval=0.01)
    for n in range(4):
        agent(n)
    assert begun.wait(30)
    thread = pipeline.worker._thread
    assert thread is not None
    assert not pipeline.close(0.1)
    gate.set()
    thread.join(30)
    assert not thread.is_alive()
    assert exporter.exports == 1
    assert adds_up(pipeline)["dropped"] == 4


def test_close_exports_what_is_left_and_shuts_down_once() -> None:
    """Nothing that was queued is lost by closing."""
    exporter = Exporter()
    pipeline = through(exporter, interval=30)
    agent("a")
    assert pipeline.close(5)
    assert (exporter.taken, exporter.shut) == (["a"], 1)


def test_a_shutdown_that_hangs_is_left_behind() -> None:
    """An exporter's own shutdown cannot outlast the timeout."""

    class Stuck(Exporter):
        def shutdown(self) -> None:
            time.sleep(20)

    pipeline = through(Stuck())
    start = time.monotonic()
    pipeline.close(0.3)
    assert time.monotonic() - start < 8


def test_only_our_spans_are_kept_unless_told_otherwise() -> None:
    """The application's spans pass by; ``keep`` may let in those of other instrumentations."""
    heard: list[str] = []
    pipeline = Pipeline()
    pipeline.listen(lambda span, full, hooks: heard.append(span.name))
    other = TracerProvider(shutdown_on_exit=False)
    door.open(pipeline, provider=other)
    agent()
    other.get_tracer("http").start_span("request").end()
    other.get_tracer("crewai").start_span("crew").end()
    pipeline.keep = lambda span: span.instrumentation_scope.name == "crewai"
    other.get_tracer("http").start_span("request").end()
    other.get_tracer("crewai").start_span("crew").end()
    agent()
    assert heard == ["agent", "crew", "agent"]


def test_listeners_hear_of_each_span_with_its_hooks_and_full_text() -> None:
    """langfuse/langfuse#6517: what was cut for the attribute is handed on whole, with the hooks given."""
    heard: list[tuple[str, FullText | None, tuple[Any, ...]]] = []
    pipeline = through()
    pipeline.listen(lambda span, full, hooks: heard.append((span.name, full, hooks)))
    hook = ScoringHook(lambda call: 1.0)
    traced(name="short", hooks=[hook])(lambda q: q)("a")
    traced(name="long", hooks=[hook])(lambda q: q)("a" * 300_000)
    traced(name="stream", hooks=[hook])(lambda q: iter([q]))("a" * 300_000).__next__()
    traced(name="plain")(lambda q: q)("a")
    gc.collect()
    assert [(name, hooks) for name, _, hooks in heard] == [
        *((name, (hook,)) for name in ("short", "long", "stream")),
        ("plain", ()),
    ]
    assert heard[0][1] is heard[3][1] is None
    for _, full, _ in heard[1:3]:
        assert full is not None
        assert full.output == '"' + "a" * 300_000 + '"'
        assert full.input == '{"q":' + full.output + "}"


def test_listeners_that_fail_are_our_trouble() -> None:
    """Other listeners still hear of the span, and so does the exporter."""
    heard: list[str] = []
    exporter = Exporter()
    pipeline = through(exporter)
    pipeline.listen(lambda span, full, hooks: 1 / 0, on_start=lambda span: 1 / 0)
    pipeline.listen(
        lambda span, full, hooks: heard.append("end"), on_start=lambda span: heard.append("start")
    )
    assert agent("a") == "a"
    assert pipeline.flush(5)
    assert heard == ["start", "end"]
    assert exporter.taken == ["a"]
    assert trouble.counts == {"a listener": 2}


def test_exporting_is_not_traced() -> None:
    """What an exporter does runs with instrumentation suppressed, or it would make spans for ever."""
    from opentelemetry import context

    seen: list[Any] = []

    def look(spans: Sequence[ReadableSpan]) -> bool:
        seen.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
        return False

    pipeline = through(Exporter(look))
    agent()
    assert pipeline.flush(5)
    assert seen == [True]


def test_many_threads_and_collected_streams_add_up() -> None:
    """Sixteen threads of calls, and streams that the garbage collector ends wherever it likes."""

    @traced
    def stream(n: int) -> Iterator[int]:
        yield n
        yield n

    exporter = Exporter()
    pipeline = through(exporter, max_queue=100_000, max_batch=64, interval=0.005)

    def work() -> None:
        for n in range(100):
            agent(n)
            cycle: dict[str, Any] = {"stream": stream(n)}
            next(cycle["stream"])
            cycle["self"] = cycle

    threads = [threading.Thread(target=work) for _ in range(16)]
    thresholds = gc.get_threshold()
    gc.set_threshold(50)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert pipeline.flush(20)
    assert adds_up(pipeline) == {"started": 3200, "ended": 3200, "exported": 3200, "dropped": 0, "pending": 0}
    assert len(exporter.taken) == 3200


def test_a_memory_exporter_can_be_attached_anywhere() -> None:
    """It is an OpenTelemetry exporter like any other."""
    memory = MemoryExporter()
    pipeline = through(memory)
    agent("a")
    assert pipeline.flush(5)
    assert [call.output for call in memory.calls] == ["a"]
    memory.clear()
    assert (memory.spans, memory.calls) == ((), [])
