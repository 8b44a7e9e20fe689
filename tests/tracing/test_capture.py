"""What is recorded of arguments and results: exact, as they were, valid JSON, bounded in size and time."""

import asyncio
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import logging
import math
import pathlib
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import orjson
import pydantic
import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits

import tracehooks
from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
from tracehooks.settings import Settings
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.capture import MAX_BYTES
from tracehooks.tracing.trouble import trouble


@traced
def agent(value: Any) -> Any:
    return value


def out(memory: MemoryExporter, value: Any) -> Any:
    memory.clear()
    agent(value)
    span = only(memory)
    assert recorded(span, "input") == {"value": recorded(span, "output")}
    return recorded(span, "output")


class Color(enum.Enum):
    RED = "red"


class Number(enum.IntEnum):
    ONE = 1


class Point(NamedTuple):
    x: int
    y: Any


@dataclasses.dataclass
class Data:
    a: int
    b: Any = None


@dataclasses.dataclass(slots=True)
class Slotted:
    a: int


class Model(pydantic.BaseModel):
    text: str
    secret: pydantic.SecretStr = pydantic.SecretStr("hunter2")
    hidden: str = pydantic.Field(default="hunter2", exclude=True)
    score: float = math.nan
    more: Any = None


class Text(str):
    __slots__ = ()


class Shown:
    def __str__(self) -> str:
        return "shown"


class Plain:
    api_key = "hunter2"

    def __init__(self) -> None:
        self.key = "hunter2"


NAN = float("nan")
VALUES: list[tuple[Any, Any]] = [
    (None, None),
    (True, True),
    (0, 0),
    (0.0, 0.0),
    ("", ""),
    (-(2**63), -(2**63)),
    (2**64 - 1, 2**64 - 1),
    (2**64, str(2**64)),
    (2**70, str(2**70)),
    (-(2**70), str(-(2**70))),
    ([2**70, 1], [str(2**70), 1]),
    (NAN, None),
    (math.inf, None),
    ([NAN, 1.5], [None, 1.5]),
    ("ok \ud83e", "ok �"),
    ({"k\ud83e": "v\udd16"}, {"k�": "v�"}),
    ("\ud83e\udd16", "\U0001f916"),
    ("\U0001f916 日本", "\U0001f916 日本"),
    ({"a": None, "n": 0, "ok": False, "s": "", "tags": ["x", None, 1]},) * 2,
    ({1: "a", None: "b", False: "c", 2.5: "d"}, {"1": "a", "null": "b", "false": "c", "2.5": "d"}),
    ({1: "a", "1": "b"}, {"1": "a", "1 (str)": "b"}),
    ({("a", 1): "b"}, {'["a",1]': "b"}),
    ((1, (2,)), [1, [2]]),
    ({3}, [3]),
    (frozenset({3}), [3]),
    (collections.deque([1, 2]), [1, 2]),
    (collections.OrderedDict(a=1), {"a": 1}),
    (collections.defaultdict(list, a=[1]), {"a": [1]}),
    (collections.ChainMap({"a": 1}), {"a": 1}),
    (Point(1, {2}), {"x": 1, "y": [2]}),
    (Color.RED, "red"),
    (Number.ONE, 1),
    (Text("t"), "t"),
    (decimal.Decimal("1.50"), "1.50"),
    (fractions.Fraction(1, 3), "1/3"),
    (datetime.datetime(2026, 1, 2, 3, 4, 5), "2026-01-02T03:04:05"),
    (datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC), "2026-01-02T00:00:00+00:00"),
    (datetime.date(2026, 1, 2), "2026-01-02"),
    (datetime.timedelta(hours=1), "1:00:00"),
    (uuid.UUID(int=1), str(uuid.UUID(int=1))),
    (pathlib.PurePosixPath("/a/b"), "/a/b"),
    (ipaddress.ip_address("::1"), "::1"),
    (b"text", "text"),
    (bytearray(b"text"), "text"),
    (memoryview(b"text"), "text"),
    (b"\xff\xfe\x00", "<3 bytes>"),
    (Data(1, Data(2)), {"a": 1, "b": {"a": 2, "b": None}}),
    (Slotted(1), {"a": 1}),
    (Model(text="t"), {"text": "t", "secret": "**********", "score": None, "more": None}),
    ([Model(text="t", more={1})], [{"text": "t", "secret": "**********", "score": None, "more": [1]}]),
    (np.int64(3), 3),
    (np.float32(1.5), 1.5),
    (np.bool_(True), True),
    (np.arange(3), [0, 1, 2]),
    (np.array([[1.0, NAN]]), [[1.0, None]]),
    (np.zeros((1000, 1000)), "<ndarray float64 (1000, 1000)>"),
    (range(10**12), "range(0, 1000000000000)"),
    (1 + 2j, "(1+2j)"),
    (ValueError("bad"), "ValueError: bad"),
    (int, "<int>"),
    (Plain, f"<{__name__}.Plain>"),
    (len, "<function len>"),
    (Plain(), f"<{__name__}.Plain>"),
    (Shown(), "shown"),
    (object(), "<object>"),
    (threading.Lock(), "<_thread.lock>"),
    (orjson.loads, "<function loads>"),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=lambda v: type(v).__name__)
