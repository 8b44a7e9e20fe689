from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.langfuse.desk import MODES, Desk
from tests.fake_langfuse import FakeLangfuse


@pytest.fixture
def langfuse() -> Iterator[FakeLangfuse]:
    """A dual server without delays."""
    with FakeLangfuse() as server:
        yield server


@pytest.fixture(params=MODES)
def any_langfuse(request: pytest.FixtureRequest) -> Iterator[FakeLangfuse]:
    """A server of each kind in turn."""
    with FakeLangfuse(request.param) as server:
        yield server


@pytest.fixture
def desk_at(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Makes a desk for a server; closed at the end."""
    made: list[Desk] = []

    def make(server: FakeLangfuse, **options: Any) -> Desk:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Desk(server, folder, options))
        return made[-1]

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desk(langfuse: FakeLangfuse, desk_at: Callable[..., Desk]) -> Desk:
    """A desk at a dual server."""
    return desk_at(langfuse)
