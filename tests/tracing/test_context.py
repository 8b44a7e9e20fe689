"""Where traced calls are: trace attributes, the current trace, threads, pools and loops."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import tracehooks
from tests.tracing.spans import attributes, id_of, named, only, parent_of, trace_of
from tracehooks import carry_context, current_trace, trace_attributes, traced
from tracehooks.records import TraceRef
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.trouble import trouble


@traced
def agent() -> TraceRef | None:
    return current_trace()


@traced(kind="tool")
def tool() -> None:
    return None


def test_spans_started_inside_get_the_attributes(memory: MemoryExporter) -> None:
    """Session, user, tags and metadata are on the span and on the call; outside they are not."""
    with trace_attributes(session_id="s-1", user_id="u-1", tags=["beta"], metadata={"plan": "pro"}):
        agent()
    agent()
    inside, outside = memory.spans
    found = attributes(inside)
    assert (found["session.id"], found["user.id"], found["tracehooks.tags"]) == ("s-1", "u-1", ("beta",))
    assert orjson.loads(found["tracehooks.metadata"]) == {"plan": "pro"}
    call = memory.calls[0]
    assert (call.session_id, call.user_id, call.tags) == ("s-1", "u-1", ("beta",))
    assert call.metadata == {"plan": "pro"}
    assert not {"session.id", "user.id", "tracehooks.tags", "tracehooks.metadata"} & set(attributes(outside))


def test_blocks_nest(memory: MemoryExporter) -> None:
    """The inner session and user win; tags and metadata come together; leaving restores."""
    with trace_attributes(session_id="s", user_id="u", tags=["a", "b"], metadata={"a": 1}):
        with trace_attributes(user_id="v", tags=["b", "c"], metadata={"b": 2}):
            agent()
        agent()
    inner, outer = map(attributes, memory.spans)
    assert (inner["session.id"], inner["user.id"], inner["tracehooks.tags"]) == ("s", "v", ("a", "b", "c"))
    assert orjson.loads(inner["tracehooks.metadata"]) == {"a": 1, "b": 2}
    assert (outer["user.id"], outer["tracehooks.tags"]) == ("u", ("a", "b"))


def test_inside_a_body_the_open_spans_get_them_too(memory: MemoryExporter) -> None:
    """What a tool finds out about the user describes the agent's call as well; several blocks add up."""

    @traced(kind="tool")
    def look_up() -> None:
        with trace_attributes(user_id="u-1", tags=["b"]):
            agent()

    @traced(name="outer")
    def outer() -> None:
        with trace_attributes(tags=["a"]):
            look_up()
        with trace_attributes(session_id="s", tags=["c"]):
            tool()

    outer()
    found = attributes(named(memory, "outer"))
    assert (found["user.id"], found["session.id"]) == ("u-1", "s")
    assert found["tracehooks.tags"] == ("a", "b", "c")
    assert attributes(named(memory, "tool"))["tracehooks.tags"] == ("c",)
    assert "user.id" not in attributes(named(memory, "tool"))


def test_the_applications_own_span_is_left_alone(memory: MemoryExporter) -> None:
    """Only our spans get attributes."""
    tracer = memory.provider().get_tracer("app")
    with tracer.start_as_current_span("http"), trace_attributes(user_id="u"):
        agent()
    assert attributes(named(memory, "http")) == {}
    assert attributes(named(memory, "agent"))["user.id"] == "u"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"user_id": 42, "session_id": 7.5}, {"user.id": "42", "session.id": "7.5"}),
        ({"tags": "beta"}, {"tracehooks.tags": ("beta",)}),
        ({"tags": [1, None]}, {"tracehooks.tags": ("1", "None")}),
        ({"tags": None, "metadata": None}, {}),
        ({"metadata": "pro"}, {"tracehooks.metadata": '{"value":"pro"}'}),
        ({"metadata": {1: {2}}}, {"tracehooks.metadata": '{"1":[2]}'}),
        ({"user_id": ""}, {"user.id": ""}),
        ({"user_id": "\ud83e"}, {"user.id": "�"}),
    ],
)
def test_other_types_are_taken_as_text(memory: MemoryExporter, given: Any, expected: dict[str, Any]) -> None:
    """Attributes of a trace never make the agent fail."""
    with trace_attributes(**given):
        agent()
    found = attributes(only(memory))
    assert expected.items() <= found.items()
    assert trouble.counts == {}


def test_hopeless_attributes_are_our_trouble(memory: MemoryExporter) -> None:
    """What cannot even be shown is left out, with one warning; the block runs."""

    class Hopeless:
        def __str__(self) -> str:
            raise RuntimeError

    with trace_attributes(user_id=Hopeless()):  # type: ignore[arg-type]
        agent()
    assert "user.id" not in attributes(only(memory))
    assert trouble.counts == {"trace_attributes": 1}


def test_metadata_is_written_out_when_the_span_starts(memory: MemoryExporter) -> None:
    """What happens to the dict later does not show."""
    plan = {"plan": "pro"}
    with trace_attributes(metadata=plan):
        agent()
        plan["plan"] = "free"
    assert orjson.loads(attributes(only(memory))["tracehooks.metadata"]) == {"plan": "pro"}


def test_without_tracing_the_block_just_runs() -> None:
    """No init, no provider: nothing happens, nothing fails."""
    with trace_attributes(user_id="u"):
        assert agent() is None


