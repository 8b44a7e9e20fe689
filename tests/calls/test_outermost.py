"""Which spans are calls: the outermost agent spans of a trace, in whatever order they come."""

import itertools
import time

import pytest

from tests.calls.making import native, span, span_id
from tracehooks.calls import SpanRecord, agent_call, agent_calls, is_agent_span

FRAMEWORK_CHAIN = {"openinference.span.kind": "CHAIN"}
OBSERVED = {"langfuse.observation.type": "span", "langfuse.observation.output": "said"}


def calls(*spans: SpanRecord) -> list[str]:
    return [call.span_id for call in agent_calls(spans)]


def test_an_agent_below_an_agent_is_part_of_its_call() -> None:
    """Only the outermost agent span is a call, also through spans between them that are no agents."""
    assert calls(
        native("a"), native("t", "a", kind="tool"), span("http", "t"), native("b", "http"), native("c", "a")
    ) == [span_id("a")]


def test_two_siblings_are_two_calls_in_the_order_of_their_start() -> None:
    """Under a span that is no agent each agent is a call of its own; ties are broken by the span's id."""
    assert calls(
        span("http"), native("b", "http", start=2), native("a", "http", start=2), native("c", "http", start=1)
    ) == [span_id("c"), span_id("a"), span_id("b")]


def test_a_parent_in_another_process_covers_nothing() -> None:
    """An agent whose parent is unknown is the outermost one that we know."""
    assert calls(native("a", "elsewhere")) == [span_id("a")]


def test_the_order_of_the_spans_does_not_matter() -> None:
    """Any order, and any span handed over twice, gives the same calls."""
    spans = [
        span("http"),
        native("a", "http"),
        native("g", "a", kind="generation"),
        native("b", "http", start=3),
    ]
    expected = agent_calls(spans)
    assert [call.span_id for call in expected] == [span_id("a"), span_id("b")]
    for shuffled in itertools.permutations([*spans, spans[1]]):
        assert agent_calls(shuffled) == expected


def test_the_fuller_of_two_records_of_a_span_counts() -> None:
    """A span that was handed over before it had ended is replaced by its finished record, in any order."""
    early, late = native("a", output=None, end=1), native("a", output="done", end=5)
    assert [call.output for call in agent_calls([early, late])] == ["done"]
    assert [call.output for call in agent_calls([late, early])] == ["done"]


def test_many_traces_are_told_apart_although_their_span_ids_are_equal() -> None:
    """Span ids are unique within a trace only."""
    spans = [native("a", trace_id=f"{n:032x}", output=f"said {n}", start=n + 1) for n in range(3)]
    assert [call.output for call in agent_calls(reversed(spans))] == ["said 0", "said 1", "said 2"]


@pytest.mark.parametrize("parents", ["aa", "ab ba", "ab bc ca", "ab bb", "xa ab ba"])
def test_circles_of_parents_end_and_leave_one_call(parents: str) -> None:
    """A span that is its own ancestor, directly or not, hangs nothing and hides nothing."""
    pairs = parents.split() if " " in parents else [parents]
    spans = [native(child, parent, start=ord(child)) for child, parent in map(tuple, pairs)]
    assert len(calls(*spans)) == 1


def test_a_deep_trace_and_a_wide_one_are_read_in_time() -> None:
    """Ten thousand spans in one line, and as many side by side, take seconds at most."""
    started = time.process_time()
    deep = [native("0")] + [span(n, n - 1 if n else "0") for n in range(1, 5000)]
    wide = [span("root")] + [native(n, "root") for n in range(1, 2000)]
    assert len(calls(*deep)) == 1
    assert len(calls(*wide)) == 1999
    assert time.process_time() - started < 20


def test_our_own_bookkeeping_is_never_a_call_nor_anything_below_it() -> None:
    """A judge that is itself an agent of some framework makes no call that would be sampled and judged."""
    judge = native("judge", attributes={"tracehooks.internal": True})
    assert calls(judge, native("a", "judge"), span("http", "judge"), native("b", "http")) == []
    assert calls(native("agent"), native("judge", "agent", attributes={"tracehooks.internal": True})) == [
        span_id("agent")
    ]


