"""Which value is recorded as what: every usual one exactly, every hostile one safely and soon."""

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
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import orjson
import pydantic
import pytest

import tracehooks
from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
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
