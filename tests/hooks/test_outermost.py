"""Which spans of other instrumentations are calls, decided as they end."""

import gc
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, Tracer, set_span_in_context

from tracehooks.calls import agent_call, agent_calls, span_record
from tracehooks.hooks.outermost import MOST_NODES, MOST_SPANS, Found, Outermost

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "help-desk"}
MODEL = {
    "gen_ai.operation.name": "chat",
    "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"said below"}]}]',
}
KIND = "openinference.span.kind"
LANGCHAIN = "openinference.instrumentation.langchain"


class Watching(SpanProcessor):
    """Feeds an Outermost with everything, and keeps what it finds and what ended."""

    def __init__(self) -> None:
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(self)
        self.outermost = Outermost(lambda trace_id: True)
        self.found: list[Found] = []
        self.ended: list[ReadableSpan] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        self.outermost.started(span)

    def on_end(self, span: ReadableSpan) -> None:
        self.ended.append(span)
        self.found += self.outermost.ended(span)

    @property
    def names(self) -> list[str]:
        """The names of the spans found."""
        return [found.span.name for found in self.found]

    def tracer(self, scope: str = "test.instrumentation") -> Tracer:
        """A tracer whose spans are watched."""
        return self.provider.get_tracer(scope)


@pytest.fixture
def watching() -> Iterator[Watching]:
    one = Watching()
    yield one
    # whatever was found online is what the whole trace says in the end
    nightly = {call.ref for call in agent_calls(span_record(span) for span in one.ended)}
    assert {span_record(found.span).span_id for found in one.found} == {ref.span_id for ref in nightly}


def test_the_outermost_agent_is_found_when_it_ends_and_nested_ones_are_not(watching: Watching) -> None:
    """Whatever lies between them, and below a request that is nobody's agent."""
    http, agents = watching.tracer("opentelemetry.instrumentation.fastapi"), watching.tracer()
    with http.start_as_current_span("POST /chat"):
        with agents.start_as_current_span("outer", attributes=AGENT):
            with http.start_as_current_span("GET"), agents.start_as_current_span("inner", attributes=AGENT):
                pass
            assert watching.names == []
        assert watching.names == ["outer"]


def test_two_siblings_are_two_calls_and_each_hears_its_own_words(watching: Watching) -> None:
    """Also when they run at the same time, in one trace."""
    tracer = watching.tracer()
    with tracer.start_as_current_span("request"):
        one = tracer.start_span("one", attributes=AGENT)
        two = tracer.start_span("two", attributes=AGENT)
        for span, words in ((one, "of one"), (two, "of two")):
            messages = f'[{{"role":"assistant","parts":[{{"type":"text","content":"{words}"}}]}}]'
            model = {**MODEL, "gen_ai.output.messages": messages}
            tracer.start_span("chat", context=set_span_in_context(span), attributes=model).end()
        one.end()
        two.end()
    calls = [agent_call(span_record(found.span), map(span_record, found.around)) for found in watching.found]
    assert [(call.name, call.output) for call in calls] == [("help-desk", "of one"), ("help-desk", "of two")]


def test_a_span_that_says_late_what_it_is_covers_what_ended_below_it(watching: Watching) -> None:
    """OpenInference's LangChain spans get their kind at their end: a graph's node is no call."""
    tracer = watching.tracer(LANGCHAIN)
    with tracer.start_as_current_span("LangGraph") as top:
        for name in ("agent", "tools", "agent"):
            with tracer.start_as_current_span(name) as node:
                with tracer.start_as_current_span("ChatOpenAI") as model:
                    model.set_attribute(KIND, "LLM")
                node.set_attribute(KIND, "AGENT" if name == "agent" else "CHAIN")
        assert watching.names == []
        top.set_attribute(KIND, "CHAIN")
    assert watching.names == ["LangGraph"]


def test_another_instrumentations_agent_waits_for_it_too(watching: Watching) -> None:
    """An OpenAI agent run inside a LangChain chain is a step of the chain."""
    with watching.tracer(LANGCHAIN).start_as_current_span("LangGraph") as top:
        with watching.tracer("openinference.instrumentation.openai_agents").start_as_current_span(
            "Agent workflow", attributes={KIND: "AGENT"}
        ):
            pass
        top.set_attribute(KIND, "CHAIN")
    assert watching.names == ["LangGraph"]


