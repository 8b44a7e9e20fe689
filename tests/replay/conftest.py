from collections.abc import Iterator
from pathlib import Path

import pytest

import tracehooks
from tests.replay import desk
from tracehooks.store import Store, open_store


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    desk.CALLED.clear()
    desk.ASKED.clear()
    yield
    tracehooks.shutdown(2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened
