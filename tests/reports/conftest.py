from collections.abc import Iterator
from pathlib import Path

import pytest

from tracehooks.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened
