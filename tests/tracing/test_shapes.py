"""Every shape of function: one span a call, and the function looks and behaves as before."""

import asyncio
import functools
import inspect
import pickle
import sys
import time
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracehooks
from tests.tracing.shapes import (
    DECORATORS,
    SHAPES,
    async_generator,
    generator,
    get,
    same_to_inspect,
    sync,
)
from tests.tracing.spans import attributes, id_of, named, only, parent_of, recorded
from tracehooks import traced
from tracehooks.errors import ConfigurationError
from tracehooks.hooks import ScoringHook
from tracehooks.testing import MemoryExporter


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("function", SHAPES)
def test_functions(memory: MemoryExporter, function: Any, decorator: Any) -> None:
    """traceloop/openllmetry#1395, langfuse/langfuse-python#918, fastapi/fastapi#14445: with and without
    parentheses the signature and coroutine-ness stay, and each call is one span with the named inputs."""
    agent = decorator(function)
    same_to_inspect(agent, function)
    assert (agent.__name__, agent.__doc__, agent.__wrapped__) == (function.__name__, "Answer.", function)
    assert isinstance(agent, types.FunctionType)
    assert get(agent("hi", tone="rude")) == "hi!"
    span = only(memory)
    assert span.name == ("x" if decorator is DECORATORS["named"] else function.__name__)
    assert recorded(span, "input") == {"question": "hi", "tone": "rude"}
    assert recorded(span, "output") == "hi!"
    assert memory.calls[0].input == "hi"
    assert memory.calls[0].output == "hi!"


@pytest.mark.parametrize("function", [generator, async_generator])
def test_a_generator_records_its_text_and_its_whole_time(memory: MemoryExporter, function: Any) -> None:
    """langfuse/langfuse#7226, langfuse/langfuse-python#1233: the output is what was yielded, joined, and the
    span ends after the last chunk; a listener hears of it once."""
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(recorded(span, "output")))
    result = traced(function)("to")
    last = 0
    if inspect.isgenerator(result):
        for _ in result:
            last = time.time_ns()
    else:

        async def consume() -> None:
            nonlocal last
            async for _ in result:
                last = time.time_ns()

        asyncio.run(consume())
    span = only(memory)
    assert recorded(span, "output") == "to!"
    assert span.end_time is not None
    assert span.end_time >= last
    assert heard == ["to!"]


def test_arguments_are_named_by_parameter(memory: MemoryExporter) -> None:
    """Positional, keyword-only, surplus and keyword arguments come under their parameters' names."""

    @traced
    def ask(a: int, /, b: int, *rest: int, c: int = 0, d: int = 9, **more: int) -> None:
        return None

    ask(1, 2, 3, 4, c=5, a=6, e=7)
    ask(1, b=2)
    first, second = memory.spans
    assert recorded(first, "input") == {"a": 1, "b": 2, "rest": [3, 4], "c": 5, "more": {"a": 6, "e": 7}}
    assert recorded(second, "input") == {"a": 1, "b": 2}


def test_a_wrong_call_fails_as_before(memory: MemoryExporter) -> None:
    """A missing argument is the caller's TypeError, at the call, for every shape."""
    for function in SHAPES:
        with pytest.raises(TypeError, match="question"):
            get(traced(function)())
        with pytest.raises(TypeError, match="wrong"):
            get(traced(function)("hi", wrong=1))


def test_builtins_without_a_signature(memory: MemoryExporter) -> None:
    """What does not tell its parameters is traced all the same."""
    assert traced(max)(1, 2) == 2
    assert recorded(only(memory), "input") == {"args": [1, 2]}


