"""Methods, partials and callable objects: traced as what calling them gives, their owner never recorded."""

import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.tracing.shapes import DECORATORS, PREDICATES, SHAPES, get, same_to_inspect
from tests.tracing.spans import only, recorded
from tracehooks import traced
from tracehooks.testing import MemoryExporter


def make_class(outer: Any, inner: Any, function: Any) -> Any:
    """A class whose ``ask`` is decorated from outside (``outer``) and inside (``inner``)."""
    return type("Agent", (), {"ask": outer(inner(function))})


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("where", ["above", "below"])
@pytest.mark.parametrize("through", ["class", "instance"])
@pytest.mark.parametrize("kind", [classmethod, staticmethod])
def test_class_and_static_methods(
    memory: MemoryExporter, kind: Any, through: str, where: str, decorator: Any
) -> None:
    """@traced works over and under @classmethod and @staticmethod, and never records the class."""

    def ask(*args: Any) -> Any:
        raise NotImplementedError

    if kind is classmethod:

        def ask(cls: Any, question: str) -> str:  # type: ignore[misc]
            return f"{cls.__name__} {question}"
    else:

        def ask(question: str) -> str:  # type: ignore[misc]
            return f"Agent {question}"

    agent = make_class(*((decorator, kind) if where == "above" else (kind, decorator)), ask)
    plain = make_class(kind, lambda f: f, ask)
    target = agent if through == "class" else agent()
    assert inspect.signature(target.ask) == inspect.signature(plain.ask)
    assert target.ask("hi") == "Agent hi"
    assert recorded(only(memory), "input") == {"question": "hi"}


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
def test_methods_of_every_shape(memory: MemoryExporter, decorator: Any) -> None:
    """Methods keep their shape, bound and unbound, and ``self`` is never recorded."""

    class Plain:
        greeting = "to"

        def sync(self, question: str) -> str:
            return self.greeting + question

        async def coroutine(self, question: str) -> str:
            return self.greeting + question

        def generator(self, question: str) -> Iterator[str]:
            yield self.greeting
            yield question

        async def async_generator(self, question: str) -> AsyncIterator[str]:
            yield self.greeting
            yield question

    shapes = ("sync", "coroutine", "generator", "async_generator")
    decorated = type("Traced", (Plain,), {shape: decorator(getattr(Plain, shape)) for shape in shapes})
    for shape in shapes:
        memory.clear()
        bound, plain = getattr(decorated(), shape), getattr(Plain(), shape)
        same_to_inspect(getattr(decorated, shape), getattr(Plain, shape))
        for predicate in PREDICATES:
            assert predicate(bound) == predicate(plain), (shape, predicate)
        assert inspect.signature(bound) == inspect.signature(plain)
        assert get(bound("day")) == "today"
        assert recorded(only(memory), "input") == {"question": "day"}


def test_an_instance_under_another_name_is_not_recorded(memory: MemoryExporter) -> None:
    """A method may call its instance as it likes; a static method's first argument is an argument."""

    class Agent:
        @traced
        def ask(this, question: str) -> str:  # noqa: N805
            return question

        @staticmethod
        @traced
        def look(question: str) -> str:
            return question

    assert Agent().ask("a") == "a"
    assert Agent.look("b") == "b"
    assert [recorded(span, "input") for span in memory.spans] == [{"question": "a"}, {"question": "b"}]


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("function", SHAPES)
def test_partials(memory: MemoryExporter, function: Any, decorator: Any) -> None:
    """A partial keeps its signature and shape; what it presets is no argument of the call."""
    partial = functools.partial(function, tone="rude")
    agent = decorator(partial)
    for predicate in PREDICATES[2:]:
        assert predicate(agent) == predicate(partial)
    assert inspect.signature(agent) == inspect.signature(partial)
    assert get(agent(question="hi")) == "hi!"
    span = only(memory)
    assert recorded(span, "input") == {"question": "hi"}
    assert span.name == ("x" if decorator is DECORATORS["named"] else function.__name__)


class Sync:
    def __call__(self, question: str) -> str:
        return f"{question}!"


class Coroutine:
    async def __call__(self, question: str) -> str:
        return f"{question}!"


class Generator:
    def __call__(self, question: str) -> Iterator[str]:
        yield question
        yield "!"


class AsyncGenerator:
    async def __call__(self, question: str) -> AsyncIterator[str]:
        yield question
        yield "!"


@pytest.mark.parametrize("decorator", DECORATORS.values(), ids=DECORATORS)
@pytest.mark.parametrize("kind", [Sync, Coroutine, Generator, AsyncGenerator])
def test_callable_objects(memory: MemoryExporter, kind: Any, decorator: Any) -> None:
    """An object with ``__call__`` of any shape is traced as what calling it gives."""
    plain = kind()
    agent = decorator(plain)
    for predicate in PREDICATES[2:]:
        assert predicate(agent) == predicate(plain)
    assert inspect.signature(agent) == inspect.signature(plain)
    assert get(agent("hi")) == "hi!"
    span = only(memory)
    assert recorded(span, "input") == {"question": "hi"}
    assert span.name == ("x" if decorator is DECORATORS["named"] else kind.__name__)


def test_callable_objects_do_not_record_themselves(memory: MemoryExporter) -> None:
    """The ``self`` of ``__call__`` is no input, nor is a generator begun that nobody steps."""

    class Agent:
        def __call__(self, question: str) -> Iterator[str]:
            yield question

    agent = traced(Agent())
    agent("never stepped")
    assert memory.spans == ()
    assert list(agent("hi")) == ["hi"]
    assert recorded(only(memory), "input") == {"question": "hi"}


def test_bound_methods_and_partialmethods(memory: MemoryExporter) -> None:
    """A bound method can be traced as it is, and so can a partialmethod."""

    class Agent:
        def ask(self, tone: str, question: str) -> str:
            return f"{tone} {question}"

        kindly = traced(functools.partialmethod(ask, "kind"))

    assert traced(Agent().ask)("rude", "hi") == "rude hi"
    assert Agent().kindly("hi") == "kind hi"
    first, second = memory.spans
    assert recorded(first, "input") == {"tone": "rude", "question": "hi"}
    assert recorded(second, "input") == {"tone": "kind", "question": "hi"}
