from collections.abc import Iterator

import pytest

import tracehooks
from tracehooks.testing import MemoryExporter
from tracehooks.tracing.trouble import trouble


@pytest.fixture(autouse=True)
def _start_anew() -> Iterator[None]:
    trouble.clear()
    yield
    tracehooks.shutdown(2)


@pytest.fixture
def memory() -> MemoryExporter:
    """Everything traced, in memory; no store."""
    exporter = MemoryExporter()
    tracehooks.init({"store": ""}, tracer_provider=exporter.provider())
    return exporter
