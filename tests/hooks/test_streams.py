"""Streams with a hook attached: scored once, when they end, however they end, with the chunks so far."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import get_current_span

import tracehooks
from tests.hooks.counting import ALWAYS, Seen, scores_of
from tracehooks import ScoringHook, traced
from tracehooks.store import Store

Start = Callable[..., None]
Leave = Callable[[Iterator[str]], None]


def stream_with(seen: Seen) -> Callable[[str], Iterator[str]]:
    @traced(hooks=[ScoringHook(seen)])
    def agent(question: str) -> Iterator[str]:
        yield from ("one ", "two ", "three")

    return agent


def astream_with(seen: Seen) -> Callable[[str], AsyncIterator[str]]:
    @traced(hooks=[ScoringHook(seen)])
    async def agent(question: str) -> AsyncIterator[str]:
        for piece in ("one ", "two ", "three"):
            yield piece

    return agent


def _break(stream: Iterator[str]) -> None:
    for _ in stream:
        break


def _close(stream: Any) -> None:
    next(stream)
    stream.close()


def _slice(stream: Iterator[str]) -> None:
    list(islice(stream, 1))


def _raise(stream: Iterator[str]) -> None:
    with pytest.raises(KeyError):
        _consume_badly(stream)


def _consume_badly(stream: Iterator[str]) -> None:
    for _ in stream:
        raise KeyError("consumer")


def _drop(stream: Iterator[str]) -> None:
    next(stream)
    del stream


@pytest.mark.parametrize("leave", [_break, _close, _slice, _raise, _drop])
def test_a_stream_left_early_is_scored_once_with_the_chunks_so_far(
    start: Start, stored: Store, leave: Leave
) -> None:
    """mlflow/mlflow#25790, traceloop/openllmetry#3151, openlit/openlit#1454."""
    start()
    seen = Seen()
    leave(stream_with(seen)("q"))
    gc.collect()
    assert tracehooks.flush(20)
    assert seen.outputs == ["one "]
    assert len(scores_of(stored)) == 1


@pytest.mark.parametrize("how", ["break", "aclose", "cancel", "drop"])
def test_an_async_stream_left_early_is_scored_once_with_the_chunks_so_far(start: Start, how: str) -> None:
    """mlflow/mlflow#25790, google/adk-python#6559."""
    start()
    seen = Seen()

    async def consume() -> None:
        stream: Any = astream_with(seen)("q")
        if how == "break":
            async for _ in stream:
                break
        else:
            await anext(stream)
        if how == "aclose":
            await stream.aclose()
        if how == "cancel":
            task = asyncio.ensure_future(_wait_on(stream))
            await asyncio.sleep(0)
            task.cancel()
        del stream
        gc.collect()
        await asyncio.sleep(0.01)

    async def _wait_on(stream: Any) -> None:
        await asyncio.sleep(30)
        await anext(stream)

    asyncio.run(consume())
    gc.collect()
    assert tracehooks.flush(20)
    assert seen.outputs == ["one "]


def test_streams_that_were_never_begun_are_never_scored_as_something(start: Start, stored: Store) -> None:
    """traceloop/openllmetry#3151: made and dropped; there is no text, and nothing leaks."""
    start()
    seen = Seen()
    agent = stream_with(seen)
    for _ in range(500):
        agent("q")
    gc.collect()
    assert tracehooks.flush(20)
    assert [output for output in seen.outputs if output] == []
    counts = tracehooks.stats()
    assert counts["triggered"] == counts["scored"] + sum(counts["skipped"].values())


def test_a_failed_call_is_scored_with_its_error_and_the_caller_gets_its_own(start: Start) -> None:
    """langfuse/langfuse-python#1417: same object, on every shape; what came before is in the text."""
    start()
    seen = Seen()
    error = ValueError()

    @traced(hooks=[ScoringHook(seen)])
    def plain(q: str) -> str:
        raise error

    @traced(hooks=[ScoringHook(seen)])
    def stream(q: str) -> Iterator[str]:
        yield "before"
        raise error

    @traced(hooks=[ScoringHook(seen)])
    async def astream(q: str) -> AsyncIterator[str]:
        yield "before"
        raise error

    async def collect() -> None:
        async for _ in astream("q"):
            pass

    for call in (lambda: plain("q"), lambda: list(stream("q")), lambda: asyncio.run(collect())):
        with pytest.raises(ValueError) as raised:
            call()
        assert raised.value is error
    assert tracehooks.flush(20)
    assert seen.outputs == [None, "before", "before"] or seen.outputs == ["before", "before", None]
    assert all("ValueError" in str(call.error) for call in seen.calls)


