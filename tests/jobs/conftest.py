"""The stores that the tests of the store use too, one of a test's own, and the quiz begun anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracehooks
from tests.jobs import quiz
from tests.store.conftest import postgres_server_url, postgres_url, sqlite_url
from tracehooks.store import Store, open_store

__all__ = ["postgres_server_url", "postgres_url", "sqlite_url"]


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """Nothing was asked of the quiz's agents yet; what they trace ends with the test."""
    quiz.ASKED.clear()
    yield
    tracehooks.shutdown(2)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of the test's own."""
    with open_store(f"sqlite:///{tmp_path}/store.db") as opened:
        yield opened
