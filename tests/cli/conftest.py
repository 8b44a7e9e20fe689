from collections.abc import Iterator

import pytest

from tests.fake_openai import FakeOpenAI, ToxicWords


@pytest.fixture(scope="module")
def judge() -> Iterator[FakeOpenAI]:
    with FakeOpenAI(ToxicWords()) as server:
        yield server