def test_values(memory: MemoryExporter, value: Any, expected: Any) -> None:
    """langchain-ai/langchain#12141, google/adk-python#4094, pydantic/logfire#749, mlflow/mlflow#24123,
    simonw/llm#546: every value has a form, exact where JSON has one, alone and inside others."""
    assert out(memory, value) == expected
    found = out(memory, {"in": [value]})
    assert found == {"in": [expected]}
    assert type(found["in"][0]) is type(expected)
    assert trouble.counts == {}


class Hostile:
    """Fails at everything that an observer might ask."""

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __hash__ = __len__ = __iter__ = __bool__ = __repr__  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError

    def __eq__(self, other: object) -> Any:
        return [self, other]


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["self"] = value
    return value


def cyclic_data() -> Data:
    value = Data(1)
    value.b = [value]
    return value


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


class Angry(dict[str, Any]):
    def items(self) -> Any:
        raise RuntimeError

    values = __iter__ = keys = items


class BadModel(pydantic.BaseModel):
    a: int = 1

    @pydantic.model_serializer
    def dump(self) -> Any:
        raise RuntimeError


HARD: dict[str, Callable[[], Any]] = {
    "hostile": Hostile,
    "hostile key": lambda: {Hostile.__name__: Hostile()},
    "cycle": cyclic,
    "cycle in a list": lambda: [cyclic(), cyclic()],
    "cyclic dataclass": cyclic_data,
    "very deep": lambda: deep(10_000),
    "50 MB bytes": lambda: bytes(50_000_000),
    "50 MB bytes inside": lambda: {"a": [bytes(50_000_000)]},
    "100 MB text": lambda: "x" * 100_000_000,
    "100 MB text inside": lambda: [{"role": "user", "content": "x" * 100_000_000}],
    "100 MB of wide text": lambda: {"a": "é" * 50_000_000},
    "5 million numbers": lambda: list(range(5_000_000)),
    "a million keys": lambda: {n: n for n in range(1_000_000)},
    "half a pair in a big text": lambda: "\ud83e" + "x" * 50_000_000,
    "half a pair among many": lambda: ["\ud83e"] + ["x" * 100] * 100_000,
    "a huge array": lambda: np.zeros(10_000_000),
    "a huge number": lambda: 10**100_000,
    "a big set": lambda: set(range(1_000_000)),
    "angry dict": lambda: Angry(a=1),
    "bad model": BadModel,
}


