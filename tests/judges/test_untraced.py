"""A judge's own requests never become spans, whatever instruments them."""

import asyncio
from collections.abc import Mapping
from typing import Any

from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracehooks.judges import BaseJudge, Completion
from tracehooks.judges.completions import Messages
from tracehooks.protocols import Question

QUESTION = Question(name="q", instructions="JSON", material={"response": "x"}, schema={}, read=dict)


class Instrumented(BaseJudge):
    """A judge whose client is instrumented, by something that obeys no suppression at all."""

    def __init__(self, tracer: trace.Tracer) -> None:
        super().__init__()
        self.tracer = tracer
        self.suppressed: list[object] = []

    async def _complete(self, messages: Messages, schema: Mapping[str, Any]) -> Completion:
        self.suppressed.append(context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY))
        with self.tracer.start_as_current_span("POST /chat/completions"):
            await asyncio.sleep(0)
        return Completion(text="hm" if len(messages) == 2 else "{}")


def test_a_judges_request_makes_no_span_and_leaves_the_callers_span_current() -> None:
    """Judge traffic is never sampled: not under the agent's span, not alone, not in a correction."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    judge = Instrumented(tracer)

    async def main() -> None:
        await judge.ask(QUESTION)
        assert not trace.get_current_span().get_span_context().is_valid
        with tracer.start_as_current_span("agent") as span:
            await judge.ask(QUESTION)
            assert trace.get_current_span() is span
            assert context.get_value(context._SUPPRESS_INSTRUMENTATION_KEY) is None

    asyncio.run(main())
    assert [span.name for span in exporter.get_finished_spans()] == ["agent"]
    assert judge.suppressed == [True] * 4
    provider.shutdown()
