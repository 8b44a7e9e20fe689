"""Hooks on whatever provider, thread and queue the spans come through."""

import asyncio
import contextvars
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of, total
from tracehooks import ScoringHook, runtime, traced
from tracehooks.store import Store
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.pipeline import Pipeline
from tracehooks.tracing.provider import door

Start = Callable[..., None]


def test_tools_in_threads_belong_to_the_agent_and_only_the_agent_is_scored(
    start: Start, stored: Store, recorded: Seen
) -> None:
    """huggingface/smolagents#1840, open-telemetry/opentelemetry-python-contrib#1009, mlflow/mlflow#21060."""
    start(hooks=[{"scorer": "recorded"}])

    @traced(kind="tool")
    def tool(q: str) -> str:
        return f"tool {q}"

    @traced
    def helper(q: str) -> str:
        return f"helper {q}"

    @traced
    async def agent(q: str) -> str:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(tracehooks.carry_context(tool), "a").result()
            pool.submit(tracehooks.carry_context(helper), "a").result()
            pool.submit(lambda: None).result()
        await asyncio.to_thread(tool, "b")
        thread = threading.Thread(target=contextvars.copy_context().run, args=(helper, "c"))
        thread.start()
        thread.join()
        return "done"

    asyncio.run(agent("q"))
    assert tracehooks.flush(20)
    assert recorded.outputs == ["done"]
    assert len(scores_of(stored)) == 1


def test_the_applications_provider_stays_its_own_and_its_agents_are_scored_once(
    start: Start, stored: Store, recorded: Seen
) -> None:
    """langfuse/langfuse#6885, pydantic/logfire#1622, ProjectTech4DevAI/kaapi-backend#1078."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = trace.get_tracer_provider()
    for _ in range(2):
        start(provider, hooks=[{"scorer": "recorded"}])

    @traced
    def agent(q: str) -> str:
        return q

    with provider.get_tracer("http").start_as_current_span("http"):
        agent("q")
    assert tracehooks.flush(20)
    assert {span.name for span in exporter.get_finished_spans()} == {"http", "agent"}
    assert (len(recorded.calls), stored.calls.count(*ALWAYS)) == (1, 1)
    assert trace.get_tracer_provider() is before


def test_another_init_goes_on_with_its_own_hooks_and_keeps_what_was_wanted_before(
    start: Start, stored: Store, recorded: Seen
) -> None:
    """Nothing is lost between the two."""
    start(hooks=[{"scorer": "recorded"}])

    @traced
    def agent(q: str) -> str:
        return q

    agent("1")
    start(hooks=[{"scorer": "recorded", "rate": 0}])
    agent("2")
    assert tracehooks.flush(20)
    assert recorded.outputs == ["1"]
    assert len(scores_of(stored)) == 1


class Slow(MemoryExporter):
    """Takes its time."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        time.sleep(0.05)
        return super().export(spans)


def test_a_call_whose_span_is_refused_is_not_scored(start: Start, stored: Store) -> None:
    """langfuse/langfuse#1499, langfuse/langfuse-js#832: exported + dropped == ended; no score without one."""
    start()
    online = runtime.online()
    slow, seen = Slow(), Seen()
    pipeline = Pipeline([slow], max_queue=32, max_batch=16, interval=0.01)
    pipeline.listen(online.on_span, on_refused=online.on_refused)
    door.open(pipeline, provider=TracerProvider(shutdown_on_exit=False))

    @traced(hooks=[ScoringHook(seen, concurrency=64)])
    def agent(n: int) -> str:
        return str(n)

    for n in range(500):
        agent(n)
    assert pipeline.flush(20)
    assert tracehooks.flush(20)
    spans = pipeline.stats()
    assert spans["exported"] + spans["dropped"] == spans["ended"] == 500
    counts = online.stats()
    assert counts["dropped_scores"] == {"span_dropped": spans["dropped"]}
    assert counts["triggered"] == total(counts) == 500
    exported = {f"{span.context.trace_id:032x}" for span in slow.spans if span.context}
    assert {score.trace_id for score in scores_of(stored)} == exported
    pipeline.close(5)


def test_a_hook_that_cannot_work_costs_a_line_and_no_answer(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    """A scorer whose very name raises."""

    class Nameless:
        armed = False
        version = "1"

        @property
        def name(self) -> str:
            if self.armed:
                raise RuntimeError("no name")
            return "nameless"

        async def score(self, call: Any) -> float:
            return 1.0

    start()
    scorer = Nameless()

    @traced(hooks=[ScoringHook(scorer)])
    def agent(q: str) -> str:
        return q

    scorer.armed = True
    with caplog.at_level(logging.WARNING, "tracehooks"):
        assert [agent("1"), agent("2")] == ["1", "2"]
        tracehooks.flush(5)
    assert len(caplog.records) == 1