@pytest.mark.parametrize("make", HARD.values(), ids=HARD)
def test_hard_values(memory: MemoryExporter, make: Callable[[], Any]) -> None:
    """langchain-ai/langchain#12141, DataDog/dd-trace-py#18396: what cannot be copied, compared or shown, and
    what is huge, is recorded within the cap as valid JSON; the call succeeds, and soon."""
    value = make()
    spent = min(_added(value) for _ in range(3))
    assert spent < 0.2
    for span in memory.spans:
        found = attributes(span)
        for name in ("tracehooks.input", "tracehooks.output"):
            json.loads(found[name])
            assert len(found[name].encode()) <= MAX_BYTES
    assert trouble.counts == {}


@traced
def swallow(value: Any) -> None:
    return None


def _added(value: Any) -> float:
    """Seconds of CPU that recording an argument takes."""
    start = time.process_time()
    swallow(value)
    spent = time.process_time() - start
    agent(value)
    return spent


def test_iterators_and_files_are_not_consumed(memory: MemoryExporter, tmp_path: pathlib.Path) -> None:
    """langchain-ai/langchain#12141: a generator argument keeps its items, a file its position."""
    path = tmp_path / "f"
    path.write_text("line")
    numbers = (n for n in range(3))
    with path.open() as file:
        swallow([numbers, file, iter([1]), map(str, [1]), zip([1], [2], strict=True)])
        assert file.read() == "line"
    assert list(numbers) == [0, 1, 2]
    assert recorded(only(memory), "input") == {
        "value": ["<generator>", "<_io.TextIOWrapper>", "<list_iterator>", "<map>", "<zip>"]
    }


def test_arguments_are_written_out_before_the_call(memory: MemoryExporter) -> None:
    """comet-ml/opik#2225, comet-ml/opik#1685: what the function or the caller appends later is not there."""
    messages = [{"role": "user", "content": "hi"}]

    def reply(messages: list[dict[str, str]]) -> str:
        messages.append({"role": "assistant", "content": "hello"})
        return "hello"

    async def areply(messages: list[dict[str, str]]) -> str:
        return reply(messages)

    def stream(messages: list[dict[str, str]]) -> Iterator[str]:
        yield reply(messages)

    async def astream(messages: list[dict[str, str]]) -> AsyncIterator[str]:
        yield reply(messages)

    async def consume() -> None:
        async for _ in traced(astream)(list(messages)):
            pass

    traced(reply)(list(messages))
    asyncio.run(traced(areply)(list(messages)))
    list(traced(stream)(list(messages)))
    asyncio.run(consume())
    assert [recorded(span, "input") for span in memory.spans] == [{"messages": messages}] * 4


def test_results_are_written_out_at_the_end(memory: MemoryExporter) -> None:
    """What the caller does to a result later is not recorded."""
    result = traced(lambda: {"a": [1]})()
    result["a"].append(2)
    assert recorded(only(memory), "output") == {"a": [1]}


