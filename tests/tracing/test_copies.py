"""The stand-in for a stream that a function returned can be copied and pickled as the stream itself can."""

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from tests.tracing.spans import attributes, only, recorded
from tracehooks import traced
from tracehooks.testing import MemoryExporter


class Countdown:
    """An iterator with state, which can be copied and pickled."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __iter__(self) -> Iterator[int]:
        return self

    def __next__(self) -> int:
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left


class Slotted(Countdown):
    """With a copy of its own."""

    def __copy__(self) -> "Slotted":
        return Slotted(100)

    def __reduce__(self) -> Any:
        return Slotted, (200,)


@traced
def agent(stream: Any) -> Any:
    return stream


def _pickled(value: Any, protocol: int) -> Any:
    return pickle.loads(pickle.dumps(value, protocol))


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": partial(_pickled, protocol=n) for n in range(6)},
}


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("make", [lambda: iter([2, 1, 0]), lambda: Countdown(3), lambda: Slotted(3)])
def test_a_copy_is_the_copy_that_the_stream_itself_would_give(
    memory: MemoryExporter, how: Callable[[Any], Any], make: Callable[[], Any]
) -> None:
    """Of the same type, with the same state; reading it records nothing, and the call goes on."""
    plain, stream = make(), agent(make())
    assert (next(plain), next(stream)) == (2, 2)
    expected, found = how(plain), how(stream)
    assert type(found) is type(expected)
    assert [*found][:5] == [*expected][:5]
    assert not memory.spans
    assert [*stream] == [1, 0]
    assert recorded(only(memory), "output") == [2, 1, 0]
    assert "tracehooks.complete" not in attributes(only(memory))


@pytest.mark.parametrize("how", COPIES.values(), ids=COPIES)
def test_what_cannot_be_copied_fails_as_it_would(memory: MemoryExporter, how: Callable[[Any], Any]) -> None:
    """With the same error."""

    class Locked(Countdown):
        def __reduce_ex__(self, protocol: Any) -> Any:
            raise TypeError("cannot pickle this")

    stream = agent(Locked(1))
    with pytest.raises(TypeError, match="cannot pickle this"):
        how(stream)
    assert [*stream] == [0]


def test_a_stand_in_that_is_not_made_yet_has_no_attributes(memory: MemoryExporter) -> None:
    """Whoever makes one without a stream gets an AttributeError, and no recursion."""
    form: Any = object.__getattribute__(agent(Countdown(1)), "__class__")
    assert form is Countdown
    bare = object.__new__(next(one for one in _forms() if one.__name__ == "Countdown"))
    with pytest.raises(AttributeError):
        _ = bare.left


def _forms() -> list[Any]:
    from tracehooks.tracing.proxies import _forms as known

    return list(known.values())
