"""``langfuse``: a dual server for one test. Import it into the test module, or use ``FakeLangfuse``
itself.
"""

from collections.abc import Iterator

import pytest

from tests.fake_langfuse.server import FakeLangfuse


@pytest.fixture
def langfuse() -> Iterator[FakeLangfuse]:
    """A dual server without delays."""
    with FakeLangfuse() as server:
        yield server


@pytest.fixture(params=["v3", "dual", "events", "v4.59"])
def any_langfuse(request: pytest.FixtureRequest) -> Iterator[FakeLangfuse]:
    """A server of each mode in turn."""
    with FakeLangfuse(request.param) as server:
        yield server