def is_simple(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return len({type(item) for item in value}) <= 1 and all(map(is_simple, value))
    return type(value) in (str, bool, int, float)


@pytest.mark.parametrize(("value", "expected"), VALUES[::3], ids=lambda v: type(v).__name__)
def test_the_sdk_gets_only_simple_attributes(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture, value: Any, expected: Any
) -> None:
    """google/adk-python#4094, pydantic/logfire#749: texts, booleans, numbers and uniform lists, which every
    SDK version keeps alike; and no warning."""
    seen: list[Any] = []
    provider: Any = memory.provider()
    get_tracer = provider.get_tracer

    def noted(given: Any) -> Any:
        seen.append(given)
        return given

    def noting_tracer(*args: Any, **kwargs: Any) -> Any:
        tracer = get_tracer(*args, **kwargs)
        start = tracer.start_span

        def start_span(name: str, context: Any, kind: Any, given: Any) -> Any:
            span = start(name, context, kind, noted(given))
            set_attributes, add_event = span.set_attributes, span.add_event
            span.set_attributes = lambda given: set_attributes(noted(given))
            span.add_event = lambda name, given: add_event(name, noted(given))
            return span

        tracer.start_span = start_span
        return tracer

    provider.get_tracer = noting_tracer
    tracehooks.init({"store": ""}, tracer_provider=provider)
    with tracehooks.trace_attributes(session_id="s", user_id="u", tags=["a"], metadata={"v": value}):
        agent(value)
        with pytest.raises(KeyError):
            traced(lambda value: dict[str, int]()["k"])(value)
    assert seen
    assert all(is_simple(item) for given in seen for item in given.values())
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


def limited(memory: MemoryExporter, limit: int) -> None:
    provider = memory.provider(span_limits=SpanLimits(max_attribute_length=limit))
    tracehooks.init({"store": ""}, tracer_provider=provider)


def test_the_attribute_limit_of_the_environment_is_known(
    memory: MemoryExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """langfuse/langfuse#6517, traceloop/openllmetry#3212: with a limit of 64 the output still parses, says
    that it was cut and how long it was; the listener gets the full text, and the call knows."""
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "64")
    tracehooks.init({"store": ""}, tracer_provider=memory.provider())
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append((span, full)))
    value = {"text": "y" * 500, "id": 7}
    agent(value)
    span = only(memory)
    found = recorded(span, "output")
    assert (found["truncated"], found["length"]) == (True, len(orjson.dumps(value)))
    assert '{"text":"yyyy'.startswith(found["preview"][:9])
    assert len(attributes(span)["tracehooks.output"]) <= 64
    (_, full) = heard[0]
    assert orjson.loads(full.output) == value
    assert orjson.loads(full.input) == {"value": value}
    whole = full.restored(attributes(span))
    assert orjson.loads(whole["tracehooks.output"]) == value
    assert memory.calls[0].truncated


@pytest.mark.parametrize("limit", [*range(80), 200, 1000])
@pytest.mark.parametrize("text", ["y" * 500, '"' * 300, "é\n" * 200, "\U0001f916" * 100, "\x00" * 90])
def test_every_limit_gives_valid_json_of_that_length(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture, limit: int, text: str
) -> None:
    """traceloop/openllmetry#3212: however small the limit and however the text must be escaped."""
    limited(memory, limit)
    agent(text)
    agent({"text": text, "id": 7})
    for span in memory.spans:
        for name in ("tracehooks.input", "tracehooks.output"):
            value = attributes(span)[name]
            assert len(value) <= limit
            if limit:
                json.loads(value)
    assert [r for r in caplog.records if "tracehooks" in r.getMessage()] == []


def test_a_cut_text_shows_its_beginning(memory: MemoryExporter) -> None:
    """The preview of a cut text is its own beginning, which is what the call says."""
    limited(memory, 100)
    agent("The answer is 42. " * 100)
    span = only(memory)
    assert recorded(span, "output")["preview"].startswith("The answer is 42. ")
    assert recorded(span, "input")["preview"].startswith("The answer is 42. ")
    assert recorded(span, "output")["length"] == 1802
    assert "gen_ai.output.messages" not in attributes(span)


def test_the_setting_caps_bytes(memory: MemoryExporter) -> None:
    """``capture.max_bytes`` counts bytes, not characters."""
    tracehooks.init({"store": "", "capture": {"max_bytes": 100}}, tracer_provider=memory.provider())
    agent("é" * 49)
    agent("é" * 50)
    fits, cut = memory.spans
    assert recorded(fits, "output") == "é" * 49
    assert recorded(cut, "output")["truncated"] is True
    assert len(attributes(cut)["tracehooks.output"].encode()) <= 100


def test_the_default_cap_is_the_settings_default() -> None:
    """Calls recorded without ``init()`` are capped alike."""
    assert Settings().capture.max_bytes == MAX_BYTES


