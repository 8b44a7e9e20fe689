"""What each runner script does around its framework: record every span, print them as JSON at the end.

``python run_X.py SPAN_PY``: SPAN_PY is the path of tracehooks/calls/span.py, loaded from its file because
tracehooks itself is not installed in the framework's environment.
"""

import dataclasses
import importlib.util
import json
import sys
from types import ModuleType
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Recording:
    """A tracer provider that keeps its spans, installed as the global one."""

    def __init__(self, provider: Any = None) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = provider or TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        if provider is None:
            trace.set_tracer_provider(self.provider)

    @classmethod
    def of(cls, exporter: InMemorySpanExporter) -> "Recording":
        """What ``exporter``, set up by the framework itself, has kept."""
        recording = cls.__new__(cls)
        recording.exporter, recording.provider = exporter, trace.get_tracer_provider()
        return recording

    def print(self) -> None:
        """All finished spans, one JSON object a line, after a line that says that they follow."""
        self.provider.force_flush()
        module = _span_module(sys.argv[1])
        print("SPANS")
        for span in self.exporter.get_finished_spans():
            print(json.dumps(dataclasses.asdict(module.span_record(span)), default=str))


def _span_module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("span", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["span"] = module
    spec.loader.exec_module(module)
    return module