def test_what_waited_is_found_when_nothing_above_turned_out_to_be_an_agent(watching: Watching) -> None:
    """In the order in which they ended, with the texts below each."""
    tracer = watching.tracer()
    with tracer.start_as_current_span("batch"), tracer.start_as_current_span("part"):
        for name in ("one", "two"):
            with tracer.start_as_current_span(name, attributes=AGENT):
                pass
        assert watching.names == []
    assert watching.names == ["one", "two"]


def test_our_own_chain_says_at_once_what_it_is_and_holds_nobody_up(watching: Watching) -> None:
    """A long-running pipeline of ours must not delay the scores of what runs in it."""
    ours = watching.tracer("tracehooks")
    with ours.start_as_current_span("pipeline", attributes={"tracehooks.kind": "chain"}):
        with ours.start_as_current_span("agent", attributes={"tracehooks.kind": "agent"}):
            pass
        assert watching.names == ["agent"]


def test_where_nothing_is_an_agent_the_applications_own_entry_is_the_call(watching: Watching) -> None:
    """Langfuse's plain ``@observe``, MLflow's plain ``@trace``; the one within is a part of it."""
    tracer = watching.tracer("langfuse-sdk")
    entry = {"langfuse.observation.type": "span", "langfuse.observation.output": '"done"'}
    with (
        tracer.start_as_current_span("answer", attributes=entry),
        tracer.start_as_current_span("helper", attributes=entry),
    ):
        pass
    assert watching.names == ["answer"]


def test_an_entry_with_an_agent_below_is_no_call(watching: Watching) -> None:
    """The agent is."""
    tracer = watching.tracer("langfuse-sdk")
    with (
        tracer.start_as_current_span("main", attributes={"langfuse.observation.type": "span"}),
        tracer.start_as_current_span("bot", attributes={"langfuse.observation.type": "agent"}),
    ):
        pass
    assert watching.names == ["bot"]


def test_our_bookkeeping_is_never_a_call(watching: Watching) -> None:
    """Nor what runs below it."""
    ours = watching.tracer("tracehooks")
    internal: dict[str, Any] = {"tracehooks.kind": "agent", "tracehooks.internal": True}
    with (
        ours.start_as_current_span("judge", attributes=internal),
        watching.tracer().start_as_current_span("model", attributes=AGENT),
    ):
        pass
    assert watching.names == []


def test_a_parent_in_another_process_covers_nothing(watching: Watching) -> None:
    """It is unknown here."""
    remote = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(1))
    above = set_span_in_context(NonRecordingSpan(remote), Context())
    with watching.tracer().start_as_current_span("agent", context=above, attributes=AGENT):
        pass
    assert watching.names == ["agent"]


def test_an_agent_that_outlives_the_agent_above_it_is_still_a_step(watching: Watching) -> None:
    """A task left in the background ends after the answer was given."""
    tracer = watching.tracer()
    outer = tracer.start_span("outer", attributes=AGENT)
    inner = tracer.start_span("inner", context=set_span_in_context(outer), attributes=AGENT)
    outer.end()
    del outer
    gc.collect()
    inner.end()
    assert watching.names == ["outer"]


def test_spans_that_never_end_are_forgotten() -> None:
    """Memory is bounded, whatever the application leaves open: langfuse/langfuse-python#1639."""
    one = Watching()
    tracer = one.tracer()
    for _ in range(MOST_NODES + 500):
        tracer.start_span("left open", context=Context())
    assert len(one.outermost._nodes) == MOST_NODES
    parent = tracer.start_span("agent", context=Context(), attributes=AGENT)
    for _ in range(5 * MOST_SPANS):
        tracer.start_span("chat", context=set_span_in_context(parent), attributes=MODEL).end()
    parent.end()
    (found,) = one.found
    assert len(found.around) == MOST_SPANS
    assert not one.outermost._kept


def test_threads_and_a_fork_do_not_disturb_it() -> None:
    """Eight threads end traces of their own at the same time; a child goes on."""
    one = Watching()
    tracer = one.tracer()

    def run() -> None:
        for _ in range(50):
            with (
                tracer.start_as_current_span("agent", context=Context(), attributes=AGENT),
                tracer.start_as_current_span("inner", attributes=AGENT),
            ):
                pass

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert one.names == ["agent"] * 400
    with one.outermost._lock:
        child = _in_child(lambda: _ends_one(one, tracer))
    assert child == 0


def _ends_one(one: Watching, tracer: Tracer) -> bool:
    one.found.clear()
    with tracer.start_as_current_span("agent", context=Context(), attributes=AGENT):
        pass
    return one.names == ["agent"]


def _in_child(promise: Any) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if promise() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