@pytest.mark.parametrize(("which", "kept"), [("capture_input", "output"), ("capture_output", "input")])
def test_capture_can_be_turned_off(memory: MemoryExporter, which: str, kept: str) -> None:
    """Nothing of the arguments, or of the result or chunks, is recorded then; nor handed to hooks."""
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(full))
    options: Any = {which: False}

    @traced(**options)
    def plain(value: str) -> str:
        return value

    @traced(**options)
    def stream(value: str) -> Iterator[str]:
        yield value

    plain("secret" * 100_000)
    list(stream("secret" * 100_000))
    off = "input" if kept == "output" else "output"
    for span, full in zip(memory.spans, heard, strict=True):
        assert f"tracehooks.{kept}" in attributes(span)
        assert not [name for name in attributes(span) if off in name]
        assert getattr(full, off) is None


def test_messages_follow_the_conventions(memory: MemoryExporter) -> None:
    """Texts and chats become messages of the GenAI conventions; other shapes do not."""

    def messages(value: Any, side: str) -> Any:
        memory.clear()
        agent(value)
        found = attributes(only(memory)).get(f"gen_ai.{side}.messages")
        return None if found is None else orjson.loads(found)

    def text(role: str, content: str) -> dict[str, Any]:
        return {"role": role, "parts": [{"type": "text", "content": content}]}

    chat = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": [{"type": "text", "text": "hi"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "found"},
    ]
    called = {"type": "tool_call", "id": "1", "name": "look", "arguments": "{}"}
    answered = {"type": "tool_call_response", "id": "1", "response": "found"}
    expected = [
        text("system", "be kind"),
        text("user", "hi"),
        {"role": "assistant", "parts": [called]},
        {"role": "tool", "parts": [answered]},
    ]
    assert messages(chat, "input") == messages(chat, "output") == expected
    assert messages("hi", "input") == [text("user", "hi")]
    assert messages("hi", "output") == [{**text("assistant", "hi"), "finish_reason": "stop"}]
    reply = {"role": "assistant", "content": "hello"}
    assert messages(reply, "output") == [text("assistant", "hello")]
    completion = {
        "choices": [{"message": reply, "finish_reason": "length"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    }
    assert messages(completion, "output") == [{**text("assistant", "hello"), "finish_reason": "length"}]
    assert attributes(only(memory))["gen_ai.usage.output_tokens"] == 2
    response = {"output": [{"type": "message", "role": "assistant", "content": reply["content"]}]}
    assert messages(response, "output") == [text("assistant", "hello")]
    others: list[Any] = [7, None, {"a": 1}, ["a"], [{"content": "x"}], {"output": "x"}, {"choices": []}]
    for other in others:
        assert messages(other, "output") is None


def test_the_users_text_is_found_among_arguments(memory: MemoryExporter) -> None:
    """Of several texts the one with a telling name is the user's; without one there is no guess."""

    @traced
    def ask(user_id: str, question: str) -> str:
        return "a"

    @traced
    def pick(left: str, right: str) -> str:
        return "a"

    ask("u-1", "why?")
    pick("x", "y")
    asked, picked = memory.spans
    assert orjson.loads(attributes(asked)["gen_ai.input.messages"])[0]["parts"][0]["content"] == "why?"
    assert "gen_ai.input.messages" not in attributes(picked)


def test_arguments_are_not_touched_when_nobody_records(memory: MemoryExporter) -> None:
    """An unsampled call never looks at its arguments."""
    from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

    tracehooks.init({"store": ""}, tracer_provider=memory.provider(sampler=ALWAYS_OFF))
    touched: list[str] = []

    class Watched(dict[str, int]):
        def items(self) -> Any:
            touched.append("items")
            return super().items()

        def __str__(self) -> str:
            touched.append("str")
            return ""

    swallow(Watched(a=1))
    assert touched == []


def test_a_spans_times_are_those_of_the_function(memory: MemoryExporter) -> None:
    """Writing out a large result is not part of the call's duration."""

    @traced
    def quick() -> str:
        return big

    big = "x" * 100_000_000
    quick()
    span: ReadableSpan = only(memory)
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.end_time - span.start_time < 50_000_000