def test_nesting_follows_the_calls(memory: MemoryExporter) -> None:
    """A traced function called by another is its child; a nested agent knows that it is one."""

    @traced(kind="tool")
    def look_up(key: str) -> str:
        return key

    @traced
    def inner(question: str) -> str:
        return look_up(question)

    @traced
    def outer(question: str) -> str:
        return inner(question)

    outer("hi")
    a, b, c = named(memory, "outer"), named(memory, "inner"), named(memory, "look_up")
    assert (parent_of(a), parent_of(b), parent_of(c)) == (None, id_of(a), id_of(b))
    assert "tracehooks.parent_agent.id" not in attributes(a)
    assert attributes(b)["tracehooks.parent_agent.id"] == f"{id_of(a):016x}"
    assert "tracehooks.parent_agent.id" not in attributes(c)
    assert [call.name for call in memory.calls] == ["outer"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("agent", {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "n"}),
        ("tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "n"}),
        ("chain", {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": "n"}),
        ("retriever", {"gen_ai.operation.name": "retrieval"}),
        ("generation", {"gen_ai.operation.name": "chat"}),
    ],
)
def test_kinds_are_said_in_the_genai_conventions(
    memory: MemoryExporter, kind: Any, expected: dict[str, str]
) -> None:
    """Each kind has its operation and its name where the conventions have a place for it."""
    traced(name="n", kind=kind, version="2")(sync)("hi")
    found = attributes(only(memory))
    assert found["tracehooks.kind"] == kind
    assert expected.items() <= found.items()
    assert found["gen_ai.agent.version" if kind == "agent" else "tracehooks.version"] == "2"
    assert ("gen_ai.input.messages" in found) == (kind in ("agent", "generation"))


def test_what_was_told_is_kept_on_the_wrapper() -> None:
    """Hooks, kind and name can be read from the decorated function."""
    hook = ScoringHook(lambda call: 1.0)
    told = traced(name="bot", kind="tool", hooks=[hook], version="2")(sync).__tracehooks__  # type: ignore[attr-defined]
    assert (told.name, told.kind, told.hooks, told.version) == ("bot", "tool", (hook,), "2")


@pytest.mark.parametrize("value", ["1", "true", "TRUE", "yes"])
def test_disabled_means_the_function_itself(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """TRACEHOOKS_DISABLED=1 costs nothing: the original is returned, whatever it is."""
    monkeypatch.setenv("TRACEHOOKS_DISABLED", value)
    for target in (*SHAPES, staticmethod(sync), functools.partial(sync)):
        assert traced(target) is target
        assert traced(name="x")(target) is target


@pytest.mark.parametrize("value", ["", "0", "false", "no", "off"])
def test_not_disabled(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """An empty or negative value does not disable."""
    monkeypatch.setenv("TRACEHOOKS_DISABLED", value)
    assert traced(sync) is not sync


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: traced(int),
        lambda: traced(3),
        lambda: traced(property(sync)),
        lambda: traced(kind="robot")(sync),  # type: ignore[call-overload]
        lambda: traced(control_flow=("Pause",))(sync),  # type: ignore[arg-type]
        lambda: traced(hooks=[len])(sync),
        lambda: traced(reduce="join")(sync),  # type: ignore[call-overload]
    ],
)
def test_mistakes_are_told_when_decorating(wrong: Callable[[], Any]) -> None:
    """What cannot be traced says so at once, not at the first call."""
    with pytest.raises(ConfigurationError):
        wrong()


@traced
def at_module_level(question: str) -> Iterator[str]:
    yield question


def test_decorated_functions_can_be_pickled() -> None:
    """A worker process finds them by name, as any function."""
    assert pickle.loads(pickle.dumps(at_module_level)) is at_module_level


@pytest.mark.parametrize("watch", [sys.settrace, sys.setprofile])
@pytest.mark.parametrize("function", SHAPES)
def test_debuggers_and_profilers_may_watch(memory: MemoryExporter, function: Any, watch: Any) -> None:
    """A wrapper that is flagged as a generator function runs under a debugger like any other."""

    def look(*_: Any) -> Any:
        return look

    before = sys.gettrace() if watch is sys.settrace else sys.getprofile()
    watch(look)
    try:
        assert get(traced(function)("hi")) == "hi!"
    finally:
        watch(before)
    assert recorded(only(memory), "output") == "hi!"


def test_a_mock_is_returned_as_it_is(memory: MemoryExporter) -> None:
    """Mocks have every method; an application's tests still get their very mock."""
    from unittest.mock import MagicMock

    mock = MagicMock()
    assert traced(lambda: mock)() is mock
    assert len(memory.spans) == 1
