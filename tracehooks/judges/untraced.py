"""Keeping our own requests out of every trace, so that a judge's call is never sampled and judged itself."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import context, trace

# What instrumentations look for before they make a span; the plain names are those of older releases.
_SUPPRESSING_KEYS = (
    context._SUPPRESS_INSTRUMENTATION_KEY,
    context._SUPPRESS_HTTP_INSTRUMENTATION_KEY,
    "suppress_instrumentation",
    "suppress_language_model_instrumentation",
)


@contextmanager
def untraced() -> Iterator[None]:
    """Within it no instrumentation makes a span that a parent-based sampler, the default, would record."""
    token = context.attach(_quiet_context())
    try:
        yield
    except GeneratorExit:
        # an abandoned coroutine is closed in a foreign context, where there is nothing to put back
        raise
    except BaseException:
        context.detach(token)
        raise
    else:
        context.detach(token)


def _quiet_context() -> context.Context:
    parent = trace.SpanContext(
        trace_id=random.getrandbits(128) or 1,
        span_id=random.getrandbits(64) or 1,
        is_remote=False,
        trace_flags=trace.TraceFlags(trace.TraceFlags.DEFAULT),
    )
    quiet = trace.set_span_in_context(trace.NonRecordingSpan(parent), context.Context())
    for key in _SUPPRESSING_KEYS:
        quiet = context.set_value(key, True, quiet)
    return quiet