def test_the_current_trace_is_the_running_call(memory: MemoryExporter) -> None:
    """The address of the innermost traced call; None outside, and never the application's own span."""
    tracer = memory.provider().get_tracer("app")
    assert current_trace() is None
    with tracer.start_as_current_span("http"):
        assert current_trace() is None
        ref = agent()
    assert ref == TraceRef(trace_of(named(memory, "agent")), f"{id_of(named(memory, 'agent')):016x}")

    @traced
    def body() -> None:
        with tracer.start_as_current_span("db"):
            inside.append(current_trace())

    inside: list[Any] = []
    body()
    assert inside[0].span_id == f"{id_of(named(memory, 'body')):016x}"


def test_an_unsampled_call_has_no_current_trace(memory: MemoryExporter) -> None:
    """langfuse/langfuse-python#1890: nothing can be attached to a trace that is never exported."""
    tracehooks.init({"store": ""}, tracer_provider=memory.provider(sampler=ALWAYS_OFF))
    assert agent() is None


def test_tools_in_threads_are_children_of_the_agent(memory: MemoryExporter) -> None:
    """huggingface/smolagents#1840, open-telemetry/opentelemetry-python-contrib#1009, mlflow/mlflow#21060: a
    pool, to_thread, a loop in a thread; and what runs in the same pool later belongs to nobody."""

    @traced(kind="tool")
    async def async_tool() -> None:
        await asyncio.sleep(0)

    def in_a_loop() -> None:
        asyncio.run(async_tool())

    @traced
    async def run(pool: ThreadPoolExecutor) -> None:
        pool.submit(carry_context(tool)).result()
        await asyncio.get_running_loop().run_in_executor(pool, carry_context(tool))
        await asyncio.to_thread(tool)
        thread = threading.Thread(target=carry_context(in_a_loop))
        thread.start()
        await asyncio.to_thread(thread.join)

    with ThreadPoolExecutor(1) as pool:
        asyncio.run(run(pool))
        pool.submit(tool).result()
    parent = named(memory, "run")
    *inside, last = [span for span in memory.spans if span.name.endswith("tool")]
    assert len(inside) == 4
    assert {parent_of(span) for span in inside} == {id_of(parent)}
    assert parent_of(last) is None


def test_one_carried_function_may_run_many_times_at_once(memory: MemoryExporter) -> None:
    """Each call has a copy of the context of its own."""
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)
    barrier = threading.Barrier(4)

    def work(n: int) -> tuple[int, int]:
        before = variable.get()
        variable.set(n)
        barrier.wait(5)
        return before, variable.get()

    variable.set(7)
    carried = carry_context(work)
    variable.set(8)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(carried, range(4)))
    assert sorted(results) == [(7, n) for n in range(4)]
    assert carried.__name__ == "work"


def test_a_carried_coroutine_function_stays_one(memory: MemoryExporter) -> None:
    """Awaited in another loop, its body still belongs to the agent."""

    @carry_context
    async def outside() -> TraceRef | None:
        return current_trace()

    @traced
    def ask() -> Any:
        async def inner() -> TraceRef | None:
            tool()
            return current_trace()

        carried = carry_context(inner)
        assert asyncio.iscoroutinefunction(carried)
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(asyncio.run(carried())))
        thread.start()
        thread.join()
        return found[0]

    ref = ask()
    assert ref.span_id == f"{id_of(named(memory, 'ask')):016x}"
    assert parent_of(named(memory, "tool")) == id_of(named(memory, "ask"))
    assert asyncio.run(outside()) is None


def test_background_tasks_outlive_the_call(memory: MemoryExporter) -> None:
    """A task started in the body and finished after it is still a child of the call."""

    @traced(kind="tool")
    async def late() -> None:
        await asyncio.sleep(0.01)

    @traced
    async def ask() -> asyncio.Task[None]:
        return asyncio.create_task(late())

    async def main() -> None:
        await (await ask())

    asyncio.run(main())
    assert parent_of(named(memory, "late")) == id_of(named(memory, "ask"))


def test_a_stream_handed_to_a_web_framework(memory: MemoryExporter) -> None:
    """langfuse/langfuse#8447: sync and async streams returned by a handler and iterated after it, the sync
    one in a thread pool: one trace each, under the request, as long as the last chunk."""
    tracer = memory.provider().get_tracer("http")

    @traced
    def sync_answer() -> Iterator[str]:
        tool()
        yield "a"
        tool()
        yield "b"

    @traced
    async def async_answer() -> AsyncIterator[str]:
        for chunk in ("a", "b"):
            await asyncio.to_thread(tool)
            yield chunk

    async def handle(endpoint: Any) -> Any:
        with tracer.start_as_current_span("request"):
            return endpoint()

    async def respond(body: Any) -> str:
        chunks = []
        if hasattr(body, "__anext__"):
            async for chunk in body:
                chunks.append(chunk)
        else:
            while (chunk := await asyncio.to_thread(next, body, None)) is not None:
                chunks.append(chunk)
        return "".join(chunks)

    async def main(endpoint: Any) -> str:
        body = await asyncio.create_task(handle(endpoint))
        return await asyncio.create_task(respond(body), context=contextvars.Context())

    for endpoint in (sync_answer, async_answer):
        memory.clear()
        assert asyncio.run(main(endpoint)) == "ab"
        span = named(memory, endpoint.__name__)
        assert len({trace_of(one) for one in memory.spans}) == 1
        assert parent_of(span) == id_of(named(memory, "request"))
        tools = [one for one in memory.spans if one.name == "tool"]
        assert [parent_of(one) for one in tools] == [id_of(span)] * 2
        assert span.end_time is not None
        assert all(one.end_time is not None and one.end_time <= span.end_time for one in tools)
        assert memory.calls[0].output == "ab"
