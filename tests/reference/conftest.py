from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reference.making import Runs
from tracehooks.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store in a file."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened


@pytest.fixture
def runs(store: Store) -> Runs:
    """Noise runs in the store."""
    return Runs(store)
