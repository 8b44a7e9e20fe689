"""The mask reaches every text before it is recorded, keeps JSON valid, and fails closed."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import orjson
import pydantic
import pytest

import tracehooks
from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
from tracehooks.masking import SECRET_PATTERNS, masker
from tracehooks.testing import MemoryExporter

CANARY = "canary-3f9c"


def masked_by(memory: MemoryExporter, function: Callable[[str], str], **settings: Any) -> None:
    provider = memory.provider()
    tracehooks.init({"store": "", **settings}, tracer_provider=provider, mask=function)


def everything(memory: MemoryExporter) -> str:
    """All text of all spans that an exporter would see."""
    found: list[str] = []
    for span in memory.spans:
        found += [span.name, str(span.status.description), repr(attributes(span))]
        found += [repr(dict(event.attributes or {})) for event in span.events]
    return "\n".join(found)


class Model(pydantic.BaseModel):
    text: str


@traced
def agent(*args: Any, **kwargs: Any) -> Any:
    return args[0] if args else kwargs


def test_no_secret_comes_through_anywhere(memory: MemoryExporter, caplog: pytest.LogCaptureFixture) -> None:
    """langfuse/langfuse#15372, langfuse/langfuse#12587, langfuse/langfuse#11222: arguments, keyword names,
    results, nested models, stream chunks, exception texts, stack traces, status, attributes of the trace."""
    caplog.set_level(logging.DEBUG)
    masked_by(memory, lambda text: text.replace(CANARY, "***"))
    secret: Any
    for secret in (CANARY, f"a {CANARY} b", {CANARY: CANARY}, [Model(text=CANARY)], {"a": [{"b": CANARY}]}):
        agent(secret)
    agent(**{CANARY: 1, "key": CANARY})

    @traced
    def halves() -> Iterator[str]:
        yield f"my {CANARY[:4]}"
        yield f"{CANARY[4:]} is cut in two"

    @traced
    async def chunks() -> AsyncIterator[Any]:
        yield {"text": CANARY}
        yield Model(text=CANARY)

    @traced
    def fails(text: str) -> None:
        try:
            raise KeyError(text)
        except KeyError as cause:
            raise ValueError(f"no {text}") from cause

    async def consume() -> None:
        async for _ in chunks():
            pass

    list(halves())
    asyncio.run(consume())
    with pytest.raises(ValueError, match=CANARY):
        fails(CANARY)
    with tracehooks.trace_attributes(
        session_id=CANARY, user_id=CANARY, tags=[CANARY], metadata={CANARY: CANARY}
    ):
        agent("x")
    assert len(memory.spans) == 10
    assert CANARY not in everything(memory)
    assert "***" in everything(memory)
    assert CANARY not in caplog.text


def test_masked_values_are_valid_json_and_otherwise_exact(memory: MemoryExporter) -> None:
    """A mask sees texts, not their JSON: it cannot break it, and anchors mean the text's ends."""
    masked_by(memory, lambda text: re.sub(r'^"?secret.*$', '"', text, flags=re.DOTALL))
    agent({"a": "secret\n}", "n": 0, "ok": False, "none": None, "f": 0.5, "s": ["", "secret", "kept"]})
    found = recorded(only(memory), "output")
    assert found == {"a": '"', "n": 0, "ok": False, "none": None, "f": 0.5, "s": ["", '"', "kept"]}


def test_long_numbers_are_texts_to_the_mask(memory: MemoryExporter) -> None:
    """A card number that is an integer is masked too; other numbers stay numbers."""
    masked_by(memory, lambda text: re.sub(r"\d{16}", "[card]", text))
    agent({"card": 4111111111111111, "n": 12345, "x": True})
    assert recorded(only(memory), "output") == {"card": "[card]", "n": 12345, "x": True}