def test_a_tool_a_chain_a_retriever_and_a_bare_generation_are_no_calls() -> None:
    """Of our own spans only those of kind agent are calls."""
    for kind in ("tool", "chain", "retriever", "generation"):
        assert calls(native("a", kind=kind)) == []


def test_a_bare_model_request_is_no_call_in_any_dialect() -> None:
    """A chat completion outside of any agent is nobody's call."""
    for attributes in (
        {"gen_ai.operation.name": "chat", "gen_ai.output.messages": "[]"},
        {"openinference.span.kind": "LLM", "output.value": "hi"},
        {"llm.request.type": "chat", "gen_ai.completion.0.content": "hi"},
        {"langfuse.observation.type": "generation", "langfuse.observation.output": "hi"},
        {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanOutputs": '"hi"'},
        {"langsmith.span.kind": "llm", "gen_ai.completion": "{}"},
        {"ai.operationId": "ai.generateText.doGenerate", "ai.response.text": "hi"},
    ):
        assert calls(span("a", attributes=attributes)) == []


def test_a_function_that_nobody_called_an_agent_is_a_call_where_there_is_no_agent() -> None:
    """A plainly observed function is the application's own call, the outermost one."""
    assert calls(
        span("http"), span("f", "http", attributes=OBSERVED), span("g", "f", attributes=OBSERVED)
    ) == [span_id("f")]


def test_a_function_that_nobody_called_an_agent_is_no_call_where_there_is_one() -> None:
    """Above, below or beside an agent a plainly observed function is a step of the application."""
    agent = {"gen_ai.operation.name": "invoke_agent"}
    assert calls(span("f", attributes=OBSERVED), span("a", "f", attributes=agent)) == [span_id("a")]
    assert calls(span("a", attributes=agent), span("f", "a", attributes=OBSERVED)) == [span_id("a")]
    assert calls(
        span("http"), span("f", "http", attributes=OBSERVED), span("a", "http", attributes=agent)
    ) == [span_id("a")]


def test_the_entry_into_a_framework_is_an_agent_span_although_it_is_called_a_chain() -> None:
    """LangGraph's top chain covers its nodes, also those that are called agents."""
    scope = "openinference.instrumentation.langchain"
    node = {"openinference.span.kind": "AGENT", "metadata": '{"langgraph_node": "agent"}'}
    graph = span("LangGraph", scope=scope, attributes=FRAMEWORK_CHAIN)
    assert calls(span("agent", "LangGraph", scope=scope, attributes=node), graph) == [graph.span_id]
    assert is_agent_span(graph)
    assert not is_agent_span(span("agent", scope=scope, attributes=node))
    assert not is_agent_span(span("chain", scope="my.app", attributes=FRAMEWORK_CHAIN))


def test_a_span_known_to_be_a_call_becomes_one_whatever_it_says() -> None:
    """The one who asks knows the span to be a call: the span alone is enough, others of its trace help."""
    step = span("turn", attributes={"openinference.span.kind": "CHAIN", "output.value": "hello"})
    assert agent_call(step).output == "hello"
    top, child = native("a", output=None), native("g", "a", kind="generation", output="below")
    assert agent_call(top).output is None
    assert agent_call(top, [child, top]).output == "below"
    assert agent_call(top, [native("g", "a", trace_id="b" * 32)]).output is None


def test_an_agent_below_an_applications_own_span_is_nested_though_that_span_is_unknown() -> None:
    """Our context knows the agent around it; it is no call before that one has ended either."""
    inner = native("b", "unknown", attributes={"tracehooks.parent_agent.id": span_id("a")})
    assert calls(inner, native("a")) == calls(native("a"), inner) == [span_id("a")]
    assert calls(inner) == []
