"""Hooks on functions that take and return all kinds of things, decorated in all kinds of ways."""

import asyncio
import contextvars
import io
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import tracehooks
from tests.hooks.counting import Seen, scores_of, total
from tracehooks import ScoringHook, traced
from tracehooks.store import Store

Start = Callable[..., None]


class Hostile:
    """Fails, even by SystemExit, when anybody looks at it."""

    def __str__(self) -> str:
        raise SystemExit

    __repr__ = __str__

    def __eq__(self, other: object) -> Any:
        return [self, other]

    __hash__ = None  # type: ignore[assignment]


def cycle() -> dict[str, Any]:
    value: dict[str, Any] = {"said": "hello"}
    value["self"] = value
    return value


def test_what_cannot_be_copied_or_shown_is_scored_or_skipped(start: Start, stored: Store) -> None:
    """langchain-ai/langchain#12141, DataDog/dd-trace-py#18396: each call has one score of some status."""
    start()

    @traced(hooks=[ScoringHook(Seen())])
    def agent(value: Any) -> Any:
        return value

    stream = iter("never read")
    values: list[Any] = [
        threading.Lock(),
        io.StringIO("file"),
        cycle(),
        (n for n in list[int]()),
        Hostile(),
        bytes(50_000_000),
        {(1, 2): "tuple key"},
        {"stream": stream},
        10**5000,
    ]
    for value in values:
        result = agent(value)
        if type(value) is not type(values[3]):
            is_same = result is value  # apart: pytest shows what an assertion compares, and ends of it here
            assert is_same, type(value).__name__
        else:
            assert [*result] == []
    assert tracehooks.flush(20)
    assert next(stream) == "n"
    counts = tracehooks.stats()
    assert counts["triggered"] == total(counts) == len(values)
    assert counts["dropped"] == 0
    assert len(scores_of(stored)) == len(values)


def test_a_stream_that_a_framework_steps_elsewhere_is_scored_once(start: Start, stored: Store) -> None:
    """langfuse/langfuse#8447, langfuse/langfuse#5638: each step in a task and a context of its own."""
    start()
    seen = Seen()

    @traced(hooks=[ScoringHook(seen)])
    async def agent(question: str) -> AsyncIterator[str]:
        for word in ("to", "day"):
            with tracehooks.trace_attributes(user_id="u-1"):
                yield word
                tracehooks.attach_score("thumbs", 1.0)

    async def main() -> list[str]:
        stream, words = agent("q"), list[str]()
        while True:
            step = asyncio.create_task(anext(stream, ""), context=contextvars.Context())
            if not (word := await step):
                return words
            words.append(word)

    assert asyncio.run(main()) == ["to", "day"]
    assert tracehooks.flush(20)
    (call,) = seen.calls
    assert (call.output, call.user_id) == ("today", "u-1")
    assert {(score.trace_id, score.span_id) for score in scores_of(stored)} == {(call.trace_id, call.span_id)}


def test_every_way_to_decorate_is_scored_once_and_names_its_parameters(start: Start) -> None:
    """traceloop/openllmetry#1395, langfuse/langfuse-python#918, fastapi/fastapi#14445."""
    start()
    seen = Seen()
    hook: Any = traced(hooks=[ScoringHook(seen)])

    class Bot:
        @hook  # type: ignore[untyped-decorator]
        def method(self, question: str) -> str:
            return question

        @hook  # type: ignore[untyped-decorator]
        @classmethod
        def of_class(cls, question: str) -> str:
            return question

        @classmethod
        @hook  # type: ignore[untyped-decorator]
        def of_class_above(cls, question: str) -> str:
            return question

        @hook  # type: ignore[untyped-decorator]
        @staticmethod
        def static(question: str) -> str:
            return question

        def __call__(self, question: str) -> str:
            return question

    def two(first: str, question: str) -> str:
        return question

    def stream(question: str) -> Iterator[str]:
        yield question

    calls: list[Callable[[str], Any]] = [
        Bot().method,
        Bot().of_class,
        Bot.of_class_above,
        Bot.static,
        hook(Bot()),
        hook(partial(two, "preset")),
        lambda question: [*hook(stream)(question)],
    ]
    for number, call in enumerate(calls):
        call(f"question {number}")
    assert tracehooks.flush(20)
    assert sorted(str(call.output) for call in seen.calls) == [f"question {n}" for n in range(len(calls))]
    assert sorted(str(call.input) for call in seen.calls) == [f"question {n}" for n in range(len(calls))]
