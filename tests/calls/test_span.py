"""From OpenTelemetry's spans to records."""

import subprocess
import sys

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

from tracehooks.calls import agent_calls, is_agent_span, span_record


def finished() -> tuple[ReadableSpan, ReadableSpan]:
    """An agent's span and its parent, really made by the SDK."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "shop"}))
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("some.framework")
    with (
        tracer.start_as_current_span("GET /chat") as http,
        tracer.start_as_current_span("invoke_agent bot") as span,
    ):
        span.set_attributes(
            {"gen_ai.operation.name": "invoke_agent", "tags": ["a", "b"], "n": 0, "no": False}
        )
        span.add_event("gen_ai.choice", {"message": "hi"}, timestamp=5)
        span.set_status(Status(StatusCode.ERROR, "too slow"))
        assert is_agent_span(span)
        assert not is_agent_span(http)
    agent, http_span = exporter.get_finished_spans()
    return agent, http_span


def test_a_record_holds_what_the_span_said() -> None:
    """Ids as hex, times in nanoseconds, the scope's name, status, attributes, events and resource."""
    agent, http = finished()
    record = span_record(agent)
    assert record.trace_id == f"{agent.context.trace_id:032x}"
    assert record.span_id == f"{agent.context.span_id:016x}"
    assert record.parent_span_id == f"{http.context.span_id:016x}"
    assert (record.name, record.scope) == ("invoke_agent bot", "some.framework")
    assert (record.start_ns, record.end_ns) == (agent.start_time, agent.end_time)
    assert (record.status, record.status_message) == ("error", "too slow")
    assert record.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "tags": ("a", "b"),
        "n": 0,
        "no": False,
    }
    assert [(event.name, event.time_ns, event.attributes) for event in record.events] == [
        ("gen_ai.choice", 5, {"message": "hi"})
    ]
    assert record.resource["service.name"] == "shop"
    assert span_record(http).parent_span_id is None


def test_a_span_and_its_record_say_alike_whether_it_is_an_agents() -> None:
    """The cheap question may be asked of the live span, the ended one and the record."""
    agent, http = finished()
    assert is_agent_span(agent)
    assert is_agent_span(span_record(agent))
    assert not is_agent_span(http)


def test_a_call_made_from_the_sdks_spans_has_their_times_to_the_microsecond() -> None:
    """Times are aware UTC; nothing is lost to floating point."""
    agent, http = finished()
    (call,) = agent_calls([span_record(http), span_record(agent)])
    assert agent.start_time is not None
    assert call.start.timestamp() * 1e6 == agent.start_time // 1000
    assert call.start.utcoffset() is not None
    assert call.end >= call.start
    assert (call.name, call.service, call.error, call.output) == ("bot", "shop", "too slow", "hi")


def test_calls_need_neither_the_sdk_nor_pydantic() -> None:
    """Reading calls imports nothing heavy."""
    script = (
        "import sys, tracehooks.calls; "
        "print([name for name in ('opentelemetry.sdk', 'pydantic', 'pydantic_core') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