def test_a_signal_of_the_framework_is_scored_as_no_error(start: Start) -> None:
    """open-telemetry/opentelemetry-python#4484, aegra/aegra#427."""

    start()
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)], control_flow=(Pause,))
    def agent(q: str) -> str:
        raise Pause

    with pytest.raises(Pause):
        agent("q")
    assert tracehooks.flush(20)
    assert [call.error for call in seen.calls] == [None]


def test_the_consumers_context_is_left_clean(start: Start) -> None:
    """Arize-ai/openinference#1769, pydantic/logfire#1424: no span stays current, the next call is a root."""
    start()
    seen = Seen()

    async def main() -> None:
        async for _ in astream_with(seen)("q"):
            break
        await asyncio.sleep(0)
        gc.collect()
        assert not get_current_span().get_span_context().is_valid

    asyncio.run(main())
    list(stream_with(seen)("q"))
    assert tracehooks.flush(20)
    assert len({call.trace_id for call in seen.calls}) == 2


def test_what_was_said_is_taken_down_when_it_was_said(start: Start) -> None:
    """comet-ml/opik#2225, comet-ml/opik#1685: later changes of arguments and chunks are not judged."""
    start()
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    def agent(messages: list[dict[str, str]]) -> Iterator[dict[str, str]]:
        messages.append({"role": "assistant", "content": "later"})
        yield {"role": "assistant", "content": "as said"}

    messages = [{"role": "user", "content": "hi"}]
    for chunk in agent(messages):
        chunk["content"] = "changed"
    messages.append({"role": "user", "content": "much later"})
    assert tracehooks.flush(20)
    (call,) = seen.calls
    assert "later" not in str(call.input)
    assert "changed" not in str(call.output)


class Pause(Exception):  # noqa: N818 - no error
    """How a framework waits for a person."""


class Breaking(SpanProcessor):
    """Raises at every end."""

    def on_end(self, span: Any) -> None:
        raise RuntimeError("processor")


class Unprintable:
    """Cannot be written down."""

    def __repr__(self) -> str:
        raise RuntimeError("repr")


@pytest.mark.filterwarnings("ignore")
def test_what_breaks_in_the_tracing_breaks_no_agent(start: Start) -> None:
    """The-PR-Agent/pr-agent#2864: the agent's own result and error, each body run once."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Breaking())
    start(provider)
    seen, calls = Seen(), []

    @traced(hooks=[ScoringHook(seen)])
    def returns(q: str) -> Unprintable:
        calls.append("returns")
        return found

    @traced(hooks=[ScoringHook(seen)])
    def fails(q: str) -> str:
        calls.append("fails")
        raise KeyError("k")

    found = Unprintable()
    assert returns("q") is found
    with pytest.raises(KeyError, match="k"):
        fails("q")
    assert calls == ["returns", "fails"]


def test_odd_results_are_scored_or_skipped_and_never_lost(start: Start, stored: Store) -> None:
    """mlflow/mlflow#24123, simonw/llm#546, google/adk-python#4094: surrogates, huge numbers, mixes."""
    start()
    outputs: list[Any] = [
        "ok \ud83e",
        {"\ud83e": 2**70},
        {"a": None, "n": 0, "tags": ["x", None, 1]},
        2**70,
        "fine",
    ]
    seen = Seen()

    @traced(hooks=[ScoringHook(seen, concurrency=1)])
    def agent(n: int) -> Any:
        return outputs[n]

    for n, output in enumerate(outputs):
        assert agent(n) is output
    assert tracehooks.flush(20)
    assert len(scores_of(stored)) == len(outputs) == stored.calls.count(*ALWAYS)
    assert "ok \ufffd" in seen.outputs
    str(seen.outputs).encode()
