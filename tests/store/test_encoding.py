from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracehooks.records import AgentCall
from tracehooks.store.encoding import (
    chunks,
    from_json,
    from_micros,
    safe_text,
    to_int64,
    to_json,
    to_micros,
)

any_text = st.text(st.characters(exclude_categories=()))  # surrogates and nulls too
any_value = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | any_text | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(any_text | st.integers(), inner) | st.tuples(inner, inner)
    ),
)


@settings(deadline=None)
@given(any_text)
def test_text_becomes_valid_and_what_was_valid_stays(text: str) -> None:
    """Any str can be stored as UTF-8 without nulls; a well-formed one is not touched."""
    safe = safe_text(text)
    assert "\x00" not in safe
    assert safe.encode().decode() == safe
    if safe != text:
        assert "\x00" in text or any("\ud800" <= character <= "\udfff" for character in text)


def test_two_halves_of_a_character_become_it() -> None:
    """A pair of surrogates is the emoji that somebody cut in two; a lone one is not guessed at."""
    assert safe_text("\ud83e\udd16 \ud83e x") == "🤖 \ufffd x"


@settings(deadline=None)
@given(any_value)
def test_any_value_becomes_json(value: Any) -> None:
    """Whatever an application records, the column holds JSON that reads back, and no NaN token."""
    text = to_json(value)
    text.encode()
    assert orjson.loads(text) == from_json(text)
    assert "\x00" not in text


class Unprintable:
    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": None, "n": 0, "ok": False, "s": "", "tags": ["x", None, 1]},) * 2,
        ({"n": 2**63, "m": -(2**63)},) * 2,
        ([2**64, -(2**63) - 1], [str(2**64), str(-(2**63) - 1)]),
        ({"n": 10**5000}, {"n": "<int>"}),
        ([float("inf"), float("nan"), 0.1], [None, None, 0.1]),
        ({1: {("a", 2): "x"}}, {"1": {"('a', 2)": "x"}}),
        ([b"raw \xff", {1}, (1, 2)], ["raw \ufffd", [1], [1, 2]]),
        ([Decimal("1.5"), timedelta(seconds=1)], ["1.5", "0:00:01"]),
        ([Unprintable(), 2**70], ["<Unprintable>", str(2**70)]),
        ([datetime(2026, 11, 30, tzinfo=UTC)], ["2026-11-30T00:00:00+00:00"]),
        ([datetime(2026, 11, 30, tzinfo=UTC), 2**70], ["2026-11-30T00:00:00+00:00", str(2**70)]),
        ([b"raw", AgentCall(name="\ud83e").ref], ["raw", {"trace_id": "0" * 32, "span_id": "0" * 16}]),
        ("a\x00b \udc00", "a\x00b \ufffd"),
    ],
)
def test_odd_values_have_a_known_form(value: Any, expected: Any) -> None:
    """Numbers stay numbers as far as JSON goes; the rest becomes text and never an exception."""
    assert from_json(to_json(value)) == expected


def test_what_contains_itself_is_cut() -> None:
    """A circle or a tower of lists ends at some depth."""
    circle: list[Any] = [1]
    circle.append(circle)
    assert to_json(circle).startswith("[1,[1,[1,")
    tower: Any = 2**70
    for _ in range(10_000):
        tower = [tower]
    assert len(to_json(tower)) < 1000


@settings(deadline=None)
@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=45))])))
def test_times_read_back_exactly(time: datetime) -> None:
    """To the microsecond, in UTC, from any zone, over all years."""
    assert from_micros(to_micros(time)) == time
    assert to_int64(to_micros(time)) == to_micros(time)


def test_chunks_hold_everything_once() -> None:
    """Nothing at a boundary is lost, an empty input has no chunks."""
    assert list(chunks(iter(range(5)), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunks(range(4), 2)) == [[0, 1], [2, 3]]
    assert list(chunks([], 2)) == []
