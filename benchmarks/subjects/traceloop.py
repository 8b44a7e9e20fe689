"""Traceloop's ``@agent``, with OpenTelemetry's simple processor and none of the instrumentations."""

# it is not installed here
# mypy: ignore-errors

import contextlib
import os
import sys

from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from benchmarks.bare import NullExporter
from benchmarks.subjects.subject import Subject

os.environ["TRACELOOP_TELEMETRY"] = "false"


def subject(form: str) -> Subject:
    from traceloop.sdk import Traceloop
    from traceloop.sdk.decorators import agent

    exporter = NullExporter()
    with contextlib.redirect_stdout(sys.stderr):
        Traceloop.init(
            app_name="benchmarks",
            processor=SimpleSpanProcessor(exporter),
            instruments=set(),
            telemetry_enabled=False,
        )
    return Subject(lambda function: agent(name=function.__name__)(function), exporter)
