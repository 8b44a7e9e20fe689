"""Planted tools and documents: in every shape, only in the replay that planted them, and as spans."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import tracehooks
from tracehooks import traced
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.planted import PLANT, Plant

RAN: list[str] = []


@traced(kind="tool")
def weather(city: str) -> str:
    RAN.append(city)
    return "sun"


@traced(kind="tool", name="weather")
async def weather_async(city: str) -> str:
    RAN.append(city)
    return "sun"


@traced(kind="tool", name="weather")
def weather_stream(city: str) -> Iterator[str]:
    RAN.append(city)
    yield from ("s", "un")


@traced(kind="tool", name="weather")
async def weather_stream_async(city: str) -> AsyncIterator[str]:
    RAN.append(city)
    yield "sun"


@traced(kind="retriever")
def documents(query: str) -> list[str]:
    return ["first"]


@traced(kind="retriever")
async def documents_async(query: str) -> list[str]:
    return ["first"]


@traced(kind="retriever")
def documents_stream(query: str) -> Iterator[str]:
    yield "first"


@traced(kind="retriever")
async def documents_stream_async(query: str) -> AsyncIterator[str]:
    yield "first"


@traced(kind="retriever")
def documents_later(query: str) -> Any:
    return documents_async(query)


@traced(kind="retriever")
def documents_by_name(query: str) -> dict[str, str]:
    return {"best": "first"}


async def everything(given: Any) -> Any:
    if hasattr(given, "__aiter__"):
        return [piece async for piece in given]
    if hasattr(given, "__await__"):
        return await given
    return list(given) if hasattr(given, "__next__") else given


def called(function: Callable[..., Any], plant: Plant | None) -> Any:
    """What the function gives in a replay that planted this; its span ends."""

    async def run() -> Any:
        PLANT.set(plant)
        return await everything(function("Rome"))

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def memory() -> Iterator[MemoryExporter]:
    RAN.clear()
    exporter = MemoryExporter()
    tracehooks.init({"store": ""}, tracer_provider=exporter.provider())
    yield exporter
    tracehooks.shutdown(2)


@pytest.mark.parametrize(
    ("function", "gives"),
    [
        (weather, "hail"),
        (weather_async, "hail"),
        (weather_stream, ["hail"]),
        (weather_stream_async, ["hail"]),
    ],
)
def test_a_planted_tool_is_not_called_and_is_a_span_all_the_same(
    function: Callable[..., Any], gives: Any, memory: MemoryExporter
) -> None:
    """The poisoned result is tried without any side effect."""
    plant = Plant("tool", "weather", "hail")
    assert called(function, plant) == gives
    assert (RAN, plant.reached) == ([], 1)
    (span,) = memory.spans
    assert "hail" in str((span.attributes or {})["tracehooks.output"])


@pytest.mark.parametrize("function", [weather, weather_async])
def test_another_tool_and_no_replay_are_left_alone(function: Callable[..., Any]) -> None:
    """Only the tool of the planted name, only where something is planted."""
    assert called(function, Plant("tool", "forecast", "hail")) == "sun"
    assert called(function, Plant("retriever", None, "hail")) == "sun"
    assert called(function, None) == "sun"
    assert RAN == ["Rome"] * 3


@pytest.mark.parametrize(
    "function", [documents, documents_async, documents_stream, documents_stream_async, documents_later]
)
def test_a_planted_document_comes_last(function: Callable[..., Any]) -> None:
    """The retriever is called, and finds one more; one that calls another finds it twice."""
    plant = Plant("retriever", None, "poison")
    found = called(function, plant)
    assert found[0] == "first"
    assert set(found[1:]) == {"poison"}
    assert plant.reached == len(found) - 1
    assert not plant.refused


def test_a_retriever_of_another_shape_is_left_alone_and_says_so() -> None:
    """A mapping has no end to put a document at: told, and nothing crashes."""
    plant = Plant("retriever", None, "poison")
    assert called(documents_by_name, plant) == {"best": "first"}
    assert plant.reached == 0
    assert "documents_by_name gives dict" in plant.refused


def test_each_call_gets_an_output_of_its_own() -> None:
    """What an agent changes in the output is not planted the next time."""
    plant = Plant("tool", "weather", {"days": []})
    first = called(weather, plant)
    first["days"].append("Monday")
    assert called(weather, plant) == {"days": []}


def test_a_thread_sees_the_plant_when_the_context_is_carried() -> None:
    """As it sees the trace: `carry_context`; a bare thread calls the tool."""
    found: list[str] = []

    def run() -> None:
        PLANT.set(Plant("tool", "weather", "hail"))
        for target in (
            tracehooks.carry_context(lambda: found.append(weather("Rome"))),
            lambda: found.append(weather("Oslo")),
        ):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert (found, RAN) == (["hail", "sun"], ["Oslo"])


def test_agents_and_other_kinds_carry_nothing_for_it() -> None:
    """Outside of tools and retrievers the very function is wrapped: nothing is looked up at a call."""

    def plain(text: str) -> str:
        return text

    for kind, same in (("agent", True), ("generation", True), ("chain", True), ("tool", False)):
        wrapper = traced(kind=kind)(plain)  # type: ignore[call-overload]
        cells = [cell.cell_contents for cell in wrapper.__closure__]
        assert (plain in cells) is same
