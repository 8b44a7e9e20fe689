from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tracehooks
from tests.hooks.counting import Seen
from tests.hooks.distribution import installed, write_distribution
from tests.hooks.recording import SEEN
from tests.hooks.sinks import MOODY, STEADY, MoodySink
from tracehooks.store import Store, open_store
from tracehooks.tracing.trouble import trouble


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    trouble.clear()
    yield
    tracehooks.shutdown(5)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Where the test's store is."""
    return f"sqlite:///{tmp_path}/store.db"


@pytest.fixture
def start(url: str) -> Callable[..., None]:
    """``init`` with a store of the test's own; keyword arguments are more settings."""

    def begin(tracer_provider: Any = None, **settings: Any) -> None:
        tracehooks.init({"store": url, "project": "shop", **settings}, tracer_provider=tracer_provider)

    return begin


@pytest.fixture
def stored(url: str) -> Iterator[Store]:
    """The test's store, to be looked at after a flush."""
    with open_store(url) as store:
        yield store


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Seen]:
    """The scorer that settings can name ``recorded``, with nothing seen yet."""
    points = {"recorded": "tests.hooks.recording:recorded"}
    with installed(write_distribution(tmp_path / "site", "tracehooks.scorers", points)):
        SEEN.calls.clear()
        yield SEEN


@pytest.fixture
def moody(tmp_path: Path) -> Iterator[MoodySink]:
    """The sink that settings can name ``moody``; ``steady`` is another, which takes everything."""
    points = {"moody": "tests.hooks.sinks:Moody", "steady": "tests.hooks.sinks:Steady"}
    with installed(write_distribution(tmp_path / "sinks", "tracehooks.sinks", points)):
        STEADY.be("take")
        MOODY.be("take")
        MOODY.wants_unscored = False
        yield MOODY
        MOODY.released.set()