def test_a_secret_known_by_its_name_only(memory: MemoryExporter) -> None:
    """A password is found by the key or parameter it is given under."""
    masked_by(memory, masker(SECRET_PATTERNS))

    @traced
    def log_in(user: str, password: str) -> dict[str, str]:
        return {"user": user, "password": password}

    log_in("anna", password="hunter2-hunter2")
    assert recorded(only(memory), "input") == {"user": "anna", "password": "[masked]"}
    assert recorded(only(memory), "output") == {"user": "anna", "password": "[masked]"}
    assert "hunter2" not in everything(memory)


def test_the_patterns_of_the_settings_come_first(memory: MemoryExporter) -> None:
    """``mask.patterns`` and the mask given to init both apply."""
    masked_by(memory, lambda text: text.replace("[masked] b", "c"), mask={"patterns": ["a+"]})
    agent("aaa b")
    assert recorded(only(memory), "output") == "c"


@pytest.mark.parametrize("wrong", [ZeroDivisionError("secret"), None, b"bytes", 3])
def test_a_failing_mask_fails_closed_for_that_text(
    memory: MemoryExporter, caplog: pytest.LogCaptureFixture, wrong: Any
) -> None:
    """langfuse/langfuse-python#1882: a mask that raises, or gives no text, hides that text and no other; it
    is counted and warned of once."""

    def mask(text: str) -> Any:
        if CANARY not in text:
            return text
        if isinstance(wrong, Exception):
            raise wrong
        return wrong

    masked_by(memory, mask)
    agent({"a": CANARY, "b": "kept"})
    agent("kept")
    with pytest.raises(KeyError):
        traced(lambda value: {}[value])(CANARY)
    assert recorded(memory.spans[0], "output") == {"a": "[mask failed]", "b": "kept"}
    assert recorded(memory.spans[1], "output") == "kept"
    assert CANARY not in everything(memory)
    assert tracehooks.stats()["mask_failures"] >= 3
    assert [
        r for r in caplog.records if r.levelno >= logging.WARNING and "mask" in r.message
    ] == caplog.records
    assert len(caplog.records) == 1
    assert "secret" not in caplog.text


def test_the_programs_own_words_are_not_masked(memory: MemoryExporter) -> None:
    """A mask that hides everything still leaves the kind and the name by which a call is known."""
    masked_by(memory, lambda text: "***")
    agent("x")
    (call,) = memory.calls
    assert (call.name, call.input, call.output) == ("agent", "***", "***")


def test_what_a_mask_gives_is_cleaned_too(memory: MemoryExporter) -> None:
    """A mask that cuts a surrogate pair in half does not spoil the batch."""
    masked_by(memory, lambda text: text + "\ud83e")
    agent("x")
    assert recorded(only(memory), "output") == "x�"


def test_the_full_text_for_hooks_is_masked(memory: MemoryExporter) -> None:
    """What the online scorer gets beyond the cut attribute went through the mask as well."""
    heard: list[Any] = []
    masked_by(memory, lambda text: text.replace(CANARY, "***"), capture={"max_bytes": 100})
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(full))
    agent({"text": "x" * 200 + CANARY})
    assert orjson.loads(heard[0].output) == {"text": "x" * 200 + "***"}
    assert CANARY not in heard[0].input


def test_a_secret_is_masked_before_the_cut(memory: MemoryExporter) -> None:
    """No preview ends in the first half of a secret, wherever the cut falls."""
    masked_by(memory, lambda text: text.replace(CANARY, "***"), capture={"max_bytes": 120})
    for n in range(80):
        memory.clear()
        agent("x" * n + CANARY + "y" * 200)
        assert CANARY[:4] not in everything(memory)


def test_a_secret_at_the_end_of_what_is_looked_at(memory: MemoryExporter) -> None:
    """A huge text is looked at in part, and that part does not end within a word."""
    masked_by(memory, lambda text: text.replace(CANARY, "***"), capture={"max_bytes": 2_000_000})
    heard: list[Any] = []
    pipeline = tracehooks.runtime.pipeline()
    assert pipeline is not None
    pipeline.listen(lambda span, full, hooks: heard.append(full))
    agent("word " * 799_999 + CANARY * 1000 + " x" * 1_000_000)
    assert CANARY[:6] not in heard[0].output[-10_000:]
    assert len(heard[0].output) > 1_900_000
